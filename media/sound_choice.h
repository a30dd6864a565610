// SPDX-License-Identifier: Apache-2.0
//
// Which sound tracks of a source somebody gets who does not want all that are read: readers of a
// live source. And which ones they go on with when it is coded in another way.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "media/source_info.h"
#include "media/target.h"

namespace gopmill {

struct SoundChoice {
  std::shared_ptr<const SourceInfo> info;  // with the chosen tracks alone, in their order
  // Of each track that is read: its number in `info`; nothing = it is left out.
  std::vector<std::optional<std::size_t>> place;
};

// Tracks are numbered as in `info.audio_tracks`, or where that is empty as they are read.
// kInvalidArgument naming "audio" where there is no such track, or it is not read.
Result<SoundChoice> ChooseSounds(std::shared_ptr<const SourceInfo> info, const AudioTracks& wanted);

// The same of a publisher that goes on where another one was, `first` being what somebody has begun
// with: as many tracks in the same order, and its time bases. Each is looked for by language and
// title, then by language, and by its number only where nothing says more, since publishers list
// their tracks in any order. One that is not found is silent (AudioInfo::silent); of several, or
// where one was asked for by number, none takes the place of one in another language.
SoundChoice FollowSource(const SourceInfo& first, std::shared_ptr<const SourceInfo> next,
                         const AudioTracks& wanted);

}  // namespace gopmill
