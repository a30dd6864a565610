// SPDX-License-Identifier: Apache-2.0
#include "server/stream/stream_trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/unit/stream/sample_lives.h"

namespace gopmill {
namespace {

using nlohmann::json;
using test::AtMillis;
using test::Life;

class TraceTest : public testing::Test {
 protected:
  TraceTest() {
    stream.id = StreamId{5};
    stream.source = "caf\xe9 \"</script>\\.mp4";
    stream.began = AtMillis(1);
    stream.unit_log = log;
    workers.resize(2);
    for (int i = 0; i < 2; ++i) {
      workers[static_cast<std::size_t>(i)].worker = WorkerId{i};
      workers[static_cast<std::size_t>(i)].pu_os_index = 4 + 2 * i;
    }
  }
  // Three units, the second of which is ready before the first; and one that waits for a place.
  void AddUnits() {
    log->OnEnded(Life(1, 1, 4, 5, 12));
    log->OnEnded(Life(0, 0, 2.5, 3, 20));
    log->OnReleased(UnitOf(0), AtMillis(21));
    log->OnReleased(UnitOf(1), AtMillis(24));
    UnitLife waits = Life(2, 1, 6, 12, 22);
    waits.window_wait = FromSeconds(2e-3);
    waits.planned_at = AtMillis(8);
    log->OnEnded(waits);
    log->OnReleased(UnitOf(2), AtMillis(25));
  }
  static UnitId UnitOf(std::int64_t index) { return {StreamId{5}, UnitIndex{index}}; }
  [[nodiscard]] json Events() const {
    return json::parse(StreamTraceJson(stream, workers))["traceEvents"];
  }
  // Slices, arrows and the like of one phase.
  [[nodiscard]] std::vector<json> EventsOf(const std::string& phase) const {
    std::vector<json> found;
    for (const json& event : Events()) {
      if (event["ph"] == phase) found.push_back(event);
    }
    return found;
  }

  std::shared_ptr<UnitLog> log = std::make_shared<UnitLog>();
  StreamSnapshot stream;
  std::vector<WorkerStats> workers;
};

struct Span {
  double from, to;
};

TEST_F(TraceTest, EveryLaneHasANameAndEveryNameIsText) {
  AddUnits();
  std::map<int, std::string> lanes;
  for (const json& event : EventsOf("M")) {
    if (event["name"] == "thread_name") lanes[event["tid"]] = event["args"]["name"];
  }
  std::vector<std::string> names;
  for (const auto& [lane, name] : lanes) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"source", "worker 0 on CPU 4", "worker 1 on CPU 6",
                                             "output"}));
  for (const json& event : EventsOf("X")) EXPECT_TRUE(lanes.contains(event["tid"]));
}

TEST_F(TraceTest, EveryUnitIsReadRunAndSentOnce) {
  AddUnits();
  std::map<std::string, int> categories;
  for (const json& event : EventsOf("X")) {
    ++categories[event["cat"]];
    if (event["cat"] != "unit") continue;
    EXPECT_EQ(event["args"]["stream"], 5);
    for (const char* name : {"home", "bytes", "cold", "cpu_ms", "decode_ms", "encode_ms"}) {
      EXPECT_TRUE(event["args"].contains(name)) << name;
    }
  }
  EXPECT_EQ(categories["unit"], 3);
  EXPECT_EQ(categories["output"], 3);
  EXPECT_EQ(categories["source"], 4) << "and once the window was full";
}

TEST_F(TraceTest, SlicesOfALaneDoNotOverlapAndNoTimeIsNegative) {
  AddUnits();
  std::map<int, std::vector<Span>> lanes;
  for (const json& event : EventsOf("X")) {
    const double from = event["ts"], length = event["dur"];
    EXPECT_GE(from, 0);
    EXPECT_GT(length, 0);
    lanes[event["tid"]].push_back({from, from + length});
  }
  for (auto& [lane, spans] : lanes) {
    std::ranges::sort(spans, {}, &Span::from);
    for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_GE(spans[i].from, spans[i - 1].to - 1e-3);
  }
  for (const json& event : Events()) {
    if (event.contains("ts")) {
      EXPECT_GE(event["ts"], 0);
    }
  }
}

