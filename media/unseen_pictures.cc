// SPDX-License-Identifier: Apache-2.0
#include "media/unseen_pictures.h"

#include <algorithm>
#include <utility>

#include "base/contained.h"
#include "media/coding_header.h"
#include "media/decoder_table.h"
#include "media/nal_units.h"

namespace gopmill {
namespace {

// Less than that is not left out: a picture is decoded to know whether it may be.
constexpr std::ptrdiff_t kWorthwhile = 4;

enum class Part {
  kUnreferenced,  // a slice of a picture that nothing depends on
  kBeside,        // what a decoder does not keep for later pictures
  kLayered,       // of another layer than the first
  kOther,
};

Part PartOfH264(nal::Bytes unit) {
  constexpr unsigned kSlice = 1, kSei = 6, kDelimiter = 9, kFiller = 12;
  const unsigned type = unit[0] & 31U, ref_idc = unit[0] >> 5U & 3U;
  if (type == kSlice && ref_idc == 0) return Part::kUnreferenced;
  return type == kSei || type == kDelimiter || type == kFiller ? Part::kBeside : Part::kOther;
}

// The even types up to 14 are not referred to within their layer.
Part PartOfHevc(nal::Bytes unit) {
  constexpr unsigned kLastUnreferenced = 14, kDelimiter = 35, kFiller = 38, kSei = 39,
                     kSeiBehind = 40;
  if (unit.size() < 2) return Part::kOther;
  const unsigned type = unit[0] >> 1U & 63U;
  const unsigned layer = (unit[0] & 1U) << 5U | unit[1] >> 3U, temporal_plus1 = unit[1] & 7U;
  if (layer != 0 || temporal_plus1 > 1) return Part::kLayered;
  if (type <= kLastUnreferenced && type % 2 == 0) return Part::kUnreferenced;
  const bool beside = type == kDelimiter || type == kFiller || type == kSei || type == kSeiBehind;
  return beside ? Part::kBeside : Part::kOther;
}

// The header tells that pictures are of one temporal layer (ISO/IEC 14496-15 8.3.3.1; H.265
// 7.3.2.2: three bits behind the four of the number of the video parameter set).
bool HasOneLayer(const AVCodecParameters& video) {
  constexpr std::size_t kLayersAt = 21;
  constexpr unsigned kSequenceSet = 33;
  const nal::Bytes header = HeaderOf(video);
  if (nal::LengthSize(video) > 0) {
    return header.size() > kLayersAt && (header[kLayersAt] >> 3U & 7U) == 1;
  }
  int sets = 0, single = 0;
  nal::ForEach(header, 0, [&](nal::Bytes unit) {
    if ((unit[0] >> 1U & 63U) != kSequenceSet) return false;
    ++sets;
    if (unit.size() > 2 && (unit[2] >> 1U & 7U) == 0) ++single;
    return false;
  });
  return sets > 0 && sets == single;
}

// Whether a decoder knows from the header how far pictures are reordered (H.264 E.2.1,
// max_num_reorder_frames): after one picture it can know it from there alone. Else it finds out
// where it first sees it, and loses pictures there: that has to be the same place whatever is left
// out.
bool TellsReordering(const AVCodecParameters& video, const AVPacket& first) {
  av::CodecContext context = OpenPictureDecoder(video);
  if (context == nullptr) return false;
  context->has_b_frames = 0;  // not what was seen when the source was probed
  int code = 0;
  if (!ContainedCall([&] { code = avcodec_send_packet(context.get(), &first); })) {
    static_cast<void>(context.release());  // left behind (base/contained.h)
    return false;
  }
  return code >= 0 && context->has_b_frames > 0;
}

bool Tells(const AVCodecParameters& video) {
  if (video.codec_id == AV_CODEC_ID_H264) {
    return video.field_order == AV_FIELD_PROGRESSIVE && video.video_delay > 0;
  }
  return video.codec_id == AV_CODEC_ID_HEVC && HasOneLayer(video);
}

enum class Picture { kUnreferenced, kReferred, kLayered };

Picture PictureOf(AVCodecID codec, std::size_t length_size, const AVPacket& packet) {
  bool slices = false, others = false, layered = false;
  const nal::Bytes data{packet.data, static_cast<std::size_t>(std::max(packet.size, 0))};
  nal::ForEach(data, length_size, [&](nal::Bytes unit) {
    const Part part = codec == AV_CODEC_ID_H264 ? PartOfH264(unit) : PartOfHevc(unit);
    slices = slices || part == Part::kUnreferenced;
    others = others || part == Part::kOther;
    layered = part == Part::kLayered;
    return layered;
  });
  if (layered) return Picture::kLayered;
  return slices && !others ? Picture::kUnreferenced : Picture::kReferred;
}

// From which picture to which packets are kept for what is shown. `times` of pictures, not empty.
std::vector<ShownTimes> KeptTimes(std::vector<SourceTicks> times,
                                  std::span<const ShownTimes> shown) {
  std::ranges::sort(times);
  const auto count = static_cast<std::ptrdiff_t>(times.size());
  constexpr auto kInFront = static_cast<std::ptrdiff_t>(kKeptInFront);
  std::vector<ShownTimes> kept;
  for (const ShownTimes& stretch : shown) {
    const auto first = std::ranges::upper_bound(times, stretch.first) - times.begin();
    const auto last = std::ranges::upper_bound(times, stretch.last) - times.begin();
    kept.push_back({.first = times[static_cast<std::size_t>(
                        std::clamp<std::ptrdiff_t>(first - 1 - kInFront, 0, count - 1))],
                    .last = times[static_cast<std::size_t>(std::min(last, count - 1))]});
  }
  return kept;
}

bool Within(const std::vector<ShownTimes>& kept, SourceTicks pts) {
  return std::ranges::any_of(kept, [pts](const ShownTimes& stretch) {
    return stretch.first <= pts && pts <= stretch.last;
  });
}

}  // namespace

void LeaveOutUnseen(const AVCodecParameters& video, std::span<const ShownTimes> shown,
                    std::vector<av::Packet>& packets) {
  if (packets.size() <= kKeptInFront || !Tells(video)) return;
  std::vector<SourceTicks> times;
  for (const av::Packet& packet : packets) {
    if (packet->pts == AV_NOPTS_VALUE || !HeaderIn(*packet).empty()) return;
    if (!av::IsHidden(*packet)) times.push_back(packet->pts);
  }
  if (times.empty()) return;
  const std::vector<ShownTimes> kept = KeptTimes(std::move(times), shown);
  const std::size_t length_size = nal::LengthSize(video);
  std::vector<bool> left_out;
  for (const av::Packet& packet : packets) {
    // What is needed is not looked into: of most segments that is all.
    const Picture picture = Within(kept, packet->pts)
                                ? Picture::kReferred
                                : PictureOf(video.codec_id, length_size, *packet);
    if (picture == Picture::kLayered) return;
    left_out.push_back(picture == Picture::kUnreferenced);
  }
  if (std::ranges::count(left_out, true) < kWorthwhile) return;
  if (video.codec_id == AV_CODEC_ID_H264 && !TellsReordering(video, *packets.front())) return;
  std::vector<av::Packet> left;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    if (!left_out[i]) left.push_back(std::move(packets[i]));
  }
  packets = std::move(left);
}

}  // namespace gopmill
