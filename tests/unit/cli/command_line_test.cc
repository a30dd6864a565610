// SPDX-License-Identifier: Apache-2.0
#include "server/cli/command_line.h"

#include <gmock/gmock.h>

#include "scheduler/policy_registry.h"
#include "server/cli/commands.h"
#include "server/cli/exit_codes.h"

namespace gopmill::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

template <class Args>
Args Parsed(const std::vector<std::string>& args) {
  const CommandLine line = ParseCommandLine(args);
  if (const auto* text = std::get_if<TextAnswer>(&line)) ADD_FAILURE() << text->text;
  const Args* parsed = std::get_if<Args>(&line);
  EXPECT_NE(parsed, nullptr);
  return parsed == nullptr ? Args{} : *parsed;
}

TextAnswer Answered(const std::vector<std::string>& args) {
  const CommandLine line = ParseCommandLine(args);
  const auto* text = std::get_if<TextAnswer>(&line);
  EXPECT_NE(text, nullptr);
  return text == nullptr ? TextAnswer{-1, ""} : *text;
}

TEST(CommandLine, TranscodeTakesEveryTargetParameter) {
  const auto args = Parsed<TranscodeArgs>(
      {"transcode",   "in.mkv",     "out.mp4",   "--size",     "640x360",  "--fps",      "23.976",
       "--bitrate",   "600k",       "--preset",  "fast",       "--vcodec", "hevc",       "--acodec",
       "opus",        "--abitrate", "96k",       "--channels", "2",        "--maxrate",  "1M",
       "--bufsize",   "1M",         "--quality", "normal",     "--unit",   "gop",        "--class",
       "gold",        "--fit",      "pad",       "--start",    "1:30",     "--duration", "5",
       "--scheduler", "hrw",        "--workers", "8",          "--force",  "--quiet",    "--verify",
       "--json",      "report.json"});
  EXPECT_EQ(args.input, "in.mkv");
  EXPECT_EQ(args.output, "out.mp4");
  EXPECT_EQ(args.request.width, 640);
  EXPECT_EQ(args.request.fps, (Rational{24000, 1001}));
  EXPECT_EQ(args.request.vcodec, VideoCodec::kHevc);
  EXPECT_EQ(args.request.unit_seconds, 0.0);
  EXPECT_EQ(args.request.container, Container::kMp4);
  EXPECT_EQ(args.scheduler, "hrw");
  EXPECT_EQ(args.workers, 8);
  EXPECT_TRUE(args.force && args.quiet && args.verify);
  EXPECT_EQ(args.json, "report.json");
}

TEST(CommandLine, DefaultsAreNotMadeUp) {
  const auto args = Parsed<TranscodeArgs>({"transcode", "a", "b.ts"});
  EXPECT_EQ(args.scheduler, "hearth");
  EXPECT_EQ(args.scheduler, Policies().front().name) << "the default is listed first";
  EXPECT_EQ(args.workers, 0);
  EXPECT_FALSE(args.request.width || args.request.fps || args.request.bitrate);
  EXPECT_FALSE(args.force || args.quiet || args.verify);
}

TEST(CommandLine, ContainerComesFromTheNameUnlessItIsGiven) {
  const auto container = [](std::vector<std::string> more) {
    std::vector<std::string> args = {"transcode", "in"};
    args.insert(args.end(), more.begin(), more.end());
    return Parsed<TranscodeArgs>(args).request.container;
  };
  EXPECT_EQ(container({"a.mp4"}), Container::kMp4);
  EXPECT_EQ(container({"a.M4V"}), Container::kMp4);
  EXPECT_EQ(container({"dir.x/a.ts"}), Container::kTs);
  EXPECT_EQ(container({"a.mkv"}), Container::kMkv);
  EXPECT_EQ(container({"a.webm"}), Container::kWebm);
  EXPECT_EQ(container({"-"}), Container::kMp4);
  EXPECT_EQ(container({"a.mp4", "--container", "mkv"}), Container::kMkv);
  EXPECT_EQ(container({"a.xyz", "--container", "ts"}), Container::kTs);
  for (const char* name : {"a.avi", "a", ".mp4", "mp4/a"}) {
    const TextAnswer answer = Answered({"transcode", "in", name});
    EXPECT_EQ(answer.exit_code, kUsage) << name;
    EXPECT_THAT(answer.text, HasSubstr(".webm")) << name;
  }
}

