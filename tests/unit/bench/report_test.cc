// SPDX-License-Identifier: Apache-2.0
#include "server/bench/report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "server/bench/report_fields.h"
#include "server/bench/trace_events.h"
#include "tests/unit/bench/sample_runs.h"

namespace gopmill::bench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

TEST(ReportTextTest, HasARowPerPolicyAndSaysWhatIsNotKnown) {
  EXPECT_THAT(ReportText(test::SampleReport()),
              AllOf(HasSubstr("\nrr "), HasSubstr("\nfifo "), HasSubstr("50.0 % only"),
                    HasSubstr("Cache misses were not counted: test.")));
}

TEST(ReportTextTest, WhatCanBeZeroIsComparedByDifferences) {
  const std::string text = ReportText(test::SampleReport());
  EXPECT_THAT(text, HasSubstr("\nDivided by fifo of the same round\n"));
  EXPECT_THAT(text, HasSubstr("\nLess fifo of the same round\n"));
  EXPECT_THAT(text, HasSubstr("+0.00..+0.00"));
  EXPECT_THAT(text, HasSubstr("policy  reord points "));
}

TEST(ReportTextTest, FewerRoundsAreNamedWithTheirCoverage) {
  Report report = test::SampleReport();
  report.comparison.plan.repeats = 3;
  EXPECT_THAT(ReportText(report), HasSubstr("1.000..1.000 (of 2: 50.0 %)"));
}

TEST(ReportTextTest, SaysInWhichOrderPoliciesRanAndWhatWarmedUp) {
  Report report = test::SampleReport();
  EXPECT_THAT(ReportText(report), HasSubstr("2 repeats interleaved (orders balanced after each 2), "
                                            "warm-up: 1\n"));
  report.comparison.plan.warm_ups = 0;
  EXPECT_THAT(ReportText(report), HasSubstr(", no warm-up\n"));
  EXPECT_EQ(Json::parse(ReportJson(report))["warm_up_runs"], 0);
}

TEST(ReportTextTest, OneRunHasNoInterval) {
  Report report = test::SampleReport();
  report.comparison.plan.repeats = 1;
  std::erase_if(report.comparison.runs,
                [](const FinishedRun& run) { return run.record.repeat > 0; });
  report.summaries = Summarise(report.comparison, report.head.baseline);
  const std::string text = ReportText(report);
  EXPECT_THAT(text, HasSubstr("One run each: no intervals."));
  EXPECT_THAT(text, Not(HasSubstr("..")));
}

TEST(ReportTextTest, ViolationsComeLast) {
  Report report = test::SampleReport();
  report.violations = {"Stream 3 differs."};
  EXPECT_THAT(ReportText(report), ::testing::EndsWith("FAILED: Stream 3 differs.\n"));
}

TEST(ReportJsonTest, IsConsistent) {
  const Json json = Json::parse(ReportJson(test::SampleReport()));
  EXPECT_EQ(json["runs"].size(), 4U);
  EXPECT_EQ(json["policies"].size(), 2U);
  for (const Json& run : json["runs"]) {
    std::int64_t units = 0;
    for (const Json& core : run["cores"]) units += core["units"].get<std::int64_t>();
    EXPECT_EQ(units, run["gops"].get<std::int64_t>());
    EXPECT_EQ(run["streams"][0]["hash"], "0000000000001235");
  }
  for (const auto& [name, doc] : json["measures"].items()) {
    EXPECT_TRUE(json["policies"][0]["measures"].contains(name)) << name;
  }
}

Report ReplayReport() {
  return test::SampleReport([](const std::string& policy, bool) {
    RunRecord run = test::SampleRun(policy, 0);
    run.media = false;
    for (StreamSample& stream : run.streams) stream.first_byte.reset();
    return run;
  });
}

TEST(ReportJsonTest, WhatIsNotMeasuredIsNull) {
  const Json json = Json::parse(ReportJson(ReplayReport()));
  for (const char* name : {"first_byte_ms", "frames", "context_hits", "deadline_misses"}) {
    EXPECT_TRUE(json["runs"][0].at(name).is_null()) << name;
    EXPECT_TRUE(json["policies"][0]["measures"].at(name).is_null()) << name;
    EXPECT_TRUE(json["policies"][0]["ratios"].at(name).is_null()) << name;
  }
  EXPECT_TRUE(json["runs"][0]["streams"][0].at("hash").is_null());
  EXPECT_TRUE(json["runs"][0]["stages_ms"].at("decode").is_null());
  EXPECT_TRUE(json["policies"][0]["stages_ms"].at("encode").is_null());
  EXPECT_EQ(json["policies"][0]["measures"]["gops_per_s"]["values"], 2);
}

TEST(ReportTextTest, WhatIsNotMeasuredIsADash) {
  const std::string text = ReportText(ReplayReport());
  EXPECT_THAT(text, HasSubstr("A replay has no media"));
  EXPECT_THAT(text,
              ::testing::ContainsRegex(
                  "\nrr +25.00 +1.00 +1 +- +- +- +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +-\n"));
  EXPECT_THAT(ReportText(test::SampleReport()), Not(HasSubstr("A replay has no media")));
}

TEST(TraceEventsTest, AReplaySaysNothingOfStages) {
  RunRecord run = test::SampleRun("rr", 0);
  run.media = false;
  EXPECT_THAT(TraceEventsJson({&run}), Not(HasSubstr("encode_ms")));
}

