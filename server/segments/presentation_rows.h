// SPDX-License-Identifier: Apache-2.0
//
// What the texts of a presentation say of its tracks, for movies and live sources alike: rows of
// HLS master playlists (RFC 8216), sets of DASH manifests (ISO/IEC 23009-1). Which segments there
// are is for segment_playlist.h and live_playlist.h to say. Pure.
//
// Rates are bits per second; `query` is that of the names in a playlist, "?..." or empty.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/segments/rendition.h"

namespace gopmill {

// A rendition of pictures.
struct PicturesRow {
  std::string name;  // "v0"
  std::string codecs;
  DynamicRange range;
  int width = 0, height = 0;  // pixels
  Rational fps;
  std::int64_t peak_bps = 0, average_bps = 0;  // average: 0 = not known
};

// A track of sound.
struct SoundRow {
  std::string name;      // unique among them
  std::string language;  // RFC 5646; empty = unknown
  int roles = 0;         // StreamRoles
  bool chosen = false;   // is played by itself
  int channels = 0;
  std::string uri = {};  // of its playlist
};

// Pictures of a presentation for looking around in it, many on a sheet.
struct TilesRow {
  int width = 0, height = 0;  // of one, pixels
  int columns = 1, rows = 1;  // on a sheet
  std::int64_t peak_bps = 0;
};

// --- HLS: lines of a master playlist ----------------------------------------------------------

// What is heard with any pictures, at most.
struct LoudestSound {
  std::string codecs;  // empty = there is no sound
  std::int64_t peak_bps = 0, average_bps = 0;
};
// `groups`: of its text and captions (SubtitleAttribute, CaptionAttribute).
std::string PicturesMedia(const PicturesRow& pictures, const LoudestSound& sound,
                          std::string_view groups, std::string_view query);
// Of equal languages a player by itself takes the chosen or first one (RFC 8216 section 4.3.4.1.1),
// as commentaries come behind; what describes the pictures is looked for by itself.
std::string SoundMedia(const std::vector<SoundRow>& sounds);
std::string SubtitleMedia(const std::vector<SubtitleRendition>& texts, std::string_view query);
std::string CaptionMedia(CaptionsState captions);
// Of key frames alone; without an average where that is not known.
std::string KeyMedia(const PicturesRow& keys, std::string_view query);
std::string ThumbnailMedia(const TilesRow& tiles, std::string_view query);

// What EXT-X-STREAM-INF says of them.
std::string SubtitleAttribute(const std::vector<SubtitleRendition>& texts);
std::string CaptionAttribute(CaptionsState captions);

// --- DASH: sets of a period -------------------------------------------------------------------

// How a manifest begins: to be followed by its type and the other attributes of MPD.
std::string ManifestBegin();

// `segments`: the SegmentTemplate of all renditions.
std::string PicturesSet(const std::vector<PicturesRow>& renditions, CaptionsState captions,
                        std::string_view segments);
// `id`: of the representation, "a0"; `track`: what it is made to; `rate`: samples per second.
struct SoundForm {
  std::string id;
  const SegmentTrack& track;
  std::int64_t peak_bps = 0;
  int rate = 0;
};
std::string SoundSet(std::size_t number, const SoundRow& sound, const SoundForm& form,
                     std::string_view segments);
std::string ThumbnailSet(std::size_t number, const TilesRow& tiles, std::string_view segments);

// As a manifest names the codec: Chromium took long to know Opus by the name of its sample entry
// (RFC 6381), which Apple's players want, and televisions have its old versions.
std::string DashCodecs(const SegmentTrack& track);

}  // namespace gopmill
