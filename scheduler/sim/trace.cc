// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/quantile.h"
#include "scheduler/sim/trace_file.h"
#include "scheduler/sim/trace_line.h"

namespace gopmill {
namespace {

// What has to hold between the lines of one trace.
class StreamRules {
 public:
  Status Check(const TraceUnit& unit) {
    const auto [entry, is_new] = streams_.try_emplace(unit.stream);
    Stream& stream = entry->second;
    if (is_new) {
      stream.number = unit.number;
      stream.service_class = unit.service_class;
      classes_.insert(unit.service_class);
    }
    if (streams_.size() > kMaxTraceStreams) {
      return BadTrace("The trace has too many streams.",
                      fmt::format("at most {}", kMaxTraceStreams));
    }
    if (classes_.size() > kMaxTraceClasses) {
      return BadTrace("The trace has too many classes.",
                      fmt::format("at most {}", kMaxTraceClasses));
    }
    if (stream.number != unit.number || stream.service_class != unit.service_class) {
      return BadTrace(
          fmt::format("Stream {} has another number or class than before.", unit.stream),
          "one number and one class per stream");
    }
    return OkStatus();
  }

 private:
  struct Stream {
    std::uint64_t number = 0;
    std::string service_class;
  };
  std::unordered_map<std::uint64_t, Stream> streams_;
  std::unordered_set<std::string> classes_;
};

struct NumberedUnit {
  TraceUnit unit;
  std::size_t line = 0;
};

Error AtLine(std::size_t line, const Error& error) {
  return error.With(fmt::format("line {}", line));
}

// Needs them in the order of the lines.
Status CheckIndices(const std::vector<NumberedUnit>& units) {
  std::vector<const NumberedUnit*> order;
  order.reserve(units.size());
  for (const NumberedUnit& entry : units) order.push_back(&entry);
  const auto key = [](const NumberedUnit* entry) {
    return std::pair(entry->unit.stream, entry->unit.index);
  };
  std::ranges::stable_sort(order, {}, key);
  const auto twice = std::ranges::adjacent_find(order, {}, key);
  if (twice == order.end()) return OkStatus();
  const NumberedUnit& second = **std::next(twice);
  return AtLine(second.line, BadTrace(fmt::format("Unit {} of stream {} is there twice.",
                                                  second.unit.index, second.unit.stream),
                                      "unique indices in a stream"));
}

void SortByArrival(std::vector<NumberedUnit>& units) {
  std::ranges::stable_sort(units, {}, [](const NumberedUnit& u) {
    return std::tuple(u.unit.arrival_ms, u.unit.number, u.unit.index);
  });
}

// The next line, at most kMaxTraceLine bytes; false at the end. After one without a line break the
// stream is at its end.
Result<bool> NextLine(std::istream& in, std::string& line) {
  line.clear();
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    if (c == '\n') return true;
    line.push_back(static_cast<char>(c));
    if (line.size() > kMaxTraceLine) {
      return BadTrace("The line is too long.", fmt::format("at most {} bytes", kMaxTraceLine));
    }
  }
  return !line.empty();
}

Result<std::vector<NumberedUnit>> ReadUnits(std::istream& in) {
  std::vector<NumberedUnit> units;
  StreamRules rules;
  std::string line;
  for (std::size_t number = 2;; ++number) {
    const Result<bool> more = NextLine(in, line);
    if (!more.ok()) return AtLine(number, more.error());
    if (!*more || (in.eof() && !IsWholeTraceLine(line))) return units;
    Result<TraceUnit> unit = ParseTraceUnit(line);
    if (!unit.ok()) return AtLine(number, unit.error());
    if (const Status fits = rules.Check(*unit); !fits.ok()) return AtLine(number, fits.error());
    if (units.size() == kMaxTraceUnits) {
      return AtLine(number, BadTrace("The trace has too many units.",
                                     fmt::format("at most {}", kMaxTraceUnits)));
    }
    units.push_back({std::move(unit).value(), number});
  }
}

}  // namespace

