// SPDX-License-Identifier: Apache-2.0
#include "media/first_picture.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/contained.h"
#include "media/av_compat.h"
#include "media/decoder_table.h"
#include "media/hdr_metadata.h"
#include "media/nal_units.h"

namespace gopmill {
namespace {

av::Frame DecodeOne(const AVPacket& packet, const VideoInfo& video) {
  av::CodecContext context = OpenPictureDecoder(*video.parameters);
  if (context == nullptr) return nullptr;
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

// A sequence that may have pictures of fields (progressive_sequence in ISO/IEC 13818-2 6.3.5),
// whatever its first one is: those on a DVD vary.
bool MixesFields(nal::Bytes data) {
  constexpr std::uint8_t kExtension = 0xB5;
  constexpr unsigned kOfSequence = 1;
  for (auto at = nal::AfterStartCode(data, 0); at; at = nal::AfterStartCode(data, *at)) {
    if (*at + 2 >= data.size()) return false;
    const bool found = data[*at] == kExtension && data[*at + 1] >> 4U == kOfSequence;
    if (found) return (data[*at + 2] >> 3U & 1U) == 0;
  }
  return false;
}

// Where neither container nor parser says anything of fields, pictures may: of one field each in
// MP4, MPEG-4, Motion JPEG of a capture card.
bool PicturesTell(const VideoInfo& video) {
  static constexpr std::array<std::string_view, 4> kCodecs{"h264", "mpeg4", "mjpeg", "prores"};
  return video.parameters->field_order == AV_FIELD_UNKNOWN &&
         std::ranges::find(kCodecs, video.codec) != kCodecs.end();
}

bool KnownInterlaced(const AVPacket& packet, const VideoInfo& video) {
  constexpr int kProgressiveDv = 720;  // lines; that of all other formats has fields
  if (video.codec == "dvvideo") return video.height != kProgressiveDv;
  if (video.codec != "mpeg2video") return false;
  return MixesFields({packet.data, static_cast<std::size_t>(packet.size)});
}

void DescribeRange(const AVFrame& frame, VideoInfo& video) {
  if (video.mastering_display.empty()) {
    video.mastering_display =
        KeptBytes(MasteringDisplayOf(SideDataOf(frame, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA)));
  }
  if (video.content_light.empty()) {
    video.content_light =
        KeptBytes(ContentLightOf(SideDataOf(frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL)));
  }
}

}  // namespace

void DescribeFirstPicture(const AVPacket& packet, VideoInfo& video) {
  if (video.codec == "h264") video.x264_build = X264Build(packet);
  video.interlaced = video.interlaced || KnownInterlaced(packet, video);
  const bool range =
      IsHdr(*video.parameters) && (video.mastering_display.empty() || video.content_light.empty());
  const bool fields = !video.interlaced && PicturesTell(video);
  if (!range && !fields) return;
  const av::Frame frame = DecodeOne(packet, video);
  if (!frame) return;
  if (fields) video.interlaced = av::IsInterlaced(*frame);
  if (range) DescribeRange(*frame, video);
}

}  // namespace gopmill
