// SPDX-License-Identifier: Apache-2.0
//
// The side of a presentation that its streams write to.
#include "server/live/live_presentation.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace gopmill {

// What one stream writes to.
class LivePresentation::Sink final : public StreamSink, public LiveTrackSink {
 public:
  Sink(std::shared_ptr<LivePresentation> presentation, std::size_t rendition)
      : presentation_(std::move(presentation)), rendition_(rendition) {}

  Status Start(const StreamStart& /*start*/) override { return OkStatus(); }
  Status Write(std::span<const std::uint8_t> /*bytes*/) override {
    return InternalError("A presentation takes packets.");
  }
  bool brings_output() const override { return true; }
  Result<std::unique_ptr<PacketOutput>> OpenOutput(Container /*container*/,
                                                   std::span<const MuxTrack> tracks) override {
    const LiveSetup& setup = presentation_->setup_;
    if (tracks.size() != 1 + (rendition_ == 0 ? setup.terms.sounds.size() : 0)) {
      return Error{.code = Code::kUnavailable,
                   .message = "The publisher has changed meanwhile; ask again."};
    }
    LiveCut cut = setup.cut;
    cut.keys = rendition_ == setup.terms.key_rendition;
    return LiveSegmenter::Open(tracks, cut, setup.clock, *this);
  }
  void Finish(const StreamEnd& end) override { presentation_->OnStreamEnd(end.status); }

  void OnTrack(std::size_t track, SegmentTrack described, const CodedTrack& coded) override {
    presentation_->OnTrack(At(track), std::move(described), coded);
  }
  void OnBegin(std::size_t track, LiveSegment segment) override {
    presentation_->OnBegin(At(track), std::move(segment));
  }
  void OnPart(std::size_t track, LivePart part) override {
    presentation_->OnPart(At(track), std::move(part));
  }
  void OnEnd(std::size_t track, std::optional<LivePart> last, LiveKey key) override {
    presentation_->OnEnd(At(track), std::move(last), std::move(key));
  }

 private:
  [[nodiscard]] std::size_t At(std::size_t track) const {
    return presentation_->TrackOf(track, rendition_);
  }
  const std::shared_ptr<LivePresentation> presentation_;
  const std::size_t rendition_;
};

LivePresentation::LivePresentation(LiveSetup setup)
    : setup_(std::move(setup)),
      texts_(setup_.terms.texts.size(), setup_.terms.container),
      streams_left_(setup_.terms.targets.size()) {
  const std::size_t tracks = setup_.terms.targets.size() + setup_.terms.sounds.size();
  for (std::size_t i = 0; i < tracks; ++i) tracks_.emplace_back(setup_.terms.window);
  rendered_.resize(2 * (tracks + 2 + setup_.terms.texts.size()));
}

std::unique_ptr<StreamSink> LivePresentation::MakeSink(std::size_t rendition) {
  return std::make_unique<Sink>(shared_from_this(), rendition);
}

std::size_t LivePresentation::TrackOf(std::size_t track, std::size_t rendition) const {
  return track == 0 ? rendition : setup_.terms.targets.size() + track - 1;
}

// The rates that the target promises, with what the pieces add.
void LivePresentation::Rate(std::size_t index, SegmentTrack& track, const CodedTrack& coded) const {
  const bool video = coded.kind == TrackKind::kVideo;
  const std::size_t videos = setup_.terms.targets.size();
  const Target& target = setup_.terms.targets[video ? index : 0];
  const LiveTerms& terms = setup_.terms;
  const double parts = 1 / (terms.in_parts() ? terms.part.ToDouble() : terms.segment_seconds);
  const double packets = video ? coded.frame_rate.ToDouble()
                               : coded.sample_rate / 960.0;  // the shortest that encoders make
  const ContainerLoad load{setup_.terms.container, packets, parts};
  const auto mean = static_cast<double>(!video               ? target.sound(index - videos).abitrate
                                        : target.bitrate > 0 ? target.bitrate
                                                             : target.maxrate);
  const double peak = video ? static_cast<double>(target.maxrate) : mean * kAudioPeak;
  track.peak_bps = WithOverhead(peak, load);
  track.average_bps = WithOverhead(mean, load);
}

void LivePresentation::OnTrack(std::size_t index, SegmentTrack track, const CodedTrack& coded) {
  Rate(index, track, coded);
  {
    const MutexLock lock(mutex_);
    tracks_[index].Describe(std::move(track), coded);
    ++revision_;
  }
  setup_.on_change();
}

void LivePresentation::NotePeriod(const LiveSegment& segment) {
  if (periods_.empty() || periods_.back().number != segment.period) {
    periods_.push_back({segment.period, tracks_.front().Seconds(segment.start), segment.wall});
  }
  const std::int64_t oldest = tracks_.front().segments().front().period;
  std::erase_if(periods_, [&](const LivePeriod& period) { return period.number < oldest; });
}

