// SPDX-License-Identifier: Apache-2.0
//
// What a path of the library may hold, that a client asks for and that is listed for clients: one
// rule, so that nothing is listed that is then refused, and nothing is opened that leads elsewhere.
//
// Such a path is text of a request: UTF-8 without control characters. Its segments are not empty,
// not "." or "..", and have no backslash; so it is relative and stays below its folder but for
// symlinks.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace gopmill {

// kInvalidArgument naming `parameter` unless it is UTF-8 without U+0000 to U+001F and U+007F.
Status CheckRequestText(const std::string& parameter, std::string_view text);

// One part of a path, decoded; what CheckRequestText wants is not looked at. kInvalidArgument
// naming "path".
Status CheckPathSegment(std::string_view segment);

// All of it: "dir/movie.mp4". kInvalidArgument naming "path".
Status CheckLibraryPath(std::string_view path);

}  // namespace gopmill
