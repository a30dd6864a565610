// SPDX-License-Identifier: Apache-2.0
//
// The port of RTMP: takes one client at a time, and hands what it sends to FFmpeg's reader, which
// listens on a port of loopback, as far as RtmpOpenMessages lets it. Others are turned away
// meanwhile, by a connection that ends at once.
//
// The port of loopback stays bound here while FFmpeg does not listen on it, so that nobody else
// gets it.
//
// Memory: 64 KiB for each direction. Thread-safety: Open and the destructor belong to one owner
// thread; port() is safe.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/log_limit.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace gopmill {

class RtmpGate {
 public:
  // `outside`: bound, not listening yet. `name`: as in live/NAME, for the log. kUnavailable where
  // the machine has no sockets or threads left.
  static Result<std::unique_ptr<RtmpGate>> Open(UniqueFd outside, std::string name);
  ~RtmpGate();  // its client is cut off
  RtmpGate(const RtmpGate&) = delete;
  RtmpGate& operator=(const RtmpGate&) = delete;

  // Of 127.0.0.1, where FFmpeg is to listen.
  [[nodiscard]] int port() const { return port_; }

 private:
  RtmpGate(UniqueFd outside, UniqueFd inside, int port, std::string name);
  void Run(const std::stop_token& stop);
  void Serve(const UniqueFd& client, const std::stop_token& stop);
  [[nodiscard]] UniqueFd Connect(const std::stop_token& stop) const;

  const UniqueFd outside_, inside_;
  const int port_;
  const std::string name_;
  LogLimit log_limit_{std::chrono::seconds(10)};
  std::jthread thread_;
};

}  // namespace gopmill
