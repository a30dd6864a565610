// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/play_range.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

namespace gopmill {
namespace {

struct FreeRange {
  void operator()(GstRTSPTimeRange* range) const noexcept { gst_rtsp_range_free(range); }
};

Error BadRange(std::string message, double seconds) {
  return Error{.code = Code::kInvalidArgument,
               .message = std::move(message),
               .parameter = "Range",
               .accepted = seconds > 0
                               ? fmt::format("npt=FROM-TO in seconds, from 0 to {:.3f}", seconds)
                               : "npt=now-"};
}

Status CheckRange(const char* text, double seconds) {
  GstRTSPTimeRange* parsed = nullptr;
  if (gst_rtsp_range_parse(text, &parsed) != GST_RTSP_OK) {
    return BadRange("The range is not understood.", seconds);
  }
  const std::unique_ptr<GstRTSPTimeRange, FreeRange> range(parsed);
  const GstRTSPTime& from = range->min;
  const GstRTSPTime& to = range->max;
  if (range->unit != GST_RTSP_RANGE_NPT || from.type == GST_RTSP_TIME_END) {
    return BadRange("Only ranges in normal play time with a begin are played.", seconds);
  }
  const bool has_end = to.type == GST_RTSP_TIME_SECONDS;
  if (from.type != GST_RTSP_TIME_SECONDS) return OkStatus();
  // The library reads "nan" and "inf" as numbers.
  if (!std::isfinite(from.seconds) || (has_end && !std::isfinite(to.seconds))) {
    return BadRange("The range is not understood.", seconds);
  }
  if (seconds > 0 && from.seconds >= seconds) {
    return BadRange(fmt::format("The range begins behind the end, {:.3f} s.", seconds), seconds);
  }
  if (has_end && to.seconds <= from.seconds) {
    return BadRange("The range ends before it begins.", seconds);
  }
  return OkStatus();
}

}  // namespace

Status CheckPlay(GstRTSPMessage& request, double seconds) {
  gchar* text = nullptr;
  if (gst_rtsp_message_get_header(&request, GST_RTSP_HDR_RANGE, &text, 0) == GST_RTSP_OK) {
    GOPMILL_RETURN_IF_ERROR(CheckRange(text, seconds));
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
