// SPDX-License-Identifier: Apache-2.0
#include "scheduler/service_class.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

namespace gopmill {
namespace {

constexpr std::string_view kForm = "NAME:WEIGHT[:GUARANTEED[:MAX_WORKERS[:DEADLINE_MS]]],...";
// An hour; beyond it nobody waits for a deadline.
constexpr double kMaxDeadlineMs = 3'600'000;
// What served time is divided by: beyond them sums of it would lose single units.
constexpr double kLeastWeight = 1e-6, kMostWeight = 1e6;

Error Bad(const std::string& what) { return InvalidArgument("classes", what, std::string(kForm)); }

Status ValidateClass(const ServiceClass& c) {
  if (c.name.empty() || c.name.size() > 32) return Bad("A class name is empty or longer than 32.");
  if (!(c.weight >= kLeastWeight && c.weight <= kMostWeight)) {
    return Bad("The weight of class " + c.name + " is not within 0.000001 to 1000000.");
  }
  if (!std::isfinite(c.guaranteed) || c.guaranteed < 0 || c.guaranteed > 1) {
    return Bad("The guaranteed share of class " + c.name + " is not within 0 to 1.");
  }
  if (c.max_workers < 0) return Bad("The maximum of workers of class " + c.name + " is negative.");
  if (c.deadline < Duration::zero())
    return Bad("The deadline of class " + c.name + " is negative.");
  return OkStatus();
}

// Takes the text up to the next `separator` off the front.
std::string_view Take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return part;
}

Result<double> ParseNumber(std::string_view text, const ServiceClass& c) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return Bad("In class " + c.name + ", \"" + std::string(text) + "\" is not a number.");
  }
  return value;
}

Result<ServiceClass> ParseClass(std::string_view text) {
  ServiceClass c;
  c.name = std::string(Take(text, ':'));
  if (text.empty()) return Bad("Class \"" + c.name + "\" has no weight.");
  GOPMILL_ASSIGN_OR_RETURN(c.weight, ParseNumber(Take(text, ':'), c));
  if (!text.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(c.guaranteed, ParseNumber(Take(text, ':'), c));
  }
  if (!text.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(const double workers, ParseNumber(Take(text, ':'), c));
    if (workers < 0 || workers > 1e6 || workers != std::floor(workers)) {
      return Bad("The maximum of workers of class " + c.name + " is not a whole number.");
    }
    c.max_workers = static_cast<int>(workers);
  }
  if (!text.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(const double ms, ParseNumber(Take(text, ':'), c));
    if (ms < 0 || ms > kMaxDeadlineMs) {
      return Bad("The deadline of class " + c.name + " is not within 0 to 3600000 ms.");
    }
    c.deadline = Duration(std::llround(ms * 1e6));
  }
  if (!text.empty()) return Bad("Class " + c.name + " has too many fields.");
  return c;
}

}  // namespace

Status ValidateClasses(const std::vector<ServiceClass>& classes) {
  if (classes.size() > kMaxClasses) return Bad("There are more than 64 classes.");
  std::set<std::string_view> names;
  double guaranteed = 0;
  for (const ServiceClass& c : classes) {
    GOPMILL_RETURN_IF_ERROR(ValidateClass(c));
    if (!names.insert(c.name).second) return Bad("There are two classes " + c.name + ".");
    guaranteed += c.guaranteed;
  }
  if (guaranteed > 1 + 1e-9) return Bad("The guaranteed shares add up to more than 1.");
  return OkStatus();
}

Result<std::vector<ServiceClass>> ParseClasses(const std::string& text) {
  std::vector<ServiceClass> classes;
  std::string_view rest = text;
  while (!rest.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(classes.emplace_back(), ParseClass(Take(rest, ',')));
  }
  if (classes.empty()) return Bad("The list of classes is empty.");
  GOPMILL_RETURN_IF_ERROR(ValidateClasses(classes));
  return classes;
}

ClassWeights EffectiveWeights(std::span<const ServiceClass> classes, std::uint64_t backlogged) {
  // What is left to classes whose guarantee is 0 when those of others take all.
  constexpr double kLeast = 1e-6;
  const auto has = [](std::uint64_t set, std::size_t c) { return (set >> c & 1U) != 0; };
  std::uint64_t raised = 0;  // to their guarantees
  double left = 1, free = 0;
  for (bool changed = true; changed;) {
    changed = false;
    left = 1, free = 0;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (!has(backlogged, c)) continue;
      if (has(raised, c)) {
        left -= classes[c].guaranteed;
      } else {
        free += classes[c].weight;
      }
    }
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (!has(backlogged & ~raised, c)) continue;
      if (left * classes[c].weight >= classes[c].guaranteed * free) continue;
      raised |= std::uint64_t{1} << c;
      changed = true;
    }
  }
  const double scale = free > 0 ? free / std::max(left, kLeast) : 1;
  ClassWeights weights{};
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (!has(backlogged, c)) continue;
    weights[c] = has(raised, c) ? classes[c].guaranteed * scale : classes[c].weight;
  }
  return weights;
}

std::vector<double> AssuredShares(const std::vector<ServiceClass>& classes) {
  const ClassWeights weights = EffectiveWeights(classes, ~std::uint64_t{0});
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> shares;
  for (std::size_t i = 0; i < classes.size(); ++i) shares.push_back(weights[i] / sum);
  return shares;
}

}  // namespace gopmill
