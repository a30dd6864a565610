// SPDX-License-Identifier: Apache-2.0
#include "scheduler/service_class.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

#include "base/digits.h"
#include "base/words.h"

namespace gopmill {
namespace {

constexpr std::string_view kForm = "NAME:WEIGHT[:GUARANTEED[:MAX_WORKERS[:DEADLINE_MS]]],...";
// An hour; beyond it nobody waits for a deadline.
constexpr double kMaxDeadlineMs = 3'600'000;
// What served time is divided by. Within them a millisecond is 1 to 1e12, and FairQueue, which
// keeps its sums small, loses no units.
constexpr double kLeastWeight = 1e-6, kMostWeight = 1e6;

Error Bad(const std::string& what) { return InvalidArgument("classes", what, std::string(kForm)); }

Status ValidateClass(const ServiceClass& c) {
  if (!IsPlainName(c.name) || c.name.size() > 32) {  // others no request could ask for
    return Bad("A class name is not 1 to 32 letters, digits, '-', '_' and '.'.");
  }
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
    const auto workers = ParseDigits(Take(text, ':'));
    if (!workers || *workers > 1'000'000) {
      return Bad("The maximum of workers of class " + c.name +
                 " is not a whole number up to 1000000.");
    }
    c.max_workers = static_cast<int>(*workers);
  }
  if (!text.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(const double ms, ParseNumber(Take(text, ':'), c));
    if (ms < 0 || ms > kMaxDeadlineMs) {
      return Bad("The deadline of class " + c.name + " is not within 0 to 3600000 ms.");
    }
    c.deadline = Duration(std::llround(ms * 1e6));
    if (ms > 0 && c.deadline == Duration::zero()) {  // which would be none
      return Bad("The deadline of class " + c.name + " is less than a nanosecond.");
    }
  }
  if (!text.empty()) return Bad("Class " + c.name + " has too many fields.");
  return c;
}

// The most that a class may use, as a part of all workers.
double MostOf(const ServiceClass& c, int workers) {
  return c.max_workers > 0
             ? std::min(1.0, static_cast<double>(c.max_workers) / std::max(1, workers))
             : 1.0;
}

// Who gets what part of 1: some what their guarantee or maximum says, the others by weight.
struct Division {
  std::uint64_t by_weight = 0;  // bit c: that class
  std::uint64_t raised = 0;     // to its guarantee
  ClassWeights fixed{};         // the parts of those whose weight does not decide
  double left = 1;              // what these leave
  double free = 0;              // sum of the weights of those that share it

  static bool Has(std::uint64_t set, std::size_t c) { return (set >> c & 1U) != 0; }
  // By how much the weight alone gives the class too little or too much; times `free`, so that
  // equal parts are seen to be equal.
  [[nodiscard]] double Lack(const ServiceClass& c) const {
    return std::max(0.0, c.guaranteed * free - left * c.weight);
  }
  [[nodiscard]] double Excess(const ServiceClass& c, int workers) const {
    return std::max(0.0, left * c.weight - MostOf(c, workers) * free);
  }
};

// What is left to the weights of `d` once `fixed` is taken, and by how much those that get too
// little outweigh those that get too much.
double Balance(std::span<const ServiceClass> classes, int workers, Division& d) {
  d.left = 1, d.free = 0;
  for (const double part : d.fixed) d.left -= part;
  d.left = std::max(0.0, d.left);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (Division::Has(d.by_weight, c)) d.free += classes[c].weight;
  }
  double balance = 0;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (!Division::Has(d.by_weight, c)) continue;
    balance += d.Lack(classes[c]) - d.Excess(classes[c], workers);
  }
  return balance;
}

// Finds the one factor with which all parts are  weight * factor  within their bounds: while some
// are out of theirs, those are fixed that are out by more in sum, since fixing the others first
// could undo what made them so.
Division Divide(std::span<const ServiceClass> classes, std::uint64_t backlogged, int workers) {
  Division d;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    d.by_weight |= backlogged & (std::uint64_t{1} << c);
  }
  for (std::uint64_t before = 0; before != d.by_weight;) {
    before = d.by_weight;
    const double balance = Balance(classes, workers, d);
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (!Division::Has(before, c)) continue;
      const bool low = d.Lack(classes[c]) > 0 && balance >= 0;
      const bool high = d.Excess(classes[c], workers) > 0 && balance <= 0;
      if (!low && !high) continue;
      d.fixed[c] = low ? classes[c].guaranteed : MostOf(classes[c], workers);
      d.by_weight &= ~(std::uint64_t{1} << c);
      if (low) d.raised |= std::uint64_t{1} << c;
    }
  }
  return d;
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
  if (rest.ends_with(',')) return Bad("Behind the last ',' of the classes there is none.");
  while (!rest.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(classes.emplace_back(), ParseClass(Take(rest, ',')));
  }
  if (classes.empty()) return Bad("The list of classes is empty.");
  GOPMILL_RETURN_IF_ERROR(ValidateClasses(classes));
  return classes;
}

Status CheckGuarantees(std::span<const ServiceClass> classes, int workers) {
  for (const ServiceClass& c : classes) {
    if (c.guaranteed <= MostOf(c, workers) + 1e-9) continue;
    return Bad("Class " + c.name + " is guaranteed more of the " + std::to_string(workers) +
               " workers than the " + std::to_string(c.max_workers) + " that it may use.");
  }
  return OkStatus();
}

ClassWeights EffectiveWeights(std::span<const ServiceClass> classes, std::uint64_t backlogged,
                              int workers) {
  // What is left to classes whose guarantee is 0 when those of others take all.
  constexpr double kLeast = 1e-6;
  const Division d = Divide(classes, backlogged, workers);
  const double scale = d.free > 0 ? d.free / std::max(d.left, kLeast) : 1;
  ClassWeights weights{};
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (!Division::Has(backlogged, c)) continue;
    weights[c] = Division::Has(d.raised, c) ? d.fixed[c] * scale
                                            : std::max(classes[c].weight, d.fixed[c] * scale);
  }
  return weights;
}

std::vector<double> AssuredShares(const std::vector<ServiceClass>& classes, int workers) {
  const Division d = Divide(classes, ~std::uint64_t{0}, workers);
  std::vector<double> shares;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    shares.push_back(Division::Has(d.by_weight, c) ? d.left * classes[c].weight / d.free
                                                   : d.fixed[c]);
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (sum > 1 - 1e-9) return shares;
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace gopmill
