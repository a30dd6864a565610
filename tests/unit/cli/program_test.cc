// SPDX-License-Identifier: Apache-2.0
//
// The program from outside: exit codes and messages, as a script sees them.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace gopmill {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Outcome {
  int code = -1;
  std::string out;  // stdout and stderr
};

// Runs the program through the shell. Arguments are quoted by the caller.
Outcome RunProgram(const std::string& arguments, const std::string& before = "") {
  const char* program = std::getenv("GOPMILL_PROGRAM");
  if (program == nullptr) return {-1, "GOPMILL_PROGRAM is not set"};
  const std::string line = before + " '" + program + "' " + arguments + " 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return {-1, "popen failed"};
  Outcome outcome;
  std::array<char, 4096> buffer;
  for (std::size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    outcome.out.append(buffer.data(), got);
  }
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string TextOf(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// A folder of its own for one test.
class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("gopmill_cli_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ / name; }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }

  fs::path folder_;
};

TEST_F(ProgramTest, VersionAndHelp) {
  const Outcome version = RunProgram("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.out, StartsWith("gopmill "));
  EXPECT_EQ(RunProgram("transcode --help").code, 0);
}

TEST_F(ProgramTest, WrongCommandLinesExitWithTwo) {
  EXPECT_EQ(RunProgram("").code, 2);
  EXPECT_EQ(RunProgram("transcode in.mp4").code, 2);
  const Outcome size = RunProgram("transcode in.mp4 out.mp4 --size 0x0");
  EXPECT_EQ(size.code, 2);
  EXPECT_THAT(size.out, AllOf(HasSubstr("parameter: size"), HasSubstr("16 to 8192")));
  const Outcome scheduler =
      RunProgram("transcode in.mp4 " + Path("o.mp4") + " --scheduler nonsense");
  EXPECT_EQ(scheduler.code, 2);
  EXPECT_THAT(scheduler.out, AllOf(HasSubstr("parameter: scheduler"), HasSubstr("h-cahrw")));
  EXPECT_EQ(RunProgram("transcode in.mp4 /nonexistent/folder/out.mp4").code, 2);
  const Outcome machine = RunProgram("simulate --topology pu:4 --workers 9 --gops 100");
  EXPECT_EQ(machine.code, 2);
  EXPECT_THAT(machine.out, HasSubstr("cannot serve this: The machine has 4 PUs"));
}

TEST_F(ProgramTest, SaysWhatIsWrongWithACommandLine) {
  EXPECT_THAT(RunProgram("foo").out, StartsWith("gopmill: There is no command 'foo'. The "));
  EXPECT_EQ(RunProgram("foo").code, 2);
  for (const char* command : {"transcode", "explain", "package"}) {
    const std::string out = std::string(command) == "explain" ? "" : " " + Path("o.mp4");
    const Outcome url = RunProgram(std::string(command) + " http://127.0.0.1:1/in.mp4" + out);
    EXPECT_EQ(url.code, 3);
    EXPECT_THAT(url.out, HasSubstr("URLs are not read")) << command;
  }
}

TEST_F(ProgramTest, TheSimulatorTakesRatiosFromAFile) {
  Write("near.json", "[[1, 1], [1, 1]]");
  Write("far.json", "[[1, 50], [50, 1]]");
  const std::string common = "simulate --topology pu:2 --gops 20 --scheduler ca-ahrw --csv - ";
  const auto given = [&](const std::string& ratios) {
    return RunProgram(common + "--scheduler-options 'ratios=" + ratios + "'");
  };
  const Outcome far = given(Path("far.json"));
  EXPECT_EQ(far.code, 0) << far.out;
  EXPECT_EQ(far.out, given("1/50;50/1").out);
  EXPECT_NE(far.out, given(Path("near.json")).out);
  const std::string swept = "ratios=" + Path("near.json") + "|ratios=" + Path("far.json");
  const Outcome sweep = RunProgram(common + "--sweep 'scheduler-options=" + swept + "'");
  EXPECT_EQ(sweep.code, 0) << sweep.out;
  EXPECT_THAT(sweep.out, HasSubstr("\nratios=" + Path("far.json") + ",ca-ahrw,2,"));
  EXPECT_EQ(given(Path("none.json")).code, 2);
}

// What a policy cannot serve at one point of a sweep costs nothing of what it did at the others.
TEST_F(ProgramTest, ASweepWritesWhatThereIsWhereAPolicyCannotServeAPoint) {
  const std::string sweep = "simulate --sweep pus=4,512 --scheduler fifo,ca-ahrw --gops 5";
  const Outcome table = RunProgram(sweep);
  EXPECT_EQ(table.code, 2);
  EXPECT_THAT(table.out, AllOf(HasSubstr("fifo"), HasSubstr("gopmill simulate: ca-ahrw: ")));
  const Outcome files = RunProgram(sweep + " --json " + Path("s.json") + " --csv " + Path("s.csv"));
  EXPECT_EQ(files.code, 2);
  EXPECT_THAT(TextOf(Path("s.csv")),
              AllOf(HasSubstr("\n4,fifo,4,"), HasSubstr("\n4,ca-ahrw,4,"),
                    HasSubstr("\n512,fifo,512,"), HasSubstr("\n512,ca-ahrw,,")));
  EXPECT_THAT(TextOf(Path("s.json")), HasSubstr("\"error\""));
}

TEST_F(ProgramTest, UnusableSourcesExitWithThreeAndLeaveNothing) {
  Write("text.mp4", "This is not a movie.");
  Write("empty.mp4", "");
  for (const char* source : {"missing.mp4", "text.mp4", "empty.mp4"}) {
    const Outcome outcome = RunProgram("transcode " + Path(source) + " " + Path("out.mp4"));
    EXPECT_EQ(outcome.code, 3) << source << ": " << outcome.out;
    EXPECT_FALSE(fs::exists(Path("out.mp4"))) << source;
  }
  EXPECT_EQ(RunProgram("explain " + Path("missing.mp4")).code, 3);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(ProgramTest, ExistingOutputIsKeptWithoutForce) {
  Write("out.mp4", "precious");
  Write("in.mp4", "x");
  const Outcome outcome = RunProgram("transcode " + Path("in.mp4") + " " + Path("out.mp4"));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, HasSubstr("--force"));
  EXPECT_EQ(fs::file_size(Path("out.mp4")), 8u);
  // Not even with --force is a source replaced by its own transcode.
  EXPECT_EQ(RunProgram("transcode --force " + Path("in.mp4") + " " + Path("in.mp4")).code, 2);
}

TEST_F(ProgramTest, FailuresAreReportedAsJsonToo) {
  const Outcome outcome = RunProgram("transcode " + Path("missing.mp4") + " " + Path("out.mp4") +
                                     " --json " + Path("r.json"));
  EXPECT_EQ(outcome.code, 3);
  std::stringstream report;
  report << std::ifstream(Path("r.json")).rdbuf();
  EXPECT_THAT(report.str(), HasSubstr("\"code\": \"not-found\""));
}

TEST_F(ProgramTest, AReportNeverTakesThePlaceOfAMovie) {
  Write("movie.mp4", "a movie");
  for (const std::string& command :
       {"transcode " + Path("movie.mp4") + " " + Path("out.mp4"), "explain " + Path("movie.mp4"),
        "package " + Path("movie.mp4") + " " + Path("folder"),
        "topology --measure --repeat 1 --movie " + Path("movie.mp4")}) {
    const Outcome outcome = RunProgram(command + " --json " + Path("./movie.mp4"));
    EXPECT_EQ(outcome.code, 2) << command << ": " << outcome.out;
    EXPECT_EQ(TextOf(Path("movie.mp4")), "a movie") << command;
  }
}

// What is opened first gets the lowest number that is free.
TEST_F(ProgramTest, DoesNotReadADescriptorOfItsOwnForAStdinThatIsClosed) {
  const Outcome outcome = RunProgram("transcode - " + Path("out.mp4") + " <&-", "timeout 20");
  EXPECT_EQ(outcome.code, 1) << "124: it reads one";
  EXPECT_THAT(outcome.out, HasSubstr("Bad file descriptor"));
}

// Two streams of three units, a few milliseconds of work.
std::string SmallTrace() {
  std::string text =
      "{\"format\":\"gopmill-trace\",\"version\":1,\"machine\":\"m\",\"unit\":\"gop\"}\n";
  for (const char* stream : {"1", "2"}) {
    for (const char* index : {"0", "1", "2"}) {
      text += std::string("{\"arrival_ms\":") + index + ",\"stream\":" + stream +
              ",\"number\":" + stream + ",\"class\":\"live\",\"index\":" + index +
              ",\"bytes\":100,\"context\":" + stream + ",\"hot_ms\":0.5}\n";
    }
  }
  return text;
}

TEST_F(ProgramTest, ARecordingIsReplayedAndNeverOverwritten) {
  Write("day.trace", SmallTrace());
  const std::string trace = " --trace " + Path("day.trace");
  const Outcome bench = RunProgram("bench --scheduler fifo --repeat 1 --workers 1" + trace);
  EXPECT_EQ(bench.code, 0) << bench.out;
  EXPECT_THAT(bench.out, HasSubstr("6 GOPs"));
  const Outcome simulate = RunProgram("simulate --scheduler fifo --json - --topology pu:2" + trace);
  EXPECT_EQ(simulate.code, 0) << simulate.out;
  EXPECT_THAT(simulate.out, AllOf(HasSubstr("\"units\": 6"), HasSubstr("\"machine\": "),
                                  HasSubstr("\"command\": \"gopmill simulate --topology pu:2 ")));
  const std::string over = Path("nothing/../day.trace");
  fs::create_directories(Path("nothing"));
  for (const std::string line : {"bench --perfetto ", "bench --json ", "bench --html ",
                                 "bench --record ", "simulate --json ", "simulate --csv "}) {
    EXPECT_EQ(RunProgram(line + over + trace).code, 2) << line;
    EXPECT_EQ(TextOf(Path("day.trace")), SmallTrace()) << line;
  }
}

TEST_F(ProgramTest, ATraceIsAWorkload) {
  Write("day.trace", SmallTrace());
  const std::string start =
      "simulate --scheduler fifo --topology pu:2 --trace " + Path("day.trace");
  EXPECT_EQ(RunProgram(start + " --workload trace").code, 0);
  EXPECT_EQ(RunProgram(start + " --classes live:2,vod:1").code, 0);
  EXPECT_EQ(RunProgram(start + " --noise 0.1 --seed 1").code, 0);
  EXPECT_EQ(RunProgram(start + " --sweep noise=0,0.1 --seed 1").code, 0);
  EXPECT_EQ(RunProgram(start + " --arrivals poisson --seed 1").code, 0);
  for (const std::string more : {" --workload transcode", " --workload l7", " --streams 3",
                                 " --mix live", " --classes live:0", " --classes vod:1",
                                 " --seed 1", " --sweep seed=1,2", " --arrivals closed --seed 1"}) {
    const Outcome refused = RunProgram(start + more);
    EXPECT_EQ(refused.code, 2) << more;
    EXPECT_THAT(refused.out, AllOf(HasSubstr("parameter: "), HasSubstr("accepted: "))) << more;
  }
}

TEST_F(ProgramTest, TheSameSeedGivesTheSameBytes) {
  const std::string line = "simulate --topology e5335 --streams 6 --gops 8 --seed 7 ";
  for (const char* name : {"1", "2"}) {
    const std::string files = "--json " + Path(std::string(name) + ".json") + " --csv " +
                              Path(std::string(name) + ".csv");
    EXPECT_EQ(RunProgram(line + files).code, 0);
  }
  EXPECT_GT(TextOf(Path("1.json")).size(), 1000U);
  EXPECT_EQ(TextOf(Path("1.json")), TextOf(Path("2.json")));
  EXPECT_EQ(TextOf(Path("1.csv")), TextOf(Path("2.csv")));
  EXPECT_EQ(TextOf(Path("1.json")), RunProgram(line + "--json -").out);
  EXPECT_EQ(RunProgram(line + "--timing --json " + Path("3.json")).code, 0);
  EXPECT_THAT(TextOf(Path("3.json")),
              AllOf(HasSubstr("\"decision_us\""), HasSubstr("\"run_seconds\"")));
  EXPECT_EQ(RunProgram(line + "--timing").code, 2) << "there is no file for it";
}

TEST_F(ProgramTest, TopologyShowsTheAllowedCpus) {
  EXPECT_THAT(RunProgram("topology").out, HasSubstr("allowed CPUs: "));
  EXPECT_THAT(RunProgram("topology --json -").out, HasSubstr("\"allowed_cpus\""));
  EXPECT_EQ(RunProgram("topology --json /nonexistent/x").code, 2);
}

TEST_F(ProgramTest, ServeChecksItsSettingsFirst) {
  Write("c.json", "{\"http\": {\"prt\": 1}}");
  const Outcome bad = RunProgram("serve --workers x --config " + Path("c.json"));
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.out, AllOf(HasSubstr("/http/prt"), HasSubstr("flag --workers")));
  EXPECT_EQ(RunProgram("serve").code, 2);
  EXPECT_EQ(RunProgram("serve --library /nonexistent").code, 2);
  EXPECT_EQ(RunProgram("serve --library . --rtsp-port 99999").code, 2);
  const Outcome unset = RunProgram("serve --config '' --library . --print-config");
  EXPECT_EQ(unset.code, 2);
  EXPECT_THAT(unset.out, HasSubstr("it names no file"));
}

TEST_F(ProgramTest, ServePrintsItsSettings) {
  const Outcome printed =
      RunProgram("serve --print-config --http-port 81", "GOPMILL_STREAMS_MAX=5");
  EXPECT_EQ(printed.code, 0);
  EXPECT_THAT(printed.out, AllOf(HasSubstr("// flag --http-port"),
                                 HasSubstr("// environment GOPMILL_STREAMS_MAX")));
}

}  // namespace
}  // namespace gopmill
