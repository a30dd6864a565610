// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include "scheduler/sim/trace_line.h"

namespace gopmill {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHeader =
    "{\"format\":\"gopmill-trace\",\"version\":1,\"machine\":\"test\",\"unit\":\"gop\"}\n";

std::string UnitLine(const std::string& changes = "") {
  return "{\"arrival_ms\":1.5,\"stream\":7,\"number\":0,\"class\":\"live\",\"index\":0,"
         "\"bytes\":57000,\"context\":9,\"hot_ms\":7.1" +
         changes + "}\n";
}

Result<RecordedTrace> Read(const std::string& text) {
  std::istringstream in(text);
  return ReadTrace(in);
}

// How a text is refused; "read" when it is not.
std::string Refusal(const std::string& text) {
  const Result<RecordedTrace> trace = Read(text);
  return trace.ok() ? "read" : trace.error().ToString();
}

TraceUnit SomeUnit(std::uint64_t stream, std::int64_t index, double arrival_ms) {
  return {.arrival_ms = arrival_ms,
          .stream = stream,
          .number = stream,
          .service_class = "gold \"A\"",
          .index = index,
          .bytes = 1234,
          .frames = 15,
          .context = 0xFFFFFFFFFFFFFFFF,
          .hot_ms = 0.1 + 0.2,
          .cold_ms = std::nullopt,
          .deadline_ms = arrival_ms + 500};
}

TEST(TraceTest, WhatIsWrittenIsReadBackExactly) {
  const TraceHeader header{.machine = "EPYC \"x\", 2 CPUs", .unit = "2 s"};
  TraceUnit cold = SomeUnit(2, 0, 2.25);
  cold.hot_ms.reset();
  cold.cold_ms = 1.0 / 3.0;
  cold.deadline_ms.reset();
  const auto trace =
      Read(TraceHeaderLine(header) + TraceUnitLine(SomeUnit(1, 0, 1.0 / 3)) + TraceUnitLine(cold));
  ASSERT_TRUE(trace.ok()) << trace.error().ToString();
  EXPECT_EQ(trace->header, header);
  ASSERT_EQ(trace->units.size(), 2U);
  EXPECT_EQ(trace->units[0], SomeUnit(1, 0, 1.0 / 3));
  EXPECT_EQ(trace->units[1], cold);
}

TEST(TraceTest, UnitsAreSortedByArrival) {
  const auto trace = Read(kHeader + TraceUnitLine(SomeUnit(1, 1, 9)) +
                          TraceUnitLine(SomeUnit(2, 0, 5)) + TraceUnitLine(SomeUnit(1, 0, 9)));
  ASSERT_TRUE(trace.ok()) << trace.error().ToString();
  EXPECT_EQ(trace->units[0].stream, 2U);
  EXPECT_EQ(trace->units[1].index, 0);
  EXPECT_EQ(trace->units[2].index, 1);
}

// With units shorter than a GOP: 0 to 2 are a run of the decoder, and 3 begins the next one.
TEST(TraceTest, IndicesNeedNotGrowWithTheArrivals) {
  std::string text = kHeader;
  for (const auto& [index, arrival_ms] :
       {std::pair(0, 1), std::pair(3, 2), std::pair(1, 8), std::pair(2, 9)}) {
    text += TraceUnitLine(SomeUnit(1, index, arrival_ms));
  }
  const auto trace = Read(text);
  ASSERT_TRUE(trace.ok()) << trace.error().ToString();
  std::vector<std::int64_t> indices;
  for (const TraceUnit& unit : trace->units) indices.push_back(unit.index);
  EXPECT_THAT(indices, ::testing::ElementsAre(0, 3, 1, 2));
}

TEST(TraceTest, AnIndexThatIsThereTwiceIsRefusedWhereItIsTheSecondTime) {
  EXPECT_THAT(
      Refusal(kHeader + TraceUnitLine(SomeUnit(1, 4, 9)) + TraceUnitLine(SomeUnit(1, 3, 1)) +
              TraceUnitLine(SomeUnit(2, 4, 2)) + TraceUnitLine(SomeUnit(1, 4, 3))),
      HasSubstr("line 5: Unit 4 of stream 1 is there twice"));
}

TEST(TraceTest, AnotherVersionIsRefusedByName) {
  const std::string text = "{\"format\":\"gopmill-trace\",\"version\":2,\"anything\":[1]}\n";
  EXPECT_THAT(Refusal(text), HasSubstr("version 2"));
  EXPECT_THAT(Refusal(text), HasSubstr("version 1"));
}

TEST(TraceTest, WhatIsNotATraceIsRefused) {
  EXPECT_THAT(Refusal(""), HasSubstr("line 1: The trace is empty"));
  EXPECT_THAT(Refusal("\n"), HasSubstr("line 1: column 1"));
  EXPECT_THAT(Refusal("RIFF\x01\x02"), HasSubstr("line 1: column 1: this is not JSON"));
  EXPECT_THAT(Refusal("[]\n"), HasSubstr("not an object"));
  EXPECT_THAT(Refusal("{}\n"), HasSubstr("no header"));
  EXPECT_THAT(Refusal(UnitLine()), HasSubstr("no header"));
  EXPECT_THAT(Refusal(kHeader), HasSubstr("line 2: The trace has no units"));
  EXPECT_THAT(Refusal(std::string(kHeader).insert(1, "\"extra\":1,") + UnitLine()),
              HasSubstr("line 1: The key \"extra\" is unknown"));
}

TEST(TraceTest, BadLinesAreNamedByNumber) {
  const auto refusal = [](const std::string& line) { return Refusal(kHeader + UnitLine() + line); };
  EXPECT_EQ(Refusal(kHeader + UnitLine()), "read");
  EXPECT_THAT(refusal("{\"arrival_ms\":1.5,\n"), HasSubstr("line 3: column "));
  EXPECT_THAT(refusal("{}\n"), HasSubstr("line 3: \"arrival_ms\" is missing"));
  EXPECT_THAT(refusal("\n"), HasSubstr("line 3"));
  EXPECT_THAT(refusal(UnitLine(",\"size\":3")), HasSubstr("line 3: The key \"size\" is unknown"));
  EXPECT_THAT(refusal(UnitLine(",\"bytes\":3")), HasSubstr("line 3: A key is there twice"));
  EXPECT_THAT(refusal(UnitLine(",\"cold_ms\":-1")), HasSubstr("\"cold_ms\" is out of range"));
  EXPECT_THAT(refusal(UnitLine(",\"cold_ms\":1e999")), HasSubstr("line 3"));
  EXPECT_THAT(refusal(UnitLine(",\"cold_ms\":\"1\"")), HasSubstr("\"cold_ms\" is out of range"));
  EXPECT_THAT(refusal(UnitLine(",\"deadline_ms\":1.0")), HasSubstr("\"deadline_ms\""));
  EXPECT_THAT(refusal(std::string(kMaxTraceLine + 1, ' ')),
              HasSubstr("line 3: The line is too long"));
  EXPECT_THAT(refusal(UnitLine()), HasSubstr("line 3: Unit 0 of stream 7 is there twice"));
}

TEST(TraceTest, HalfALineAtTheEndIsLeftOut) {
  const std::string units = TraceUnitLine(SomeUnit(1, 0, 1)) + TraceUnitLine(SomeUnit(1, 1, 2));
  for (std::size_t cut = 1; cut < TraceUnitLine(SomeUnit(1, 1, 2)).size(); ++cut) {
    const auto trace = Read(kHeader + units.substr(0, units.size() - cut));
    ASSERT_TRUE(trace.ok()) << cut << ": " << trace.error().ToString();
    EXPECT_EQ(trace->units.size(), cut == 1 ? 2U : 1U) << "all but the line break is a whole line";
  }
  EXPECT_THAT(Refusal(kHeader + UnitLine().substr(0, 40)), HasSubstr("The trace has no units"));
  EXPECT_THAT(Refusal(std::string(kHeader).substr(0, 40)), HasSubstr("line 1: column "));
}

TEST(TraceTest, ValuesOutOfRangeAreRefused) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string line = UnitLine();
    line.replace(line.find(from), from.size(), to);
    return Refusal(kHeader + line);
  };
  EXPECT_THAT(with("\"bytes\":57000", "\"bytes\":0"), HasSubstr("\"bytes\" is out of range"));
  EXPECT_THAT(with("\"bytes\":57000", "\"bytes\":1e300"), HasSubstr("\"bytes\" is out of range"));
  EXPECT_THAT(with("\"stream\":7", "\"stream\":-7"), HasSubstr("\"stream\" is out of range"));
  EXPECT_THAT(with("\"arrival_ms\":1.5", "\"arrival_ms\":-1"), HasSubstr("\"arrival_ms\""));
  EXPECT_THAT(with("\"arrival_ms\":1.5", "\"arrival_ms\":null"), HasSubstr("\"arrival_ms\""));
  EXPECT_THAT(with("\"hot_ms\":7.1", "\"hot_ms\":0"), HasSubstr("\"hot_ms\" is out of range"));
  EXPECT_THAT(with(",\"hot_ms\":7.1", ""), HasSubstr("so is cold_ms"));
  EXPECT_THAT(with("\"live\"", "\"" + std::string(300, 'x') + "\""), HasSubstr("too long"));
  EXPECT_THAT(with("\"live\"", "3"), HasSubstr("\"class\" is not a text"));
}

