// SPDX-License-Identifier: Apache-2.0
#include "server/cli/systemd_notifier.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace gopmill::cli {
namespace {

constexpr char kVariable[] = "NOTIFY_SOCKET";

std::int64_t Microseconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

std::string TakeVariable() {
  const char* value = std::getenv(kVariable);
  std::string taken = value == nullptr ? "" : value;
  unsetenv(kVariable);
  return taken;
}

// How long the address of "/path" or "@abstract" is; none if it is neither, or does not fit.
std::optional<socklen_t> FillAddress(std::string_view name, sockaddr_un& address) {
  const bool abstract = name.starts_with('@');
  if (name.size() < 2 || (!abstract && !name.starts_with('/'))) return std::nullopt;
  // A path has a zero behind it; an abstract name has one for its '@' and goes to the very end.
  const std::size_t bytes = name.size() + (abstract ? 0 : 1);
  if (bytes > sizeof address.sun_path) return std::nullopt;
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path);
  if (abstract) address.sun_path[0] = '\0';
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + bytes);
}

}  // namespace

SystemdNotifier::SystemdNotifier() {
  const std::string name = TakeVariable();
  if (name.empty()) return;
  const auto bytes = FillAddress(name, address_);
  if (!bytes) {
    spdlog::warn("systemd is told nothing: {} is no absolute path of at most {} bytes, nor @NAME",
                 kVariable, sizeof address_.sun_path - 1);
    return;
  }
  address_bytes_ = *bytes;
  socket_ = UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket_.valid()) return;
  spdlog::warn("systemd is told nothing: {}", std::generic_category().message(errno));
}

void SystemdNotifier::Ready(std::string_view status) {
  Send(fmt::format("READY=1\nSTATUS={}", status));
}

void SystemdNotifier::Reloading() {
  Send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=Reading the settings again",
                   Microseconds(SteadyNow().time_since_epoch())));
}

void SystemdNotifier::Stopping(Duration longest, std::string_view status) {
  Send(fmt::format("STOPPING=1\nEXTEND_TIMEOUT_USEC={}\nSTATUS={}", Microseconds(longest), status));
}

void SystemdNotifier::SendAgain() {
  if (!unsent_.empty()) Send(std::exchange(unsent_, {}));
}

// The address is looked up each time: systemd may have been started again behind it.
void SystemdNotifier::Send(std::string state) {
  if (!socket_.valid()) return;
  unsent_.clear();
  if (sendto(socket_.get(), state.data(), state.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&address_), address_bytes_) >= 0) {
    return;
  }
  const int error = errno;
  unsent_ = std::move(state);
  if (std::exchange(warned_, true)) return;
  spdlog::warn("systemd does not hear of the server's state: {}",
               std::generic_category().message(error));
}

}  // namespace gopmill::cli
