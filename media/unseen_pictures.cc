// SPDX-License-Identifier: Apache-2.0
#include "media/unseen_pictures.h"

#include <algorithm>
#include <iterator>

#include "media/nal_units.h"

namespace gopmill {
namespace {

enum class Part {
  kUnreferenced,  // a slice of a picture that nothing depends on
  kBeside,        // what a decoder does not keep for later pictures
  kOther,
};

Part PartOfH264(nal::Bytes unit) {
  constexpr unsigned kSlice = 1, kSei = 6, kDelimiter = 9, kFiller = 12;
  const unsigned type = unit[0] & 31U, ref_idc = unit[0] >> 5U & 3U;
  if (type == kSlice && ref_idc == 0) return Part::kUnreferenced;
  return type == kSei || type == kDelimiter || type == kFiller ? Part::kBeside : Part::kOther;
}

// Of the only layer; the even types up to 14 are not referred to within it.
Part PartOfHevc(nal::Bytes unit) {
  constexpr unsigned kLastUnreferenced = 14, kDelimiter = 35, kFiller = 38, kSei = 39,
                     kSeiBehind = 40;
  if (unit.size() < 2) return Part::kOther;
  const unsigned type = unit[0] >> 1U & 63U;
  const unsigned layer = (unit[0] & 1U) << 5U | unit[1] >> 3U, temporal_plus1 = unit[1] & 7U;
  if (layer != 0 || temporal_plus1 != 1) return Part::kOther;
  if (type <= kLastUnreferenced && type % 2 == 0) return Part::kUnreferenced;
  const bool beside = type == kDelimiter || type == kFiller || type == kSei || type == kSeiBehind;
  return beside ? Part::kBeside : Part::kOther;
}

nal::Bytes HeaderOf(const AVCodecParameters& video) {
  if (video.extradata == nullptr || video.extradata_size <= 0) return {};
  return {video.extradata, static_cast<std::size_t>(video.extradata_size)};
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

bool Tells(const AVCodecParameters& video) {
  if (video.codec_id == AV_CODEC_ID_H264) return video.field_order == AV_FIELD_PROGRESSIVE;
  return video.codec_id == AV_CODEC_ID_HEVC && HasOneLayer(video);
}

bool ChangesCoding(const av::Packet& packet) {
  return av_packet_get_side_data(packet.get(), AV_PKT_DATA_NEW_EXTRADATA, nullptr) != nullptr;
}

struct Kept {
  SourceTicks first = 0, last = 0;
};

// `times` ascend.
std::vector<Kept> KeptTimes(const std::vector<SourceTicks>& times,
                            std::span<const ShownTimes> shown) {
  const auto count = static_cast<std::ptrdiff_t>(times.size());
  constexpr auto kAround = static_cast<std::ptrdiff_t>(kKeptAround);
  std::vector<Kept> kept;
  for (const ShownTimes& stretch : shown) {
    const auto first = std::ranges::upper_bound(times, stretch.first) - times.begin();
    const auto last = std::ranges::upper_bound(times, stretch.last) - times.begin();
    kept.push_back({.first = times[static_cast<std::size_t>(
                        std::clamp<std::ptrdiff_t>(first - 1 - kAround, 0, count - 1))],
                    .last = times[static_cast<std::size_t>(std::min(last, count - 1))]});
  }
  return kept;
}

}  // namespace

bool NothingDependsOn(const AVCodecParameters& video, const AVPacket& packet) {
  if (packet.size <= 0 || !Tells(video)) return false;
  bool slices = false, others = false;
  nal::ForEach({packet.data, static_cast<std::size_t>(packet.size)}, nal::LengthSize(video),
               [&](nal::Bytes unit) {
                 const Part part =
                     video.codec_id == AV_CODEC_ID_H264 ? PartOfH264(unit) : PartOfHevc(unit);
                 slices = slices || part == Part::kUnreferenced;
                 others = others || part == Part::kOther;
                 return others;
               });
  return slices && !others;
}

void LeaveOutUnseen(const AVCodecParameters& video, std::span<const ShownTimes> shown,
                    std::vector<av::Packet>& packets) {
  if (packets.size() <= kKeptAround || !Tells(video)) return;
  std::vector<SourceTicks> times;
  for (const av::Packet& packet : packets) {
    if (packet->pts == AV_NOPTS_VALUE || ChangesCoding(packet)) return;
    times.push_back(packet->pts);
  }
  std::ranges::sort(times);
  const std::vector<Kept> kept = KeptTimes(times, shown);
  std::erase_if(packets, [&](const av::Packet& packet) {
    const bool needed = std::ranges::any_of(kept, [&](const Kept& stretch) {
      return stretch.first <= packet->pts && packet->pts <= stretch.last;
    });
    return !needed && NothingDependsOn(video, *packet);
  });
}

}  // namespace gopmill
