// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <set>
#include <thread>

#include "base/digits.h"
#include "base/thread.h"
#include "base/thread_safety.h"
#include "base/words.h"
#include "scheduler/policy_registry.h"

namespace gopmill::sim {
namespace {

constexpr const char* kAcceptedSweep =
    "NAME=FROM:TO:STEP or NAME=VALUE,VALUE,...; values of classes, outages and scheduler-options "
    "between |";
constexpr std::size_t kMaxValues = 1000;
constexpr std::int64_t kMaxSeed = 4294967295;

std::optional<double> Number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole_text = error == std::errc() && end == text.data() + text.size();
  return whole_text && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

Error BadSweep(const std::string& text, std::string_view why) {
  return InvalidArgument("sweep", fmt::format("\"{}\": {}", text.substr(0, 80), why),
                         kAcceptedSweep);
}

// Sums of steps like 0.1 are not exact; nine digits are what people mean. Whole numbers, of which
// seeds have ten, are meant to the last one.
std::string ValueText(double value, double step) {
  const double whole = std::round(value);
  const bool is_whole = std::abs(value - whole) < 1e-9 * step && std::abs(whole) < 1e15;
  return is_whole ? fmt::format("{}", static_cast<std::int64_t>(whole))
                  : fmt::format("{:.9g}", value);
}

// Two points alike would be taken for two seeds of one: 1, 1.0 and 01 are.
Status CheckDistinct(const std::string& text, const std::vector<std::string>& values) {
  std::set<double> numbers;
  std::set<std::string_view> texts;
  for (const std::string& value : values) {
    if (value.empty()) return BadSweep(text, "a value is empty.");
    const auto number = Number(value);
    const bool is_new = number ? numbers.insert(*number).second : texts.insert(value).second;
    if (!is_new) return BadSweep(text, "a value is there twice.");
  }
  return OkStatus();
}

// The values of FROM:TO:STEP; nothing if the text has not that form.
Result<std::vector<std::string>> Range(const std::string& text,
                                       const std::vector<std::string_view>& parts) {
  const auto from = Number(parts[0]);
  const auto to = Number(parts[1]);
  const auto step = Number(parts[2]);
  if (!from || !to || !step) return BadSweep(text, "FROM, TO and STEP are not all numbers.");
  if (*step <= 0 || *to < *from) return BadSweep(text, "STEP is not above 0, or TO is below FROM.");
  const double count = std::floor((*to - *from) / *step + 1e-9) + 1;
  if (!(count <= static_cast<double>(kMaxValues))) return BadSweep(text, "over 1000 values.");
  std::vector<std::string> values;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    values.push_back(ValueText(*from + i * *step, *step));
  }
  return values;
}

bool IsParam(const std::string& name) {
  return name == "pus" || name == "seed" ||
         std::ranges::find(ExperimentParams(), name, &ExperimentParam::name) !=
             ExperimentParams().end();
}

Status SetSeed(Experiment& experiment, const std::string& value) {
  const auto number = ParseDigits(value);
  if (!number || *number > kMaxSeed) {
    return InvalidArgument("seed", fmt::format("\"{}\" is not a seed.", value.substr(0, 80)),
                           "0 to 4294967295");
  }
  experiment.seed = static_cast<std::uint64_t>(*number);
  return OkStatus();
}

Status Apply(Experiment& experiment, const std::string& name, const std::string& value) {
  if (name == "seed") return SetSeed(experiment, value);
  return name == "pus" ? SetParam(experiment, "topology", "chiplet:" + value)
                       : SetParam(experiment, name, value);
}

// Ratios are read whatever the policies: they also say what moving costs.
Status CheckRules(const std::string& rules, const std::vector<std::string>& policies) {
  std::string others;
  for (const std::string_view rule : Split(rules, ',')) {
    if (!rule.starts_with("ratios=")) others += std::string(rule) + ",";
  }
  return CheckOptionsAreRead(others, policies);
}

// What the threads of one grid share.
class GridWork {
 public:
  GridWork(const std::vector<GridPoint>& points, const std::vector<std::string>& policies,
           const GridProgress& progress, const std::stop_token& stop)
      : points_(points), progress_(progress), stop_(stop) {
    for (std::size_t point = 0; point < points.size(); ++point) {
      for (const std::string& policy : policies)
        runs_.push_back({.point = point, .policy = policy, .error = Cancelled()});
    }
  }

  void Work() {
    for (std::size_t i = next_++; i < runs_.size() && !failed_ && !stop_.stop_requested();
         i = next_++) {
      RunOne(runs_[i]);
      const MutexLock lock(mutex_);
      ++done_;
      if (progress_) progress_(done_, runs_.size());
    }
  }

  Result<std::vector<GridRun>> TakeRuns() {
    const MutexLock lock(mutex_);
    if (failure_) return *failure_;
    return std::move(runs_);
  }

