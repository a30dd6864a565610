// SPDX-License-Identifier: Apache-2.0
//
// Text for people and reports for programs: stderr lines, and JSON to a file or stdout.
//
// Thread-safety: safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace gopmill::cli {

// Whole lines or terminal control text, at once, to stderr or stdout. Failures are ignored on
// stderr (nobody is left to tell).
void WriteStderr(std::string_view text);
Status WriteStdout(std::string_view text);
// All that a command does: the exit code, and on stderr why if it could not be written.
int Answer(std::string_view command, std::string_view text);

// "gopmill transcode: movie.mp4: The file holds no video." and a line break.
void PrintError(std::string_view command, std::string_view subject, const Error& error);

// The same without a subject, and the exit code that goes with it.
[[nodiscard]] int Fail(std::string_view command, const Error& error);

// A file to be written, by the option that names it; empty = none, "-" = stdout.
struct ReportFile {
  const char* parameter;
  std::string file;
};

// Of several reports each is written whatever becomes of the others; tells of the first that
// failed.
class FirstError {
 public:
  void Add(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  Status status_ = OkStatus();
};

// An hour of measuring must not end with a folder that is not there, nor a report take the place of
// what it was made from: kInvalidArgument naming the parameter unless WriteReport can write each of
// the files, and each is another one than those before it and those `taken`, by whatever path.
Status CheckReports(std::span<const ReportFile> reports, std::vector<std::string> taken);

// A folder of files that belong together has no place for a report, which could take that of one of
// them: kInvalidArgument naming the parameter where the report would be `folder` or lie in it, by
// whatever path, also where neither is there yet.
Status CheckOutside(const ReportFile& report, const std::string& folder);

// Writes `json` and a line break to the file named, or to stdout for "-".
Status WriteReport(const std::string& file, std::string_view json);

// {"error": {"code", "message", "parameter", "accepted"}}
std::string FailureJson(const Error& error);

// JSON as aligned text: an object's values one per line, lists of objects as tables. Text that is
// not JSON comes back unchanged.
std::string ReadableJson(const std::string& json);

// Columns of the terminal behind stderr; 80 when there is none.
int TerminalColumns();

}  // namespace gopmill::cli
