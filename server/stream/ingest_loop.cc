// SPDX-License-Identifier: Apache-2.0
#include "server/stream/ingest_loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "codec/audio_transcoder.h"
#include "codec/video_encoder.h"
#include "media/sound_watch.h"

namespace gopmill {
namespace {

// MPEG-TS carries parameter sets in the stream; the others carry them in their headers.
bool GlobalHeader(Container container) { return container != Container::kTs; }

class IngestLoop {
 public:
  IngestLoop(std::unique_ptr<Ingest> ingest, IngestPace pace, std::stop_token stop,
             Mailbox& mailbox)
      : ingest_(std::move(ingest)), pace_(pace), stop_(std::move(stop)), mailbox_(mailbox) {}

  Status Start(Duration opening);
  Status Analyse(const MovieAnalyser& analyse);
  Status Run();

 private:
  Status OnItem(UnitInput unit);
  Status OnItem(AudioInput audio);
  Status OnItem(CodingChanged change);
  Status OnItem(EndOfSource end);
  Status FeedAudio(std::size_t sound, const AVPacket* packet);
  void PostAudio(std::size_t sound, std::vector<av::Packet> packets);
  Status ChangeSounds(const SourceInfo& source);
  Status FillSilence(double seconds);
  Status FinishSounds();
  void End(EndOfSource end, std::optional<Error> reason);