 private:
  void RunOne(GridRun& run) {
    Result<PreparedExperiment> prepared = Prepare(points_[run.point].experiment);
    if (!prepared.ok()) {
      const MutexLock lock(mutex_);
      if (!failure_) failure_ = prepared.error();
      failed_ = true;
      return;
    }
    prepared->params.policy = run.policy;
    prepared->params.stop = stop_;
    Result<SimResult> result = Simulate(prepared->params, prepared->machine, prepared->workload);
    if (result.ok()) {
      run.result = std::move(result).value();
      run.error = {};
    } else {
      run.error = result.error();
    }
  }

  const std::vector<GridPoint>& points_;
  const GridProgress& progress_;
  const std::stop_token& stop_;
  std::vector<GridRun> runs_;  // each written by one thread
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  Mutex mutex_;  // guards what follows
  std::size_t done_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::optional<Error> failure_ GOPMILL_GUARDED_BY(mutex_);
};

}  // namespace

Result<SweepAxis> ParseSweep(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return BadSweep(text, "there is no \"=\".");
  SweepAxis axis{.name = text.substr(0, equals), .values = {}};
  if (!IsParam(axis.name)) {
    std::string names = "pus, seed";
    for (const ExperimentParam& param : ExperimentParams()) names += ", " + std::string(param.name);
    return InvalidArgument("sweep", "\"" + axis.name.substr(0, 40) + "\" cannot be swept.", names);
  }
  const std::string rest = text.substr(equals + 1);
  const std::vector<std::string_view> parts = Split(rest, ':');
  if (parts.size() == 3 && Number(parts[0])) {
    GOPMILL_ASSIGN_OR_RETURN(axis.values, Range(text, parts));
    GOPMILL_RETURN_IF_ERROR(CheckDistinct(text, axis.values));
    return axis;
  }
  const bool has_commas =
      axis.name == "classes" || axis.name == "outages" || axis.name == "scheduler-options";
  const char separator = has_commas ? '|' : ',';
  for (const std::string_view value : Split(rest, separator)) axis.values.emplace_back(value);
  if (has_commas && axis.values.size() < 2 && rest.find(',') != std::string::npos) {
    return BadSweep(text, "is that one value or several? They have commas of their own.");
  }
  if (axis.values.size() > kMaxValues) return BadSweep(text, "over 1000 values.");
  GOPMILL_RETURN_IF_ERROR(CheckDistinct(text, axis.values));
  return axis;
}

Result<std::vector<GridPoint>> MakeGrid(const Experiment& base,
                                        const std::vector<SweepAxis>& axes) {
  std::vector<GridPoint> points = {{.experiment = base, .settings = {}}};
  std::set<std::string_view> swept;
  for (const SweepAxis& axis : axes) {
    const std::string_view name = axis.name == "pus" ? "topology" : std::string_view(axis.name);
    if (IsGiven(base, std::string(name))) {
      return InvalidArgument(axis.name, "It is given and swept.", "one of the two");
    }
    if (!swept.insert(name).second) {
      return InvalidArgument(axis.name, "It is swept twice.", "all values in one --sweep");
    }
    if (points.size() * axis.values.size() > kMaxGridPoints) {
      return InvalidArgument("sweep", "The sweeps make too many points.",
                             fmt::format("at most {}", kMaxGridPoints));
    }
    std::vector<GridPoint> product;
    for (const GridPoint& point : points) {
      for (const std::string& value : axis.values) {
        GridPoint& added = product.emplace_back(point);
        GOPMILL_RETURN_IF_ERROR(Apply(added.experiment, axis.name, value));
        added.settings.emplace_back(axis.name, value);
      }
    }
    points = std::move(product);
  }
  return points;
}

Result<std::vector<GridRun>> RunGrid(const std::vector<GridPoint>& points,
                                     const std::vector<std::string>& policies, int threads,
                                     const GridProgress& progress, const std::stop_token& stop) {
  for (const GridPoint& point : points) {
    GOPMILL_RETURN_IF_ERROR(CheckRules(point.experiment.rules, policies));
  }
  GridWork work(points, policies, progress, stop);
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) {
      auto other = StartThread([&work] { work.Work(); });
      if (!other.ok()) break;  // fewer do it, too
      others.push_back(*std::move(other));
    }
    work.Work();
  }
  return work.TakeRuns();
}

void KeepComplete(std::vector<GridPoint>& points, std::vector<GridRun>& runs) {
  std::vector<char> complete(points.size(), 1);
  for (const GridRun& run : runs) {
    if (run.error.code == Code::kCancelled && !run.result) complete[run.point] = 0;
  }
  std::erase_if(runs, [&](const GridRun& run) { return complete[run.point] == 0; });
  std::vector<GridPoint> kept;
  std::vector<std::size_t> place(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    place[i] = kept.size();
    if (complete[i] != 0) kept.push_back(std::move(points[i]));
  }
  for (GridRun& run : runs) run.point = place[run.point];
  points = std::move(kept);
}

}  // namespace gopmill::sim
