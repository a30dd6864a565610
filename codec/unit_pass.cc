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
    : task_(task), spec_(task.input->spec), cache_(cache), stats_(stats), output_(output) {}

UnitPass::~UnitPass() {
  if (filter_) cache_.GiveFilter(std::move(filter_));
}

Result<av::Frame> UnitPass::Black() {
  const EncoderSpec& encoder = *task_.encoder;
  GOPMILL_ASSIGN_OR_RETURN(av::Frame frame,
                           NewPicture(encoder.width, encoder.height, encoder.pixel_format));
  PaintBlack(*frame);
  return frame;
}

Result<av::Frame> UnitPass::Scale(const AVFrame& frame) {
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

Result<av::Frame> UnitPass::WithSubtitles(const AVFrame& picture, std::int64_t n) {
  const StreamPlan& plan = *task_.plan;
  const auto& script = plan.texts.script;
  if (!script) return av::Ref(picture);
  if (script->SpanAt(plan.grid.SourceMicros(n)) == nullptr) return av::Ref(picture);
  const Stopwatch watch(stats_.filter);
  if (!burner_) {
    GOPMILL_ASSIGN_OR_RETURN(burner_, SubtitleBurner::Open(script, plan.grid, picture));
  }
  return burner_->Draw(picture, n);
}

Result<av::Frame> UnitPass::Make(const FrameSelector::Selected& selected, std::int64_t n) {
  if (selected.frame == nullptr) {
    ++stats_.concealed;
    if (!last_) {
      GOPMILL_ASSIGN_OR_RETURN(last_, Black());
    }
  } else {
    outdated_ = outdated_ || !selected.repeated;
    const bool due = (n - spec_.first_frame) % task_.frame_step == 0;
    if (!last_ || (outdated_ && due)) {
      GOPMILL_ASSIGN_OR_RETURN(last_, Scale(*selected.frame));
      outdated_ = false;
    }
  }
  GOPMILL_ASSIGN_OR_RETURN(av::Frame frame, WithSubtitles(*last_, n));
  frame->pts = n;
  frame->pict_type = AV_PICTURE_TYPE_NONE;  // the source's picture types must not steer the encoder
  while (frame->nb_side_data > 0) av_frame_remove_side_data(frame.get(), frame->side_data[0]->type);
  return frame;
}

Status UnitPass::Encode(const AVFrame& frame, const PacketHandler& on_packet) {
  return Send(&frame, on_packet);
}

Status UnitPass::Send(const AVFrame* frame, const PacketHandler& on_packet) {
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
void UnitPass::NoteParameterSets(const AVPacket& first) {
  const AVCodecContext& context = encoder_->context();
  stats_.parameter_hash = context.extradata_size > 0
                              ? ParameterSetHash(context)
                              : InBandParameterSetHash(first, context.codec_id);
}

Status UnitPass::Announce() {
  GOPMILL_ASSIGN_OR_RETURN(auto parameters, EncoderParameters(*encoder_));
  output_.OnEncoder(std::move(parameters));
  return OkStatus();
}

void UnitPass::TakeRate(const PassRate& rate) {
  if (rate.crf) {
    encoder_->SetConstantQuality(*rate.crf, spec_.frame_count());
  } else if (task_.encoder->rate_mode == RateMode::kBitrate) {
    encoder_->SetBitrate(rate.bps, spec_.frame_count());
  }
}

Status UnitPass::Open(const PassRate& rate) {
  const Stopwatch watch(stats_.encode);
  GOPMILL_ASSIGN_OR_RETURN(encoder_, cache_.TakeEncoder(*task_.encoder, spec_.frame_count()));
  TakeRate(rate);
  return OkStatus();
}

Status UnitPass::Finish(const PacketHandler& on_packet) {
  GOPMILL_RETURN_IF_ERROR(Send(nullptr, on_packet));
  if (packets_ == spec_.frame_count()) return OkStatus();
  return InternalError("The encoder made " + std::to_string(packets_) + " packets of " +
                       std::to_string(spec_.frame_count()) + " frames.");
}

}  // namespace gopmill
