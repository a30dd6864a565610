// SPDX-License-Identifier: Apache-2.0
#include "server/bench/trace_recorder.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/thread.h"
#include "scheduler/context_table.h"

namespace gopmill::bench {
TraceUnit ToTraceUnit(const UnitLife& life, TimePoint begin,
                      std::optional<double> known_opening_ms) {
  constexpr double kLeastMillis = 1e-3;  // times in a trace are above zero
  const JobReport& report = life.report;
  const double cpu = std::max(ToMillis(report.cpu + life.stats.aside_cpu), kLeastMillis);
  const TimePoint came = life.came_at.value_or(report.submitted);
  TraceUnit unit{.arrival_ms = std::max(0.0, ToMillis(came - begin)),
                 .stream = report.unit.stream.value,
                 .number = life.spec.stream_number,
                 .index = report.unit.index.value,
                 .bytes = life.spec.cost_bytes,
                 .frames = life.spec.frames,
                 .context = ContextTable::KeyOf(life.spec),
                 .hot_ms = cpu,
                 .cold_ms = std::nullopt,
                 .deadline_ms = std::nullopt};
  if (report.cold) {
    unit.cold_ms = cpu;
    unit.hot_ms = std::max(cpu - ToMillis(report.opening), kLeastMillis);
  } else if (!life.keeps_contexts) {
    unit.cold_ms = cpu;
  } else if (known_opening_ms) {
    unit.cold_ms = cpu + *known_opening_ms;
  }
  if (life.spec.deadline != kNoDeadline) {
    // So long after it came as after it was submitted.
    const TimePoint due = life.spec.deadline - (report.submitted - came);
    unit.deadline_ms = std::max(ToMillis(due - begin), unit.arrival_ms);
  }
  return unit;
}

Result<std::shared_ptr<TraceRecorder>> TraceRecorder::Create(const std::filesystem::path& file,
                                                             const TraceHeader& header,
                                                             std::vector<ServiceClass> classes) {
  GOPMILL_ASSIGN_OR_RETURN(TraceWriter writer, TraceWriter::Create(file, header));
  std::shared_ptr<TraceRecorder> recorder(new TraceRecorder(std::move(writer), std::move(classes)));
  const auto run = [raw = recorder.get()] {
    pthread_setname_np(pthread_self(), "recorder");
    raw->WriteLoop();
  };
  GOPMILL_ASSIGN_OR_RETURN(recorder->thread_, StartThread(run));
  return recorder;
}

TraceRecorder::TraceRecorder(TraceWriter writer, std::vector<ServiceClass> classes)
    : classes_(std::move(classes)), writer_(std::move(writer)) {}

TraceRecorder::~TraceRecorder() { static_cast<void>(Close().ok()); }

void TraceRecorder::OnEnded(const UnitLife& life) noexcept {
  if (life.report.outcome != JobOutcome::kDone) return;
  const MutexLock lock(mutex_);
  if (queue_.size() >= kMaxQueuedUnits) {
    ++missed_;
    return;
  }
  queue_.push_back(life);
  changed_.NotifyOne();
}

void TraceRecorder::WriteLoop() {
  std::deque<UnitLife> taken;
  while (true) {
    taken.clear();
    {
      const MutexLock lock(mutex_);
      while (queue_.empty() && !closing_) changed_.Wait(mutex_);
      if (queue_.empty()) return;
      taken.swap(queue_);
    }
    for (const UnitLife& life : taken) WriteOne(life);
    // The file has whole lines then, should the server be killed while it waits for the next unit.
    if (status_.ok()) Note(writer_.Flush());
  }
}

void TraceRecorder::WriteOne(const UnitLife& life) {
  if (!status_.ok()) return;
  const std::uint64_t context = ContextTable::KeyOf(life.spec);
  const auto found = openings_.find(context);
  std::optional<double> known;
  if (found != openings_.end()) {
    known = found->second.sum_ms / static_cast<double>(found->second.count);
  }
  if (life.report.cold && (found != openings_.end() || openings_.size() < kMaxKnownContexts)) {
    Opening& opening = openings_[context];
    opening.sum_ms += ToMillis(life.report.opening);
    ++opening.count;
  }
  TraceUnit unit = ToTraceUnit(life, begin_, known);
  if (life.spec.service_class < classes_.size()) {
    unit.service_class = classes_[life.spec.service_class].name;
  }
  Note(writer_.Add(unit));
}

void TraceRecorder::Note(Status written) {
  status_ = std::move(written);
  if (!status_.ok()) spdlog::error("recording stopped: {}", status_.error().ToString());
}

Status TraceRecorder::Close() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    changed_.NotifyOne();
  }
  if (thread_.joinable()) thread_.join();
  if (std::exchange(closed_, true)) return OkStatus();
  const Status closed = writer_.Close();
  if (!status_.ok()) return status_;
  GOPMILL_RETURN_IF_ERROR(closed);
  const MutexLock lock(mutex_);
  if (missed_ == 0) return OkStatus();
  return Error{.code = Code::kResourceExhausted,
               .message = std::to_string(missed_) +
                          " units were not recorded: they came faster than they could be written."};
}

}  // namespace gopmill::bench
