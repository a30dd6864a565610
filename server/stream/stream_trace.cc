// SPDX-License-Identifier: Apache-2.0
#include "server/stream/stream_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "server/stream/trace_event_writer.h"

namespace gopmill {
namespace {

constexpr std::size_t kSourceLane = 0;
// Shorter ones would only hide what is worth seeing.
constexpr std::chrono::microseconds kShownWait{100};

std::size_t LaneOf(const LoggedUnit& unit) {
  return 1 + static_cast<std::size_t>(unit.worker.value);
}

class StreamTrace {
 public:
  StreamTrace(const StreamSnapshot& stream, std::span<const WorkerStats> workers)
      : name_(fmt::format("stream {}: {}", stream.id.value, stream.source)),
        units_(stream.unit_log->Newest()),
        output_lane_(1 + workers.size()),
        sent_(stream.began),
        writer_(0, stream.began, events_) {
    std::ranges::sort(units_, {}, [](const LoggedUnit& unit) { return unit.unit.index; });
    writer_.NameProcess(name_);
    writer_.NameLane(kSourceLane, "source");
    for (const WorkerStats& worker : workers) {
      writer_.NameLane(1 + static_cast<std::size_t>(worker.worker.value),
                       fmt::format("worker {} on CPU {}", worker.worker.value, worker.pu_os_index));
    }
    writer_.NameLane(output_lane_, "output");
  }

  std::string Text() {
    for (const LoggedUnit& unit : units_) {
      Read(unit);
      if (unit.ran()) Run(unit);
    }
    return TraceText(events_);
  }

 private:
  void Read(const LoggedUnit& unit) {
    const auto index = unit.unit.index.value;
    writer_.Slice(
        kSourceLane, "source", fmt::format("read {}", index), unit.read_at - unit.read,
        unit.read_at,
        fmt::format(R"("unit":{},"bytes":{},"frames":{})", index, unit.bytes, unit.frames));
    if (unit.window_wait < kShownWait) return;
    writer_.Slice(kSourceLane, "source", "window full", unit.planned_at - unit.window_wait,
                  unit.planned_at, fmt::format(R"("unit":{})", index));
  }

  void Run(const LoggedUnit& unit) {
    using Arrow = TraceEventWriter::Arrow;
    const auto id = static_cast<std::uint64_t>(unit.unit.index.value) + 1;
    writer_.Run(LaneOf(unit), unit, /*stages=*/true);
    writer_.Track(unit, name_);
    writer_.Flow(Arrow::kBegin, id, kSourceLane, unit.read_at - unit.read);
    const bool released = unit.was_released();
    writer_.Flow(released ? Arrow::kStep : Arrow::kEnd, id, LaneOf(unit), unit.started);
    if (!released) return;
    const TimePoint from = std::max(sent_, unit.finished);
    writer_.Slice(output_lane_, "output", fmt::format("send {}", unit.unit.index.value), from,
                  unit.released,
                  fmt::format(R"("unit":{},"reorder_ms":{:.3f})", unit.unit.index.value,
                              ToMillis(from - unit.finished)));
    writer_.Flow(Arrow::kEnd, id, output_lane_, from);
    sent_ = unit.released;
  }

  const std::string name_;
  std::vector<LoggedUnit> units_;
  const std::size_t output_lane_;
  TimePoint sent_;  // the unit before
  std::string events_;
  TraceEventWriter writer_;
};

}  // namespace

std::string StreamTraceJson(const StreamSnapshot& stream, std::span<const WorkerStats> workers) {
  return StreamTrace(stream, workers).Text();
}

}  // namespace gopmill
