// SPDX-License-Identifier: Apache-2.0
//
// Which sound tracks of a source somebody gets who does not want all that are read: readers of a
// live source.
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

// The same of a publisher that goes on where another one was, `now` being the tracks that somebody
// has had so far: each is looked for by language and title, then by language, and by its number
// only where nothing says more, since publishers list their tracks in any order. Another number of
// tracks than `now` has is left to the caller.
Result<SoundChoice> FollowSounds(const SourceInfo& now, std::shared_ptr<const SourceInfo> next,
                                 const AudioTracks& wanted);

}  // namespace gopmill
