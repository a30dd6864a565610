// SPDX-License-Identifier: Apache-2.0
#include "codec/unit_transcoder.h"

extern "C" {
#include <libavutil/imgutils.h>
}

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>

#include "codec/encoder_info.h"
#include "codec/encoder_settings.h"
#include "codec/rate_search.h"
#include "codec/vbv.h"
#include "media/av_error.h"

namespace gopmill {
namespace {

constexpr int kMaxVbvPasses = 4;
// Encoders with a rate control of their own (HEVC, AV1, VP9) get a second pass over a unit whose
// rate they missed by more than this.
constexpr int kMaxRatePasses = 2;
constexpr double kRateTolerance = 0.06;

// What to ask an encoder for so that the first pass is near the rate: SVT-AV1 overspends on units
// of two seconds by 40 to 65 %.
double FirstGuess(VideoCodec codec) { return codec == VideoCodec::kAv1 ? 0.66 : 1.0; }

// Adds the time since construction to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(Duration& sum) : sum_(sum), start_(SteadyNow()) {}
  ~Stopwatch() { sum_ += SteadyNow() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Duration& sum_;
  const TimePoint start_;
};

std::size_t FrameBytes(const EncoderSpec& spec) {
  const int bytes = av_image_get_buffer_size(static_cast<AVPixelFormat>(spec.pixel_format),
                                             spec.width, spec.height, 1);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 1;
}

std::shared_ptr<const RunHistory> Extend(const std::shared_ptr<const RunHistory>& before,
                                         const std::shared_ptr<const UnitInput>& unit) {
  auto after = before ? std::make_shared<RunHistory>(*before) : std::make_shared<RunHistory>();
  after->bytes += unit->bytes();
  after->complete = after->complete && after->bytes <= kMaxRunHistoryBytes;
  if (after->complete) {
    after->units.push_back(unit);
  } else {
    after->units.clear();
  }
  return after;
}

// One pass over one unit: frames in order from the selector, through the filter, into one encoder.
class Pass {
 public:
  Pass(const UnitTask& task, ContextCache& cache, const std::stop_token& stop, UnitStats& stats,
       UnitOutput& output)
      : task_(task),
        spec_(task.input->spec),
        cache_(cache),
        stop_(stop),
        stats_(stats),
        output_(output) {}
  ~Pass() {
    if (filter_) cache_.GiveFilter(std::move(filter_));
  }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  using PacketHandler = std::function<void(av::Packet)>;
  using DecodedHandler = std::function<void()>;  // the unit's last frame has been decoded

  // What the encoder is told: a bit rate, or one rate factor for all frames.
  struct Rate {
    std::int64_t bps = 0;
    std::optional<double> crf;
  };
  Status Run(FrameSelector& selector, const Rate& rate, const PacketHandler& on_packet,
             const DecodedHandler& on_decoded);

 private:
  Result<av::Frame> NextFrame(FrameSelector& selector, std::int64_t n);
  Result<av::Frame> Scale(const AVFrame& frame);
  Result<av::Frame> Black();
  Status Encode(const AVFrame* frame, const PacketHandler& on_packet);
  Status Announce();
  void NoteParameterSets(const AVPacket& first);

