// SPDX-License-Identifier: Apache-2.0
#include "codec/picture_sheet.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/imgutils.h>
#include <libswscale/swscale.h>
}

#include <cstddef>
#include <utility>

#include "codec/frame_selector.h"
#include "codec/picture.h"
#include "codec/scaling.h"
#include "media/av_error.h"

namespace gopmill {
namespace {

constexpr int kQuality = 4;  // quantiser of the JPEG, 1 (best) to 31
constexpr AVPixelFormat kPainted = AV_PIX_FMT_YUV420P;

struct SwsFree {
  void operator()(SwsContext* context) const noexcept { sws_freeContext(context); }
};

// Output frames between two looks at the stop token.
constexpr std::int64_t kStride = 16;

// One run's decoder; gives it back in the end.
class Run {
 public:
  static Result<Run> Open(const SheetTask& task, const SheetRun& run, ContextCache& cache) {
    auto plan = PlanCodedAs(task.plan, run.input->coded);
    GOPMILL_ASSIGN_OR_RETURN(auto decoder, cache.TakeDecoder(*plan->source));
    return Run(std::move(plan), run, std::move(decoder));
  }

  // As the source has it, valid until the next call; null where the source gave none.
  Result<const AVFrame*> Picture(std::int64_t frame, const std::stop_token& stop) {
    for (; at_ + kStride < frame; at_ += kStride) {
      if (stop.stop_requested()) return Cancelled();
      GOPMILL_RETURN_IF_ERROR(selector_->Select(at_));
    }
    at_ = frame;
    GOPMILL_ASSIGN_OR_RETURN(const auto selected, selector_->Select(frame));
    return selected.frame;
  }
  void GiveDecoder(ContextCache& cache) {
    cache.GiveDecoder(*plan_->source, selector_->TakeDecoder());
  }

 private:
  Run(std::shared_ptr<const StreamPlan> plan, const SheetRun& run,
      std::unique_ptr<VideoDecoder> decoder)
      : plan_(std::move(plan)),
        selector_(std::make_unique<FrameSelector>(plan_, std::move(decoder),
                                                  run.input->spec.first_packet)),
        at_(run.entry_frame) {
    std::vector<av::Packet> packets;
    for (const av::Packet& packet : run.input->packets) packets.push_back(av::Ref(*packet));
    selector_->Feed(std::move(packets), true);
  }

