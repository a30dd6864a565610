// SPDX-License-Identifier: Apache-2.0
#include "scheduler/context_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "scheduler/rendezvous.h"

namespace gopmill {
namespace {

constexpr double kNewest = 1.0 / 8;
// Speeds of workers move more slowly: they are properties of the machine. This part of what a run
// moves the rate of its context by, in the logarithm.
constexpr double kSpeedPart = 1.0 / 8;
constexpr double kLeastSpeed = 0.1, kMostSpeed = 10;
constexpr double kNewestOpening = 1.0 / 16;

void Average(double& mean, double value, double newest) {
  mean = mean <= 0 ? value : mean + newest * (value - mean);
}

}  // namespace

ContextTable::ContextTable(int workers, int contexts_per_worker)
    : entries_(1),
      contexts_per_worker_(static_cast<std::size_t>(std::max(1, contexts_per_worker))),
      recent_(static_cast<std::size_t>(workers) * contexts_per_worker_, 0),
      speed_(static_cast<std::size_t>(workers), 1.0) {}

std::uint64_t ContextTable::KeyOf(const JobSpec& spec) {
  return spec.context != 0 ? spec.context : OwnContext(spec.unit.stream);
}

std::uint32_t ContextTable::Ref(const JobSpec& spec) {
  const std::uint64_t key = KeyOf(spec);
  const auto known = slots_.find(key);
  const std::uint32_t slot = known != slots_.end() ? known->second : NewSlot(key);
  if (entries_[slot].refs++ == 0 && known != slots_.end()) UnlinkUnused(slot);
  return slot;
}

void ContextTable::Unref(std::uint32_t slot) {
  GOPMILL_CHECK(entries_[slot].refs > 0);
  if (--entries_[slot].refs == 0) LinkUnused(slot);
}

std::uint32_t ContextTable::NewSlot(std::uint64_t key) {
  const std::uint32_t oldest = entries_[0].next;
  if (entries_.size() <= kMaxContexts || oldest == 0) {
    entries_.push_back({.key = key});
    const auto slot = static_cast<std::uint32_t>(entries_.size() - 1);
    slots_.emplace(key, slot);
    return slot;
  }
  UnlinkUnused(oldest);
  slots_.erase(entries_[oldest].key);
  // A worker that had the forgotten one warm must not be taken to have the new one.
  std::ranges::replace(recent_, oldest, 0U);
  entries_[oldest] = {.key = key};
  slots_.emplace(key, oldest);
  return oldest;
}

void ContextTable::LinkUnused(std::uint32_t slot) {
  const std::uint32_t last = entries_[0].previous;
  entries_[slot].previous = last;
  entries_[slot].next = 0;
  entries_[last].next = slot;
  entries_[0].previous = slot;
}

void ContextTable::UnlinkUnused(std::uint32_t slot) {
  const Entry& entry = entries_[slot];
  entries_[entry.previous].next = entry.next;
  entries_[entry.next].previous = entry.previous;
}

void ContextTable::AddHead(std::uint32_t slot, Head head) {
  Entry& entry = entries_[slot];
  if (entry.oldest.valid()) {
    if (head.sequence < entry.oldest.sequence) std::swap(head, entry.oldest);
    younger_heads_.insert({.slot = slot, .head = head});
    ++entry.younger_heads;
  } else {
    entry.oldest = head;
  }
}

void ContextTable::RemoveHead(std::uint32_t slot, Head head) {
  Entry& entry = entries_[slot];
  const bool is_oldest = entry.oldest.unit == head.unit;
  if (is_oldest) entry.oldest = {};
  if (entry.younger_heads == 0) return;
  const auto leaving = is_oldest ? younger_heads_.lower_bound({.slot = slot, .head = {}})
                                 : younger_heads_.find({.slot = slot, .head = head});
  GOPMILL_CHECK(leaving != younger_heads_.end() && leaving->slot == slot);
  if (is_oldest) entry.oldest = leaving->head;
  younger_heads_.erase(leaving);
  --entry.younger_heads;
}

ContextTable::Head ContextTable::NextHead(std::uint32_t slot, Head head) const {
  if (entries_[slot].younger_heads == 0) return {};
  const auto next = younger_heads_.upper_bound({.slot = slot, .head = head});
  return next != younger_heads_.end() && next->slot == slot ? next->head : Head{};
}

void ContextTable::Use(std::uint32_t slot, WorkerId worker) {
  auto* const first = &recent_[static_cast<std::size_t>(worker.value) * contexts_per_worker_];
  auto* const last = first + contexts_per_worker_;
  auto* place = std::find(first, last, slot);
  if (place == last) --place;
  std::move_backward(first, place, place + 1);
  *first = slot;
}

void ContextTable::TakeBack(std::uint32_t slot, WorkerId worker) {
  auto* const first = &recent_[static_cast<std::size_t>(worker.value) * contexts_per_worker_];
  auto* const last = first + contexts_per_worker_;
  auto* const kept = std::remove(first, last, slot);
  std::fill(kept, last, 0U);
}

bool ContextTable::Warm(std::uint32_t slot, WorkerId worker) const {
  const auto* const first = &recent_[static_cast<std::size_t>(worker.value) * contexts_per_worker_];
  return std::find(first, first + contexts_per_worker_, slot) != first + contexts_per_worker_;
}

void ContextTable::Learn(std::uint32_t slot, const JobSpec& spec, const JobReport& report,
                         bool taken_for_warm) {
  Entry& entry = entries_[slot];
  const bool measured = report.opening > Duration::zero();
  const double took = static_cast<double>((report.finished - report.started).count());
  const double hot = Predict(slot, spec, report.worker);
  double net = took;
  if (report.cold && measured) {
    const auto opening = static_cast<double>(report.opening.count());
    LearnOpening(entry, opening);
    net = std::max(0.0, took - opening);
  } else if (report.cold && entry.rate > 0) {
    // What it took beyond a warm run; noisy, and so both signs are averaged.
    LearnOpening(entry, took - hot);
    return;
  } else if (!report.cold && !taken_for_warm) {
    LearnOpening(entry, 0);
  }
  // By the speed that `hot` was predicted with: LearnSpeed counts on how the rate moves by that.
  const double rate = net / WorkOf(spec) / speed_[static_cast<std::size_t>(report.worker.value)];
  if (entry.rate > 0 && hot > 0) LearnSpeed(report.worker, net / hot);
  Average(entry.rate, rate, kNewest);
  Average(spec.frames > 0 ? mean_frame_rate_ : mean_byte_rate_, rate, kNewest);
}

// A run that took `ratio` of what was predicted multiplies the rate of its context by `step`. Taken
// in the same measure, whatever moves a rate up and later down again leaves the speed where it was:
// uneven runs cancel out, which their plain ratios to a mean that they move themselves would not.
// And since rates and speeds are known as products only, what speeds have in common is taken back.
void ContextTable::LearnSpeed(WorkerId worker, double ratio) {
  double& speed = speed_[static_cast<std::size_t>(worker.value)];
  const double step = 1 + kNewest * (ratio - 1);
  const double common = log_speeds_ / static_cast<double>(speed_.size());
  const double before = speed;
  speed =
      std::clamp(before * std::exp(kSpeedPart * std::log(step) - common), kLeastSpeed, kMostSpeed);
  log_speeds_ += std::log(speed / before);
}

void ContextTable::LearnOpening(Entry& entry, double opening) {
  entry.opening += (entry.opening_known ? kNewestOpening : 1.0) * (opening - entry.opening);
  entry.opening_known = true;
  mean_opening_ += kNewestOpening * (opening - mean_opening_);
}

double ContextTable::Predict(std::uint32_t slot, const JobSpec& spec, WorkerId worker) const {
  const double mean = spec.frames > 0 ? mean_frame_rate_ : mean_byte_rate_;
  const double rate = entries_[slot].rate > 0 ? entries_[slot].rate : mean;
  const double speed = worker.value < 0 ? 1.0 : speed_[static_cast<std::size_t>(worker.value)];
  return rate * WorkOf(spec) * speed;
}

double ContextTable::OpeningTime(std::uint32_t slot) const {
  const Entry& entry = entries_[slot];
  return std::max(0.0, entry.opening_known ? entry.opening : mean_opening_);
}

double ContextTable::WorkOf(const JobSpec& spec) {
  return static_cast<double>(spec.frames > 0 ? spec.frames
                                             : std::max<std::size_t>(1, spec.cost_bytes));
}

}  // namespace gopmill
