// SPDX-License-Identifier: Apache-2.0
#include "media/subtitle_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "media/digest.h"
#include "media/script_head.h"
#include "media/script_tags.h"

namespace gopmill {
namespace {

constexpr std::int64_t kCentis = 10'000;  // microseconds in a hundredth of a second
constexpr std::string_view kEvents =
    "\n[Events]\n"
    "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n";

std::int64_t ToCentis(std::int64_t us) {
  return (std::max<std::int64_t>(us, 0) + kCentis / 2) / kCentis;
}

std::string ScriptTime(std::int64_t centis) {
  return fmt::format("{}:{:02}:{:02}.{:02}", centis / 360'000, centis / 6'000 % 60,
                     centis / 100 % 60, centis % 100);
}

// An event as FFmpeg's decoders give it.
struct Event {
  long order = 0;  // among all, by which libass draws what overlaps
  std::string line;
  double ink = 0;
  std::int64_t start = 0, end = 0;  // hundredths of a second
};

// "ReadOrder,Layer,Style,Name,MarginL,MarginR,MarginV,Effect,Text": what is harmless of it; without
// a line if there is nothing to draw. Effects move the text for as long as they say.
Event EventOf(const SubtitleCue& cue, const ScriptHead& head) {
  constexpr std::size_t kFields = 8;  // in front of the text
  Event event{.line = {}, .ink = 0, .start = ToCentis(cue.start_us), .end = ToCentis(cue.end_us)};
  std::array<std::string, kFields> fields;
  std::string_view rest = cue.text;
  for (std::string& field : fields) {
    const std::size_t comma = rest.find(',');
    if (comma == std::string_view::npos) return event;
    field = rest.substr(0, comma);
    rest.remove_prefix(comma + 1);
  }
  const auto [text, ink] = TameEvent(rest, head, fields[2]);
  event.ink = ink;
  if (text.empty() || event.end <= event.start || !IsUtf8(text) || !IsUtf8(fields[2])) return event;
  const auto number = [](const std::string& field, long most, long least = 0) {
    return std::clamp(std::strtol(field.c_str(), nullptr, 10), least, most);
  };
  const auto margin = [&](std::size_t at) {
    const long most = static_cast<long>(2 * head.height);
    return number(fields.at(at), most, -most);
  };
  event.order = number(fields[0], std::numeric_limits<int>::max());
  event.line = fmt::format("Dialogue: {},{},{},{},,{},{},{},,{}\n", number(fields[1], 1000),
                           ScriptTime(event.start), ScriptTime(event.end), fields[2], margin(4),
                           margin(5), margin(6), text);
  return event;
}

// Leaves out what begins while too much else is seen.
class Crowd {
 public:
  bool Takes(const Event& event) {
    std::erase_if(seen_, [&](const Seen& other) { return other.end <= event.start; });
    double ink = event.ink;
    for (const Seen& other : seen_) ink += other.ink;
    if (seen_.size() >= kMaxShownCues || ink > kMaxShownInk) return false;
    seen_.push_back({.end = event.end, .ink = event.ink});
    return true;
  }

 private:
  struct Seen {
    std::int64_t end = 0;
    double ink = 0;
  };
  std::vector<Seen> seen_;
};

// Milliseconds. Cues come by their start.
void AddTimes(std::int64_t start, std::int64_t end, SubtitleScript& script) {
  script.cues.push_back({start, end});
  if (!script.shown.empty() && start <= script.shown.back().end_ms) {
    script.shown.back().end_ms = std::max(script.shown.back().end_ms, end);
  } else {
    script.shown.push_back({start, end});
  }
}

// Of all that is seen.
std::string FingerprintOf(const SubtitleBitmaps& bitmaps) {
  std::string all =
      fmt::format("{} {} {}\n", bitmaps.width, bitmaps.height, bitmaps.square ? 1 : 0);
  for (const PictureCue& cue : bitmaps.cues) {
    all += fmt::format("{} {}\n", cue.start_us, cue.end_us);
    for (const Bitmap& bitmap : cue.bitmaps) {
      all += fmt::format("{} {} {} {}\n", bitmap.x, bitmap.y, bitmap.width, bitmap.height);
      all += Sha256Hex({reinterpret_cast<const char*>(bitmap.palette.data()),
                        sizeof(std::uint32_t) * bitmap.palette.size()});
      all += Sha256Hex(bitmap.packed);
    }
  }
  return Sha256Hex(all);
}

std::shared_ptr<SubtitleScript> PictureScript(std::shared_ptr<const SubtitleBitmaps> bitmaps) {
  auto script = std::make_shared<SubtitleScript>();
  for (const PictureCue& cue : bitmaps->cues) {
    AddTimes(cue.start_us / 1000, cue.end_us / 1000, *script);
  }
  script->fingerprint = FingerprintOf(*bitmaps);
  script->bitmaps = std::move(bitmaps);
  return script;
}

}  // namespace

std::size_t SubtitleScript::bytes() const { return text.size() + (bitmaps ? bitmaps->bytes() : 0); }

const SubtitleScript::Span* SubtitleScript::SpanAt(std::int64_t us) const {
  const std::int64_t ms = us / 1000;
  const auto after = std::ranges::upper_bound(shown, ms, {}, &Span::start_ms);
  if (after == shown.begin() || ms >= std::prev(after)->end_ms) return nullptr;
  return &*std::prev(after);
}

std::vector<std::size_t> SubtitleScript::CuesAt(std::int64_t ms) const {
  std::vector<std::size_t> seen;
  const Span* span = SpanAt(1000 * ms);
  if (span == nullptr) return seen;
  const auto after = std::ranges::upper_bound(cues, ms, {}, &Span::start_ms);
  for (auto cue = std::ranges::lower_bound(cues, span->start_ms, {}, &Span::start_ms); cue != after;
       ++cue) {
    if (cue->end_ms > ms) seen.push_back(static_cast<std::size_t>(cue - cues.begin()));
  }
  return seen;
}

namespace {

std::shared_ptr<SubtitleScript> TextScript(const SubtitleTrack& track) {
  const ScriptHead head = WriteScriptHead(track.header);
  auto script = std::make_shared<SubtitleScript>();
  std::vector<Event> events;
  Crowd crowd;
  for (const SubtitleCue& cue : track.cues) {
    Event event = EventOf(cue, head);
    if (event.line.empty() || !crowd.Takes(event)) continue;
    AddTimes(10 * event.start, 10 * event.end, *script);
    events.push_back(std::move(event));
  }
  std::ranges::stable_sort(events, {}, &Event::order);
  script->text = WellFormed(head.text, head.text.size());
  script->text += kEvents;
  for (const Event& event : events) script->text += event.line;
  script->fingerprint = Sha256Hex(script->text);
  return script;
}

}  // namespace

std::shared_ptr<const SubtitleScript> MakeScript(const SubtitleTrack& track,
                                                 const ClosedJumps& jumps) {
  auto script = track.bitmaps ? PictureScript(track.bitmaps) : TextScript(track);
  script->jumps = jumps;
  return script;
}

}  // namespace gopmill