TEST(CommandLine, BadParametersAreNamedWithTheirRangeAllAtOnce) {
  const TextAnswer answer =
      Answered({"transcode", "a", "b.mp4", "--size", "0x0", "--fps", "NaN", "--bitrate", "10G"});
  EXPECT_EQ(answer.exit_code, kUsage);
  EXPECT_THAT(answer.text, AllOf(HasSubstr("parameter: size; accepted: WIDTHxHEIGHT"),
                                 HasSubstr("parameter: fps; accepted: 1 to 240"),
                                 HasSubstr("parameter: bitrate; accepted: 10k to 200M")));
  EXPECT_THAT(answer.text, HasSubstr("Try 'gopmill transcode --help'"));
}

TEST(CommandLine, UsageErrors) {
  const std::vector<std::vector<std::string>> lines = {
      {},
      {"nonsense"},
      {"transcode"},
      {"transcode", "a"},
      {"transcode", "a", "b.mp4", "c"},
      {"transcode", "a", "b.mp4", "--nonsense"},
      {"transcode", "a", "b.mp4", "--size"},
      {"transcode", "a", "b.mp4", "--size", ""},
      {"transcode", "a", "b.mp4", "--size", "640x360", "--size", "320x180"},
      {"transcode", "a", "b.mp4", "--workers", "-1"},
      {"transcode", "a", "b.mp4", "--workers", "two"},
      {"transcode", "a", "b.mp4", "--workers", "5000"},
      {"transcode", "a", "b.mp4", "--quality", "perfect"},
      {"transcode", "a", "-", "--json", "-"},
      {"serve", "--bitrate", "1M"},
      {"explain"},
      {"package", "a"},
      {"package", "a", "b", "--rungs"},
      {"topology", "extra"},
  };
  for (const auto& line : lines) {
    const TextAnswer answer = Answered(line);
    EXPECT_EQ(answer.exit_code, kUsage);
    EXPECT_THAT(answer.text, HasSubstr("--help"));
  }
}

TEST(CommandLine, APackageKeepsWhatItWasAskedFor) {
  const CommandLine line = ParseCommandLine(
      {"package", "a.mkv", "out", "--rungs", "640x360:700k", "--segment", "6", "--preset", "fast"});
  const auto* args = std::get_if<PackageArgs>(&line);
  ASSERT_NE(args, nullptr);
  EXPECT_EQ(args->input, "a.mkv");
  EXPECT_EQ(args->output, "out");
  EXPECT_THAT(args->params, ElementsAre(Pair("rungs", "640x360:700k"), Pair("segment", "6"),
                                        Pair("preset", "fast")));
}

TEST(CommandLine, TheHelpOfAPackageListsWhatItTakes) {
  const std::string help = Answered({"package", "--help"}).text;
  for (const char* taken : {"mp4 or ts", "h264, hevc, av1, vp9", "aac, opus, none"}) {
    EXPECT_THAT(help, HasSubstr(taken));
  }
  for (const char* refused : {", webm", ", mpeg4", ", copy", ", or all", "--qp", "--unit"}) {
    EXPECT_THAT(help, Not(HasSubstr(refused)));
  }
}

