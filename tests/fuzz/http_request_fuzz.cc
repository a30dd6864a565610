// SPDX-License-Identifier: Apache-2.0
//
// The request parser and the target decoder on any bytes. The first byte says in which pieces the
// others arrive; a complete request must not depend on it. (A bad one may be seen sooner or later.)
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "base/library_path.h"
#include "base/utf8.h"
#include "server/http/request_parser.h"
#include "server/http/routes.h"
#include "server/http/target.h"

namespace {

using gopmill::RequestParser;

struct Outcome {
  RequestParser::State state = RequestParser::State::kHead;
  std::size_t used = 0;
  std::string target;
  bool operator==(const Outcome&) const = default;
};

// The first request of `bytes`, which arrive `step` at a time.
Outcome Parse(std::span<const std::uint8_t> bytes, std::size_t step) {
  RequestParser parser{gopmill::HttpLimits{}};
  Outcome outcome;
  std::size_t arrived = 0;
  while (true) {
    outcome.used += parser.Feed(bytes.subspan(outcome.used, arrived - outcome.used));
    outcome.state = parser.state();
    const bool over = outcome.state == RequestParser::State::kDone ||
                      outcome.state == RequestParser::State::kFailed;
    if (over || arrived == bytes.size()) break;
    arrived = std::min(arrived + step, bytes.size());
  }
  if (outcome.state == RequestParser::State::kDone) outcome.target = parser.request().target;
  return outcome;
}

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckTarget(const std::string& raw) {
  const auto target = gopmill::ParseTarget(raw);
  if (!target.ok()) return;
  for (const std::string& segment : target->segments) {
    Require(gopmill::CheckLibraryPath(segment).ok() && gopmill::IsUtf8(segment));
    Require(segment.find('/') == std::string::npos && segment.find('\0') == std::string::npos);
  }
  const auto match = gopmill::MatchRoute(target->segments);
  if (match.route != nullptr && match.route->id == gopmill::RouteId::kTranscode) {
    Require(gopmill::CheckLibraryPath(match.argument).ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> bytes(data + 1, size - 1);
  const Outcome whole = Parse(bytes, bytes.size());
  const Outcome pieces = Parse(bytes, 1U + data[0]);
  const bool complete =
      whole.state == RequestParser::State::kDone || pieces.state == RequestParser::State::kDone;
  Require(!complete || whole == pieces);
  CheckTarget(whole.target);
  CheckTarget(std::string(bytes.begin(), bytes.end()));
  return 0;
}
