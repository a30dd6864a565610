// SPDX-License-Identifier: Apache-2.0
#include "server/stream/trace_event_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/dump_json.h"

namespace gopmill {
namespace {

// Viewers take thread 0 for an idle one, and the thread with the number of its process for its main
// one; older ones merge these two (thread ids 0 and 1 of process 1). So no lane has such a number.
constexpr std::uint64_t kProcessStep = 100'000;  // far more than lanes

std::string Quoted(std::string_view text) { return DumpJson(nlohmann::json(text)); }

double Micros(Duration duration) { return static_cast<double>(duration.count()) / 1e3; }

std::string RunArgs(const LoggedUnit& unit, bool stages) {
  std::string args = fmt::format(
      R"("stream":{},"unit":{},"home":{},"bytes":{},"cold":{},"cpu_ms":{:.3f},"opening_ms":{:.3f},)"
      R"("decision_us":{:.3f})",
      unit.unit.stream.value, unit.unit.index.value, unit.home.value, unit.bytes, unit.cold,
      ToMillis(unit.cpu), ToMillis(unit.opening), Micros(unit.decision));
  if (stages) {
    fmt::format_to(std::back_inserter(args),
                   R"(,"decode_ms":{:.3f},"filter_ms":{:.3f},"encode_ms":{:.3f})",
                   ToMillis(unit.decode), ToMillis(unit.filter), ToMillis(unit.encode));
  }
  if (unit.attempt > 0) args += R"(,"retried":true)";
  if (unit.outcome == JobOutcome::kFailed) args += R"(,"outcome":"failed")";
  if (unit.outcome == JobOutcome::kCancelled) args += R"(,"outcome":"cancelled")";
  return args;
}

}  // namespace

std::string TraceText(std::string_view events) {
  return fmt::format("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}", events);
}

TraceEventWriter::TraceEventWriter(std::size_t process, TimePoint begin, std::string& events)
    : process_((process + 1) * kProcessStep), begin_(begin), events_(events) {}

double TraceEventWriter::At(TimePoint time) const { return Micros(time - begin_); }

void TraceEventWriter::Begin() {
  if (!events_.empty()) events_ += ",\n";
}

void TraceEventWriter::Meta(std::string_view what, std::uint64_t thread, std::string_view name) {
  Begin();
  fmt::format_to(std::back_inserter(events_),
                 R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what,
                 process_, thread, Quoted(name));
}

void TraceEventWriter::NameProcess(std::string_view name) { Meta("process_name", process_, name); }

void TraceEventWriter::NameLane(std::size_t lane, std::string_view name) {
  Meta("thread_name", ThreadOf(lane), name);
}

void TraceEventWriter::Slice(std::size_t lane, std::string_view category, std::string_view name,
                             TimePoint from, TimePoint to, std::string_view args) {
  Begin();
  fmt::format_to(
      std::back_inserter(events_),
      R"({{"ph":"X","name":"{}","cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})",
      name, category, process_, ThreadOf(lane), At(from), Micros(to - from), args);
}

void TraceEventWriter::Run(std::size_t lane, const LoggedUnit& unit, bool stages) {
  Slice(lane, "unit", fmt::format("{}/{}", unit.unit.stream.value, unit.unit.index.value),
        unit.started, unit.finished, RunArgs(unit, stages));
}

void TraceEventWriter::Async(char phase, const std::string& id, std::string_view name,
                             TimePoint at) {
  Begin();
  fmt::format_to(
      std::back_inserter(events_),
      R"({{"ph":"{}","cat":"stream","name":{},"id":"{}","pid":{},"tid":{},"ts":{:.3f}}})", phase,
      name, id, process_, process_, At(at));
}

void TraceEventWriter::Track(const LoggedUnit& unit, std::string_view name) {
  const std::string id =
      fmt::format("{}.{}.{}", process_, unit.unit.stream.value, unit.unit.index.value);
  const std::string quoted = Quoted(name);
  const TimePoint end = std::max(unit.released, unit.finished);
  const auto part = [&](std::string_view part_name, TimePoint from, TimePoint to) {
    if (from >= to) return;
    Async('b', id, part_name, from);
    Async('e', id, part_name, to);
  };
  Async('b', id, quoted, unit.submitted);
  part(R"("global queue")", unit.submitted, unit.assigned);
  part(R"("run queue")", unit.assigned, unit.started);
  part(R"("run")", unit.started, unit.finished);
  part(R"("reorder")", unit.finished, end);
  Async('e', id, quoted, end);
}

void TraceEventWriter::Flow(Arrow part, std::uint64_t id, std::size_t lane, TimePoint at) {
  Begin();
  // Steps and ends are of the slice around them, not of the next one.
  const char* binding = part == Arrow::kBegin ? "" : R"("bp":"e",)";
  fmt::format_to(
      std::back_inserter(events_),
      R"({{"ph":"{}","cat":"flow","name":"unit","id":{},{}"pid":{},"tid":{},"ts":{:.3f}}})",
      static_cast<char>(part), id, binding, process_, ThreadOf(lane), At(at));
}

}  // namespace gopmill