TEST(CommandLine, HelpAndVersionAreNotErrors) {
  EXPECT_THAT(Answered({"--version"}).text, HasSubstr("gopmill "));
  EXPECT_EQ(Answered({"--version"}).exit_code, kOk);
  for (const char* command : {"transcode", "package", "serve", "explain", "topology"}) {
    const TextAnswer help = Answered({command, "--help"});
    EXPECT_EQ(help.exit_code, kOk) << command;
    EXPECT_THAT(help.text, HasSubstr("Examples:\n  gopmill ")) << command;
  }
  EXPECT_THAT(Answered({"--help"}).text, AllOf(HasSubstr("Exit codes"), HasSubstr("transcode")));
  EXPECT_THAT(Answered({"transcode", "--help"}).text,
              AllOf(HasSubstr("--bitrate"), HasSubstr("10k to 200M"), HasSubstr("--verify")));
}

TEST(CommandLine, ServePassesItsFlagsOnAsText) {
  const auto args = Parsed<ServeArgs>({"serve", "--library", "m", "--http-port", "0", "--workers",
                                       "2", "--rtsp-port", "0", "--config", "c.json"});
  EXPECT_THAT(args.flags, ElementsAre(Pair("--library", "m"), Pair("--http-port", "0"),
                                      Pair("--rtsp-port", "0"), Pair("--workers", "2")));
  EXPECT_EQ(args.config_file, "c.json");
  EXPECT_FALSE(args.print_config);
}

TEST(CommandLine, BenchTakesItsOptions) {
  const auto args = Parsed<BenchArgs>({"bench", "--scheduler", "fifo,rr", "--mix", "live",
                                       "--streams", "3", "--repeat", "10", "--seed", "7", "--unit",
                                       "2", "--workers", "4", "--html", "x.html", "--quick"});
  EXPECT_EQ(args.schedulers, "fifo,rr");
  EXPECT_EQ(args.mix, "live");
  EXPECT_EQ(args.streams, 3);
  EXPECT_EQ(args.repeats, 10);
  EXPECT_EQ(args.seed, 7);
  EXPECT_EQ(args.unit, "2");
  EXPECT_EQ(args.html, "x.html");
  EXPECT_TRUE(args.quick);
  EXPECT_EQ(args.line.front(), "bench");
  EXPECT_EQ(args.warm_ups, std::nullopt);
  EXPECT_EQ(Parsed<BenchArgs>({"bench", "--warm-up", "0"}).warm_ups, 0);
}

TEST(CommandLine, BenchNamesAllPartsOfAClass) {
  EXPECT_THAT(Answered({"bench", "--help"}).text,
              HasSubstr("NAME:WEIGHT[:GUARANTEED[:MAX_WORKERS[:DEADLINE_MS]]]"));
}

TEST(CommandLine, BenchRefusesWhatCannotBeMeasured) {
  const std::vector<std::vector<std::string>> wrong = {{"--streams", "0"},
                                                       {"--repeat", "0"},
                                                       {"--seed", "-1"},
                                                       {"--seed", "4294967296"},
                                                       {"--workers", "-1"},
                                                       {"--queue", "-1"},
                                                       {"--trace", "x", "--mix", "live"},
                                                       {"--trace", "x", "--record", "y"}};
  for (const std::vector<std::string>& flags : wrong) {
    std::vector<std::string> args = {"bench"};
    for (const std::string& flag : flags) args.push_back(flag);
    EXPECT_EQ(Answered(args).exit_code, kUsage) << flags.front();
  }
}

