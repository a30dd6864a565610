// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <stop_token>

#include "base/dump_json.h"
#include "base/log.h"
#include "scheduler/cgroup_quota.h"
#include "scheduler/topology_hwloc.h"
#include "scheduler/topology_text.h"
#include "scheduler/worker_layout.h"
#include "server/bench/topology_measure.h"
#include "server/cli/commands.h"
#include "server/cli/exit_codes.h"
#include "server/cli/job_setup.h"
#include "server/cli/text_output.h"
#include "server/stream/topology_json.h"

namespace gopmill::cli {
namespace {

using Json = nlohmann::ordered_json;

// c[home][PU] in the order of the PUs in the tree.
Json MatrixJson(const Topology& topology, const LevelRatios& ratios) {
  Json rows = Json::array();
  for (int home = 0; home < topology.pu_count(); ++home) {
    Json row = Json::array();
    for (int pu = 0; pu < topology.pu_count(); ++pu) {
      row.push_back(home == pu ? 1.0 : ratios.At(topology.ClosestCommon(home, pu)));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string TopologyJson(const Topology& topology, std::optional<double> quota) {
  Json json;
  json["machine"] = MachineJson(topology);
  for (int i = 0; i < topology.pu_count(); ++i) {
    json["allowed_cpus"].push_back(topology.pu(i).os_index);
  }
  json["cpu_quota"] = quota ? Json(*quota) : Json(nullptr);
  json["default_workers"] = DefaultWorkerCount(topology, quota);
  if (topology.pu_count() <= kMaxMatrixWorkers) {
    json["communication_ratios"] = MatrixJson(topology, LevelRatios{});
  }
  return DumpJson(json, 2);
}

std::string TopologyText(const Topology& topology, std::optional<double> quota) {
  return fmt::format(
      "{}\nallowed CPUs: {}\nCPU quota: {}\nworkers unless told otherwise: {}\n\n"
      "cost of a unit away from its home:\n{}",
      TopologyTreeText(topology), AllowedCpusText(topology),
      quota ? fmt::format("{:.2f} CPUs", *quota) : "none", DefaultWorkerCount(topology, quota),
      CommRatiosText(topology, LevelRatios{}));
}

Status WriteMoves(const TopologyArgs& args, const bench::MoveResult& result) {
  FirstError written;
  if (!args.json.empty()) written.Add(WriteReport(args.json, bench::MoveJson(result)));
  if (args.json == "-") {
    WriteStderr(bench::MoveText(result));
  } else {
    written.Add(WriteStdout(bench::MoveText(result)));
  }
  return written.status();
}

int Measure(const TopologyArgs& args, const Topology& topology) {
  std::stop_source stop;
  auto signals = StopOnSignals(stop);
  if (!signals.ok()) return Fail("topology", signals.error());
  if (const Status log = InitLogging("error", LogFormat::kText); !log.ok()) {
    return Fail("topology", log.error());
  }
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const auto show = [&](int done) {
    if (terminal)
      WriteStderr(fmt::format("\r{}/{}{}", done, args.repeats, done < args.repeats ? "" : "\n"));
  };
  const auto result = bench::MeasureMoves(topology, {.movie = args.movie, .repeats = args.repeats},
                                          stop.get_token(), show);
  if (!result.ok()) return Fail("topology", result.error());
  const Status written = WriteMoves(args, *result);
  return written.ok() ? static_cast<int>(kOk) : Fail("topology", written.error());
}

}  // namespace

int RunTopology(const TopologyArgs& args) {
  const ReportFile report{"json", args.json};
  if (const Status json = CheckReports({&report, 1}, {args.movie}); !json.ok()) {
    return Fail("topology", json.error());
  }
  const auto topology = DiscoverTopology({});
  if (!topology.ok()) {
    PrintError("topology", "", topology.error());
    return kFailed;
  }
  if (args.measure) return Measure(args, *topology);
  const auto quota = CgroupCpuQuota({});
  const Status written = args.json.empty() ? WriteStdout(TopologyText(*topology, quota))
                                           : WriteReport(args.json, TopologyJson(*topology, quota));
  if (written.ok()) return kOk;
  PrintError("topology", "", written.error());
  return kFailed;
}

}  // namespace gopmill::cli
