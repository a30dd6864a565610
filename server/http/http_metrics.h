// SPDX-License-Identifier: Apache-2.0
//
// What the front end counts about itself, in a prometheus-cpp registry of its own.
//
// Names (docs/API.md lists them): gopmill_http_connections, _connections_total,
// _connections_refused_total, _accept_failures_total, _requests_total{route,status},
// _received_bytes_total, _sent_bytes_total, _streams, _stream_buffer_bytes.
//
// Thread-safety: safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "server/http/routes.h"

namespace gopmill {

// A snapshot, for tests.
struct HttpStats {
  std::int64_t connections = 0;          // open now
  std::int64_t connections_total = 0;    // accepted since the start
  std::int64_t connections_refused = 0;  // 503 for want of room
  std::int64_t accept_failures = 0;      // no file descriptor left: closed an idle one or waited
  std::int64_t requests = 0;             // answered, any status
  std::int64_t received_bytes = 0;
  std::int64_t sent_bytes = 0;
  std::int64_t streams = 0;                   // responses of streams that are not finished
  std::int64_t peak_stream_buffer_bytes = 0;  // the most that any one stream had waiting
};

class HttpMetrics {
 public:
  HttpMetrics();
  ~HttpMetrics();
  HttpMetrics(const HttpMetrics&) = delete;
  HttpMetrics& operator=(const HttpMetrics&) = delete;

  void ConnectionOpened();
  void ConnectionClosed();
  void ConnectionRefused();
  void AcceptFailed();
  void RequestAnswered(RouteId route, int status);
  void Received(std::size_t bytes);
  void Sent(std::size_t bytes);
  void StreamStarted();
  void StreamEnded();
  // Bytes waiting in all streams grew or shrank; `now_waiting` is what this one stream has.
  void StreamBufferChanged(std::int64_t change, std::size_t now_waiting);

  [[nodiscard]] HttpStats Snapshot() const;
  // Prometheus text exposition format 0.0.4.
  [[nodiscard]] std::string Serialize() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
  // Relaxed maximum; a reader needs no order with other data.
  std::atomic<std::int64_t> peak_stream_buffer_bytes_ = 0;
  std::atomic<std::int64_t> requests_ = 0;  // relaxed sum over routes and statuses
};

}  // namespace gopmill
