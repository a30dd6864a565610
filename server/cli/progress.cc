// SPDX-License-Identifier: Apache-2.0
#include "server/cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace gopmill::cli {
namespace {

constexpr Duration kBarInterval = std::chrono::milliseconds(100);
constexpr Duration kPlainInterval = std::chrono::seconds(2);
constexpr const char* kEraseLine = "\r\x1b[K";

// 0..1; by frames if their number is known, else by time; nullopt = unknown.
std::optional<double> Fraction(const Progress& progress) {
  if (progress.frames_total > 0) {
    const auto done = static_cast<double>(progress.frames_done);
    return std::clamp(done / static_cast<double>(progress.frames_total), 0.0, 1.0);
  }
  if (progress.total_seconds > 0) {
    return std::clamp(progress.out_seconds / progress.total_seconds, 0.0, 1.0);
  }
  return std::nullopt;
}

// 100 only when everything is done.
int Percent(double fraction) { return static_cast<int>(std::floor(fraction * 100.0)); }

std::vector<std::string> Fields(const Progress& progress) {
  std::vector<std::string> fields;
  if (progress.analysing) fields.emplace_back("analysing");
  if (progress.frames_total > 0) {
    fields.push_back(fmt::format("{}/{} frames", progress.frames_done, progress.frames_total));
  } else {
    fields.push_back(fmt::format("{} frames", progress.frames_done));
    fields.push_back(ClockText(progress.out_seconds));
  }
  fields.push_back(fmt::format("{:.1f} fps", progress.fps));
  fields.push_back(fmt::format("{:.2f}x", progress.speed));
  if (Fraction(progress) && progress.speed > 0) {
    fields.push_back("ETA " + ClockText(progress.eta_seconds));
  }
  fields.push_back(BytesText(progress.bytes));
  return fields;
}

std::string Joined(const std::vector<std::string>& fields, std::string_view separator) {
  return fmt::format("{}", fmt::join(fields, separator));
}

}  // namespace

std::string ClockText(double seconds) {
  constexpr double kMost = 359'999;  // 99:59:59
  if (!(seconds >= 0)) seconds = 0;  // also NaN
  const auto whole = static_cast<std::int64_t>(std::min(std::round(seconds), kMost));
  if (whole >= 3600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string BytesText(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string BarLine(const Progress& progress, int columns) {
  constexpr int kWidestBar = 30, kNarrowestBar = 8;
  const auto width = static_cast<std::size_t>(std::max(columns, 1));
  const std::string fields = Joined(Fields(progress), "  ");
  const auto fraction = Fraction(progress);
  if (!fraction) return fields.substr(0, width);
  const std::string text = fmt::format("{:3}%  {}", Percent(*fraction), fields);
  const int room = columns - static_cast<int>(text.size()) - 3;
  if (room < kNarrowestBar) return text.substr(0, width);
  const int bar = std::min(room, kWidestBar);
  const int filled = static_cast<int>(*fraction * bar);
  std::string drawn(static_cast<std::size_t>(filled), '=');
  if (filled < bar) drawn += '>';
  drawn.resize(static_cast<std::size_t>(bar), ' ');
  return fmt::format("[{}] {}", drawn, text);
}

std::string PlainLine(const Progress& progress) {
  const auto fraction = Fraction(progress);
  const std::string fields = Joined(Fields(progress), ", ");
  return fraction ? fmt::format("{}%, {}", Percent(*fraction), fields) : fields;
}

void ProgressPrinter::Update(const Progress& progress, TimePoint now) {
  if (style_ == ProgressStyle::kQuiet) return;
  const Duration interval = style_ == ProgressStyle::kBar ? kBarInterval : kPlainInterval;
  if (last_ && now - *last_ < interval) return;
  // The first plain line comes after one interval: short jobs need none.
  const bool first = !last_;
  last_ = now;
  if (style_ == ProgressStyle::kPlain) {
    if (!first) write_(PlainLine(progress) + "\n");
    return;
  }
  // One column stays free: some terminals wrap as soon as the last one is written.
  write_(kEraseLine + BarLine(progress, columns_() - 1));
  drawn_ = true;
}

void ProgressPrinter::Clear() {
  if (drawn_) write_(kEraseLine);
  drawn_ = false;
}

}  // namespace gopmill::cli
