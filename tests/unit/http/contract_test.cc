// SPDX-License-Identifier: Apache-2.0
//
// What the documents promise: openapi.json against the route table, and the metrics.
#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "media/target_params.h"
#include "server/http/assets.h"
#include "server/http/http_message.h"
#include "server/http/routes.h"
#include "tests/unit/http/server_fixture.h"

namespace gopmill {
namespace {

using testing::HasSubstr;

std::set<std::string> RoutesOfTheTable() {
  std::set<std::string> routes;
  for (const Route& route : Routes()) {
    std::istringstream methods{std::string(route.methods)};
    for (std::string method; methods >> method;) {
      routes.insert(method + " " + std::string(route.pattern));
    }
  }
  return routes;
}

std::set<std::string> RoutesOfTheDocument(const nlohmann::json& document) {
  std::set<std::string> routes;
  for (const auto& [path, item] : document["paths"].items()) {
    for (const auto& [key, operation] : item.items()) {
      if (key == "parameters" || key == "summary") continue;
      std::string method = key;
      std::ranges::transform(method, method.begin(),
                             [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      routes.insert(method + " " + path);
    }
  }
  return routes;
}

// Every "$ref" of the document, at any depth.
void CollectRefs(const nlohmann::json& node, std::set<std::string>& refs) {
  if (node.is_object() && node.contains("$ref")) refs.insert(node["$ref"].get<std::string>());
  if (!node.is_structured()) return;
  for (const auto& child : node) CollectRefs(child, refs);
}

class ContractTest : public RunningServer {
 protected:
  nlohmann::json Document() { return ParseJson(*Fetch(port(), "/openapi.json")); }
};

TEST_F(ContractTest, TheDocumentHasTheRoutesOfTheTableAndNoOthers) {
  EXPECT_EQ(RoutesOfTheDocument(Document()), RoutesOfTheTable());
}

TEST_F(ContractTest, TheDocumentAsksForNoUserWhereTheTableDoesNot) {
  const nlohmann::json paths = Document()["paths"];
  for (const Route& route : Routes()) {
    for (const auto& operation : paths[std::string(route.pattern)]) {
      if (!operation.contains("responses")) continue;
      const bool open = operation.contains("security") && operation["security"].empty();
      EXPECT_EQ(open, route.access == Access::kAnybody) << route.pattern;
    }
  }
}

TEST_F(ContractTest, TheDocumentIsWhole) {
  const nlohmann::json document = Document();
  EXPECT_TRUE(document["openapi"].get<std::string>().starts_with("3.1"));
  std::set<std::string> refs;
  CollectRefs(document, refs);
  EXPECT_FALSE(refs.empty());
  for (const std::string& ref : refs) {
    ASSERT_TRUE(ref.starts_with("#/")) << ref;
    EXPECT_TRUE(document.contains(nlohmann::json::json_pointer(ref.substr(1)))) << ref;
  }
  std::set<std::string> ids;
  for (const auto& item : document["paths"]) {
    for (const auto& operation : item) {
      if (!operation.is_object() || !operation.contains("responses")) continue;
      EXPECT_TRUE(ids.insert(operation["operationId"].get<std::string>()).second);
      EXPECT_TRUE(operation.contains("summary"));
      const bool open = operation.contains("security") && operation["security"].empty();
      EXPECT_NE(operation["responses"].contains("401"), open) << operation["operationId"];
    }
  }
}

TEST_F(ContractTest, TheDocumentNamesTheParametersOfAStream) {
  const nlohmann::json document = Document();
  std::set<std::string> names;
  for (const auto& parameter : document["paths"]["/v1/transcode/{path}"]["parameters"]) {
    const std::string ref = parameter.at("$ref").get<std::string>();
    names.insert(document[nlohmann::json::json_pointer(ref.substr(1))]["name"].get<std::string>());
  }
  EXPECT_TRUE(names.contains("path"));
  for (const ParamDoc& param : TargetParams()) {
    EXPECT_TRUE(names.contains(std::string(param.name))) << param.name;
  }
}

TEST_F(ContractTest, TheDocumentListsTheWordsThatParametersTake) {
  const nlohmann::json parameters = Document()["components"]["parameters"];
  const std::regex list(R"(\w+(, \w+)+)");
  for (const ParamDoc& param : TargetParams()) {
    const auto& schema = parameters[std::string(param.name)]["schema"];
    const bool is_list = std::regex_match(std::string(param.accepted), list);
    EXPECT_EQ(schema.contains("enum"), is_list) << param.name;
    if (!schema.contains("enum")) continue;
    std::string words;
    for (const auto& word : schema["enum"]) {
      const std::string text = word.is_string() ? word.get<std::string>() : word.dump();
      words += (words.empty() ? "" : ", ") + text;
    }
    EXPECT_EQ(words, param.accepted) << param.name;
  }
}

TEST_F(ContractTest, UnknownParametersOfListsAreRefused) {
  for (const char* path : {"/v1/streams", "/v1/streams/7", "/v1/streams/7/seams",
                           "/v1/streams/7/trace", "/v1/live", "/v1/sources", "/v1/workers"}) {
    const auto response = Fetch(port(), path + std::string("?foo=1"));
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 400) << path;
    EXPECT_EQ(ParseJson(*response)["parameter"], "foo") << path;
  }
  for (const char* path : {"/metrics?x=1", "/healthz?x=1", "/readyz?x=1"}) {
    EXPECT_EQ(Fetch(port(), path)->status, 200) << path;
  }
}

TEST_F(ContractTest, MetricsParseAndCount) {
  RawClient client(port());
  client.Get("/v1/transcode/small.mp4");
  ASSERT_TRUE(client.Receive());
  client.Get("/nothing");
  ASSERT_TRUE(client.Receive());
  client.Get("/metrics");
  const auto response = client.Receive();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->Field("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(response->body, HasSubstr("gopmill_engine_up 1\n"));
  EXPECT_THAT(
      response->body,
      HasSubstr("gopmill_http_requests_total{route=\"/v1/transcode/{path}\",status=\"200\"} 1\n"));
  EXPECT_THAT(response->body,
              HasSubstr("gopmill_http_requests_total{route=\"none\",status=\"404\"} 1\n"));
  EXPECT_THAT(response->body, HasSubstr("gopmill_http_connections 1\n"));
  const std::regex sample(R"re([a-zA-Z_:][\w:]*(\{(\w+="([^"\\]|\\.)*",?)*\})? -?[0-9.eE+-]+)re");
  std::istringstream lines(response->body);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("# ") || std::regex_match(line, sample)) << line;
  }
}

TEST(AssetTest, AllAreThere) {
  for (const char* name :
       {"index.html", "page.css", "page.js", "library.js", "common.js", "machine.css", "machine.js",
        "machine_bars.js", "machine_classes.js", "machine_gantt.js", "machine_history.js",
        "machine_streams.js", "machine_tree.js", "icon.svg", "hls.min.js", "openapi.json"}) {
    const Asset* asset = FindAsset(name);
    ASSERT_NE(asset, nullptr) << name;
    EXPECT_GT(asset->bytes.size(), 100U);
    EXPECT_EQ(asset->etag.size(), 18U);
    EXPECT_NE(AssetContentType(name), "application/octet-stream");
  }
}

TEST(MessageTest, ReadsQualityLists) {
  EXPECT_TRUE(OffersToken("trailers", "trailers"));
  EXPECT_TRUE(OffersToken(" deflate , Trailers ;q=0.5", "trailers"));
  EXPECT_FALSE(OffersToken("", "gzip"));
  EXPECT_FALSE(OffersToken("xgzip, *", "gzip"));
  EXPECT_FALSE(OffersToken("gzip; q=0.000", "gzip"));
  EXPECT_TRUE(OffersToken("gzip;q=0.001", "gzip"));
}

TEST(MessageTest, QuotesForHeaderFields) {
  EXPECT_EQ(QuotedString("a\"b\\c\r\n\xC3\xA9"), "\"a\\\"b\\\\c????\"");
}

}  // namespace
}  // namespace gopmill
