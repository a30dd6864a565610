// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/asset.h"
#include "base/dump_json.h"
#include "server/bench/report.h"

namespace gopmill {

// In the generated file: server/bench/page.
std::span<const Asset> ReportAssets();

}  // namespace gopmill

namespace gopmill::bench {
namespace {

using Json = nlohmann::ordered_json;

// Units drawn of one run; the chart says when there were more.
constexpr std::size_t kMaxSlices = 2000;

std::string Page(std::string_view name) {
  const auto assets = ReportAssets();
  const auto found = std::ranges::find(assets, name, &Asset::name);
  GOPMILL_CHECK(found != assets.end());
  return std::string(found->bytes);
}

// [worker, stream, unit, start ms, duration ms, cold]
Json Slices(const RunRecord& run) {
  std::vector<const UnitSample*> units;
  for (const UnitSample& unit : run.units) units.push_back(&unit);
  std::ranges::sort(units, {}, [](const UnitSample* unit) { return unit->life.report.started; });
  if (units.size() > kMaxSlices) units.resize(kMaxSlices);
  // To the microsecond: a third of the text.
  const auto millis = [](Duration time) { return std::round(ToMillis(time) * 1e3) / 1e3; };
  Json slices = Json::array();
  for (const UnitSample* unit : units) {
    const JobReport& report = unit->life.report;
    slices.push_back({report.worker.value, report.unit.stream.value, report.unit.index.value,
                      millis(report.started - run.start), millis(report.finished - report.started),
                      report.cold ? 1 : 0});
  }
  return slices;
}

Json GanttJson(const Comparison& comparison) {
  Json runs = Json::array();
  for (const FinishedRun& run : comparison.runs) {
    if (run.record.repeat != 0) continue;
    Json workers = Json::array();
    for (const WorkerSample& worker : run.record.workers) workers.push_back(worker.pu_os_index);
    runs.push_back({{"policy", run.record.policy},
                    {"workers", std::move(workers)},
                    {"complete", run.record.units.size() <= kMaxSlices},
                    {"slices", Slices(run.record)}});
  }
  return runs;
}

// Replaces the one occurrence of `mark`.
void Fill(std::string& page, std::string_view mark, std::string_view text) {
  const std::size_t at = page.find(mark);
  GOPMILL_CHECK(at != std::string::npos);
  page.replace(at, mark.size(), text);
}

// JSON inside a script element: nothing in it may end the element or open a comment.
std::string ScriptSafe(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      case '@': escaped += "&#64;"; break;  // the marks of the page's template
      default: escaped += c;
    }
  }
  return escaped;
}

std::string ReportHtml(const Report& report) {
  Json data = Json::parse(ReportJson(report));
  data["gantt"] = GanttJson(report.comparison);
  const std::string title = EscapeHtml("gopmill bench: " + report.head.workload);
  std::string page = Page("report.html");
  Fill(page, "@STYLE@", Page("report.css"));
  Fill(page, "@SCRIPT@", Page("report.js"));
  // What comes from outside may look like a mark: it is escaped, or comes last.
  Fill(page, "@TITLE@", title);
  Fill(page, "@TITLE@", title);
  Fill(page, "@DATA@", ScriptSafe(DumpJson(data)));
  return page;
}

}  // namespace gopmill::bench