TEST(TraceTest, ControlCharactersAreRefusedWhereTheyAre) {
  for (const char* text : {"\\u001b[2J", "\\n", "\\u007f", "\\u009b2J", "caf\u00e9\\u0000"}) {
    std::string header = kHeader;
    header.replace(header.find("gop\"}"), 3, text);
    EXPECT_THAT(Refusal(header + UnitLine()),
                HasSubstr("line 1: \"unit\" has control characters."));
    std::string unit = UnitLine();
    unit.replace(unit.find("live"), 4, text);
    EXPECT_THAT(Refusal(kHeader + unit), HasSubstr("line 2: \"class\" has control characters."));
    const std::string key = UnitLine(",\"" + std::string(text) + "\":1");
    EXPECT_THAT(Refusal(kHeader + key), HasSubstr("line 2: A key has control characters."));
  }
  std::string unit = UnitLine();
  unit.replace(unit.find("live"), 4, "caf\u00e9 \u2013 1");
  EXPECT_EQ(Refusal(kHeader + unit), "read");
}

TEST(TraceTest, AContextOfZeroIsTheStreamsOwn) {
  std::string text = kHeader;
  for (const auto& [stream, index] : {std::pair(0, 0), std::pair(0, 1), std::pair(1, 0)}) {
    TraceUnit unit = SomeUnit(static_cast<std::uint64_t>(stream), index, 1);
    unit.context = 0;
    text += TraceUnitLine(unit);
  }
  const auto trace = Read(text);
  ASSERT_TRUE(trace.ok()) << trace.error().ToString();
  ASSERT_EQ(trace->units.size(), 3U);
  EXPECT_NE(trace->units[0].context, 0U);
  EXPECT_EQ(trace->units[0].context, trace->units[1].context);
  EXPECT_NE(trace->units[0].context, trace->units[2].context);
}

