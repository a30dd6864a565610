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
  return InvalidArgument("audio", "The source has no such sound track.",
                         count == 0 ? "nothing: it has none" : "1 to " + std::to_string(count));
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

// Finds the tracks of one source in another, the surest matches first.
class Matching {
 public:
  Matching(const SourceInfo& now, const SourceInfo& next, std::vector<std::size_t> chosen)
      : now_(now), next_(next), own_(std::move(chosen)), found_(own_.size()) {}

  std::vector<std::size_t> Find() {
    const auto same = [](const AudioInfo& a, const AudioInfo& b) {
      return a.language == b.language && a.title == b.title;
    };
    const auto same_language = [](const AudioInfo& a, const AudioInfo& b) {
      return a.language == b.language;
    };
    const auto any = [](const AudioInfo&, const AudioInfo&) { return true; };
    TakeOwn(same);
    TakeOthers(same);
    TakeOwn(same_language);
    TakeOthers(same_language);
    TakeOwn(any);
    TakeOthers(any);
    std::vector<std::size_t> numbers;
    for (const auto& found : found_) numbers.push_back(*found);
    return numbers;
  }

 private:
  [[nodiscard]] bool Free(std::size_t number) const {
    return std::ranges::find(found_, std::optional(number)) == found_.end();
  }
  // The track that was chosen for the place.
  void TakeOwn(const auto& matches) {
    for (std::size_t i = 0; i < own_.size(); ++i) Offer(i, own_[i], matches);
  }
  void TakeOthers(const auto& matches) {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      for (std::size_t n = 0; n < next_.sounds(); ++n) Offer(i, n, matches);
    }
  }
  void Offer(std::size_t place, std::size_t number, const auto& matches) {
    if (found_[place] || !Free(number)) return;
    if (matches(now_.sound(place), next_.sound(number))) found_[place] = number;
  }

  const SourceInfo& now_;
  const SourceInfo& next_;
  const std::vector<std::size_t> own_;
  std::vector<std::optional<std::size_t>> found_;
};

}  // namespace

Result<SoundChoice> ChooseSounds(std::shared_ptr<const SourceInfo> info,
                                 const AudioTracks& wanted) {
  GOPMILL_ASSIGN_OR_RETURN(const std::vector<std::size_t> chosen, Chosen(*info, wanted));
  return MakeChoice(std::move(info), chosen);
}

Result<SoundChoice> FollowSounds(const SourceInfo& now, std::shared_ptr<const SourceInfo> next,
                                 const AudioTracks& wanted) {
  GOPMILL_ASSIGN_OR_RETURN(std::vector<std::size_t> chosen, Chosen(*next, wanted));
  if (chosen.size() == now.sounds()) chosen = Matching(now, *next, std::move(chosen)).Find();
  return MakeChoice(std::move(next), chosen);
}

}  // namespace gopmill
