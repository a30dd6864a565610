// SPDX-License-Identifier: Apache-2.0
#include "server/bench/trace_events.h"

#include <fmt/format.h>

#include <map>

#include "server/stream/trace_event_writer.h"

namespace gopmill::bench {
namespace {

void WriteRun(const RunRecord& run, TraceEventWriter& writer) {
  std::map<StreamId, std::string> names;
  for (const StreamSample& stream : run.streams) {
    names[stream.id] = fmt::format("stream {}: {}", stream.id.value, stream.name);
  }
  writer.NameProcess(fmt::format("{} (repeat {})", run.policy, run.repeat + 1));
  for (std::size_t i = 0; i < run.workers.size(); ++i) {
    writer.NameLane(i, fmt::format("worker {} on CPU {}", i, run.workers[i].pu_os_index));
  }
  for (const UnitSample& sample : run.units) {
    LoggedUnit unit = ToLogged(sample.life);
    unit.released = sample.released;
    writer.Run(static_cast<std::size_t>(unit.worker.value), unit, run.media);
    writer.Track(unit, names[unit.unit.stream]);
  }
}

}  // namespace

std::string TraceEventsJson(const std::vector<const RunRecord*>& runs) {
  std::string events;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    TraceEventWriter writer(i, runs[i]->start, events);
    WriteRun(*runs[i], writer);
  }
  return TraceText(events);
}

}  // namespace gopmill::bench
