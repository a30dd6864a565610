// SPDX-License-Identifier: Apache-2.0
#include "server/stream/explain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/dump_json.h"
#include "codec/audio_transcoder.h"
#include "codec/picture_description.h"
#include "codec/tone_map.h"
#include "codec/video_encoder.h"
#include "media/ingest.h"
#include "server/files/movie_texts.h"
#include "server/stream/movie_analysis.h"
#include "server/stream/plan_json.h"

namespace gopmill {
namespace {

using nlohmann::ordered_json;

// Rough costs of one core of a current server, nanoseconds per pixel: enough to tell seconds from
// minutes. Measured on bundled movies with docs/BENCHMARKS.md's commands.
constexpr double kDecodeNs = 4.0;
constexpr double kContextNs =
    1.7;  // temporal filters, for each picture that they look at on a side
constexpr double kScaleNs = 3.0;

// Passes of quality=best over a unit in the mean, the analysis included.
constexpr double kBestPasses = 3;

double EncodeNs(VideoCodec codec, Preset preset) {
  constexpr std::array<double, 9> kX264{5, 9, 18, 28, 36, 45, 80, 160, 300};
  const double x264 = kX264.at(static_cast<std::size_t>(preset));
  switch (codec) {
    case VideoCodec::kH264: return x264;
    case VideoCodec::kHevc: return x264 * 4;
    case VideoCodec::kAv1: return x264 * 3;
    case VideoCodec::kVp9: return x264 * 5;
    case VideoCodec::kMpeg4: return 8;
  }
  return x264;
}

// Of one core; `analysis` is part of `all`.
struct UnitCost {
  double all = 0, analysis = 0;
};

UnitCost CostOf(const UnitSpec& unit, const StreamPlan& plan) {
  const VideoInfo& video = plan.source->video;
  const double out_frames = static_cast<double>(unit.frame_count());
  const double source_frames = out_frames * video.fps.ToDouble() / plan.grid.fps().ToDouble();
  const double source_pixels = static_cast<double>(video.width) * video.height;
  const double target_pixels = static_cast<double>(plan.target.width) * plan.target.height;
  // A preroll decodes one more GOP, or its leading pictures.
  const auto packets = static_cast<double>(unit.end_packet - unit.first_packet);
  const double decoded = unit.cut == CutKind::kPreroll
                             ? std::clamp(packets, source_frames, 2 * source_frames)
                             : source_frames;
  const auto pass = [&](double encode_ns) {
    return (decoded * source_pixels * kDecodeNs +
            decoded * source_pixels * kContextNs * plan.temporal_context() +
            std::min(source_frames, out_frames) * source_pixels * kScaleNs +
            out_frames * target_pixels * encode_ns) /
           1e9;
  };
  const Target& target = plan.target;
  const double own = pass(EncodeNs(target.vcodec, target.preset));
  if (target.quality != Quality::kBest) return {.all = own};
  const double analysis = target.vcodec == VideoCodec::kH264
                              ? own
                              : pass(EncodeNs(VideoCodec::kH264, Preset::kVeryfast));
  return {.all = (kBestPasses - 1) * own + analysis, .analysis = analysis};
}

std::string_view Name(CutKind cut) {
  switch (cut) {
    case CutKind::kClosed: return "closed";
    case CutKind::kPreroll: return "preroll";
    case CutKind::kChained: return "chained";
  }
  return "closed";
}

bool SameOnAnyCpu(const StreamPlan& plan, const EncoderSpec& encoder) {
  const SourceInfo& source = *plan.source;
  const std::size_t sounds = plan.target.acodec == AudioCodec::kNone ? 0 : source.sounds();
  for (std::size_t i = 0; i < sounds; ++i) {
    if (!AudioCpuIndependent(source.sound(i).codec, plan.target.acodec)) return false;
  }
  return CpuIndependent(plan.target.vcodec) &&
         !ToneMapFor(source.video, encoder.pixel_format).needed();
}

ordered_json PictureJson(const PictureDescription& picture) {
  return {{"pix_fmt", picture.pixel_format}, {"sample_aspect", FractionText(picture.sample_aspect)},
          {"primaries", picture.primaries},  {"transfer", picture.transfer},
          {"matrix", picture.matrix},        {"range", picture.range},
          {"converted", picture.converted},  {"dithered", picture.dithered}};
}

double Round3(double value) { return std::round(value * 1000.0) / 1000.0; }

ordered_json UnitJson(const UnitSpec& unit, const StreamPlan& plan, int home) {
  const double fps = plan.grid.fps().ToDouble();
  return {{"unit", unit.index.value},
          {"first_frame", unit.first_frame},
          {"end_frame", unit.end_frame},
          {"start_s", Round3(static_cast<double>(unit.first_frame) / fps)},
          {"seconds", Round3(static_cast<double>(unit.frame_count()) / fps)},
          {"cut", Name(unit.cut)},
          {"source_bytes", unit.source_bytes},
          {"bitrate", unit.budget_bps},
          {"core_seconds", Round3(CostOf(unit, plan).all)},
          {"home_worker", home}};
}

// Raw frames that one running unit holds: the encoder's lookahead and references, the decoder's
// pictures, and what is decoded ahead.
double WorkerBytes(const StreamPlan& plan, double decode_ahead) {
  constexpr double kEncoderFrames = 24, kDecoderFrames = 12;
  const VideoInfo& video = plan.source->video;
  const double source_frames = kDecoderFrames + 2 * plan.temporal_context();
  return 1.5 * kEncoderFrames * 2 * plan.target.width * plan.target.height +
         1.5 * source_frames * video.width * video.height + decode_ahead;
}

// What was seen of a stream's units.
struct UnitSums {
  ordered_json listed = ordered_json::array();
  std::size_t count = 0;
  double core_seconds = 0, analysis = 0;  // of all; `analysis` is part of it
  double first_unit = 0;                  // seconds of a core, without its analysis
  EndOfSource end;
};

// Reads the source to its end.
Result<UnitSums> SumUnits(Ingest& ingest, const StreamPlan& plan, int home_worker) {
  UnitSums sums;
  while (true) {
    GOPMILL_ASSIGN_OR_RETURN(Ingest::Item item, ingest.Next());
    if (const auto* unit = std::get_if<UnitInput>(&item)) {
      const UnitCost cost = CostOf(unit->spec, plan);
      if (unit->spec.index.value == 0) sums.first_unit = cost.all - cost.analysis;
      sums.core_seconds += cost.all;
      sums.analysis += cost.analysis;
      if (++sums.count > kMaxListedUnits) continue;
      sums.listed.push_back(UnitJson(unit->spec, plan, home_worker));
    } else if (const auto* last = std::get_if<EndOfSource>(&item)) {
      sums.end = *last;
      return sums;
    }
  }
}

ordered_json EstimateJson(const UnitSums& sums, const StreamPlan& plan,
                          const ExplainContext& context, bool analysed, double out_seconds) {
  const double parallel = std::min<double>(context.workers, static_cast<double>(sums.count));
  const double wall = sums.core_seconds / std::max(1.0, parallel);
  // The first byte comes when the whole movie has been measured.
  const double measured = analysed ? sums.analysis / std::max(1.0, parallel) : 0;
  return {{"core_seconds", Round3(sums.core_seconds)},
          {"wall_seconds", Round3(wall)},
          {"speed", Round3(wall > 0 ? out_seconds / wall : 0)},
          {"first_byte_ms", Round3((sums.first_unit + measured) * 1000 + 20)},
          {"memory_bytes", static_cast<std::int64_t>(WorkerBytes(plan, context.decode_ahead_bytes) *
                                                     context.workers)}};
}

}  // namespace

Result<std::string> ExplainJson(UniqueFd source, const TargetRequest& request,
                                const ExplainContext& context, std::stop_token stop) {
  GOPMILL_ASSIGN_OR_RETURN(auto ingest, Ingest::Open(std::move(source), request, std::move(stop)));
  const StreamPlan& plan = *ingest->plan();
  if (plan.target.burn > 0) {
    GOPMILL_RETURN_IF_ERROR(
        CheckTextNumber(plan.target.burn, plan.source->subtitles.size(), context.text_files));
  }
  GOPMILL_ASSIGN_OR_RETURN(const EncoderSpec encoder, MakeEncoderSpec(plan));
  GOPMILL_ASSIGN_OR_RETURN(UnitSums units, SumUnits(*ingest, plan, context.home_worker));
  const EndOfSource& end = units.end;
  if (end.planned_frames == 0) return NothingShown(plan.target);
  const double out_seconds = static_cast<double>(end.planned_frames) / plan.grid.fps().ToDouble();
  const bool analysed = context.readable_again && WantsAnalysis(plan.target);
  ordered_json json{{"source", SourceJson(*plan.source)},
                    {"target", TargetJson(plan.target)},
                    {"adjusted", AdjustmentsJson(ingest->adjustments())},
                    {"frames", end.planned_frames},
                    {"seconds", Round3(out_seconds)},
                    {"truncated", end.truncated},
                    {"timestamps_repaired", end.repaired},
                    {"deinterlaced", Name(plan.deinterlace())},
                    {"temporal_context", plan.temporal_context()},
                    {"tone_mapped", ToneMapFor(plan.source->video, encoder.pixel_format).needed()},
                    {"picture", PictureJson(DescribePictures(plan.source->video, encoder))},
                    {"same_bytes_on_any_cpu", SameOnAnyCpu(plan, encoder)}};
  // Then the units' rates are those that they would have without it.
  json["analysed_first"] = analysed;
  json["estimate"] = EstimateJson(units, plan, context, analysed, out_seconds);
  json["workers"] = context.workers;
  json["policy"] = context.policy;
  json["units_left_out"] = units.count - units.listed.size();
  json["units"] = std::move(units.listed);
  return DumpJson(json, 2);
}

}  // namespace gopmill
