// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_request.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/digits.h"
#include "media/segment_plan.h"
#include "media/target_params.h"
#include "media/target_text.h"

namespace gopmill {
namespace {

constexpr std::string_view kParts =
    "master.m3u8, manifest.mpd, v0.m3u8, v0-init.mp4, v0-17.m4s, v0-17.ts; a0 for sound; s0.m3u8, "
    "s0-17.vtt, s0.vtt for subtitles, x0 for those of live sources in CMAF; t0.m3u8, t0.vtt, "
    "t0-17.jpg for thumbnails; p0-12500.jpg for what is seen after 12.5 s; i0 for key frames "
    "alone";

Error NoSuchPart() {
  return Error{.code = Code::kNotFound,
               .message = "A movie has no part of this name.",
               .parameter = "path",
               .accepted = std::string(kParts)};
}

std::optional<PartTrack> TrackOf(char letter) {
  switch (letter) {
    case 'v': return PartTrack::kVideo;
    case 'a': return PartTrack::kAudio;
    case 's': return PartTrack::kSubtitles;
    case 'x': return PartTrack::kTimedText;
    case 't': return PartTrack::kThumbnails;
    case 'i': return PartTrack::kIFrames;
    case 'p': return PartTrack::kStills;
    default: return std::nullopt;
  }
}

std::string_view SuffixOf(const PartName& part) {
  if (part.track == PartTrack::kSubtitles) return ".vtt";
  if (part.track == PartTrack::kStills) return ".jpg";
  if (part.track != PartTrack::kThumbnails) return ".m4s";
  return part.kind == PartKind::kWhole ? ".vtt" : ".jpg";
}

bool CutSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

std::optional<Rung> ParseRung(std::string_view text) {
  const std::size_t x = text.find('x'), colon = text.find(':');
  if (x == std::string_view::npos || colon == std::string_view::npos || x > colon) {
    return std::nullopt;
  }
  const auto width = ParsePlainNumber(text.substr(0, x)),
             height = ParsePlainNumber(text.substr(x + 1, colon - x - 1));
  const auto bitrate = ParseBits(text.substr(colon + 1));
  if (!width || !height || !bitrate.ok()) return std::nullopt;
  const auto side = [](std::int64_t value) { return value >= kMinSide && value <= kMaxSide; };
  if (!side(*width) || !side(*height)) return std::nullopt;
  if (*bitrate < kMinBitrate || *bitrate > kMaxBitrate) return std::nullopt;
  return Rung{static_cast<int>(*width), static_cast<int>(*height), *bitrate};
}

Status SetSegment(std::string_view value, double& seconds) {
  const auto parsed = ParseSeconds(value);
  if (parsed.ok() && parsed->ToDouble() >= kMinSegmentSeconds &&
      parsed->ToDouble() <= kMaxSegmentSeconds) {
    seconds = parsed->ToDouble();
    return OkStatus();
  }
  return InvalidArgument("segment", "This is no length of a segment.", "0.5 to 20 seconds");
}

// What segments take of a parameter, where that is less than a transcode does; empty: nothing.
constexpr std::string_view kSegmentContainers = "mp4 or ts", kSegmentVideo = "h264, hevc, av1, vp9",
                           kSegmentSound = "aac, opus, none";
constexpr std::array kTakenLess = std::to_array<ParamDoc>(
    {{"container", kSegmentContainers, "Container of the segments"},
     {"vcodec", kSegmentVideo, "Video codec"},
     {"acodec", kSegmentSound, "Audio codec"},
     {"audio", "1 to 64", "Which of the source's sound tracks; the best unless given"},
     {"subtitles", "off", "Text is a rendition of its own anyway"},
     {"crf", "1 to 51 (av1 and vp9: 63), with maxrate", "Constant quality instead of a bit rate"},
     {"unit", "", ""},
     {"qp", "", ""}});

const ParamDoc* TakenLess(std::string_view name) {
  const auto* const found = std::ranges::find(kTakenLess, name, &ParamDoc::name);
  return found == kTakenLess.end() ? nullptr : found;
}

Status CheckSegmentable(const TargetRequest& target) {
  if (target.container && *target.container != Container::kMp4 &&
      *target.container != Container::kTs) {
    return InvalidArgument("container", "Segments have another container.",
                           std::string(kSegmentContainers));
  }
  if (target.vcodec == VideoCodec::kMpeg4) {
    return InvalidArgument("vcodec", "Players of segments do not know MPEG-4 part 2.",
                           std::string(kSegmentVideo));
  }
  if (target.acodec == AudioCodec::kCopy) {
    return InvalidArgument("acodec", "Sound cannot be copied into segments.",
                           std::string(kSegmentSound));
  }
  // FFmpeg, VLC and Shaka play it; hls.js, Apple's and Android's players stay silent or fail.
  if (target.acodec == AudioCodec::kOpus && target.container == Container::kTs) {
    return InvalidArgument("acodec", "Most players of HLS do not know Opus in transport streams.",
                           "aac, none with container=ts; opus with container=mp4");
  }
  if (target.audio.several()) {
    return InvalidArgument("audio", "Playlists have all sound tracks as renditions anyway.",
                           "one track, or nothing");
  }
  if (target.unit_seconds) {
    return InvalidArgument("unit", "The units of segments are the segments.", "segment=SECONDS");
  }
  if (target.subtitles == Subtitles::kCopy) {
    return InvalidArgument("subtitles", "Playlists have the movie's text as renditions anyway.",
                           "nothing");
  }
  if (target.qp) {
    return InvalidArgument("qp", "A playlist states the highest bit rate; a quantiser has none.",
                           "bitrate, or crf with maxrate");
  }
  if (target.crf && !target.maxrate) {
    return InvalidArgument(
        "maxrate", "A playlist states the highest bit rate, so constant quality needs a cap.",
        "maxrate=BITS with crf");
  }
  return OkStatus();
}

// The names of what can be asked for here.
std::string ParamNames() {
  std::string names = "rungs, segment, version";
  for (const ParamDoc& doc : SegmentParams()) names += ", " + std::string(doc.name);
  return names;
}

Status SetTarget(TargetRequest& target, const std::string& name, const std::string& value) {
  Status status = SetParam(target, name, value);
  if (status.ok()) return status;
  Error error = status.error();
  const bool known =
      std::ranges::find(TargetParams(), name, &ParamDoc::name) != TargetParams().end();
  const ParamDoc* const less = TakenLess(name);
  if (!known) {
    error.accepted = ParamNames();
  } else if (less != nullptr && !less->accepted.empty()) {
    error.accepted = less->accepted;
  }
  return error;
}

}  // namespace

std::vector<ParamDoc> SegmentParams() {
  std::vector<ParamDoc> docs;
  for (const ParamDoc& doc : TargetParams()) {
    const ParamDoc* const less = TakenLess(doc.name);
    if (less == nullptr) {
      docs.push_back(doc);
    } else if (!less->accepted.empty()) {
      docs.push_back(*less);
    }
  }
  return docs;
}

bool IsMedia(PartTrack track) {
  return track != PartTrack::kSubtitles && track != PartTrack::kThumbnails &&
         track != PartTrack::kStills;
}

char LetterOf(PartTrack track) {
  switch (track) {
    case PartTrack::kVideo: return 'v';
    case PartTrack::kAudio: return 'a';
    case PartTrack::kSubtitles: return 's';
    case PartTrack::kTimedText: return 'x';
    case PartTrack::kThumbnails: return 't';
    case PartTrack::kIFrames: return 'i';
    case PartTrack::kStills: return 'p';
  }
  return 'v';
}

std::optional<std::int64_t> ParsePlainNumber(std::string_view text) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return ParseDigits(text, 9);
}

