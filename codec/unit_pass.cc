// SPDX-License-Identifier: Apache-2.0
#include "codec/unit_pass.h"

extern "C" {
#include <libavutil/imgutils.h>
}

#include <string>
#include <utility>

#include "codec/encoder_info.h"
#include "codec/picture.h"

namespace gopmill {
namespace {

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

}  // namespace

std::size_t UnitPass::FrameBytes(const EncoderSpec& spec) {
  const int bytes = av_image_get_buffer_size(static_cast<AVPixelFormat>(spec.pixel_format),
                                             spec.width, spec.height, 1);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 1;
}

UnitPass::UnitPass(const UnitTask& task, ContextCache& cache, UnitStats& stats, UnitOutput& output)
    : task_(task), spec_(task.input->spec), cache_(cache), stats_(stats), output_(output) {
  const Size whole{task.encoder->width, task.encoder->height};
  area_ = {.area = {.width = whole.width, .height = whole.height}, .source = whole};
}

UnitPass::~UnitPass() {
  NoteEncoderCpu();
  if (filter_) cache_.GiveFilter(std::move(filter_));
}

// Limited range is what is meant where none is stated.
OutputColors UnitPass::Colors() const {
  const bool full = task_.encoder->color_range == AVCOL_RANGE_JPEG;
  return {.range = full ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG,
          .matrix = task_.encoder->color_space};
}

Result<av::Frame> UnitPass::Black() {
  const EncoderSpec& encoder = *task_.encoder;
  GOPMILL_ASSIGN_OR_RETURN(av::Frame frame,
                           NewPicture(encoder.width, encoder.height, encoder.pixel_format));
  PaintBlack(*frame, encoder.color_range);
  return frame;
}

Result<av::Frame> UnitPass::Scale(const AVFrame& frame) {
  const Stopwatch watch(stats_.filter);
  const EncoderSpec& encoder = *task_.encoder;
  FilterSpec wanted = SpatialPart(*task_.plan, {encoder.width, encoder.height},
                                  encoder.pixel_format, Colors(), frame);
  const FilterSpec source = wanted;
  KeepShape(wanted, encoder.sample_aspect);
  if (task_.plan->texts.script) area_ = AreaOf(wanted, source, encoder.sample_aspect);
  if (!filter_ || !(filter_->spec() == wanted)) {
    if (filter_) cache_.GiveFilter(std::move(filter_));
    GOPMILL_ASSIGN_OR_RETURN(filter_, cache_.TakeFilter(wanted));
  }
  av::Frame out = av::NewFrame();
  GOPMILL_ASSIGN_OR_RETURN(const bool got, filter_->Filter(&frame, *out));
  if (!got) return InternalError("The scaler swallowed a frame.");
  out->colorspace = static_cast<AVColorSpace>(MatrixMade(wanted));
  return out;
}

Result<av::Frame> UnitPass::WithSubtitles(const AVFrame& picture, std::int64_t n) {
  const StreamPlan& plan = *task_.plan;
  const auto& script = plan.texts.script;
  if (!script) return av::Ref(picture);
  if (script->SpanAt(plan.grid.SourceMicros(n)) == nullptr) return av::Ref(picture);
  const Stopwatch watch(stats_.filter);
  if (!burner_ || burner_area_ != area_) {
    GOPMILL_ASSIGN_OR_RETURN(burner_, SubtitleBurner::Open(script, plan.grid, picture, area_));
    burner_area_ = area_;
  }
  return burner_->Draw(picture, n);
}

Result<av::Frame> UnitPass::Make(const FrameSelector::Selected& selected, std::int64_t n) {
  if (selected.frame == nullptr) {
    ++stats_.damage.concealed;
    if (!gop_->last) {
      GOPMILL_ASSIGN_OR_RETURN(gop_->last, Black());
    }
  } else {
    if (HasMadeUpParts(*selected.frame)) ++stats_.damage.patched;
    gop_->outdated = gop_->outdated || !selected.repeated;
    const bool due = (n - spec_.gop_frame()) % task_.frame_step == 0;
    if (!gop_->last || (gop_->outdated && due)) {
      GOPMILL_ASSIGN_OR_RETURN(gop_->last, Scale(*selected.frame));
      gop_->outdated = false;
    }
  }
  GOPMILL_ASSIGN_OR_RETURN(av::Frame frame, WithSubtitles(*gop_->last, n));
  frame->pts = n;
  frame->pict_type = AV_PICTURE_TYPE_NONE;  // the source's picture types must not steer the encoder
  while (frame->nb_side_data > 0) av_frame_remove_side_data(frame.get(), frame->side_data[0]->type);
  AttachCaptions(selected.captions, *frame);
  return frame;
}

Status UnitPass::Encode(const AVFrame& frame, const PacketHandler& on_packet) {
  return Send(&frame, on_packet);
}

Status UnitPass::Send(const AVFrame* frame, const PacketHandler& on_packet) {
  const Stopwatch watch(stats_.encode);
  GOPMILL_RETURN_IF_ERROR(gop_->encoder->Send(frame));
  while (true) {
    av::Packet packet = av::NewPacket();
    GOPMILL_ASSIGN_OR_RETURN(const bool got, gop_->encoder->Receive(*packet));
    if (!got) return OkStatus();
    if (gop_->packets == 0) GOPMILL_RETURN_IF_ERROR(Announce());
    // The n-th packet of a unit in coding order has the n-th frame's time less a constant delay:
    // decoding times then go on across units as if one encoder had made them all.
    packet->dts = spec_.gop_frame() + gop_->packets - gop_->encoder->reorder_delay();
    packet->duration = 1;
    if (gop_->packets == 0 && spec_.gop_frame() > 0) StripEncoderInfo(*packet);
    if (gop_->packets == 0) NoteParameterSets(*packet);
    if (packet->pts < packet->dts) return InternalError("The encoder reordered too far.");
    ++gop_->packets;
    if (gop_->vbv) gop_->vbv->Add(packet->size);
    on_packet(std::move(packet));
  }
}

// They are in the container's header, or in the unit's first packet.
void UnitPass::NoteParameterSets(const AVPacket& first) {
  const AVCodecContext& context = gop_->encoder->context();
  gop_->parameter_hash = context.extradata_size > 0
                             ? ParameterSetHash(context)
                             : InBandParameterSetHash(first, context.codec_id);
  stats_.parameter_hash = gop_->parameter_hash;
}

Status UnitPass::Announce() {
  GOPMILL_ASSIGN_OR_RETURN(auto parameters, EncoderParameters(*gop_->encoder));
  output_.OnEncoder(std::move(parameters));
  return OkStatus();
}

void UnitPass::TakeRate(const PassRate& rate) {
  if (task_.encoder->rate_mode != RateMode::kBitrate) return;
  if (rate.crf) {
    gop_->encoder->SetConstantQuality(*rate.crf, GopFrames());
  } else {
    gop_->encoder->SetRate(rate.aim, GopFrames());
  }
}

Status UnitPass::Open(const PassRate& rate, std::unique_ptr<OpenGop> begun) {
  gop_ = std::move(begun);
  if (gop_) {
    stats_.parameter_hash = gop_->parameter_hash;
    encoder_cpu_ = gop_->encoder->own_threads_cpu();
    return OkStatus();
  }
  const EncoderSpec& spec = *task_.encoder;
  gop_ = std::make_unique<OpenGop>();
  if (spec.low_delay && spec.maxrate > 0) gop_->vbv.emplace(spec.maxrate, spec.bufsize, spec.fps);
  return TakeEncoder(rate);
}

Status UnitPass::TakeEncoder(const PassRate& rate) {
  const Stopwatch watch(stats_.encode);
  EncoderSpec spec = rate.one_thread ? WithOneThread(*task_.encoder) : *task_.encoder;
  if (spec.rate_mode == RateMode::kCrf && rate.crf) spec.crf = *rate.crf;
  GOPMILL_ASSIGN_OR_RETURN(gop_->encoder, cache_.TakeEncoder(spec, GopFrames()));
  encoder_cpu_ = gop_->encoder->own_threads_cpu();
  TakeRate(rate);
  return OkStatus();
}

// Before the encoder goes.
void UnitPass::NoteEncoderCpu() {
  if (gop_ && gop_->encoder) stats_.aside_cpu += gop_->encoder->own_threads_cpu() - encoder_cpu_;
}

Status UnitPass::BeginAgain(const PassRate& rate) {
  NoteEncoderCpu();
  gop_->encoder.reset();
  gop_->packets = 0;
  return TakeEncoder(rate);
}

Status UnitPass::Finish(const PacketHandler& on_packet) {
  GOPMILL_RETURN_IF_ERROR(Send(nullptr, on_packet));
  // A pass at one rate factor teaches nothing; the one before it may have.
  if (const RateLesson lesson = gop_->encoder->lesson(); lesson.crf > 0) stats_.lesson = lesson;
  if (gop_->vbv) stats_.vbv_violated = !gop_->vbv->passes();
  const std::int64_t frames = spec_.end_frame - spec_.gop_frame();
  if (gop_->packets == frames) return OkStatus();
  return InternalError("The encoder made " + std::to_string(gop_->packets) + " packets of " +
                       std::to_string(frames) + " frames.");
}

std::unique_ptr<OpenGop> UnitPass::Leave() {
  NoteEncoderCpu();
  return std::move(gop_);
}

}  // namespace gopmill
