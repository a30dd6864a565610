// SPDX-License-Identifier: Apache-2.0
#include "scheduler/everest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gopmill {
namespace {

constexpr double kNewestWeight = 1.0 / 8;
// For classes without a deadline of their own.
constexpr double kDefaultDeadlineNs = 1e9;

void Average(double& mean, double value) {
  mean = mean <= 0 ? value : mean + kNewestWeight * (value - mean);
}

}  // namespace

Everest::Everest(Form form, const PoolState& pool)
    : form_(form),
      shares_(pool.classes().size()),
      owner_of_(static_cast<std::size_t>(pool.worker_count())),
      next_owner_(owner_of_.size(), -1),
      owners_(pool.classes().size()),
      beyond_share_(owners_.size(), 0) {
  FindShares(pool.classes(), shares_);
  // To begin with, each worker goes to the class that is furthest below its share.
  for (std::size_t w = 0; w < owner_of_.size(); ++w) {
    std::size_t best = 0;
    const auto lack = [&](std::size_t c) {
      return shares_[c] * static_cast<double>(w + 1) - owners_[c].workers;
    };
    for (std::size_t c = 1; c < owners_.size(); ++c) {
      if (lack(c) > lack(best)) best = c;
    }
    owner_of_[w] = static_cast<int>(best);
    ++owners_[best].workers;
  }
}

double Everest::ArrivalCount::Within(TimePoint now, double window_ns) {
  Advance(now, window_ns);
  const auto passed = static_cast<double>((now - begin_).count());
  return current_ + before_ * std::max(0.0, 1 - passed / window_ns);
}

void Everest::ArrivalCount::Advance(TimePoint now, double window_ns) {
  const auto passed = static_cast<double>((now - begin_).count());
  if (passed < window_ns) return;
  const bool next_one = passed < 2 * window_ns;
  before_ = next_one ? current_ : 0;
  current_ = 0;
  begin_ = next_one ? begin_ + Duration(static_cast<std::int64_t>(window_ns)) : now;
}

int Everest::ClassFor(WorkerId w, const PoolState& pool, TimePoint now) {
  MarkSpare(pool, now);
  const auto i = static_cast<std::size_t>(w.value);
  if (next_owner_[i] >= 0) owner_of_[i] = std::exchange(next_owner_[i], -1);
  const int own = owner_of_[i];
  if (HasUnitFor(own, w, pool)) {
    const int next = NextWithoutWorker(w, own, pool);
    return next < 0 ? own : next;
  }
  int other = MostUrgent(w, pool, true);
  if (other < 0 && form_ == Form::kAe) other = MostUrgent(w, pool, false);
  if (other < 0) return -1;
  // Plain Everest lends only what its owner has marked as spare.
  const bool spare = owners_[static_cast<std::size_t>(own)].marked > 0;
  // A class without any worker would wait for ever.
  const bool starves = owners_[static_cast<std::size_t>(other)].workers == 0;
  return form_ == Form::kPlain && !spare && !starves ? -1 : other;
}

void Everest::OnServes(int service_class, WorkerId w, TimePoint now) {
  if (owner_of_[static_cast<std::size_t>(w.value)] != service_class) Give(w, service_class, now);
}

bool Everest::IsAloneFor(int service_class, WorkerId w) const {
  if (form_ == Form::kAe) return false;
  const int workers = owners_[static_cast<std::size_t>(service_class)].workers;
  const bool is_owner = owner_of_[static_cast<std::size_t>(w.value)] == service_class;
  return workers == 0 || (workers == 1 && is_owner);
}

// A class whose workers have all left takes turns on those of others, as one that has none.
void Everest::OnWorkersChanged(WorkerId w, const PoolState& pool) {
  Owner& owner = owners_[CountsFor(static_cast<std::size_t>(w.value))];
  owner.workers += pool.available(w) ? 1 : -1;
  owner.marked = std::min(owner.marked, owner.workers);
}