double MedianOpening(const RecordedTrace& trace) {
  std::vector<double> openings;
  for (const TraceUnit& unit : trace.units) {
    if (!unit.hot_ms || !unit.cold_ms) continue;
    openings.push_back(std::max(0.0, *unit.cold_ms - *unit.hot_ms));
  }
  return Median(std::move(openings));
}

double FirstArrival(const RecordedTrace& trace) {
  if (trace.units.empty()) return 0;
  return std::ranges::min(trace.units, {}, &TraceUnit::arrival_ms).arrival_ms;
}

UnitTimes TimesOf(const TraceUnit& unit, double median_opening_ms) {
  constexpr double kLeastMs = 1e-3;
  const double cold_ms = unit.cold_ms.value_or(0);
  const double hot_ms = unit.hot_ms.value_or(std::max(cold_ms - median_opening_ms, kLeastMs));
  return {.hot_ms = hot_ms,
          .open_ms = unit.cold_ms ? std::max(0.0, cold_ms - hot_ms) : median_opening_ms};
}

Result<RecordedTrace> ReadTrace(std::istream& in) {
  std::string line;
  const Result<bool> first = NextLine(in, line);
  if (!first.ok()) return AtLine(1, first.error());
  if (!*first) return AtLine(1, BadTrace("The trace is empty.", kTraceHeaderForm));
  RecordedTrace trace;
  Result<TraceHeader> header = ParseTraceHeader(line);
  if (!header.ok()) return AtLine(1, header.error());
  trace.header = std::move(header).value();
  GOPMILL_ASSIGN_OR_RETURN(std::vector<NumberedUnit> units, ReadUnits(in));
  GOPMILL_RETURN_IF_ERROR(CheckIndices(units));
  SortByArrival(units);
  if (units.empty()) return AtLine(2, BadTrace("The trace has no units.", kTraceUnitForm));
  trace.units.reserve(units.size());
  for (NumberedUnit& entry : units) trace.units.push_back(std::move(entry.unit));
  return trace;
}

Result<RecordedTrace> ReadTraceFile(const std::filesystem::path& file) {
  std::error_code failure;
  std::ifstream in(file, std::ios::binary);
  if (!in || std::filesystem::is_directory(file, failure)) {
    return Error{.code = Code::kNotFound,
                 .message = "The trace " + file.string() + " cannot be read.",
                 .parameter = "trace",
                 .accepted = "a file written by gopmill serve --record"};
  }
  return ReadTrace(in);
}

Result<TraceWriter> TraceWriter::Create(const std::filesystem::path& file,
                                        const TraceHeader& header) {
  const std::string line = TraceHeaderLine(header);
  GOPMILL_RETURN_IF_ERROR([&]() -> Status {
    const Result<TraceHeader> read = ParseTraceHeader(line);
    return read.ok() ? OkStatus() : Status(read.error());
  }());
  GOPMILL_ASSIGN_OR_RETURN(TraceFile target, OpenTraceFile(file));
  std::ofstream out(target.path, std::ios::binary | std::ios::app);
  if (!(out << line).flush()) {
    return Error{.code = Code::kIo, .message = "Writing the trace failed.", .parameter = "record"};
  }
  return TraceWriter(std::move(target.lock), std::move(out));
}

Status TraceWriter::Add(const TraceUnit& unit) {
  if (units_ == kMaxTraceUnits) {
    return Error{.code = Code::kResourceExhausted, .message = "The trace is full."};
  }
  const std::string line = TraceUnitLine(unit);
  const Result<TraceUnit> read = ParseTraceUnit(line);
  if (!read.ok()) return read.error();
  ++units_;
  if (out_ << line) return OkStatus();
  return Error{.code = Code::kIo, .message = "Writing the trace failed."};
}

Status TraceWriter::Flush() {
  if (out_.flush()) return OkStatus();
  return Error{.code = Code::kIo, .message = "Writing the trace failed."};
}

Status TraceWriter::Close() {
  out_.close();
  if (out_) return OkStatus();
  return Error{.code = Code::kIo, .message = "Writing the trace failed."};
}

}  // namespace gopmill
