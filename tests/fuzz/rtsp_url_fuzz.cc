// SPDX-License-Identifier: Apache-2.0
//
// The path and query of an RTSP URL from any bytes. What is accepted has no control characters and
// no parameter twice, and the order of the parameters must change neither that nor the key by which
// players share a stream.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "server/rtsp/rtsp_request.h"
#include "tests/fuzz/bytes.h"

namespace {

using gopmill::fuzz::Require;

bool IsPlain(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

void CheckRequest(const gopmill::RtspRequest& request) {
  Require(!request.path.empty() && IsPlain(request.path));
  std::set<std::string> names;
  for (const auto& [name, value] : request.params) {
    Require(IsPlain(name) && IsPlain(value) && name != "container" && names.insert(name).second);
  }
}

std::string Reversed(std::string_view query) {
  std::string reversed;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    reversed = std::string(query.substr(0, end)) + (reversed.empty() ? "" : "&") + reversed;
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return reversed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gopmill;
  const std::string_view url(reinterpret_cast<const char*>(data), size);
  const std::size_t mark = std::min(url.find('?'), size);
  const std::string_view path = url.substr(0, mark);
  const std::string_view query = url.substr(std::min(mark + 1, size));
  const auto request = ParseRtspUrl(path, query);
  if (request.ok()) CheckRequest(*request);
  if (size > kMaxRtspUrlBytes) return 0;  // without empty parameters it is shorter
  const auto other = ParseRtspUrl(path, Reversed(query));
  Require(request.ok() == other.ok());
  Require(!request.ok() || KeyOf(*request) == KeyOf(*other));
  return 0;
}
