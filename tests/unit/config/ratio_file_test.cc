// SPDX-License-Identifier: Apache-2.0
#include "config/ratio_file.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace gopmill {
namespace {

using ::testing::HasSubstr;

class RatioFileTest : public testing::Test {
 protected:
  ~RatioFileTest() override { std::filesystem::remove(path_); }
  // The message of the refusal, "" if there was none.
  std::string Refusal(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    const auto result = WithRatioFiles("ratios=" + path_);
    if (result.ok()) return "";
    EXPECT_EQ(result.error().parameter, "ratios");
    EXPECT_THAT(result.error().accepted, HasSubstr("JSON array"));
    return result.error().message;
  }
  const std::string path_ =
      testing::TempDir() + "gopmill_ratios_" + std::to_string(getpid()) + ".json";
};

TEST_F(RatioFileTest, AFileIsReplacedByItsRows) {
  std::ofstream(path_) << "[[1, 1.25, 3],\n [1.25, 1, 2], [3, 2, 1]]";
  EXPECT_EQ(WithRatioFiles("beta=0.3,ratios=" + path_ + ",contexts=4").value(),
            "beta=0.3,ratios=1/1.25/3;1.25/1/2;3/2/1,contexts=4");
}

TEST_F(RatioFileTest, OtherOptionsStayAsTheyAre) {
  for (const char* text :
       {"", "beta=0.3", "ratios=e5335", "ratios=1/1/2/2/3/4,,beta=x", ",", "a,"}) {
    EXPECT_EQ(WithRatioFiles(text).value(), text);
  }
}

TEST_F(RatioFileTest, WhatIsNoMatrixIsRefusedByRowAndColumn) {
  EXPECT_THAT(Refusal("[[1,2],[2]]"), HasSubstr("Row 1 is not a list of 2 numbers"));
  EXPECT_THAT(Refusal("[[1,2],7]"), HasSubstr("Row 1 is not"));
  EXPECT_THAT(Refusal("[[1,0.5],[2,1]]"), HasSubstr("Row 0, column 1"));
  EXPECT_THAT(Refusal("[[1,2],[\"x\",1]]"), HasSubstr("Row 1, column 0"));
  EXPECT_THAT(Refusal("[[1,2],[1e400,1]]"), HasSubstr("not a list of 2 to 256 rows"));
  EXPECT_THAT(Refusal("[[1,2],[null,1]]"), HasSubstr("Row 1, column 0"));
  for (const char* text : {"", "{}", "[]", "[[1]]", "3", "[[1,2],[2,1]", "\x00\xff", "[[[1]]]"}) {
    EXPECT_THAT(Refusal(text), HasSubstr("not a list of 2 to 256 rows")) << text;
  }
  EXPECT_THAT(Refusal(std::string(100'000, '[')), HasSubstr("not a list"));
  EXPECT_THAT(Refusal(std::string(kMaxRatioFileBytes + 1, ' ')), HasSubstr("larger than 4 MiB"));
}

TEST_F(RatioFileTest, FilesThatCannotBeRead) {
  EXPECT_FALSE(WithRatioFiles("ratios=/nonexistent.json").ok());
  std::filesystem::create_directory(path_);
  EXPECT_FALSE(WithRatioFiles("ratios=" + path_).ok());
}

}  // namespace
}  // namespace gopmill
