// SPDX-License-Identifier: Apache-2.0
//
// The end of the way out of an encode that several readers share: each gets the same packets
// (fanout_reader.h). The encode never waits for a reader.
//
// Thread-safety: safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/thread_safety.h"
#include "server/api/stream_sink.h"
#include "server/live/fanout_reader.h"

namespace gopmill {

// How much room readers need, by the longest and the largest GOP so far.
class FanoutGauge {
 public:
  // `time_base`: of the pictures.
  void Note(const FanoutItem& item, Rational time_base);
  [[nodiscard]] const FanoutRoom& room() const { return room_; }

 private:
  FanoutRoom room_;
  std::int64_t begin_ = 0;  // pts of the last key picture
  std::size_t bytes_ = 0;   // since
};

class LiveFanout : public std::enable_shared_from_this<LiveFanout> {
 public:
  // What the encode is started with. Once.
  std::unique_ptr<StreamSink> MakeSink();

  // False once the encode is over or being stopped: there will be no more packets.
  bool Join(std::shared_ptr<FanoutReader> reader);
  // Whether it was the last one.
  bool Leave(const FanoutReader& reader);
  [[nodiscard]] bool over() const;

 private:
  class Sink;
  class Output;
  void Open(std::shared_ptr<const FanoutHeader> header);
  void Put(const FanoutItem& item);
  void End(const StreamEnd& end);
  void Stop() noexcept;

  mutable Mutex mutex_;  // guards all below; taken before those of the readers
  std::vector<std::shared_ptr<FanoutReader>> readers_ GOPMILL_GUARDED_BY(mutex_);
  std::shared_ptr<const FanoutHeader> header_ GOPMILL_GUARDED_BY(mutex_);
  FanoutGauge gauge_ GOPMILL_GUARDED_BY(mutex_);
  bool begun_ GOPMILL_GUARDED_BY(mutex_) = false;  // something has been put
  bool over_ GOPMILL_GUARDED_BY(mutex_) = false;
};

}  // namespace gopmill