void Everest::OnArrived(int service_class, const PoolState& pool, TimePoint now) {
  Owner& owner = owners_[static_cast<std::size_t>(service_class)];
  owner.seen = true;
  if (owner.mean_ns > 0) owner.arrivals.Add(now, owner.mean_ns);
  MarkSpare(pool, now);
  if (Excess(service_class, pool) > 0) AskForMore(service_class, pool, now);
}

void Everest::OnFinished(int service_class, WorkerId /*w*/, Duration busy, const PoolState& pool,
                         TimePoint now) {
  Average(owners_[static_cast<std::size_t>(service_class)].mean_ns,
          static_cast<double>(busy.count()));
  MarkSpare(pool, now);
  if (Excess(service_class, pool) > 0) AskForMore(service_class, pool, now);
}

double Everest::Limit(int service_class, int workers, const PoolState& pool) const {
  const auto i = static_cast<std::size_t>(service_class);
  const Duration set = pool.classes()[i].deadline;
  const double deadline = set > Duration{} ? static_cast<double>(set.count()) : kDefaultDeadlineNs;
  const double mean = owners_[i].mean_ns;
  if (mean <= 0) return workers;
  const double fit = deadline / mean;
  return workers * std::max(0.0, (fit < 2 ? fit : std::floor(fit)) - 1);
}

double Everest::Excess(int service_class, int workers, const PoolState& pool) const {
  const auto waiting = static_cast<double>(pool.class_state(service_class).waiting_units);
  return waiting - Limit(service_class, workers, pool);
}

double Everest::Excess(int service_class, const PoolState& pool) const {
  return Excess(service_class, owners_[static_cast<std::size_t>(service_class)].workers, pool);
}

int Everest::Guaranteed(int service_class, const PoolState& pool) const {
  const double share = shares_[static_cast<std::size_t>(service_class)];
  const int most = std::max(1, static_cast<int>(share * pool.available_workers() + 1e-9));
  const auto waiting = static_cast<double>(pool.class_state(service_class).waiting_units);
  int required = 1;
  while (required < most && waiting > Limit(service_class, required, pool)) ++required;
  return required;
}

void Everest::AskForMore(int service_class, const PoolState& pool, TimePoint now) {
  Owner& owner = owners_[static_cast<std::size_t>(service_class)];
  // What it was about to give up it keeps, without a switch.
  if (owner.marked > 0) {
    --owner.marked;
    return;
  }
  const int victim = FindVictim(service_class, pool);
  if (victim < 0) return;
  for (std::size_t i = 0; i < owner_of_.size(); ++i) {
    const WorkerId w{static_cast<std::int32_t>(i)};
    if (owner_of_[i] != victim || next_owner_[i] >= 0 || !pool.available(w)) continue;
    Give(w, service_class, now);
    // It counts for its new class from now on, and finishes its unit first.
    if (pool.idle(w)) {
      given_ = w;
    } else {
      next_owner_[i] = std::exchange(owner_of_[i], victim);
    }
    return;
  }
}

// Underload: the class with marked workers that was given one least recently.
int Everest::FindVictim(int beneficiary, const PoolState& pool) const {
  int victim = -1;
  for (std::size_t c = 0; c < owners_.size(); ++c) {
    if (static_cast<int>(c) == beneficiary || owners_[c].marked == 0) continue;
    // Without a worker nothing of a class ends, and then it does not ask for one.
    const bool waits = pool.class_state(static_cast<int>(c)).waiting_units > 0;
    if (waits && owners_[c].workers < 2) continue;
    if (victim < 0 ||
        owners_[c].last_allocated < owners_[static_cast<std::size_t>(victim)].last_allocated) {
      victim = static_cast<int>(c);
    }
  }
  return victim >= 0 ? victim : FindOverloadVictim(beneficiary, pool);
}

