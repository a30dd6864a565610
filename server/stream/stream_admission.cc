// SPDX-License-Identifier: Apache-2.0
#include "server/stream/stream_admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "media/unit_planner.h"

namespace gopmill {
namespace {

// A stream's need is what it took over about so much of its time: long enough to even out scenes.
constexpr double kMeasuredSeconds = 10;
// How long units are taken to be where the plan does not say.
constexpr double kUnitSeconds = 1;

// A picture of the same shape that costs what is free, in words.
std::string WhatFits(const StreamPlan& plan, double free, double needed) {
  if (free <= 0 || needed <= 0) return "nothing in this class at the moment";
  const double side = std::sqrt(free / needed);
  const auto even = [side](int n) { return std::max(2, static_cast<int>(n * side) / 2 * 2); };
  return fmt::format(
      "about {}x{} at {:g} frames per second, or {:.0f} frames per second of this size",
      even(plan.target.width), even(plan.target.height), plan.target.fps.ToDouble(),
      std::max(1.0, plan.target.fps.ToDouble() * free / needed));
}

Error Behind() {
  return {.code = Code::kUnavailable,
          .message = "The machine does not keep up with the live streams it has.",
          .accepted =
              "nothing until they keep up, some have ended, or nothing was published to them "
              "for some seconds; try again then"};
}

}  // namespace

StreamAdmission::StreamAdmission(std::vector<ServiceClass> classes, int workers, double promise)
    : on_(promise > 0), workers_(workers), admission_(std::move(classes), workers, promise) {}

void StreamAdmission::SetWorkers(int workers) {
  const MutexLock lock(mutex_);
  workers_ = workers;
  admission_.SetWorkers(workers);
}

// One stream may be too much for the worker that has it while others are free. Those that were
// degraded and have fallen silent count on neither side.
bool StreamAdmission::DoesNotKeepUp(TimePoint now) const {
  const auto degraded = static_cast<std::size_t>(
      std::ranges::count_if(degraded_, [now](const auto& entry) { return entry.second >= now; }));
  const std::size_t few = workers_ > 1 ? 2 : 1;
  const std::size_t silent = degraded_.size() - degraded;
  return degraded >= few && 2 * degraded + silent >= running_.size();
}

StreamNeed StreamAdmission::NeedOf(const StreamPlan& plan, std::uint16_t service_class,
                                   bool real_time, bool decodes) const {
  const double cores = ToSeconds(demand_.FrameTime(plan, decodes)) * plan.target.fps.ToDouble();
  double unit = plan.target.unit_seconds > 0 ? plan.target.unit_seconds : kUnitSeconds;
  if (plan.low_delay) unit = kLivePieceSeconds;
  return {.service_class = service_class,
          .real_time = real_time,
          .cores = cores,
          .unit_time = FromSeconds(cores * unit),
          .opening = demand_.Opening()};
}

Status StreamAdmission::Admit(StreamId stream, const StreamPlan& plan, std::uint16_t service_class,
                              bool real_time, TimePoint now, bool decodes) {
  if (!on_) return OkStatus();
  const MutexLock lock(mutex_);
  if (running_.contains(stream)) return OkStatus();  // GoOn
  if (real_time && DoesNotKeepUp(now)) {
    ++refused_;
    return Behind();
  }
  const StreamNeed need = NeedOf(plan, service_class, real_time, decodes);
  Status admitted = admission_.Admit(stream, need);
  if (admitted.ok()) {
    if (real_time) running_[stream] = {};
    return admitted;
  }
  ++refused_;
  Error error = admitted.error();
  const double free = admission_.FreeFor(service_class);
  if (real_time && need.cores > free) error.accepted += ": " + WhatFits(plan, free, need.cores);
  return error;
}

Result<std::size_t> StreamAdmission::LeavesOut(std::span<const StreamPlan> plans,
                                               std::uint16_t service_class, bool all,
                                               TimePoint now) {
  if (!on_ || plans.empty()) return std::size_t{0};
  const MutexLock lock(mutex_);
  if (DoesNotKeepUp(now)) {
    ++refused_;
    return Behind();
  }
  const double free = admission_.FreeFor(service_class);
  double encoding = 0, needed = 0, least = 0;
  std::size_t fit = 0;
  Status in_time;                                    // of all so far
  for (std::size_t n = 1; n <= plans.size(); ++n) {  // of the smallest
    const StreamPlan& largest = plans[plans.size() - n];
    const StreamNeed need = NeedOf(largest, service_class, true, true);
    if (in_time.ok()) in_time = admission_.InTime(need);
    needed = encoding + need.cores;
    if (n == 1) least = needed;
    if (needed <= free && in_time.ok()) fit = n;
    encoding += NeedOf(largest, service_class, true, false).cores;
  }
  if (fit == plans.size() || (fit > 0 && !all)) return plans.size() - fit;
  ++refused_;
  if ((all ? needed : least) <= free) return in_time.error();  // it is not for want of room
  return Error{
      .code = Code::kUnavailable,
      .message = fmt::format("These {} renditions need about {:.2f} cores all the time. {:.2f} are "
                             "left that may be promised to real-time streams of their class.",
                             plans.size(), needed, std::max(0.0, free)),
      .parameter = "rungs",
      .accepted = "fewer or smaller ones, as rungs=WIDTHxHEIGHT:BITS,... names them"};
}

void StreamAdmission::GoOn(StreamId from, StreamId to) {
  const MutexLock lock(mutex_);
  auto running = running_.extract(from);
  if (running.empty()) return;
  running.key() = to;
  running_.insert(std::move(running));
  admission_.GoOn(from, to);
}

void StreamAdmission::OnUnit(StreamId stream, const StreamPlan& plan, const UnitCost& cost) {
  if (!on_ || cost.frames <= 0) return;
  const MutexLock lock(mutex_);
  demand_.Learn(plan, cost);
  const auto found = running_.find(stream);
  if (found == running_.end()) return;
  Running& running = found->second;
  running.core_seconds += ToSeconds(cost.own);
  running.media_seconds += static_cast<double>(cost.frames) / plan.target.fps.ToDouble();
  if (running.media_seconds < 1) return;
  admission_.Measured(stream, running.core_seconds / running.media_seconds);
  if (running.media_seconds < kMeasuredSeconds) return;
  running.core_seconds /= 2;
  running.media_seconds /= 2;
}

void StreamAdmission::OnEffort(StreamId stream, Effort effort, TimePoint now, Duration length,
                               bool more) {
  const MutexLock lock(mutex_);
  if (effort == Effort::kFull) {
    degraded_.erase(stream);
  } else {
    degraded_[stream] = more ? TimePoint::max() : now + std::max<Duration>(kSilence, 3 * length);
  }
}

void StreamAdmission::Release(StreamId stream) {
  const MutexLock lock(mutex_);
  degraded_.erase(stream);
  admission_.Release(stream);
  running_.erase(stream);
}

std::uint64_t StreamAdmission::refused() const {
  const MutexLock lock(mutex_);
  return refused_;
}

std::vector<AdmissionStats> StreamAdmission::Stats() const {
  const MutexLock lock(mutex_);
  std::vector<AdmissionStats> stats;
  for (std::size_t i = 0; i < admission_.classes().size(); ++i) {
    stats.push_back({.name = admission_.classes()[i].name,
                     .promise = admission_.PromiseOf(static_cast<std::uint16_t>(i))});
  }
  return stats;
}

}  // namespace gopmill