// As the settings take them (010 is ten): not octal, hexadecimal, signed or with blanks.
TEST(CommandLine, WholeNumbersAreDigitsOfDecimals) {
  EXPECT_EQ(Parsed<BenchArgs>({"bench", "--workers", "010"}).workers, 10);
  EXPECT_EQ(Parsed<BenchArgs>({"bench", "--warm-up", "08"}).warm_ups, 8);
  EXPECT_EQ(Parsed<BenchArgs>({"bench", "--seed", "02147483647"}).seed, 2147483647);
  EXPECT_EQ(Parsed<TranscodeArgs>({"transcode", "a", "b.mp4", "--workers", "0012"}).workers, 12);
  EXPECT_EQ(Parsed<TopologyArgs>({"topology", "--measure", "--repeat", "010"}).repeats, 10);
  EXPECT_EQ(Parsed<SimulateArgs>({"simulate", "--seed", "010"}).seed, 10U);
  EXPECT_EQ(Parsed<SimulateArgs>({"simulate", "--check", "fifo", "--seeds", "010"}).seeds, 10);
  for (const char* wrong : {"0x10", "+5", " 5", "5 ", "1e1", "5.", "5.0", "", "0b1", "1'0", "5k",
                            "00000000000005", "18446744073709551621"}) {
    for (const char* option :
         {"--workers", "--streams", "--repeat", "--warm-up", "--queue", "--seed"}) {
      const TextAnswer answer = Answered({"bench", std::string(option) + "=" + wrong});
      EXPECT_EQ(answer.exit_code, kUsage) << option << " " << wrong;
      EXPECT_THAT(answer.text, HasSubstr(option));
    }
    EXPECT_EQ(Answered({"simulate", std::string("--seed=") + wrong}).exit_code, kUsage) << wrong;
  }
  EXPECT_THAT(Answered({"bench", "--workers", "0x10"}).text,
              HasSubstr("--workers: '0x10' is not a whole number from 0 to 4096"));
}

TEST(CommandLine, BenchListsNothingElseBesides) {
  EXPECT_TRUE(Parsed<BenchArgs>({"bench", "--list"}).list);
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {"--mix", "live"}, {"--quick"}, {"--seed", "1"}, {"--json", "-"}, {"--trace", "x"}}) {
    std::vector<std::string> args = {"bench", "--list"};
    args.insert(args.end(), more.begin(), more.end());
    const TextAnswer answer = Answered(args);
    EXPECT_EQ(answer.exit_code, kUsage) << more.front();
    EXPECT_THAT(answer.text, HasSubstr(more.front()));
  }
}

TEST(CommandLine, SimulateKeepsItsParametersAsText) {
  const CommandLine line =
      ParseCommandLine({"simulate", "--streams", "40", "--topology", "e5335", "--sweep",
                        "load=0.5:1:0.1", "--sweep", "contexts=1,2", "--seed", "9", "--csv", "-"});
  const auto* const args = std::get_if<SimulateArgs>(&line);
  ASSERT_NE(args, nullptr);
  EXPECT_EQ(args->scheduler, std::nullopt);
  ASSERT_EQ(args->params.size(), 2U);
  EXPECT_EQ(args->sweeps.size(), 2U);
  EXPECT_EQ(args->seed, 9U);
  EXPECT_EQ(args->csv, "-");
}

TEST(CommandLine, SimulateDoesOneStudyAtATime) {
  EXPECT_EQ(Answered({"simulate", "--validate", "--list"}).exit_code, kUsage);
  EXPECT_EQ(Answered({"simulate", "--check", "fifo", "--scale", "x"}).exit_code, kUsage);
  EXPECT_EQ(Answered({"simulate", "--against", "fifo"}).exit_code, kUsage);
  EXPECT_EQ(Answered({"simulate", "--seeds", "3"}).exit_code, kUsage)
      << "they are those of --check";
  EXPECT_EQ(Answered({"simulate", "--check", "fifo", "--seeds", "1"}).exit_code, kUsage);
  EXPECT_EQ(Answered({"simulate", "--seed", "-1"}).exit_code, kUsage);
  EXPECT_EQ(Answered({"simulate", "--seed", "1e30"}).exit_code, kUsage);
}

