// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/xml_text.h"

namespace gopmill::sim {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 360;
constexpr double kLeft = 70;
constexpr double kRight = 130;  // names of the series
constexpr double kTop = 36;
constexpr double kBottom = 48;
constexpr int kYTicks = 5;
constexpr std::array kColours = {"#3b7dd8", "#d1495b", "#2e9e5b", "#b8860b",
                                 "#8a5bd1", "#00a0a0", "#c06014", "#777777"};

// The next of 1, 2, 2.5, 5, 10 times a power of ten.
double RoundUp(double value) {
  if (!(value > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 2.0, 2.5, 5.0}) {
    if (value <= step * power * (1 + 1e-9)) return step * power;
  }
  return 10 * power;
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart) : chart_(chart) {
    double most = 0;
    for (const ChartSeries& series : chart.series) {
      for (const auto& [x, y] : series.points) {
        low_ = std::min(low_, x);
        high_ = std::max(high_, x);
        most = std::max(most, y);
      }
    }
    top_ = RoundUp(most);
    if (low_ >= high_) high_ = low_ * 10;
  }

  std::string Text() {
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#808080\">\n",
        kWidth, kHeight);
    Label(kLeft, 20, "start", chart_.title, 14);
    Label((kLeft + kWidth - kRight) / 2, kHeight - 10, "middle", chart_.x_label, 12);
    svg_ += fmt::format(
        "<text transform=\"translate(14 {:.0f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
        (kTop + kHeight - kBottom) / 2, XmlText(chart_.y_label));
    Axes();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) Series(i);
    return svg_ + "</svg>\n";
  }

 private:
  [[nodiscard]] double X(double x) const {
    const double share = std::log(x / low_) / std::log(high_ / low_);
    return kLeft + share * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double Y(double y) const {
    return kHeight - kBottom - y / top_ * (kHeight - kTop - kBottom);
  }

  void Label(double x, double y, const char* anchor, const std::string& text, int size) {
    svg_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\">{}</text>\n", x, y,
        anchor, size, XmlText(text));
  }

  void Line(double x1, double y1, double x2, double y2) {
    svg_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#80808055\"/>\n",
        x1, y1, x2, y2);
  }

  void Axes() {
    for (int i = 0; i <= kYTicks; ++i) {
      const double value = top_ * i / kYTicks;
      Line(kLeft, Y(value), kWidth - kRight, Y(value));
      Label(kLeft - 6, Y(value) + 4, "end", fmt::format("{:g}", value), 11);
    }
    // Powers of ten on long axes, of two would crowd; short ones get both ends at least.
    for (double tick = std::pow(10, std::ceil(std::log10(low_) - 1e-9)); tick <= high_ * (1 + 1e-9);
         tick *= 10) {
      Line(X(tick), kTop, X(tick), kHeight - kBottom);
      Label(X(tick), kHeight - kBottom + 16, "middle", fmt::format("{:g}", tick), 11);
    }
  }

  void Series(std::size_t i) {
    const ChartSeries& series = chart_.series[i];
    if (series.points.empty()) return;
    const char* colour = kColours[std::min(i, kColours.size() - 1)];
    std::string path;
    for (const auto& [x, y] : series.points) path += fmt::format("{:.1f},{:.1f} ", X(x), Y(y));
    svg_ += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path, colour);
    const double y = kTop + 14 + 18 * static_cast<double>(i);
    svg_ += fmt::format("<rect x=\"{:.0f}\" y=\"{:.1f}\" width=\"14\" height=\"4\" fill=\"{}\"/>\n",
                        kWidth - kRight + 12, y - 6, colour);
    Label(kWidth - kRight + 32, y, "start", series.name, 12);
  }

  const Chart& chart_;
  double low_ = 1e300;
  double high_ = 0;
  double top_ = 1;
  std::string svg_;
};

}  // namespace

std::string ChartSvg(const Chart& chart) { return Drawing(chart).Text(); }

}  // namespace gopmill::sim
