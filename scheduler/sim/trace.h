// SPDX-License-Identifier: Apache-2.0
//
// Recorded traces: when units arrived and what they cost, without the media. `gopmill serve
// --record` and `gopmill bench` write them; the bench replays them on real threads, the simulator
// on its virtual clock.
//
// The file is JSON lines. First the header, then one line per unit, in any order:
//
//   {"format":"gopmill-trace","version":1,"machine":"AMD EPYC, 2 CPUs","unit":"gop"}
//   {"arrival_ms":12.5,"stream":7,"number":0,"class":"live","index":3,"bytes":57000,
//    "frames":15,"context":1234,"hot_ms":7.1,"cold_ms":8.2,"deadline_ms":512.5}
//
// Rules the reader holds files to: no other keys, none twice; all but frames, hot_ms, cold_ms and
// deadline_ms are required, and of hot_ms and cold_ms at least one; indices of a stream are unique;
// number and class of a stream do not change; texts have no control characters. A trace of another
// version is refused, never guessed at. A context of 0 is the stream's own and read as a key that
// no other stream has.
//
// Units of a stream need not arrive in the order of their indices, in which they are sent: one that
// begins a run of the decoder is submitted as soon as it is cut, one that goes on with a run when
// the unit before it hands that over.
//
// Segments of HLS and DASH, and sheets of thumbnails, are units too, one for each time that one was
// made: what came out of the cache, or was shared with another request, cost nothing and did not
// arrive. A stream is then all segments of one rendition (pictures of one size, sound, thumbnails)
// in one class; its number is its id, and says nothing of the order of streams. An index is no
// place in the movie: clients seek, and a segment that has left the cache is made again. It grows
// with each segment that is asked for, whatever its rendition, so a stream has gaps. Gaps are also
// what units left that failed or were cancelled: these are not in a trace.
//
// Thread-safety: the functions are safe, TraceWriter is compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace gopmill {

inline constexpr int kTraceVersion = 1;
inline constexpr const char* kTraceStart = R"({"format":"gopmill-trace")";  // of each file
inline constexpr std::size_t kMaxTraceUnits = 10'000'000;
inline constexpr std::size_t kMaxTraceStreams = 1'000'000;
inline constexpr std::size_t kMaxTraceClasses = 64;
inline constexpr std::size_t kMaxTraceLine = 4096;  // bytes
inline constexpr std::size_t kMaxTraceName = 256;   // bytes, of the header's texts
inline constexpr std::size_t kMaxTraceClassName = 32;
inline constexpr double kMaxTraceMillis = 1e10;            // about four months
inline constexpr std::uint64_t kMaxTraceBytes = 1U << 30;  // of one unit

struct TraceHeader {
  std::string machine;  // where it was recorded, for people: CPU and number of PUs
  std::string unit;     // how streams were cut: "gop", "2 s", ...
  bool operator==(const TraceHeader&) const = default;
};

// One unit. Times are milliseconds on the clock of the trace, which starts at 0.
struct TraceUnit {
  double arrival_ms = 0;              // submitted to the scheduler
  std::uint64_t stream = 0;           // StreamId
  std::uint64_t number = 0;           // JobSpec::stream_number: place in the order of streams
  std::string service_class = {};     // name of the class; may be empty
  std::int64_t index = 0;             // UnitIndex, from 0; may have gaps
  std::uint64_t bytes = 0;            // compressed bytes, > 0
  std::uint64_t frames = 0;           // pictures to encode; 0 = not known
  std::uint64_t context = 0;          // what codec contexts it needs: equal keys share warm ones;
                                      // not 0 once it was read
  std::optional<double> hot_ms;       // CPU time with warm contexts, > 0
  std::optional<double> cold_ms;      // CPU time with contexts opened for it, > 0
  std::optional<double> deadline_ms;  // when it has to be finished, >= arrival_ms

  bool operator==(const TraceUnit&) const = default;
};

struct RecordedTrace {
  TraceHeader header;
  std::vector<TraceUnit> units;  // by arrival time, then stream number, then index
};

// When the first unit arrived: a recording may have run for days before. Replay and simulator begin
// then. 0 if there are none.
double FirstArrival(const RecordedTrace& trace);

// What a unit takes with warm contexts, and what opening them adds.
struct UnitTimes {
  double hot_ms = 0, open_ms = 0;
};
// The median of what opening added, over the units that tell both times; 0 if none do.
double MedianOpening(const RecordedTrace& trace);
// The rule of replay and simulator: where a unit was seen only cold or only warm, the other time
// follows from the median opening; a warm time is never taken below a microsecond.
UnitTimes TimesOf(const TraceUnit& unit, double median_opening_ms);

// Reads a whole trace. Left out is half a line at the end, without a line break, which a process
// leaves that was killed. Errors name the parameter "trace" and the line: "line 12: ...".
Result<RecordedTrace> ReadTrace(std::istream& in);
Result<RecordedTrace> ReadTraceFile(const std::filesystem::path& file);

// Writes a trace file line by line, so that what a killed server had recorded until the last Flush
// can be read. Values the reader would refuse are refused here.
class TraceWriter {
 public:
  // Creates the file, with what becomes of one that is there, and errors, as OpenTraceFile has it.
  static Result<TraceWriter> Create(const std::filesystem::path& file, const TraceHeader& header);
  // kResourceExhausted when the disk or the trace is full (kMaxTraceUnits).
  Status Add(const TraceUnit& unit);
  // Hands all lines to the system: they are in the file whatever becomes of this process.
  Status Flush();
  // Writes what is buffered. To be called at the end: a destructor cannot report.
  Status Close();

 private:
  TraceWriter(UniqueFd lock, std::ofstream out) : lock_(std::move(lock)), out_(std::move(out)) {}
  UniqueFd lock_;  // of the same file, for as long as it is written
  std::ofstream out_;
  std::size_t units_ = 0;
};

}  // namespace gopmill
