// SPDX-License-Identifier: Apache-2.0
#include "media/text_choice.h"

#include <algorithm>

namespace gopmill {

std::vector<std::optional<std::size_t>> FollowTexts(const std::vector<SubtitleTrack>& wanted,
                                                    const std::vector<SubtitleTrack>& now) {
  std::vector<std::optional<std::size_t>> places(now.size());
  for (const bool by_title : {true, false}) {
    for (std::size_t place = 0; place < wanted.size(); ++place) {
      if (std::ranges::find(places, std::optional(place)) != places.end()) continue;
      for (std::size_t number = 0; number < now.size(); ++number) {
        const SubtitleTrack &was = wanted[place], &is = now[number];
        if (places[number] || was.language != is.language) continue;
        if (by_title && was.title != is.title) continue;
        places[number] = place;
        break;
      }
    }
  }
  return places;
}

}  // namespace gopmill
