// SPDX-License-Identifier: Apache-2.0
#include "media/segment_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "media/decode_entries.h"
#include "media/unit_planner.h"

namespace gopmill {
namespace {

// Part of the length by which a border may move to a place of random access.
constexpr double kSnap = 0.25;
constexpr double kMinWeight = 0.6;
// How strongly a segment's share of the bits follows its share of the source's bytes.
constexpr double kComplexityExponent = 0.4;

// Output frames at which the source can be decoded from scratch, ascending.
std::vector<std::int64_t> AccessFrames(const SourceIndex& index, const OutputGrid& grid) {
  std::vector<std::int64_t> frames;
  for (const SourceIndex::Video& packet : index.video) {
    if (packet.access == RandomAccess::kClosed && !packet.hidden)
      frames.push_back(grid.FirstFrameShowing(packet.pts));
  }
  std::ranges::sort(frames);
  return frames;
}

std::int64_t Snap(const std::vector<std::int64_t>& access, std::int64_t ideal,
                  std::int64_t tolerance) {
  const auto above = std::ranges::lower_bound(access, ideal);
  std::int64_t best = ideal, distance = tolerance + 1;
  if (above != access.end() && *above - ideal < distance) {
    best = *above;
    distance = *above - ideal;
  }
  if (above != access.begin() && ideal - *std::prev(above) < distance) best = *std::prev(above);
  return best;
}

// For each of `times`, ascending, the most that `value` tells of a packet that is shown at or
// before it (`least` without any). `value` gives nothing for packets that do not count.
template <class Value>
std::vector<std::int64_t> MostUpTo(const SourceIndex& index, const std::vector<SourceTicks>& times,
                                   std::int64_t least, Value value) {
  std::vector<std::int64_t> most(times.size(), least);
  for (std::size_t n = 0; n < index.video.size(); ++n) {
    const auto at = std::ranges::lower_bound(times, index.video[n].pts) - times.begin();
    const std::optional<std::int64_t> one = value(n);
    if (!one || at == std::ssize(times)) continue;
    auto& most_here = most[static_cast<std::size_t>(at)];
    most_here = std::max(most_here, *one);
  }
  for (std::size_t k = 1; k < most.size(); ++k) most[k] = std::max(most[k], most[k - 1]);
  return most;
}

// Where decoding begins for what is shown at each of the times, ascending.
std::vector<DecodeEntry> EntriesAt(const SourceIndex& index, const std::vector<SourceTicks>& times,
                                   int context) {
  const auto pts_of = [&](std::size_t n) {
    const SourceIndex::Video& packet = index.video[n];
    return packet.hidden ? std::nullopt : std::optional(packet.pts);
  };
  const SourceTicks first = index.video.empty() ? 0 : index.video.front().pts;
  const std::vector<SourceTicks> shown = MostUpTo(index, times, first, pts_of);
  std::vector<ShownTime> of_each;
  of_each.reserve(times.size());
  for (std::size_t k = 0; k < times.size(); ++k) of_each.push_back({times[k], shown[k]});
  return DecodeEntries(index, of_each, context);
}

// Behind the last packet that is shown at or before each of the times, ascending.
std::vector<std::int64_t> EndsAt(const SourceIndex& index, const std::vector<SourceTicks>& until) {
  const auto end_of = [&](std::size_t n) {
    return index.video[n].hidden ? std::nullopt : std::optional(static_cast<std::int64_t>(n) + 1);
  };
  return MostUpTo(index, until, 0, end_of);
}

// Packets behind the last one that is shown. Decoding goes on for one picture, so that the last one
// wanted is known to be the last: it comes at once where the decoder is drained then, else behind
// some more. Or until those that filters look at must have come.
std::int64_t MoreBehind(const SourceIndex& index, bool ends_run, int context) {
  const bool reorders = !index.source || index.source->video.has_b_frames;
  if (context > 0) return (reorders ? kReorderSlack : 0) + context;
  return ends_run ? 1 : kReorderSlack;
}

// Of all packets up to those that the segments show last: where their runs end, and where they go
// on. `ends`: behind the last packet that each shows.
void EndRuns(const SourceIndex& index, const std::vector<std::int64_t>& ends, int context,
             std::vector<SegmentSpan>& spans) {
  const auto count = static_cast<std::int64_t>(index.video.size());
  for (std::size_t k = spans.size(); k-- > 0;) {
    SegmentSpan& span = spans[k];
    const SegmentSpan* next = k + 1 < spans.size() ? &spans[k + 1] : nullptr;
    span.ends_run = next == nullptr || context > 0 || next->first_packet != span.first_packet;
    span.end_packet = std::min(
        std::max(ends[k], span.first_packet) + MoreBehind(index, span.ends_run, context), count);
    if (span.ends_run) continue;
    // Not beyond what the run needs: the last one of it has less to wait for.
    span.end_packet = std::min(span.end_packet, next->end_packet);
    span.run_fed = span.end_packet == next->end_packet && (next->ends_run || next->run_fed);
  }
}

// Without source_bytes.
UnitSpec UnitOf(const SegmentGrid& segments, const SegmentSpan& span, std::int64_t number,
                std::int64_t budget_bps) {
  const auto k = static_cast<std::size_t>(number);
  return {.index = UnitIndex{number},
          .first_frame = segments.borders[k],
          .end_frame = segments.borders[k + 1],
          .first_packet = span.first_packet,
          .end_packet = span.end_packet,
          .cut = span.preroll ? CutKind::kPreroll : CutKind::kClosed,
          .ends_run = span.ends_run,
          .run_fed = span.run_fed,
          .end_pts = span.end_pts,
          .budget_bps = budget_bps};
}

// Of units that may have packets together: each packet is looked at once.
void CountBytes(const SourceIndex& index, std::vector<UnitSpec>& units) {
  std::int64_t first = std::ssize(index.video), end = 0;
  for (const UnitSpec& unit : units) {
    first = std::min(first, unit.first_packet);
    end = std::max(end, unit.end_packet);
  }
  std::vector<std::int64_t> before{0};  // of the packets from `first` on, in front of each
  for (std::int64_t n = first; n < end; ++n) {
    before.push_back(before.back() + index.video[static_cast<std::size_t>(n)].bytes);
  }
  for (UnitSpec& unit : units) {
    if (unit.end_packet <= unit.first_packet) continue;
    unit.source_bytes = before[static_cast<std::size_t>(unit.end_packet - first)] -
                        before[static_cast<std::size_t>(unit.first_packet - first)];
  }
}

}  // namespace

SegmentGrid CutSegments(const SourceIndex& index, const OutputGrid& grid, double seconds,
                        std::int64_t frames) {
  SegmentGrid segments{.fps = grid.fps(), .borders = {0}};
  const auto length = std::max<std::int64_t>(1, std::llround(seconds * grid.fps().ToDouble()));
  const auto tolerance = static_cast<std::int64_t>(static_cast<double>(length) * kSnap);
  const auto tail = static_cast<std::int64_t>(static_cast<double>(length) * kShortestTail);
  const std::vector<std::int64_t> access = AccessFrames(index, grid);
  for (std::int64_t ideal = length; ideal < frames; ideal += length) {
    const std::int64_t border = Snap(access, ideal, tolerance);
    if (border >= frames - tail) break;
    if (border > segments.borders.back()) segments.borders.push_back(border);
  }
  segments.borders.push_back(std::max<std::int64_t>(frames, 1));
  return segments;
}

std::vector<std::int64_t> SegmentBudgets(const SourceIndex& index, const OutputGrid& grid,
                                         const SegmentGrid& segments, std::int64_t bitrate) {
  const auto count = static_cast<std::size_t>(segments.count());
  std::vector<double> bytes(count, 0), seconds(count, 0), weight(count, 1);
  for (const SourceIndex::Video& packet : index.video) {
    if (packet.hidden) continue;
    const std::int64_t frame = grid.FirstFrameShowing(packet.pts);
    const auto above = std::ranges::upper_bound(segments.borders, frame);
    const auto k = static_cast<std::size_t>(
        std::clamp<std::int64_t>(above - segments.borders.begin() - 1, 0, segments.count() - 1));
    bytes[k] += packet.bytes;
  }
  double total_seconds = 0, weighted = 0;
  for (std::size_t k = 0; k < count; ++k) {
    seconds[k] = static_cast<double>(segments.borders[k + 1] - segments.borders[k]) /
                 segments.fps.ToDouble();
    total_seconds += seconds[k];
  }
  const double mean = std::accumulate(bytes.begin(), bytes.end(), 0.0) / total_seconds;
  for (std::size_t k = 0; k < count; ++k) {
    if (mean > 0) weight[k] = std::pow(bytes[k] / seconds[k] / mean, kComplexityExponent);
    weight[k] = std::clamp(weight[k], kMinWeight, kMaxSegmentWeight);
    weighted += weight[k] * seconds[k];
  }
  std::vector<std::int64_t> budgets(count);
  const double scale = static_cast<double>(bitrate) * total_seconds / weighted;
  for (std::size_t k = 0; k < count; ++k) {
    const double most = static_cast<double>(bitrate) * kMaxSegmentWeight;
    budgets[k] = std::max<std::int64_t>(1000, std::llround(std::min(scale * weight[k], most)));
  }
  return budgets;
}

std::vector<SegmentSpan> SegmentSpans(const SourceIndex& index, const OutputGrid& grid,
                                      const SegmentGrid& segments, int context) {
  const auto count = static_cast<std::size_t>(segments.count());
  std::vector<SourceTicks> begins, until;
  for (std::size_t k = 0; k < count; ++k) begins.push_back(grid.LatestPts(segments.borders[k]));
  const std::vector<DecodeEntry> entries = EntriesAt(index, begins, context);
  std::vector<SegmentSpan> spans;
  spans.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    spans.push_back({.first_packet = entries[k].packet, .preroll = entries[k].preroll});
    until.push_back(grid.LatestPts(segments.borders[k + 1] - 1));
    if (k + 1 == count || index.video.empty()) continue;
    const DecodeEntry& next = entries[k + 1];
    const SourceTicks begin = index.video[static_cast<std::size_t>(next.packet)].pts;
    // Who goes on with the run has the pictures in between.
    const bool shared = context == 0 && next.packet == entries[k].packet;
    if (next.preroll || shared || begin <= until[k]) continue;
    spans[k].end_pts = begin;
    until[k] = begin - 1;
  }
  EndRuns(index, EndsAt(index, until), context, spans);
  return spans;
}

