// SPDX-License-Identifier: Apache-2.0
#include "server/stream/demand_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "media/hdr_metadata.h"

namespace gopmill {
namespace {

// The mean is of so many units; contents change, kinds stay. One counts less if it is shorter than
// half a second: pieces of GOPs differ much, and the only frame of a unit may cost ten times what
// one among others does.
constexpr double kMeanUnits = 8, kWholeSeconds = 0.5;

double Nanos(Duration d) { return std::chrono::duration<double, std::nano>(d).count(); }

// Source pictures for one output frame.
double DecodedPerFrame(const StreamPlan& plan) {
  const double fps = plan.target.fps.ToDouble();
  const Rational source_fps = plan.source->video.fps;
  return source_fps.valid() && fps > 0 ? source_fps.ToDouble() / fps : 1;
}

// Of what is decoded, and how much of it for one output frame.
std::string DecodingOf(const StreamPlan& plan) {
  const VideoInfo& source = plan.source->video;
  return fmt::format("{} {}x{} {} * {}", source.codec, source.width, source.height,
                     source.bit_depth, std::lround(DecodedPerFrame(plan)));
}

// A high dynamic range that becomes one of eight bits costs more than all else; which it does is a
// matter of both depths.
std::string MakingOf(const StreamPlan& plan) {
  const Target& target = plan.target;
  return fmt::format("{} {} > {} {} {}x{} {} {} {} {} {} {} {}", DecodingOf(plan),
                     IsHdr(*plan.source->video.parameters), static_cast<int>(target.vcodec),
                     static_cast<int>(target.profile), target.width, target.height,
                     static_cast<int>(target.preset), static_cast<int>(target.quality),
                     static_cast<int>(target.denoise), static_cast<int>(target.degrain),
                     static_cast<int>(plan.deinterlace()), target.b_frames,
                     plan.texts.script != nullptr);
}

double EncodedPixels(const StreamPlan& plan) {
  return std::max(1.0, static_cast<double>(plan.target.width) * plan.target.height);
}

// For one output frame.
double DecodedPixels(const StreamPlan& plan) {
  const VideoInfo& source = plan.source->video;
  return std::max(1.0, DecodedPerFrame(plan) * source.width * source.height);
}

}  // namespace

// What there was before the first whole unit makes up for what is missing of one.
void DemandTable::Mean::Add(double newest, double whole) {
  seen += whole;
  value += whole / std::clamp(seen, 1.0, kMeanUnits) * (newest - value);
}

double DemandTable::Costs::Of(const std::string& kind, double pixels) const {
  const auto found = kinds_.find(kind);
  return found != kinds_.end() ? found->second.mean.value : pixels * per_pixel_.value;
}

void DemandTable::Costs::Learn(const std::string& kind, double pixels, double nanos, double whole) {
  auto found = kinds_.find(kind);
  if (found == kinds_.end()) {
    if (kinds_.size() >= kMaxDemandKinds) {
      kinds_.erase(std::ranges::min_element(
          kinds_, {}, [](const auto& entry) { return entry.second.learned; }));
    }
    found = kinds_.try_emplace(kind, Kind{.mean = {.value = pixels * per_pixel_.value}}).first;
  }
  found->second.mean.Add(nanos, whole);
  found->second.learned = ++units_;
  per_pixel_.Add(nanos / pixels, whole);
}

Duration DemandTable::FrameTime(const StreamPlan& plan, bool decodes) const {
  double nanos = making_.Of(MakingOf(plan), EncodedPixels(plan));
  if (decodes) nanos += decoding_.Of(DecodingOf(plan), DecodedPixels(plan));
  return FromSeconds(nanos * 1e-9);
}

void DemandTable::Learn(const StreamPlan& plan, const UnitCost& cost) {
  const auto frames = static_cast<double>(cost.frames);
  const double whole = std::min(1.0, frames / plan.target.fps.ToDouble() / kWholeSeconds);
  const auto per_frame = [&](Duration all) { return std::max(0.0, Nanos(all)) / frames; };
  const double within = cost.decoding_within * decoding_.Of(DecodingOf(plan), DecodedPixels(plan));
  making_.Learn(MakingOf(plan), EncodedPixels(plan), std::max(0.0, per_frame(cost.making) - within),
                whole);
  if (cost.decoding) {
    decoding_.Learn(DecodingOf(plan), DecodedPixels(plan), per_frame(*cost.decoding), whole);
  }
  if (cost.opening > Duration::zero()) {
    opening_ns_ += (Nanos(cost.opening) - opening_ns_) / kMeanUnits;
  }
}

}  // namespace gopmill
