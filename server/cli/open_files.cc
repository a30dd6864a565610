// SPDX-License-Identifier: Apache-2.0
#include "server/cli/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "server/rtsp/rtsp_server.h"
#include "server/segments/movie_shelf.h"

namespace gopmill::cli {
namespace {

// Listeners, event loops, reports, and what libraries read at their start: 20 measured.
constexpr std::int64_t kOfProcess = 64;
// What is kept open of movies that are watched in segments.
constexpr std::int64_t kOfMovies =
    std::int64_t{kMaxShelvedFiles} * kKeptReaders * kReaderDescriptors;
// A source, and three pipe ends where it is an upload.
constexpr std::int64_t kOfStream = 4;
// A socket for RTSP, two for RTP and RTCP of each track, and what pipelines wake each other by.
constexpr std::int64_t kOfRtspSession = 16;
// A socket, by two names, and what its thread is woken by.
constexpr std::int64_t kOfRtspConnection = 3;

std::int64_t BesideConnections(const ServerConfig& config) {
  const std::int64_t rtsp = config.rtsp.port == 0 ? 0
                                                  : kOfRtspSession * config.rtsp.max_sessions +
                                                        kOfRtspConnection * kMaxSpareConnections;
  return kOfProcess + kOfMovies + kOfStream * config.streams.max + rtsp;
}

}  // namespace

std::int64_t RaiseOpenFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<std::int64_t>::max();
  const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  constexpr rlim_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, kMost));
}

std::int64_t ConnectionsWithin(std::int64_t open_files, const ServerConfig& config) {
  const std::int64_t room = std::max(open_files - BesideConnections(config), open_files / 2);
  return std::clamp<std::int64_t>(room, 1, config.http.max_connections);
}

std::int64_t OpenFilesFor(const ServerConfig& config) {
  return BesideConnections(config) + config.http.max_connections;
}

}  // namespace gopmill::cli
