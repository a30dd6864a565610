// SPDX-License-Identifier: Apache-2.0
#include "server/http/request_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace gopmill {
namespace {

using std::string_literals::operator""s;
using State = RequestParser::State;

std::span<const std::uint8_t> Bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Feeds `text` in pieces of `step` bytes as a connection would; returns what was not used.
std::string FeedAll(RequestParser& parser, std::string_view text, std::size_t step) {
  std::string waiting;
  while (true) {
    waiting.erase(0, parser.Feed(Bytes(waiting)));
    const bool over = parser.state() == State::kDone || parser.state() == State::kFailed;
    if (over || text.empty()) return waiting += text;
    waiting += text.substr(0, step);
    text.remove_prefix(std::min(step, text.size()));
  }
}

class AnyStepTest : public testing::TestWithParam<std::size_t> {};

TEST_P(AnyStepTest, ReadsOneRequestAndLeavesTheNext) {
  RequestParser parser{HttpLimits{}};
  const std::string first = "\r\nGET /a?b=c HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n";
  EXPECT_EQ(FeedAll(parser, first + "GET /next", GetParam()), "GET /next");
  ASSERT_EQ(parser.state(), State::kDone);
  EXPECT_EQ(parser.request().method, "GET");
  EXPECT_EQ(parser.request().target, "/a?b=c");
  EXPECT_TRUE(parser.request().keep_alive);
  EXPECT_EQ(parser.request().Field("accept-encoding"), "gzip");
  EXPECT_EQ(parser.request().Field("nothing"), "");
}

TEST_P(AnyStepTest, DropsBodies) {
  for (const char* body : {"Content-Length: 5\r\n\r\nhello",
                           "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nT: "
                           "1\r\n\r\n",
                           "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                           "Transfer-Encoding: chunked\r\n\r\n0\r\nT: 1\r\n\r\n"}) {
    RequestParser parser{HttpLimits{}};
    const std::string request = std::string("PUT /a HTTP/1.1\r\nHost: h\r\n") + body;
    EXPECT_EQ(FeedAll(parser, request + "REST", GetParam()), "REST");
    EXPECT_EQ(parser.state(), State::kDone) << body;
    EXPECT_TRUE(parser.request().has_body);
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, AnyStepTest, testing::Values(1, 2, 7, 100'000));

TEST(RequestParserTest, BodiesAreCountedNotKept) {
  HttpLimits limits;
  limits.max_body_bytes = 10'000;
  RequestParser parser{limits};
  const std::string request = "PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10000\r\n\r\n";
  EXPECT_EQ(FeedAll(parser, request + std::string(10'000, 'x'), 5'000), "");
  EXPECT_EQ(parser.state(), State::kDone);
}

TEST(RequestParserTest, IsReusable) {
  RequestParser parser{HttpLimits{}};
  for (int i = 0; i < 3; ++i) {
    parser.Reset();
    EXPECT_FALSE(parser.mid_message());
    EXPECT_EQ(FeedAll(parser, "GET / HTTP/1.0\r\n\r\n", 100), "");
    EXPECT_EQ(parser.state(), State::kDone);
    EXPECT_FALSE(parser.request().keep_alive);
    EXPECT_FALSE(parser.request().http11);
  }
}

struct BadRequest {
  const char* name;
  int status;
  std::string text;
};

class BadRequestTest : public testing::TestWithParam<BadRequest> {};

TEST_P(BadRequestTest, FailsInAnyPieces) {
  for (const std::size_t step : {std::size_t{1}, std::size_t{1000}, std::size_t{1'000'000}}) {
    RequestParser parser{HttpLimits{}};
    FeedAll(parser, GetParam().text, step);
    ASSERT_EQ(parser.state(), State::kFailed) << "step " << step;
    EXPECT_EQ(parser.problem().status, GetParam().status) << parser.problem().detail;
    EXPECT_EQ(parser.Feed(Bytes("GET / HTTP/1.1\r\n")), 0U);
  }
}

std::string Get(const std::string& fields) { return "GET / HTTP/1.1\r\n" + fields + "\r\n"; }

std::string ManyFields() {
  std::string fields = "Host: h\r\n";
  for (int i = 0; i < 3000; ++i) fields += "X-" + std::to_string(i) + ": y\r\n";
  return fields;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadRequestTest,
    testing::Values(
        BadRequest{"garbage", 400, "\x16\x03\x01\x02garbage\r\n\r\n"},
        BadRequest{"nul_in_target", 400, "GET /a\0b HTTP/1.1\r\nHost: h\r\n\r\n"s},
        BadRequest{"nul_in_field", 400, Get("Host: h\0h\r\n"s)},
        BadRequest{"long_target", 414, "GET /" + std::string(65536, 'a') + " HTTP/1.1\r\n"},
        BadRequest{"rather_long_target", 414,
                   "GET /" + std::string(8192, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n"},
        BadRequest{"long_field", 431, Get("Host: h\r\nX: " + std::string(65536, 'a') + "\r\n")},
        BadRequest{"header_flood", 431, Get(ManyFields())},
        BadRequest{"length_and_chunked", 400,
                   Get("Host: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n")},
        BadRequest{"chunked_and_length", 400,
                   Get("Host: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n")},
        BadRequest{"two_lengths", 400,
                   Get("Host: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n")},
        BadRequest{"negative_length", 400, Get("Host: h\r\nContent-Length: -3\r\n")},
        BadRequest{"huge_length", 413, Get("Host: h\r\nContent-Length: 18446744073709551615\r\n")},
        BadRequest{"overflowing_length", 400,
                   Get("Host: h\r\nContent-Length: 99999999999999999999999\r\n")},
        BadRequest{"odd_coding", 501, Get("Host: h\r\nTransfer-Encoding: xchunked\r\n")},
        BadRequest{"two_codings", 501, Get("Host: h\r\nTransfer-Encoding: gzip, chunked\r\n")},
        BadRequest{"chunked_1_0", 400, "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"},
        BadRequest{"blank_before_colon", 400, Get("Host : h\r\n")},
        BadRequest{"bare_lf", 400, Get("Host: h\nX: y\r\n")},
        BadRequest{"bare_lf_in_line", 400, "GET / HTTP/1.1\nHost: h\n\n\r\n\r\n"},
        BadRequest{"no_host", 400, Get("Accept: a\r\n")},
        BadRequest{"two_hosts", 400, Get("Host: a\r\nHost: b\r\n")},
        BadRequest{"http_2", 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
        BadRequest{"http_0_9", 400, "GET /\r\n\r\n"},
        BadRequest{"expectation", 417, Get("Host: h\r\nExpect: miracles\r\n")},
        BadRequest{"bad_chunk", 400,
                   Get("Host: h\r\nTransfer-Encoding: chunked\r\n") + "zz\r\n\r\n"},
        BadRequest{"huge_chunk", 413,
                   Get("Host: h\r\nTransfer-Encoding: chunked\r\n") + "fffffff\r\n"},
        BadRequest{
            "long_extension", 431,
            Get("Host: h\r\nTransfer-Encoding: chunked\r\n") + "1;" + std::string(40000, 'a')}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace gopmill
