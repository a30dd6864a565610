// SPDX-License-Identifier: Apache-2.0
//
// What publishers hear at their end, and what is told of sources that are fetched.
#include "server/live/live_hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/integration/script_source.h"

namespace gopmill::test {
namespace {

TEST(LiveHub, TellsHowItStandsWithWhatIsFetched) {
  LiveHub hub;
  hub.Configure({.patience = std::chrono::milliseconds(50)});
  hub.SetPull("cam", {.phase = PullPhase::kWaiting,
                      .since = std::chrono::system_clock::from_time_t(0),
                      .attempts = 3,
                      .failures = 2,
                      .last_error = "it is off"});
  const auto json = nlohmann::json::parse(hub.Json())["live"];
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["name"], "cam");
  EXPECT_EQ(json[0]["publishing"], false);
  EXPECT_EQ(json[0]["pull"], "waiting");
  EXPECT_EQ(json[0]["since"], "1970-01-01T00:00:00Z");
  EXPECT_EQ(json[0]["attempts"], 3);
  EXPECT_EQ(json[0]["failures"], 2);
  EXPECT_EQ(json[0]["last_error"], "it is off");
  EXPECT_EQ(hub.Totals().pull_failures, (std::map<std::string, std::int64_t>{{"cam", 2}}));
  const auto source = hub.Find("cam");
  ASSERT_TRUE(source.ok());
  EXPECT_THAT((*source)->Subscribe({}).error().message, testing::HasSubstr("it is off"));
}

// What a publisher hears that sends these, one after the other.
Result<std::string> AnswerTo(std::vector<std::vector<Step>> parts, LiveHub& hub,
                             bool truncated = false) {
  std::unique_ptr<Script> script;
  while (!parts.empty()) {
    auto before = std::exchange(
        script, std::make_unique<Script>(std::vector<std::string>{"en"}, parts.back()));
    parts.pop_back();
    if (truncated) script->Truncate();
    script->GoOnWith(std::move(before));
  }
  const auto source = std::make_shared<std::unique_ptr<PacketSource>>(std::move(script));
  const auto answer = std::make_shared<std::promise<Result<std::string>>>();
  const Status status = hub.Publish(
      "cam", "test",
      [source](const auto&) { return Result<std::unique_ptr<PacketSource>>(std::move(*source)); },
      [answer](auto result) { answer->set_value(std::move(result)); });
  EXPECT_TRUE(status.ok());
  return answer->get_future().get();
}
Result<std::string> AnswerTo(std::vector<std::vector<Step>> parts) {
  LiveHub hub;
  return AnswerTo(std::move(parts), hub);
}

TEST(LiveHub, APublisherWithoutAPictureHearsOfIt) {
  const std::vector<Step> sound{{.state = State::kAudio}}, picture{{.state = State::kVideo}};
  const auto without = AnswerTo({sound, sound});
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().code, Code::kCorrupt);
  EXPECT_TRUE(AnswerTo({picture, sound}).ok()) << "one of its parts had some";
}

TEST(LiveHub, APublisherThatCannotBeReadOnHearsWhere) {
  const std::vector<Step> pictures{{.milliseconds = 0}, {.milliseconds = 40}};
  LiveHub hub;
  const auto answer = AnswerTo({pictures}, hub, /*truncated=*/true);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, Code::kCorrupt);
  EXPECT_THAT(answer.error().message, testing::HasSubstr("behind its first 2 packets"));
}

TEST(LiveHub, APublisherHearsOfWhatItBroughtItself) {
  const std::vector<Step> pictures{{.milliseconds = 0}, {.milliseconds = 40}};
  LiveHub hub;
  ASSERT_TRUE(AnswerTo({pictures, pictures}, hub).ok());
  const auto answer = AnswerTo({pictures}, hub);
  ASSERT_TRUE(answer.ok());
  const auto counts = nlohmann::json::parse(*answer)["counts"];
  EXPECT_EQ(counts["publishers"], 1);
  EXPECT_EQ(counts["packets"], 2);
  EXPECT_EQ(counts["bytes"], 200);
}

}  // namespace
}  // namespace gopmill::test