TEST(TraceTest, AStreamKeepsItsNumberAndClass) {
  TraceUnit other = SomeUnit(1, 1, 2);
  other.service_class = "silver";
  EXPECT_THAT(Refusal(kHeader + TraceUnitLine(SomeUnit(1, 0, 1)) + TraceUnitLine(other)),
              HasSubstr("line 3: Stream 1 has another number or class"));
}

// What damage to a file, or somebody who tries, could make of a line.
std::string Garbled(std::string text, std::mt19937& random) {
  constexpr const char* kPieces[] = {"1e308",
                                     "-1",
                                     "18446744073709551616",
                                     "nan",
                                     "\"",
                                     "{",
                                     "}",
                                     "\n",
                                     ",",
                                     "\xff\xfe",
                                     "[[",
                                     ":",
                                     "null",
                                     "0",
                                     "\\",
                                     "9007199254740993",
                                     "1e-320"};
  for (unsigned n = static_cast<unsigned>(random() % 4); n > 0 && !text.empty(); --n) {
    const std::size_t at = random() % text.size();
    switch (random() % 6) {
      case 0: text[at] = static_cast<char>(random() % 256); break;
      case 1: text.erase(at, random() % 9); break;
      case 2: text.insert(at, kPieces[random() % std::size(kPieces)]); break;
      case 3: text.insert(at, text.substr(random() % text.size(), random() % 90)); break;
      case 4: text.resize(at); break;
      default: text[at] = static_cast<char>('0' + random() % 10);
    }
  }
  return text;
}

