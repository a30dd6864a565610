// SPDX-License-Identifier: Apache-2.0
#include "server/cli/text_output.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/dump_json.h"
#include "base/write_whole.h"
#include "server/cli/exit_codes.h"
#include "server/files/output_file.h"

namespace gopmill::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// What "-" stands for, if that is `path`: by its descriptor, since a shell may have opened any
// file.
bool IsStream(const std::string& path, int descriptor) {
  struct stat stream {
  }, file{};
  if (fstat(descriptor, &stream) != 0 || stat(path.c_str(), &file) != 0) return false;
  const bool nowhere = S_ISCHR(file.st_mode);  // /dev/null, a terminal: nothing is lost there
  return !nowhere && stream.st_dev == file.st_dev && stream.st_ino == file.st_ino;
}

// By whatever path, and also where neither is there yet. "-" is stdout, of what is read stdin.
bool AreOneFile(const std::string& report, const std::string& other) {
  if (report.empty() || other.empty()) return false;
  if (report == "-") return other != "-" && IsStream(other, STDOUT_FILENO);
  if (other == "-") return IsStream(report, STDOUT_FILENO) || IsStream(report, STDIN_FILENO);
  std::error_code error;
  if (fs::equivalent(report, other, error) && !error) return true;
  const auto first = WrittenPath(report), second = WrittenPath(other);
  return first.ok() && second.ok() && *first == *second;
}

// By whatever path, and also where neither is there yet.
bool LiesWithin(const std::string& file, const std::string& folder) {
  if (file.empty() || file == "-" || folder.empty()) return false;
  const auto written = WrittenPath(file), top = WrittenPath(folder);
  if (!written.ok() || !top.ok()) return false;
  std::error_code code;
  // A folder may be named as `.` or with a slash behind it, as no file is.
  fs::path outer = fs::weakly_canonical(*top, code);
  if (code) return false;
  if (!outer.has_filename()) outer = outer.parent_path();
  const fs::path inner(*written);
  const auto differ = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return differ.first == outer.end();
}

Status CheckReportFile(const char* parameter, const std::string& file) {
  if (file.empty() || file == "-") return OkStatus();
  std::error_code ignored;
  const fs::path folder = fs::path(file).has_parent_path() ? fs::path(file).parent_path() : ".";
  const bool there = fs::exists(file, ignored);
  const bool writable = there ? !fs::is_directory(file, ignored) && access(file.c_str(), W_OK) == 0
                              : access(folder.c_str(), W_OK | X_OK) == 0;
  if (writable) return OkStatus();
  return InvalidArgument(parameter, file + " cannot be written.", "a file in an existing folder");
}

}  // namespace

void WriteStderr(std::string_view text) {
  [[maybe_unused]] const bool written = WriteWhole(STDERR_FILENO, text);
}

Status WriteStdout(std::string_view text) {
  if (WriteWhole(STDOUT_FILENO, text)) return OkStatus();
  return Error{.code = Code::kIo, .message = "Writing to stdout failed.", .native = errno};
}

void PrintError(std::string_view command, std::string_view subject, const Error& error) {
  std::string line = "gopmill " + std::string(command) + ": ";
  if (!subject.empty()) line += std::string(subject) + ": ";
  WriteStderr(line + error.ToString() + "\n");
}

int Fail(std::string_view command, const Error& error) {
  PrintError(command, "", error);
  return ExitCodeOf(error);
}

int Answer(std::string_view command, std::string_view text) {
  const Status written = WriteStdout(text);
  return written.ok() ? kOk : Fail(command, written.error());
}

Status CheckReports(std::span<const ReportFile> reports, std::vector<std::string> taken) {
  for (const auto& [parameter, file] : reports) {
    GOPMILL_RETURN_IF_ERROR(CheckReportFile(parameter, file));
    if (std::ranges::any_of(taken, [&](const auto& other) { return AreOneFile(file, other); })) {
      return InvalidArgument(parameter, file + " is read, or written as something else.",
                             "another file");
    }
    taken.push_back(file);
  }
  return OkStatus();
}

Status CheckOutside(const ReportFile& report, const std::string& folder) {
  if (!LiesWithin(report.file, folder)) return OkStatus();
  return InvalidArgument(report.parameter, report.file + " would be a part of what is made.",
                         "a file outside of OUT, or -");
}

Status WriteReport(const std::string& file, std::string_view json) {
  if (file == "-") return WriteStdout(std::string(json) + "\n");
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << json << "\n";
  out.close();
  if (out) return OkStatus();
  return Error{.code = Code::kIo, .message = "The report cannot be written to " + file + "."};
}

std::string FailureJson(const Error& error) {
  const Json body = {{"code", CodeName(error.code)},
                     {"message", error.message},
                     {"parameter", error.parameter},
                     {"accepted", error.accepted}};
  return DumpJson(Json{{"error", body}}, 2);
}

int TerminalColumns() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace gopmill::cli
