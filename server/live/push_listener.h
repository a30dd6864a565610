// SPDX-License-Identifier: Apache-2.0
//
// Takes live streams that clients bring by SRT or RTMP: listens on one port, for one client at a
// time, and publishes what it sends under one name. When a client has gone it listens for the next.
//
// Thread-safety: Start and the destructor belong to one owner thread. Service must outlive it.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/log_limit.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "media/push_client.h"
#include "server/api/service.h"
#include "server/live/rtmp_gate.h"

namespace gopmill {

struct PushOptions {
  PushAddress address;
  std::string name;                             // as in live/NAME
  Duration silence = std::chrono::seconds(10);  // of a client: its end
};

// Whether these could ever work, also while the port is 0. Errors name the setting.
Status CheckPushOptions(const PushOptions& options);

class PushListener {
 public:
  // kUnsupported if FFmpeg lacks the protocol, kUnavailable if the port cannot be had.
  static Result<std::unique_ptr<PushListener>> Start(PushOptions options, Service& service);
  ~PushListener();  // stops
  PushListener(const PushListener&) = delete;
  PushListener& operator=(const PushListener&) = delete;

 private:
  PushListener(PushOptions options, Service& service);
  void Run(const std::stop_token& stop);
  Status Publish(PushClient& client, const std::stop_token& stop);

  const PushOptions options_;
  PushAddress heard_;               // where FFmpeg listens: the port itself, or behind its gate
  std::unique_ptr<RtmpGate> gate_;  // of RTMP
  LogLimit log_limit_{std::chrono::seconds(10)};  // of the same words
  std::string told_;                              // last; of the listener's thread
  Service& service_;
  std::jthread thread_;
};

}  // namespace gopmill
