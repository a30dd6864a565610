// SPDX-License-Identifier: Apache-2.0
#include "server/segments/rendition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "media/codec_string.h"
#include "media/output_size.h"
#include "media/resolve_target.h"
#include "media/segment_muxer.h"

namespace gopmill {
namespace {

// The cap of a rendition's bit rate where the client names none. Budgets stay below it
// (kMaxSegmentWeight), so that few segments have to be encoded twice.
constexpr double kPeakOverMean = 1.7;

// Bytes that a container adds in a second.
double Overhead(const ContainerLoad& load) {
  constexpr double kFragment = 300, kSample = 16;  // moof and mdat; a row of trun
  constexpr double kTables = 6000, kPacket = 188 + 30, kSegment = 2000;  // PAT, PMT, PCR; padding
  return load.container == Container::kTs
             ? kTables + kPacket * load.packets_per_second + kSegment * load.fragments_per_second
             : kFragment * load.fragments_per_second + kSample * load.packets_per_second;
}

Result<RenditionTarget> Resolve(TargetRequest wanted, const RenditionCut& cut,
                                const SourceInfo& source) {
  wanted.unit_seconds = cut.unit_seconds;
  if (!wanted.crf && !wanted.maxrate) {
    GOPMILL_ASSIGN_OR_RETURN(const ResolvedTarget plain, ResolveTarget(wanted, source));
    const double cap = static_cast<double>(plain.target.bitrate) * kPeakOverMean;
    wanted.bitrate = plain.target.bitrate;
    wanted.maxrate = std::llround(cap);
    if (!wanted.bufsize) wanted.bufsize = std::llround(cap * cut.buffer_seconds);
  }
  GOPMILL_ASSIGN_OR_RETURN(ResolvedTarget resolved, ResolveTarget(wanted, source));
  return RenditionTarget{std::move(wanted), std::move(resolved.target)};
}

// A size in whole pixels.
struct Shown {
  int width = 0, height = 0;
};

Shown ShownSize(const VideoInfo& video, int rotate) {
  const DisplaySize size = DisplaySizeOf(video, rotate);
  // A file may state any shape of its pixels.
  const auto side = [](Rational length) {
    return static_cast<int>(
        std::clamp(std::ceil(length.ToDouble()), double{kMinSide}, double{kMaxSide}));
  };
  return {side(size.width), side(size.height)};
}

// What the server's ladder leaves out.
bool IsLarger(const Rung& box, Shown shown) {
  return box.width > shown.width && box.height > shown.height;
}

// By how much the largest rendition is smaller than the picture; 1 = it is not.
double LargestScale(const std::vector<Rung>& ladder, Shown shown) {
  double largest = 0;
  for (const Rung& box : ladder) {
    if (IsLarger(box, shown)) continue;
    largest = std::max(largest, std::min(static_cast<double>(box.width) / shown.width,
                                         static_cast<double>(box.height) / shown.height));
  }
  return largest == 0 ? 1 : std::min(largest, 1.0);  // the last one gets the picture's own size
}

// The ladder is written for wide pictures. For a tall one it is laid on its side if that leaves
// more of it: 1080x1920 in 1920x1080 would be 608x1080.
std::vector<Rung> LadderFor(const SegmentRequest& request, Shown shown) {
  const bool boxes = request.target.fit.value_or(Fit::kFit) == Fit::kFit;  // not the very sizes
  if (!boxes || shown.height <= shown.width) return request.rungs;
  std::vector<Rung> turned = request.rungs;
  for (Rung& rung : turned) std::swap(rung.width, rung.height);
  const bool more = LargestScale(turned, shown) > LargestScale(request.rungs, shown);
  return more ? turned : request.rungs;
}

}  // namespace

Status Describe(SegmentTrack& track) {
  GOPMILL_ASSIGN_OR_RETURN(track.init, MakeInitSegment(track.mux, track.lead));
  GOPMILL_ASSIGN_OR_RETURN(track.codecs, CodecString(track.init));
  GOPMILL_ASSIGN_OR_RETURN(track.timescale, TrackTimescale(track.init));
  if (track.mux.kind == TrackKind::kVideo) track.range = DynamicRangeOf(*track.mux.parameters);
  if (track.mux.kind == TrackKind::kAudio) {
    track.channels = ChannelConfigurationOf(*track.mux.parameters);
  }
  return OkStatus();
}

CaptionsState CaptionsStateOf(const VideoInfo& source, VideoCodec codec) {
  if (codec != VideoCodec::kH264) return CaptionsState::kNone;
  return source.captions ? CaptionsState::kCarried : CaptionsState::kUnknown;
}

Result<std::vector<RenditionTarget>> ResolveRenditions(const SegmentRequest& request,
                                                       const RenditionCut& cut,
                                                       const SourceInfo& source) {
  std::vector<RenditionTarget> targets;
  if (request.rungs.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(RenditionTarget target, Resolve(request.target, cut, source));
    targets.push_back(std::move(target));
    return targets;
  }
  const Shown shown = ShownSize(source.video, request.target.rotate.value_or(0));
  const std::vector<Rung> rungs = request.rungs_given ? request.rungs : LadderFor(request, shown);
  for (const Rung& rung : rungs) {
    const bool last = &rung == &rungs.back();
    const bool shrinks = !request.rungs_given && IsLarger(rung, shown);
    if (shrinks && !(last && targets.empty())) continue;
    TargetRequest wanted = request.target;
    wanted.width = shrinks ? shown.width : rung.width;
    wanted.height = shrinks ? shown.height : rung.height;
    wanted.bitrate = rung.bitrate;
    GOPMILL_ASSIGN_OR_RETURN(RenditionTarget target, Resolve(wanted, cut, source));
    targets.push_back(std::move(target));
  }
  return targets;
}

std::size_t SmallestOf(const std::vector<RenditionTarget>& renditions) {
  const auto pixels = [](const RenditionTarget& rendition) {
    return std::int64_t{rendition.target.width} * rendition.target.height;
  };
  return static_cast<std::size_t>(std::ranges::min_element(renditions, {}, pixels) -
                                  renditions.begin());
}

std::int64_t WithOverhead(double bps, const ContainerLoad& load) {
  const double headers = load.container == Container::kTs ? 188.0 / 184.0 : 1.0;
  return std::llround(std::ceil(bps * headers + 8 * Overhead(load)));
}

}  // namespace gopmill
