// SPDX-License-Identifier: Apache-2.0
#include "media/sound_choice.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gopmill {
namespace {

// Among those that are read.
Result<std::size_t> NumberOf(const SourceInfo& info, int wanted) {
  const std::vector<AudioInfo>& tracks = info.audio_tracks;
  const std::size_t count = tracks.empty() ? info.sounds() : tracks.size();
  const auto track = static_cast<std::size_t>(wanted - 1);
  for (std::size_t i = 0; track < count && i < info.sounds(); ++i) {
    if (tracks.empty() ? i == track : info.sound(i).stream_index == tracks[track].stream_index) {
      return i;
    }
  }
  return NoSuchSoundTrack(info, count);
}

Result<std::vector<std::size_t>> Chosen(const SourceInfo& info, const AudioTracks& wanted) {
  std::vector<std::size_t> chosen;
  if (wanted.first != 0) {
    GOPMILL_ASSIGN_OR_RETURN(chosen.emplace_back(), NumberOf(info, wanted.first));
  } else if (info.audio) {
    chosen.push_back(0);
  }
  for (const int number : wanted.more) {
    GOPMILL_ASSIGN_OR_RETURN(chosen.emplace_back(), NumberOf(info, number));
  }
  for (std::size_t i = 0; wanted.all && i < info.sounds(); ++i) {
    if (std::ranges::find(chosen, i) == chosen.end()) chosen.push_back(i);
  }
  return chosen;
}

SoundChoice MakeChoice(std::shared_ptr<const SourceInfo> info,
                       const std::vector<std::size_t>& chosen) {
  SoundChoice choice{.info = info, .place = {}};
  choice.place.resize(info->sounds());
  bool as_read = chosen.size() == info->sounds();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    choice.place[chosen[i]] = i;
    as_read = as_read && chosen[i] == i;
  }
  if (as_read) return choice;
  auto other = std::make_shared<SourceInfo>(*info);
  other->audio.reset();
  other->more_audio.clear();
  for (const std::size_t number : chosen) {
    if (other->audio) {
      other->more_audio.push_back(info->sound(number));
    } else {
      other->audio = info->sound(number);
    }
  }
  choice.info = std::move(other);
  return choice;
}

using Places = std::vector<std::optional<std::size_t>>;

// Those of `next` that were asked for by number, or as the best one, as far as there are any.
Places Candidates(const SourceInfo& next, const AudioTracks& wanted) {
  const auto track = [&](int number) -> std::optional<std::size_t> {
    if (number == 0) return next.audio ? std::optional<std::size_t>(0) : std::nullopt;
    const auto found = NumberOf(next, number);
    return found.ok() ? std::optional(*found) : std::nullopt;
  };
  Places candidates{track(wanted.first)};
  for (const int number : wanted.more) candidates.push_back(track(number));
  return candidates;
}

// Finds the tracks of one source in another, the surest matches first.
class Matching {
 public:
  // `own`: tracks of `next` that take the places from the first one on if nothing says otherwise.
  Matching(const SourceInfo& first, const SourceInfo& next, Places own, bool by_language)
      : first_(first),
        next_(next),
        own_(std::move(own)),
        by_language_(by_language),
        found_(first.sounds()) {}

  // Of each track of `first` the number in `next`.
  Places Find() {
    const auto same = [](const AudioInfo& a, const AudioInfo& b) {
      return a.language == b.language && a.title == b.title;
    };
    const auto same_language = [](const AudioInfo& a, const AudioInfo& b) {
      return a.language == b.language;
    };
    const auto any = [this](const AudioInfo& a, const AudioInfo& b) {
      return !by_language_ || a.language.empty() || b.language.empty();
    };
    TakeOwn(same);
    TakeOthers(same);
    TakeOwn(same_language);
    TakeOthers(same_language);
    TakeOwn(any);
    TakeOthers(any);
    return found_;
  }

 private:
  [[nodiscard]] bool Free(std::size_t number) const {
    return std::ranges::find(found_, std::optional(number)) == found_.end();
  }
  // The track that was chosen for the place.
  void TakeOwn(const auto& matches) {
    for (std::size_t i = 0; i < std::min(own_.size(), found_.size()); ++i) {
      if (own_[i]) Offer(i, *own_[i], matches);
    }
  }
  void TakeOthers(const auto& matches) {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      for (std::size_t n = 0; n < next_.sounds(); ++n) Offer(i, n, matches);
    }
  }
  void Offer(std::size_t place, std::size_t number, const auto& matches) {
    if (found_[place] || !Free(number)) return;
    if (matches(first_.sound(place), next_.sound(number))) found_[place] = number;
  }

  const SourceInfo& first_;
  const SourceInfo& next_;
  const Places own_;
  const bool by_language_;
  Places found_;
};

// Nothing about it has to be changed for who began with `first`.
bool FitsAsItIs(const SourceInfo& first, const SourceInfo& next, const Places& found) {
  if (next.sounds() != found.size() || next.video.time_base != first.video.time_base) return false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != i || next.sound(i).time_base != first.sound(i).time_base) return false;
  }
  return true;
}

}  // namespace

Result<SoundChoice> ChooseSounds(std::shared_ptr<const SourceInfo> info,
                                 const AudioTracks& wanted) {
  GOPMILL_ASSIGN_OR_RETURN(const std::vector<std::size_t> chosen, Chosen(*info, wanted));
  return MakeChoice(std::move(info), chosen);
}

SoundChoice FollowSource(const SourceInfo& first, std::shared_ptr<const SourceInfo> next,
                         const AudioTracks& wanted) {
  const bool by_language = first.sounds() > 1 || wanted.first != 0;
  const auto found = Matching(first, *next, Candidates(*next, wanted), by_language).Find();
  SoundChoice choice{.info = next, .place = {}};
  choice.place.resize(next->sounds());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) choice.place[*found[i]] = i;
  }
  if (FitsAsItIs(first, *next, found)) return choice;
  auto other = std::make_shared<SourceInfo>(*next);
  other->video.time_base = first.video.time_base;
  other->audio.reset();
  other->more_audio.clear();
  for (std::size_t i = 0; i < found.size(); ++i) {
    AudioInfo sound = found[i] ? next->sound(*found[i]) : first.sound(i);
    sound.time_base = first.sound(i).time_base;
    sound.silent = !found[i];
    if (i == 0) {
      other->audio = std::move(sound);
    } else {
      other->more_audio.push_back(std::move(sound));
    }
  }
  choice.info = std::move(other);
  return choice;
}

}  // namespace gopmill
