// SPDX-License-Identifier: Apache-2.0
#include "server/session/decode_group.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/log.h"

namespace gopmill {
namespace {

constexpr double kMemorySeconds = 4;     // of media that the load is the mean of
constexpr double kFewestSeconds = 0.75;  // of media, before their load says something

UnitId IdOf(const UnitOrder& order) { return {order.stream, order.task.input->spec.index}; }

// For a unit that never became a job.
void ReportCancelled(Mailbox& mailbox, UnitId unit, std::optional<Error> error) {
  JobReport report;
  report.unit = unit;
  mailbox.Post(UnitEnded{.report = report, .stats = {}, .error = std::move(error)});
}

// The one that brings the decoder goes first.
bool BringsDecoder(const UnitOrder& order) { return order.task.run.selector != nullptr; }

// The job's own thread does not tell what these cost.
bool HasOwnThreads(VideoCodec codec) {
  return codec == VideoCodec::kHevc || codec == VideoCodec::kAv1;
}

// The unit as one job: what all of them cost, and due with the first of them.
JobSpec SumOf(std::span<const JobSpec> specs) {
  JobSpec sum = specs.front();
  for (const JobSpec& spec : specs.subspan(1)) {
    sum.cost_bytes += spec.cost_bytes;
    sum.frames += spec.frames;
    sum.deadline = std::min(sum.deadline, spec.deadline);
  }
  return sum;
}

void SubmitJob(const JobSpec& spec, UnitOrders orders, UnitJob::ReportHandler on_report,
               Scheduler& scheduler) {
  std::vector<std::pair<std::shared_ptr<Mailbox>, UnitId>> senders;
  for (const UnitOrder& order : orders) senders.emplace_back(order.mailbox, IdOf(order));
  const Status taken =
      scheduler.Submit(spec, std::make_unique<UnitJob>(std::move(orders), std::move(on_report)));
  if (taken.ok()) return;
  for (const auto& [mailbox, unit] : senders) ReportCancelled(*mailbox, unit, taken.error());
}

}  // namespace

void DecodeGroup::Submit(std::size_t member, const JobSpec& spec, UnitOrder order,
                         Scheduler& scheduler) {
  const MutexLock lock(mutex_);
  const Target& target = order.task.plan->target;
  members_[member].pixels = std::int64_t{target.width} * target.height;
  const UnitSpec& unit = order.task.input->spec;
  const bool first_of_all = unit.index > newest_;
  newest_ = std::max(newest_, unit.index);
  const bool begins_run = unit.cut != CutKind::kChained;
  if (first_of_all && begins_run) DivideParts(unit.index, scheduler.worker_count());
  waiting_[unit.index].push_back({member, spec, std::move(order)});
  SubmitReady(scheduler);
}

void DecodeGroup::Leave(std::size_t member, Scheduler& scheduler) {
  const MutexLock lock(mutex_);
  members_[member].active = false;
  for (auto& [index, unit] : waiting_) {
    std::erase_if(unit, [&](Waiting& waiting) {
      if (waiting.member != member) return false;
      ReportCancelled(*waiting.order.mailbox, IdOf(waiting.order), std::nullopt);
      return true;
    });
  }
  SubmitReady(scheduler);
}

// No unit from `from` on has come yet.
void DecodeGroup::DivideParts(UnitIndex from, int workers) {
  Layout next{.from = from, .part = layouts_.back().part};
  const std::size_t parts = parts_.size();
  for (std::size_t part = 0; part < parts; ++part) {
    const std::set<std::size_t> in_use(next.part.begin(), next.part.end());
    if (in_use.size() >= static_cast<std::size_t>(workers)) break;
    const Part& measured = parts_[part];
    if (measured.seconds < kFewestSeconds || measured.load <= most_load_) continue;
    Divide(part, next);
  }
  if (parts_.size() > parts) layouts_.push_back(std::move(next));
}

// The largest rendition first, then the others from large to small, each to the half that has less.
// Both halves get new numbers: what is still running counts for nothing any more.
void DecodeGroup::Divide(std::size_t part, Layout& layout) {
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].active && layout.part[i] == part) own.push_back(i);
  }
  if (own.size() < 2) return;
  std::ranges::stable_sort(own, std::greater<>(), [&](std::size_t i) GOPMILL_REQUIRES(mutex_) {
    return members_[i].pixels;
  });
  std::array<std::int64_t, 2> pixels{};
  for (const std::size_t i : own) {
    const std::size_t half = pixels[0] > pixels[1] ? 1 : 0;
    pixels[half] += members_[i].pixels;
    layout.part[i] = parts_.size() + half;
  }
  parts_.resize(parts_.size() + 2);
  spdlog::info("one worker is not enough for {} renditions: they are decoded in two parts",
               own.size());
}

