// SPDX-License-Identifier: Apache-2.0
//
// A file of subtitles from any bytes (the first says which kind, and what for), and its name: cues
// in order and within their limits, payloads that stay what they are in the file they go into, a
// script whose lines are its own, packets whose times rise; names and languages that no playlist
// trips over.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/utf8.h"
#include "media/language.h"
#include "media/script_head.h"
#include "media/script_tags.h"
#include "media/subtitle_file.h"
#include "media/subtitle_script.h"
#include "media/text_feed.h"
#include "tests/fuzz/bytes.h"

namespace {

using namespace gopmill;
using fuzz::Require;

UniqueFd FileOf(const std::string& content) {
  UniqueFd fd(memfd_create("subtitles", MFD_CLOEXEC));
  Require(fd.valid());
  Require(write(fd.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  Require(lseek(fd.get(), 0, SEEK_SET) == 0);
  return fd;
}

void CheckCue(const SubtitleCue& cue, CueForm form) {
  Require(!cue.text.empty());
  if (form == CueForm::kWebVtt) {
    Require(cue.text.find("\n\n") == std::string::npos && !cue.text.ends_with('\n'));
    Require(cue.text.find("-->") == std::string::npos);
  }
  if (form == CueForm::kScript) Require(cue.text.find_first_of("\r\n") == std::string::npos);
}

void CheckScript(const SubtitleTrack& track) {
  const auto script = MakeScript(track);
  const std::string& text = script->text;
  Require(text.starts_with("[Script Info]\n") && IsUtf8(text));
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  Require(lines <= track.cues.size() + kMaxStyles + 12);
  Require(std::ranges::is_sorted(script->cues, {}, &SubtitleScript::Span::start_ms));
  const ScriptHead head = WriteScriptHead(track.header);
  Require(WriteScriptHead(head.text).text == head.text);
  for (const SubtitleCue& cue : track.cues) {
    const std::string tamed = TameEvent(cue.text, head).text;
    Require(TameEvent(tamed, head).text == tamed);
  }
  std::int64_t before = -1;
  for (const SubtitleScript::Span& span : script->shown) {
    Require(span.start_ms > before && span.end_ms > span.start_ms);
    Require(script->SpanAt(1000 * span.start_ms) == &span);
    Require(script->SpanAt(1000 * span.end_ms) == nullptr);
    before = span.end_ms;
  }
}

void CheckPackets(const SubtitleTrack& track, SourceClip clip) {
  TextFeed feed(track, clip);
  std::int64_t before = -1;
  while (const av::Packet packet = feed.Next()) {
    Require(packet->pts > before && packet->dts == packet->pts && packet->duration > 0);
    Require(packet->size > 0);
    before = packet->pts;
  }
}

void CheckName(const std::string& words) {
  const auto track = DescribeSubtitleFile("movie", "movie." + words);
  if (!track) return;
  Require(IsUtf8(track->title) && track->title.find_first_of("\r\n") == std::string::npos);
  const std::string tag = LanguageTag(track->language);
  Require(tag.find_first_of("\"\r\n,") == std::string::npos && tag.size() <= 35);
  Require(ContainerLanguage(track->language).find('-') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::array kNames{"m.srt", "m.vtt", "m.ass", "m.ssa"};
  constexpr std::array kUses{TextUse::kWebVtt, TextUse::kScript, TextUse::kMatroska, TextUse::kMp4};
  if (size == 0) return 0;
  const std::string content(reinterpret_cast<const char*>(data) + 1, size - 1);
  CheckName(content.substr(0, 64));
  const auto described = DescribeSubtitleFile("m", kNames.at(data[0] % kNames.size()));
  Require(described.has_value());
  const TextUse use = kUses.at(data[0] / kNames.size() % kUses.size());
  const auto track = ReadSubtitleFile(FileOf(content), *described, {}, use);
  if (!track.ok()) return 0;
  Require(std::ranges::is_sorted(track->cues, {}, &SubtitleCue::start_us));
  Require(track->cues.size() <= kMaxCues);
  for (const SubtitleCue& cue : track->cues) CheckCue(cue, track->form);
  if (track->form == CueForm::kScript) CheckScript(*track);
  if (track->form == CueForm::kMovText) {
    const auto overlap = [](const SubtitleCue& a, const SubtitleCue& b) {
      return b.start_us < a.end_us;
    };
    Require(std::ranges::adjacent_find(track->cues, overlap) == track->cues.end());
  }
  CheckPackets(*track, {});
  CheckPackets(*track, {.start_us = 1'500'000, .end_us = 2'000'000});
  return 0;
}
