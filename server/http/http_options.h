// SPDX-License-Identifier: Apache-2.0
//
// Where the HTTP front end listens and how much any one client may cost it. Every limit has a
// default that suits a laptop and a small server; tests shrink them.
//
// Thread-safety: compatible (plain values, copied at start).
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/users.h"

namespace gopmill {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * kKiB;

struct HttpLimits {
  // Open connections. Over it the longest idle one makes room; when none is idle, 503 and close.
  std::size_t max_connections = 1024;
  // Request line and header fields together (431 beyond), and the request target alone (414).
  std::size_t max_header_bytes = 16 * kKiB;
  std::size_t max_target_bytes = 8 * kKiB;
  // Of a body that the route has no use for. A small one is read and dropped, so that the
  // connection stays usable; a bigger one is 413, unless the request is refused for itself: then
  // that is the answer, before the body. An upload of media has no limit: it is passed on
  // as it comes, and what waits of it is bounded by a pipe.
  std::size_t max_body_bytes = 64 * kKiB;
  // Bytes of one stream that may wait for its client: in the response buffer and not yet handed
  // to the kernel. The stream's egress thread blocks above it until half of it has drained.
  std::size_t stream_buffer_bytes = 1 * kMiB;
  // Bytes of finished answers that may wait before further pipelined requests are left unread.
  std::size_t pipeline_output_bytes = 256 * kKiB;
  // Bodies of finished answers that wait for their clients, all connections together; those that
  // share their bytes count once. Over it the one that has taken longest over its answer, and
  // longer than answer_patience, is cut; when there is none, 503. Bodies up to small_answer_bytes
  // do not count.
  std::size_t answer_bytes = 256 * kMiB;
  std::size_t small_answer_bytes = 16 * kKiB;
  Duration answer_patience = std::chrono::seconds(10);
  // A client must take an answer at this many bytes a second at least, write_stall_timeout over the
  // whole allowed, or it is cut. Streams are not held to it: players take them as they show them.
  std::size_t answer_bytes_per_second = 8 * kKiB;
  // From the first byte of a request (or from accepting, for the first one) to its end: 408.
  Duration header_timeout = std::chrono::seconds(10);
  // Where no file may be opened and idle connections make room, one that has just come is spared
  // for so long: its request may be on its way.
  Duration newcomer_time = std::chrono::seconds(1);
  // From the last byte of an answer that the kernel has taken to the next request, of a connection
  // that is kept alive.
  Duration idle_timeout = std::chrono::seconds(60);
  // A client that takes no byte for this long while bytes wait for it is cut.
  Duration write_stall_timeout = std::chrono::seconds(60);
  // An uploading client that sends no byte for this long, although it could, is 408 or cut.
  Duration upload_stall_timeout = std::chrono::seconds(30);
  // An upload whose body is not wanted now, while no byte of its answer is taken either, may wait
  // for so long, and while the server drains for so long: a client that has left stands behind
  // bytes that nobody reads, where it cannot be seen.
  Duration upload_pause_timeout = std::chrono::minutes(5);
  Duration drain_pause_timeout = std::chrono::seconds(10);
  // How long Service may take for an answer that comes by callback: 504.
  Duration service_timeout = std::chrono::seconds(30);
  // The same for a part of a movie or live source. The first one of a movie waits until the file
  // has been read to its end. Who leaves is noticed meanwhile, and Service bounds how many wait.
  Duration part_timeout = std::chrono::minutes(5);
  // How long a closed connection may still send what nobody reads (so that the kernel does not
  // reset it before the client has read the answer).
  Duration linger_timeout = std::chrono::seconds(2);
};

struct HttpOptions {
  std::string address = "127.0.0.1";  // IPv4 or IPv6 literal
  int port = 8080;                    // 0 takes any free port: see HttpServer::port
  HttpLimits limits;
  Users users;  // none: everybody may do everything
  // Hosts that requests may be for, and pages may be of that ask, beside those of this machine,
  // where others may not: on loopback without users, and wherever there are such names (access.h).
  // Lower case.
  std::vector<std::string> host_names;
};

}  // namespace gopmill
