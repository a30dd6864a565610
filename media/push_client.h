// SPDX-License-Identifier: Apache-2.0
//
// A client that connects to us to bring a stream by SRT or RTMP, as the bytes of the container it
// sends: MPEG-TS (SRT), FLV (RTMP). FFmpeg's protocols do the talking; each listens for one client
// at a time.
//
// Thread-safety: thread-affine. Calls block, until `stop` at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "media/av_ptr.h"

namespace gopmill {

enum class PushProtocol : std::uint8_t { kSrt, kRtmp };

// "srt", "rtmp".
const char* PushProtocolName(PushProtocol protocol);
// Whether the FFmpeg that this process runs with has it.
bool HasPushProtocol(PushProtocol protocol);

struct PushAddress {
  PushProtocol protocol = PushProtocol::kSrt;
  std::string address = "127.0.0.1";  // IPv4 or IPv6 literal
  int port = 0;                       // 1..65535
  std::string passphrase;             // of SRT, 10..79 bytes; empty = not encrypted
};

// As FFmpeg names it.
std::string PushUrl(const PushAddress& address);

class PushClient {
 public:
  // Waits for a client and does the handshake. kDeadlineExceeded: nobody came in time, or somebody
  // who says nothing; to be called again. A client that brings no byte for `silence` has ended.
  static Result<std::unique_ptr<PushClient>> Accept(const PushAddress& address, Duration silence,
                                                    std::stop_token stop);
  ~PushClient();
  PushClient(const PushClient&) = delete;
  PushClient& operator=(const PushClient&) = delete;

  // How many of its next bytes were read; 0 = it has gone: whether by its will is not told.
  Result<std::size_t> Read(std::span<std::uint8_t> buffer);

 private:
  PushClient(Duration silence, std::stop_token stop);
  static int OnInterrupt(void* self) noexcept;

  const Duration silence_;
  const std::stop_token stop_;
  TimePoint deadline_;
  AVIOContext* io_ = nullptr;
};

}  // namespace gopmill