  const UnitTask& task_;
  const UnitSpec& spec_;
  ContextCache& cache_;
  const std::stop_token& stop_;
  UnitStats& stats_;
  UnitOutput& output_;
  std::unique_ptr<FrameFilter> filter_;
  std::unique_ptr<VideoEncoder> encoder_;
  av::Frame last_;  // scaled, of the output frame before
  std::int64_t packets_ = 0;
};

Result<av::Frame> Pass::Black() {
  av::Frame frame = av::NewFrame();
  frame->format = task_.encoder->pixel_format;
  frame->width = task_.encoder->width;
  frame->height = task_.encoder->height;
  if (const int code = av_frame_get_buffer(frame.get(), 0); code < 0) {
    return av::AvError("No memory for a frame", code);
  }
  std::array<std::ptrdiff_t, 4> lines{};
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = frame->linesize[i];
  av_image_fill_black(frame->data, lines.data(), static_cast<AVPixelFormat>(frame->format),
                      AVCOL_RANGE_MPEG, frame->width, frame->height);
  return frame;
}

Result<av::Frame> Pass::Scale(const AVFrame& frame) {
  const Stopwatch watch(stats_.filter);
  FilterSpec wanted = MakeFilterSpec(*task_.plan, task_.encoder->pixel_format, frame);
  wanted.deinterlace = false;  // done before the selection, where it belongs
  if (!filter_ || !(filter_->spec() == wanted)) {
    if (filter_) cache_.GiveFilter(std::move(filter_));
    GOPMILL_ASSIGN_OR_RETURN(filter_, cache_.TakeFilter(wanted));
  }
  av::Frame out = av::NewFrame();
  GOPMILL_ASSIGN_OR_RETURN(const bool got, filter_->Filter(&frame, *out));
  if (!got) return InternalError("The scaler swallowed a frame.");
  return out;
}

Result<av::Frame> Pass::NextFrame(FrameSelector& selector, std::int64_t n) {
  FrameSelector::Selected selected;
  {
    const Stopwatch watch(stats_.decode);
    GOPMILL_ASSIGN_OR_RETURN(selected, selector.Select(n));
  }
  if (selected.frame == nullptr) {
    ++stats_.concealed;
    if (!last_) {
      GOPMILL_ASSIGN_OR_RETURN(last_, Black());
    }
  } else if (!selected.repeated || !last_) {
    GOPMILL_ASSIGN_OR_RETURN(last_, Scale(*selected.frame));
  }
  av::Frame frame = av::Ref(*last_);
  frame->pts = n;
  frame->pict_type = AV_PICTURE_TYPE_NONE;  // the source's picture types must not steer the encoder
  while (frame->nb_side_data > 0) av_frame_remove_side_data(frame.get(), frame->side_data[0]->type);
  return frame;
}

Status Pass::Encode(const AVFrame* frame, const PacketHandler& on_packet) {
  const Stopwatch watch(stats_.encode);
  GOPMILL_RETURN_IF_ERROR(encoder_->Send(frame));
  while (true) {
    av::Packet packet = av::NewPacket();
    GOPMILL_ASSIGN_OR_RETURN(const bool got, encoder_->Receive(*packet));
    if (!got) return OkStatus();
    if (packets_ == 0) GOPMILL_RETURN_IF_ERROR(Announce());
    // The n-th packet of a unit in coding order has the n-th frame's time less a constant delay:
    // decoding times then go on across units as if one encoder had made them all.
    packet->dts = spec_.first_frame + packets_ - encoder_->reorder_delay();
    packet->duration = 1;
    if (packets_ == 0 && spec_.index.value > 0) StripEncoderInfo(*packet);
    if (packets_ == 0) NoteParameterSets(*packet);
    if (packet->pts < packet->dts) return InternalError("The encoder reordered too far.");
    ++packets_;
    on_packet(std::move(packet));
  }
}

// They are in the container's header, or in the unit's first packet.
void Pass::NoteParameterSets(const AVPacket& first) {
  const AVCodecContext& context = encoder_->context();
  stats_.parameter_hash = context.extradata_size > 0
                              ? ParameterSetHash(context)
                              : InBandParameterSetHash(first, context.codec_id);
}

Status Pass::Announce() {
  GOPMILL_ASSIGN_OR_RETURN(auto parameters, EncoderParameters(*encoder_));
  output_.OnEncoder(std::move(parameters));
  return OkStatus();
}

Status Pass::Run(FrameSelector& selector, const Rate& rate, const PacketHandler& on_packet,
                 const DecodedHandler& on_decoded) {
  {
    const Stopwatch watch(stats_.encode);
    GOPMILL_ASSIGN_OR_RETURN(encoder_, cache_.TakeEncoder(*task_.encoder, spec_.frame_count()));
    if (rate.crf) {
      encoder_->SetConstantQuality(*rate.crf, spec_.frame_count());
    } else if (task_.encoder->rate_mode == RateMode::kBitrate) {
      encoder_->SetBitrate(rate.bps, spec_.frame_count());
    }
  }
  const std::size_t room =
      spec_.ends_run ? 0 : task_.decode_ahead_bytes / FrameBytes(*task_.encoder);
  std::deque<av::Frame> ahead;
  std::int64_t decoded = spec_.first_frame;
  for (std::int64_t encoded = spec_.first_frame; encoded < spec_.end_frame;) {
    if (stop_.stop_requested()) return Error{.code = Code::kCancelled, .message = "Cancelled."};
    if (decoded < spec_.end_frame && (ahead.empty() || ahead.size() < room)) {
      GOPMILL_ASSIGN_OR_RETURN(av::Frame frame, NextFrame(selector, decoded));
      ahead.push_back(std::move(frame));
      if (++decoded == spec_.end_frame) on_decoded();
      continue;
    }
    GOPMILL_RETURN_IF_ERROR(Encode(ahead.front().get(), on_packet));
    ahead.pop_front();
    ++encoded;
  }
  GOPMILL_RETURN_IF_ERROR(Encode(nullptr, on_packet));
  if (packets_ != spec_.frame_count()) {
    return InternalError("The encoder made " + std::to_string(packets_) + " packets of " +
                         std::to_string(spec_.frame_count()) + " frames.");
  }
  return OkStatus();
}

// A selector at the start of the unit: the run's own, or a new one fed with what came before.
Result<std::unique_ptr<FrameSelector>> SelectorFor(UnitTask& task, ContextCache& cache) {
  const UnitInput& input = *task.input;
  const auto refs = [](const UnitInput& unit) {
    std::vector<av::Packet> packets;
    for (const av::Packet& packet : unit.packets) packets.push_back(av::Ref(*packet));
    return packets;
  };
  std::unique_ptr<FrameSelector> selector = std::move(task.run.selector);
  if (!selector) {
    const bool chained = input.spec.cut == CutKind::kChained;
    if (chained && (!task.run.history || !task.run.history->complete)) {
      return InternalError("The run is too large to be decoded again.");
    }
    GOPMILL_ASSIGN_OR_RETURN(auto decoder, cache.TakeDecoder(*task.plan->source));
    const std::int64_t first =
        chained ? task.run.history->units.front()->spec.first_packet : input.spec.first_packet;
    selector = std::make_unique<FrameSelector>(task.plan, std::move(decoder), first);
    if (chained) {
      for (const auto& unit : task.run.history->units) selector->Feed(refs(*unit), false);
    }
  }
  selector->Feed(refs(input), input.spec.ends_run);
  selector->ResetCounts();
  return selector;
}

// Hands the run on, or gives its decoder back to the worker.
class RunEnd {
 public:
  RunEnd(const UnitTask& task, ContextCache& cache, UnitStats& stats, UnitOutput& output)
      : task_(task), cache_(cache), stats_(stats), output_(output) {}

