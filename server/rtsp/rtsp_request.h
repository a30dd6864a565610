// SPDX-License-Identifier: Apache-2.0
//
// The URL of a request -> what Service is asked for; an Error -> the status of RTSP.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "server/api/service.h"

namespace gopmill {

// Longest URL that is looked at.
inline constexpr std::size_t kMaxRtspUrlBytes = 4096;

// The values of vcodec that are played. AV1 is not: its payloader, rtpav1pay, is not in Debian 12.
inline constexpr const char* kPlayedVideo = "h264, hevc, mpeg4, vp9";

struct RtspRequest {
  std::string path;  // decoded, relative: "clips/movie.mp4"
  RequestParams params;
};

// `path` as in the URL ("/clips/a%20b.mp4"), `query` without its question mark.
Result<RtspRequest> ParseRtspUrl(std::string_view path, std::string_view query);

// The same for requests that mean the same, whatever the order of their parameters.
std::string KeyOf(const RtspRequest& request);

// What is asked for behind a seek to this place, nanoseconds of what `params` ask for: their start
// lies so much later, and what they want of the movie is so much shorter.
RequestParams ParamsAt(RequestParams params, std::int64_t place_ns);

// The container whose packets RTP can carry: MPEG-TS, which has parameter sets in them, and
// Matroska for VP9, which has no parameter sets and no place in MPEG-TS. Both hold AAC and Opus.
std::string_view PacketContainer(const RequestParams& params);

// RFC 2326 section 7.1.1.
int RtspStatusOf(Code code);

}  // namespace gopmill
