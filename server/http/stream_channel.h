// SPDX-License-Identifier: Apache-2.0
//
// The bounded pipe between a stream's egress thread and the event loop, and the StreamSink at its
// near end. This is where backpressure starts: Write blocks while the bytes that wait for the
// client (here and in the connection's output buffer) reach the limit, and goes on once half has
// drained.
//
// Guarantees: what waits never exceeds the limit, whatever the sizes of the writes. Once Abandon
// was called, every call of the sink returns kCancelled at once, a blocked Write included.
//
// Thread-safety: safe; the comment at each group says which side calls it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/status.h"
#include "base/thread_safety.h"
#include "server/api/stream_sink.h"
#include "server/http/event_ptr.h"
#include "server/http/http_metrics.h"

namespace gopmill {

class StreamChannel {
 public:
  // Room that is kept for the response head, the frames of chunks and the trailers, and what leaves
  // something worth having beside it.
  static constexpr std::size_t kFramingReserveBytes = 8 * 1024;
  static constexpr std::size_t kMinLimitBytes = 2 * kFramingReserveBytes;

  // `limit` in bytes, at least kMinLimitBytes. `wake` asks the loop to call Take soon; it may be
  // called on any thread and even after the loop has ended. `metrics` is not touched after Abandon.
  StreamChannel(std::size_t limit, HttpMetrics& metrics, std::function<void()> wake);

  // Egress side.
  Status Start(const StreamStart& start);
  Status Write(std::span<const std::uint8_t> bytes);
  void Finish(const StreamEnd& end);
  // Any thread: Write returns kCancelled from now on, blocked or not. What waits is still sent.
  void CancelWrites() noexcept;

  // Loop side.
  struct Taken {
    std::optional<StreamStart> start;  // at most once per stream
    std::size_t bytes = 0;             // moved into the buffer given to Take
    std::optional<StreamEnd> end;      // at most once, after the last byte
  };
  // Moves everything that is there into `body`, without copying.
  Taken Take(evbuffer* body);
  // The connection's output buffer now holds this many bytes.
  void SetInOutput(std::size_t bytes);
  // The client is gone.
  void Abandon();

 private:
  [[nodiscard]] std::size_t Waiting() const GOPMILL_REQUIRES(mutex_);
  std::size_t Append(std::span<const std::uint8_t> bytes) GOPMILL_REQUIRES(mutex_);
  void Report(std::size_t before) GOPMILL_REQUIRES(mutex_);
  [[nodiscard]] bool NeedsWake() GOPMILL_REQUIRES(mutex_);

  const std::size_t capacity_;  // of payload: the limit less room for head and framing
  HttpMetrics& metrics_;
  const std::function<void()> wake_;

  Mutex mutex_;  // guards everything below; metrics have their own locks and may be nested in it
  CondVar drained_;
  EvbufferPtr pending_ GOPMILL_GUARDED_BY(mutex_) = MakeEvbuffer();
  std::size_t in_output_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::optional<StreamStart> start_ GOPMILL_GUARDED_BY(mutex_);
  std::optional<StreamEnd> end_ GOPMILL_GUARDED_BY(mutex_);
  bool finished_ GOPMILL_GUARDED_BY(mutex_) = false;
  bool wake_posted_ GOPMILL_GUARDED_BY(mutex_) = false;
  bool gone_ GOPMILL_GUARDED_BY(mutex_) = false;
  bool cancelled_ GOPMILL_GUARDED_BY(mutex_) = false;
};

// What Service gets. A sink that is destroyed without Finish counts as an internal error.
class HttpStreamSink final : public StreamSink {
 public:
  explicit HttpStreamSink(std::shared_ptr<StreamChannel> channel);
  ~HttpStreamSink() override;
  HttpStreamSink(const HttpStreamSink&) = delete;
  HttpStreamSink& operator=(const HttpStreamSink&) = delete;

  Status Start(const StreamStart& start) override;
  Status Write(std::span<const std::uint8_t> bytes) override;
  void Finish(const StreamEnd& end) override;
  void Cancel() noexcept override;

 private:
  const std::shared_ptr<StreamChannel> channel_;
};

}  // namespace gopmill
