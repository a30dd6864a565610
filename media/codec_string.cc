// SPDX-License-Identifier: Apache-2.0
#include "media/codec_string.h"

extern "C" {
#include <libavcodec/codec_par.h>
#include <libavutil/channel_layout.h>
}

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>

namespace gopmill {
namespace {

std::uint32_t Byte(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<std::uint8_t>(bytes[at]) : 0;
}

std::uint32_t Word(std::string_view bytes, std::size_t at) {
  return Byte(bytes, at) << 24U | Byte(bytes, at + 1) << 16U | Byte(bytes, at + 2) << 8U |
         Byte(bytes, at + 3);
}

// Content of the first box of the type among the boxes in `bytes`.
std::optional<std::string_view> Box(std::string_view bytes, std::string_view type) {
  constexpr std::size_t kHeader = 8;
  while (bytes.size() >= kHeader) {
    const std::size_t size = Word(bytes, 0);
    if (size < kHeader || size > bytes.size()) return std::nullopt;
    if (bytes.substr(4, 4) == type) return bytes.substr(kHeader, size - kHeader);
    bytes.remove_prefix(size);
  }
  return std::nullopt;
}

// How colours are coded (ISO/IEC 23091-2). 1 is BT.709, 2 is not known, which is taken for it.
struct Colours {
  std::uint32_t primaries = 2, transfer = 2, matrix = 2;
  bool full_range = false;
  [[nodiscard]] bool usual() const {
    return primaries <= 2 && transfer <= 2 && matrix <= 2 && !full_range;
  }
};

// Colour information box of type nclx (ISO/IEC 14496-12 12.1.5), without its header.
Colours ColoursIn(std::string_view box) {
  if (!box.starts_with("nclx") || box.size() < 11) return {};
  return {.primaries = Byte(box, 5),
          .transfer = Byte(box, 7),
          .matrix = Byte(box, 9),
          .full_range = (Byte(box, 10) & 128U) != 0};
}

std::string Avc(std::string_view config, const Colours& /*colours*/) {
  return fmt::format("{:02X}{:02X}{:02X}", Byte(config, 1), Byte(config, 2), Byte(config, 3));
}

// Profile space and number, compatibility flags bit-reversed, tier and level, constraint bytes
// without trailing zeros.
std::string Hevc(std::string_view config, const Colours& /*colours*/) {
  constexpr std::array<const char*, 4> kSpace{"", "A", "B", "C"};
  const std::uint32_t profile = Byte(config, 1);
  std::uint32_t flags = 0;
  for (unsigned bit = 0; bit < 32; ++bit) flags |= (Word(config, 2) >> bit & 1U) << (31U - bit);
  std::string text = fmt::format("{}{}.{:X}.{}{}", kSpace.at(profile >> 6U), profile & 31U, flags,
                                 (profile & 32U) != 0 ? 'H' : 'L', Byte(config, 12));
  std::size_t last = 12;
  while (last > 6 && Byte(config, last - 1) == 0) --last;
  for (std::size_t i = 6; i < last; ++i) text += fmt::format(".{:X}", Byte(config, i));
  return text;
}

// Of colours the configuration has the sampling alone.
std::string Av1(std::string_view config, const Colours& colours) {
  const std::uint32_t profile_level = Byte(config, 1), flags = Byte(config, 2);
  const bool high = (flags & 64U) != 0, twelve = (flags & 32U) != 0;
  const std::string text =
      fmt::format("{}.{:02}{}.{:02}", profile_level >> 5U, profile_level & 31U,
                  (flags & 128U) != 0 ? 'H' : 'M', high ? (twelve ? 12 : 10) : 8);
  const std::uint32_t monochrome = flags >> 4U & 1U, x = flags >> 3U & 1U, y = flags >> 2U & 1U;
  if (monochrome == 0 && x == 1 && y == 1 && colours.usual()) return text;
  return text + fmt::format(".{}.{}{}{}.{:02}.{:02}.{:02}.{:d}", monochrome, x, y, flags & 3U,
                            colours.primaries, colours.transfer, colours.matrix,
                            colours.full_range);
}

// vpcC is a full box: version and flags come first. It has the colours.
std::string Vp9(std::string_view config, const Colours& /*colours*/) {
  const std::uint32_t formats = Byte(config, 6), sampling = formats >> 1U & 7U;
  const Colours colours{.primaries = Byte(config, 7),
                        .transfer = Byte(config, 8),
                        .matrix = Byte(config, 9),
                        .full_range = (formats & 1U) != 0};
  const std::string text =
      fmt::format("{:02}.{:02}.{:02}", Byte(config, 4), Byte(config, 5), formats >> 4U);
  if (sampling <= 1 && colours.usual()) return text;  // 4:2:0, wherever its samples lie
  return text + fmt::format(".{:02}.{:02}.{:02}.{:02}.{:02d}", sampling, colours.primaries,
                            colours.transfer, colours.matrix, colours.full_range);
}

// Descriptors inside each other (ISO/IEC 14496-1 7.2.6.5): the stream's (3), the decoder's (4), and
// its configuration (5), whose first five bits are the audio object type. A length is written in
// groups of seven bits.
std::string Aac(std::string_view config, const Colours& /*colours*/) {
  constexpr std::size_t kVersion = 4, kStream = 3, kDecoder = 13;
  std::size_t at = kVersion;
  const auto enter = [&] {
    ++at;
    while ((Byte(config, at) & 128U) != 0) ++at;
    ++at;
  };
  enter();
  at += kStream;
  enter();
  const std::uint32_t object_type = Byte(config, at);
  at += kDecoder;
  enter();
  return fmt::format("{:02X}.{}", object_type, Byte(config, at) >> 3U);
}

// A sample entry, its fixed part before the boxes inside, its configuration box and how that reads.
struct SampleEntry {
  std::string_view type, config, name;
  std::size_t fixed;
  std::string (*read)(std::string_view, const Colours&);
};
constexpr std::size_t kVisualFixed = 78, kAudioFixed = 28;
constexpr std::array kSampleEntries{
    SampleEntry{"avc1", "avcC", "avc1.", kVisualFixed, Avc},
    SampleEntry{"hvc1", "hvcC", "hvc1.", kVisualFixed, Hevc},
    SampleEntry{"av01", "av1C", "av01.", kVisualFixed, Av1},
    SampleEntry{"vp09", "vpcC", "vp09.", kVisualFixed, Vp9},
    SampleEntry{"mp4a", "esds", "mp4a.", kAudioFixed, Aac},
};

std::optional<std::string_view> Descend(std::string_view bytes,
                                        std::initializer_list<std::string_view> path) {
  std::optional<std::string_view> box = bytes;
  for (const std::string_view type : path) {
    if (box) box = Box(*box, type);
  }
  return box;
}

}  // namespace

// Media header box (ISO/IEC 14496-12 8.4.2), version 0: creation and modification come first.
Result<int> TrackTimescale(std::string_view init_segment) {
  const auto header = Descend(init_segment, {"moov", "trak", "mdia", "mdhd"});
  constexpr std::size_t kTimescale = 12;
  if (!header || header->size() < kTimescale + 4 || Byte(*header, 0) != 0) {
    return InternalError("An init segment has no media header.");
  }
  return static_cast<int>(Word(*header, kTimescale));
}

Result<std::string> CodecString(std::string_view init_segment) {
  const auto box = Descend(init_segment, {"moov", "trak", "mdia", "minf", "stbl", "stsd"});
  if (!box || box->size() < 8) return InternalError("An init segment has no sample description.");
  const std::string_view entries = box->substr(8);
  if (Box(entries, "Opus")) return std::string("Opus");
  for (const SampleEntry& entry : kSampleEntries) {
    const auto sample = Box(entries, entry.type);
    if (!sample || sample->size() < entry.fixed) continue;
    const std::string_view inside = sample->substr(entry.fixed);
    const auto config = Box(inside, entry.config);
    const Colours colours = ColoursIn(Box(inside, "colr").value_or(""));
    if (config) return std::string(entry.name) + entry.read(*config, colours);
  }
  return InternalError("An init segment has an unknown sample entry.");
}

int ChannelConfigurationOf(const AVCodecParameters& parameters) {
  struct Known {
    std::uint64_t channels;
    int configuration;
  };
  constexpr std::array kKnown{
      Known{AV_CH_LAYOUT_MONO, 1},          Known{AV_CH_LAYOUT_STEREO, 2},
      Known{AV_CH_LAYOUT_SURROUND, 3},      Known{AV_CH_LAYOUT_4POINT0, 4},
      Known{AV_CH_LAYOUT_5POINT0, 5},       Known{AV_CH_LAYOUT_5POINT0_BACK, 5},
      Known{AV_CH_LAYOUT_5POINT1, 6},       Known{AV_CH_LAYOUT_5POINT1_BACK, 6},
      Known{AV_CH_LAYOUT_7POINT1_WIDE, 7},  Known{AV_CH_LAYOUT_7POINT1_WIDE_BACK, 7},
      Known{AV_CH_LAYOUT_2_1, 9},           Known{AV_CH_LAYOUT_QUAD, 10},
      Known{AV_CH_LAYOUT_2_2, 10},          Known{AV_CH_LAYOUT_6POINT1, 11},
      Known{AV_CH_LAYOUT_6POINT1_BACK, 11}, Known{AV_CH_LAYOUT_7POINT1, 12},
  };
  const AVChannelLayout& layout = parameters.ch_layout;
  if (layout.order == AV_CHANNEL_ORDER_NATIVE) {
    const auto* known = std::ranges::find(kKnown, layout.u.mask, &Known::channels);
    if (known != kKnown.end()) return known->configuration;
  }
  constexpr int kSixPointOne = 11, kSevenPointOne = 12;
  if (layout.nb_channels == 7) return kSixPointOne;
  return layout.nb_channels == 8 ? kSevenPointOne : layout.nb_channels;
}

DynamicRange DynamicRangeOf(const AVCodecParameters& parameters) {
  const bool pq = parameters.color_trc == AVCOL_TRC_SMPTE2084;
  if (!pq && parameters.color_trc != AVCOL_TRC_ARIB_STD_B67) return {};
  DynamicRange range{.hls = pq ? "PQ" : "HLG", .dash = {}};
  const auto add = [&](std::string_view what, int value) {
    range.dash += fmt::format(
        "      <SupplementalProperty schemeIdUri=\"urn:mpeg:mpegB:cicp:{}\" "
        "value=\"{}\"/>\n",
        what, value);
  };
  add("ColourPrimaries", parameters.color_primaries);
  add("TransferCharacteristics", parameters.color_trc);
  add("MatrixCoefficients", parameters.color_space);
  return range;
}

}  // namespace gopmill
