// SPDX-License-Identifier: Apache-2.0
//
// Bytes into a descriptor, however many calls that takes.
//
// Thread-safety: safe.
#pragma once

#include <string_view>

namespace gopmill {

// Blocks until all are written, where the descriptor blocks. False if something failed: errno says
// what, and some may have been written.
[[nodiscard]] bool WriteWhole(int fd, std::string_view bytes);

}  // namespace gopmill
