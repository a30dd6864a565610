// SPDX-License-Identifier: Apache-2.0
//
// Exit codes of the program, for scripts. This is the one table; the help text prints it.
//
//    0  done
//    1  failed while running: the disk is full, the port is taken, a worker cannot be made
//    2  the command line or a setting is wrong: nothing was done
//    3  the source cannot be used: not there, not a movie, damaged, no video
//  130  interrupted by Ctrl-C or SIGTERM
//
// Thread-safety: safe (pure functions).
#pragma once

#include "base/status.h"

namespace gopmill::cli {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kBadSource = 3;
inline constexpr int kInterrupted = 130;

int ExitCodeOf(const Error& error);

}  // namespace gopmill::cli