// Overload: of the classes above their guarantee, the one that would have the least q - Qlim
// without the worker; and that less than the asking one has now, if it has its own guarantee.
int Everest::FindOverloadVictim(int beneficiary, const PoolState& pool) const {
  const int own = owners_[static_cast<std::size_t>(beneficiary)].workers;
  double least = own < Guaranteed(beneficiary, pool) ? std::numeric_limits<double>::infinity()
                                                     : Excess(beneficiary, own, pool);
  int victim = -1;
  for (int c = 0; c < static_cast<int>(owners_.size()); ++c) {
    const int workers = owners_[static_cast<std::size_t>(c)].workers;
    if (c == beneficiary || workers <= Guaranteed(c, pool)) continue;
    const double left = Excess(c, workers - 1, pool);
    if (left >= least) continue;
    least = left;
    victim = c;
  }
  return victim;
}

// Lines 6 to 8 of the algorithm, which it repeats for ever: for each class whose queue is empty.
void Everest::MarkSpare(const PoolState& pool, TimePoint now) {
  for (std::size_t c = 0; c < owners_.size(); ++c) {
    if (pool.class_state(static_cast<int>(c)).waiting_units > 0) continue;
    Owner& owner = owners_[c];
    int spare = owner.seen ? 0 : owner.workers;  // what a class needs whose first run has not ended
    if (owner.mean_ns > 0) {
      const double busy = owner.arrivals.Within(now, owner.mean_ns);  // lambda * t
      spare = static_cast<int>(std::floor(owner.workers - busy));
    }
    owner.marked = form_ == Form::kAe ? owner.workers : std::clamp(spare, 0, owner.workers);
  }
}

void Everest::Give(WorkerId w, int service_class, TimePoint now) {
  const auto i = static_cast<std::size_t>(w.value);
  Owner& from = owners_[static_cast<std::size_t>(owner_of_[i])];
  --from.workers;
  from.marked = std::min(std::max(0, from.marked - 1), from.workers);
  Owner& to = owners_[static_cast<std::size_t>(service_class)];
  ++to.workers;
  to.last_allocated = now;
  owner_of_[i] = service_class;
}

// Of the classes that have no worker and a unit for `w`, the one that had one least recently; -1 if
// there is none, or a class that has more beyond its share than `own` is to make room.
int Everest::NextWithoutWorker(WorkerId w, int own, const PoolState& pool) {
  int next = -1;
  for (int c = 0; c < static_cast<int>(owners_.size()); ++c) {
    const Owner& owner = owners_[static_cast<std::size_t>(c)];
    if (owner.workers > 0 || !HasUnitFor(c, w, pool)) continue;
    const bool earlier =
        next < 0 || owner.last_allocated < owners_[static_cast<std::size_t>(next)].last_allocated;
    if (earlier) next = c;
  }
  return next >= 0 && HasMostBeyondShare(own, pool) ? next : -1;
}

// By the workers that are in service: none other will ever be free.
bool Everest::HasMostBeyondShare(int service_class, const PoolState& pool) {
  std::ranges::fill(beyond_share_, 0.0);
  for (std::size_t i = 0; i < owner_of_.size(); ++i) {
    if (!pool.available(WorkerId{static_cast<std::int32_t>(i)})) continue;
    beyond_share_[CountsFor(i)] += 1;
  }
  for (std::size_t c = 0; c < shares_.size(); ++c) {
    const double due = shares_[c] * pool.available_workers();
    beyond_share_[c] -= beyond_share_[c] > 0 ? due : std::numeric_limits<double>::infinity();
  }
  const double own = beyond_share_[static_cast<std::size_t>(service_class)];
  return own >= std::ranges::max(beyond_share_) - 1e-9;
}

// The class with the largest q - Qlim among those with a unit for `w`.
int Everest::MostUrgent(WorkerId w, const PoolState& pool, bool eligible_only) const {
  int best = -1;
  double most = 0;
  for (std::size_t c = 0; c < owners_.size(); ++c) {
    const double excess = Excess(static_cast<int>(c), pool);
    if (eligible_only && excess <= 0) continue;
    if (best >= 0 && excess <= most) continue;
    if (!HasUnitFor(static_cast<int>(c), w, pool)) continue;
    best = static_cast<int>(c);
    most = excess;
  }
  return best;
}

}  // namespace gopmill
