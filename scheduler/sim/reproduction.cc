// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/reproduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "scheduler/sim/experiment.h"

namespace gopmill::sim {
namespace {

enum class Queues { kBounded, kUnbounded };
constexpr std::array kBothQueues = {Queues::kBounded, Queues::kUnbounded};
constexpr int kSeeds = 5;

using ResultValue = double SimResult::*;

// The runs of one claim, each done once and averaged over seeds.
class Runs {
 public:
  explicit Runs(Experiment base, int seeds = kSeeds) : base_(std::move(base)), seeds_(seeds) {}

  // Changes the options of the policy for the runs to come.
  std::function<void(SimulationParams&)> adjust;
  std::string adjustment;  // tells them apart

  // The mean of a figure.
  Result<double> Mean(const std::string& policy, Queues queues, ResultValue figure) {
    auto& known = results_[policy + adjustment + (queues == Queues::kBounded ? "b" : "u")];
    for (int seed = static_cast<int>(known.size()) + 1; seed <= seeds_; ++seed) {
      GOPMILL_ASSIGN_OR_RETURN(known.emplace_back(), RunOne(policy, queues, seed));
    }
    double sum = 0;
    for (const SimResult& result : known) sum += result.*figure;
    return sum / static_cast<double>(known.size());
  }

 private:
  Result<SimResult> RunOne(const std::string& policy, Queues queues, int seed) const {
    Experiment experiment = base_;
    experiment.seed = static_cast<std::uint64_t>(seed);
    experiment.queue = queues == Queues::kBounded ? 2 : 0;
    GOPMILL_ASSIGN_OR_RETURN(PreparedExperiment prepared, Prepare(experiment));
    prepared.params.policy = policy;
    if (adjust) adjust(prepared.params);
    return Simulate(prepared.params, prepared.machine, prepared.workload);
  }

