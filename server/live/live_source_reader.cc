// SPDX-License-Identifier: Apache-2.0
//
// The reader's side of a live source: what one of its queues holds, on a clock of the reader's own.
#include <algorithm>
#include <utility>

#include "media/packet_meta.h"
#include "media/sound_choice.h"
#include "media/text_choice.h"
#include "server/live/live_source.h"

namespace gopmill {
namespace {

// How late a reader that waits notices that its stream was stopped.
constexpr std::chrono::milliseconds kStopInterval{50};

}  // namespace

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
    if (!first_) return live_->NothingComes();
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
    return Error{.code = Code::kUnsupported, .message = "A live source cannot be sought in."};
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
                .cut_here = entry->cut_here,
                .publisher = entry->publisher};
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

  // The next packet; nothing once no publisher has come back in time, or brought a key picture
  // where one is needed: the first that comes has as long again for it. Sound alone is no reason to
  // wait on.
  Result<std::optional<Entry>> Next() {
    const MutexLock lock(live_->mutex_);
    std::optional<TimePoint> missed, came;  // what is needed; a publisher since
    while (queue_->entries.empty()) {
      if (stop_.stop_requested()) return Cancelled();
      if (live_->claim_ == 0 || !live_->brought_ || queue_->needs_key) {
        const TimePoint now = SteadyNow();
        if (!missed) missed = now;
        if (live_->claim_ != 0 && !came) came = now;
        const TimePoint since = std::max(live_->released_, came.value_or(*missed));
        const Duration apart = live_->claim_ != 0 ? live_->keys_apart_ : Duration();
        const Duration patience = std::max(live_->patience_, apart);
        if (now - since > patience) return std::optional<Entry>();
      }
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
    av::Ref(in, out);
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

Error LiveSource::NothingComes() const {
  Error error{.code = Code::kUnavailable,
              .message = "Nobody publishes under this name, or nothing has come yet."};
  const MutexLock lock(mutex_);
  if (claim_ != 0 && info_ != nullptr) {
    error.message = "Somebody publishes under this name, but no key picture has come.";
    return error;
  }
  if (!pull_) return error;
  error.message = "The source is fetched from elsewhere, and nothing has come yet";
  error.message += pull_->last_error.empty() ? "." : ": " + pull_->last_error + ".";
  return error;
}

}  // namespace gopmill
