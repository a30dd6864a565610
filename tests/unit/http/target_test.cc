// SPDX-License-Identifier: Apache-2.0
#include "server/http/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gopmill {
namespace {

using testing::ElementsAre;
using testing::Pair;

// Why `raw` is refused; the default Error if it is not.
[[gnu::noinline]] Error Refusal(std::string_view raw) {
  const auto target = ParseTarget(raw);
  return target.ok() ? Error() : target.error();
}

TEST(TargetTest, SplitsAndDecodesPathAndQuery) {
  auto target = ParseTarget("/v1/transcode/a%20b/m%C3%A9.mp4?width=640&fps=30000%2F1001&x=a+b&y");
  ASSERT_TRUE(target.ok());
  EXPECT_THAT(target->segments, ElementsAre("v1", "transcode", "a b", "m\xC3\xA9.mp4"));
  EXPECT_THAT(target->query, ElementsAre(Pair("width", "640"), Pair("fps", "30000/1001"),
                                         Pair("x", "a b"), Pair("y", "")));
}

// In a manifest of DASH, where an "&" would have to be escaped.
TEST(TargetTest, TakesASemicolonForAnAmpersand) {
  EXPECT_THAT(ParseTarget("/?a=1;b=x%3By&c=2;").value().query,
              ElementsAre(Pair("a", "1"), Pair("b", "x;y"), Pair("c", "2")));
}

TEST(TargetTest, DecodesOnce) {
  auto target = ParseTarget("/%252e%252e?a=%2541");
  ASSERT_TRUE(target.ok());
  EXPECT_THAT(target->segments, ElementsAre("%2e%2e"));
  EXPECT_THAT(target->query, ElementsAre(Pair("a", "%41")));
}

TEST(TargetTest, TakesRootAndAbsoluteForm) {
  EXPECT_TRUE(ParseTarget("/").value().segments.empty());
  EXPECT_TRUE(ParseTarget("http://host").value().segments.empty());
  EXPECT_THAT(ParseTarget("http://host:80/v1/sources").value().segments,
              ElementsAre("v1", "sources"));
  EXPECT_THAT(ParseTarget("/a+b").value().segments, ElementsAre("a+b"));
}

class BadTargetTest : public testing::TestWithParam<const char*> {};

TEST_P(BadTargetTest, IsRefused) {
  const Error error = Refusal(GetParam());
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_FALSE(error.parameter.empty());
  EXPECT_FALSE(error.message.empty());
}

INSTANTIATE_TEST_SUITE_P(All, BadTargetTest,
                         testing::Values("", "a", "*", "host:443", "ftp://host/a", "/a/../b", "/..",
                                         "/a/%2e%2E/b", "/a/.%2e", "/./a", "/a//b", "//a", "/a/",
                                         "/a%2Fb", "/a%5Cb", "/a\\b", "/%00", "/a%0ab", "/a%7f",
                                         "/a%", "/a%2", "/a%zz", "/a%-1", "/%ff", "/%c0%af",
                                         "/%ed%a0%80", "/%f5%80%80%80", "/%e2%82", "/a#b", "/?%zz",
                                         "/?a=%00", "/?a=1&a=2", "/?a=1&%61=2", "/?=1", "/?a=%ff"));

TEST(TargetTest, NamesTheDoubledParameter) {
  EXPECT_EQ(Refusal("/?fps=24&width=1&fps=25").parameter, "fps");
}

TEST(TargetTest, BoundsTheNumberOfParameters) {
  std::string target = "/?";
  for (int i = 0; i < 65; ++i) target += "p" + std::to_string(i) + "=1&";
  EXPECT_FALSE(ParseTarget(target).ok());
}

}  // namespace
}  // namespace gopmill
