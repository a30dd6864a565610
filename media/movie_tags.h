// SPDX-License-Identifier: Apache-2.0
//
// What a file says of the movie as a whole: its title and the like, and its chapters. They go along
// into the output, cut to the part that is made. What tells where a picture was taken, what program
// wrote the file, and names that no other container has, is left behind.
//
// Thread-safety: safe (pure functions over values).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "media/av_ptr.h"
#include "media/closed_jumps.h"
#include "media/target.h"

namespace gopmill {

// What is kept of a source; more is left out.
inline constexpr std::size_t kMaxChapters = 1000;
inline constexpr std::size_t kMaxTagBytes = 4096;  // of one text

struct Chapter {
  std::int64_t start_us = 0, end_us = 0;  // from the source's zero; the end behind the start
  std::string title;                      // empty = none
};

struct MovieTags {
  // By FFmpeg's names, in an order of our own: {"title", "Metropolis"}. Well-formed, not empty.
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<Chapter> chapters;  // by start, none overlaps the next

  [[nodiscard]] std::string Text(std::string_view name) const;  // empty = none
};

// Of an open source whose timeline begins at `start_us`.
MovieTags ReadTags(const AVFormatContext& source, std::int64_t start_us);

// With the chapters where they are once these jumps of the pictures are closed.
MovieTags TagsWithoutJumps(MovieTags tags, const ClosedJumps& jumps);

// The chapters that are shown in this part of the source, counted from its start.
MovieTags TagsWithin(const MovieTags& tags, const SourceClip& clip);

// Into an output whose header has not been written. MP4 that is streamed gets no chapters: FFmpeg
// writes them as a track of its own, all of which would have to be in the first fragment.
Status AddTags(AVFormatContext& output, Container container, bool streamed, const MovieTags& tags);

}  // namespace gopmill
