// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_fanout.h"

#include <algorithm>
#include <utility>

namespace gopmill {

void FanoutGauge::Note(const FanoutItem& item, Rational time_base) {
  bytes_ = item.begins_gop() ? item.bytes() : bytes_ + item.bytes();
  room_.bytes = std::clamp(2 * bytes_, room_.bytes, kMaxFanoutBytes);
  if (item.packet == nullptr || item.track != 0) return;
  const AVPacket& picture = **item.packet;
  if (item.begins_gop()) begin_ = picture.pts;
  const std::int64_t length = picture.pts + picture.duration - begin_;
  room_.wait = std::max(room_.wait, kFanoutWait + Duration(Rescale(length, time_base, kNanos)));
}

// Stands where a single reader's muxer would.
class LiveFanout::Output final : public PacketOutput {
 public:
  Output(std::shared_ptr<LiveFanout> fanout, std::size_t tracks)
      : fanout_(std::move(fanout)), packets_(tracks) {}

  Status Write(std::size_t track, av::Packet packet) override {
    ++packets_[track];
    bytes_ += packet->size;
    return Put({.track = track, .packet = std::make_shared<const av::Packet>(std::move(packet))});
  }
  Status EndFragment() override { return Put({.kind = FanoutItem::Kind::kEndFragment}); }
  Status EndUnit() override { return Put({.kind = FanoutItem::Kind::kEndUnit}); }
  // The readers finish theirs when the stream ends.
  Status Finish() override { return OkStatus(); }
  std::int64_t bytes_written() const override { return bytes_; }
  std::int64_t packets_written(std::size_t track) const override { return packets_[track]; }

 private:
  Status Put(FanoutItem item) {
    item.made = SteadyNow();
    fanout_->Put(item);
    return OkStatus();
  }
  const std::shared_ptr<LiveFanout> fanout_;
  std::vector<std::int64_t> packets_;
  std::int64_t bytes_ = 0;
};

class LiveFanout::Sink final : public StreamSink {
 public:
  explicit Sink(std::shared_ptr<LiveFanout> fanout) : fanout_(std::move(fanout)) {}

  Status Start(const StreamStart& start) override {
    start_ = start;
    return OkStatus();
  }
  Status Write(std::span<const std::uint8_t> /*bytes*/) override {
    return InternalError("A shared encode takes packets.");
  }
  bool brings_output() const override { return true; }
  Result<std::unique_ptr<PacketOutput>> OpenOutput(Container container,
                                                   std::span<const MuxTrack> tracks) override {
    fanout_->Open(std::make_shared<const FanoutHeader>(FanoutHeader{
        .start = start_, .container = container, .tracks = {tracks.begin(), tracks.end()}}));
    return std::unique_ptr<PacketOutput>(std::make_unique<Output>(fanout_, tracks.size()));
  }
  void Finish(const StreamEnd& end) override { fanout_->End(end); }
  void Cancel() noexcept override { fanout_->Stop(); }

 private:
  const std::shared_ptr<LiveFanout> fanout_;
  StreamStart start_;
};

std::unique_ptr<StreamSink> LiveFanout::MakeSink() {
  return std::make_unique<Sink>(shared_from_this());
}

bool LiveFanout::Join(std::shared_ptr<FanoutReader> reader) {
  const MutexLock lock(mutex_);
  if (over_) return false;
  if (header_ != nullptr) reader->Open(header_);
  if (begun_) reader->ComesLate();
  readers_.push_back(std::move(reader));
  return true;
}

bool LiveFanout::Leave(const FanoutReader& reader) {
  const MutexLock lock(mutex_);
  std::erase_if(readers_, [&](const auto& one) { return one.get() == &reader; });
  return readers_.empty();
}

bool LiveFanout::over() const {
  const MutexLock lock(mutex_);
  return over_;
}

void LiveFanout::Stop() noexcept {
  const MutexLock lock(mutex_);
  over_ = true;
}

void LiveFanout::Open(std::shared_ptr<const FanoutHeader> header) {
  const MutexLock lock(mutex_);
  header_ = std::move(header);
  for (const auto& reader : readers_) reader->Open(header_);
}

void LiveFanout::Put(const FanoutItem& item) {
  const MutexLock lock(mutex_);
  begun_ = true;
  gauge_.Note(item, header_->tracks.front().time_base);
  for (const auto& reader : readers_) reader->Put(item, gauge_.room());
}

void LiveFanout::End(const StreamEnd& end) {
  const MutexLock lock(mutex_);
  over_ = true;
  for (const auto& reader : readers_) reader->End(end);
}

}  // namespace gopmill
