// SPDX-License-Identifier: Apache-2.0
//
// Where decoding begins for what is shown at certain times of an indexed source.
//
// Takes no more than a sort of the packets and a few look-ups for each of them and each time, in
// whatever order of time they come: an index may be made to take long.
//
// Thread-safety: safe (a pure function).
#pragma once

#include <cstdint>
#include <vector>

#include "media/source_index.h"

namespace gopmill {

struct DecodeEntry {
  std::int64_t packet = 0;
  bool preroll = false;  // before the last place of random access
};

struct ShownTime {
  SourceTicks until = 0;  // the latest time that may be shown
  SourceTicks shown = 0;  // of the picture that is
};

// For each of `times`, both of whose parts ascend: the last place of random access, in the order of
// decoding, of those up to there; or so many before as it takes to recover and to have `context`
// exact pictures before the one that is shown. The first packet where there is none.
std::vector<DecodeEntry> DecodeEntries(const SourceIndex& index,
                                       const std::vector<ShownTime>& times, int context);

}  // namespace gopmill