  std::shared_ptr<const StreamPlan> plan_;
  std::unique_ptr<FrameSelector> selector_;
  std::int64_t at_;  // the output frame that was looked at last
};

// In the range and matrix of the sheet's first picture: `colors`, nothing until then.
Result<av::Frame> Scale(const SheetTask& task, const AVFrame& frame, const OutputColors& colors,
                        ContextCache& cache) {
  const Size size{task.plan->target.width, task.plan->target.height};
  const FilterSpec wanted = SpatialPart(*task.plan, size, kPainted, colors, frame);
  GOPMILL_ASSIGN_OR_RETURN(auto filter, cache.TakeFilter(wanted));
  av::Frame out = av::NewFrame();
  GOPMILL_ASSIGN_OR_RETURN(const bool got, filter->Filter(&frame, *out));
  cache.GiveFilter(std::move(filter));
  if (!got) return InternalError("The scaler swallowed a picture.");
  out->colorspace = static_cast<AVColorSpace>(MatrixMade(wanted));
  out->color_range = MakesFullRange(wanted) ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
  return out;
}

void Paint(const AVFrame& picture, int left, int top, AVFrame& sheet) {
  for (int plane = 0; plane < 3; ++plane) {
    const int shift = plane == 0 ? 0 : 1;  // 4:2:0
    std::uint8_t* to = sheet.data[plane] +
                       static_cast<std::ptrdiff_t>(top >> shift) * sheet.linesize[plane] +
                       (left >> shift);
    av_image_copy_plane(to, sheet.linesize[plane], picture.data[plane], picture.linesize[plane],
                        picture.width >> shift, picture.height >> shift);
  }
}

// Coefficients as libswscale names them.
int MatrixOf(const AVFrame& picture, int source_height) {
  const int space = MatrixMeant(picture.colorspace, source_height);
  if (space == AVCOL_SPC_BT709) return SWS_CS_ITU709;
  if (space == AVCOL_SPC_BT2020_NCL || space == AVCOL_SPC_BT2020_CL) return SWS_CS_BT2020;
  return SWS_CS_ITU601;
}

Result<av::Frame> ToJpegColors(const AVFrame& sheet, int matrix, bool full_range) {
  const std::unique_ptr<SwsContext, SwsFree> scaler(sws_getContext(
      sheet.width, sheet.height, kPainted, sheet.width, sheet.height, AV_PIX_FMT_YUVJ420P,
      SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT, nullptr, nullptr, nullptr));
  if (scaler == nullptr) return InternalError("The colours of a sheet cannot be converted.");
  constexpr int kOne = 1 << 16;
  sws_setColorspaceDetails(scaler.get(), sws_getCoefficients(matrix), full_range ? 1 : 0,
                           sws_getCoefficients(SWS_CS_ITU601), 1, 0, kOne, kOne);
  GOPMILL_ASSIGN_OR_RETURN(av::Frame out,
                           NewPicture(sheet.width, sheet.height, AV_PIX_FMT_YUVJ420P));
  const int lines = sws_scale(scaler.get(), sheet.data, sheet.linesize, 0, sheet.height, out->data,
                              out->linesize);
  if (lines != sheet.height) return InternalError("The colours of a sheet were not converted.");
  out->color_range = AVCOL_RANGE_JPEG;
  return out;
}

Result<std::string> EncodeJpeg(AVFrame& picture) {
  const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_MJPEG);
  if (codec == nullptr) {
    return Error{.code = Code::kUnsupported, .message = "FFmpeg here has no encoder for JPEG."};
  }
  const av::CodecContext context(avcodec_alloc_context3(codec));
  GOPMILL_CHECK(context != nullptr);
  context->width = picture.width;
  context->height = picture.height;
  context->pix_fmt = AV_PIX_FMT_YUVJ420P;
  context->color_range = AVCOL_RANGE_JPEG;
  context->time_base = {1, 1};
  context->thread_count = 1;
  context->flags |= AV_CODEC_FLAG_QSCALE | AV_CODEC_FLAG_BITEXACT;  // no name of a version in it
  context->global_quality = kQuality * FF_QP2LAMBDA;
  picture.quality = context->global_quality;
  picture.pts = 0;
  int code = avcodec_open2(context.get(), codec, nullptr);
  if (code >= 0) code = avcodec_send_frame(context.get(), &picture);
  const av::Packet packet = av::NewPacket();
  if (code >= 0) code = avcodec_receive_packet(context.get(), packet.get());
  if (code < 0) return av::AvError("A sheet of pictures could not be encoded", code);
  return std::string(packet->data, packet->data + packet->size);
}

}  // namespace

Result<std::string> MakeSheet(const SheetTask& task, ContextCache& cache,
                              const std::stop_token& stop) {
  const int width = task.plan->target.width, height = task.plan->target.height;
  GOPMILL_CHECK(width % 2 == 0 && height % 2 == 0);
  GOPMILL_ASSIGN_OR_RETURN(av::Frame sheet,
                           NewPicture(width * task.columns, height * task.rows, kPainted));
  PaintBlack(*sheet, AVCOL_RANGE_MPEG);
  int matrix = SWS_CS_ITU601;
  OutputColors colors;
  int place = 0;
  for (const SheetRun& wanted : task.runs) {
    GOPMILL_ASSIGN_OR_RETURN(Run run, Run::Open(task, wanted, cache));
    for (const std::int64_t number : wanted.frames) {
      if (stop.stop_requested()) return Cancelled();
      GOPMILL_ASSIGN_OR_RETURN(const AVFrame* frame, run.Picture(number, stop));
      const int tile = place++;
      if (frame == nullptr) continue;
      GOPMILL_ASSIGN_OR_RETURN(const av::Frame picture, Scale(task, *frame, colors, cache));
      matrix = MatrixOf(*picture, frame->height);
      colors = {.range = picture->color_range, .matrix = picture->colorspace};
      Paint(*picture, tile % task.columns * width, tile / task.columns * height, *sheet);
    }
    run.GiveDecoder(cache);
  }
  GOPMILL_ASSIGN_OR_RETURN(av::Frame jpeg,
                           ToJpegColors(*sheet, matrix, colors.range == AVCOL_RANGE_JPEG));
  return EncodeJpeg(*jpeg);
}

}  // namespace gopmill