  void Decoded(std::unique_ptr<FrameSelector>& selector) {
    stats_.selection = selector->counts();
    stats_.damaged = selector->damaged();
    if (task_.input->spec.ends_run) {
      cache_.GiveDecoder(*task_.plan->source, selector->TakeDecoder());
      return;
    }
    auto state = std::make_unique<RunState>();
    state->selector = std::move(selector);
    state->history = Extend(task_.run.history, task_.input);
    output_.OnRunReady(std::move(state));
  }

 private:
  const UnitTask& task_;
  ContextCache& cache_;
  UnitStats& stats_;
  UnitOutput& output_;
};

// quality=best of an encoder that can be told a rate factor.
bool Searches(const EncoderSpec& spec) {
  return spec.quality == Quality::kBest && SteeredByCrf(spec);
}

// Whether the packets of a pass must be judged before they may leave: a VBV has been declared, or
// the encoder keeps its own rate control, which misses the rate of a single unit by too much.
bool NeedsJudging(const EncoderSpec& spec) {
  return spec.maxrate > 0 || (spec.rate_mode == RateMode::kBitrate && !OpensAhead(spec));
}

// The packets of one pass and the verdict on them, which depends on nothing else.
class JudgedPass {
 public:
  explicit JudgedPass(const EncoderSpec& spec) : spec_(spec) {
    if (spec.maxrate > 0) vbv_.emplace(spec.maxrate, spec.bufsize, spec.fps);
  }
  void Add(av::Packet packet) {
    if (vbv_) vbv_->Add(packet->size);
    bytes_ += packet->size;
    packets_.push_back(std::move(packet));
  }
  [[nodiscard]] bool vbv_violated() const { return vbv_ && !vbv_->passes(); }
  // What to multiply the rate with in the next pass; 1 = this one is good.
  [[nodiscard]] double Correction(std::int64_t target_bps, int pass) const {
    if (spec_.rate_mode != RateMode::kBitrate) return 1;
    if (vbv_violated()) return pass < kMaxVbvPasses ? vbv_->CorrectionFactor() : 1;
    const bool best = spec_.quality == Quality::kBest;
    if (OpensAhead(spec_) || bytes_ == 0) return 1;
    if (pass >= (best ? kMaxSearchPasses : kMaxRatePasses)) return 1;
    const double seconds = static_cast<double>(packets_.size()) / spec_.fps.ToDouble();
    const double wanted = static_cast<double>(target_bps) * seconds / 8;
    const double factor = wanted / static_cast<double>(bytes_);
    const double tolerance = best ? kSearchTolerance : kRateTolerance;
    return std::abs(factor - 1) <= tolerance ? 1 : std::clamp(factor, 0.3, 1.6);
  }
  [[nodiscard]] double vbv_factor() const { return vbv_violated() ? vbv_->CorrectionFactor() : 1; }
  [[nodiscard]] double bits() const { return 8.0 * static_cast<double>(bytes_); }
  std::vector<av::Packet> TakePackets() { return std::move(packets_); }

