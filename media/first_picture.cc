// SPDX-License-Identifier: Apache-2.0
#include "media/first_picture.h"

#include <cstdint>
#include <span>

#include "base/contained.h"
#include "media/decoder_table.h"
#include "media/hdr_metadata.h"
#include "media/source.h"

namespace gopmill {
namespace {

bool IsHdr(const AVCodecParameters& parameters) {
  return parameters.color_trc == AVCOL_TRC_SMPTE2084 ||
         parameters.color_trc == AVCOL_TRC_ARIB_STD_B67;
}

av::Frame DecodeOne(const AVPacket& packet, const VideoInfo& video) {
  const AVCodec* codec = FindSourceDecoder(TrackKind::kVideo, video.codec);
  if (codec == nullptr) return nullptr;
  av::CodecContext context(avcodec_alloc_context3(codec));
  GOPMILL_CHECK(context != nullptr);
  context->thread_count = 1;
  context->max_pixels = kMaxSourcePixels;
  if (avcodec_parameters_to_context(context.get(), video.parameters.get()) < 0 ||
      avcodec_open2(context.get(), codec, nullptr) < 0) {
    return nullptr;
  }
  av::Frame frame = av::NewFrame();
  int code = 0;
  const bool returned = ContainedCall([&] {
    code = avcodec_send_packet(context.get(), &packet);
    if (code >= 0) code = avcodec_receive_frame(context.get(), frame.get());
    if (code != AVERROR(EAGAIN)) return;
    avcodec_send_packet(context.get(), nullptr);
    code = avcodec_receive_frame(context.get(), frame.get());
  });
  if (!returned) static_cast<void>(context.release());  // left behind (base/contained.h)
  if (!returned || code < 0) return nullptr;
  return frame;
}

std::span<const std::uint8_t> SideDataOf(const AVFrame& frame, AVFrameSideDataType type) {
  const AVFrameSideData* found = av_frame_get_side_data(&frame, type);
  if (found == nullptr) return {};
  return {found->data, found->size};
}

}  // namespace

void DescribeFirstPicture(const AVPacket& packet, VideoInfo& video) {
  if (!IsHdr(*video.parameters)) return;
  if (!video.mastering_display.empty() && !video.content_light.empty()) return;
  const av::Frame frame = DecodeOne(packet, video);
  if (!frame) return;
  if (video.mastering_display.empty()) {
    video.mastering_display =
        KeptBytes(MasteringDisplayOf(SideDataOf(*frame, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA)));
  }
  if (video.content_light.empty()) {
    video.content_light =
        KeptBytes(ContentLightOf(SideDataOf(*frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL)));
  }
}

}  // namespace gopmill
