// SPDX-License-Identifier: Apache-2.0
#include "server/cli/usage_hints.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "server/cli/command_line.h"
#include "server/cli/exit_codes.h"

namespace gopmill::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What a command line that is refused is told.
std::string Refusal(const std::vector<std::string>& args) {
  const CommandLine line = ParseCommandLine(args);
  const auto* text = std::get_if<TextAnswer>(&line);
  if (text == nullptr || text->exit_code != kUsage) return "it was taken";
  return text->text;
}

TEST(UsageHints, AnUnknownCommandIsNamedWithThoseThatThereAre) {
  EXPECT_THAT(Refusal({"foo"}),
              AllOf(StartsWith("gopmill: There is no command 'foo'. The commands are transcode, "),
                    HasSubstr("topology"), HasSubstr("Try 'gopmill --help'")));
  EXPECT_THAT(Refusal({"transcod", "a", "b.mp4"}),
              HasSubstr("no command 'transcod'; did you mean transcode?"));
  EXPECT_THAT(Refusal({}), HasSubstr("A command is needed. The commands are transcode, "));
  EXPECT_THAT(Refusal({"--foo"}), HasSubstr("There is no option --foo without a command."));
}

TEST(UsageHints, AnUnknownOptionIsNamedAloneAndWithWhatWasMeant) {
  EXPECT_THAT(Refusal({"transcode", "in", "o.mp4", "--scale", "640x360"}),
              StartsWith("gopmill transcode: There is no option --scale; here it is --size.\nTry"));
  EXPECT_THAT(Refusal({"transcode", "in", "o.mp4", "--scale=640x360"}),
              HasSubstr("no option --scale; here it is --size."));
  EXPECT_THAT(Refusal({"transcode", "in", "o.mp4", "--bitrat", "1M"}),
              HasSubstr("no option --bitrat; did you mean --bitrate?"));
  EXPECT_THAT(Refusal({"serve", "--libary", "x"}), HasSubstr("did you mean --library?"));
  EXPECT_THAT(Refusal({"transcode", "in", "o.mp4", "--zyxwvu"}),
              AllOf(HasSubstr("There is no option --zyxwvu.\n"), Not(HasSubstr("mean"))));
}

TEST(UsageHints, SaysHowOptionsOfFfmpegAreCalled) {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"-s", "--size"},          {"-r", "--fps"},         {"-b:v", "--bitrate"},
      {"-c:v", "--vcodec"},      {"-crf", "--crf"},       {"-preset", "--preset"},
      {"-c:a", "--acodec"},      {"-ss", "--start"},      {"-t", "--duration"},
      {"-y", "--force"},         {"-acodec", "--acodec"}, {"-an", "--acodec none"},
      {"--resolution", "--size"}};
  for (const auto& [theirs, ours] : names) {
    EXPECT_THAT(Refusal({"transcode", "in", "o.mp4", theirs, "x"}),
                HasSubstr("There is no option " + theirs + "; here it is " + ours + "."));
  }
  EXPECT_THAT(Refusal({"transcode", "-i", "in", "o.mp4"}),
              HasSubstr("no option -i; here it is IN, without the name of an option."));
  EXPECT_THAT(Refusal({"serve", "--port", "81"}), HasSubstr("here it is --http-port."));
  EXPECT_THAT(Refusal({"serve", "-s", "640x360"}), Not(HasSubstr("--size")))
      << "only what the command has";
}

// The library would say that OUT is missing.
TEST(UsageHints, AnUnknownOptionComesBeforeWhatIsMissing) {
  EXPECT_THAT(Refusal({"transcode", "in", "--siz=1x1"}),
              AllOf(HasSubstr("did you mean --size?"), Not(HasSubstr("required"))));
  EXPECT_THAT(Refusal({"transcode", "in"}), HasSubstr("OUT is required"));
}

TEST(UsageHints, EachUnknownOptionHasItsLineInTheOrderGiven) {
  EXPECT_THAT(
      Refusal({"transcode", "in", "o.mp4", "-r", "25", "--scale", "1x1"}),
      HasSubstr("There is no option -r; here it is --fps.\nThere is no option --scale; here"));
}

TEST(UsageHints, WhatIsTooMuchIsNamedWithWhatIsTaken) {
  EXPECT_THAT(
      Refusal({"transcode", "a", "b.mp4", "c", "-"}),
      HasSubstr("'c' and '-' are not expected: without an option there is only IN and OUT."));
  EXPECT_THAT(Refusal({"serve", "movies"}),
              HasSubstr("'movies' is not expected: all is given by options here."));
  EXPECT_THAT(Refusal({"transcode", "--", "a", "b.mp4", "c"}), HasSubstr("'c' is not expected"));
  EXPECT_THAT(Refusal({"--workers", "2", "bench"}),
              HasSubstr("'--workers' stands in front of the command: 'bench' comes first."));
}

TEST(UsageHints, TheNearestNameHasFewOtherLetters) {
  const std::vector<std::string> known = {"--size", "--fit", "--fps", "--quality"};
  EXPECT_EQ(NearestName("--sise", known), "--size");
  EXPECT_EQ(NearestName("--qualiti", known), "--quality");
  EXPECT_EQ(NearestName("--fpt", known), "--fit") << "the first of two";
  EXPECT_EQ(NearestName("--x", known), std::nullopt);
  EXPECT_EQ(NearestName("", known), std::nullopt);
  EXPECT_EQ(NearestName(std::string(100'000, 'x'), known), std::nullopt);
}

TEST(UsageHints, UrlsAreNotReadButWhatFetchesThem) {
  EXPECT_EQ(UrlHint("transcode", "https://host/a.mp4"),
            "URLs are not read; instead: curl -fL URL | gopmill transcode - OUT");
  EXPECT_EQ(UrlHint("explain", "HTTP://host/a.mp4"),
            "URLs are not read; instead: curl -fL URL | gopmill explain -");
  EXPECT_EQ(UrlHint("package", "http://host/a.mp4"), "URLs are not read; fetch it to a file first");
  EXPECT_THAT(*UrlHint("transcode", "rtsp://host/a"), HasSubstr("serve --source"));
  EXPECT_EQ(UrlHint("transcode", "srt://host:9"), "URLs are not read");
  for (const char* path : {"a.mp4", "-", "", "://a", "a b://c", "/x/http://a"}) {
    EXPECT_EQ(UrlHint("transcode", path), std::nullopt) << path;
  }
}

TEST(UsageHints, AFullDiskIsThatOfTheOutput) {
  const Error full{.code = Code::kResourceExhausted, .message = "No space.", .native = -ENOSPC};
  EXPECT_EQ(WithFullDisk(full, "dir/o.mp4").message, "dir/o.mp4: No space.");
  EXPECT_EQ(WithFullDisk(full, "-").message, "No space.");
  const Error other{.code = Code::kCorrupt, .message = "No movie."};
  EXPECT_EQ(WithFullDisk(other, "o.mp4").message, "No movie.");
  const Error memory{.code = Code::kResourceExhausted, .message = "No memory.", .native = -ENOMEM};
  EXPECT_EQ(WithFullDisk(memory, "o.mp4").message, "No memory.");
  const Error named{.code = Code::kResourceExhausted, .message = "'a/o' is", .native = -ENOSPC};
  EXPECT_EQ(WithFullDisk(named, "a/o").message, "'a/o' is");
}

}  // namespace
}  // namespace gopmill::cli