UnitSpec SegmentUnit(const SourceIndex& index, const SegmentGrid& segments, const SegmentSpan& span,
                     std::int64_t number, std::int64_t budget_bps) {
  UnitSpec unit = UnitOf(segments, span, number, budget_bps);
  for (std::int64_t n = unit.first_packet; n < unit.end_packet; ++n) {
    unit.source_bytes += index.video[static_cast<std::size_t>(n)].bytes;
  }
  return unit;
}

std::vector<UnitSpec> FramesUnits(const SourceIndex& index, const OutputGrid& grid,
                                  const std::vector<FrameRange>& frames, std::int64_t budget_bps,
                                  int context) {
  std::vector<SourceTicks> begins, until;
  for (const FrameRange& range : frames) {
    begins.push_back(grid.LatestPts(range.first));
    until.push_back(grid.LatestPts(range.end - 1));
  }
  const std::vector<DecodeEntry> entries = EntriesAt(index, begins, context);
  const std::vector<std::int64_t> ends = EndsAt(index, until);
  std::vector<UnitSpec> units;
  units.reserve(frames.size());
  for (std::size_t k = 0; k < frames.size(); ++k) {
    std::vector<SegmentSpan> alone{
        {.first_packet = entries[k].packet, .preroll = entries[k].preroll}};
    EndRuns(index, {ends[k]}, context, alone);
    const SegmentGrid one{.fps = grid.fps(), .borders = {frames[k].first, frames[k].end}};
    units.push_back(UnitOf(one, alone.front(), 0, budget_bps));
  }
  CountBytes(index, units);
  return units;
}

