// SPDX-License-Identifier: Apache-2.0
//
// A client of MediaService that waits for the end of its stream, and what it asks for.
#pragma once

#include <future>
#include <span>
#include <utility>

#include "server/api/service.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {

class EndSink : public StreamSink {
 public:
  EndSink(std::promise<StreamEnd>& end, OnWrite on_write = {})
      : end_(end), on_write_(std::move(on_write)) {}
  Status Start(const StreamStart&) override { return OkStatus(); }
  Status Write(std::span<const std::uint8_t> bytes) override {
    return on_write_ ? on_write_(bytes) : OkStatus();
  }
  void Finish(const StreamEnd& end) override { end_.set_value(end); }

 private:
  std::promise<StreamEnd>& end_;
  OnWrite on_write_;
};

// 45 pictures, soon made.
inline const RequestParams kSmall{
    {"width", "128"}, {"height", "96"}, {"fps", "15"}, {"bitrate", "50k"}, {"duration", "3"}};

}  // namespace gopmill::test
