// SPDX-License-Identifier: Apache-2.0
#include "media/subtitle_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "base/words.h"
#include "media/digest.h"
#include "media/script_limits.h"
#include "media/source.h"

namespace gopmill {
namespace {

constexpr std::int64_t kCentis = 10'000;  // microseconds in a hundredth of a second
// The order in which FFmpeg's decoders give the fields of an event.
constexpr std::string_view kEvents =
    "[Events]\n"
    "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n";

std::int64_t ToCentis(std::int64_t us) {
  return (std::max<std::int64_t>(us, 0) + kCentis / 2) / kCentis;
}

std::string ScriptTime(std::int64_t centis) {
  return fmt::format("{}:{:02}:{:02}.{:02}", centis / 360'000, centis / 6'000 % 60,
                     centis / 100 % 60, centis % 100);
}

// The header without its section of events, which may state another order of fields, and within its
// limits. It begins with what FFmpeg knows a script by.
std::string Sections(std::string_view header, double largest) {
  constexpr std::string_view kInfo = "[Script Info]";
  std::string kept;
  bool events = true;  // or in front of the first section
  while (!header.empty()) {
    const std::size_t end = std::min(header.find('\n'), header.size());
    std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with('[')) events = LowerAscii(line).starts_with("[events]");
    const std::string tamed = events ? "" : TameHeaderLine(line, largest);
    if (!tamed.empty()) kept.append(tamed).append("\n");
  }
  if (LowerAscii(kept.substr(0, kInfo.size())) == LowerAscii(kInfo)) {
    return kept.replace(0, kInfo.size(), kInfo);
  }
  return fmt::format("{}\nScriptType: v4.00+\n{}", kInfo, kept);
}

// "ReadOrder,Layer,Rest"; nothing if there are not as many fields.
std::string Dialogue(std::string_view line, std::int64_t start, std::int64_t end) {
  const std::size_t order = line.find(',');
  if (order == std::string_view::npos) return {};
  const std::size_t layer = line.find(',', order + 1);
  if (layer == std::string_view::npos) return {};
  return fmt::format("Dialogue: {},{},{},{}\n", line.substr(order + 1, layer - order - 1),
                     ScriptTime(start), ScriptTime(end), line.substr(layer + 1));
}

// Cues come by their start.
void AddSpan(std::int64_t start_ms, std::int64_t end_ms, std::vector<SubtitleScript::Span>& spans) {
  if (!spans.empty() && start_ms <= spans.back().end_ms) {
    spans.back().end_ms = std::max(spans.back().end_ms, end_ms);
  } else {
    spans.push_back({start_ms, end_ms});
  }
}

Status ReadToEnd(Source& source) {
  while (true) {
    const av::Packet packet = av::NewPacket();
    GOPMILL_ASSIGN_OR_RETURN(const auto state, source.Read(*packet));
    if (state == PacketSource::ReadState::kEnd) return OkStatus();
  }
}

}  // namespace

bool SubtitleScript::ShownAt(std::int64_t us) const {
  const std::int64_t ms = us / 1000;
  const auto after = std::ranges::upper_bound(shown, ms, {}, &Span::start_ms);
  return after != shown.begin() && ms < std::prev(after)->end_ms;
}

Result<std::shared_ptr<const SubtitleScript>> MakeScript(const SubtitleTrack& track) {
  if (track.header.size() > kMaxScriptHeader) {
    return Error{.code = Code::kUnsupported,
                 .message = "The styles and fonts of these subtitles are too large.",
                 .parameter = "burn",
                 .accepted = "up to 8 MiB"};
  }
  auto script = std::make_shared<SubtitleScript>();
  // One line of bytes that are no UTF-8 would keep FFmpeg's filter from opening.
  const std::string header = WellFormed(track.header, kMaxScriptHeader);
  const double largest = LargestSize(header);
  script->text = Sections(header, largest);
  script->text += kEvents;
  for (const SubtitleCue& cue : track.cues) {
    const std::int64_t start = ToCentis(cue.start_us), end = ToCentis(cue.end_us);
    const std::string line = Dialogue(TameEvent(cue.text, largest), start, end);
    if (line.empty() || end <= start || !IsUtf8(line)) continue;
    script->text += line;
    AddSpan(10 * start, 10 * end, script->shown);
  }
  script->fingerprint = Sha256Hex(script->text);
  return std::shared_ptr<const SubtitleScript>(std::move(script));
}

Result<std::vector<SubtitleTrack>> ReadOwnTexts(UniqueFd movie, TextUse use,
                                                const std::stop_token& stop) {
  GOPMILL_ASSIGN_OR_RETURN(const auto source, Source::Open(std::move(movie), stop, {.texts = use}));
  GOPMILL_RETURN_IF_ERROR(ReadToEnd(*source));
  return source->TakeSubtitles();
}

Result<ScriptTrack> ReadScriptTrack(UniqueFd movie, int number, const std::stop_token& stop) {
  GOPMILL_ASSIGN_OR_RETURN(
      const auto source,
      Source::Open(std::move(movie), stop, {.texts = TextUse::kScript, .text_track = number}));
  ScriptTrack read{.count = source->info()->subtitles.size(), .track = {}};
  if (static_cast<std::size_t>(number) > read.count) return read;
  GOPMILL_RETURN_IF_ERROR(ReadToEnd(*source));
  std::vector<SubtitleTrack> tracks = source->TakeSubtitles();
  if (!tracks.empty()) read.track = std::move(tracks.front());
  return read;
}

}  // namespace gopmill
