// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/trace_workload.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "scheduler/sim/random.h"

namespace gopmill::sim {
namespace {

SimUnit ToUnit(const TraceUnit& recorded, double begin_ms, double opening_ms) {
  const auto [hot_ms, open_ms] = TimesOf(recorded, opening_ms);
  SimUnit unit{.arrival_ms = recorded.arrival_ms - begin_ms,
               .hot_ms = hot_ms,
               .open_ms = open_ms,
               .bytes = static_cast<std::uint32_t>(recorded.bytes),
               .frames = static_cast<std::uint32_t>(recorded.frames),
               .context = recorded.context};
  if (recorded.deadline_ms) unit.deadline_ms = *recorded.deadline_ms - begin_ms;
  return unit;
}

// The units of each stream together, streams by number.
std::vector<std::uint32_t> ByStream(const RecordedTrace& trace) {
  std::vector<std::uint32_t> order(trace.units.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) {
    return std::pair(trace.units[i].number, trace.units[i].stream);
  });
  return order;
}

// `order` is that of the workload's units.
std::vector<std::uint32_t> PlacesOf(const RecordedTrace& trace,
                                    const std::vector<std::uint32_t>& order,
                                    const std::vector<SimStream>& streams) {
  std::vector<std::uint32_t> by_index(order.size());
  std::iota(by_index.begin(), by_index.end(), 0U);
  for (const SimStream& stream : streams) {
    std::ranges::sort(std::span(by_index).subspan(stream.first_unit, stream.unit_count), {},
                      [&](std::uint32_t unit) { return trace.units[order[unit]].index; });
  }
  if (std::ranges::is_sorted(by_index)) return {};
  std::vector<std::uint32_t> places(order.size());
  for (const SimStream& stream : streams) {
    for (std::uint32_t place = 0; place < stream.unit_count; ++place) {
      places[by_index[stream.first_unit + place]] = place;
    }
  }
  return places;
}

}  // namespace

Result<int> ClassOfTrace(const std::string& name, const std::vector<ServiceClass>& classes) {
  if (classes.empty()) return 0;
  const auto found = std::ranges::find(classes, name, &ServiceClass::name);
  if (found != classes.end()) return static_cast<int>(found - classes.begin());
  if (name.empty()) {
    return InvalidArgument("classes", "The trace was recorded without classes.",
                           "without --classes");
  }
  return InvalidArgument("classes", "The trace has units of class \"" + name + "\".",
                         "all classes of the trace, or none");
}

Result<Workload> FromTrace(const RecordedTrace& trace, const std::vector<ServiceClass>& classes) {
  Workload workload{.name = "trace of " + trace.header.machine + ", unit " + trace.header.unit,
                    .feed = Feed::kOpen,
                    .classes = classes,
                    .due_by_class = false,
                    .streams = {},
                    .units = {}};
  if (classes.empty()) workload.classes = {ServiceClass{}};
  const double begin_ms = FirstArrival(trace);
  const double opening_ms = MedianOpening(trace);
  const std::vector<std::uint32_t> order = ByStream(trace);
  workload.units.reserve(order.size());
  for (const std::uint32_t i : order) {
    const TraceUnit& unit = trace.units[i];
    if (workload.streams.empty() || workload.streams.back().id.value != unit.stream) {
      GOPMILL_ASSIGN_OR_RETURN(const int service_class, ClassOfTrace(unit.service_class, classes));
      workload.streams.push_back({.id = StreamId{unit.stream},
                                  .number = unit.number,
                                  .service_class = service_class,
                                  .first_unit = static_cast<std::uint32_t>(workload.units.size())});
    }
    ++workload.streams.back().unit_count;
    workload.units.push_back(ToUnit(unit, begin_ms, opening_ms));
  }
  workload.places = PlacesOf(trace, order, workload.streams);
  workload.concurrent = static_cast<int>(workload.streams.size());
  return workload;
}

void VaryTimes(Workload& workload, const TimeVariation& variation) {
  Random random(MixSeed(variation.seed, kVariationSalt));
  for (SimUnit& unit : workload.units) {
    const double drawn = 1 + variation.noise * (2 * random.Uniform() - 1);
    unit.hot_ms *= drawn * variation.slow_down;
    unit.open_ms *= drawn * variation.slow_down;
  }
}

}  // namespace gopmill::sim
