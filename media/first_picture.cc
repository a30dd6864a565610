// SPDX-License-Identifier: Apache-2.0
#include "media/first_picture.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/contained.h"
#include "media/decoder_table.h"
#include "media/hdr_metadata.h"
#include "media/source.h"

namespace gopmill {
namespace {

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

// "x264 - core 142 r2389 956c8d8 - H.264/MPEG-4 AVC codec ...", in a message of user data.
int X264Build(const AVPacket& packet) {
  constexpr std::size_t kWithin = 4096;
  constexpr std::string_view kName = "x264 - core ";
  std::string_view text(reinterpret_cast<const char*>(packet.data),
                        std::min(static_cast<std::size_t>(packet.size), kWithin));
  const std::size_t at = text.find(kName);
  if (at == std::string_view::npos) return -1;
  text.remove_prefix(at + kName.size());
  int build = -1;
  std::from_chars(text.data(), text.data() + text.size(), build);
  return build;
}

}  // namespace

void DescribeFirstPicture(const AVPacket& packet, VideoInfo& video) {
  if (video.codec == "h264") video.x264_build = X264Build(packet);
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
