// SPDX-License-Identifier: Apache-2.0
#include "server/cli/progress.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <vector>

namespace gopmill::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Progress Halfway() {
  return {.frames_done = 450,
          .frames_total = 900,
          .out_seconds = 15,
          .total_seconds = 30,
          .fps = 123.44,
          .speed = 4.115,
          .eta_seconds = 3.6,
          .bytes = 4 << 20};
}

TEST(ProgressText, PlainLine) {
  EXPECT_EQ(PlainLine(Halfway()), "50%, 450/900 frames, 123.4 fps, 4.12x, ETA 0:04, 4.0 MiB");
  Progress unknown = Halfway();
  unknown.frames_total = 0;
  unknown.total_seconds = 0;
  EXPECT_EQ(PlainLine(unknown), "450 frames, 0:15, 123.4 fps, 4.12x, 4.0 MiB");
  unknown.total_seconds = 60;
  EXPECT_THAT(PlainLine(unknown), HasSubstr("25%, 450 frames"));
}

TEST(ProgressText, SaysThatTheMovieIsMeasuredFirst) {
  Progress progress = Halfway();
  progress.analysing = true;
  EXPECT_THAT(PlainLine(progress), HasSubstr("50%, analysing, 450/900 frames"));
}

TEST(ProgressText, BarFillsTheRoomThereIs) {
  EXPECT_EQ(BarLine(Halfway(), 100),
            "[===============>              ]  50%  450/900 frames  123.4 fps  4.12x  ETA 0:04  "
            "4.0 MiB");
  EXPECT_THAT(BarLine(Halfway(), 79), SizeIs(79));
  EXPECT_THAT(BarLine(Halfway(), 60), Not(HasSubstr("[")));
  for (int columns = -1; columns < 120; ++columns) {
    EXPECT_LE(BarLine(Halfway(), columns).size(), static_cast<std::size_t>(std::max(columns, 1)));
  }
}

TEST(ProgressText, HundredPercentMeansDone) {
  Progress progress = Halfway();
  progress.frames_done = 899;
  EXPECT_THAT(PlainLine(progress), HasSubstr("99%"));
  progress.frames_done = 900;
  EXPECT_THAT(BarLine(progress, 100), HasSubstr("[==============================] 100%"));
  progress.frames_done = 1000;  // an estimate that was too low
  EXPECT_THAT(PlainLine(progress), HasSubstr("100%"));
}

TEST(ProgressText, NothingYet) {
  EXPECT_EQ(PlainLine(Progress{}), "0 frames, 0:00, 0.0 fps, 0.00x, 0 B");
}

TEST(ProgressText, ClockAndBytes) {
  EXPECT_EQ(ClockText(0), "0:00");
  EXPECT_EQ(ClockText(59.6), "1:00");
  EXPECT_EQ(ClockText(3723), "1:02:03");
  EXPECT_EQ(ClockText(-5), "0:00");
  EXPECT_EQ(ClockText(std::nan("")), "0:00");
  EXPECT_EQ(ClockText(std::numeric_limits<double>::infinity()), "99:59:59");
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(1536), "1.5 KiB");
  EXPECT_EQ(BytesText((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(BytesText(std::int64_t{5} << 40), "5.0 TiB");
}

// Collects what is written.
struct Screen {
  std::vector<std::string> written;
  ProgressPrinter Printer(ProgressStyle style) {
    return {style, [this](std::string_view text) { written.emplace_back(text); },
            [] { return 100; }};
  }
};

constexpr TimePoint At(int milliseconds) {
  return TimePoint(std::chrono::milliseconds(milliseconds));
}

TEST(ProgressPrinter, BarIsRedrawnTenTimesASecondAndRemovedAtTheEnd) {
  Screen screen;
  ProgressPrinter printer = screen.Printer(ProgressStyle::kBar);
  for (int ms = 0; ms < 1000; ms += 10) printer.Update(Halfway(), At(ms));
  EXPECT_THAT(screen.written, SizeIs(10));
  EXPECT_THAT(screen.written[0], HasSubstr("\r\x1b[K["));
  printer.Clear();
  printer.Clear();
  EXPECT_THAT(screen.written, SizeIs(11));
  EXPECT_EQ(screen.written.back(), "\r\x1b[K");
}

TEST(ProgressPrinter, PlainLinesComeEveryTwoSeconds) {
  Screen screen;
  ProgressPrinter printer = screen.Printer(ProgressStyle::kPlain);
  for (int ms = 0; ms <= 4000; ms += 100) printer.Update(Halfway(), At(ms));
  printer.Clear();
  EXPECT_THAT(screen.written,
              ElementsAre(PlainLine(Halfway()) + "\n", PlainLine(Halfway()) + "\n"));
}

TEST(ProgressPrinter, QuietIsQuiet) {
  Screen screen;
  ProgressPrinter printer = screen.Printer(ProgressStyle::kQuiet);
  for (int ms = 0; ms <= 4000; ms += 100) printer.Update(Halfway(), At(ms));
  printer.Clear();
  EXPECT_THAT(screen.written, IsEmpty());
}

}  // namespace
}  // namespace gopmill::cli
