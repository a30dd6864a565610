// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/seed_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gopmill::sim {
namespace {

constexpr std::size_t kPoliciesAbreast = 4;

// The mean as the table of single runs has it, and its interval with one digit more.
std::string Cell(const Estimate& value, const Estimate& ratio, const Figure& figure) {
  if (value.count == 0) return "-";
  std::string text = fmt::format("{:.{}f} ±{:.{}f}", value.mean * figure.scale, figure.digits,
                                 value.half_width * figure.scale, figure.digits + 1);
  if (ratio.count > 0) text += fmt::format("  x{:.3f} ±{:.3f}", ratio.mean, ratio.half_width);
  return text;
}

std::string TableOf(const SeedRuns& seeds, const std::vector<std::string>& names, std::size_t from,
                    std::size_t to) {
  std::string text = fmt::format("{:<10}", "");
  for (std::size_t policy = from; policy < to; ++policy) {
    text += fmt::format("  {:<34}", names[policy]);
  }
  text += "\n";
  for (const Figure& figure : Figures()) {
    if (figure.heading.empty()) continue;
    text += fmt::format("{:<10}", figure.heading);
    for (std::size_t policy = from; policy < to; ++policy) {
      const Estimate ratio = policy > 0 ? seeds.Ratio(policy, figure) : Estimate{};
      text += fmt::format("  {:<34}", Cell(seeds.Of(policy, figure), ratio, figure));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

SeedRuns::SeedRuns(const SeedGroup& group, const std::vector<GridRun>& runs, std::size_t policies)
    : runs_(policies) {
  for (std::size_t policy = 0; policy < policies; ++policy) {
    for (const std::size_t point : group.points) {
      runs_[policy].push_back(&runs[point * policies + policy]);
    }
  }
}

Estimate SeedRuns::Of(std::size_t policy, const Figure& figure) const {
  std::vector<double> values;
  for (const GridRun* run : runs_[policy]) {
    if (!run->result || !IsMeasured(figure, *run->result)) return {};
    values.push_back(*run->result.*figure.value);
  }
  return Estimated(values);
}

Estimate SeedRuns::Ratio(std::size_t policy, const Figure& figure) const {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < runs_[policy].size(); ++i) {
    const auto& mine = runs_[policy][i]->result;
    const auto& first = runs_[0][i]->result;
    if (!mine || !first || !IsMeasured(figure, *mine)) return {};
    if (!IsMeasured(figure, *first) || *first.*figure.value == 0) return {};
    ratios.push_back(*mine.*figure.value / *first.*figure.value);
  }
  return Estimated(ratios);
}

std::string SeedRuns::Failure(std::size_t policy) const {
  for (const GridRun* run : runs_[policy]) {
    if (!run->result) return run->error.message;
  }
  return {};
}

std::string SeedTableText(const std::vector<SeedGroup>& groups, const std::vector<GridRun>& runs,
                          std::size_t policies) {
  std::string text;
  for (const SeedGroup& group : groups) {
    const SeedRuns seeds(group, runs, policies);
    std::vector<std::string> names;
    for (std::size_t policy = 0; policy < policies; ++policy) names.push_back(runs[policy].policy);
    if (!text.empty()) text += "\n";
    for (const auto& [name, value] : group.settings) text += name + " " + value + ", ";
    text += fmt::format("{} seeds: mean ±95 % interval, x: through {} with the same seed\n",
                        group.points.size(), names[0]);
    for (std::size_t from = 0; from < policies; from += kPoliciesAbreast) {
      text += TableOf(seeds, names, from, std::min(from + kPoliciesAbreast, policies));
    }
    for (std::size_t policy = 0; policy < policies; ++policy) {
      const std::string failure = seeds.Failure(policy);
      if (!failure.empty()) text += names[policy] + " cannot serve this: " + failure + "\n";
    }
  }
  return text;
}

}  // namespace gopmill::sim
