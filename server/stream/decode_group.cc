// SPDX-License-Identifier: Apache-2.0
#include "server/stream/decode_group.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/log.h"
#include "codec/library_threads.h"
#include "server/stream/stream_ids.h"

namespace gopmill {
namespace {

constexpr double kMemorySeconds = 4;     // of media that the load is the mean of
constexpr double kFewestSeconds = 0.75;  // of media, before their load says something
constexpr double kLittleLoad = 0.5;      // of the most: two parts with less together are merged
constexpr std::size_t kLayouts = 8;      // that are kept for units that come late

StreamId NextGroupId() {
  static std::atomic<std::uint64_t> next{kDecodeGroupIds};
  return {next++};
}

std::int64_t PlaceOf(const StreamPlan& plan, const UnitSpec& unit) {
  return plan.grid.first() + unit.first_frame;
}

UnitId IdOf(const UnitOrder& order) { return {order.stream, order.task.input->spec.index}; }

// For a unit that never became a job.
void ReportCancelled(Mailbox& mailbox, UnitId unit, std::optional<Error> error) {
  JobReport report;
  report.unit = unit;
  mailbox.Post(UnitEnded{.report = report, .stats = {}, .error = std::move(error)});
}

// The one that brings the decoder goes first.
bool BringsDecoder(const UnitOrder& order) { return order.task.run.selector != nullptr; }

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

DecodeGroup::DecodeGroup(std::size_t members, double load)
    : readers_(members == 0),
      most_load_(load),
      id_(NextGroupId()),
      members_(members),
      layouts_{{.from = std::numeric_limits<Place>::min(),
                .part = std::vector<std::size_t>(members, 0)}},
      parts_{{0, {}}} {}

std::shared_ptr<DecodeGroup> DecodeGroup::OfReaders(Duration patience) {
  auto group = std::make_shared<DecodeGroup>(0);
  group->patience_ = patience;
  return group;
}

std::size_t DecodeGroup::Join() {
  const MutexLock lock(mutex_);
  const auto is_free = [](const Member& member) { return !member.in_use; };
  const auto slot = std::ranges::find_if(members_, is_free);
  const auto number = static_cast<std::size_t>(slot - members_.begin());
  if (slot == members_.end()) {
    members_.emplace_back();
    for (Layout& layout : layouts_) layout.part.push_back(0);
  }
  members_[number] = {};
  members_[number].takes_part = false;
  return number;
}

void DecodeGroup::Announce(std::size_t member, const StreamPlan& plan, const UnitSpec& unit,
                           int workers) {
  const MutexLock lock(mutex_);
  Member& own = members_[member];
  own.pixels = std::int64_t{plan.target.width} * plan.target.height;
  const Place place = PlaceOf(plan, unit);
  const bool begins_run = unit.cut != CutKind::kChained;
  const bool was_new = std::exchange(own.is_new, false);
  if (!own.takes_part && unit.begins_gop() && !was_new && !own.lateness.too_often()) {
    Enter(member, workers);
  }
  if (!own.takes_part) return;
  if (unit.begins_gop()) own.lateness.OnGop();
  own.next = place + unit.frame_count();
  own.due.insert(place);
  const bool first_of_all = place > newest_;
  newest_ = std::max(newest_, place);
  if (first_of_all && begins_run) LayOut(place, workers);
}

void DecodeGroup::Submit(std::size_t member, const JobSpec& spec, UnitOrder order,
                         Scheduler& scheduler) {
  const MutexLock lock(mutex_);
  const Place place = PlaceOf(*order.task.plan, order.task.input->spec);
  if (members_[member].due.erase(place) > 0) {
    waiting_[place].push_back({.member = member, .spec = spec, .order = std::move(order)});
  } else {
    SubmitJob(spec, OneOrder(std::move(order)), {}, scheduler);
  }
  SubmitReady(scheduler);
}

void DecodeGroup::GoOn(Scheduler& scheduler) {
  if (!readers_) return;
  const MutexLock lock(mutex_);
  const TimePoint now = SteadyNow();
  for (const auto& [place, unit] : waiting_) {
    for (const Waiting& waiting : unit) {
      if (now - waiting.since < patience_) continue;
      const std::size_t part = LayoutAt(place).part[waiting.member];
      for (std::size_t i = 0; i < members_.size(); ++i) {
        if (MayCome(i, part, place)) LeaveOut(i);
      }
    }
  }
  SubmitReady(scheduler);
}

// Until its next GOP, or for good.
void DecodeGroup::LeaveOut(std::size_t member) {
  members_[member].takes_part = false;
  members_[member].due.clear();
  members_[member].lateness.OnLate();
}

void DecodeGroup::Leave(std::size_t member, Scheduler& scheduler) {
  const MutexLock lock(mutex_);
  members_[member].in_use = members_[member].takes_part = false;
  members_[member].due.clear();
  for (auto& [place, unit] : waiting_) {
    std::erase_if(unit, [&](Waiting& waiting) {
      if (waiting.member != member) return false;
      ReportCancelled(*waiting.order.mailbox, IdOf(waiting.order), std::nullopt);
      return true;
    });
  }
  SubmitReady(scheduler);
  // Of one that is still there, the units of those that left are made with its own.
  const auto in_use = [](const Member& one) { return one.in_use; };
  if (std::ranges::none_of(members_, in_use)) scheduler.Cancel(id_);
}

std::set<std::size_t> DecodeGroup::PartsInUse(const Layout& layout) const {
  std::set<std::size_t> in_use;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].takes_part) in_use.insert(layout.part[i]);
  }
  return in_use;
}

