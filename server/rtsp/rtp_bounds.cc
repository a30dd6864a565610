// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtp_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "server/rtsp/receive_caps.h"
#include "server/rtsp/rtp_clock.h"

namespace gopmill {
namespace {

struct Bound {
  const char* field;
  std::int64_t least, most;
};

// Fields of a=rtpmap, and of a=fmtp in lower case. A width of bits is 32 at most; those of what
// sound does not have must not be there.
constexpr std::array kBounds = std::to_array<Bound>({
    {"encoding-params", 1, 8},  // channels
    {"channels", 1, 8},
    {"packetization-mode", 0, 2},
    {"sizelength", 0, 32},
    {"indexlength", 0, 32},
    {"indexdeltalength", 0, 32},
    {"ctsdeltalength", 0, 0},
    {"dtsdeltalength", 0, 0},
    {"randomaccessindication", 0, 0},
    {"streamstateindication", 0, 0},
    {"auxiliarydatasizelength", 0, 0},
    {"constantsize", 0, 1 << 16},
    {"constantduration", 0, 1 << 20},
    {"maxdisplacement", 0, 1 << 20},
});

// Configurations and parameter sets are some hundred bytes.
constexpr std::size_t kLongestText = 8192;
constexpr int kWidest = 16'384;
constexpr double kHighestFps = 1000;

Error OutOfBounds(std::string_view field, std::string_view what) {
  return InvalidArgument("sdp", fmt::format("A stream's {} {}.", field, what),
                         "numbers as the RFC of the payload format has them");
}

std::string_view TextOf(const GValue& value) {
  const char* text = G_VALUE_HOLDS_STRING(&value) ? g_value_get_string(&value) : nullptr;
  return text == nullptr ? std::string_view() : text;
}

// What the elements make of a field by atoi; nothing if it is no number.
std::optional<std::int64_t> NumberOf(const GValue& value) {
  if (G_VALUE_HOLDS_INT(&value)) return g_value_get_int(&value);
  std::string_view text = TextOf(value);
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec == std::errc::result_out_of_range) return std::numeric_limits<std::int64_t>::max();
  return parsed.ec == std::errc() ? std::optional(number) : std::nullopt;
}

Status CheckBound(const GstStructure& caps, const Bound& bound) {
  const GValue* value = gst_structure_get_value(&caps, bound.field);
  if (value == nullptr) return OkStatus();
  const auto number = NumberOf(*value);
  if (!number) return OutOfBounds(bound.field, "is no number");
  if (*number >= bound.least && *number <= bound.most) return OkStatus();
  return OutOfBounds(bound.field,
                     fmt::format("is {}; {} to {} is taken", *number, bound.least, bound.most));
}

Status CheckTexts(const GstStructure& caps) {
  for (int i = 0; i < gst_structure_n_fields(&caps); ++i) {
    const char* field = gst_structure_nth_field_name(&caps, static_cast<guint>(i));
    const GValue* value = gst_structure_get_value(&caps, field);
    if (value != nullptr && TextOf(*value).size() > kLongestText) {
      return OutOfBounds("description", "has a field of more than 8192 characters");
    }
  }
  return OkStatus();
}

// Of JPEG: a size that its packets have no room for, and a rate.
Status CheckDimensions(const GstStructure& caps) {
  const char* text = gst_structure_get_string(&caps, "x-dimensions");
  int width = 0;
  int height = 0;
  // NOLINTNEXTLINE(cert-err34-c): as the depayloader reads it
  if (text == nullptr || std::sscanf(text, "%9d,%9d", &width, &height) != 2) return OkStatus();
  if (width >= 0 && width <= kWidest && height >= 0 && height <= kWidest) return OkStatus();
  return OutOfBounds("x-dimensions", "are beyond 16384 pixels");
}

Status CheckFrameRate(const GstStructure& caps) {
  for (const char* field : {"a-framerate", "x-framerate"}) {
    const char* text = gst_structure_get_string(&caps, field);
    if (text == nullptr) continue;
    const double rate = g_ascii_strtod(text, nullptr);
    if (!std::isfinite(rate) || rate < 0 || rate > kHighestFps) {
      return OutOfBounds("frame rate", "is not 0 to 1000");
    }
  }
  return OkStatus();
}

unsigned Bits(const GstStructure& caps, const char* field) {
  const GValue* value = gst_structure_get_value(&caps, field);
  return value == nullptr ? 0 : static_cast<unsigned>(NumberOf(*value).value_or(0));
}

}  // namespace

Status CheckClockRate(const GstCaps& caps) {
  return CheckBound(*gst_caps_get_structure(&caps, 0),
                    {"clock-rate", kSlowestRtpClock, kFastestRtpClock});
}

Status CheckNumbers(const GstCaps& caps) {
  const GstStructure& structure = *gst_caps_get_structure(&caps, 0);
  GOPMILL_RETURN_IF_ERROR(CheckClockRate(caps));
  for (const Bound& bound : kBounds) GOPMILL_RETURN_IF_ERROR(CheckBound(structure, bound));
  GOPMILL_RETURN_IF_ERROR(CheckTexts(structure));
  GOPMILL_RETURN_IF_ERROR(CheckDimensions(structure));
  return CheckFrameRate(structure);
}

PayloadRules RulesOf(const GstCaps& caps) {
  const GstStructure& structure = *gst_caps_get_structure(&caps, 0);
  const std::string encoding = EncodingOf(caps);
  if (encoding == "H264") return PayloadRules::H264();
  if (encoding == "H265") return PayloadRules::H265();
  if (encoding == "JPEG") return PayloadRules::Jpeg();
  if (encoding != "MPEG4-GENERIC") return {};
  return PayloadRules::Units({.size = Bits(structure, "sizelength"),
                              .index = Bits(structure, "indexlength"),
                              .index_delta = Bits(structure, "indexdeltalength")});
}

}  // namespace gopmill
