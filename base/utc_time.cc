// SPDX-License-Identifier: Apache-2.0
#include "base/utc_time.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace gopmill {
namespace {

std::string Text(std::chrono::sys_seconds seconds) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)));
}

}  // namespace

std::string UtcSeconds(WallTime time) {
  return Text(std::chrono::floor<std::chrono::seconds>(time)) + "Z";
}

std::string UtcMillis(WallTime time) {
  const auto millis = std::chrono::floor<std::chrono::milliseconds>(time);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(millis);
  return fmt::format("{}.{:03}Z", Text(seconds), (millis - seconds).count());
}

}  // namespace gopmill
