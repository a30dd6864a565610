// SPDX-License-Identifier: Apache-2.0
#include "server/http/stream_channel.h"

#include <event2/buffer.h>

#include <algorithm>
#include <utility>

namespace gopmill {
namespace {

Error ClientGone() { return {Code::kCancelled, "The client has left."}; }
Error Stopped() { return {Code::kCancelled, "The stream was stopped."}; }

}  // namespace

StreamChannel::StreamChannel(std::size_t limit, HttpMetrics& metrics, std::function<void()> wake)
    : capacity_(limit - kFramingReserveBytes), metrics_(metrics), wake_(std::move(wake)) {
  GOPMILL_CHECK(limit >= kMinLimitBytes);
}

Status StreamChannel::Start(const StreamStart& start) {
  {
    MutexLock lock(mutex_);
    if (gone_) return ClientGone();
    start_ = start;
    if (!NeedsWake()) return OkStatus();
  }
  wake_();
  return OkStatus();
}

Status StreamChannel::Write(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    bool wake = false;
    {
      MutexLock lock(mutex_);
      while (!gone_ && !cancelled_ && Waiting() >= capacity_) drained_.Wait(mutex_);
      if (gone_) return ClientGone();
      if (cancelled_) return Stopped();
      const std::size_t taken = Append(bytes);
      if (taken == 0) return Error{Code::kResourceExhausted, "There is no memory for the answer."};
      bytes = bytes.subspan(taken);
      wake = NeedsWake();
    }
    if (wake) wake_();
  }
  return OkStatus();
}

void StreamChannel::Finish(const StreamEnd& end) {
  {
    MutexLock lock(mutex_);
    if (gone_ || finished_) return;
    finished_ = true;
    end_ = end;
    if (!NeedsWake()) return;
  }
  wake_();
}

void StreamChannel::CancelWrites() noexcept {
  MutexLock lock(mutex_);
  cancelled_ = true;
  drained_.NotifyAll();
}

StreamChannel::Taken StreamChannel::Take(evbuffer* body) {
  MutexLock lock(mutex_);
  wake_posted_ = false;
  Taken taken;
  taken.start = std::exchange(start_, std::nullopt);
  taken.bytes = evbuffer_get_length(pending_.get());
  evbuffer_add_buffer(body, pending_.get());
  in_output_ += taken.bytes;
  taken.end = std::exchange(end_, std::nullopt);
  return taken;
}

void StreamChannel::SetInOutput(std::size_t bytes) {
  MutexLock lock(mutex_);
  if (gone_) return;
  const std::size_t before = Waiting();
  in_output_ = bytes;
  Report(before);
  if (Waiting() <= capacity_ / 2) drained_.NotifyOne();
}

void StreamChannel::Abandon() {
  MutexLock lock(mutex_);
  if (gone_) return;
  const std::size_t before = Waiting();
  evbuffer_drain(pending_.get(), evbuffer_get_length(pending_.get()));
  in_output_ = 0;
  Report(before);
  gone_ = true;
  drained_.NotifyAll();
}

std::size_t StreamChannel::Waiting() const {
  return evbuffer_get_length(pending_.get()) + in_output_;
}

std::size_t StreamChannel::Append(std::span<const std::uint8_t> bytes) {
  const std::size_t before = Waiting();
  const std::size_t count = std::min(bytes.size(), capacity_ - before);
  if (evbuffer_add(pending_.get(), bytes.data(), count) != 0) return 0;
  Report(before);
  return count;
}

void StreamChannel::Report(std::size_t before) {
  const std::size_t now = Waiting();
  if (now == before) return;
  metrics_.StreamBufferChanged(static_cast<std::int64_t>(now) - static_cast<std::int64_t>(before),
                               now);
}

bool StreamChannel::NeedsWake() { return !std::exchange(wake_posted_, true); }

HttpStreamSink::HttpStreamSink(std::shared_ptr<StreamChannel> channel)
    : channel_(std::move(channel)) {}

HttpStreamSink::~HttpStreamSink() {
  channel_->Finish({InternalError("The stream ended without a reason."), {}});
}

void HttpStreamSink::Cancel() noexcept { channel_->CancelWrites(); }

Status HttpStreamSink::Start(const StreamStart& start) { return channel_->Start(start); }
Status HttpStreamSink::Write(std::span<const std::uint8_t> bytes) { return channel_->Write(bytes); }
void HttpStreamSink::Finish(const StreamEnd& end) { channel_->Finish(end); }

}  // namespace gopmill
