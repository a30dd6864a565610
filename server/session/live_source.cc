// SPDX-License-Identifier: Apache-2.0
#include "server/session/live_source.h"

#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <span>
#include <utility>

#include "media/packet_meta.h"
#include "media/parameter_watch.h"
#include "media/sound_choice.h"
#include "media/text_choice.h"
#include "media/unit_planner.h"
#include "server/session/coding_header.h"

namespace gopmill {
namespace {

// How late a reader that waits notices that its stream was stopped.
constexpr std::chrono::milliseconds kStopInterval{50};
// Who reads a packet in less did not wait for its publisher.
constexpr std::chrono::milliseconds kSteadyRead{2};
// Packets that are held back at most; a publisher faster than its own clock never makes one wait.
constexpr std::size_t kMaxBurstPackets = 512;

Error Replaced() {
  return {.code = Code::kAlreadyExists, .message = "Another publisher has taken this name over."};
}

}  // namespace

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

class LiveSource::Reader final : public PacketSource {
 public:
  Reader(std::shared_ptr<LiveSource> live, std::shared_ptr<Queue> queue, std::stop_token stop,
         AudioTracks sounds, std::vector<SubtitleTrack> texts)
      : live_(std::move(live)),
        queue_(std::move(queue)),
        stop_(std::move(stop)),
        sounds_(std::move(sounds)),
        texts_(std::move(texts)) {}
  ~Reader() override {
    const MutexLock lock(live_->mutex_);
    std::erase(live_->queues_, queue_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Waits for the first packet, which says what the stream is made of.
  Status Begin(ReaderClock clock) {
    GOPMILL_ASSIGN_OR_RETURN(first_, Next());
    if (!first_) return live_->NobodyPublishes();
    first_->after_gap = false;  // nothing of this stream is missing before it
    publisher_ = first_->info;
    text_places_ = FollowTexts(texts_, publisher_->subtitles);
    GOPMILL_ASSIGN_OR_RETURN(choice_, ChooseSounds(publisher_, sounds_));
    info_ = choice_.info;
    if (clock == ReaderClock::kOwn) return OkStatus();
    clock_ = Clock(first_->offset_ns);
    const MutexLock lock(live_->mutex_);
    join_ = live_->Join(*first_);
    return OkStatus();
  }

  const std::shared_ptr<const SourceInfo>& info() const override { return info_; }
  const std::shared_ptr<const SourceInfo>& coded() const override { return choice_.info; }
  bool counted_pts() const override { return false; }
  std::int64_t start_us() const override { return 0; }
  bool live() const override { return true; }
  const Arrival* arrival() const override { return &arrival_; }
  const LiveJoin* join() const override { return join_ ? &*join_ : nullptr; }
  bool truncated() const override { return false; }
  Status SeekBefore(Rational /*seconds*/) override {
    return InvalidArgument("start", "A live source cannot be sought in.", "no start");
  }

  Result<ReadState> Read(AVPacket& packet) override {
    std::optional<Entry> entry = std::exchange(first_, std::nullopt);
    do {
      if (!entry) {
        GOPMILL_ASSIGN_OR_RETURN(entry, Next());
      }
      if (!entry) return ReadState::kEnd;
      Follow(entry->info);
      if (!PlaceOf(*entry)) entry.reset();
    } while (!entry);
    arrival_ = {.wall = entry->wall,
                .after_gap = entry->after_gap || entry->jumped,
                .cut_here = entry->cut_here};
    Place(*entry, packet);
    if (entry->text) return ReadState::kText;
    return entry->video ? ReadState::kVideo : ReadState::kAudio;
  }

 private:
  // What this publisher sends, on the tracks that the stream has.
  void Follow(const std::shared_ptr<const SourceInfo>& publisher) {
    if (publisher == publisher_) return;
    choice_ = FollowSource(*info_, publisher, sounds_);
    publisher_ = publisher;
    text_places_ = FollowTexts(texts_, publisher_->subtitles);
  }

  // Number of its track for who reads; nothing where that is not read.
  [[nodiscard]] std::optional<std::size_t> PlaceOf(const Entry& entry) const {
    if (entry.text) return text_places_[entry.track];
    return entry.video ? std::optional<std::size_t>(0) : choice_.place[entry.track];
  }

  // The next packet; nothing once no publisher has come back in time.
  Result<std::optional<Entry>> Next() {
    const MutexLock lock(live_->mutex_);
    const TimePoint began = SteadyNow();
    while (queue_->entries.empty()) {
      if (stop_.stop_requested()) return Cancelled();
      const TimePoint since = std::max(live_->released_, began);
      const bool gone = live_->claim_ == 0 && SteadyNow() - since > live_->patience_;
      if (gone) return std::optional<Entry>();
      live_->changed_.WaitFor(live_->mutex_, kStopInterval);
    }
    Entry entry = std::move(queue_->entries.front());
    queue_->entries.pop_front();
    queue_->bytes -= Cost(entry);
    return std::optional<Entry>(std::move(entry));
  }

  void Place(const Entry& entry, AVPacket& out) {
    const AVPacket& in = **entry.packet;
    const std::size_t place = *PlaceOf(entry);
    const Rational from = TimeBaseOf(entry);
    const Rational to = entry.text    ? kMicros
                        : entry.video ? info_->video.time_base
                                      : info_->sound(place).time_base;
    const std::int64_t offset_ns = clock_.Place(entry, entry.after_gap);
    av_packet_move_ref(&out, av::Ref(in).get());
    const auto move = [&](std::int64_t ticks) {
      return ticks == AV_NOPTS_VALUE
                 ? ticks
                 : Rescale(Rescale(ticks, from, kNanos) + offset_ns, kNanos, to);
    };
    out.pts = move(in.pts);
    out.dts = move(in.dts);
    out.duration = Rescale(in.duration, from, to);
    out.stream_index = static_cast<int>(place);
  }

  const std::shared_ptr<LiveSource> live_;
  const std::shared_ptr<Queue> queue_;
  const std::stop_token stop_;
  const AudioTracks sounds_;
  const std::vector<SubtitleTrack> texts_;
  std::shared_ptr<const SourceInfo> publisher_;  // of the newest packet
  SoundChoice choice_;                           // of its tracks
  std::vector<std::optional<std::size_t>> text_places_;
  std::shared_ptr<const SourceInfo> info_;  // of the first
  std::optional<Entry> first_;
  Arrival arrival_;
  Clock clock_;
  std::optional<LiveJoin> join_;
};

Result<LiveSource::Claim> LiveSource::Acquire(bool replace) {
  const MutexLock lock(mutex_);
  if (claim_ != 0 && !replace) {
    return Error{.code = Code::kAlreadyExists,
                 .message = "Somebody publishes under this name already."};
  }
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

// Those that come in vain, one after the other, do not let readers wait without end.
void LiveSource::NoteDeparture() {
  if (std::exchange(brought_, false)) released_ = SteadyNow();
}

// What a demuxer had to read before it knew the stream comes at once, and late. It is held back
// until a packet had to be waited for, and dated by the last picture of it: sound may lie anywhere.
class LiveSource::Burst {
 public:
  std::vector<Entry> Put(Entry entry, bool waited) {
    held_.push_back(std::move(entry));
    if (!over_ && !waited && held_.size() < kMaxBurstPackets) return {};
    return Take();
  }
  std::vector<Entry> Take() {
    if (!std::exchange(over_, true) && !held_.empty()) {
      const auto picture = std::ranges::find(held_.rbegin(), held_.rend(), true, &Entry::video);
      const Entry last = picture == held_.rend() ? held_.back() : *picture;
      for (Entry& entry : held_) {
        const std::chrono::nanoseconds earlier(
            std::max<std::int64_t>(last.dts_ns - entry.dts_ns, 0));
        entry.wall = last.wall - std::chrono::duration_cast<std::chrono::microseconds>(earlier);
      }
    }
    return std::exchange(held_, {});
  }

 private:
  std::vector<Entry> held_;
  bool over_ = false;
};

// When packets came, but for what the network and the machine made them wait: by the promptest one
// in relation to its time so far. That may be given up by a hundred microseconds a second, which is
// more than clocks differ. Only pictures count; sound, which may lie ahead, goes by them.
class LiveSource::Dating {
 public:
  WallTime Date(bool video, std::int64_t dts_ns, WallTime wall) {
    const auto since =
        std::chrono::duration_cast<WallTime::duration>(std::chrono::nanoseconds(dts_ns));
    if (!video) return last_ ? zero_ + since : wall;
    const WallTime zero = wall - since;
    if (last_) zero_ = std::min(zero, zero_ + std::max(wall - *last_, {}) / 10'000);
    if (!last_) {
      zero_ = zero;
      begin_ = wall;
    }
    last_ = wall;
    if (wall - begin_ < kFirstDates) first_zero_ = zero_;
    return wall - (zero - zero_);
  }

  // Of the publisher's clock against the wall's: positive where it runs slow.
  [[nodiscard]] std::chrono::milliseconds drift() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(zero_ - first_zero_);
  }

 private:
  // Until the promptest picture has been seen.
  static constexpr std::chrono::seconds kFirstDates{5};
  WallTime zero_, begin_, first_zero_;
  std::optional<WallTime> last_;
};

// On the publisher's clock, repaired.
LiveSource::Entry LiveSource::Received(PacketSource::ReadState state,
                                       const std::shared_ptr<const SourceInfo>& info,
                                       TimestampRepair& repair, av::Packet packet) {
  Entry entry;
  entry.info = info;
  entry.video = state == PacketSource::ReadState::kVideo;
  entry.text = state == PacketSource::ReadState::kText;
  if (!entry.video) entry.track = static_cast<std::size_t>(packet->stream_index);
  if (entry.text) {
    packet->pts = packet->dts = repair.Shifted(packet->pts);
  } else {
    repair.Fix(entry.video ? kVideoTrack : kAudioTrack + entry.track, *packet);
  }
  entry.wall = std::chrono::system_clock::now();
  entry.key = (packet->flags & AV_PKT_FLAG_KEY) != 0;
  entry.dts_ns = Rescale(packet->dts, TimeBaseOf(entry), kNanos);
  entry.packet = std::make_shared<const av::Packet>(std::move(packet));
  return entry;
}

// What one run of a publisher sends, on its way to the readers.
class LiveSource::Intake {
 public:
  Intake(LiveSource& live, Claim claim, PacketSource& source)
      : live_(live),
        claim_(claim),
        source_(source),
        info_(source.info()),
        repair_(source.start_us(), RepairTracks(*info_)) {}

  // To its end or error: what came before that is handed out as well.
  Status Run() {
    while (true) {
      av::Packet packet = av::NewPacket();
      const TimePoint begin = SteadyNow();
      const auto state = source_.Read(*packet);
      const bool waited = SteadyNow() - begin >= kSteadyRead;
      if (!state.ok() || *state == PacketSource::ReadState::kEnd) {
        if (!HandAll(burst_.Take())) return Replaced();
        return state.ok() ? OkStatus() : Status(state.error());
      }
      if (!Take(*state, std::move(packet), waited)) return Replaced();
    }
  }

 private:
  bool Take(PacketSource::ReadState state, av::Packet packet, bool waited) {
    NoteCoding(state, *packet);
    Entry entry = Received(state, info_, repair_, std::move(packet));
    if (entry.video) {
      entry.jumped = std::exchange(jumps_, repair_.jumps()) != repair_.jumps();
      pictures_ns_ = entry.dts_ns;
    }
    // A clock that has jumped shows in the pictures, which may come after the text.
    if (entry.text && std::abs(entry.dts_ns - pictures_ns_) > kCueReachNanos) {
      live_.NoteDroppedCue();
      return true;
    }
    if (!HandAll(burst_.Put(std::move(entry), waited))) return false;
    Count();
    return true;
  }

  // A packet may bring another coding of its track.
  void NoteCoding(PacketSource::ReadState state, const AVPacket& packet) {
    if (state == PacketSource::ReadState::kText) return;
    const bool video = state == PacketSource::ReadState::kVideo;
    const auto track = static_cast<std::size_t>(packet.stream_index);
    const bool other_sets = video && sets_.Changed(*info_->video.parameters, packet);
    auto other = WithNewHeader(*info_, video, track, packet);
    if (other == nullptr && !other_sets) return;
    const MutexLock lock(live_.mutex_);
    ++live_.counts_.format_changes;
    if (other != nullptr) info_ = std::move(other);
    if (live_.claim_ == claim_) live_.info_ = info_;
  }

  bool HandAll(std::vector<Entry> entries) {
    return std::ranges::all_of(entries, [&](Entry& next) {
      next.wall = dating_.Date(next.video, next.dts_ns, next.wall);
      return live_.Hand(claim_, next);
    });
  }

  void Count() {
    const std::int64_t lost_by_now = source_.lost();
    const MutexLock lock(live_.mutex_);
    LiveCounts& counts = live_.counts_;
    counts.repaired += repair_.repaired() - std::exchange(repaired_, repair_.repaired());
    counts.lost += lost_by_now - std::exchange(lost_, lost_by_now);
    if (live_.claim_ == claim_) counts.clock_drift_ms = dating_.drift().count();
  }

  LiveSource& live_;
  const Claim claim_;
  PacketSource& source_;
  std::shared_ptr<const SourceInfo> info_;
  TimestampRepair repair_;
  std::int64_t jumps_ = 0;                // told of, with a picture
  std::int64_t repaired_ = 0, lost_ = 0;  // counted
  std::int64_t pictures_ns_ = 0;
  Burst burst_;
  Dating dating_;
  ParameterWatch sets_;
};

Status LiveSource::Run(Claim claim, PacketSource& source) {
  if (source.counted_pts()) {
    return Error{.code = Code::kUnsupported,
                 .message = "A live stream needs timestamps.",
                 .accepted = "MPEG-TS, Matroska, FLV or fragmented MP4"};
  }
  {
    const MutexLock lock(mutex_);
    if (claim_ != claim) return Replaced();
    info_ = source.info();
    NoteFormat(*info_);
    BeginAnew();
  }
  return Intake(*this, claim, source).Run();
}

// What was open is over: all go on with a key frame.
void LiveSource::BeginAnew() {
  clock_needs_key_ = clock_gap_ = true;
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
    brought_ = true;
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
  while (!queue.entries.empty() && (queue.bytes > kLiveQueueBytes || too_long())) {
    DropOldest(queue);
  }
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

Result<std::unique_ptr<PacketSource>> LiveSource::Subscribe(std::stop_token stop,
                                                            AudioTracks sounds, ReaderClock clock,
                                                            std::vector<SubtitleTrack> texts) {
  auto queue = std::make_shared<Queue>();
  {
    const MutexLock lock(mutex_);
    queues_.push_back(queue);
  }
  auto reader = std::make_unique<Reader>(shared_from_this(), std::move(queue), std::move(stop),
                                         std::move(sounds), std::move(texts));
  GOPMILL_RETURN_IF_ERROR(reader->Begin(clock));
  return std::unique_ptr<PacketSource>(std::move(reader));
}

Error LiveSource::NobodyPublishes() const {
  Error error{.code = Code::kUnavailable,
              .message = "Nobody publishes under this name, or nothing has come yet."};
  const MutexLock lock(mutex_);
  if (!pull_) return error;
  error.message = "The source is fetched from elsewhere, and nothing has come yet";
  error.message += pull_->last_error.empty() ? "." : ": " + pull_->last_error + ".";
  return error;
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
