// SPDX-License-Identifier: Apache-2.0
//
// Progress for people: a bar that redraws itself on a terminal, a plain line now and then anywhere
// else.
//
// Thread-safety: the functions are pure; ProgressPrinter is compatible (one caller at a time).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "server/offline/transcode_file.h"

namespace gopmill::cli {

// "1:02:03", "2:03", "0:08".
std::string ClockText(double seconds);
// "812 B", "4.2 MiB".
std::string BytesText(std::int64_t bytes);

// "[=====>    ]  45%  812/1800 frames  123.4 fps  5.1x  ETA 0:08  4.2 MiB", at most `columns` wide.
// Without a known total there is no bar, no percentage and no ETA.
std::string BarLine(const Progress& progress, int columns);
// "45%, 812/1800 frames, 123.4 fps, 5.1x, ETA 0:08, 4.2 MiB"
std::string PlainLine(const Progress& progress);

enum class ProgressStyle { kBar, kPlain, kQuiet };

class ProgressPrinter {
 public:
  using Write = std::function<void(std::string_view)>;
  // `columns` is asked for at each redraw: terminals change their width.
  ProgressPrinter(ProgressStyle style, Write write, std::function<int()> columns)
      : style_(style), write_(std::move(write)), columns_(std::move(columns)) {}

  // Draws unless the last drawing was less than 100 ms (bar) or 2 s (plain) ago.
  void Update(const Progress& progress, TimePoint now);
  // Removes the bar, so that other text can follow.
  void Clear();

 private:
  const ProgressStyle style_;
  const Write write_;
  const std::function<int()> columns_;
  std::optional<TimePoint> last_;
  bool drawn_ = false;
};

}  // namespace gopmill::cli
