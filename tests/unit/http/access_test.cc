// SPDX-License-Identifier: Apache-2.0
#include "server/http/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/api/request_params.h"

namespace gopmill {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr const char* kUsers = "ann:a:b:read+publish  bob:word:read cam:lens:publish";

Users Some() { return Users::Parse(kUsers).value(); }

HttpRequest With(const char* name, const char* value, const char* method = "GET") {
  return {.method = method, .target = "/", .fields = {{name, value}}};
}

int StatusOf(const char* credentials, RouteId route, const char* method = "GET") {
  const auto refused = RefuseUser(With("authorization", credentials, method), route, Some());
  return refused ? refused->status : 200;
}

TEST(Users, AreNamesPasswordsAndRoles) {
  const Users users = Some();
  ASSERT_EQ(users.all().size(), 3U);
  EXPECT_EQ(users.all()[0].password, "a:b");
  EXPECT_TRUE(users.all()[0].Has(Role::kRead) && users.all()[0].Has(Role::kPublish));
  EXPECT_FALSE(users.all()[1].Has(Role::kPublish));
  EXPECT_FALSE(users.all()[2].Has(Role::kRead));
  EXPECT_TRUE(Users::Parse(" ")->empty());
  for (const char* bad : {"ann", "ann:x", "ann::read", ":x:read", "ann:x:admin",
                          "ann:x:", "ann:x:read ann:y:read", "ann:x\x01:read", "ann:\x7f:read"}) {
    EXPECT_EQ(Users::Parse(bad).error().code, Code::kInvalidArgument) << bad;
  }
}

TEST(Users, MayHaveAServiceClass) {
  const auto users =
      Users::Parse("ann:a:b:read:gold bob:x:read:read+publish cam:read:publish:0.bulk_");
  ASSERT_TRUE(users.ok());
  EXPECT_EQ(users->all()[0].password, "a:b");
  EXPECT_EQ(users->all()[0].service_class, "gold");
  EXPECT_EQ(users->all()[1].password, "x:read");
  EXPECT_EQ(users->all()[1].service_class, "");
  EXPECT_TRUE(users->all()[1].Has(Role::kPublish));
  EXPECT_EQ(users->all()[2].password, "read");
  EXPECT_EQ(users->all()[2].service_class, "0.bulk_");
  for (const char* bad : {"ann:read:gold", "ann::read:gold", "ann:x:admin:gold",
                          "ann:x:read:", "ann:x:read:gold:bulk", ":x:read:gold"}) {
    EXPECT_EQ(Users::Parse(bad).error().message, "User 1 is not understood.") << bad;
  }
}

TEST(Users, GiveTheirClassToWhatTheyAskFor) {
  RequestParams params = {{"width", "640"}};
  EXPECT_TRUE(UseClass("", params).ok());
  EXPECT_THAT(params, ElementsAre(Pair("width", "640")));
  EXPECT_TRUE(UseClass("bulk", params).ok());
  EXPECT_TRUE(UseClass("bulk", params).ok());
  EXPECT_THAT(params, ElementsAre(Pair("width", "640"), Pair("class", "bulk")));
  const Status refused = UseClass("gold", params);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(refused.error().parameter, "class");
  EXPECT_EQ(refused.error().accepted, "gold");
  EXPECT_FALSE(CheckClass("gold", {{"class", "gold"}, {"class", "bulk"}}).ok());
  EXPECT_FALSE(CheckClass("gold", {{"class", ""}}).ok());
  EXPECT_TRUE(CheckClass("gold", {{"width", "64"}, {"class", "gold"}}).ok());
}

// A token would be either's.
TEST(Users, HaveAPasswordEach) {
  const auto users = Users::Parse("ann:word:read bob:word:publish");
  ASSERT_FALSE(users.ok());
  EXPECT_EQ(users.error().message, "ann and bob have the same password.");
}

// As a block of YAML has them.
TEST(Users, StandInLinesOfTheirOwnToo) {
  const auto users = Users::Parse("ann:lens:read\n\tbob:word:publish\r\n");
  ASSERT_TRUE(users.ok());
  EXPECT_NE(users->Find("ann", "lens"), nullptr);
  EXPECT_NE(users->Find("bob", "word"), nullptr);
  EXPECT_EQ(users->all().size(), 2U);
}

TEST(Users, AreNamedByTheirNumberWhereTheyAreMistyped) {
  EXPECT_EQ(Users::Parse("ann:lens:read bob:hush").error().message, "User 2 is not understood.");
}

TEST(Users, AreFoundByAllOfTheirSecretOnly) {
  const Users users = Some();
  EXPECT_EQ(users.Find("bob", "word"), &users.all()[1]);
  for (const char* wrong : {"", "w", "wor", "words", "wordword", "Word"}) {
    EXPECT_EQ(users.Find("bob", wrong), nullptr) << wrong;
    EXPECT_EQ(users.FindToken(wrong), nullptr) << wrong;
  }
  EXPECT_EQ(users.Find("ann", "word"), nullptr);
  EXPECT_EQ(users.FindToken("lens"), &users.all()[2]);
}

TEST(Access, NeedsAUserWithTheRole) {
  EXPECT_EQ(StatusOf("Basic Ym9iOndvcmQ=", RouteId::kSources), 200);  // bob:word
  EXPECT_EQ(StatusOf("bAsIc  Ym9iOndvcmQ", RouteId::kSources), 200);
  EXPECT_EQ(StatusOf("Bearer word", RouteId::kSources), 200);
  EXPECT_EQ(StatusOf("Basic Ym9iOndvcmQ=", RouteId::kLive, "PUT"), 403);
  EXPECT_EQ(StatusOf("Basic Ym9iOndvcmQ=", RouteId::kStream, "DELETE"), 403);
  EXPECT_EQ(StatusOf("Basic Y2FtOmxlbnM=", RouteId::kLive, "PUT"), 200);  // cam:lens
  EXPECT_EQ(StatusOf("Basic Y2FtOmxlbnM=", RouteId::kTranscode), 403);
  for (const char* wrong : {"", "Basic", "Basic ", "Basic !!!", "Basic Ym9i", "Digest x", "Bearer",
                            "Bearer ", "Bearer words", "Basic Ym9iOndvcmRz"}) {
    EXPECT_EQ(StatusOf(wrong, RouteId::kSources), 401) << wrong;
  }
  EXPECT_EQ(StatusOf("", RouteId::kHealth), 200);
  EXPECT_FALSE(RefuseUser(With("x", "y"), RouteId::kSources, Users()).has_value());
}

TEST(Access, IsForNamesOfThisMachine) {
  for (const char* own : {"localhost", "localhost:8080", "127.0.0.1:8080", "[::1]:8080", "x", "",
                          "a.localhost", "192.168.1.2"}) {
    EXPECT_FALSE(RefuseHost(With("host", own), RouteId::kPage, {}).has_value()) << own;
  }
  for (const char* other : {"evil.example", "evil.example:8080", "127.0.0.1.evil.example",
                            "localhost.evil.example", "evil.example."}) {
    EXPECT_EQ(RefuseHost(With("host", other), RouteId::kPage, {})->status, 421) << other;
    EXPECT_FALSE(RefuseHost(With("host", other), RouteId::kHealth, {}).has_value()) << other;
    EXPECT_FALSE(RefuseHost(With("host", other), RouteId::kReady, {}).has_value()) << other;
  }
}

TEST(Access, IsForNamesThatAreSetAsWell) {
  const auto names = ParseHostNames(" movies.example  Films.Example.");
  ASSERT_TRUE(names.ok());
  for (const char* own : {"movies.example", "MOVIES.example:8443", "films.example.", "localhost"}) {
    EXPECT_FALSE(RefuseHost(With("host", own), RouteId::kPage, *names).has_value()) << own;
  }
  for (const char* other : {"a.movies.example", "movies.example.evil.example", "vies.example"}) {
    EXPECT_TRUE(RefuseHost(With("host", other), RouteId::kPage, *names).has_value()) << other;
  }
  for (const char* bad : {"movies.example:80", "https://movies.example", "a/b", "*.example", "."}) {
    const auto refused = ParseHostNames(bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.error().parameter, "http.host_names");
  }
}

HttpRequest FromPage(HttpFields fields) {
  fields.emplace_back("host", "127.0.0.1:8080");
  return {.method = "GET", .target = "/v1/sources", .fields = std::move(fields)};
}

bool IsRefused(const HttpFields& fields, const std::vector<std::string>& names = {}) {
  const auto refused = RefuseForeignPage(FromPage(fields), RouteId::kSources, names);
  return refused && refused->status == 403;
}

TEST(Access, IsForPagesOfThisMachine) {
  EXPECT_FALSE(IsRefused({}));
  for (const char* own : {"http://127.0.0.1:8080", "http://localhost:3000", "https://LOCALHOST",
                          "http://127.0.0.2", "http://[::1]:1", "http://a.localhost:1"}) {
    EXPECT_FALSE(IsRefused({{"origin", own}})) << own;
    EXPECT_FALSE(IsRefused({{"origin", own}, {"sec-fetch-site", "cross-site"}})) << own;
  }
  for (const char* other :
       {"https://evil.example", "null", "http://127.evil.example",
        "http://127.0.0.1.evil.example:80", "http://localhost.evil.example", "http://192.168.1.2",
        "http://[2001:db8::1]", "http://nas", "http://evil.example/127.0.0.1", "file://",
        "http://[::1].evil.example"}) {
    EXPECT_TRUE(IsRefused({{"origin", other}})) << other;
    EXPECT_TRUE(IsRefused({{"origin", other}, {"sec-fetch-site", "cross-site"}})) << other;
  }
  const HttpRequest foreign = FromPage({{"origin", "https://evil.example"}});
  EXPECT_FALSE(RefuseForeignPage(foreign, RouteId::kHealth, {}).has_value());
}

// What elements ask for has no Origin.
TEST(Access, IsForPagesOfThisMachineThatDoNotSayWhoTheyAre) {
  const HttpFields foreign = {{"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "no-cors"}};
  EXPECT_TRUE(IsRefused(foreign));
  const auto with = [&](const char* name, const char* value) {
    HttpFields fields = foreign;
    fields.emplace_back(name, value);
    return fields;
  };
  EXPECT_TRUE(IsRefused(with("referer", "https://evil.example/http://localhost/")));
  EXPECT_FALSE(IsRefused(with("referer", "http://localhost:3000/page")));
  for (const char* site : {"same-origin", "same-site", "none"}) {
    EXPECT_FALSE(IsRefused({{"sec-fetch-site", site}, {"sec-fetch-mode", "no-cors"}})) << site;
  }
  EXPECT_FALSE(IsRefused({{"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}}))
      << "a link leads here";
}

TEST(Access, IsForPagesThatAreSetAsWell) {
  const std::vector<std::string> names = {"movies.example"};
  EXPECT_FALSE(IsRefused({{"origin", "https://Movies.example:8443"}}, names));
  EXPECT_TRUE(IsRefused({{"origin", "https://a.movies.example"}}, names));
  HttpRequest same{.method = "DELETE",
                   .target = "/v1/streams/1",
                   .fields = {{"host", "192.168.1.2:80"}, {"origin", "http://192.168.1.2:80"}}};
  EXPECT_FALSE(RefuseForeignPage(same, RouteId::kStream, names).has_value()) << "its own page";
}

TEST(Access, DecodesBase64) {
  EXPECT_EQ(DecodeBase64("YTpi"), "a:b");
  EXPECT_EQ(DecodeBase64("YQ=="), "a");
  EXPECT_EQ(DecodeBase64(""), "");
  EXPECT_FALSE(DecodeBase64("Y Q").has_value());
}

}  // namespace
}  // namespace gopmill