const DecodeGroup::Layout& DecodeGroup::LayoutOf(UnitIndex unit) const {
  const auto after = std::ranges::upper_bound(layouts_, unit, {}, &Layout::from);
  return *std::prev(after);
}

// In the order of the units.
void DecodeGroup::SubmitReady(Scheduler& scheduler) {
  for (auto& [index, unit] : waiting_) {
    const Layout& layout = LayoutOf(index);
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      Unit whole = TakeWhole(unit, layout, part);
      if (!whole.empty()) SubmitUnit(std::move(whole), part, scheduler);
    }
  }
  std::erase_if(waiting_, [](const auto& entry) { return entry.second.empty(); });
}

DecodeGroup::Unit DecodeGroup::TakeWhole(Unit& unit, const Layout& layout, std::size_t part) {
  std::size_t expected = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].active && layout.part[i] == part) ++expected;
  }
  const auto is_of_part = [&](const Waiting& waiting) {
    return layout.part[waiting.member] == part;
  };
  if (static_cast<std::size_t>(std::ranges::count_if(unit, is_of_part)) < expected) return {};
  Unit whole;
  for (Waiting& waiting : unit) {
    if (is_of_part(waiting)) whole.push_back(std::move(waiting));
  }
  std::erase_if(unit, is_of_part);
  return whole;
}

void DecodeGroup::SubmitUnit(Unit unit, std::size_t part, Scheduler& scheduler) {
  std::ranges::sort(unit, {}, &Waiting::member);
  std::ranges::stable_partition(unit, BringsDecoder, &Waiting::order);
  const UnitTask& first = unit.front().order.task;
  const bool together = std::ranges::all_of(
      unit, [&](const Waiting& waiting) { return ShowTheSame(first, waiting.order.task); });
  if (!together) {
    for (Waiting& waiting : unit) {
      SubmitJob(waiting.spec, OneOrder(std::move(waiting.order)), {}, scheduler);
    }
    return;
  }
  const double seconds =
      static_cast<double>(first.input->spec.frame_count()) / first.plan->grid.fps().ToDouble();
  const bool own_threads = HasOwnThreads(first.plan->target.vcodec);
  const auto note = [self = shared_from_this(), part, seconds, own_threads](const JobReport& report,
                                                                            Duration waited) {
    if (report.outcome != JobOutcome::kDone) return;
    const Duration took = own_threads ? report.finished - report.started - waited : report.cpu;
    self->Note(part, ToSeconds(took - report.opening), seconds);
  };
  std::vector<JobSpec> specs;
  UnitOrders orders;
  for (Waiting& waiting : unit) {
    specs.push_back(waiting.spec);
    orders.push_back(std::move(waiting.order));
  }
  SubmitJob(SumOf(specs), std::move(orders), note, scheduler);
}

void DecodeGroup::Note(std::size_t part, double took, double seconds) {
  const MutexLock lock(mutex_);
  Part& measured = parts_[part];
  measured.seconds += seconds;
  const double weight = seconds / std::min(measured.seconds, std::max(kMemorySeconds, seconds));
  measured.load += weight * (took / seconds - measured.load);
}

}  // namespace gopmill