  const Experiment base_;
  const int seeds_;
  std::map<std::string, std::vector<SimResult>> results_;
};

std::string Percent(double ratio) { return fmt::format("{:+.1f} %", (ratio - 1) * 100); }

// A row whose two cells come from one function of the kind of queue.
template <class Cell>
Status AddRow(std::vector<ClaimRow>& rows, std::string what, std::string published, Cell cell) {
  GOPMILL_ASSIGN_OR_RETURN(std::string bounded, cell(Queues::kBounded));
  GOPMILL_ASSIGN_OR_RETURN(std::string unbounded, cell(Queues::kUnbounded));
  rows.push_back({std::move(what), std::move(published), std::move(bounded), std::move(unbounded)});
  return OkStatus();
}

// figure(a) / figure(b) as a change in per cent.
Status AddChange(std::vector<ClaimRow>& rows, Runs& runs, std::string what, std::string published,
                 const std::string& a, const std::string& b, ResultValue figure) {
  return AddRow(rows, std::move(what), std::move(published),
                [&](Queues queues) -> Result<std::string> {
                  GOPMILL_ASSIGN_OR_RETURN(const double mine, runs.Mean(a, queues, figure));
                  GOPMILL_ASSIGN_OR_RETURN(const double other, runs.Mean(b, queues, figure));
                  return Percent(mine / std::max(1e-12, other));
                });
}

Status AddValue(std::vector<ClaimRow>& rows, Runs& runs, std::string what, std::string published,
                const std::string& policy, ResultValue figure, double scale, const char* unit) {
  return AddRow(rows, std::move(what), std::move(published),
                [&](Queues queues) -> Result<std::string> {
                  GOPMILL_ASSIGN_OR_RETURN(const double value, runs.Mean(policy, queues, figure));
                  return fmt::format("{:.2f} {}", value * scale, unit);
                });
}

// --- Transcoding ---------------------------------------------------------------------------------

constexpr std::array kOtherFive = {"rr", "sm", "hrw", "h-ahrw", "ca-ahrw"};

Experiment Transcoding(const std::string& topology) {
  Experiment experiment;
  experiment.topology = topology;
  experiment.streams = 20;
  experiment.gops = 300;
  return experiment;
}

// Packets come faster than they can be matched.
Experiment Packets(const std::string& topology, const std::string& trace) {
  Experiment experiment;
  experiment.topology = topology;
  experiment.workload = "l7";
  experiment.mix = trace;
  experiment.load = 1.5;
  return experiment;
}

Result<std::vector<ClaimRow>> ThroughputOn(const Experiment& experiment, const char* mean,
                                           const char* most) {
  Runs runs(experiment);
  std::array<double, 2> sums = {};
  std::array<double, 2> largest = {};
  for (std::size_t q = 0; q < kBothQueues.size(); ++q) {
    GOPMILL_ASSIGN_OR_RETURN(const double mine,
                             runs.Mean("h-cahrw", kBothQueues[q], &SimResult::gops_per_second));
    for (const char* other : kOtherFive) {
      GOPMILL_ASSIGN_OR_RETURN(const double theirs,
                               runs.Mean(other, kBothQueues[q], &SimResult::gops_per_second));
      sums[q] += mine / theirs / kOtherFive.size();
      largest[q] = std::max(largest[q], mine / theirs);
    }
  }
  std::vector<ClaimRow> rows = {
      {"h-cahrw over the other five, mean", mean, Percent(sums[0]), Percent(sums[1])},
      {"h-cahrw over the other five, most", most, Percent(largest[0]), Percent(largest[1])}};
  for (const char* other : {"rr", "sm", "hrw", "h-ahrw", "ca-ahrw", "fifo"}) {
    GOPMILL_RETURN_IF_ERROR(AddChange(rows, runs, std::string("h-cahrw over ") + other, "",
                                      "h-cahrw", other, &SimResult::gops_per_second));
  }
  return rows;
}

Result<std::vector<ClaimRow>> ThroughputE5335() {
  return ThroughputOn(Transcoding("e5335"), "+25.7 %", "+35.1 %");
}
Result<std::vector<ClaimRow>> ThroughputOpteron() {
  return ThroughputOn(Transcoding("opteron-2350"), "+30.5 %", "+47.0 %");
}
// As many streams per core as on the machines of eight.
Result<std::vector<ClaimRow>> ThroughputChiplet() {
  Experiment experiment = Transcoding("chiplet");
  experiment.streams = 480;
  experiment.gops = 150;
  return ThroughputOn(experiment, "", "");
}

Result<std::vector<ClaimRow>> Misses() {
  std::vector<ClaimRow> rows;
  for (const auto& [topology, published] :
       {std::pair("e5335", "-42.9 %"), std::pair("opteron-2350", "-22.9 %")}) {
    Runs runs(Transcoding(topology));
    for (const char* policy : {"ca-ahrw", "h-cahrw", "hrw"}) {
      GOPMILL_RETURN_IF_ERROR(AddChange(
          rows, runs, fmt::format("{}: cache read again, {} against rr", topology, policy),
          policy == std::string_view("hrw") ? "a little less" : published, policy, "rr",
          &SimResult::reload));
    }
  }
  return rows;
}

Result<std::vector<ClaimRow>> Overhead() {
  Runs runs(Transcoding("e5335"));
  std::vector<ClaimRow> rows;
  for (const auto& [policy, published] :
       {std::pair("h-cahrw", "microseconds"), std::pair("ps-hrw", "below 0.2 % of run time")}) {
    GOPMILL_RETURN_IF_ERROR(AddValue(rows, runs, std::string(policy) + ", decision", published,
                                     policy, &SimResult::decision_us, 1, "us"));
    GOPMILL_RETURN_IF_ERROR(
        AddRow(rows, std::string(policy) + ", part of run time", "",
               [&, name = policy](Queues queues) -> Result<std::string> {
                 GOPMILL_ASSIGN_OR_RETURN(const double us,
                                          runs.Mean(name, queues, &SimResult::decision_us));
                 GOPMILL_ASSIGN_OR_RETURN(const double ms,
                                          runs.Mean(name, queues, &SimResult::mean_service_ms));
                 return fmt::format("{:.4f} %", us / ms / 10);
               }));
  }
  return rows;
}

Result<std::vector<ClaimRow>> Order() {
  std::vector<ClaimRow> rows;
  for (const char* topology : {"e5335", "opteron-2350"}) {
    Runs runs(Transcoding(topology));
    for (const auto& [policy, published] :
         {std::pair("rr", "worst"), std::pair("h-ahrw", "between"), std::pair("ca-ahrw", "between"),
          std::pair("h-cahrw", "between"), std::pair("sm", "best"), std::pair("hrw", "best")}) {
      GOPMILL_RETURN_IF_ERROR(
          AddRow(rows, fmt::format("{}: {}, out of order and gaps", topology, policy), published,
                 [&, name = policy](Queues queues) -> Result<std::string> {
                   GOPMILL_ASSIGN_OR_RETURN(const double late,
                                            runs.Mean(name, queues, &SimResult::out_of_order));
                   GOPMILL_ASSIGN_OR_RETURN(const double gaps,
                                            runs.Mean(name, queues, &SimResult::gap_before_ms));
                   return fmt::format("{:.1f} %, {:.0f} ms", late * 100, gaps);
                 }));
    }
  }
  return rows;
}

// Seven workers of the machine that the claim was measured on.
Status AddAffinity(std::vector<ClaimRow>& rows, Experiment experiment, int seeds,
                   const std::string& what) {
  experiment.workers = 7;
  Runs runs(experiment, seeds);
  experiment.workers = 1;
  Runs one(experiment, seeds);
  GOPMILL_RETURN_IF_ERROR(AddChange(rows, runs, what + ": conn against no affinity (fifo)", "+51 %",
                                    "conn", "fifo", &SimResult::gops_per_second));
  return AddRow(rows, what + ": conn, 7 workers against 1", "6.5 x",
                [&](Queues queues) -> Result<std::string> {
                  GOPMILL_ASSIGN_OR_RETURN(const double seven,
                                           runs.Mean("conn", queues, &SimResult::gops_per_second));
                  GOPMILL_ASSIGN_OR_RETURN(const double single,
                                           one.Mean("conn", queues, &SimResult::gops_per_second));
                  return fmt::format("{:.1f} x", seven / single);
                });
}

// The source tells of both programs, and gives one figure.
Result<std::vector<ClaimRow>> Affinity() {
  std::vector<ClaimRow> rows;
  GOPMILL_RETURN_IF_ERROR(AddAffinity(rows, Packets("e5355", "mit"), 1, "L7 filter"));
  GOPMILL_RETURN_IF_ERROR(AddAffinity(rows, Transcoding("e5355"), kSeeds, "transcoding"));
  return rows;
}

// --- Proportional share --------------------------------------------------------------------------

Experiment Shares() {
  Experiment experiment = Transcoding("e5355");
  experiment.classes = "gold:5,silver:3,bronze:1";
  return experiment;
}

Result<std::vector<ClaimRow>> ShareLayer() {
  Runs runs(Shares());
  std::vector<ClaimRow> rows;
  GOPMILL_RETURN_IF_ERROR(AddChange(rows, runs, "gps-hrw against ps-hrw, throughput",
                                    "-10 % or lower", "gps-hrw", "ps-hrw",
                                    &SimResult::gops_per_second));
  GOPMILL_RETURN_IF_ERROR(AddChange(rows, runs, "ps-hrw against h-cahrw, throughput", "about equal",
                                    "ps-hrw", "h-cahrw", &SimResult::gops_per_second));
  GOPMILL_RETURN_IF_ERROR(AddChange(rows, runs, "gps-hrw against ap, throughput", "more", "gps-hrw",
                                    "ap", &SimResult::gops_per_second));
  return rows;
}

Result<std::vector<ClaimRow>> Beta() {
  Runs runs(Shares());
  std::vector<ClaimRow> rows;
  for (const double beta : {0.02, 0.04, 0.08, 0.16, 0.32, 0.64}) {
    runs.adjustment = fmt::format("{}", beta);
    runs.adjust = [beta](SimulationParams& params) { params.options.beta = beta; };
    GOPMILL_RETURN_IF_ERROR(
        AddRow(rows, fmt::format("ps-hrw, beta {:.0f} %", beta * 100), beta == 0.16 ? "best" : "",
               [&](Queues queues) -> Result<std::string> {
                 GOPMILL_ASSIGN_OR_RETURN(const double rate,
                                          runs.Mean("ps-hrw", queues, &SimResult::gops_per_second));
                 GOPMILL_ASSIGN_OR_RETURN(const double us,
                                          runs.Mean("ps-hrw", queues, &SimResult::decision_us));
                 return fmt::format("{:.1f} GOPs/s, {:.2f} us", rate, us);
               }));
  }
  return rows;
}

// --- Deep packet inspection ----------------------------------------------------------------------

Experiment L7() {
  Experiment experiment = Packets("niagara-2", "tu");
  experiment.workers = 63;
  experiment.streams = 20'000;
  return experiment;
}

Result<std::vector<ClaimRow>> L7Tree() {
  Runs runs(L7(), 1);
  std::vector<ClaimRow> rows;
  for (const auto& [rival, published] :
       {std::pair("conn", "+50.7 %"), std::pair("ahrw", "+19.8 %"), std::pair("hrw", "+22.1 %")}) {
    GOPMILL_RETURN_IF_ERROR(AddChange(rows, runs, std::string("h-ahrw over ") + rival, published,
                                      "h-ahrw", rival, &SimResult::gops_per_second));
  }
  for (const auto& [policy, imbalance, decision] :
       {std::tuple("conn", "89 %", "0.49 us"), std::tuple("h-ahrw", "7 %", "0.57 us")}) {
    GOPMILL_RETURN_IF_ERROR(AddValue(rows, runs, std::string(policy) + ", imbalance of threads",
                                     imbalance, policy, &SimResult::imbalance, 100, "%"));
    GOPMILL_RETURN_IF_ERROR(AddValue(rows, runs, std::string(policy) + ", decision", decision,
                                     policy, &SimResult::decision_us, 1, "us"));
  }
  return rows;
}

Result<std::vector<ClaimRow>> L7Theory() {
  Runs runs(L7(), 1);
  std::vector<ClaimRow> rows;
  GOPMILL_RETURN_IF_ERROR(AddChange(rows, runs, "h-ahrw over ahrw-theory, throughput", "+3 %",
                                    "h-ahrw", "ahrw-theory", &SimResult::gops_per_second));
  GOPMILL_RETURN_IF_ERROR(AddChange(rows, runs, "ahrw-theory over h-ahrw, decision", "+50 %",
                                    "ahrw-theory", "h-ahrw", &SimResult::decision_us));
  return rows;
}

constexpr std::array kClaims = {
    Claim{"throughput-e5335", "transcoding on two Xeon E5335", &ThroughputE5335},
    Claim{"throughput-opteron", "transcoding on two Opteron 2350", &ThroughputOpteron},
    Claim{"throughput-chiplet", "480 such streams on 2 x 12 L3 x 8 cores (nothing published)",
          &ThroughputChiplet},
    Claim{"misses", "cache misses against round robin", &Misses},
    Claim{"order", "order and gaps of transcoding", &Order},
    Claim{"overhead", "cost of decisions, on this machine", &Overhead},
    Claim{"affinity", "connection affinity on seven workers", &Affinity},
    Claim{"shares", "proportional share over plain hashing and over the tree", &ShareLayer},
    Claim{"beta", "how often PS-HRW makes its sets anew", &Beta},
    Claim{"l7-tree", "L7 filter on Niagara 2, 63 workers", &L7Tree},
    Claim{"l7-theory", "the tree against the exact multipliers, L7 filter on Niagara 2", &L7Theory},
};

}  // namespace

std::span<const Claim> Claims() { return kClaims; }

Result<std::vector<ClaimRow>> Reproduce(std::string_view claim) {
  const auto* const found = std::ranges::find(kClaims, claim, &Claim::name);
  if (found != kClaims.end()) return found->run();
  std::string names;
  for (const Claim& known : kClaims) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return InvalidArgument("reproduce", "There is no claim of that name.", "all, or one of " + names);
}

std::string ClaimText(const Claim& claim, const std::vector<ClaimRow>& rows) {
  std::string text = fmt::format("{}: {}\n", claim.name, claim.description);
  text +=
      fmt::format("  {:<52} {:>24} {:>22} {:>22}\n", "", "published", "queues of 2", "unbounded");
  for (const ClaimRow& row : rows) {
    text += fmt::format("  {:<52} {:>24} {:>22} {:>22}\n", row.what, row.published, row.bounded,
                        row.unbounded);
  }
  return text + "\n";
}

}  // namespace gopmill::sim