// Of pictures: a segment of sound may be shorter than it lasts. One that ends where the source
// broke off is over only when the source is back, however long that takes.
void LivePresentation::NoteDelay(std::size_t index) {
  const LiveTrack& track = tracks_[index];
  const LiveSegment& segment = track.segments().back();
  const bool broke_off = setup_.clock->newest() != segment.stretch;
  if (index >= setup_.terms.targets.size() || broke_off) return;
  const Duration since = WallNow() - segment.wall;
  delays_.Add(segment.number, since - FromSeconds(track.Seconds(segment.ticks)));
}

void LivePresentation::OnBegin(std::size_t index, LiveSegment segment) {
  const MutexLock lock(mutex_);
  tracks_[index].Begin(segment);
  if (index == 0) NotePeriod(segment);
}

void LivePresentation::OnPart(std::size_t index, LivePart part) {
  {
    const MutexLock lock(mutex_);
    tracks_[index].Add(std::move(part));
    ++revision_;
  }
  setup_.on_change();
}

void LivePresentation::OnEnd(std::size_t index, std::optional<LivePart> last, LiveKey key) {
  {
    const MutexLock lock(mutex_);
    LiveTrack& track = tracks_[index];
    if (last) track.Add(*std::move(last));
    track.End(std::move(key), index == 0 ? CutTexts(track) : decltype(LiveSegment::texts){});
    NoteDelay(index);
    KeepWithinBytes();
    ++revision_;
  }
  setup_.on_change();
}

bool LivePresentation::OnCue(std::size_t track, LiveCue cue) {
  const MutexLock lock(mutex_);
  return track >= texts_.tracks() || texts_.Add(track, std::move(cue));
}

std::vector<LiveText> LivePresentation::CutTexts(const LiveTrack& track) {
  if (texts_.tracks() == 0) return {};
  const LiveSegment& segment = track.segments().back();
  const auto micros = [&](std::int64_t ticks) {
    return Rescale(ticks, track.track().mux.time_base, kMicros);
  };
  return texts_.Cut({.begin_us = micros(segment.start),
                     .end_us = micros(segment.end()),
                     .zero_us = Rescale(segment.zero_ns, kNanos, kMicros),
                     .publisher = segment.publisher});
}

// Of all tracks alike, so that their windows stay the same.
void LivePresentation::KeepWithinBytes() {
  while (true) {
    std::size_t bytes = 0;
    for (const LiveTrack& track : tracks_) bytes += track.bytes();
    if (bytes <= setup_.max_bytes) return;
    std::int64_t oldest = -1;
    for (const LiveTrack& track : tracks_) {
      if (track.segments().empty()) continue;
      const std::int64_t number = track.segments().front().number;
      oldest = oldest < 0 ? number : std::min(oldest, number);
    }
    bool dropped = false;
    for (LiveTrack& track : tracks_) {
      if (track.segments().empty() || track.segments().front().number != oldest) continue;
      dropped |= track.DropOldest();
    }
    if (!dropped) return;
    ++revision_;
  }
}

void LivePresentation::OnThumbnail(std::int64_t number, Result<std::string> made) {
  if (!made.ok() && made.error().code != Code::kCancelled) {
    spdlog::warn("a thumbnail could not be made: {}", made.error().ToString());
  }
  {
    const MutexLock lock(mutex_);
    making_.erase(number);
    LiveTrack& track = tracks_[setup_.terms.key_rendition];
    if (made.ok()) {
      track.SetThumbnail(number, std::make_shared<const std::string>(*std::move(made)), {});
      KeepWithinBytes();
    } else {
      const Code code = made.error().code;
      const bool lasts = code == Code::kCorrupt || code == Code::kUnsupported;
      const TimePoint again = lasts ? TimePoint::max() : SteadyNow() + setup_.thumbnail_patience;
      track.SetThumbnail(number, made.error(), again);
    }
  }
  setup_.on_change();
}

void LivePresentation::OnStreamEnd(const Status& status) {
  {
    const MutexLock lock(mutex_);
    --streams_left_;
    // One that fails takes the others with it, and they may be here first.
    const bool is_cause = !failed_ || failed_->code == Code::kCancelled;
    if (!status.ok() && is_cause) failed_ = status.error();
    ++revision_;
  }
  setup_.on_change();
}

bool LivePresentation::over() const {
  const MutexLock lock(mutex_);
  return failed_ || streams_left_ == 0;
}

std::optional<Error> LivePresentation::failure() const {
  const MutexLock lock(mutex_);
  return failed_;
}

std::size_t LivePresentation::bytes() const {
  const MutexLock lock(mutex_);
  std::size_t bytes = 0;
  for (const LiveTrack& track : tracks_) bytes += track.bytes();
  return bytes;
}

}  // namespace gopmill
