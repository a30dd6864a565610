// SPDX-License-Identifier: Apache-2.0
#include "server/live/push_listener.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/ip_address.h"
#include "base/log.h"
#include "base/pipe.h"
#include "base/thread.h"
#include "server/live/live_hub.h"

namespace gopmill {
namespace {

// Behind a connection that failed at once.
constexpr std::chrono::milliseconds kPause{200};
constexpr std::size_t kReadBytes = std::size_t{64} << 10U;
// How late it is noticed that the end was asked for while the reader takes nothing.
constexpr int kPollMilliseconds = 100;

// FFmpeg tells of a port that is taken when it listens, which is too late for whoever starts a
// server: it is tried here.
Result<UniqueFd> BindPort(const PushAddress& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = address.protocol == PushProtocol::kSrt ? SOCK_DGRAM : SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (getaddrinfo(address.address.c_str(), port.c_str(), &hints, &found) != 0) {
    return Error{.code = Code::kUnavailable,
                 .message = PushUrl(address) + " is no address of this machine."};
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  UniqueFd fd(socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd.get(), found->ai_addr, found->ai_addrlen) == 0) return fd;
  return Error{
      .code = Code::kUnavailable,
      .message = PushUrl(address) + " cannot be listened on: " + std::strerror(errno) + "."};
}

// What libsrt takes; FFmpeg would say so only when a client is waited for, again and again.
Status CheckPassphrase(const std::string& passphrase) {
  if (passphrase.empty() || (passphrase.size() >= 10 && passphrase.size() <= 79)) return OkStatus();
  return InvalidArgument("srt.passphrase", "The passphrase is too short or too long.",
                         "10 to 79 bytes, or nothing");
}

// False when there is no reader any more, or the end was asked for.
bool WriteAll(int fd, std::span<const std::uint8_t> bytes, const std::stop_token& stop) {
  while (!bytes.empty() && !stop.stop_requested()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) return false;
    pollfd room{.fd = fd, .events = POLLOUT, .revents = 0};
    poll(&room, 1, kPollMilliseconds);
  }
  return bytes.empty();
}

}  // namespace

Status CheckPushOptions(const PushOptions& options) {
  const std::string protocol = PushProtocolName(options.address.protocol);
  GOPMILL_RETURN_IF_ERROR(CheckIpAddress(protocol + ".address", options.address.address));
  GOPMILL_RETURN_IF_ERROR(CheckNameSetting(protocol + ".name", options.name));
  return CheckPassphrase(options.address.passphrase);
}

Result<std::unique_ptr<PushListener>> PushListener::Start(PushOptions options, Service& service) {
  const std::string protocol = PushProtocolName(options.address.protocol);
  if (!HasPushProtocol(options.address.protocol)) {
    return Error{.code = Code::kUnsupported,
                 .message = "FFmpeg here is built without " + protocol + ".",
                 .parameter = protocol + ".port",
                 .accepted = "0"};
  }
  GOPMILL_RETURN_IF_ERROR(CheckPushOptions(options));
  GOPMILL_ASSIGN_OR_RETURN(UniqueFd bound, BindPort(options.address));
  std::unique_ptr<PushListener> listener(new PushListener(std::move(options), service));
  if (listener->heard_.protocol == PushProtocol::kRtmp) {
    GOPMILL_ASSIGN_OR_RETURN(listener->gate_,
                             RtmpGate::Open(std::move(bound), listener->options_.name));
    listener->heard_.address = "127.0.0.1";
    listener->heard_.port = listener->gate_->port();
  }
  bound = UniqueFd();
  GOPMILL_ASSIGN_OR_RETURN(
      listener->thread_,
      StartThread([raw = listener.get()](const std::stop_token& stop) { raw->Run(stop); }));
  return listener;
}

PushListener::PushListener(PushOptions options, Service& service)
    : options_(std::move(options)), heard_(options_.address), service_(service) {}

PushListener::~PushListener() = default;

void PushListener::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    auto client = PushClient::Accept(heard_, options_.silence, stop);
    const Status served = client.ok() ? Publish(**client, stop) : Status(client.error());
    if (served.ok() || served.error().code == Code::kDeadlineExceeded || stop.stop_requested()) {
      continue;
    }
    const std::string& why = served.error().message;
    if (log_limit_.Allows() || why != told_) {
      spdlog::warn("live {}: {}: {}", options_.name, PushUrl(options_.address), why);
      told_ = why;
    }
    SleepUntil(SteadyNow() + kPause, stop);  // who is refused may come again at once
  }
}

// Through a pipe, like the body of an HTTP publisher. An error where the client is refused; what
// ends one that was taken is in the log.
Status PushListener::Publish(PushClient& client, const std::stop_token& stop) {
  GOPMILL_ASSIGN_OR_RETURN(Pipe pipe, OpenUploadPipe(PipeReader::kWaits));
  const UniqueFd writer = std::move(pipe.writer);
  GOPMILL_RETURN_IF_ERROR(service_.Publish(options_.name, PushUrl(options_.address),
                                           std::move(pipe.reader),
                                           [](const Result<std::string>&) {}));
  std::vector<std::uint8_t> buffer(kReadBytes);
  while (true) {
    const auto got = client.Read(buffer);
    if (!got.ok()) {
      spdlog::info("live {}: {}", options_.name, got.error().message);
      return OkStatus();
    }
    if (*got == 0 || !WriteAll(writer.get(), std::span(buffer).first(*got), stop)) {
      return OkStatus();
    }
  }
}

}  // namespace gopmill
