// SPDX-License-Identifier: Apache-2.0
//
// Line charts as SVG text, for documents: a logarithmic x axis, a linear y axis from zero, a few
// series with their names at the side. Readable on light and dark pages.
//
// Thread-safety: safe (pure function).
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gopmill::sim {

struct ChartSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x > 0, in order
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<ChartSeries> series;  // at most eight get a colour of their own
};

std::string ChartSvg(const Chart& chart);

}  // namespace gopmill::sim