std::size_t DecodeGroup::NewPart() {
  parts_[next_part_] = {};
  return next_part_++;
}

void DecodeGroup::ForgetParts() {
  std::erase_if(parts_, [&](const auto& entry) GOPMILL_REQUIRES(mutex_) {
    return std::ranges::none_of(layouts_, [&](const Layout& layout) {
      return std::ranges::find(layout.part, entry.first) != layout.part.end();
    });
  });
}

std::size_t DecodeGroup::part_count() const {
  const MutexLock lock(mutex_);
  return parts_.size();
}

// With those that have the least to do, or on its own where that is too much and a worker is left.
void DecodeGroup::Enter(std::size_t member, int workers) {
  const std::set<std::size_t> in_use = PartsInUse(layouts_.back());
  const auto load = [&](std::size_t part) GOPMILL_REQUIRES(mutex_) { return parts_[part].load; };
  const auto least = std::ranges::min_element(in_use, {}, load);
  const bool alone = least == in_use.end() || (parts_[*least].load > most_load_ &&
                                               in_use.size() < static_cast<std::size_t>(workers));
  const std::size_t part = alone ? NewPart() : *least;
  for (Layout& layout : layouts_) layout.part[member] = part;
  members_[member].takes_part = true;
  ForgetParts();
}

// No unit from `from` on has come yet.
void DecodeGroup::LayOut(Place from, int workers) {
  Layout next{.from = from, .part = layouts_.back().part};
  if (!DivideParts(next, workers) && !(readers_ && MergeParts(next))) return;
  layouts_.push_back(std::move(next));
  if (layouts_.size() > kLayouts) layouts_.erase(layouts_.begin());
  ForgetParts();
}

bool DecodeGroup::DivideParts(Layout& next, int workers) {
  bool any = false;
  for (const std::size_t part : PartsInUse(layouts_.back())) {
    if (PartsInUse(next).size() >= static_cast<std::size_t>(workers)) break;
    const Part& measured = parts_[part];
    if (measured.seconds < kFewestSeconds || measured.load <= most_load_) continue;
    any |= Divide(part, next);
  }
  return any;
}

// The largest rendition first, then the others from large to small, each to the half that has less.
// Both halves get new numbers: what is still running counts for nothing any more.
bool DecodeGroup::Divide(std::size_t part, Layout& layout) {
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].takes_part && layout.part[i] == part) own.push_back(i);
  }
  if (own.size() < 2) return false;
  std::ranges::stable_sort(own, std::greater<>(), [&](std::size_t i) GOPMILL_REQUIRES(mutex_) {
    return members_[i].pixels;
  });
  const std::array<std::size_t, 2> halves{NewPart(), NewPart()};
  std::array<std::int64_t, 2> pixels{};
  for (const std::size_t i : own) {
    const std::size_t half = pixels[0] > pixels[1] ? 1 : 0;
    pixels[half] += members_[i].pixels;
    layout.part[i] = halves[half];
  }
  spdlog::info("one worker is not enough for {} renditions: they are decoded in two parts",
               own.size());
  return true;
}

// The two with the least load, where that is little.
bool DecodeGroup::MergeParts(Layout& next) {
  std::vector<std::size_t> parts;
  for (const std::size_t part : PartsInUse(next)) {
    if (parts_[part].seconds >= kMemorySeconds) parts.push_back(part);
  }
  std::ranges::sort(parts, {},
                    [&](std::size_t part) GOPMILL_REQUIRES(mutex_) { return parts_[part].load; });
  if (parts.size() < 2) return false;
  if (parts_[parts[0]].load + parts_[parts[1]].load > kLittleLoad * most_load_) return false;
  const std::size_t both = NewPart();
  for (std::size_t& part : next.part) {
    if (part == parts[0] || part == parts[1]) part = both;
  }
  return true;
}

