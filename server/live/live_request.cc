// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_request.h"

#include <algorithm>
#include <utility>

#include "server/live/live_hub.h"

namespace gopmill {
namespace {

constexpr double kMaxLiveSegmentSeconds = 10;

// What movies have and live sources have not, or not in this form.
Status CheckIsLive(const LiveAsk& ask) {
  if (ask.name.kind == PartKind::kWhole) {
    return Error{.code = Code::kNotFound,
                 .message = "A live source has text and thumbnails in segments only.",
                 .parameter = "path",
                 .accepted = "s0.m3u8, t0.m3u8 and what they name"};
  }
  const PartTrack track = ask.name.track;
  if (ask.part && track != PartTrack::kVideo && track != PartTrack::kAudio) {
    return Error{.code = Code::kNotFound,
                 .message = "Only pictures and sound come in parts.",
                 .parameter = "path",
                 .accepted = "i0-17.m4s, x0-17.m4s"};
  }
  if (track == PartTrack::kStills) {
    return Error{.code = Code::kNotFound,
                 .message = "A live source has no pictures by their time.",
                 .parameter = "path",
                 .accepted = "t0-17.jpg, the thumbnail of a segment"};
  }
  if (track == PartTrack::kTimedText && ask.name.kind == PartKind::kPlaylist) {
    return Error{.code = Code::kNotFound,
                 .message = "Playlists have text as WebVTT.",
                 .parameter = "path",
                 .accepted = "s0.m3u8"};
  }
  if (track == PartTrack::kTimedText && ask.name.container != Container::kMp4) {
    return Error{.code = Code::kNotFound,
                 .message = "Transport streams have text as WebVTT.",
                 .parameter = "path",
                 .accepted = "s0-17.vtt, x0-17.m4s"};
  }
  return OkStatus();
}

// Whether what is asked for is there in the container of the presentation.
Status CheckContainer(const LiveAsk& ask, Container container) {
  const bool ts = container == Container::kTs;
  if (ts && ask.name.kind == PartKind::kManifest) {
    return InvalidArgument("container", "DASH players take CMAF segments only.", "mp4");
  }
  const bool file = ask.name.kind == PartKind::kInit || ask.name.kind == PartKind::kSegment;
  if (!file || !IsMedia(ask.name.track) || ask.name.container == container) return OkStatus();
  return Error{.code = Code::kNotFound,
               .message = ts ? "This presentation has whole segments of MPEG-TS alone."
                             : "The segments of this presentation are CMAF.",
               .parameter = "path",
               .accepted = ts ? "v0-17.ts" : "v0-17.m4s, or container=ts"};
}

// "v0-17.3.m4s" is part 3 of v0-17.m4s.
Status ParseName(std::string name, LiveAsk& ask) {
  constexpr std::string_view kSuffix = ".m4s";
  if (name.ends_with(kSuffix)) {
    const std::string stem = name.substr(0, name.size() - kSuffix.size());
    if (const std::size_t dot = stem.find('.'); dot != std::string::npos) {
      ask.part = ParsePlainNumber(std::string_view(stem).substr(dot + 1));
      if (ask.part) name = stem.substr(0, dot) + std::string(kSuffix);
    }
  }
  GOPMILL_ASSIGN_OR_RETURN(ask.name, ParsePartName(name));
  return CheckIsLive(ask);
}

Status SetDirective(const std::string& name, const std::string& value, LiveAsk& ask) {
  if (ask.name.kind != PartKind::kPlaylist) {
    return InvalidArgument(name, "Only the playlist of a rendition can be waited for or shortened.",
                           "v0.m3u8");
  }
  if (name == "_HLS_skip") {
    ask.delta = value == "YES" || value == "v2";  // without date ranges they are the same
    if (ask.delta) return OkStatus();
    return InvalidArgument(name, "This is no way to skip segments.", "YES or v2");
  }
  auto& field = name == "_HLS_msn" ? ask.wait_segment : ask.wait_part;
  if (field) return InvalidArgument(name, "The directive is given twice.");
  field = ParsePlainNumber(value);
  if (field) return OkStatus();
  return InvalidArgument(name, "This is no number of a segment or part.", "a decimal number");
}

Status CheckLive(const SegmentRequest& request) {
  const TargetRequest& target = request.target;
  if (target.start || target.duration) {
    return InvalidArgument(target.start ? "start" : "duration",
                           "A live source begins and ends by itself.", "no start and no duration");
  }
  GOPMILL_RETURN_IF_ERROR(CheckLiveTarget(target));
  if (request.segment_seconds > kMaxLiveSegmentSeconds) {
    return InvalidArgument("segment", "This is too long for a live segment.", "0.5 to 10 seconds");
  }
  return OkStatus();
}

}  // namespace

Status CheckLiveTarget(const TargetRequest& target) {
  if (target.start.value_or(Rational{0, 1}).num > 0) {
    return InvalidArgument("start", "A live source cannot be sought in.", "no start");
  }
  if (target.burn.value_or(0) > 0) {
    return InvalidArgument("burn", "The text of a live source cannot be drawn into it.", "off");
  }
  if (target.subtitles == Subtitles::kCopy) {
    return InvalidArgument("subtitles",
                           "The text of a live source is not copied along: HLS and DASH have it in "
                           "playlists of its own.",
                           "off");
  }
  return OkStatus();
}

Result<LiveRequest> ParseLiveRequest(const PartRequest& request, const SegmentDefaults& defaults) {
  LiveRequest live;
  live.source = request.path.substr(kLivePrefix.size());
  GOPMILL_RETURN_IF_ERROR(CheckLiveName(live.source));
  live.ask.if_none_match = request.if_none_match;
  GOPMILL_RETURN_IF_ERROR(ParseName(request.name, live.ask));
  for (const auto& [name, value] : request.params) {
    if (name == "_HLS_msn" || name == "_HLS_part" || name == "_HLS_skip") {
      GOPMILL_RETURN_IF_ERROR(SetDirective(name, value, live.ask));
    } else {
      live.shared.emplace_back(name, value);
    }
  }
  if (live.ask.wait_part && !live.ask.wait_segment) {
    return InvalidArgument("_HLS_part", "A part is one of a segment, which is not named.",
                           "_HLS_msn with it");
  }
  SegmentDefaults short_enough = defaults;
  short_enough.segment_seconds = std::min(defaults.segment_seconds, kMaxLiveSegmentSeconds);
  GOPMILL_ASSIGN_OR_RETURN(live.segments, ParseSegmentParams(live.shared, short_enough));
  GOPMILL_RETURN_IF_ERROR(CheckLive(live.segments));
  GOPMILL_RETURN_IF_ERROR(
      CheckContainer(live.ask, live.segments.target.container.value_or(Container::kMp4)));
  live.ask.versioned = !live.segments.version.empty();
  std::erase_if(live.shared, [](const auto& param) { return param.first == "version"; });
  live.key = live.source + QueryFor(live.shared, "");
  if (!request.service_class.empty()) {  // each class has encodes of its own
    live.segments.target.service_class = request.service_class;
    live.key += " of " + request.service_class;
  }
  return live;
}

}  // namespace gopmill
