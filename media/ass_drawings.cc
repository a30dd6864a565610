// SPDX-License-Identifier: Apache-2.0
#include "media/ass_drawings.h"

#include <algorithm>
#include <cstddef>

namespace gopmill {
namespace {

// Whether drawing is on behind these override tags.
bool DrawsBehind(std::string_view tags, bool before) {
  bool draws = before;
  for (std::size_t at = 0; (at = tags.find("\\p", at)) != std::string_view::npos;) {
    at += 2;
    // \p0, \p1 and so on; \pos and \pbo are others.
    if (at < tags.size() && tags[at] >= '0' && tags[at] <= '9') draws = tags[at] != '0';
  }
  return draws;
}

}  // namespace

std::string WithoutDrawings(std::string_view event) {
  std::string text;
  bool draws = false;
  bool closes = true;  // a brace that opens; once none does, looking again takes time without end
  while (!event.empty()) {
    const bool opens = event.front() == '{' && closes;
    const std::size_t close = opens ? event.find('}') : std::string_view::npos;
    const bool tags = close != std::string_view::npos;
    closes = closes && (!opens || tags);
    const std::size_t end = tags ? close + 1 : std::min(event.find('{', 1), event.size());
    const std::string_view piece = event.substr(0, end);
    event.remove_prefix(end);
    if (tags) draws = DrawsBehind(piece, draws);
    if (tags || !draws) text += piece;
  }
  return text;
}

}  // namespace gopmill
