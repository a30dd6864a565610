// SPDX-License-Identifier: Apache-2.0
//
// Where the bytes of one stream go: a file, stdout, an HTTP response.
//
// Protocol: Start once, Write any number of times, Finish exactly once. A stream that fails before
// its first byte goes straight to Finish, so that a front end can still answer with a proper error.
// All calls but Cancel come from the one egress thread of the stream. Write may block: that is how
// backpressure reaches the source. It must return an error promptly once the client is gone.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/adjustment.h"
#include "base/status.h"

namespace gopmill {

// What is known before the first byte.
struct StreamStart {
  std::string content_type;  // "video/mp4"
  std::vector<Adjustment> adjustments;
  double plan_ms = 0;  // opening and probing the source, for Server-Timing
};

// What is known at the end.
struct StreamEnd {
  Status status;  // why it ended early, or OK
  // Measures in a fixed order of names, as decimal text: "frames", "bytes", "out-of-order-rate",
  // "jitter-ms"... The HTTP front sends them as trailers; the command line prints them.
  std::map<std::string, std::string> measures;
};

class StreamSink {
 public:
  virtual ~StreamSink() = default;
  virtual Status Start(const StreamStart& start) = 0;
  virtual Status Write(std::span<const std::uint8_t> bytes) = 0;
  virtual void Finish(const StreamEnd& end) = 0;
  // The one call from any thread: the stream is being stopped; a Write that is blocked, and every
  // later one, must return an error soon.
  virtual void Cancel() noexcept {}
};

}  // namespace gopmill
