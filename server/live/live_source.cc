// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_source.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "media/coding_header.h"
#include "media/packet_meta.h"
#include "media/unit_planner.h"

namespace gopmill {

Error LiveSource::Replaced() {
  return {.code = Code::kAlreadyExists, .message = "Another publisher has taken this name over."};
}

std::int64_t LiveSource::Clock::Place(const Entry& entry, bool after_gap) {
  if (!begun_ || after_gap) offset_ns_ = end_ns_ - entry.dts_ns;
  begun_ = true;
  if (!entry.video) return offset_ns_;
  const AVPacket& packet = **entry.packet;
  const std::int64_t duration = packet.duration > 0
                                    ? Rescale(packet.duration, entry.info->video.time_base, kNanos)
                                    : Rescale(1, entry.info->video.fps.Inverse(), kNanos);
  end_ns_ = std::max(end_ns_, entry.dts_ns + offset_ns_ + duration);
  return offset_ns_;
}

Rational LiveSource::TimeBaseOf(const Entry& entry) {
  if (entry.text) return kMicros;
  return entry.video ? entry.info->video.time_base : entry.info->sound(entry.track).time_base;
}

// Bytes of memory that a packet in a queue takes, however small it is.
std::size_t LiveSource::Cost(const Entry& entry) {
  return static_cast<std::size_t>((*entry.packet)->size) + sizeof(Entry) + sizeof(AVPacket);
}

Error LiveSource::Taken() {
  return {.code = Code::kAlreadyExists, .message = "Somebody publishes under this name already."};
}

Status LiveSource::CheckFree(bool replace) const {
  return publishing() && !replace ? Status(Taken()) : OkStatus();
}

Result<LiveSource::Claim> LiveSource::Acquire(bool replace) {
  const MutexLock lock(mutex_);
  if (claim_ != 0 && !replace) return Taken();
  NoteDeparture();
  claim_ = ++last_claim_;
  ++counts_.publishers;
  return claim_;
}

Status LiveSource::Release(Claim claim) {
  {
    const MutexLock lock(mutex_);
    if (claim_ != claim) return Replaced();
    claim_ = 0;
    NoteDeparture();
    info_.reset();
  }
  changed_.NotifyAll();
  return OkStatus();
}

// Who comes between two of them waits for the next, however far apart they are.
void LiveSource::NoteKey() {
  constexpr std::chrono::minutes kMostApart(5);
  const TimePoint now = SteadyNow();
  brought_ = true;
  if (keyed_) keys_apart_ = std::min<Duration>(kMostApart, std::max(keys_apart_, now - *keyed_));
  keyed_ = now;
}

// Those that come in vain, one after the other, do not let readers wait without end; nor does how
// one before them sent its key pictures, or a stall that it had, say when theirs come.
void LiveSource::NoteDeparture() {
  if (std::exchange(brought_, false)) released_ = SteadyNow();
  keyed_.reset();
  keys_apart_ = {};
}

// What was open is over: all go on with a key frame.
void LiveSource::BeginAnew() {
  clock_needs_key_ = clock_gap_ = true;
  keyed_.reset();
  for (const auto& queue : queues_) {
    queue->needs_key = true;
    queue->gap = true;
  }
}

void LiveSource::NoteFormat(const SourceInfo& info) {
  std::string format = FormatOf(info);
  if (!format_.empty() && format != format_) ++counts_.format_changes;
  format_ = std::move(format);
}

// False once another publisher has the name.
bool LiveSource::Hand(Claim claim, Entry entry) {
  {
    const MutexLock lock(mutex_);
    if (claim_ != claim) return false;
    entry.publisher = claim;
    if (entry.video && entry.key) NoteKey();
    ++counts_.packets;
    counts_.bytes += (*entry.packet)->size;
    PlaceOnClock(entry);
    for (const auto& queue : queues_) Put(*queue, entry);
  }
  changed_.NotifyAll();
  return true;
}

void LiveSource::PlaceOnClock(Entry& entry) {
  if (clock_needs_key_ && !(entry.video && entry.key)) return;
  clock_needs_key_ = false;
  entry.offset_ns = clock_.Place(entry, std::exchange(clock_gap_, false));
  entry.number = entry.video ? pictures_++ : pictures_;
  entry.cut_here = entry.video && entry.key && IsCut(entry);
  if (entry.video) cut_bytes_ += (*entry.packet)->size;
}

// Seldom enough for what has to be decoded twice there, and so often that who has lost a picture
// can decode the run again. Who is alone shares with nobody.
bool LiveSource::IsCut(const Entry& key) {
  constexpr auto kRunNanos = static_cast<std::int64_t>(kOpenRunSeconds * 1e9);
  const std::int64_t now_ns = key.dts_ns + key.offset_ns;
  const bool is_long = cut_ns_ && (now_ns - *cut_ns_ >= kRunNanos || cut_bytes_ >= kSharedRunBytes);
  if (cut_ns_ && !is_long) return false;
  cut_bytes_ = 0;
  return std::exchange(cut_ns_, now_ns) && queues_.size() > 1;
}

// Grids lie at the pictures of the reader before as long as those of this one do: within an eighth
// of a frame, half of what a live source's grid forgives.
LiveJoin LiveSource::Join(const Entry& first) {
  const VideoInfo& video = first.info->video;
  const AVPacket& packet = **first.packet;
  const std::int64_t shown = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  const std::int64_t picture_ns = Rescale(shown, video.time_base, kNanos) + first.offset_ns;
  const Rational frame = video.fps.positive() ? video.fps.Inverse() : kNanos;
  const std::int64_t since = picture_ns - anchor_ns_.value_or(picture_ns);
  const std::int64_t off = since - Rescale(Rescale(since, kNanos, frame), frame, kNanos);
  if (!anchor_ns_ || 8 * std::abs(off) > Rescale(1, frame, kNanos)) anchor_ns_ = picture_ns;
  const std::int64_t begin_ns = first.dts_ns + first.offset_ns;
  return {.anchor = Rescale(*anchor_ns_, kNanos, video.time_base),
          .begin = Rescale(begin_ns, kNanos, video.time_base),
          .packet = first.number};
}

void LiveSource::Put(Queue& queue, const Entry& entry) {
  if (queue.needs_key) {
    if (!entry.video || !entry.key) return;
    queue.needs_key = false;
  }
  queue.entries.push_back(entry);
  queue.entries.back().after_gap = std::exchange(queue.gap, false);
  queue.bytes += Cost(entry);
  // Between pictures: sound may lie ahead by more. On the source's own clock, since the two may be
  // of different publishers.
  const auto too_long = [&] {
    if (!entry.video) return false;
    const auto oldest = std::ranges::find(queue.entries, true, &Entry::video);
    return (entry.dts_ns + entry.offset_ns) - (oldest->dts_ns + oldest->offset_ns) >
               kLiveQueueNanos &&
           std::ranges::count(queue.entries, true, &Entry::video) > kLiveQueuePictures;
  };
  // Behind the one that is read next: a picture may take more by itself, and is none the worse.
  const auto too_large = [&] {
    return queue.bytes - Cost(queue.entries.front()) > kLiveQueueBytes;
  };
  while (!queue.entries.empty() && (too_large() || too_long())) DropOldest(queue);
}

// Everything up to the next key frame, or all there is.
void LiveSource::DropOldest(Queue& queue) {
  ++counts_.dropped_gops;
  do {
    queue.bytes -= Cost(queue.entries.front());
    queue.entries.pop_front();
    ++counts_.dropped_packets;
  } while (!queue.entries.empty() && !(queue.entries.front().video && queue.entries.front().key));
  if (queue.entries.empty()) {
    queue.needs_key = true;
    queue.gap = true;
  } else {
    queue.entries.front().after_gap = true;
  }
}

void LiveSource::SetPull(PullState state) {
  const MutexLock lock(mutex_);
  pull_ = std::move(state);
}

std::optional<PullState> LiveSource::pull() const {
  const MutexLock lock(mutex_);
  return pull_;
}

void LiveSource::Want() {
  const MutexLock lock(mutex_);
  wanted_until_ = SteadyNow() + kWantedFor;
}

bool LiveSource::wanted() const {
  const MutexLock lock(mutex_);
  return !queues_.empty() || SteadyNow() < wanted_until_;
}

bool LiveSource::publishing() const {
  const MutexLock lock(mutex_);
  return claim_ != 0;
}

std::size_t LiveSource::readers() const {
  const MutexLock lock(mutex_);
  return queues_.size();
}

void LiveSource::NoteDroppedCue() {
  const MutexLock lock(mutex_);
  ++counts_.dropped_cues;
}

LiveCounts LiveSource::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

std::shared_ptr<const SourceInfo> LiveSource::info() const {
  const MutexLock lock(mutex_);
  return info_;
}

}  // namespace gopmill
