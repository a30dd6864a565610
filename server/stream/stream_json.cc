// SPDX-License-Identifier: Apache-2.0
//
// The JSON form of a StreamSnapshot. Times are milliseconds or seconds as the names say; documented
// in docs/API.md.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/dump_json.h"
#include "server/stream/plan_json.h"
#include "server/stream/seam_json.h"
#include "server/stream/stream_stats.h"

namespace gopmill {
namespace {

using nlohmann::ordered_json;

// Three decimals are enough for people and keep the text short.
double Rounded(double value) { return std::round(value * 1000.0) / 1000.0; }
double Millis(Duration d) { return Rounded(ToMillis(d)); }

ordered_json Stages(const StageTimes& stages) {
  return {
      {"rate_wait_ms", Millis(stages.rate_wait)},  {"global_wait_ms", Millis(stages.global_wait)},
      {"run_wait_ms", Millis(stages.run_wait)},    {"schedule_ms", Millis(stages.schedule)},
      {"decode_ms", Millis(stages.decode)},        {"filter_ms", Millis(stages.filter)},
      {"encode_ms", Millis(stages.encode)},        {"reorder_wait_ms", Millis(stages.reorder_wait)},
      {"mux_send_ms", Millis(stages.mux_send)},    {"cpu_ms", Millis(stages.cpu)},
      {"analysis_cpu_ms", Millis(stages.analysis)}};
}

ordered_json Departures(const DepartureStats& stats) {
  return {{"gap_deviation_ms", Rounded(stats.gap_deviation_ms())},
          {"jitter_ms", Rounded(stats.jitter_ms())}};
}

ordered_json Order(const OrderStats& order) {
  return {{"out_of_order_rate", Rounded(order.out_of_order_rate())},
          {"reordered_units", order.reordered()},
          {"max_extent", order.max_extent()},
          {"mean_extent", Rounded(order.mean_extent())},
          {"before", Departures(order.before())},
          {"after", Departures(order.after())}};
}

ordered_json Counts(const StreamSnapshot& s) {
  return {{"units_planned", s.units_planned},
          {"units_done", s.units_done},
          {"frames_planned", s.frames_planned},
          {"frames_total", s.frames_total()},
          {"frames_analysed", s.frames_analysed},
          {"frames_out", s.frames_out},
          {"bytes_out", s.bytes_out},
          {"video_bytes", s.video_bytes},
          {"source_video_bytes", s.source_bytes},
          {"source_frames_decoded", s.selection.decoded},
          {"source_frames_decoded_again", s.decoded_again},
          {"units_decoded_elsewhere", s.decoded_elsewhere},
          {"source_frames_dropped", s.selection.dropped},
          {"frames_repeated", s.selection.repeated},
          {"reorder_window_peak_bytes", s.window_peak_bytes},
          {"away_from_home_units", s.away_from_home}};
}

ordered_json EffortJson(const StreamSnapshot& s) {
  ordered_json units = ordered_json::object();
  for (std::size_t i = 0; i < kEfforts; ++i) units[kEffortNames[i]] = s.units_by_effort[i];
  return {{"now", Name(s.effort)}, {"units", units}};
}

ordered_json Repairs(const StreamSnapshot& s) {
  return {{"truncated", s.truncated},
          {"frames_concealed", s.damage.concealed},
          {"frames_patched", s.damage.patched},
          {"damaged_video_packets", s.damage.rejected},
          {"damaged_audio_packets", s.audio_damaged},
          {"sound_filled_s", Rounded(s.sound_filled_seconds)},
          {"timestamps_repaired", s.repaired_timestamps},
          {"frames_left_out", s.frames_left_out},
          {"format_changes", s.format_changes},
          {"unit_retries", s.retries},
          {"rate_corrections", s.rate_corrections},
          {"vbv_violations", s.vbv_violations}};
}

ordered_json Readers(const std::vector<ReaderSnapshot>& readers) {
  ordered_json list = ordered_json::array();
  for (const ReaderSnapshot& reader : readers) {
    list.push_back({{"id", reader.id.value},
                    {"frames_out", reader.frames_out},
                    {"bytes_out", reader.bytes_out},
                    {"dropped_gops", reader.dropped_gops}});
  }
  return list;
}

}  // namespace

ordered_json ErrorJson(const Error& error) {
  ordered_json json{{"code", CodeName(error.code)}, {"message", error.message}};
  if (!error.parameter.empty()) json["parameter"] = error.parameter;
  if (!error.accepted.empty()) json["accepted"] = error.accepted;
  return json;
}

ordered_json StreamJson(const StreamSnapshot& s) {
  const double elapsed = ToSeconds(s.elapsed);
  ordered_json json{{"id", s.id.value}, {"source", s.source}, {"state", Name(s.state)}};
  if (s.error) json["error"] = ErrorJson(*s.error);
  if (s.plan) json["target"] = TargetJson(s.plan->target);
  json["adjusted"] = AdjustmentsJson(s.adjustments);
  json["elapsed_s"] = Rounded(elapsed);
  json["out_s"] = Rounded(s.out_seconds());
  json["total_s"] = Rounded(s.total_seconds());
  json["speed"] = Rounded(elapsed > 0 ? s.out_seconds() / elapsed : 0.0);
  json["fps"] = Rounded(elapsed > 0 ? static_cast<double>(s.frames_out) / elapsed : 0.0);
  json["opening_ms"] = Millis(s.opening);
  json["first_byte_ms"] = s.first_byte ? ordered_json(Millis(*s.first_byte)) : ordered_json();
  if (s.readers) json["readers"] = Readers(*s.readers);
  json["counts"] = Counts(s);
  json["order"] = Order(s.order);
  json["stages"] = Stages(s.stages);
  json["seams"] = SeamTotalsJson(s.seams);
  json["effort"] = EffortJson(s);
  json["repairs"] = Repairs(s);
  return json;
}

std::string ToJson(const StreamSnapshot& snapshot) { return DumpJson(StreamJson(snapshot), 2); }

}  // namespace gopmill
