// SPDX-License-Identifier: Apache-2.0
#include "media/webvtt_cues.h"

#include <algorithm>

namespace gopmill {
namespace {

// Takes one or more digits and the character behind them.
bool TakeDigits(std::string_view& text, char behind) {
  const std::size_t end = text.find_first_not_of("0123456789");
  if (end == 0 || end == std::string_view::npos || text[end] != behind) return false;
  text.remove_prefix(end + 1);
  return true;
}

// "01:02.345" or "1:01:02.345".
bool BeginsWithTime(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (!TakeDigits(text, ':')) return false;
  std::string_view seconds = text;
  if (TakeDigits(text, ':')) seconds = text;
  return TakeDigits(seconds, '.') && seconds.find_first_of("0123456789") == 0;
}

bool HasTimes(std::string_view line) {
  const std::size_t arrow = line.find("-->");
  return arrow != std::string_view::npos && BeginsWithTime(line) &&
         BeginsWithTime(line.substr(arrow + 3));
}

std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end);
  text.remove_prefix(text.starts_with("\r\n") ? 2 : text.empty() ? 0 : 1);
  return line;
}

// FFmpeg's reader ends at a NUL; WebVTT has another character read for it.
void AddLine(std::string_view line, std::string& cues) {
  for (const char c : line) {
    if (c == '\0') {
      cues += "\xEF\xBF\xBD";
    } else {
      cues += c;
    }
  }
  cues += '\n';
}

}  // namespace

std::string OnlyCues(std::string_view webvtt) {
  constexpr std::string_view kBom = "\xEF\xBB\xBF";
  if (webvtt.starts_with(kBom)) webvtt.remove_prefix(kBom.size());
  std::string cues = "WEBVTT\n";
  cues.reserve(webvtt.size());
  bool inside = false;
  while (!webvtt.empty()) {
    const std::string_view line = TakeLine(webvtt);
    const bool begins = HasTimes(line);
    inside = begins || (inside && !line.empty());
    if (begins) cues += '\n';
    if (inside) AddLine(line, cues);
  }
  return cues;
}

}  // namespace gopmill
