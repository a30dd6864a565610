// SPDX-License-Identifier: Apache-2.0
//
// What the tests of shared encodes share: pictures without content, and sinks that tell what they
// got.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/thread_safety.h"
#include "server/live/fanout_reader.h"

namespace gopmill::testing {

// Pictures at 25 fps, and sound with 1024 samples a packet at 48 kHz.
std::vector<MuxTrack> PicturesAndSound();
std::shared_ptr<const FanoutHeader> Header();
av::Packet Picture(std::int64_t pts, bool key, int bytes = 100);
FanoutItem PictureItem(std::int64_t pts, bool key, int bytes = 100, TimePoint made = {});

// What became of one sink. Thread-safety: safe.
class Received {
 public:
  // Writes block until the sink is cancelled or freed.
  void Hold();
  void Free();
  void AwaitWrite();
  [[nodiscard]] std::optional<StreamEnd> end() const;
  StreamEnd AwaitEnd();
  [[nodiscard]] bool started() const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  friend class ReceivingSink;
  mutable Mutex mutex_;
  CondVar changed_;
  bool held_ GOPMILL_GUARDED_BY(mutex_) = false;
  bool cancelled_ GOPMILL_GUARDED_BY(mutex_) = false;
  bool started_ GOPMILL_GUARDED_BY(mutex_) = false;
  int writes_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::size_t bytes_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::optional<StreamEnd> end_ GOPMILL_GUARDED_BY(mutex_);
};

class ReceivingSink final : public StreamSink {
 public:
  explicit ReceivingSink(std::shared_ptr<Received> received) : received_(std::move(received)) {}
  Status Start(const StreamStart& start) override;
  Status Write(std::span<const std::uint8_t> bytes) override;
  void Finish(const StreamEnd& end) override;
  void Cancel() noexcept override;

 private:
  const std::shared_ptr<Received> received_;
};

}  // namespace gopmill::testing
