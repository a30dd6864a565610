// SPDX-License-Identifier: Apache-2.0
//
// What may be asked for below /v1/hls/live/{name}/ and /v1/dash/live/{name}/: the names and
// parameters of movies (segment_request.h) as far as a live source has them, parts of segments
// ("v0-17.3.m4s"), and the directives by which a playlist is waited for and shortened (RFC 8216bis
// 6.2.5).
// Pure.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "server/api/service.h"
#include "server/segments/segment_request.h"

namespace gopmill {

// What of a presentation is wanted.
struct LiveAsk {
  PartName name;
  std::optional<std::int64_t> part;                     // of the segment that `name` names
  std::optional<std::int64_t> wait_segment, wait_part;  // _HLS_msn, _HLS_part
  bool delta = false;                                   // _HLS_skip
  bool versioned = false;  // the address has the version of the presentation
  std::string if_none_match;
};

struct LiveRequest {
  std::string source;       // name of the live source
  RequestParams shared;     // the parameters without those that are not the presentation's
  std::string key;          // equal for requests of the same presentation
  SegmentRequest segments;  // `shared`, read; and the version
  LiveAsk ask;
};

// Refuses what no live source has, however it is played.
Status CheckLiveTarget(const TargetRequest& target);

Result<LiveRequest> ParseLiveRequest(const PartRequest& request, const SegmentDefaults& defaults);

}  // namespace gopmill
