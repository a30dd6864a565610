// SPDX-License-Identifier: Apache-2.0
//
// The HTTP front end: listens, speaks HTTP/1.0 and 1.1, and turns requests into calls of Service.
// docs/API.md is what its users read.
//
// One thread runs everything here; it never blocks, reads a file or touches media. Bytes of streams
// come from their egress threads through StreamChannel.
//
// Ending it, in this order: Drain (optional), Stop, destroy. Service must outlive it.
// Thread-safety: Start, SetUsers, Drain, Stop and the destructor belong to one owner thread; stats
// is safe.
#pragma once

#include <cstddef>
#include <memory>

#include "base/clock.h"
#include "base/status.h"
#include "config/users.h"
#include "server/api/service.h"
#include "server/http/http_metrics.h"
#include "server/http/http_options.h"

namespace gopmill {

class HttpServer {
 public:
  // Listens and serves at once. kInvalidArgument for a bad address or port, kUnavailable if the
  // port is taken.
  static Result<std::unique_ptr<HttpServer>> Start(const HttpOptions& options, Service& service);
  ~HttpServer();  // stops
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // The port that is listened on.
  [[nodiscard]] int port() const;

  // From the next request on these are the users, for all connections; streams that run go on.
  // Blocks until it is so. Not after Stop.
  void SetUsers(Users users);

  // From the next connection on there may be so many; those that are open stay. Blocks until it is
  // so. Not after Stop.
  void SetMaxConnections(std::size_t most);

  // Takes no new streams (503 with Retry-After; /readyz is 503 too), lets running ones finish for
  // at most `limit`, then cuts them. Returns how many were cut. Connections are still accepted, so
  // that probes and late clients get a clear answer instead of a refused connection; each is closed
  // after its answer. Blocks the caller; call it once, before Stop.
  std::size_t Drain(Duration limit);

  // Closes the listener and every connection and ends the thread. May be called again.
  void Stop();

  [[nodiscard]] HttpStats stats() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gopmill
