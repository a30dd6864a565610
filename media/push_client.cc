// SPDX-License-Identifier: Apache-2.0
#include "media/push_client.h"

#include <cerrno>
#include <string_view>
#include <utility>

#include "base/ip_address.h"
#include "media/av_error.h"

namespace gopmill {
namespace {

// How long FFmpeg listens before it is asked again, and how long a handshake may take behind that.
// It does not say when a client has connected, so one that then says nothing has the place for
// both.
constexpr std::chrono::seconds kListen(10), kHandshake(3);
// What a client's bursts are smoothed over, and lost packets may take to come again (SRT).
constexpr std::chrono::microseconds kSrtLatency(120'000);

void Set(AVDictionary*& options, const char* name, std::int64_t value) {
  av_dict_set_int(&options, name, value, 0);
}

// FFmpeg listens, waits and does the handshake in one call, and says only that it failed.
Error NoClient(int code) {
  const bool ours = code == AVERROR(EADDRINUSE) || code == AVERROR(EADDRNOTAVAIL) ||
                    code == AVERROR(EACCES) || code == AVERROR(EMFILE);
  return av::AvError(ours ? "No client can come" : "A client has gone before it brought a stream",
                     code);
}

}  // namespace

const char* PushProtocolName(PushProtocol protocol) {
  return protocol == PushProtocol::kSrt ? "srt" : "rtmp";
}

bool HasPushProtocol(PushProtocol protocol) {
  void* state = nullptr;
  while (const char* name = avio_enum_protocols(&state, 0)) {
    if (std::string_view(name) == PushProtocolName(protocol)) return true;
  }
  return false;
}

std::string PushUrl(const PushAddress& address) {
  return UrlOf(PushProtocolName(address.protocol), address.address, address.port);
}

PushClient::PushClient(Duration silence, std::stop_token stop)
    : silence_(silence), stop_(std::move(stop)), deadline_(SteadyNow() + kListen + kHandshake) {}

PushClient::~PushClient() { avio_closep(&io_); }

int PushClient::OnInterrupt(void* self) noexcept {
  const auto& client = *static_cast<PushClient*>(self);
  return client.stop_.stop_requested() || SteadyNow() > client.deadline_ ? 1 : 0;
}

Result<std::unique_ptr<PushClient>> PushClient::Accept(const PushAddress& address, Duration silence,
                                                       std::stop_token stop) {
  std::unique_ptr<PushClient> client(new PushClient(silence, std::move(stop)));
  AVDictionary* options = nullptr;
  if (address.protocol == PushProtocol::kRtmp) {
    Set(options, "listen", 1);
    Set(options, "timeout", kListen.count());
  } else {
    av_dict_set(&options, "mode", "listener", 0);
    Set(options, "listen_timeout", std::chrono::microseconds(kListen).count());
    Set(options, "latency", kSrtLatency.count());
    if (!address.passphrase.empty()) {
      av_dict_set(&options, "passphrase", address.passphrase.c_str(), 0);
    }
  }
  const AVIOInterruptCB interrupt{&PushClient::OnInterrupt, client.get()};
  const int code =
      avio_open2(&client->io_, PushUrl(address).c_str(), AVIO_FLAG_READ, &interrupt, &options);
  av_dict_free(&options);
  if (client->stop_.stop_requested()) {
    return Cancelled();
  }
  if (code == AVERROR(ETIMEDOUT) || code == AVERROR_EXIT) {
    return Error{.code = Code::kDeadlineExceeded, .message = "No client came."};
  }
  if (code < 0) return NoClient(code);
  return client;
}

Result<std::size_t> PushClient::Read(std::span<std::uint8_t> buffer) {
  deadline_ = SteadyNow() + silence_;
  const int got = avio_read_partial(io_, buffer.data(), static_cast<int>(buffer.size()));
  if (got > 0) return static_cast<std::size_t>(got);
  if (stop_.stop_requested()) return Cancelled();
  if (got == AVERROR_EXIT) {
    return Error{.code = Code::kDeadlineExceeded, .message = "The client brought nothing."};
  }
  // To both protocols a client that closes its connection is an input/output error.
  if (got == 0 || got == AVERROR_EOF || got == AVERROR(EIO)) return std::size_t{0};
  return av::AvError("The connection broke", got);
}

}  // namespace gopmill