  std::unique_ptr<Ingest> ingest_;
  const IngestPace pace_;
  const std::stop_token stop_;
  Mailbox& mailbox_;
  const TimePoint started_ = SteadyNow();
  Duration read_{};              // since the last unit
  TimePoint read_at_{};          // the last item
  std::size_t sound_bytes_ = 0;  // the same of coded sound
  std::vector<std::unique_ptr<AudioTranscoder>> sounds_;
  std::vector<SoundWatch> watches_;           // of a live source, one for each of sounds_
  std::shared_ptr<const SourceInfo> source_;  // as what comes now is coded
  std::int64_t planned_frames_ = 0;
  double planned_seconds_ = 0;  // the same on the output clock
  bool ended_ = false;
};

Status IngestLoop::Start(Duration opening) {
  PlanReady ready;
  ready.plan = ingest_->plan();
  ready.adjustments = ingest_->adjustments();
  ready.opening = opening;
  source_ = ready.plan->source;
  const Target& target = ready.plan->target;
  GOPMILL_ASSIGN_OR_RETURN(EncoderSpec spec, MakeEncoderSpec(*ready.plan));
  ready.encoder = std::make_shared<const EncoderSpec>(std::move(spec));
  const std::size_t sounds = target.acodec == AudioCodec::kNone ? 0 : ready.plan->source->sounds();
  const AudioClip clip{.start = ingest_->clip_start(), .end = ingest_->clip_end()};
  for (std::size_t i = 0; i < sounds; ++i) {
    GOPMILL_ASSIGN_OR_RETURN(
        auto sound,
        AudioTranscoder::Open(*ready.plan, clip, GlobalHeader(target.container), i, stop_));
    ready.sounds.push_back({.parameters = sound->parameters(), .time_base = sound->time_base()});
    sounds_.push_back(std::move(sound));
  }
  if (ingest_->live()) watches_.resize(sounds_.size());
  mailbox_.Post(std::move(ready));
  return OkStatus();
}

Status IngestLoop::Analyse(const MovieAnalyser& analyse) {
  GOPMILL_ASSIGN_OR_RETURN(UnitBudgets budgets, analyse(*ingest_->plan(), stop_));
  ingest_->SetBudgets(std::move(budgets));
  return OkStatus();
}

Status IngestLoop::Run() {
  while (!ended_) {
    const TimePoint begin = SteadyNow();
    GOPMILL_ASSIGN_OR_RETURN(Ingest::Item item, ingest_->Next());
    read_at_ = SteadyNow();
    read_ += read_at_ - begin;
    GOPMILL_RETURN_IF_ERROR(
        std::visit([this](auto& piece) { return OnItem(std::move(piece)); }, item));
  }
  return OkStatus();
}

Status IngestLoop::OnItem(UnitInput unit) {
  const StreamPlan& plan = *ingest_->plan();
  const double seconds = static_cast<double>(unit.spec.end_frame) / plan.grid.fps().ToDouble() +
                         static_cast<double>(plan.video_offset_90k) / 90'000.0;
  planned_frames_ = unit.spec.end_frame;
  planned_seconds_ = seconds;
  GOPMILL_RETURN_IF_ERROR(FillSilence(seconds));
  if (pace_ == IngestPace::kRealTime && !SleepUntil(started_ + FromSeconds(seconds), stop_)) {
    return Cancelled();
  }
  const TimePoint begin = SteadyNow();
  const WindowShare room = WindowRoom(unit, plan, std::exchange(sound_bytes_, 0));
  if (!mailbox_.Acquire(room)) return Cancelled();
  const TimePoint planned_at = SteadyNow();
  mailbox_.Post(UnitPlanned{.unit = std::make_shared<const UnitInput>(std::move(unit)),
                            .room = room,
                            .read_seconds = seconds,
                            .read = std::exchange(read_, {}),
                            .window_wait = planned_at - begin,
                            .read_at = read_at_,
                            .planned_at = planned_at});
  return OkStatus();
}

Status IngestLoop::OnItem(AudioInput audio) {
  const AVPacket& packet = *audio.packet;
  const auto sound = static_cast<std::size_t>(packet.stream_index);
  if (!watches_.empty() && packet.pts != AV_NOPTS_VALUE) {
    const double tick = source_->sound(sound).time_base.ToDouble();
    const double until = static_cast<double>(packet.pts + packet.duration) * tick;
    watches_[sound].OnSound(until - ingest_->clip_start().ToDouble(), planned_seconds_);
  }
  return FeedAudio(sound, &packet);
}

Status IngestLoop::FeedAudio(std::size_t sound, const AVPacket* packet) {
  std::vector<av::Packet> packets;
  GOPMILL_RETURN_IF_ERROR(sounds_[sound]->Push(packet, packets));
  PostAudio(sound, std::move(packets));
  return OkStatus();
}

void IngestLoop::PostAudio(std::size_t sound, std::vector<av::Packet> packets) {
  if (packets.empty()) return;
  AudioCoded coded{.sound = sound, .packets = std::move(packets)};
  for (const auto& each : sounds_) coded.filled_seconds += each->filled_seconds();
  sound_bytes_ += HeldBytes(coded.packets);
  mailbox_.PostAudio(std::move(coded));
}

Status IngestLoop::ChangeSounds(const SourceInfo& source) {
  for (std::size_t i = 0; i < sounds_.size(); ++i) {
    const AudioInfo& next = source.sound(i);
    if (next.silent || next.parameters == source_->sound(i).parameters) continue;
    std::vector<av::Packet> packets;
    GOPMILL_RETURN_IF_ERROR(sounds_[i]->ChangeSource(next, packets));
    PostAudio(i, std::move(packets));
  }
  return OkStatus();
}

// Of tracks that the source does not have now, and of those that have stopped, up to the end of the
// unit that comes.
Status IngestLoop::FillSilence(double seconds) {
  for (std::size_t i = 0; i < sounds_.size(); ++i) {
    const bool stopped = !watches_.empty() && watches_[i].HasStopped(seconds);
    if (!stopped && !source_->sound(i).silent) continue;
    std::vector<av::Packet> packets;
    GOPMILL_RETURN_IF_ERROR(sounds_[i]->FillTo(seconds, stopped, packets));
    PostAudio(i, std::move(packets));
  }
  return OkStatus();
}

// Sound that cannot go on is the end, of what is whole so far.
Status IngestLoop::OnItem(CodingChanged change) {
  const Status status = ChangeSounds(*change.plan->source);
  if (!status.ok()) {
    EndOfSource end = ingest_->EndAfter(planned_frames_);
    end.truncated = true;
    static_cast<void>(FinishSounds());  // why it ends is known
    End(end, status.error());
    return OkStatus();
  }
  source_ = change.plan->source;
  mailbox_.Post(std::move(change));
  return OkStatus();
}

Status IngestLoop::OnItem(EndOfSource end) {
  GOPMILL_RETURN_IF_ERROR(FinishSounds());
  End(end, std::nullopt);
  return OkStatus();
}

// What decoders and encoders hold back, of each; the first error.
Status IngestLoop::FinishSounds() {
  Status finished = OkStatus();
  for (std::size_t i = 0; i < sounds_.size(); ++i) {
    const Status one = FeedAudio(i, nullptr);
    if (finished.ok()) finished = one;
  }
  return finished;
}

void IngestLoop::End(EndOfSource end, std::optional<Error> reason) {
  std::int64_t damaged = 0;
  for (const auto& sound : sounds_) damaged += sound->damaged();
  mailbox_.Post(IngestEnded{.source = end, .audio_damaged = damaged, .reason = std::move(reason)});
  ended_ = true;
}

Result<PlanTexts> TextsFor(const IngestOrder& order, const std::stop_token& stop) {
  const bool burns = order.request.burn.value_or(0) > 0;
  const bool copies = order.request.subtitles == Subtitles::kCopy;
  if (!burns && !copies) return PlanTexts{};
  if (order.read_texts) return order.read_texts(order.request, stop);
  return InvalidArgument(burns ? "burn" : "subtitles",
                         "Only a movie in a file has text that can be used.", "off");
}

Status Ingesting(const IngestOrder& order, const std::stop_token& stop, Mailbox& mailbox) {
  const TimePoint begin = SteadyNow();
  GOPMILL_ASSIGN_OR_RETURN(auto source, order.open(stop));
  GOPMILL_ASSIGN_OR_RETURN(PlanTexts texts, TextsFor(order, stop));
  GOPMILL_ASSIGN_OR_RETURN(auto ingest,
                           Ingest::Open(std::move(source), order.request, std::move(texts)));
  IngestLoop loop(std::move(ingest), order.pace, stop, mailbox);
  GOPMILL_RETURN_IF_ERROR(loop.Start(SteadyNow() - begin));
  if (order.analyse) GOPMILL_RETURN_IF_ERROR(loop.Analyse(order.analyse));
  return loop.Run();
}

}  // namespace

namespace {

// What a constant-quality encoder may be expected to make of detailed pictures: it doubles with
// each six steps of the quantiser, up to what raw pictures take.
double BytesPerPixel(const Target& target) {
  constexpr double kAt24 = 0.02, kRaw = 1.5;
  const double step = target.rate_mode == RateMode::kCrf ? target.crf : target.qp;
  return std::min(kRaw, kAt24 * std::exp2((24 - step) / 6));
}

}  // namespace

WindowShare WindowRoom(const UnitInput& unit, const StreamPlan& plan, std::size_t sound) {
  const double seconds = static_cast<double>(unit.spec.frame_count()) / plan.grid.fps().ToDouble();
  const double pixels = static_cast<double>(unit.spec.frame_count()) * plan.target.width *
                        static_cast<double>(plan.target.height);
  const double coded = unit.spec.budget_bps > 0
                           ? static_cast<double>(unit.spec.budget_bps) / 8.0 * seconds
                           : pixels * BytesPerPixel(plan.target);
  WindowShare share{.bytes = HeldBytes(unit.packets) + static_cast<std::size_t>(coded) + sound,
                    .sound = sound};
  if (plan.low_delay) {
    share.thousandths =
        std::max(1, static_cast<int>(std::lround(1000 * seconds / kLiveUnitSeconds)));
  }
  return share;
}

void RunIngest(const IngestOrder& order, const std::stop_token& stop, Mailbox& mailbox) {
  const Status status = Ingesting(order, stop, mailbox);
  if (!status.ok()) mailbox.Post(Failed{status.error()});
}

}  // namespace gopmill
