// SPDX-License-Identifier: Apache-2.0
#include "base/library_path.h"

#include <algorithm>

#include "base/utf8.h"
#include "base/words.h"

namespace gopmill {

Status CheckRequestText(const std::string& parameter, std::string_view text) {
  if (std::ranges::any_of(text, &IsControlByte)) {
    return InvalidArgument(parameter, "Control characters are not allowed.");
  }
  if (!IsUtf8(text)) return InvalidArgument(parameter, "The text is not valid UTF-8.", "UTF-8");
  return OkStatus();
}

Status CheckPathSegment(std::string_view segment) {
  if (segment.empty()) {
    return InvalidArgument("path", "The path ends in a slash, or has two of them in a row.",
                           "a path listed by /v1/sources");
  }
  if (segment == "." || segment == "..") {
    return InvalidArgument("path", "The path must not contain '.' or '..' segments.");
  }
  if (segment.find_first_of("/\\") != std::string_view::npos) {
    return InvalidArgument("path", "A path segment must not contain a slash or a backslash.");
  }
  return OkStatus();
}

Status CheckLibraryPath(std::string_view path) {
  GOPMILL_RETURN_IF_ERROR(CheckRequestText("path", path));
  for (const std::string_view segment : Split(path, '/')) {
    GOPMILL_RETURN_IF_ERROR(CheckPathSegment(segment));
  }
  return OkStatus();
}

}  // namespace gopmill
