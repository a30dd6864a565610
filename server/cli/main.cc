// SPDX-License-Identifier: Apache-2.0
//
// The program, as a table of contents: one line per subcommand.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <string>
#include <variant>
#include <vector>

#include "base/contained.h"
#include "server/cli/command_line.h"
#include "server/cli/commands.h"
#include "server/cli/exit_codes.h"
#include "server/cli/text_output.h"

namespace gopmill::cli {
namespace {

struct Run {
  int operator()(const TextAnswer& answer) const {
    if (answer.exit_code != kOk) {
      WriteStderr(answer.text);
      return answer.exit_code;
    }
    const Status written = WriteStdout(answer.text);
    if (!written.ok()) WriteStderr("gopmill: " + written.error().ToString() + "\n");
    return written.ok() ? kOk : kFailed;
  }
  int operator()(const TranscodeArgs& args) const { return RunTranscode(args); }
  int operator()(const PackageArgs& args) const { return RunPackage(args); }
  int operator()(const ExplainArgs& args) const { return RunExplain(args); }
  int operator()(const ServeArgs& args) const { return RunServe(args); }
  int operator()(const BenchArgs& args) const { return RunBench(args); }
  int operator()(const TopologyArgs& args) const { return RunTopology(args); }
  int operator()(const SimulateArgs& args) const { return RunSimulate(args); }
};

// A descriptor that is opened must not take the number of one that we were started without: it
// would be read or written as that. What does use it gets an error from this one.
void KeepStandardNumbers() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free, which is this one.
    [[maybe_unused]] const int held = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace
}  // namespace gopmill::cli

int main(int argc, char** argv) {
  using namespace gopmill::cli;
  KeepStandardNumbers();
  // A reader that went away is an error of write(), not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of write
  gopmill::ContainAssertions();
  try {
    const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
    return std::visit(Run{}, ParseCommandLine(args));
  } catch (const std::exception& error) {
    // None of our code throws: this is the library running out of memory, or a bug.
    WriteStderr(std::string("gopmill: internal error: ") + error.what() + "\n");
    return kFailed;
  }
}
