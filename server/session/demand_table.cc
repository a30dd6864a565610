// SPDX-License-Identifier: Apache-2.0
#include "server/session/demand_table.h"

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

// A high dynamic range that becomes one of eight bits costs more than all else; which it does is a
// matter of both depths.
std::string KindOf(const StreamPlan& plan) {
  const VideoInfo& source = plan.source->video;
  const Target& target = plan.target;
  return fmt::format("{} {}x{} {} {} * {} > {} {} {}x{} {} {} {} {} {} {} {}", source.codec,
                     source.width, source.height, source.bit_depth, IsHdr(*source.parameters),
                     std::lround(DecodedPerFrame(plan)), static_cast<int>(target.vcodec),
                     static_cast<int>(target.profile), target.width, target.height,
                     static_cast<int>(target.preset), static_cast<int>(target.quality),
                     static_cast<int>(target.denoise), static_cast<int>(target.degrain),
                     static_cast<int>(plan.deinterlace()), target.b_frames,
                     plan.texts.script != nullptr);
}

double EncodedPixels(const StreamPlan& plan) {
  return static_cast<double>(plan.target.width) * plan.target.height;
}

// Pixels that are encoded for one output frame, with those that are decoded for it.
double PixelsPerFrame(const StreamPlan& plan) {
  const VideoInfo& source = plan.source->video;
  return EncodedPixels(plan) + kDecodeWeight * DecodedPerFrame(plan) * source.width * source.height;
}

}  // namespace

// What there was before the first whole unit makes up for what is missing of one.
void DemandTable::Mean::Add(double newest, double whole) {
  seen += whole;
  value += whole / std::clamp(seen, 1.0, kMeanUnits) * (newest - value);
}

Duration DemandTable::FrameTime(const StreamPlan& plan, bool decodes) const {
  const auto found = nanos_.find(KindOf(plan));
  const double nanos =
      found != nanos_.end() ? found->second.value : PixelsPerFrame(plan) * per_pixel_.value;
  const double part = decodes ? 1 : EncodedPixels(plan) / std::max(1.0, PixelsPerFrame(plan));
  return FromSeconds(part * nanos * 1e-9);
}

void DemandTable::Learn(const StreamPlan& plan, Duration cpu, Duration opening,
                        std::int64_t frames) {
  const double nanos = std::max(0.0, Nanos(cpu - opening)) / static_cast<double>(frames);
  const double pixels = std::max(1.0, PixelsPerFrame(plan));
  const double seconds = static_cast<double>(frames) / plan.target.fps.ToDouble();
  const double whole = std::min(1.0, seconds / kWholeSeconds);
  const std::string kind = KindOf(plan);
  auto found = nanos_.find(kind);
  if (found == nanos_.end()) {
    if (nanos_.size() >= kMaxDemandKinds) nanos_.erase(nanos_.begin());
    found = nanos_.try_emplace(kind, Mean{.value = pixels * per_pixel_.value}).first;
  }
  found->second.Add(nanos, whole);
  per_pixel_.Add(nanos / pixels, whole);
  if (opening > Duration::zero()) opening_ns_ += (Nanos(opening) - opening_ns_) / kMeanUnits;
}

}  // namespace gopmill