// "runs.cores.busy_s" for each value in it, whatever its place in lists.
void AddPaths(const Json& json, const std::string& path, std::set<std::string>& paths) {
  if (!path.empty()) paths.insert(path);
  if (path == "measures" || path == "fields") return;  // the legends themselves
  for (const auto& [key, value] : json.items()) {
    if (!json.is_structured()) break;
    const std::string below = path.empty() ? key : path + "." + key;
    AddPaths(value, json.is_array() ? path : below, paths);
  }
}

bool Matches(std::string_view path, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return path == pattern;
  const std::string_view tail = pattern.substr(star + 1);
  return path.size() >= star + tail.size() && path.starts_with(pattern.substr(0, star)) &&
         path.ends_with(tail);
}

TEST(ReportJsonTest, EveryFieldIsInALegendAndEveryLegendHasItsField) {
  Report report = test::SampleReport([](const std::string& policy, bool) {
    RunRecord run = test::SampleRun(policy, 0);
    run.cache = CacheCounts{.references = 10, .misses = 1};
    run.classes.resize(2);
    // Another stream of the other class, so that both wait.
    run.units.push_back(run.units.front());
    run.units.back().life.report.unit.stream = StreamId{99};
    for (UnitSample& unit : run.units) {
      unit.life.report.submitted = test::At(0);
      unit.life.report.started = test::At(1);
    }
    run.units[0].life.spec.service_class = 1;
    return run;
  });
  std::set<std::string> paths;
  AddPaths(Json::parse(ReportJson(report)), "", paths);
  std::set<std::string> names;
  for (const MeasureDoc& doc : MeasureDocs()) names.emplace(doc.name);
  std::set<std::string_view> used;
  for (const std::string& path : paths) {
    bool known = path.starts_with("runs.") && names.contains(path.substr(5));
    for (const char* part : {"measures.", "ratios.", "differences."}) {
      const std::string before = std::string("policies.") + part;
      known |= path.starts_with(before) && names.contains(path.substr(before.size()));
    }
    for (const FieldDoc& doc : FieldDocs()) {
      if (!Matches(path, doc.path)) continue;
      known = true;
      used.insert(doc.path);
    }
    EXPECT_TRUE(known) << path;
  }
  for (const FieldDoc& doc : FieldDocs()) EXPECT_TRUE(used.contains(doc.path)) << doc.path;
}

TEST(ReportJsonTest, WhatIsNotUtf8DoesNotBreakIt) {
  Report report = test::SampleReport();
  report.head.command = {"gopmill", "bench", "--movies", "caf\xe9"};
  EXPECT_TRUE(Json::accept(ReportJson(report)));
}

TEST(ReportHtmlTest, NothingInTheDataEndsTheScript) {
  const std::string page = ReportHtml(test::SampleReport());
  const std::size_t begin = page.find("id=\"data\">");
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = page.find("</script>", begin);
  const std::string data = page.substr(begin + 10, end - begin - 10);
  EXPECT_THAT(data, Not(HasSubstr("<")));
  const Json json = Json::parse(data);
  EXPECT_EQ(json["runs"][0]["streams"][0]["name"], "movie </script><!-- to 128x96");
  EXPECT_EQ(json["gantt"].size(), 2U);
  EXPECT_EQ(json["gantt"][0]["slices"].size(), 4U);
}

TEST(ReportHtmlTest, IsOneFileWithoutNetwork) {
  const std::string page = ReportHtml(test::SampleReport());
  EXPECT_THAT(page, AllOf(Not(HasSubstr(" src=")), Not(HasSubstr("href=")), Not(HasSubstr("url(")),
                          Not(HasSubstr("fetch(")), Not(HasSubstr("@DATA@"))));
}

TEST(ReportHtmlTest, TextFromOutsideIsText) {
  EXPECT_EQ(EscapeHtml("<a href='x'>&\"@"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;&#64;");
  Report report = test::SampleReport();
  report.head.workload = "replay of <img onerror=x> @DATA@ @TITLE@ @SCRIPT@";
  const std::string page = ReportHtml(report);
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<img")), HasSubstr("&lt;img onerror=x&gt; &#64;DATA")));
}

TEST(TraceEventsTest, EveryUnitIsASliceOnItsWorkerAndATrackOfItsStream) {
  const RunRecord run = test::SampleRun("rr", 0);
  const Json json = Json::parse(TraceEventsJson({&run, &run}));
  int slices = 0, begins = 0, ends = 0;
  std::set<int> threads, named;
  for (const Json& event : json["traceEvents"]) {
    const std::string phase = event["ph"];
    begins += phase == "b" ? 1 : 0;
    ends += phase == "e" ? 1 : 0;
    if (event["name"] == "thread_name") named.insert(event["tid"].get<int>());
    if (phase != "X") continue;
    ++slices;
    const int process = event["pid"], thread = event["tid"];
    EXPECT_GT(process, 0);
    EXPECT_GT(thread, process) << "not what viewers take for an idle or a main thread";
    threads.insert(thread);
    EXPECT_GT(event["dur"].get<double>(), 0);
    EXPECT_TRUE(event["args"].contains("encode_ms"));
  }
  EXPECT_EQ(threads.size(), 4U) << "two workers of two runs";
  EXPECT_EQ(threads, named);
  EXPECT_EQ(slices, 8);
  EXPECT_EQ(begins, ends);
  EXPECT_GE(begins, 8);
}

TEST(TraceEventsTest, NoRunsAreAnEmptyTrace) {
  EXPECT_EQ(Json::parse(TraceEventsJson({}))["traceEvents"].size(), 0U);
}

}  // namespace
}  // namespace gopmill::bench
