// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/outages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "base/digits.h"
#include "base/words.h"

namespace gopmill::sim {
namespace {

constexpr std::size_t kMostOutages = 10'000;
constexpr double kMaxSeconds = 1e8;
constexpr const char* kForm =
    "WORKER@FROM or WORKER@FROM:TO in seconds, FROM < TO <= 100000000, at most 10000 with commas "
    "between";

struct Outage {
  int worker = 0;
  double from_s = 0, to_s = std::numeric_limits<double>::infinity();
};

Error Bad(std::string what) { return InvalidArgument("outages", std::move(what), kForm); }

std::optional<double> ParseTime(std::string_view text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(seconds >= 0 && seconds <= kMaxSeconds) || std::signbit(seconds)) return std::nullopt;
  return seconds;
}

std::optional<Outage> ParseOne(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return std::nullopt;
  const auto worker = ParseDigits(text.substr(0, at));
  const std::vector<std::string_view> times = Split(text.substr(at + 1), ':');
  const auto from = ParseTime(times[0]);
  if (!worker || *worker > std::numeric_limits<int>::max() || !from || times.size() > 2) {
    return std::nullopt;
  }
  Outage outage{.worker = static_cast<int>(*worker), .from_s = *from};
  if (times.size() < 2) return outage;
  const auto to = ParseTime(times[1]);
  if (!to || *to <= *from) return std::nullopt;
  outage.to_s = *to;
  return outage;
}

// Of outages by worker and time.
Status CheckApart(const std::vector<Outage>& outages) {
  for (std::size_t i = 1; i < outages.size(); ++i) {
    const Outage& before = outages[i - 1];
    if (before.worker == outages[i].worker && outages[i].from_s < before.to_s) {
      return Bad(
          fmt::format("Worker {} is out twice at {:g} s.", before.worker, outages[i].from_s));
    }
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<WorkerChange>> ParseOutages(const std::string& text) {
  std::vector<WorkerChange> changes;
  if (text.empty()) return changes;
  std::vector<Outage> outages;
  for (const std::string_view one : Split(text, ',', kMostOutages + 1)) {
    const auto outage = ParseOne(one);
    if (!outage) return Bad(fmt::format("\"{}\" is no outage.", one.substr(0, 80)));
    outages.push_back(*outage);
  }
  if (outages.size() > kMostOutages) return Bad("There are too many.");
  std::ranges::stable_sort(outages, {},
                           [](const Outage& o) { return std::pair(o.worker, o.from_s); });
  GOPMILL_RETURN_IF_ERROR(CheckApart(outages));
  for (const Outage& outage : outages) {
    changes.push_back({.at_ms = outage.from_s * 1000, .worker = outage.worker, .available = false});
    if (std::isfinite(outage.to_s)) {
      changes.push_back({.at_ms = outage.to_s * 1000, .worker = outage.worker, .available = true});
    }
  }
  // Who comes back is there before another one goes.
  std::ranges::stable_sort(changes, {},
                           [](const WorkerChange& c) { return std::pair(c.at_ms, !c.available); });
  return changes;
}

Status CheckOutages(const std::vector<WorkerChange>& changes, int workers) {
  int there = workers;
  for (const WorkerChange& change : changes) {
    if (change.worker < 0 || change.worker >= workers) {
      return InvalidArgument("outages", fmt::format("There is no worker {}.", change.worker),
                             fmt::format("0 to {}", workers - 1));
    }
    there += change.available ? 1 : -1;
  }
  if (there > 0) return OkStatus();
  return InvalidArgument("outages", "In the end no worker is left.",
                         "one that stays or comes back");
}

}  // namespace gopmill::sim
