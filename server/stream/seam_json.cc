// SPDX-License-Identifier: Apache-2.0
#include "server/stream/seam_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/dump_json.h"

namespace gopmill {
namespace {

using nlohmann::ordered_json;

constexpr std::pair<SeamFault, const char*> kFaultNames[] = {
    {SeamFault::kFrames, "frames"},
    {SeamFault::kPts, "pts"},
    {SeamFault::kParameterSets, "parameter_sets"},
    {SeamFault::kVbv, "vbv"},
    {SeamFault::kAudio, "audio"},
};

ordered_json Bits(const std::optional<double>& bits) {
  return bits ? ordered_json(std::llround(*bits)) : ordered_json();
}

ordered_json FaultsJson(const Seam& seam) {
  ordered_json faults = ordered_json::array();
  for (const auto& [fault, name] : kFaultNames) {
    if (seam.Has(fault)) faults.push_back(name);
  }
  return faults;
}

ordered_json SeamJson(const Seam& seam) {
  return {{"unit", seam.unit.value},
          {"frame", seam.frame},
          {"frames_planned", seam.frames_planned},
          {"frames_out", seam.frames_out},
          {"pts_gap_us", seam.pts_gap_us},
          {"pts_errors", seam.pts_errors},
          {"parameter_sets", fmt::format("{:016x}", seam.parameter_hash)},
          {"size", fmt::format("{}x{}", seam.size.width, seam.size.height)},
          {"vbv_bits", Bits(seam.vbv_level_bits)},
          {"vbv_underflows", seam.vbv_underflows},
          {"audio_samples", seam.audio_samples},
          {"audio_gap_samples", seam.audio_gap_samples},
          {"faults", FaultsJson(seam)}};
}

}  // namespace

ordered_json SeamTotalsJson(const SeamTotals& t) {
  return {{"joins", t.joins},
          {"violations", t.violations()},
          {"faulty_joins", t.faulty_joins},
          {"units", t.units},
          {"frames_planned", t.frames_planned},
          {"frames_out", t.frames_out},
          {"frame_count_errors", t.frame_count_errors},
          {"pts_errors", t.pts_errors},
          {"parameter_set_changes", t.parameter_set_changes},
          {"size_changes", t.size_changes},
          {"vbv_underflows", t.vbv_underflows},
          {"vbv_lowest_bits", Bits(t.vbv_lowest_bits)},
          {"audio_samples", t.audio_samples},
          {"audio_gaps", t.audio_gaps},
          {"audio_missing_samples", t.audio_missing_samples},
          {"audio_doubled_samples", t.audio_doubled_samples},
          {"audio_gaps_of_source", t.audio_gaps_of_source}};
}

ordered_json SeamListJson(const SeamLog& log) {
  ordered_json list = ordered_json::array();
  for (const Seam& seam : log.Newest()) list.push_back(SeamJson(seam));
  return list;
}

std::string SeamsJson(const SeamTotals& totals, const SeamLog& log) {
  const std::optional<Seam> worst = log.Worst();
  return DumpJson(ordered_json{{"totals", SeamTotalsJson(totals)},
                               {"worst", worst ? SeamJson(*worst) : ordered_json()},
                               {"kept", kKeptSeams},
                               {"seams", SeamListJson(log)}});
}

std::string SeamsText(const SeamTotals& t) {
  std::string text = fmt::format("{} joins, {} violations; {} of {} frames", t.joins,
                                 t.violations(), t.frames_out, t.frames_planned);
  if (t.vbv_lowest_bits) {
    text += fmt::format(", buffer never below {:.0f} kbit", *t.vbv_lowest_bits / 1000);
  }
  if (t.audio_packets == 0) return text;
  text += fmt::format(", {} audio samples in one piece", t.audio_samples);
  if (t.audio_gaps > 0) {
    text += fmt::format(" but for {} gaps", t.audio_gaps);
  } else if (t.audio_gaps_of_source > 0) {
    text += fmt::format(" but for {} gaps of the source", t.audio_gaps_of_source);
  }
  return text;
}

std::vector<std::string> SeamFindings(const SeamTotals& t) {
  std::vector<std::string> findings;
  const auto add = [&findings](std::int64_t count, const std::string& what) {
    if (count > 0) findings.push_back(fmt::format("{} {}", count, what));
  };
  add(t.frame_count_errors, "units were sent with other than their planned number of frames");
  add(t.pts_errors, "presentation times are missing, doubled or off the grid");
  add(t.parameter_set_changes, "joins change the parameter sets of a size");
  add(t.vbv_underflows,
      fmt::format("frames were not in the buffer of maxrate and bufsize in time; {:.0f} kbit short",
                  -t.vbv_lowest_bits.value_or(0) / 1000));
  add(t.audio_gaps, fmt::format("breaks in the sound: {} samples missing, {} doubled",
                                t.audio_missing_samples, t.audio_doubled_samples));
  return findings;
}

std::vector<std::string> SeamTable(const SeamLog& log) {
  std::vector<std::string> lines = {
      fmt::format("{:>6} {:>9} {:>9} {:>9} {:>8}  {:<16} {:>10} {:>12} {:>6}", "unit", "frame",
                  "sent", "planned", "gap us", "parameter sets", "VBV bits", "samples", "gap")};
  for (const Seam& seam : log.Newest()) {
    const std::string vbv =
        seam.vbv_level_bits ? fmt::format("{:.0f}", *seam.vbv_level_bits) : std::string("-");
    lines.push_back(fmt::format("{:>6} {:>9} {:>9} {:>9} {:>8}  {:016x} {:>10} {:>12} {:>6}",
                                seam.unit.value, seam.frame, seam.frames_out, seam.frames_planned,
                                seam.pts_gap_us, seam.parameter_hash, vbv, seam.audio_samples,
                                seam.audio_gap_samples));
  }
  return lines;
}

std::vector<std::string> FaultyJoins(const SeamLog& log) {
  std::vector<std::string> lines;
  for (const Seam& seam : log.Newest()) {
    std::string names;
    for (const auto& [fault, name] : kFaultNames) {
      if (seam.Has(fault)) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    }
    if (names.empty()) continue;
    lines.push_back(fmt::format("the join at frame {}, in front of unit {}: {}", seam.frame,
                                seam.unit.value, names));
  }
  return lines;
}

}  // namespace gopmill