void ExpectWithinLimits(const RecordedTrace& trace) {
  EXPECT_FALSE(trace.units.empty());
  for (const TraceUnit& unit : trace.units) {
    EXPECT_TRUE(unit.arrival_ms >= 0 && unit.arrival_ms <= kMaxTraceMillis);
    EXPECT_TRUE(unit.bytes > 0 && unit.bytes <= kMaxTraceBytes);
    EXPECT_TRUE(unit.index >= 0 && (unit.hot_ms || unit.cold_ms));
    EXPECT_TRUE(std::isfinite(unit.hot_ms.value_or(1)) && unit.hot_ms.value_or(1) > 0);
  }
}

TEST(TraceTest, GarbledRecordingsNeverCrash) {
  std::mt19937 random(17);
  std::string whole = kHeader;
  for (int i = 0; i < 6; ++i) {
    whole += TraceUnitLine(SomeUnit(1 + static_cast<std::uint64_t>(i % 2), i / 2, i));
  }
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = Garbled(whole, random);
    const auto trace = Read(text);
    if (trace.ok()) {
      ++read;
      ExpectWithinLimits(*trace);
    } else {
      EXPECT_THAT(trace.error().ToString(), HasSubstr("line ")) << text;
      EXPECT_EQ(trace.error().parameter, "trace") << text;
      EXPECT_FALSE(trace.error().accepted.empty()) << text;
    }
  }
  // Some damage is a digit, and nobody can tell.
  EXPECT_GT(read, 300);
  EXPECT_LT(read, 2700);
}

class TraceFileTest : public ::testing::Test {
 protected:
  ~TraceFileTest() override {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
    for (const int number : {1, 2}) std::filesystem::remove(Kept(number), ignored);
  }
  [[nodiscard]] std::filesystem::path Kept(int number) const {
    return file_.string() + "." + std::to_string(number);
  }
  const std::filesystem::path file_ = std::filesystem::temp_directory_path() /
                                      ("gopmill_trace_" + std::to_string(getpid()) + ".jsonl");
};

TEST_F(TraceFileTest, TheWriterWritesWhatTheReaderReads) {
  auto writer = TraceWriter::Create(file_, {.machine = "m", .unit = "gop"});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->Add(SomeUnit(3, 0, 1)).ok());
  ASSERT_TRUE(writer->Add(SomeUnit(3, 1, 2)).ok());
  ASSERT_TRUE(writer->Close().ok());
  const auto trace = ReadTraceFile(file_);
  ASSERT_TRUE(trace.ok()) << trace.error().ToString();
  EXPECT_EQ(trace->units.size(), 2U);
  EXPECT_EQ(trace->units[1], SomeUnit(3, 1, 2));
}

