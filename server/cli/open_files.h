// SPDX-License-Identifier: Apache-2.0
//
// How many files the process may have open (RLIMIT_NOFILE), and how many connections that leaves
// room for.
//
// Thread-safety: safe.
#pragma once

#include <cstdint>

#include "config/server_config.h"

namespace gopmill::cli {

// Raises the soft limit, 1024 almost everywhere for the sake of programs that use select(), to the
// hard one. Returns what holds then.
std::int64_t RaiseOpenFileLimit();

// http.max_connections, or as many as `open_files` leaves room for beside what streams, RTSP
// sessions and the process itself have open; at least half of `open_files`.
std::int64_t ConnectionsWithin(std::int64_t open_files, const ServerConfig& config);

// The limit on open files that the settings may need.
std::int64_t OpenFilesFor(const ServerConfig& config);

}  // namespace gopmill::cli
