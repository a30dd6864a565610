// SPDX-License-Identifier: Apache-2.0
#include "server/bench/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "base/dump_json.h"

namespace gopmill::bench {
namespace {

using Json = nlohmann::ordered_json;

// Viewers take thread 0 for an idle one, and the thread with the number of its process for its main
// one; older ones merge these two (thread ids 0 and 1 of process 1). So no worker has such a
// number.
constexpr std::uint64_t kProcessStep = 100'000;  // far more than workers

// Of one run. Events are serialised one by one: a tree of all of them would take far more memory
// than the text.
class EventWriter {
 public:
  EventWriter(const RunRecord& run, std::size_t number, std::string& text)
      : run_(run), process_((number + 1) * kProcessStep), text_(text) {
    for (const StreamSample& stream : run.streams) {
      names_[stream.id] = fmt::format("stream {}: {}", stream.id.value, stream.name);
    }
  }

  void Write() {
    Meta("process_name", process_, fmt::format("{} (repeat {})", run_.policy, run_.repeat + 1));
    for (std::size_t i = 0; i < run_.workers.size(); ++i) {
      Meta("thread_name", ThreadOf(i),
           fmt::format("worker {} on CPU {}", i, run_.workers[i].pu_os_index));
    }
    for (const UnitSample& unit : run_.units) {
      Slice(unit);
      Track(unit);
    }
  }

 private:
  void Emit(const Json& event) {
    if (!text_.empty() && text_.back() == '}') text_ += ",\n";
    text_ += DumpJson(event);
  }
  [[nodiscard]] std::uint64_t ThreadOf(std::size_t worker) const { return process_ + 1 + worker; }
  void Meta(const char* what, std::uint64_t thread, std::string name) {
    Emit({{"ph", "M"},
          {"name", what},
          {"pid", process_},
          {"tid", thread},
          {"args", {{"name", std::move(name)}}}});
  }
  [[nodiscard]] double At(TimePoint time) const { return ToMillis(time - run_.start) * 1e3; }

  void Slice(const UnitSample& unit) {
    const JobReport& report = unit.life.report;
    const UnitStats& stats = unit.life.stats;
    Json args = {{"stream", report.unit.stream.value},
                 {"unit", report.unit.index.value},
                 {"home", report.home.value},
                 {"bytes", unit.life.spec.cost_bytes},
                 {"cold", report.cold},
                 {"cpu_ms", ToMillis(report.cpu + stats.aside_cpu)},
                 {"opening_ms", ToMillis(report.opening)},
                 {"decision_us", ToMillis(report.decision) * 1e3}};
    if (run_.media) {
      args["decode_ms"] = ToMillis(stats.decode);
      args["filter_ms"] = ToMillis(stats.filter);
      args["encode_ms"] = ToMillis(stats.encode);
    }
    Emit({{"ph", "X"},
          {"name", fmt::format("{}/{}", report.unit.stream.value, report.unit.index.value)},
          {"cat", "unit"},
          {"pid", process_},
          {"tid", ThreadOf(static_cast<std::size_t>(report.worker.value))},
          {"ts", At(report.started)},
          {"dur", At(report.finished) - At(report.started)},
          {"args", std::move(args)}});
  }

  void Async(const char* phase, const UnitId& unit, const std::string& name, TimePoint time) {
    Emit({{"ph", phase},
          {"cat", "stream"},
          {"name", name},
          {"id", fmt::format("{}.{}.{}", process_, unit.stream.value, unit.index.value)},
          {"pid", process_},
          {"tid", process_},
          {"ts", At(time)}});
  }
  void Track(const UnitSample& unit) {
    const JobReport& report = unit.life.report;
    const UnitId id = report.unit;
    const TimePoint end = std::max(unit.released, report.finished);
    const auto part = [&](const char* name, TimePoint from, TimePoint to) {
      if (from >= to) return;
      Async("b", id, name, from);
      Async("e", id, name, to);
    };
    Async("b", id, names_[id.stream], report.submitted);
    part("global queue", report.submitted, report.assigned);
    part("run queue", report.assigned, report.started);
    part("run", report.started, report.finished);
    part("reorder", report.finished, end);
    Async("e", id, names_[id.stream], end);
  }

  const RunRecord& run_;
  const std::uint64_t process_;
  std::string& text_;
  std::map<StreamId, std::string> names_;
};

}  // namespace

std::string TraceEventsJson(const std::vector<const RunRecord*>& runs) {
  std::string events;
  for (std::size_t i = 0; i < runs.size(); ++i) EventWriter(*runs[i], i, events).Write();
  return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events + "\n]}";
}

}  // namespace gopmill::bench