const DecodeGroup::Layout& DecodeGroup::LayoutAt(Place place) const {
  const auto after = std::ranges::upper_bound(layouts_, place, {}, &Layout::from);
  return after == layouts_.begin() ? layouts_.front() : *std::prev(after);
}

bool DecodeGroup::MayCome(std::size_t member, std::size_t part, Place place) const {
  const Member& asked = members_[member];
  if (!asked.takes_part || LayoutAt(place).part[member] != part) return false;
  return asked.next <= place || asked.due.contains(place);
}

// In the order of the units.
void DecodeGroup::SubmitReady(Scheduler& scheduler) {
  for (auto& [place, unit] : waiting_) {
    std::set<std::size_t> parts;
    for (const Waiting& waiting : unit) parts.insert(LayoutAt(place).part[waiting.member]);
    for (const std::size_t part : parts) {
      Unit whole = TakeWhole(place, unit, part);
      if (!whole.empty()) SubmitUnit(std::move(whole), part, scheduler);
    }
  }
  std::erase_if(waiting_, [](const auto& entry) { return entry.second.empty(); });
}

DecodeGroup::Unit DecodeGroup::TakeWhole(Place place, Unit& unit, std::size_t part) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (MayCome(i, part, place)) return {};
  }
  const Layout& layout = LayoutAt(place);
  const auto is_of_part = [&](const Waiting& waiting) {
    return layout.part[waiting.member] == part;
  };
  Unit whole;
  for (Waiting& waiting : unit) {
    if (is_of_part(waiting)) whole.push_back(std::move(waiting));
  }
  std::erase_if(unit, is_of_part);
  return whole;
}

// As one job, or where readers have been cut differently as one for each that are alike. Those of
// them that had no decoder of their own any more begin their run again: not often.
void DecodeGroup::SubmitUnit(Unit unit, std::size_t part, Scheduler& scheduler) {
  std::ranges::sort(unit, {}, &Waiting::member);
  std::ranges::stable_partition(unit, BringsDecoder, &Waiting::order);
  bool whole = true;
  while (!unit.empty()) {
    const auto is_other = [&](const Waiting& waiting) {
      return !ShowTheSame(unit.front().order.task, waiting.order.task);
    };
    const auto others = std::ranges::stable_partition(unit, std::not_fn(is_other));
    Unit rest(std::move_iterator(others.begin()), std::move_iterator(others.end()));
    unit.erase(others.begin(), others.end());
    whole = whole && rest.empty();
    const UnitTask& first = unit.front().order.task;
    if (!whole && first.input->spec.cut == CutKind::kChained && !first.run.selector) {
      for (const Waiting& waiting : unit) LeaveOut(waiting.member);
    }
    auto note = whole ? Noting(unit.front().order.task, part) : UnitJob::ReportHandler();
    SubmitTogether(std::move(unit), note, scheduler);
    unit = std::move(rest);
  }
}

void DecodeGroup::SubmitTogether(Unit unit, const UnitJob::ReportHandler& on_report,
                                 Scheduler& scheduler) {
  std::vector<JobSpec> specs;
  UnitOrders orders;
  for (Waiting& waiting : unit) {
    specs.push_back(waiting.spec);
    orders.push_back(std::move(waiting.order));
  }
  JobSpec sum = SumOf(specs);
  if (specs.size() > 1) sum.unit = {id_, UnitIndex{jobs_++}};
  SubmitJob(sum, std::move(orders), on_report, scheduler);
}

UnitJob::ReportHandler DecodeGroup::Noting(const UnitTask& task, std::size_t part) {
  const double seconds =
      static_cast<double>(task.input->spec.frame_count()) / task.plan->grid.fps().ToDouble();
  // The job's own thread does not tell what these cost.
  const bool own_threads = ThreadsOfLibrary(task.plan->target.vcodec) > 0;
  return [self = shared_from_this(), part, seconds, own_threads](const JobReport& report,
                                                                 Duration waited) {
    if (report.outcome != JobOutcome::kDone) return;
    const Duration took = own_threads ? report.finished - report.started - waited : report.cpu;
    self->Note(part, ToSeconds(took - report.opening), seconds);
  };
}

void DecodeGroup::Note(std::size_t part, double took, double seconds) {
  const MutexLock lock(mutex_);
  const auto found = parts_.find(part);
  if (found == parts_.end()) return;
  Part& measured = found->second;
  measured.seconds += seconds;
  const double weight = seconds / std::min(measured.seconds, std::max(kMemorySeconds, seconds));
  measured.load += weight * (took / seconds - measured.load);
}

}  // namespace gopmill
