// SPDX-License-Identifier: Apache-2.0
#include "scheduler/everest.h"

#include <algorithm>
#include <cmath>

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
      owners_(pool.classes().size()) {
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

int Everest::ClassFor(WorkerId w, const PoolState& pool, TimePoint now) {
  const auto i = static_cast<std::size_t>(w.value);
  if (next_owner_[i] >= 0) Give(w, next_owner_[i], now);
  const int own = owner_of_[i];
  if (HasUnitFor(own, w, pool)) return own;
  int other = MostUrgent(w, pool, true);
  if (other < 0 && form_ == Form::kAe) other = MostUrgent(w, pool, false);
  if (other < 0) return -1;
  // Plain Everest lends only what its owner has marked as spare.
  const bool spare = owners_[static_cast<std::size_t>(own)].marked > 0;
  // A class without any worker would wait for ever.
  const bool starves = owners_[static_cast<std::size_t>(other)].workers == 0;
  if (form_ == Form::kPlain && !spare && !starves) return -1;
  Give(w, other, now);
  return other;
}

void Everest::OnArrived(int service_class, const PoolState& pool, TimePoint now) {
  Owner& owner = owners_[static_cast<std::size_t>(service_class)];
  if (owner.last_arrival != TimePoint{}) {
    Average(owner.gap_ns, static_cast<double>((now - owner.last_arrival).count()));
  }
  owner.last_arrival = now;
  if (Excess(service_class, pool) > 0) AskForMore(service_class, pool, now);
}

void Everest::OnFinished(int service_class, WorkerId /*w*/, Duration busy, const PoolState& pool,
                         TimePoint now) {
  Average(owners_[static_cast<std::size_t>(service_class)].mean_ns,
          static_cast<double>(busy.count()));
  if (pool.class_state(service_class).waiting_units == 0) {
    MarkSpare(service_class, pool);
  } else if (Excess(service_class, pool) > 0) {
    AskForMore(service_class, pool, now);
  }
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

double Everest::Excess(int service_class, const PoolState& pool) const {
  const Owner& owner = owners_[static_cast<std::size_t>(service_class)];
  const auto waiting = static_cast<double>(pool.class_state(service_class).waiting_units);
  return waiting - Limit(service_class, owner.workers, pool);
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
    if (pool.idle(w)) {
      Give(w, service_class, now);
    } else {
      next_owner_[i] = service_class;
    }
    return;
  }
}

// Underload: the class with marked workers that was given one least recently. Overload: a class
// above its guarantee, if the asking one is below its own.
int Everest::FindVictim(int beneficiary, const PoolState& pool) const {
  int victim = -1;
  for (std::size_t c = 0; c < owners_.size(); ++c) {
    if (static_cast<int>(c) == beneficiary || owners_[c].marked == 0) continue;
    if (victim < 0 ||
        owners_[c].last_allocated < owners_[static_cast<std::size_t>(victim)].last_allocated) {
      victim = static_cast<int>(c);
    }
  }
  if (victim >= 0) return victim;
  if (owners_[static_cast<std::size_t>(beneficiary)].workers >= Guaranteed(beneficiary, pool)) {
    return -1;
  }
  int surplus = 0;
  for (std::size_t c = 0; c < owners_.size(); ++c) {
    const int above = owners_[c].workers - Guaranteed(static_cast<int>(c), pool);
    if (static_cast<int>(c) == beneficiary || above <= surplus) continue;
    surplus = above;
    victim = static_cast<int>(c);
  }
  return victim;
}

void Everest::MarkSpare(int service_class, const PoolState& /*pool*/) {
  Owner& owner = owners_[static_cast<std::size_t>(service_class)];
  const double busy = owner.gap_ns > 0 ? owner.mean_ns / owner.gap_ns : 0;  // lambda * t
  const int spare = static_cast<int>(std::floor(owner.workers - busy));
  owner.marked = form_ == Form::kAe ? owner.workers : std::clamp(spare, 0, owner.workers);
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
  next_owner_[i] = -1;
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