 private:
  const EncoderSpec& spec_;
  std::optional<VbvModel> vbv_;
  std::int64_t bytes_ = 0;
  std::vector<av::Packet> packets_;
};

void Deliver(JudgedPass pass, UnitStats& stats, UnitOutput& output) {
  for (av::Packet& packet : pass.TakePackets()) {
    stats.bytes += packet->size;
    output.OnPacket(std::move(packet));
  }
}

bool Repeatable(const UnitTask& task) {
  return task.input->spec.cut != CutKind::kChained ||
         (task.run.history && task.run.history->complete);
}

// quality=best: passes at one rate factor each until the unit takes the bits it may. A unit that
// cannot be decoded again gets one pass of the steered encoder.
Status RunSearched(UnitTask& task, ContextCache& cache, const std::stop_token& stop,
                   UnitStats& stats, UnitOutput& output, std::unique_ptr<FrameSelector>& selector,
                   const Pass::DecodedHandler& on_decoded) {
  const EncoderSpec& spec = *task.encoder;
  const auto frames = static_cast<double>(task.input->spec.frame_count());
  const std::int64_t bps = task.input->spec.budget_bps;
  RateSearch search(static_cast<double>(bps) * frames / spec.fps.ToDouble(),
                    frames * spec.width * spec.height);
  std::optional<JudgedPass> best;
  const auto give_back = [&] { cache.GiveDecoder(*task.plan->source, selector->TakeDecoder()); };
  for (int pass = 1;; ++pass) {
    JudgedPass judged(spec);
    stats.concealed = 0;
    Pass run(task, cache, stop, stats, output);
    Pass::Rate rate{.bps = bps, .crf = {}};
    if (Repeatable(task)) rate.crf = search.crf();
    GOPMILL_RETURN_IF_ERROR(run.Run(
        *selector, rate, [&](av::Packet packet) { judged.Add(std::move(packet)); },
        pass == 1 ? on_decoded : Pass::DecodedHandler(give_back)));
    stats.encodes = pass;
    const bool done = search.Done(judged.bits(), judged.vbv_factor()) || !rate.crf;
    if (search.newest_is_best()) {
      stats.vbv_violated = judged.vbv_violated();
      best.emplace(std::move(judged));
    }
    if (done) break;
    task.run.selector.reset();
    GOPMILL_ASSIGN_OR_RETURN(selector, SelectorFor(task, cache));
  }
  Deliver(std::move(*best), stats, output);
  return OkStatus();
}

// Passes over the unit until one is good, or no better one can be had.
Status RunJudged(UnitTask& task, ContextCache& cache, const std::stop_token& stop, UnitStats& stats,
                 UnitOutput& output, std::unique_ptr<FrameSelector>& selector,
                 const Pass::DecodedHandler& on_decoded) {
  const EncoderSpec& spec = *task.encoder;
  const std::int64_t target = task.input->spec.budget_bps;
  auto bps = static_cast<double>(target) * FirstGuess(spec.codec);
  for (int pass = 1;; ++pass) {
    JudgedPass judged(spec);
    stats.concealed = 0;
    Pass run(task, cache, stop, stats, output);
    // A later pass decodes again on its own and hands nothing on.
    const auto give_back = [&] { cache.GiveDecoder(*task.plan->source, selector->TakeDecoder()); };
    const Pass::DecodedHandler decoded = pass == 1 ? on_decoded : Pass::DecodedHandler(give_back);
    GOPMILL_RETURN_IF_ERROR(run.Run(
        *selector, {.bps = static_cast<std::int64_t>(bps), .crf = {}},
        [&](av::Packet packet) { judged.Add(std::move(packet)); }, decoded));
    stats.encodes = pass;
    stats.vbv_violated = judged.vbv_violated();
    const double correction = Repeatable(task) ? judged.Correction(target, pass) : 1;
    if (correction == 1) {
      Deliver(std::move(judged), stats, output);
      return OkStatus();
    }
    bps *= correction;
    task.run.selector.reset();
    GOPMILL_ASSIGN_OR_RETURN(selector, SelectorFor(task, cache));
  }
}

}  // namespace

Result<UnitStats> TranscodeUnit(UnitTask task, ContextCache& cache, const std::stop_token& stop,
                                UnitOutput& output) {
  UnitStats stats;
  GOPMILL_ASSIGN_OR_RETURN(std::unique_ptr<FrameSelector> selector, SelectorFor(task, cache));
  RunEnd end(task, cache, stats, output);
  const auto on_decoded = [&] { end.Decoded(selector); };
  if (Searches(*task.encoder)) {
    GOPMILL_RETURN_IF_ERROR(RunSearched(task, cache, stop, stats, output, selector, on_decoded));
  } else if (NeedsJudging(*task.encoder)) {
    GOPMILL_RETURN_IF_ERROR(RunJudged(task, cache, stop, stats, output, selector, on_decoded));
  } else {
    Pass pass(task, cache, stop, stats, output);
    const auto forward = [&](av::Packet packet) {
      stats.bytes += packet->size;
      output.OnPacket(std::move(packet));
    };
    const Pass::Rate rate{.bps = task.input->spec.budget_bps, .crf = {}};
    GOPMILL_RETURN_IF_ERROR(pass.Run(*selector, rate, forward, on_decoded));
  }
  stats.frames = task.input->spec.frame_count();
  return stats;
}

}  // namespace gopmill
