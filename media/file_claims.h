// SPDX-License-Identifier: Apache-2.0
//
// BoxClaims of a file: of what FFmpeg reads to open it, without its media.
//
// Thread-safety: safe (pure but for reading the file).
#pragma once

#include <stop_token>

#include "media/fd_io.h"

namespace gopmill {

// Why FFmpeg must not see a file. kListsTooMuch: it lists more than kMaxListedPackets in what is
// not media, which FFmpeg reads to open it or on the way. Or kStrayIndex, or kCompressedHeader.
// Else kNone. Its position stays.
FdIo::Refusal RefusalOfFile(int fd, const std::stop_token& stop);

}  // namespace gopmill
