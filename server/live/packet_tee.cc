// SPDX-License-Identifier: Apache-2.0
#include "server/live/packet_tee.h"

#include <algorithm>
#include <utility>

#include "media/cue_packet.h"

namespace gopmill {
namespace {

// How late a stream that waits for another one notices that it was stopped.
constexpr std::chrono::milliseconds kStopInterval{50};

}  // namespace

class PacketTee::Branch final : public PacketSource {
 public:
  Branch(std::shared_ptr<PacketTee> tee, std::size_t stream, std::stop_token stop)
      : tee_(std::move(tee)),
        stream_(stream),
        stop_(std::move(stop)),
        coded_(tee_->source_->info()) {}
  ~Branch() override { tee_->Leave(stream_); }
  Branch(const Branch&) = delete;
  Branch& operator=(const Branch&) = delete;

  const std::shared_ptr<const SourceInfo>& info() const override { return tee_->source_->info(); }
  const std::shared_ptr<const SourceInfo>& coded() const override { return coded_; }
  bool counted_pts() const override { return false; }
  std::int64_t start_us() const override { return tee_->source_->start_us(); }
  bool live() const override { return true; }
  bool truncated() const override { return false; }
  const Arrival* arrival() const override { return &arrival_; }
  Status SeekBefore(Rational seconds) override { return tee_->source_->SeekBefore(seconds); }

  Result<ReadState> Read(AVPacket& packet) override {
    GOPMILL_ASSIGN_OR_RETURN(const Entry entry, tee_->Next(stream_, stop_));
    arrival_ = entry.arrival;
    if (entry.coded) coded_ = entry.coded;
    if (entry.packet) av::Ref(**entry.packet, packet);
    return entry.state;
  }

 private:
  const std::shared_ptr<PacketTee> tee_;
  const std::size_t stream_;
  const std::stop_token stop_;
  std::shared_ptr<const SourceInfo> coded_;  // as the packet read last is
  Arrival arrival_;
};

PacketTee::PacketTee(Opener open, std::size_t streams, std::shared_ptr<LiveClock> clock,
                     OnCue on_cue)
    : open_(std::move(open)),
      clock_(std::move(clock)),
      on_cue_(std::move(on_cue)),
      queues_(streams) {}

Result<std::unique_ptr<PacketSource>> PacketTee::Open(std::size_t stream,
                                                      const std::stop_token& stop) {
  GOPMILL_RETURN_IF_ERROR(Begin(stop));
  return std::unique_ptr<PacketSource>(std::make_unique<Branch>(shared_from_this(), stream, stop));
}

// The first stream opens the source, the others wait for it.
Status PacketTee::Begin(const std::stop_token& stop) {
  {
    const MutexLock lock(mutex_);
    while (busy_ && !begun_ && !failed_ && !stop.stop_requested()) {
      changed_.WaitFor(mutex_, kStopInterval);
    }
    if (failed_) return *failed_;
    if (stop.stop_requested()) return Cancelled();
    if (begun_) return OkStatus();
    busy_ = true;
  }
  auto source = open_(stop_.get_token());
  {
    const MutexLock lock(mutex_);
    busy_ = false;
    begun_ = source.ok();
    if (source.ok()) {
      source_ = *std::move(source);
    } else {
      failed_ = source.error();
    }
  }
  changed_.NotifyAll();
  const MutexLock lock(mutex_);
  return failed_ ? Status(*failed_) : OkStatus();
}

void PacketTee::Leave(std::size_t stream) {
  {
    const MutexLock lock(mutex_);
    queues_[stream] = {.entries = {}, .bytes = 0, .open = false};
  }
  changed_.NotifyAll();
}

bool PacketTee::SomebodyIsFarBehind() const {
  return std::ranges::any_of(queues_, [](const Queue& queue) {
    if (queue.entries.empty()) return false;
    return queue.bytes > kTeeBytes ||
           queue.entries.back().dts_ns - queue.entries.front().dts_ns > kTeeNanos;
  });
}

Result<PacketTee::Entry> PacketTee::Next(std::size_t stream, const std::stop_token& stop) {
  while (true) {
    {
      const MutexLock lock(mutex_);
      auto& mine = queues_[stream];
      while (mine.entries.empty() && !failed_ && (busy_ || SomebodyIsFarBehind())) {
        if (stop.stop_requested()) return Cancelled();
        changed_.WaitFor(mutex_, kStopInterval);
      }
      if (!mine.entries.empty()) {
        Entry entry = std::move(mine.entries.front());
        mine.entries.pop_front();
        if (entry.packet) mine.bytes -= static_cast<std::size_t>((*entry.packet)->size);
        changed_.NotifyAll();
        return entry;
      }
      if (failed_) return *failed_;
      if (stop.stop_requested()) return Cancelled();
      busy_ = true;
    }
    auto entry = ReadOne();
    const MutexLock lock(mutex_);
    busy_ = false;
    if (entry.ok()) {
      HandOut(*entry);
    } else {
      failed_ = entry.error();
    }
    changed_.NotifyAll();
  }
}

void PacketTee::HandOut(const Entry& entry) {
  for (Queue& queue : queues_) {
    if (!queue.open) continue;
    queue.entries.push_back(entry);
    if (entry.packet) queue.bytes += static_cast<std::size_t>((*entry.packet)->size);
  }
}

// Text goes another way: no stream has to do with it.
Result<PacketSource::ReadState> PacketTee::ReadBesideText(AVPacket& packet) {
  while (true) {
    GOPMILL_ASSIGN_OR_RETURN(const auto state, source_->Read(packet));
    if (state != PacketSource::ReadState::kText) return state;
    const Arrival* arrival = source_->arrival();
    if (on_cue_) {
      on_cue_(static_cast<std::size_t>(packet.stream_index), ReadCuePacket(packet),
              arrival != nullptr ? arrival->publisher : 0);
    }
    av::Unref(packet);
  }
}

// By the thread that has set busy_.
Result<PacketTee::Entry> PacketTee::ReadOne() {
  av::Packet packet = av::NewPacket();
  Entry entry;
  GOPMILL_ASSIGN_OR_RETURN(entry.state, ReadBesideText(*packet));
  if (entry.state == PacketSource::ReadState::kEnd) return entry;
  const bool video = entry.state == PacketSource::ReadState::kVideo;
  const SourceInfo& info = *source_->info();
  const Rational tick = video
                            ? info.video.time_base
                            : info.sound(static_cast<std::size_t>(packet->stream_index)).time_base;
  entry.dts_ns = Rescale(packet->dts, tick, kNanos);
  entry.coded = source_->coded();
  if (const Arrival* arrival = source_->arrival()) entry.arrival = *arrival;
  const std::int64_t shown = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
  if (video) {
    clock_->OnPicture(Rescale(shown, tick, kNanos), entry.dts_ns, entry.arrival.wall,
                      entry.arrival.after_gap, entry.arrival.publisher);
  }
  entry.packet = std::make_shared<const av::Packet>(std::move(packet));
  return entry;
}

}  // namespace gopmill
