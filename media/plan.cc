// SPDX-License-Identifier: Apache-2.0
#include "media/plan.h"

#include <algorithm>
#include <cmath>

#include "base/status.h"

namespace gopmill {
using internal::FloorDiv;

OutputGrid::OutputGrid(Rational fps, Rational source_fps, Rational source_time_base,
                       SourceTicks origin, bool live)
    : fps_(fps.Reduced()), tick_(source_time_base.Reduced()), origin_(origin) {
  GOPMILL_CHECK(fps_.positive() && tick_.positive());
  const Rational fastest =
      source_fps.positive() ? std::max(fps_, source_fps.Reduced(), std::less<>()) : fps_;
  // A quarter of the shorter frame interval, in source ticks.
  const Rational quarter = Rational{fastest.den * tick_.den, 4 * fastest.num * tick_.num}.Reduced();
  constexpr double kEqual = 0.01;
  const bool equal =
      source_fps.positive() && std::abs(fps_.ToDouble() / source_fps.ToDouble() - 1) < kEqual;
  strict_ = live ? quarter : std::min(quarter, Rational{1, 1});
  epsilon_ = !live && equal ? Rational{quarter.num * 2, quarter.den}.Reduced() : strict_;
}

OutputGrid OutputGrid::CountedFrom(std::int64_t frame) const {
  OutputGrid grid = *this;
  grid.first_ += frame;
  return grid;
}

SourceTicks OutputGrid::LatestPts(std::int64_t n) const {
  const internal::Int128 ticks_num =
      static_cast<internal::Int128>(n + first_) * fps_.den * tick_.den * epsilon_.den +
      static_cast<internal::Int128>(epsilon_.num) * fps_.num * tick_.num;
  const internal::Int128 ticks_den =
      static_cast<internal::Int128>(fps_.num) * tick_.num * epsilon_.den;
  return origin_ + static_cast<SourceTicks>(FloorDiv(ticks_num, ticks_den));
}

std::int64_t OutputGrid::FirstFrameShowing(SourceTicks pts) const {
  return FirstFrame({pts, 1}, epsilon_);
}

std::int64_t OutputGrid::FirstFrame(Rational pts, Rational epsilon) const {
  const internal::Int128 since_origin = pts.num - static_cast<internal::Int128>(origin_) * pts.den;
  const internal::Int128 num =
      (since_origin * epsilon.den - static_cast<internal::Int128>(epsilon.num) * pts.den) *
      fps_.num * tick_.num;
  const internal::Int128 den =
      static_cast<internal::Int128>(fps_.den) * tick_.den * epsilon.den * pts.den;
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(-FloorDiv(-num, den)) - first_);
}

std::int64_t OutputGrid::FirstFrameAt(std::int64_t source_ms) const {
  std::int64_t n = Rescale(1000 * source_ms - SourceMicros(0), kMicros, fps_.Inverse()) - 1;
  while (SourceMicros(n) / 1000 < source_ms) ++n;
  return n;
}

std::int64_t OutputGrid::FrameCount(SourceTicks end) const { return FirstFrameShowing(end); }

std::int64_t OutputGrid::FramesBefore(Rational time) const {
  const auto ticks = internal::Narrowed(static_cast<internal::Int128>(time.num) * tick_.den,
                                        static_cast<internal::Int128>(time.den) * tick_.num);
  return FirstFrame(ticks, strict_);
}

Deinterlace DeinterlaceOf(const VideoInfo& video, const Target& target) {
  const bool needless = target.deinterlace == Deinterlace::kAuto && !video.interlaced;
  return needless ? Deinterlace::kOff : target.deinterlace;
}

SourceClip StreamPlan::TextClip() const {
  SourceClip clip = ClipOf(target);
  clip.start_us += text_shift_us;
  if (clip.end_us != SourceClip().end_us) clip.end_us += text_shift_us;
  return clip;
}

Error NothingShown(const Target& target) {
  if (target.start.positive()) {  // sound may be longer than pictures are
    return InvalidArgument("start", "The source has no picture from there on.",
                           "an earlier one, or a longer duration");
  }
  if (target.duration.valid()) {
    return InvalidArgument("duration", "No picture begins in so short a part of the source.",
                           "a longer one");
  }
  return {.code = Code::kCorrupt,
          .message = "The source has no picture with a time at which it could be shown."};
}

int TemporalContext(const VideoInfo& video, const Target& target) {
  return (DeinterlaceOf(video, target) == Deinterlace::kOff ? 0 : 1) +
         TemporalRadius(target.degrain);
}

std::shared_ptr<const StreamPlan> PlanCodedAs(std::shared_ptr<const StreamPlan> plan,
                                              const std::shared_ptr<const SourceInfo>& coded) {
  if (coded == nullptr || coded == plan->source) return plan;
  auto other = std::make_shared<StreamPlan>(*plan);
  other->source = coded;
  return other;
}

}  // namespace gopmill
