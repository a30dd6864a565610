// SPDX-License-Identifier: Apache-2.0
#include "scheduler/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gopmill {
namespace {

Error TooSlow(const ServiceClass& c, const StreamNeed& need) {
  return Error{.code = Code::kUnavailable,
               .message = fmt::format(
                   "Class {} promises each unit within {:.0f} ms; one of this stream takes about "
                   "{:.0f} ms, and {:.0f} ms more when its codecs have to be opened.",
                   c.name, ToMillis(c.deadline), ToMillis(need.unit_time), ToMillis(need.opening)),
               .parameter = "class",
               .accepted = "a smaller picture, fewer frames per second, or a class with more time"};
}

Error NoRoom(const ServiceClass& c, const ClassPromise& promise, double most,
             const StreamNeed& need) {
  return Error{
      .code = Code::kUnavailable,
      .message = fmt::format(
          "This stream needs about {:.2f} cores all the time. Class {} has {:.2f}, of which {:.2f} "
          "may be promised and {:.2f} are taken by the real-time streams that run.",
          need.cores, c.name, promise.cores, most, promise.taken),
      .parameter = "class",
      .accepted = fmt::format("a stream that needs at most {:.2f} cores",
                              std::max(0.0, most - promise.taken))};
}

}  // namespace

Admission::Admission(std::vector<ServiceClass> classes, int workers, double promise)
    : classes_(std::move(classes)), promise_(promise) {
  if (classes_.empty()) classes_.emplace_back();
  promises_.resize(classes_.size());
  SetWorkers(workers);
}

void Admission::SetWorkers(int workers) {
  const std::vector<double> shares = AssuredShares(classes_, workers);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    promises_[i].cores = shares[i] * workers;
    if (classes_[i].max_workers > 0) {
      promises_[i].cores = std::min<double>(promises_[i].cores, classes_[i].max_workers);
    }
  }
}

std::size_t Admission::IndexOf(std::uint16_t service_class) const {
  return std::min<std::size_t>(service_class, classes_.size() - 1);
}

Status Admission::InTime(const StreamNeed& need) const {
  const ServiceClass& c = classes_[IndexOf(need.service_class)];
  const bool late = c.deadline > Duration::zero() && need.unit_time + need.opening > c.deadline;
  return late ? TooSlow(c, need) : OkStatus();
}

Status Admission::Admit(StreamId stream, const StreamNeed& need) {
  GOPMILL_RETURN_IF_ERROR(InTime(need));
  if (!need.real_time) return OkStatus();
  const std::size_t index = IndexOf(need.service_class);
  const ServiceClass& c = classes_[index];
  ClassPromise& promise = promises_[index];
  const double most = promise.cores * promise_;
  if (promise.taken + need.cores > most) return NoRoom(c, promise, most, need);
  if (held_.try_emplace(stream, Held{index, need.cores}).second) {
    promise.taken += need.cores;
    ++promise.streams;
  }
  return OkStatus();
}

void Admission::GoOn(StreamId from, StreamId to) {
  auto held = held_.extract(from);
  if (held.empty()) return;
  held.key() = to;
  held_.insert(std::move(held));
}

void Admission::Measured(StreamId stream, double cores) {
  const auto found = held_.find(stream);
  if (found == held_.end()) return;
  promises_[found->second.service_class].taken += cores - found->second.cores;
  found->second.cores = cores;
}

void Admission::Release(StreamId stream) {
  const auto found = held_.find(stream);
  if (found == held_.end()) return;
  ClassPromise& promise = promises_[found->second.service_class];
  // Sums of fractions: something is left of them where nobody is.
  promise.taken = --promise.streams > 0 ? std::max(0.0, promise.taken - found->second.cores) : 0;
  held_.erase(found);
}

ClassPromise Admission::PromiseOf(std::uint16_t service_class) const {
  return promises_[IndexOf(service_class)];
}

double Admission::FreeFor(std::uint16_t service_class) const {
  const ClassPromise promise = PromiseOf(service_class);
  return promise.cores * promise_ - promise.taken;
}

}  // namespace gopmill
