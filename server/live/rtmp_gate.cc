// SPDX-License-Identifier: Apache-2.0
#include "server/live/rtmp_gate.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "server/live/rtmp_open_messages.h"

namespace gopmill {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;
// How late it is noticed that the end was asked for.
constexpr int kGateMilliseconds = 100;
// FFmpeg listens again when it is done with the client before.
constexpr std::chrono::seconds kReaderPatience(5);
constexpr std::chrono::milliseconds kReaderStep(20);
constexpr int kBacklog = 4;

Error NoSocket() {
  return {.code = Code::kUnavailable,
          .message = std::string("No socket can be had: ") + std::strerror(errno) + ".",
          .native = errno};
}

sockaddr_in LoopbackAt(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

// Bytes on their way from one socket to the other, a piece at a time.
class Lane {
 public:
  Lane(int from, int to) : from_(from), to_(to), bytes_(kPieceBytes) {}

  [[nodiscard]] bool reads() const { return !ended_ && left_.empty(); }
  [[nodiscard]] bool writes() const { return !left_.empty(); }
  [[nodiscard]] int from() const { return from_; }
  [[nodiscard]] int to() const { return to_; }
  // What has come; empty: nothing, or the end of it (ended).
  std::span<const std::uint8_t> Read() {
    const ssize_t got = recv(from_, bytes_.data(), bytes_.size(), MSG_DONTWAIT);
    ended_ = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
    left_ = std::span(bytes_).first(got > 0 ? static_cast<std::size_t>(got) : 0);
    return left_;
  }
  // False: nobody takes it any more.
  bool Write() {
    const ssize_t sent = send(to_, left_.data(), left_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    left_ = left_.subspan(static_cast<std::size_t>(sent));
    return true;
  }
  void Discard() { left_ = {}; }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  const int from_, to_;
  std::vector<std::uint8_t> bytes_;
  std::span<const std::uint8_t> left_;
  bool ended_ = false;
};

bool IsBroken(const pollfd& polled) { return (polled.revents & (POLLHUP | POLLERR)) != 0; }

bool IsReady(const pollfd& polled) {
  return IsBroken(polled) || (polled.revents & polled.events) != 0;
}

short Wants(bool reads, bool writes) {
  return static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
}

// A client and the reader that it is passed to.
class Relay {
 public:
  Relay(int client, int reader) : up_(client, reader), down_(reader, client) {}

  // For both, in this order, and for others that come meanwhile.
  [[nodiscard]] std::array<pollfd, 3> Waits(int listening) const {
    const int client = gone_ ? -1 : up_.from();
    return {{{.fd = client, .events = Wants(up_.reads(), down_.writes()), .revents = 0},
             {.fd = down_.from(), .events = Wants(down_.reads(), up_.writes()), .revents = 0},
             {.fd = listening, .events = POLLIN, .revents = 0}}};
  }
  // What is there, as far as it goes. False: the reader has closed. An error: what was sent is not
  // to be read.
  Result<bool> Pass(const pollfd& client, const pollfd& reader) {
    if (up_.reads() && IsReady(client)) {
      GOPMILL_RETURN_IF_ERROR(messages_.Take(up_.Read()));
    } else if (IsBroken(client)) {
      gone_ = true;
    }
    if (down_.reads() && IsReady(reader)) {
      down_.Read();
    } else if (IsBroken(reader)) {
      return false;
    }
    if (up_.writes() && !up_.Write()) return false;
    gone_ = gone_ || up_.ended() || (down_.writes() && !down_.Write());
    if (gone_) down_.Discard();
    if (gone_ && !up_.writes()) shutdown(up_.to(), SHUT_WR);
    return !down_.ended();
  }

 private:
  Lane up_, down_;
  RtmpOpenMessages messages_;
  bool gone_ = false;  // the client
};

}  // namespace

Result<std::unique_ptr<RtmpGate>> RtmpGate::Open(UniqueFd outside, std::string name) {
  UniqueFd inside(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;  // FFmpeg binds it as well
  setsockopt(inside.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Who waits in accept() for a client that has left hears of no end.
  fcntl(outside.get(), F_SETFL, O_NONBLOCK);
  sockaddr_in address = LoopbackAt(0);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (!inside.valid() || bind(inside.get(), any, length) != 0 ||
      getsockname(inside.get(), any, &length) != 0 || listen(outside.get(), kBacklog) != 0) {
    return NoSocket();
  }
  std::unique_ptr<RtmpGate> gate(new RtmpGate(std::move(outside), std::move(inside),
                                              ntohs(address.sin_port), std::move(name)));
  GOPMILL_ASSIGN_OR_RETURN(
      gate->thread_,
      StartThread([raw = gate.get()](const std::stop_token& stop) { raw->Run(stop); }));
  return gate;
}

RtmpGate::RtmpGate(UniqueFd outside, UniqueFd inside, int port, std::string name)
    : outside_(std::move(outside)),
      inside_(std::move(inside)),
      port_(port),
      name_(std::move(name)) {}

RtmpGate::~RtmpGate() = default;

void RtmpGate::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd waits{.fd = outside_.get(), .events = POLLIN, .revents = 0};
    if (poll(&waits, 1, kGateMilliseconds) <= 0) continue;
    const UniqueFd client(accept4(outside_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.valid()) {
      Serve(client, stop);
    } else {
      SleepUntil(SteadyNow() + kReaderStep, stop);  // no descriptors left
    }
  }
}

// Not valid: FFmpeg does not listen.
UniqueFd RtmpGate::Connect(const std::stop_token& stop) const {
  const sockaddr_in address = LoopbackAt(port_);
  const TimePoint end = SteadyNow() + kReaderPatience;
  while (!stop.stop_requested() && SteadyNow() < end) {
    UniqueFd reader(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto* const any = reinterpret_cast<const sockaddr*>(&address);
    if (connect(reader.get(), any, sizeof(address)) == 0) return reader;
    SleepUntil(SteadyNow() + kReaderStep, stop);
  }
  return UniqueFd();
}

// Until FFmpeg has closed its connection: it reads what a client that has gone sent before.
void RtmpGate::Serve(const UniqueFd& client, const std::stop_token& stop) {
  const UniqueFd reader = Connect(stop);
  Relay relay(client.get(), reader.get());
  while (reader.valid() && !stop.stop_requested()) {
    std::array<pollfd, 3> polled = relay.Waits(outside_.get());
    if (poll(polled.data(), polled.size(), kGateMilliseconds) <= 0) continue;
    if (IsReady(polled[2])) UniqueFd(accept4(outside_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const Result<bool> goes_on = relay.Pass(polled[0], polled[1]);
    if (!goes_on.ok() && log_limit_.Allows()) {
      spdlog::warn("live {}: a client of RTMP is cut off: {}", name_, goes_on.error().message);
    }
    if (!goes_on.ok() || !*goes_on) return;
  }
}

}  // namespace gopmill
