// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/bench/sample_runs.h"

namespace gopmill::bench::test {

UnitSample Unit(std::uint64_t stream, std::int64_t index, int worker, double begin, double end) {
  const UnitId id{StreamId{stream}, UnitIndex{index}};
  UnitSample unit{.life = {.spec = {.unit = id, .cost_bytes = 1000}, .report = {}, .stats = {}},
                  .released = At(end)};
  JobReport& report = unit.life.report;
  report.unit = id;
  report.worker = WorkerId{worker};
  report.home = WorkerId{0};
  report.outcome = JobOutcome::kDone;
  report.submitted = report.assigned = report.started = At(begin);
  report.finished = At(end);
  report.cpu = report.finished - report.started;
  unit.life.stats.decode = report.cpu / 4;
  unit.life.stats.encode = report.cpu / 2;
  unit.life.media_seconds = static_cast<double>(index) * 0.5;
  return unit;
}

RunRecord SampleRun(const std::string& policy, int repeat) {
  RunRecord run;
  run.policy = policy;
  run.repeat = repeat;
  run.start = At(0);
  run.end = At(20);
  run.workers = {{.pu_os_index = 0, .pinned = true}, {.pu_os_index = 1, .pinned = true}};
  run.units = {Unit(1, 0, 0, 0, 5), Unit(1, 1, 0, 5, 8), Unit(2, 0, 0, 8, 20),
               Unit(2, 1, 1, 0, 10)};
  run.units[3].released = At(20);
  for (const std::uint64_t id : {1U, 2U}) {
    StreamSample stream;
    stream.id = StreamId{id};
    stream.name = "movie </script><!-- to 128x96";
    stream.hash = 0x1234 + id;
    stream.bytes = 100;
    stream.first_byte = FromSeconds(0.005);
    run.streams.push_back(stream);
  }
  run.usage.user_seconds = 0.04;
  run.counters.assigned = 4;
  return run;
}

Report SampleReport() {
  return SampleReport([](const std::string& policy, bool) { return SampleRun(policy, 0); });
}

Report SampleReport(const RunPolicy& run) {
  Report report;
  report.head.workload = "reference";
  report.head.command = {"gopmill", "bench", "--json", "<x>"};
  report.head.streams = 2;
  report.head.cache_obstacle = "test";
  auto comparison = Compare({.policies = {"rr", "fifo"}, .repeats = 2, .warm_ups = 1, .seed = 1},
                            run, [](const FinishedRun&, int, int) {});
  report.comparison = std::move(comparison).value();
  report.head.baseline = ChooseBaseline(report.comparison.plan.policies).value();
  report.summaries = Summarise(report.comparison, report.head.baseline);
  report.violations = Violations(report.comparison);
  return report;
}

}  // namespace gopmill::bench::test
