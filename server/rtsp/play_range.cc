// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/play_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace gopmill {
namespace {

constexpr const char* kBoundedKey = "gopmill-bounded";

struct FreeRange {
  void operator()(GstRTSPTimeRange* range) const noexcept { gst_rtsp_range_free(range); }
};
using RangePtr = std::unique_ptr<GstRTSPTimeRange, FreeRange>;

Error BadRange(std::string message, double seconds) {
  return Error{.code = Code::kInvalidArgument,
               .message = std::move(message),
               .parameter = "Range",
               .accepted = seconds > 0
                               ? fmt::format("npt=FROM-TO in seconds, from 0 to {:.3f}", seconds)
                               : "npt=now-"};
}

bool IsNumber(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view part = text.substr(std::min(dot + 1, text.size()));
  return dot > 0 && std::ranges::all_of(text.substr(0, dot), digit) &&
         std::ranges::all_of(part, digit);
}

// npt-sec or npt-hhmmss of RFC 2326 section 3.6, or nothing.
bool IsNptTime(std::string_view text) {
  if (text.empty() || text == "now") return true;
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos) return IsNumber(text);
  const std::size_t second = text.find(':', first + 1);
  if (second == std::string_view::npos) return false;
  const auto whole = [](std::string_view part) {
    return IsNumber(part) && part.find('.') == std::string_view::npos;
  };
  return whole(text.substr(0, first)) && whole(text.substr(first + 1, second - first - 1)) &&
         IsNumber(text.substr(second + 1));
}

// The library reads as far as it understands, "5x-" as 5 and "x-" as 0.
bool IsNpt(std::string_view text) {
  constexpr std::string_view kUnit = "npt=";
  if (!text.starts_with(kUnit)) return true;  // of another clock
  text.remove_prefix(kUnit.size());
  const std::size_t dash = text.find('-');
  return dash != std::string_view::npos && IsNptTime(text.substr(0, dash)) &&
         IsNptTime(text.substr(dash + 1));
}

Result<RangePtr> CheckRange(const char* text, double seconds) {
  if (std::strpbrk(text, ",;") != nullptr) {
    return BadRange("One range is played, at once.", seconds);
  }
  GstRTSPTimeRange* parsed = nullptr;
  if (!IsNpt(text) || gst_rtsp_range_parse(text, &parsed) != GST_RTSP_OK) {
    return BadRange("The range is not understood.", seconds);
  }
  RangePtr range(parsed);
  const GstRTSPTime& from = range->min;
  const GstRTSPTime& to = range->max;
  if (range->unit != GST_RTSP_RANGE_NPT || from.type == GST_RTSP_TIME_END) {
    return BadRange("Only ranges in normal play time with a begin are played.", seconds);
  }
  const bool has_end = to.type == GST_RTSP_TIME_SECONDS;
  if (from.type != GST_RTSP_TIME_SECONDS) return range;
  if (!std::isfinite(from.seconds) || (has_end && !std::isfinite(to.seconds))) {
    return BadRange("The range is not understood.", seconds);
  }
  if (seconds > 0 && from.seconds >= seconds) {
    return BadRange(fmt::format("The range begins behind the end, {:.3f} s.", seconds), seconds);
  }
  if (has_end && to.seconds <= from.seconds) {
    return BadRange("The range ends before it begins.", seconds);
  }
  return range;
}

Status TakeRange(GstRTSPMessage& request, const char* text, GstRTSPMedia& media, double seconds) {
  GOPMILL_ASSIGN_OR_RETURN(const RangePtr range, CheckRange(text, seconds));
  const bool bounded = range->max.type == GST_RTSP_TIME_SECONDS;
  const bool was_bounded = g_object_get_data(G_OBJECT(&media), kBoundedKey) != nullptr;
  g_object_set_data(G_OBJECT(&media), kBoundedKey, GINT_TO_POINTER(bounded));
  if (!was_bounded || bounded || seconds <= 0) return OkStatus();
  constexpr double kMillis = 1000;
  const std::string whole =
      fmt::format("{}-{:.3f}", std::string_view(text, std::strcspn(text, "-")),
                  std::ceil(seconds * kMillis) / kMillis);
  gst_rtsp_message_remove_header(&request, GST_RTSP_HDR_RANGE, -1);
  gst_rtsp_message_add_header(&request, GST_RTSP_HDR_RANGE, whole.c_str());
  return OkStatus();
}

}  // namespace

Status CheckPlay(GstRTSPMessage& request, GstRTSPMedia& media, double seconds) {
  gchar* text = nullptr;
  if (gst_rtsp_message_get_header(&request, GST_RTSP_HDR_RANGE, &text, 0) == GST_RTSP_OK) {
    GOPMILL_RETURN_IF_ERROR(TakeRange(request, text, media, seconds));
  }
  // What was admitted plays as fast as it is watched.
  for (const GstRTSPHeaderField field : {GST_RTSP_HDR_SCALE, GST_RTSP_HDR_SPEED}) {
    if (gst_rtsp_message_remove_header(&request, field, -1) == GST_RTSP_OK) {
      gst_rtsp_message_add_header(&request, field, "1.0");
    }
  }
  return OkStatus();
}

}  // namespace gopmill