UnitSpec FramesUnit(const SourceIndex& index, const OutputGrid& grid, FrameRange frames,
                    std::int64_t budget_bps, int context) {
  return FramesUnits(index, grid, {frames}, budget_bps, context).front();
}

std::int64_t AudioGrid::TimeOf(std::int64_t packet) const {
  return std::min(packet * frame_size - priming, samples);
}

AudioGrid CutAudio(const SegmentGrid& video, double seconds, int rate, int frame_size, int priming,
                   std::int64_t samples) {
  AudioGrid grid{.rate = rate,
                 .frame_size = frame_size,
                 .priming = priming,
                 .samples = samples,
                 .borders = {0}};
  const std::int64_t packets = (samples + priming + frame_size - 1) / frame_size;
  const auto add = [&](double at) {
    const auto sample = static_cast<std::int64_t>(std::ceil(at * rate - 1e-6));
    const std::int64_t packet = (sample + priming + frame_size - 1) / frame_size;
    // A rest of less than a packet or two is no segment of its own.
    if (packet + 1 >= packets) return false;
    if (packet > grid.borders.back()) grid.borders.push_back(packet);
    return true;
  };
  const double fps = video.fps.ToDouble();
  bool more = true;
  for (std::size_t k = 1; more && k + 1 < video.borders.size(); ++k) {
    more = add(static_cast<double>(video.borders[k]) / fps);
  }
  const double end = static_cast<double>(video.frames()) / fps;
  const double audio_end = static_cast<double>(samples) / rate;
  // What little lies behind the last picture belongs to the last segment.
  if (more && audio_end > end + seconds * kShortestTail) {
    for (double at = end; more; at += seconds) more = add(at);
  }
  grid.borders.push_back(packets);
  return grid;
}

}  // namespace gopmill
