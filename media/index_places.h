// SPDX-License-Identifier: Apache-2.0
//
// Where the indexes ('sidx') of an MP4 say that fragments lie. FFmpeg reads boxes there, on a seek
// and where it cannot go on from box to box, whatever lies there: also in what is media to all who
// go by the boxes' sizes. So each place has to be where a box at the top begins.
//
// Of a pipe that holds for all of them. Of a file FFmpeg uses no index but one that leads to the
// end of it, or to its 'mfra'.
//
// Memory: eight bytes for each place that is ahead. Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

namespace gopmill {

class IndexPlaces {
 public:
  // Of a file of so many bytes, whose last four say that the 'mfra' is so large.
  void OfFile(std::uint64_t bytes, std::uint64_t mfra_bytes);
  // A box at the top, in whose content indexes may be added. `end` is behind it. Whether it is one
  // of the places.
  bool Box(std::uint64_t begin, std::uint64_t end);
  // A place where an index says that a fragment begins. Whether it had to be put in front of
  // others, or would have to be: one of a box that has begun is not kept.
  bool Add(std::uint64_t place);
  // Where an index says that the last fragment so far ends.
  void AddEnd(std::uint64_t place);
  // Behind the last box at the top: what is ahead is where none begins.
  void End() { Box(top_end_, UINT64_MAX); }
  // Those that FFmpeg looks through and moves.
  [[nodiscard]] std::uint64_t ahead() const { return ahead_.size(); }
  // FFmpeg may read boxes where there are none.
  [[nodiscard]] bool astray() const { return astray_ && (complete_ || !file_bytes_); }

 private:
  std::optional<std::uint64_t> file_bytes_;  // none: a pipe
  std::uint64_t mfra_bytes_ = 0;
  std::uint64_t top_end_ = 0;        // of the box at the top that is read
  std::deque<std::uint64_t> ahead_;  // in their order
  bool complete_ = false, astray_ = false;
};

}  // namespace gopmill
