// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/trace_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/dump_json.h"
#include "base/utf8.h"
#include "scheduler/rendezvous.h"

namespace gopmill {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "gopmill-trace";

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
    return BadTrace("The file is not a trace: it has no header.", kTraceHeaderForm);
  }
  const auto version = object.find("version");
  if (version == object.end() || !version->is_number_integer()) {
    return BadTrace("The header has no version.", kTraceHeaderForm);
  }
  if (*version != kTraceVersion) {
    const std::string shown = version->dump().substr(0, 20);
    return BadTrace("The trace has version " + shown + "; this program cannot read it.",
                    fmt::format("version {}; record it again with this program", kTraceVersion));
  }
  return OkStatus();
}

// Shortest text that reads back as the same number.
std::string Number(double value) { return fmt::format("{}", value); }

std::string Quoted(const std::string& text) { return DumpJson(Json(text)); }

}  // namespace

Result<TraceHeader> ParseTraceHeader(const std::string& line) {
  GOPMILL_ASSIGN_OR_RETURN(const Json object, ParseLine(line, kTraceHeaderForm));
  GOPMILL_RETURN_IF_ERROR(CheckVersion(object));
  LineReader reader(object, kTraceHeaderForm);
  reader.Text("format", kMaxTraceName);
  reader.Whole("version", kTraceVersion, kTraceVersion);
  TraceHeader header;
  header.machine = reader.Text("machine", kMaxTraceName);
  header.unit = reader.Text("unit", kMaxTraceName);
  GOPMILL_RETURN_IF_ERROR(reader.End());
  return header;
}

Result<TraceUnit> ParseTraceUnit(const std::string& line) {
  constexpr std::uint64_t kAny = ~std::uint64_t{0};
  GOPMILL_ASSIGN_OR_RETURN(const Json object, ParseLine(line, kTraceUnitForm));
  LineReader reader(object, kTraceUnitForm);
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
    reader.Fail("hot_ms", "is missing, and so is cold_ms", kTraceUnitForm);
  if (reader.Has("deadline_ms")) unit.deadline_ms = reader.Millis("deadline_ms", unit.arrival_ms);
  GOPMILL_RETURN_IF_ERROR(reader.End());
  return unit;
}

bool IsWholeTraceLine(const std::string& line) { return Json::accept(line); }

Error BadTrace(std::string message, std::string accepted) {
  return InvalidArgument("trace", std::move(message), std::move(accepted));
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

}  // namespace gopmill