// Each arrow lies in slices, where its parts begin.
void CheckArrows(const json& events, std::size_t count) {
  std::map<int, std::map<std::string, double>> arrows;
  std::set<std::pair<int, double>> begins;
  for (const json& event : events) {
    if (event["ph"] == "X") begins.emplace(event["tid"], event["ts"]);
  }
  for (const json& event : events) {
    const std::string phase = event["ph"];
    if (phase != "s" && phase != "t" && phase != "f") continue;
    EXPECT_TRUE(arrows[event["id"]].emplace(phase, event["ts"]).second) << event;
    EXPECT_TRUE(begins.contains({event["tid"], event["ts"]})) << event;
    EXPECT_EQ(event.contains("bp"), phase != "s");
  }
  EXPECT_EQ(arrows.size(), count);
  for (auto& [id, parts] : arrows) {
    ASSERT_TRUE(parts.contains("s") && parts.contains("f")) << id;
    EXPECT_LE(parts["s"], parts["f"]);
    if (!parts.contains("t")) continue;
    EXPECT_LE(parts["s"], parts["t"]);
    EXPECT_LE(parts["t"], parts["f"]);
  }
}

TEST_F(TraceTest, EachUnitHasAnArrowFromItsSourceToItsOutput) {
  AddUnits();
  CheckArrows(Events(), 3);
  EXPECT_EQ(EventsOf("t").size(), 3U);
}

TEST_F(TraceTest, WhatIsNotSentYetEndsWhereItRan) {
  log->OnEnded(Life(0, 0, 2.5, 3, 20));
  CheckArrows(Events(), 1);
  EXPECT_TRUE(EventsOf("t").empty());
}

TEST_F(TraceTest, WhatNeverRanWasOnlyRead) {
  UnitLife life = Life(0, -1, 2.5, 0, 0);
  life.report = {};
  life.report.unit = UnitOf(0);
  log->OnEnded(life);
  CheckArrows(Events(), 0);
  EXPECT_EQ(EventsOf("X").size(), 1U);
  EXPECT_TRUE(EventsOf("b").empty());
}

TEST_F(TraceTest, WhatFailedSaysSo) {
  UnitLife life = Life(0, 0, 2.5, 3, 20);
  life.report.outcome = JobOutcome::kFailed;
  life.report.attempt = 1;
  log->OnEnded(life);
  const json run = EventsOf("X").at(1);
  EXPECT_EQ(run["args"]["outcome"], "failed");
  EXPECT_EQ(run["args"]["retried"], true);
}

TEST_F(TraceTest, AStreamWithoutUnitsHasItsLanes) { EXPECT_EQ(Events().size(), 5U); }

// It is made on the event loop: `--gtest_output=xml:FILE` has the figures.
TEST_F(TraceTest, AFullLogIsToldSoon) {
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(kKeptUnits); ++i) {
    const auto at = static_cast<double>(i) * 10;
    log->OnEnded(Life(i, static_cast<int>(i % 2), at + 2, at + 3, at + 12));
    log->OnReleased(UnitOf(i), AtMillis(at + 12.5));
  }
  const Duration before = ThreadCpuNow();
  const std::string text = StreamTraceJson(stream, workers);
  RecordProperty("cpu_ms", std::to_string(ToMillis(ThreadCpuNow() - before)));
  RecordProperty("bytes", std::to_string(text.size()));
  CheckArrows(json::parse(text)["traceEvents"], kKeptUnits);
  EXPECT_LT(text.size(), std::size_t{4} << 20U);
}

}  // namespace
}  // namespace gopmill