TEST(SimulateCommand, EndsWithTheUsageCodeOnBadInput) {
  const auto with_param = [](const char* name, const char* value) {
    SimulateArgs args;
    args.params = {{"topology", "pu:2"}, {name, value}};
    return RunSimulate(args);
  };
  EXPECT_EQ(with_param("topology", "pu:5000"), kUsage);
  EXPECT_EQ(with_param("topology", "/no/such.xml"), kUsage);
  EXPECT_EQ(with_param("streams", "nan"), kUsage);
  EXPECT_EQ(with_param("spread", "1e99"), kUsage);
  EXPECT_EQ(with_param("classes", "a:0"), kUsage);
  EXPECT_EQ(with_param("workload", "trace"), kUsage);
  SimulateArgs args;
  args.scheduler = "no-such";
  EXPECT_EQ(RunSimulate(args), kUsage);
  args = {};
  args.sweeps = {"load=1:0:1"};
  EXPECT_EQ(RunSimulate(args), kUsage);
  args = {};
  args.trace = "/etc/passwd";
  EXPECT_EQ(RunSimulate(args), kUsage);
  args = {};
  args.reproduce = "no-such";
  EXPECT_EQ(RunSimulate(args), kUsage);
  args = {};
  args.check = "fifo";
  args.params = {{"streams", "7"}};  // its grid says how many
  EXPECT_EQ(RunSimulate(args), kUsage);
  args = {};
  args.scale = "/tmp";
  args.params = {{"classes", "a:1"}};
  EXPECT_EQ(RunSimulate(args), kUsage);
  args = {};
  args.json = "/nonexistent/folder/x.json";
  EXPECT_EQ(RunSimulate(args), kUsage);
  args = {};
  args.validate = true;
  args.json = "-";
  EXPECT_EQ(RunSimulate(args), kUsage);
  args = {};
  args.seed = 1;
  args.sweeps = {"seed=1,2"};
  EXPECT_EQ(RunSimulate(args), kUsage);
  args = {};
  args.check = "fifo";
  args.sweeps = {"seed=1,2"};
  args.seeds = 5;
  EXPECT_EQ(RunSimulate(args), kUsage);
  args.sweeps = {};
  args.scheduler = "all";
  EXPECT_EQ(RunSimulate(args), kUsage);
  EXPECT_EQ(with_param("switch-ms", "1"), kUsage) << "one class";
  EXPECT_EQ(with_param("share-window-ms", "100"), kUsage) << "one class";
}

TEST(SimulateCommand, RefusesASeedThatNobodyWouldLookAt) {
  for (const auto& choose : std::vector<void (*)(SimulateArgs&)>{
           [](SimulateArgs& a) { a.list = true; }, [](SimulateArgs& a) { a.validate = true; },
           [](SimulateArgs& a) { a.reproduce = "beta"; }}) {
    SimulateArgs args;
    choose(args);
    args.seed = 1;
    EXPECT_EQ(RunSimulate(args), kUsage);
    args.seed = {};
    args.scheduler = "all";
    EXPECT_EQ(RunSimulate(args), kUsage);
  }
}

TEST(ExitCodes, FollowTheKindOfError) {
  EXPECT_EQ(ExitCodeOf(InvalidArgument("size", "x")), kUsage);
  EXPECT_EQ(ExitCodeOf({.code = Code::kUnsupported, .message = "x", .parameter = "quality"}),
            kUsage);
  EXPECT_EQ(ExitCodeOf(InvalidArgument("input", "x")), kBadSource);
  EXPECT_EQ(ExitCodeOf({.code = Code::kNotFound, .message = "x"}), kBadSource);
  EXPECT_EQ(ExitCodeOf({.code = Code::kCorrupt, .message = "x"}), kBadSource);
  EXPECT_EQ(ExitCodeOf({.code = Code::kUnavailable, .message = "x", .parameter = "http-port"}),
            kFailed)
      << "a port that is taken is no mistake of the command line";
  EXPECT_EQ(ExitCodeOf({.code = Code::kIo, .message = "x", .parameter = "record"}), kFailed);
  EXPECT_EQ(ExitCodeOf({.code = Code::kResourceExhausted, .message = "x"}), kFailed);
  EXPECT_EQ(ExitCodeOf({.code = Code::kCancelled, .message = "x"}), kInterrupted);
}

}  // namespace
}  // namespace gopmill::cli
