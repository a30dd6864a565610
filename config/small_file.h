// SPDX-License-Identifier: Apache-2.0
//
// Files of settings: read whole, and not one that somebody has mistaken for such.
//
// Thread-safety: safe (reads files).
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace gopmill {

// What is in a file of at most `most` bytes. kNotFound where it cannot be opened, kIo where it
// cannot be read (a folder, say), kResourceExhausted where it is larger; what to tell is the
// caller's to say.
Result<std::string> ReadSmallFile(const std::string& path, std::size_t most);

}  // namespace gopmill
