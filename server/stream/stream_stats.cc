// SPDX-License-Identifier: Apache-2.0
#include "server/stream/stream_stats.h"

#include <fmt/format.h>

#include <algorithm>

namespace gopmill {

std::string_view Name(StreamState state) {
  switch (state) {
    case StreamState::kOpening: return "opening";
    case StreamState::kAnalysing: return "analysing";
    case StreamState::kRunning: return "running";
    case StreamState::kDone: return "done";
    case StreamState::kFailed: return "failed";
    case StreamState::kCancelled: return "cancelled";
  }
  return "failed";
}

void StreamSnapshot::AddUnit(const JobReport& report, const UnitStats& unit, Effort unit_effort) {
  stages.schedule += report.decision;
  retries += report.attempt;
  if (report.outcome != JobOutcome::kDone) return;
  ++units_done;
  ++units_by_effort.at(static_cast<std::size_t>(unit_effort));
  stages.global_wait += report.global_wait();
  stages.run_wait += report.run_wait();
  stages.cpu += report.cpu + unit.aside_cpu;
  stages.decode += unit.decode;
  stages.filter += unit.filter;
  stages.encode += unit.encode;
  video_bytes += unit.bytes;
  selection.decoded += unit.selection.decoded;
  selection.dropped += unit.selection.dropped;
  selection.repeated += unit.selection.repeated;
  decoded_elsewhere += unit.decoded_elsewhere ? 1 : 0;
  decoded_again += unit.decoded_again;
  damage += unit.damage;
  rate_corrections += unit.encodes - 1;
  vbv_violations += unit.vbv_violated ? 1 : 0;
  away_from_home += report.worker != report.home ? 1 : 0;
}

double StreamSnapshot::out_seconds() const {
  return plan ? static_cast<double>(frames_out) / plan->grid.fps().ToDouble() : 0.0;
}

std::int64_t StreamSnapshot::frames_total() const {
  if (all_planned) return frames_planned;
  return plan ? static_cast<std::int64_t>(total_seconds() * plan->grid.fps().ToDouble()) : 0;
}

double StreamSnapshot::total_seconds() const {
  if (!plan) return 0.0;
  if (all_planned) return static_cast<double>(frames_planned) / plan->grid.fps().ToDouble();
  const Target& target = plan->target;
  const double whole = plan->source->duration.ToDouble();
  const double rest = whole > 0 ? whole - target.start.ToDouble() : 0.0;
  if (!target.duration.valid()) return rest;
  const double asked = target.duration.ToDouble();
  return rest > 0 ? std::min(rest, asked) : asked;
}

std::map<std::string, std::string> Measures(const StreamSnapshot& s) {
  const double elapsed = ToSeconds(s.elapsed);
  std::map<std::string, std::string> measures{
      {"frames", fmt::to_string(s.frames_out)},
      {"units", fmt::to_string(s.units_done)},
      {"bytes", fmt::to_string(s.bytes_out)},
      {"elapsed-ms", fmt::format("{:.1f}", ToMillis(s.elapsed))},
      {"cpu-ms", fmt::format("{:.1f}", ToMillis(s.stages.cpu + s.stages.analysis))},
      {"speed", fmt::format("{:.2f}", elapsed > 0 ? s.out_seconds() / elapsed : 0.0)},
      {"out-of-order-rate", fmt::format("{:.4f}", s.order.out_of_order_rate())},
      {"reordering-extent", fmt::to_string(s.order.max_extent())},
      {"jitter-before-ms", fmt::format("{:.2f}", s.order.before().jitter_ms())},
      {"jitter-ms", fmt::format("{:.2f}", s.order.after().jitter_ms())},
      {"retries", fmt::to_string(s.retries)},
      {"seams", fmt::to_string(s.seams.joins)},
      {"seam-violations", fmt::to_string(s.seams.violations())},
  };
  if (s.first_byte) {
    measures["first-byte-ms"] = fmt::format("{:.1f}", ToMillis(*s.first_byte));
  }
  return measures;
}

}  // namespace gopmill
