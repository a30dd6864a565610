// SPDX-License-Identifier: Apache-2.0
#include "server/stream/workers_json.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "base/dump_json.h"
#include "server/stream/topology_json.h"

namespace gopmill {
namespace {

using nlohmann::ordered_json;

double Seconds(Duration duration) { return std::round(ToSeconds(duration) * 1e6) / 1e6; }

ordered_json RunningJson(const WorkerStats& worker, TimePoint begin) {
  if (!worker.running) return nullptr;
  ordered_json json = {{"stream", worker.running->stream.value},
                       {"unit", worker.running->index.value}};
  if (worker.running_since) json["running_since_s"] = Seconds(*worker.running_since - begin);
  return json;
}

ordered_json WorkerJson(const WorkerStats& worker, TimePoint begin) {
  ordered_json recent = ordered_json::array();
  for (const WorkerRun& run : worker.recent) {
    recent.push_back(
        ordered_json::array({run.unit.stream.value, run.unit.index.value,
                             Seconds(run.started - begin), Seconds(run.finished - begin)}));
  }
  return {{"worker", worker.worker.value},
          {"pu", worker.pu_os_index},
          {"pinned", worker.pinned},
          {"in_service", worker.in_service},
          {"busy_s", Seconds(worker.busy)},
          {"units_done", worker.jobs_done},
          {"queued_units", worker.queued_units},
          {"queued_bytes", worker.queued_bytes},
          {"running", RunningJson(worker, begin)},
          {"recent", std::move(recent)}};
}

ordered_json ClassJson(const ServiceClass& of, const ClassStats& stats, std::ptrdiff_t workers) {
  const bool bounded = of.max_workers > 0, due = of.deadline > Duration::zero();
  return {{"name", of.name},
          {"weight", of.weight},
          {"guaranteed_workers", of.guaranteed * static_cast<double>(workers)},
          {"max_workers", bounded ? ordered_json(of.max_workers) : ordered_json()},
          {"deadline_ms", due ? ordered_json(ToMillis(of.deadline)) : ordered_json()},
          {"served_s", Seconds(stats.served)},
          {"waiting_units", stats.waiting_units},
          {"assigned_units", stats.assigned_units}};
}

}  // namespace

std::string WorkersJson(const MachineLoad& load) {
  const SchedulerStats& stats = load.stats;
  ordered_json workers = ordered_json::array(), classes = ordered_json::array();
  const auto in_service = std::ranges::count(stats.workers, true, &WorkerStats::in_service);
  for (const WorkerStats& worker : stats.workers) {
    workers.push_back(WorkerJson(worker, load.begin));
  }
  for (std::size_t i = 0; i < load.classes.size(); ++i) {
    classes.push_back(ClassJson(load.classes[i], stats.classes[i], in_service));
  }
  return DumpJson(ordered_json{{"now_s", Seconds(load.now - load.begin)},
                               {"scheduler", load.policy},
                               {"machine", MachineJson(load.topology)},
                               {"waiting_units", stats.waiting_units},
                               {"waiting_bytes", stats.waiting_bytes},
                               {"workers", std::move(workers)},
                               {"classes", std::move(classes)}});
}

}  // namespace gopmill
