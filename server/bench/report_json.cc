// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/dump_json.h"
#include "server/bench/report.h"
#include "server/bench/report_fields.h"
#include "server/bench/round_order.h"

namespace gopmill::bench {
namespace {

using Json = nlohmann::ordered_json;

// null = not measured.
Json ToJson(double value) { return IsMeasured(value) ? Json(value) : Json(); }

Json ToJson(const std::optional<Interval>& interval) {
  if (!interval) return {};
  return {{"median", interval->median},
          {"low", interval->low},
          {"high", interval->high},
          {"values", interval->values},
          {"coverage", interval->coverage}};
}

Json ToJson(const std::vector<CoreMeasures>& cores) {
  Json list = Json::array();
  for (std::size_t i = 0; i < cores.size(); ++i) {
    list.push_back({{"worker", i},
                    {"cpu", cores[i].pu_os_index},
                    {"units", cores[i].units},
                    {"busy_s", cores[i].busy_s},
                    {"cpu_s", cores[i].cpu_s},
                    {"utilisation", cores[i].utilisation}});
  }
  return list;
}

Json StagesJson(const std::array<double, kStages>& stages) {
  Json json;
  for (std::size_t i = 0; i < kStages; ++i) {
    json[std::string(StageName(static_cast<Stage>(i)))] = ToJson(stages[i]);
  }
  return json;
}

Json ToJson(const PolicySummary& summary) {
  Json measures, ratios, differences;
  const auto docs = MeasureDocs();
  for (std::size_t i = 0; i < docs.size(); ++i) {
    const std::string name(docs[i].name);
    measures[name] = ToJson(summary.measures[i]);
    ratios[name] = ToJson(summary.ratios[i]);
    differences[name] = ToJson(summary.differences[i]);
  }
  Json shares = Json::array();
  for (const auto& share : summary.class_shares) shares.push_back(ToJson(share));
  return {{"policy", summary.policy},
          {"measures", std::move(measures)},
          {"ratios", std::move(ratios)},
          {"differences", std::move(differences)},
          {"class_shares", std::move(shares)},
          {"cores", ToJson(summary.cores)},
          {"stages_ms", StagesJson(summary.stages_ms)}};
}

Json StreamsJson(const RunRecord& record) {
  Json list = Json::array();
  for (const StreamSample& stream : record.streams) {
    const auto of_media = [&record](auto value) { return record.media ? Json(value) : Json(); };
    list.push_back({{"stream", stream.id.value},
                    {"name", stream.name},
                    {"bytes", of_media(stream.bytes)},
                    {"frames", of_media(stream.frames)},
                    {"hash", of_media(fmt::format("{:016x}", stream.hash))}});
  }
  return list;
}

Json ToJson(const FinishedRun& run) {
  Json json = {{"policy", run.record.policy},
               {"repeat", run.record.repeat},
               {"workers", run.record.workers.size()},
               {"gops", run.measures.gops},
               {"retries", run.record.counters.retries},
               {"decisions", run.record.counters.decisions}};
  for (const MeasureDoc& doc : MeasureDocs()) {
    json[std::string(doc.name)] = ToJson(run.measures.*doc.value);
  }
  json["cache"] = nullptr;
  if (run.record.cache) {
    json["cache"] = {{"references", run.record.cache->references},
                     {"misses", run.record.cache->misses}};
  }
  json["class_shares"] = Json::array();
  for (const double share : run.measures.class_shares)
    json["class_shares"].push_back(ToJson(share));
  json["cores"] = ToJson(run.measures.cores);
  json["stages_ms"] = StagesJson(run.measures.stages_ms);
  json["streams"] = StreamsJson(run.record);
  return json;
}

Json HeadJson(const Report& report) {
  const ReportHead& head = report.head;
  const Machine& machine = head.machine;
  return {{"format", "gopmill-bench"},
          {"version", 2},
          {"machine",
           {{"cpu", machine.cpu},
            {"cpus", machine.cpus},
            {"kernel", machine.kernel},
            {"load", machine.load},
            {"date", machine.date},
            {"gopmill", machine.gopmill},
            {"ffmpeg", machine.ffmpeg},
            {"compiler", machine.compiler}}},
          {"command", head.command},
          {"workload", head.workload},
          {"unit", head.unit},
          {"duration_s", head.duration},
          {"preset", head.preset},
          {"crf", head.crf},
          {"streams", head.streams},
          {"queue", head.run_queue_units},
          {"seed", head.seed},
          {"repeats", report.comparison.plan.repeats},
          {"warm_up_runs", report.comparison.plan.warm_ups},
          {"balanced_rounds", BalancedRounds(report.comparison.plan.policies.size())},
          {"baseline", head.baseline},
          {"compared", {{"ratios", kComparedRatios}, {"differences", kComparedDifferences}}},
          {"cache_misses",
           head.cache_obstacle.empty() ? "counted" : "not counted: " + head.cache_obstacle}};
}

Json FieldsJson() {
  Json fields;
  for (const FieldDoc& doc : FieldDocs()) fields[std::string(doc.path)] = doc.meaning;
  return fields;
}

Json LegendJson() {
  Json legend;
  for (const MeasureDoc& doc : MeasureDocs()) {
    legend[std::string(doc.name)] = {{"heading", doc.heading},
                                     {"unit", doc.unit},
                                     {"scale", doc.scale},
                                     {"decimals", doc.decimals},
                                     {"meaning", doc.meaning}};
  }
  return legend;
}

}  // namespace

std::string ReportJson(const Report& report) {
  Json json = HeadJson(report);
  json["interval"] = {
      {"method", "order statistics of the repeats (distribution-free)"},
      {"coverage", report.summaries.empty() ? 0 : report.summaries[0].measures[0]->coverage}};
  json["violations"] = report.violations;
  json["classes"] = Json::array();
  const RunRecord& record = report.comparison.runs.front().record;
  const auto& classes = record.classes;
  const std::vector<double> due = AssuredShares(classes, static_cast<int>(record.workers.size()));
  for (std::size_t c = 0; c < classes.size(); ++c) {
    json["classes"].push_back(
        {{"name", classes[c].name}, {"weight", classes[c].weight}, {"due", due[c]}});
  }
  json["measures"] = LegendJson();
  json["fields"] = FieldsJson();
  for (const PolicySummary& summary : report.summaries) {
    json["policies"].push_back(ToJson(summary));
  }
  for (const FinishedRun& run : report.comparison.runs) json["runs"].push_back(ToJson(run));
  return DumpJson(json, 2);
}

}  // namespace gopmill::bench
