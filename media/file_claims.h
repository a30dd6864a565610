// SPDX-License-Identifier: Apache-2.0
//
// BoxClaims of a file: of what FFmpeg reads to open it, without its media.
//
// Thread-safety: safe (pure but for reading the file).
#pragma once

#include <stop_token>

namespace gopmill {

// Whether a file lists more than kMaxListedPackets in what FFmpeg reads to open it. Its position
// stays. Looks into no compressed header.
bool ListsTooMuch(int fd, const std::stop_token& stop);

}  // namespace gopmill
