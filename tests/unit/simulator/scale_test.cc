// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/sim/svg_chart.h"

namespace gopmill::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SvgChartTest, DrawsALinePerSeries) {
  const std::string svg = ChartSvg(
      {.title = "a < b & c",
       .x_label = "x",
       .y_label = "y",
       .series = {{"one", {{1, 0}, {10, 5}, {100, 10}}}, {"two", {{1, 1}}}, {"without", {}}}});
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c"));
  // The first point is at the left on the axis, the last at the top right.
  EXPECT_THAT(svg, HasSubstr("points=\"70.0,312.0 290.0,174.0 510.0,36.0 \""));
  EXPECT_THAT(svg, HasSubstr(">two</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("without")));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(SvgChartTest, AChartWithoutPointsIsStillOne) {
  EXPECT_THAT(ChartSvg({}), HasSubstr("</svg>"));
  EXPECT_THAT(ChartSvg({}), Not(HasSubstr("nan")));
}

TEST(ScaleTest, GoesFromOneToTheLargestMachineAndToTenThousandStreams) {
  const std::vector<GridPoint> points = ScaleGrid({});
  EXPECT_EQ(points.front().experiment.topology, "chiplet:1");
  EXPECT_EQ(points[12].experiment.topology, "chiplet:4096");
  EXPECT_EQ(points.back().experiment.streams, 10'000);
}

TEST(ScaleTest, EveryFigureGetsAChartForEachAxis) {
  const std::vector<GridPoint> grid = ScaleGrid({});
  const std::vector<GridPoint> points = {grid[0], grid[1], grid[13], grid[14]};
  const auto runs = RunGrid(points, {"fifo"}, 2, {});
  ASSERT_TRUE(runs.ok()) << runs.error().ToString();
  EXPECT_EQ(ScaleCharts(points, *runs, {"fifo"}).size(), 8U) << "without the real clock";
  const auto charts = ScaleCharts(points, *runs, {"fifo"}, Timing::kShown);
  ASSERT_EQ(charts.size(), 10U);
  EXPECT_EQ(charts[0].first, "scale_pus_useful.svg");
  for (const auto& [name, svg] : charts) {
    if (name.find("share") != std::string::npos) continue;
    EXPECT_THAT(svg, HasSubstr("polyline")) << name;
  }
}

}  // namespace
}  // namespace gopmill::sim
