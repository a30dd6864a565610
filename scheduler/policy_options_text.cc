// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policy_options_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>
#include <vector>

#include "base/digits.h"
#include "base/words.h"

namespace gopmill {
namespace {

constexpr std::array kNames = {
    PolicyOptionName{"hash", "mixed or printed", "weight function of the hash"},
    PolicyOptionName{"minimum", "plain or non-zero", "which queue is the smallest"},
    PolicyOptionName{"weight", "weighted or printed", "numerator of the cache-aware weight"},
    PolicyOptionName{"running", "counted or not-counted", "the running unit in its queue"},
    PolicyOptionName{"children", "by-workers or equal", "shares of tree nodes of unequal size"},
    PolicyOptionName{"measure", "bytes or predicted", "what queues are measured in"},
    PolicyOptionName{"parent", "any-idle or all-idle", "when a parent's queue is 0"},
    PolicyOptionName{"node-ids", "unique or per-level", "numbers of tree nodes for the hash"},
    PolicyOptionName{"home", "descent or flat", "home of a stream under a tree policy"},
    PolicyOptionName{"share", "two-level or one-level", "form of the proportional-share layer"},
    PolicyOptionName{"sets", "excluding or repeated", "draws of a stream's set of workers"},
    PolicyOptionName{"beta", "0 to 10", "change of a share that makes its set anew (0.16)"},
    PolicyOptionName{"contexts", "1 to 4096", "codec contexts a worker is taken to keep (8)"},
    PolicyOptionName{"ratios",
                     "e5335, opteron-2350, mesh, core/l2/l3/numa/package/machine like "
                     "1/1.25/1.5/2/2.5/3, rows of a matrix like 1/1.5;1.5/1, or FILE.json "
                     "with such rows",
                     "communication ratios"},
};

const PolicyOptionName& EntryOf(std::string_view name) {
  return *std::ranges::find(kNames, name, &PolicyOptionName::name);
}

Error Bad(std::string_view name, std::string_view value) {
  return InvalidArgument(
      "scheduler-options",
      "\"" + std::string(value) + "\" is not a value of " + std::string(name) + ".",
      std::string(name) + "=" + std::string(EntryOf(name).accepted));
}

// The two values of a switch, the default first.
template <class Rule>
struct Choice {
  std::string_view name;
  Rule PolicyOptions::*field;
  std::array<std::pair<std::string_view, Rule>, 2> values;
};

template <class Rule>
Status Choose(const Choice<Rule>& choice, std::string_view value, PolicyOptions& options) {
  for (const auto& [text, rule] : choice.values) {
    if (text != value) continue;
    options.*choice.field = rule;
    return OkStatus();
  }
  return Bad(choice.name, value);
}

bool ReadNumber(std::string_view text, double low, double high, double& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  return code == std::errc{} && stop == end && number >= low && number <= high;
}

Status SetLevels(std::string_view value, PolicyOptions& options) {
  LevelRatios levels;
  const std::array<double*, 6> fields = {&levels.core, &levels.l2,      &levels.l3,
                                         &levels.numa, &levels.package, &levels.machine};
  std::string_view rest = value;
  for (double* const field : fields) {
    const std::size_t end = rest.find('/');
    if (!ReadNumber(rest.substr(0, end), 1, 1e6, *field)) return Bad("ratios", value);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  if (!rest.empty()) return Bad("ratios", value);
  options.ratios.levels = levels;
  options.ratios.matrix.clear();
  return OkStatus();
}

// "1/1.5;1.5/1"; that it is symmetric and fits the workers is for ValidateRatios to say.
Status SetMatrix(std::string_view value, PolicyOptions& options) {
  const std::vector<std::string_view> rows = Split(value, ';');
  if (rows.size() > kMaxMatrixWorkers) return Bad("ratios", "more than 256 rows");
  std::vector<double> matrix;
  for (const std::string_view row : rows) {
    const std::vector<std::string_view> numbers = Split(row, '/');
    if (numbers.size() != rows.size()) return Bad("ratios", row);
    for (const std::string_view number : numbers) {
      if (!ReadNumber(number, 1, 1e6, matrix.emplace_back())) return Bad("ratios", number);
    }
  }
  options.ratios.matrix = std::move(matrix);
  return OkStatus();
}

Status SetRatios(std::string_view value, int workers, PolicyOptions& options) {
  if (value == "e5335") {
    options.ratios = {.levels = XeonE5335Ratios()};
    return OkStatus();
  }
  if (value == "opteron-2350") {
    options.ratios = {.levels = Opteron2350Ratios()};
    return OkStatus();
  }
  if (value == "mesh") {
    GOPMILL_ASSIGN_OR_RETURN(options.ratios.matrix, MeshRatios(workers));
    return OkStatus();
  }
  return value.find(';') == std::string_view::npos ? SetLevels(value, options)
                                                   : SetMatrix(value, options);
}

Status SetSwitch(std::string_view name, std::string_view value, PolicyOptions& o) {
  using P = PolicyOptions;
  if (name == "hash") {
    return Choose<HashKind>(
        {name, &P::hash, {{{"mixed", HashKind::kMixed}, {"printed", HashKind::kPrinted}}}}, value,
        o);
  }
  if (name == "minimum") {
    return Choose<MinimumRule>(
        {name,
         &P::minimum,
         {{{"plain", MinimumRule::kPlain}, {"non-zero", MinimumRule::kNonZero}}}},
        value, o);
  }
  if (name == "weight") {
    return Choose<WeightRule>(
        {name,
         &P::weight,
         {{{"weighted", WeightRule::kWeightedMinimum}, {"printed", WeightRule::kPrintedMinimum}}}},
        value, o);
  }
  if (name == "running") {
    return Choose<RunningRule>(
        {name,
         &P::running,
         {{{"counted", RunningRule::kCounted}, {"not-counted", RunningRule::kNotCounted}}}},
        value, o);
  }
  if (name == "children") {
    return Choose<ChildRule>(
        {name,
         &P::children,
         {{{"by-workers", ChildRule::kByWorkers}, {"equal", ChildRule::kEqual}}}},
        value, o);
  }
  if (name == "measure") {
    return Choose<QueueMeasure>(
        {name,
         &P::measure,
         {{{"bytes", QueueMeasure::kBytes}, {"predicted", QueueMeasure::kPredicted}}}},
        value, o);
  }
  if (name == "parent") {
    return Choose<ParentRule>(
        {name,
         &P::parent,
         {{{"any-idle", ParentRule::kAnyIdle}, {"all-idle", ParentRule::kAllIdle}}}},
        value, o);
  }
  if (name == "node-ids") {
    return Choose<NodeIdRule>(
        {name,
         &P::node_ids,
         {{{"unique", NodeIdRule::kUnique}, {"per-level", NodeIdRule::kPerLevel}}}},
        value, o);
  }
  if (name == "home") {
    return Choose<HomeRule>(
        {name, &P::home, {{{"descent", HomeRule::kDescent}, {"flat", HomeRule::kFlat}}}}, value, o);
  }
  if (name == "share") {
    return Choose<ShareRule>(
        {name,
         &P::share,
         {{{"two-level", ShareRule::kTwoLevel}, {"one-level", ShareRule::kOneLevel}}}},
        value, o);
  }
  return Choose<SetRule>(
      {name, &P::sets, {{{"excluding", SetRule::kExcluding}, {"repeated", SetRule::kRepeated}}}},
      value, o);
}

Status SetOne(std::string_view name, std::string_view value, int workers, PolicyOptions& options) {
  if (name == "beta") {
    return ReadNumber(value, 0, 10, options.beta) ? OkStatus() : Status(Bad(name, value));
  }
  if (name == "contexts") {
    const auto contexts = ParseDigits(value);
    if (!contexts || *contexts < 1 || *contexts > 4096) return Bad(name, value);
    options.contexts_per_worker = static_cast<int>(*contexts);
    return OkStatus();
  }
  if (name == "ratios") return SetRatios(value, workers, options);
  return SetSwitch(name, value, options);
}

}  // namespace

std::span<const PolicyOptionName> PolicyOptionNames() { return kNames; }

Status ParsePolicyOptions(const std::string& text, int workers, PolicyOptions& options) {
  std::string_view rest = text;
  std::set<std::string_view> set;
  while (!rest.empty()) {
    const std::size_t end = rest.find(',');
    const std::string_view part = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    const std::size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    const bool known = std::ranges::find(kNames, name, &PolicyOptionName::name) != kNames.end();
    if (!known || equals == std::string_view::npos) {
      std::string names;
      for (const PolicyOptionName& each : kNames) {
        names += (names.empty() ? "" : ", ") + std::string(each.name);
      }
      return InvalidArgument("scheduler-options",
                             "\"" + std::string(part) + "\" is not NAME=VALUE with a known name.",
                             names);
    }
    if (!set.insert(name).second) {
      return InvalidArgument("scheduler-options", "\"" + std::string(name) + "\" is set twice.",
                             "each option once");
    }
    GOPMILL_RETURN_IF_ERROR(SetOne(name, part.substr(equals + 1), workers, options));
  }
  return OkStatus();
}

}  // namespace gopmill
