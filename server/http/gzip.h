// SPDX-License-Identifier: Apache-2.0
//
// gzip (RFC 1952) of a finished answer. Thread-safety: safe (pure function).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gopmill {

// The fastest level: answers are compressed on the event loop, where a megabyte costs some ten
// milliseconds. Empty result if zlib has no memory: send the text as it is then.
std::optional<std::string> Gzip(std::string_view text);

}  // namespace gopmill
