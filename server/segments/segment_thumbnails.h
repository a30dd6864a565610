// SPDX-License-Identifier: Apache-2.0
//
// Thumbnails of a segmented movie: one picture for every ten seconds or so, twenty-five on a sheet
// (codec/picture_sheet.h), told of in three ways: an image playlist (HLS's #EXT-X-IMAGES-ONLY),
// a track of tiles (DASH-IF interoperability points, part "Tiles of thumbnail images"), and WebVTT
// whose cues name a part of a sheet (Media Fragments, "#xywh="). And stills: the very picture at a
// time, by itself and as large as a rendition. Pure.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "media/plan.h"
#include "server/segments/segmented_movie.h"

namespace gopmill {

inline constexpr double kThumbnailSeconds = 10;  // whole segments, so about that
// The box that a thumbnail is fitted into, pixels.
inline constexpr int kThumbnailWidth = 192, kThumbnailHeight = 108;
// What a JPEG of MakeSheet takes for detailed pictures, bits per pixel; measured ones take half.
inline constexpr std::int64_t kJpegBitsPerPixel = 2;

struct ThumbnailSize {
  int width = 2, height = 2;  // pixels, even
};
// Of pictures of this size, in the box.
ThumbnailSize FitThumbnail(int width, int height, Rational sample_aspect = {1, 1});

// `movie` has its pictures, segments and index already. A thumbnail shows the key frame nearest to
// its time, or the very picture where none is near.
ThumbnailRendition PlanThumbnails(const SegmentedMovie& movie);

// What sheet `number` (which exists) is made of: units, and which of their frames.
struct ThumbnailRun {
  UnitSpec unit;
  std::int64_t entry_frame = 0;  // that its first packet shows
  std::vector<std::int64_t> frames;
};
std::vector<ThumbnailRun> ThumbnailRuns(const SegmentedMovie& movie, std::int64_t number);

// That the sheet is for; the last one may be short, and is as large as the others.
double ThumbnailSheetSeconds(const SegmentedMovie& movie, std::int64_t number);

// Single pictures, and up to which time there are some, milliseconds.
StillRendition PlanStills(const VideoRendition& video);
std::int64_t StillMillis(const SegmentedMovie& movie);
// Which output frame is seen at this time, and what its still is made of; below StillMillis.
std::int64_t StillFrame(const SegmentedMovie& movie, std::int64_t millis);
ThumbnailRun StillRun(const SegmentedMovie& movie, const StillRendition& stills,
                      std::int64_t millis);

std::string ThumbnailPlaylist(const SegmentedMovie& movie);
std::string ThumbnailCues(const SegmentedMovie& movie);

}  // namespace gopmill
