// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_texts.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "media/timed_text.h"
#include "server/segments/segment_subtitles.h"

namespace gopmill {

std::size_t LiveTexts::SizeOf(const LiveCue& cue) { return cue.cue.text.size() + sizeof(LiveCue); }

bool LiveTexts::Add(std::size_t track, LiveCue cue) {
  Cues& cues = tracks_[track];
  const std::size_t size = SizeOf(cue);
  if (cues.size() >= kMaxLiveCues || bytes_ + size > kMaxLiveCueBytes) return false;
  bytes_ += size;
  const auto start = [](const LiveCue& each) { return each.cue.start_us; };
  const auto place = std::ranges::upper_bound(cues, start(cue), {}, start);
  cues.insert(place, std::move(cue));
  return true;
}

std::vector<LiveText> LiveTexts::Cut(const LiveTextCut& cut) {
  std::vector<LiveText> segments;
  bytes_ = 0;
  for (Cues& cues : tracks_) {
    segments.push_back(CutTrack(cues, cut));
    for (const LiveCue& cue : cues) bytes_ += SizeOf(cue);
  }
  return segments;
}

LiveText LiveTexts::CutTrack(Cues& cues, const LiveTextCut& cut) {
  const std::int64_t begin = cut.begin_us + cut.zero_us, end = cut.end_us + cut.zero_us;
  std::erase_if(cues, [&](const LiveCue& each) { return each.publisher < cut.publisher; });
  // Those of who came next have nothing to do with this segment.
  const auto later = std::ranges::stable_partition(
      cues, [&](const LiveCue& each) { return each.publisher == cut.publisher; });
  const std::size_t count = cues.size() - later.size();
  std::vector<SubtitleCue> shown;
  for (std::size_t i = 0; i < count; ++i) shown.push_back(cues[i].cue);
  EndCues(shown);
  Cues left;
  for (std::size_t i = 0; i < count; ++i) {
    SubtitleCue& cue = shown[i];
    const bool goes_on = cue.end_us > end;
    // Its end is not known yet, and what a player has been told it cannot be told otherwise.
    if (cues[i].cue.end_us == kNoEnd) {
      cue.start_us = std::max(cue.start_us, begin);
      cue.end_us = std::min(cue.end_us, end);
    }
    if (goes_on) left.push_back(std::move(cues[i]));
  }
  std::ranges::move(later, std::back_inserter(left));
  std::ranges::stable_sort(left, {}, [](const LiveCue& each) { return each.cue.start_us; });
  cues = std::move(left);
  std::ranges::stable_sort(shown, {}, &SubtitleCue::start_us);
  const auto shared = [](std::string text) {
    return std::make_shared<const std::string>(std::move(text));
  };
  return {.vtt = shared(TextHead(container_) +
                        CuesBetween(shown, cut.zero_us, cut.begin_us, cut.end_us)),
          .ttml = shared(TimedTextDocument(shown, cut.zero_us, cut.begin_us, cut.end_us))};
}

}  // namespace gopmill
