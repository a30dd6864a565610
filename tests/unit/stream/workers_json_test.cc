// SPDX-License-Identifier: Apache-2.0
#include "server/stream/workers_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/stream/topology_json.h"
#include "tests/unit/stream/sample_lives.h"

namespace gopmill {
namespace {

using nlohmann::json;
using test::AtMillis;

// One package with an L3 and two CPUs, 0 and 8.
Topology TwoCpus() {
  std::vector<TopologyPath> paths;
  for (const int pu : {0, 8}) {
    paths.push_back({{{.kind = NodeKind::kPackage, .key = 0, .os_index = 0},
                      {.kind = NodeKind::kL3, .key = 0, .cache_bytes = 1 << 20},
                      {.kind = NodeKind::kPu, .key = pu, .os_index = pu}}});
  }
  return Topology::FromPaths(paths).value();
}

TEST(MachineJson, IsTheTreeOfTheMachine) {
  EXPECT_EQ(MachineJson(TwoCpus()),
            nlohmann::ordered_json::parse(
                R"({"kind":"machine","children":[{"kind":"package","os_index":0,"children":[
                    {"kind":"l3","cache_bytes":1048576,"children":[
                     {"kind":"pu","os_index":0},{"kind":"pu","os_index":8}]}]}]})"));
}

TEST(WorkersJson, TellsOfEachWorkerAndClass) {
  const Topology topology = TwoCpus();
  const std::vector<ServiceClass> classes = {{},
                                             {.name = "live",
                                              .weight = 5,
                                              .guaranteed = 0.25,
                                              .max_workers = 2,
                                              .deadline = std::chrono::milliseconds(800)}};
  SchedulerStats stats;
  const UnitId first{StreamId{5}, UnitIndex{2}}, second{StreamId{5}, UnitIndex{3}};
  stats.workers.resize(2);
  WorkerStats& one = stats.workers[0];
  one.worker = WorkerId{0};
  one.pu_os_index = 0;
  one.pinned = true;
  one.busy = FromSeconds(12.345);
  one.jobs_done = 55;
  one.queued_units = 1;
  one.queued_bytes = 20000;
  one.running = second;
  one.running_since = AtMillis(3500);
  one.recent = {{first, AtMillis(2000), AtMillis(3500)}};
  stats.workers[1].running = first;
  stats.classes = {
      {.name = "default"},
      {.name = "live", .served = FromSeconds(3.2), .waiting_units = 4, .assigned_units = 1}};
  stats.waiting_units = 3;
  stats.waiting_bytes = 1234;
  const json all = json::parse(WorkersJson({.begin = AtMillis(1000),
                                            .now = AtMillis(5000),
                                            .policy = "hearth",
                                            .topology = topology,
                                            .classes = classes,
                                            .stats = stats}));
  EXPECT_EQ(all["now_s"], 4.0);
  EXPECT_EQ(all["scheduler"], "hearth");
  EXPECT_EQ(all["machine"]["kind"], "machine");
  EXPECT_EQ(all["waiting_units"], 3);
  EXPECT_EQ(all["waiting_bytes"], 1234);
  EXPECT_EQ(all["workers"][0], json::parse(R"({"worker":0,"pu":0,"pinned":true,"in_service":true,
      "busy_s":12.345,"units_done":55,"queued_units":1,"queued_bytes":20000,
      "running":{"stream":5,"unit":3,"running_since_s":2.5},"recent":[[5,2,1.0,2.5]]})"));
  EXPECT_EQ(all["workers"][1]["running"], json::parse(R"({"stream":5,"unit":2})"));
  EXPECT_EQ(all["workers"][1]["recent"], json::array());
  EXPECT_EQ(all["classes"][0], json::parse(R"({"name":"default","weight":1.0,
      "guaranteed_workers":0.0,"max_workers":null,"deadline_ms":null,"served_s":0.0,
      "waiting_units":0,"assigned_units":0})"));
  EXPECT_EQ(all["classes"][1], json::parse(R"({"name":"live","weight":5.0,
      "guaranteed_workers":0.5,"max_workers":2,"deadline_ms":800.0,"served_s":3.2,
      "waiting_units":4,"assigned_units":1})"));
}

TEST(WorkersJson, GuaranteesAreOfTheWorkersInService) {
  const Topology topology = TwoCpus();
  const std::vector<ServiceClass> classes = {{.name = "live", .guaranteed = 0.5}};
  SchedulerStats stats;
  stats.workers.resize(4);
  stats.workers[1].in_service = stats.workers[2].in_service = false;
  stats.classes = {{.name = "live"}};
  const json all = json::parse(WorkersJson({.begin = {},
                                            .now = {},
                                            .policy = "ps-hrw",
                                            .topology = topology,
                                            .classes = classes,
                                            .stats = stats}));
  EXPECT_EQ(all["workers"][0]["in_service"], true);
  EXPECT_EQ(all["workers"][1]["in_service"], false);
  EXPECT_EQ(all["classes"][0]["guaranteed_workers"], 1.0);
}

TEST(WorkersJson, AWorkerWithoutAUnitRunsNothing) {
  const Topology topology = TwoCpus();
  SchedulerStats stats;
  stats.workers.resize(1);
  const json all = json::parse(WorkersJson({.begin = {},
                                            .now = {},
                                            .policy = "rr",
                                            .topology = topology,
                                            .classes = {},
                                            .stats = stats}));
  EXPECT_TRUE(all["workers"][0]["running"].is_null());
}

}  // namespace
}  // namespace gopmill
