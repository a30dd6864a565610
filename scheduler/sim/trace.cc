// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/dump_json.h"
#include "base/quantile.h"
#include "base/utf8.h"
#include "scheduler/rendezvous.h"
#include "scheduler/sim/trace_file.h"

namespace gopmill {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "gopmill-trace";
constexpr const char* kHeaderForm =
    R"({"format":"gopmill-trace","version":1,"machine":"text","unit":"text"})";
constexpr const char* kUnitForm =
    R"({"arrival_ms":0,"stream":1,"number":0,"class":"","index":0,"bytes":1,"context":1,"hot_ms":1})"
    " and perhaps frames, cold_ms, deadline_ms";

Error BadTrace(std::string message, std::string accepted) {
  return InvalidArgument("trace", std::move(message), std::move(accepted));
}

// Fills in one line's values; the first thing wrong stays as the error.
class LineReader {
 public:
  LineReader(const Json& object, const char* form) : object_(object), form_(form) {}

  bool Has(const char* key) const { return object_.contains(key); }

  std::string Text(const char* key, std::size_t most) {
    const Json* value = Find(key);
    if (value == nullptr) return {};
    if (!value->is_string()) return Fail(key, "is not a text", form_), std::string();
    auto text = value->get<std::string>();
    if (text.size() > most) {
      Fail(key, "is too long", fmt::format("at most {} bytes", most));
    } else if (HasControl(text)) {  // it goes to the terminal as it is, and to files of lines
      Fail(key, "has control characters", "characters that print");
    }
    return text;
  }

  std::uint64_t Whole(const char* key, std::uint64_t low, std::uint64_t high) {
    const Json* value = Find(key);
    if (value == nullptr) return 0;
    const bool whole = value->is_number_unsigned();
    if (!whole || value->get<std::uint64_t>() < low || value->get<std::uint64_t>() > high) {
      Fail(key, "is out of range", fmt::format("a whole number, {} to {}", low, high));
      return 0;
    }
    return value->get<std::uint64_t>();
  }

  double Millis(const char* key, double low) {
    const Json* value = Find(key);
    if (value == nullptr) return 0;
    const double ms = value->is_number() ? value->get<double>() : -1;
    if (!std::isfinite(ms) || ms < low || ms > kMaxTraceMillis) {
      Fail(key, "is out of range", fmt::format("milliseconds, {:g} to {:g}", low, kMaxTraceMillis));
      return 0;
    }
    return ms;
  }

  // As above, empty if the key is not there. Times of work are above zero.
  std::optional<double> Work(const char* key) {
    if (!Has(key)) return std::nullopt;
    return Millis(key, 1e-9);
  }

  // Ok if nothing was wrong and every key was asked for.
  Status End() {
    if (!failure_) {
      for (const auto& [key, value] : object_.items()) {
        const auto is_key = [&k = key](const char* known) { return k == known; };
        if (std::ranges::none_of(asked_, is_key)) {
          if (HasControl(key)) return BadTrace("A key has control characters.", form_);
          return BadTrace("The key \"" + WellFormed(key, 32) + "\" is unknown.", form_);
        }
      }
    }
    return failure_ ? Status(*failure_) : OkStatus();
  }

  void Fail(const char* key, const char* what, std::string accepted) {
    if (failure_) return;
    failure_ = BadTrace(fmt::format("\"{}\" {}.", key, what), std::move(accepted));
  }

 private:
  const Json* Find(const char* key) {
    asked_.push_back(key);
    const auto found = object_.find(key);
    if (found != object_.end()) return &*found;
    Fail(key, "is missing", form_);
    return nullptr;
  }