// A server that is restarted has the same command line.
TEST_F(TraceFileTest, AnotherRecordingKeepsTheOneThatIsThere) {
  for (int recording = 0; recording < 3; ++recording) {
    auto writer = TraceWriter::Create(file_, {.machine = std::to_string(recording), .unit = "gop"});
    ASSERT_TRUE(writer.ok()) << writer.error().ToString();
    ASSERT_TRUE(writer->Add(SomeUnit(3, 0, 1)).ok());
    ASSERT_TRUE(writer->Flush().ok());
    const auto second = TraceWriter::Create(file_, {.machine = "other", .unit = "gop"});
    ASSERT_FALSE(second.ok()) << "while it is being written";
    EXPECT_EQ(second.error().code, Code::kUnavailable);
    ASSERT_TRUE(writer->Close().ok());
  }
  EXPECT_EQ(ReadTraceFile(Kept(1)).value().header.machine, "0");
  EXPECT_EQ(ReadTraceFile(Kept(2)).value().header.machine, "1");
  EXPECT_EQ(ReadTraceFile(file_).value().header.machine, "2");
  EXPECT_EQ(ReadTraceFile(file_).value().units.size(), 1U);
}

// A supervisor tries again and again while a port is taken.
TEST_F(TraceFileTest, StartsThatFailedLeaveNothingBehind) {
  for (int start = 0; start < 3; ++start) {
    ASSERT_TRUE(TraceWriter::Create(file_, {.machine = "m", .unit = "gop"}).ok());
  }
  std::ofstream(file_) << R"({"format":"gopmill-tr)";  // killed in the midst of it
  const TraceHeader header{.machine = "m", .unit = "gop"};
  ASSERT_TRUE(TraceWriter::Create(file_, header).ok());
  EXPECT_EQ(std::filesystem::file_size(file_), TraceHeaderLine(header).size());
  EXPECT_FALSE(std::filesystem::exists(Kept(1)));
}

TEST_F(TraceFileTest, WhatIsNoTraceIsKeptHoweverShort) {
  std::ofstream(file_) << "a line of somebody's\n";
  ASSERT_TRUE(TraceWriter::Create(file_, {.machine = "m", .unit = "gop"}).ok());
  std::string line;
  std::getline(std::ifstream(Kept(1)) >> std::ws, line);
  EXPECT_EQ(line, "a line of somebody's");
}

TEST_F(TraceFileTest, ALinkLeadsToTheFile) {
  const std::filesystem::path link = file_.string() + ".link";
  std::filesystem::create_symlink(file_, link);
  for (int recording = 0; recording < 2; ++recording) {
    auto writer = TraceWriter::Create(link, {.machine = std::to_string(recording), .unit = "gop"});
    ASSERT_TRUE(writer.ok()) << writer.error().ToString();
    ASSERT_TRUE(writer->Add(SomeUnit(3, 0, 1)).ok());
    ASSERT_TRUE(writer->Close().ok());
  }
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(ReadTraceFile(Kept(1)).value().header.machine, "0");
  EXPECT_EQ(ReadTraceFile(link).value().header.machine, "1");
  std::filesystem::remove(link);
}

TEST(TraceWriterTest, WhatIsNoFileOfADiskIsWrittenAsItIs) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(TraceWriter::Create("/dev/null", {.machine = "m", .unit = "gop"}).ok());
  }
}

TEST_F(TraceFileTest, TheWriterRefusesWhatTheReaderWould) {
  auto writer = TraceWriter::Create(file_, {.machine = "m", .unit = "gop"});
  ASSERT_TRUE(writer.ok());
  TraceUnit unit = SomeUnit(3, 0, 1);
  unit.hot_ms = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(writer->Add(unit).ok());
  unit.hot_ms = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(writer->Add(unit).ok());
  unit = SomeUnit(3, -1, 1);
  EXPECT_FALSE(writer->Add(unit).ok());
  EXPECT_FALSE(TraceWriter::Create(file_, {.machine = std::string(999, 'm'), .unit = ""}).ok());
  EXPECT_FALSE(TraceWriter::Create("/no/such/folder/x", {}).ok());
  EXPECT_FALSE(ReadTraceFile("/no/such/file").ok());
  EXPECT_FALSE(ReadTraceFile("/tmp").ok());
}

}  // namespace
}  // namespace gopmill