Result<PartName> ParsePartName(std::string_view name) {
  PartName part;
  if (name == "master.m3u8") return part;
  if (name == "manifest.mpd") {
    part.kind = PartKind::kManifest;
    return part;
  }
  const auto track = name.empty() ? std::nullopt : TrackOf(name.front());
  if (!track) return NoSuchPart();
  part.track = *track;
  const bool media = IsMedia(part.track);
  name.remove_prefix(1);
  if (CutSuffix(name, ".m3u8")) {
    part.kind = PartKind::kPlaylist;
  } else if (media && CutSuffix(name, "-init.mp4")) {
    part.kind = PartKind::kInit;
  } else {
    const std::size_t dash = name.find('-');
    part.kind = !media && dash == std::string_view::npos ? PartKind::kWhole : PartKind::kSegment;
    if (!CutSuffix(name, SuffixOf(part))) {
      if (!media || !CutSuffix(name, ".ts")) return NoSuchPart();
      part.container = Container::kTs;
    }
    if (part.kind == PartKind::kSegment) {
      if (dash == std::string_view::npos) return NoSuchPart();
      const auto number = ParsePlainNumber(name.substr(dash + 1));
      if (!number) return NoSuchPart();
      part.number = *number;
      name = name.substr(0, dash);
    }
  }
  const auto rendition = ParsePlainNumber(name);
  if (!rendition) return NoSuchPart();
  if (part.track == PartTrack::kStills && part.kind != PartKind::kSegment) return NoSuchPart();
  part.rendition = static_cast<int>(*rendition);
  return part;
}

