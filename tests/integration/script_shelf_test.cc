// SPDX-License-Identifier: Apache-2.0
//
// Scripts of a movie of the library, with a file of subtitles beside it.
#include "server/files/script_shelf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/test_streams.h"

namespace gopmill {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::HasSubstr;

class ScriptShelfTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/gopmill-scripts-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::copy_file(test::MoviePath("ref-talk.mpg"), folder_ / "movie.mpg");
    Say("first words");
    auto library = Library::Open(folder_.string());
    ASSERT_TRUE(library.ok());
    library_.emplace(std::move(library).value());
    shelf_.emplace(*library_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Say(const std::string& words) const {
    std::ofstream(folder_ / "movie.en.srt") << "1\n00:00:01,000 --> 00:00:02,000\n"
                                            << words << "\n";
  }
  std::shared_ptr<const SubtitleScript> Get() {
    auto script = shelf_->Get("movie.mpg", 1, {});
    EXPECT_TRUE(script.ok()) << script.error().ToString();
    return std::move(script).value();
  }

  fs::path folder_;
  std::optional<Library> library_;
  std::optional<ScriptShelf> shelf_;
};

TEST_F(ScriptShelfTest, ReadsAScriptOnceForAllWhoAsk) {
  std::vector<std::shared_ptr<const SubtitleScript>> got(6);
  {
    std::vector<std::jthread> askers;
    for (auto& script : got) askers.emplace_back([this, &script] { script = Get(); });
  }
  EXPECT_THAT(got, Each(got.front())) << "the very same object";
  EXPECT_THAT(got.front()->text, HasSubstr("first words"));
}

TEST_F(ScriptShelfTest, ReadsAnewWhatHasChanged) {
  const auto before = Get();
  Say("other words, and more of them");
  const auto after = Get();
  EXPECT_THAT(after->text, HasSubstr("other words"));
  EXPECT_NE(after->fingerprint, before->fingerprint);
}

TEST_F(ScriptShelfTest, AnErrorIsNotKept) {
  const auto missing = shelf_->Get("movie.mpg", 2, {});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().parameter, "burn");
  Say("");
  EXPECT_FALSE(shelf_->Get("movie.mpg", 1, {}).ok()) << "no cue at all";
  Say("mended words");
  EXPECT_THAT(Get()->text, HasSubstr("mended words"));
}

TEST_F(ScriptShelfTest, NobodyWaitsForTheNextOneWhenReadingIsCancelled) {
  std::stop_source stop;
  stop.request_stop();
  const auto cancelled = shelf_->Get("movie.mpg", 1, stop.get_token());
  ASSERT_FALSE(cancelled.ok());
  EXPECT_EQ(cancelled.error().code, Code::kCancelled);
  EXPECT_THAT(Get()->text, HasSubstr("first words"));
}

}  // namespace
}  // namespace gopmill