  const Json& object_;
  const char* const form_;
  std::vector<const char*> asked_;
  std::optional<Error> failure_;
};

Result<Json> ParseLine(const std::string& line, const char* form) {
  std::size_t keys = 0;
  const auto count_keys = [&](int /*depth*/, Json::parse_event_t event, Json& /*value*/) {
    if (event == Json::parse_event_t::key) ++keys;
    return true;
  };
  try {
    Json object = Json::parse(line, count_keys);
    if (!object.is_object()) return BadTrace("The line is not an object.", form);
    if (object.size() != keys) return BadTrace("A key is there twice, or values nest.", form);
    return object;
  } catch (const Json::parse_error& error) {
    return BadTrace(fmt::format("column {}: this is not JSON.", error.byte), form);
  } catch (const Json::out_of_range&) {
    return BadTrace("A number is too big.", form);
  }
}

Status CheckVersion(const Json& object) {
  const auto format = object.find("format");
  if (format == object.end() || *format != kFormat) {
    return BadTrace("The file is not a trace: it has no header.", kHeaderForm);
  }
  const auto version = object.find("version");
  if (version == object.end() || !version->is_number_integer()) {
    return BadTrace("The header has no version.", kHeaderForm);
  }
  if (*version != kTraceVersion) {
    const std::string shown = version->dump().substr(0, 20);
    return BadTrace("The trace has version " + shown + "; this program cannot read it.",
                    fmt::format("version {}; record it again with this program", kTraceVersion));
  }
  return OkStatus();
}

Result<TraceHeader> ReadHeader(const std::string& line) {
  GOPMILL_ASSIGN_OR_RETURN(const Json object, ParseLine(line, kHeaderForm));
  GOPMILL_RETURN_IF_ERROR(CheckVersion(object));
  LineReader reader(object, kHeaderForm);
  reader.Text("format", kMaxTraceName);
  reader.Whole("version", kTraceVersion, kTraceVersion);
  TraceHeader header;
  header.machine = reader.Text("machine", kMaxTraceName);
  header.unit = reader.Text("unit", kMaxTraceName);
  GOPMILL_RETURN_IF_ERROR(reader.End());
  return header;
}

Result<TraceUnit> ReadUnit(const std::string& line) {
  constexpr std::uint64_t kAny = ~std::uint64_t{0};
  GOPMILL_ASSIGN_OR_RETURN(const Json object, ParseLine(line, kUnitForm));
  LineReader reader(object, kUnitForm);
  TraceUnit unit;
  unit.arrival_ms = reader.Millis("arrival_ms", 0);
  unit.stream = reader.Whole("stream", 0, kAny);
  unit.number = reader.Whole("number", 0, kAny);
  unit.service_class = reader.Text("class", kMaxTraceClassName);
  unit.index = static_cast<std::int64_t>(reader.Whole("index", 0, 1ULL << 53U));
  unit.bytes = reader.Whole("bytes", 1, kMaxTraceBytes);
  if (reader.Has("frames")) unit.frames = reader.Whole("frames", 0, 1U << 30U);
  unit.context = reader.Whole("context", 0, kAny);
  if (unit.context == 0) unit.context = OwnContext(StreamId{unit.stream});
  unit.hot_ms = reader.Work("hot_ms");
  unit.cold_ms = reader.Work("cold_ms");
  if (!unit.hot_ms && !unit.cold_ms)
    reader.Fail("hot_ms", "is missing, and so is cold_ms", kUnitForm);
  if (reader.Has("deadline_ms")) unit.deadline_ms = reader.Millis("deadline_ms", unit.arrival_ms);
  GOPMILL_RETURN_IF_ERROR(reader.End());
  return unit;
}

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
    if (!*more || (in.eof() && !Json::accept(line))) return units;
    Result<TraceUnit> unit = ReadUnit(line);
    if (!unit.ok()) return AtLine(number, unit.error());
    if (const Status fits = rules.Check(*unit); !fits.ok()) return AtLine(number, fits.error());
    if (units.size() == kMaxTraceUnits) {
      return AtLine(number, BadTrace("The trace has too many units.",
                                     fmt::format("at most {}", kMaxTraceUnits)));
    }
    units.push_back({std::move(unit).value(), number});
  }
}

// Shortest text that reads back as the same number.
std::string Number(double value) { return fmt::format("{}", value); }

std::string Quoted(const std::string& text) { return DumpJson(Json(text)); }

}  // namespace

double MedianOpening(const RecordedTrace& trace) {
  std::vector<double> openings;
  for (const TraceUnit& unit : trace.units) {
    if (!unit.hot_ms || !unit.cold_ms) continue;
    openings.push_back(std::max(0.0, *unit.cold_ms - *unit.hot_ms));
  }
  return Median(std::move(openings));
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
  if (!*first) return AtLine(1, BadTrace("The trace is empty.", kHeaderForm));
  RecordedTrace trace;
  Result<TraceHeader> header = ReadHeader(line);
  if (!header.ok()) return AtLine(1, header.error());
  trace.header = std::move(header).value();
  GOPMILL_ASSIGN_OR_RETURN(std::vector<NumberedUnit> units, ReadUnits(in));
  GOPMILL_RETURN_IF_ERROR(CheckIndices(units));
  SortByArrival(units);
  if (units.empty()) return AtLine(2, BadTrace("The trace has no units.", kUnitForm));
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

std::string TraceHeaderLine(const TraceHeader& header) {
  return fmt::format(R"({{"format":"{}","version":{},"machine":{},"unit":{}}})"
                     "\n",
                     kFormat, kTraceVersion, Quoted(header.machine), Quoted(header.unit));
}

std::string TraceUnitLine(const TraceUnit& unit) {
  std::string line = fmt::format(
      R"({{"arrival_ms":{},"stream":{},"number":{},"class":{},"index":{},"bytes":{},"context":{})",
      Number(unit.arrival_ms), unit.stream, unit.number, Quoted(unit.service_class), unit.index,
      unit.bytes, unit.context);
  if (unit.frames > 0) line += fmt::format(",\"frames\":{}", unit.frames);
  if (unit.hot_ms) line += ",\"hot_ms\":" + Number(*unit.hot_ms);
  if (unit.cold_ms) line += ",\"cold_ms\":" + Number(*unit.cold_ms);
  if (unit.deadline_ms) line += ",\"deadline_ms\":" + Number(*unit.deadline_ms);
  return line + "}\n";
}

Result<TraceWriter> TraceWriter::Create(const std::filesystem::path& file,
                                        const TraceHeader& header) {
  const std::string line = TraceHeaderLine(header);
  GOPMILL_RETURN_IF_ERROR([&]() -> Status {
    const Result<TraceHeader> read = ReadHeader(line);
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
  const Result<TraceUnit> read = ReadUnit(line);
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
