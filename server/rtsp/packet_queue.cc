// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/packet_queue.h"

#include <utility>

namespace gopmill {
namespace {

Error NotWanted() { return {.code = Code::kCancelled, .message = "Nobody plays this any more."}; }

}  // namespace

std::int64_t PacketQueue::Restart() {
  std::int64_t generation = 0;
  {
    const MutexLock lock(mutex_);
    generation = ++generation_;
    for (auto& track : packets_) track.clear();
    taken_ns_ = {};
    bytes_ = 0;
    end_.reset();
  }
  changed_.NotifyAll();
  return generation;
}

void PacketQueue::Abandon() {
  {
    const MutexLock lock(mutex_);
    abandoned_ = true;
  }
  changed_.NotifyAll();
}

Status PacketQueue::SetStream(std::int64_t generation, PlayableStream stream) {
  if (stream.tracks.size() > kMaxTracks) {
    return Error{.code = Code::kUnsupported, .message = "More tracks than can be played."};
  }
  {
    const MutexLock lock(mutex_);
    if (abandoned_ || generation != generation_) return NotWanted();
    // What plays was set up for the first one; later ones start elsewhere and are the same.
    if (!stream_) stream_ = std::move(stream);
  }
  changed_.NotifyAll();
  return OkStatus();
}

// Every track that there is has enough, or there is too much in all.
bool PacketQueue::Full() const {
  if (bytes_ >= kAheadBytes) return true;
  for (std::size_t i = 0; i < stream_->tracks.size(); ++i) {
    const auto& track = packets_[i];
    if (track.empty() || track.back().dts_ns - track.front().dts_ns < kAheadNanos) return false;
  }
  return true;
}

void PacketQueue::DropNotTaken() {
  static_assert(kMaxTracks == 2);
  for (std::size_t track = 0; track < kMaxTracks; ++track) {
    const std::size_t other = 1 - track;
    if (!taken_ns_[other]) continue;
    const bool no_room = bytes_ >= kAheadBytes && packets_[other].empty();
    const std::int64_t lag = no_room ? kNotTakenFullNanos : kNotTakenNanos;
    auto& waiting = packets_[track];
    while (!waiting.empty() && *taken_ns_[other] - waiting.front().dts_ns > lag) {
      bytes_ -= waiting.front().bytes.size();
      waiting.pop_front();
    }
  }
}

Status PacketQueue::Push(std::int64_t generation, const CodedPacket& packet) {
  {
    const MutexLock lock(mutex_);
    DropNotTaken();
    while (!abandoned_ && generation == generation_ && !end_ && Full()) {
      changed_.Wait(mutex_);
      DropNotTaken();
    }
    if (abandoned_ || generation != generation_ || end_) return NotWanted();
    GOPMILL_CHECK(packet.track < kMaxTracks);
    bytes_ += packet.bytes.size();
    packets_[packet.track].push_back({.bytes = {packet.bytes.begin(), packet.bytes.end()},
                                      .pts_ns = packet.pts_ns,
                                      .dts_ns = packet.dts_ns,
                                      .duration_ns = packet.duration_ns,
                                      .key = packet.key});
  }
  on_packet_(packet.track);
  return OkStatus();
}

void PacketQueue::End(std::int64_t generation, const Status& status) {
  {
    const MutexLock lock(mutex_);
    if (abandoned_ || generation != generation_ || end_) return;  // the first reason counts
    end_ = status;
  }
  changed_.NotifyAll();
  for (std::size_t track = 0; track < kMaxTracks; ++track) on_packet_(track);
}

Result<PlayableStream> PacketQueue::AwaitStream(Duration timeout) {
  const TimePoint deadline = SteadyNow() + timeout;
  const MutexLock lock(mutex_);
  while (!stream_ && !end_ && !abandoned_ && SteadyNow() < deadline) {
    changed_.WaitFor(mutex_, deadline - SteadyNow());
  }
  if (abandoned_) return ShuttingDown();  // also where it has come: nothing follows
  if (stream_) return *stream_;
  if (end_ && !end_->ok()) return end_->error();
  if (end_) return InternalError("The stream ended before it began.");
  return Error{.code = Code::kDeadlineExceeded, .message = "The stream took too long to begin."};
}

PacketQueue::State PacketQueue::Pop(std::size_t track, QueuedPacket& packet) {
  {
    const MutexLock lock(mutex_);
    auto& waiting = packets_[track];
    if (waiting.empty() && end_) return end_->ok() ? State::kEnd : State::kFailed;
    if (waiting.empty()) return State::kEmpty;
    packet = std::move(waiting.front());
    waiting.pop_front();
    bytes_ -= packet.bytes.size();
    taken_ns_[track] = packet.dts_ns;
  }
  changed_.NotifyAll();
  return State::kPacket;
}

bool PacketQueue::ended() const {
  const MutexLock lock(mutex_);
  return end_.has_value();
}

std::size_t PacketQueue::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace gopmill