std::string TextOf(const PartName& part) {
  const std::string track = LetterOf(part.track) + std::to_string(part.rendition);
  switch (part.kind) {
    case PartKind::kMaster: return "master.m3u8";
    case PartKind::kManifest: return "manifest.mpd";
    case PartKind::kPlaylist: return track + ".m3u8";
    case PartKind::kInit: return track + "-init.mp4";
    case PartKind::kWhole: return track + std::string(SuffixOf(part));
    case PartKind::kSegment: break;
  }
  const bool ts = IsMedia(part.track) && part.container == Container::kTs;
  return track + "-" + std::to_string(part.number) + (ts ? ".ts" : std::string(SuffixOf(part)));
}

Result<std::vector<Rung>> ParseRungs(std::string_view text, const std::string& parameter) {
  std::vector<Rung> rungs;
  while (true) {
    const std::size_t end = std::min(text.find(','), text.size());
    const auto rung = ParseRung(text.substr(0, end));
    if (!rung || rungs.size() == kMaxRungs || std::ranges::find(rungs, *rung) != rungs.end()) {
      return InvalidArgument(parameter, "This is no ladder of renditions.",
                             "1 to " + std::to_string(kMaxRungs) +
                                 " different ones, like 1280x720:2500k,640x360:700k");
    }
    rungs.push_back(*rung);
    if (end == text.size()) return rungs;
    text.remove_prefix(end + 1);
  }
}

Result<SegmentRequest> ParseSegmentParams(const RequestParams& params,
                                          const SegmentDefaults& defaults) {
  SegmentRequest request;
  request.segment_seconds = defaults.segment_seconds;
  for (const auto& [name, value] : params) {
    if (name == "rungs") {
      GOPMILL_ASSIGN_OR_RETURN(request.rungs, ParseRungs(value, name));
      request.rungs_given = true;
    } else if (name == "segment") {
      GOPMILL_RETURN_IF_ERROR(SetSegment(value, request.segment_seconds));
    } else if (name == "version") {
      request.version = value;
    } else {
      GOPMILL_RETURN_IF_ERROR(SetTarget(request.target, name, value));
    }
  }
  GOPMILL_RETURN_IF_ERROR(CheckSegmentable(request.target));
  const TargetRequest& target = request.target;
  const bool single = target.width || target.height || target.bitrate || target.crf;
  if (single && request.rungs_given) {
    return InvalidArgument("rungs", "A ladder and a single size or rate exclude each other.",
                           "rungs, or width, height, bitrate and crf");
  }
  if (!single && !request.rungs_given) request.rungs = defaults.ladder;
  return request;
}

std::string QueryFor(const RequestParams& params, std::string_view version) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:,/";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  RequestParams sorted = params;
  std::erase_if(sorted, [](const auto& param) { return param.first == "version"; });
  std::ranges::sort(sorted);
  sorted.emplace_back("version", version);
  std::string query;
  const auto add = [&](std::string_view text) {
    for (const char c : text) {
      if (kPlain.find(c) != std::string_view::npos) {
        query += c;
        continue;
      }
      const auto byte = static_cast<unsigned char>(c);
      query += '%';
      query += kDigits[byte >> 4U];
      query += kDigits[byte & 15U];
    }
  };
  for (const auto& [name, value] : sorted) {
    query += query.empty() ? "?" : "&";
    add(name);
    query += "=";
    add(value);
  }
  return query;
}

}  // namespace gopmill
