// SPDX-License-Identifier: Apache-2.0
#include "media/sound_layout.h"

extern "C" {
#include <libavutil/channel_layout.h>
}

#include <array>
#include <bit>
#include <span>

namespace gopmill {
namespace {

// Those that come out of FFmpeg's decoder as they went into its encoder (5.1; measured with a tone
// in each channel), the usual one of each number first. The encoder takes more, but describes them
// such that the decoder knows the number alone. 6.1 is one of these: it is in the order in which
// that number is understood.
constexpr std::uint64_t kAacLayouts[] = {
    AV_CH_LAYOUT_MONO,         AV_CH_LAYOUT_STEREO,        AV_CH_LAYOUT_SURROUND,
    AV_CH_LAYOUT_2POINT1,      AV_CH_LAYOUT_2_1,           AV_CH_LAYOUT_4POINT0,
    AV_CH_LAYOUT_QUAD,         AV_CH_LAYOUT_2_2,           AV_CH_LAYOUT_5POINT0_BACK,
    AV_CH_LAYOUT_5POINT1_BACK, AV_CH_LAYOUT_6POINT0_FRONT, AV_CH_LAYOUT_6POINT1,
    AV_CH_LAYOUT_7POINT1};
// Channel mapping family 1 (RFC 7845 section 5.1.1.2).
constexpr std::uint64_t kOpusLayouts[] = {AV_CH_LAYOUT_MONO,         AV_CH_LAYOUT_STEREO,
                                          AV_CH_LAYOUT_SURROUND,     AV_CH_LAYOUT_QUAD,
                                          AV_CH_LAYOUT_5POINT0_BACK, AV_CH_LAYOUT_5POINT1_BACK,
                                          AV_CH_LAYOUT_6POINT1,      AV_CH_LAYOUT_7POINT1};

constexpr std::uint64_t kSides = AV_CH_SIDE_LEFT | AV_CH_SIDE_RIGHT;
constexpr std::uint64_t kBacks = AV_CH_BACK_LEFT | AV_CH_BACK_RIGHT;

// With the only pair that is not in front called a pair at the back.
std::uint64_t Plain(std::uint64_t layout) {
  const bool sides_alone = (layout & kSides) == kSides && (layout & kBacks) == 0;
  return sides_alone ? (layout & ~kSides) | kBacks : layout;
}

}  // namespace

std::uint64_t StatedLayout(const AudioInfo& audio) {
  if (audio.parameters == nullptr) return 0;
  const AVChannelLayout& layout = audio.parameters->ch_layout;
  return layout.order == AV_CHANNEL_ORDER_NATIVE ? layout.u.mask : 0;
}

std::uint64_t CodedLayout(AudioCodec codec, int channels, std::uint64_t source) {
  const std::span<const std::uint64_t> layouts =
      codec == AudioCodec::kOpus ? std::span<const std::uint64_t>(kOpusLayouts) : kAacLayouts;
  if (std::popcount(source) != channels) source = 0;
  std::uint64_t best = 0;
  int most = -1;
  for (const std::uint64_t layout : layouts) {
    if (std::popcount(layout) != channels) continue;
    if (layout == source) return layout;
    const int common = std::popcount(Plain(layout) & Plain(source));
    if (common > most) most = common, best = layout;
  }
  return best;
}

bool SameSpeakers(std::uint64_t one, std::uint64_t other) { return Plain(one) == Plain(other); }

std::string LayoutName(std::uint64_t layout) {
  AVChannelLayout described{};
  av_channel_layout_from_mask(&described, layout);
  std::array<char, 64> name{};
  av_channel_layout_describe(&described, name.data(), name.size());
  return name.data();
}

}  // namespace gopmill
