// SPDX-License-Identifier: Apache-2.0
//
// HTTP itself over a real socket: persistence, pipelining, methods, compression, validators.
#include <zlib.h>

#include <tuple>

#include "server/http/response_fields.h"
#include "tests/unit/http/server_fixture.h"

namespace gopmill {
namespace {

using testing::HasSubstr;

class ProtocolTest : public RunningServer {};

std::string Gunzip(const std::string& packed) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) return {};
  std::string text(1 << 20, '\0');
  std::string input = packed;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  const int result = inflate(&stream, Z_FINISH);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return result == Z_STREAM_END ? text : std::string();
}

TEST_F(ProtocolTest, KeepsTheConnectionAlive) {
  RawClient client(port());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(client.Get("/healthz"));
    const auto response = client.Receive();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->Field("connection"), "");
    EXPECT_EQ(response->Field("server"), "gopmill");
    EXPECT_THAT(response->Field("date"), HasSubstr("GMT"));
    EXPECT_EQ(ParseJson(*response)["status"], "ok");
  }
}

TEST_F(ProtocolTest, ClosesWhenAsked) {
  RawClient client(port());
  client.Get("/healthz", "Connection: close\r\n");
  const auto response = client.Receive();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->Field("connection"), "close");
  EXPECT_TRUE(client.AwaitClosed());
}

TEST_F(ProtocolTest, SpeaksHttp10) {
  RawClient client(port());
  client.Send("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(client.Receive()->Field("connection"), "keep-alive");
  client.Send("GET /healthz HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.Receive()->Field("connection"), "close");
  EXPECT_TRUE(client.AwaitClosed());
}

TEST_F(ProtocolTest, AnswersPipelinedRequestsInOrder) {
  RawClient client(port());
  std::string requests;
  for (const char* path : {"/v1/streams/77", "/v1/transcode/small.mp4", "/v1/sources", "/healthz",
                           "/v1/transcode/small.mp4", "/nothing"}) {
    requests += "GET " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n\r\n";
  }
  client.Send(requests);
  EXPECT_EQ(client.Receive()->status, 404);
  EXPECT_EQ(client.Receive()->body, "hello world");
  EXPECT_EQ(ParseJson(*client.Receive())["sources"].size(), 100U);
  EXPECT_EQ(ParseJson(*client.Receive())["status"], "ok");
  EXPECT_EQ(client.Receive()->body, "hello world");
  EXPECT_EQ(client.Receive()->status, 404);
}

TEST_F(ProtocolTest, BoundsTheAnswersToAPipelinerThatDoesNotRead) {
  RawClient client(port(), 4096);
  std::string requests;
  for (int i = 0; i < 400; ++i) requests += "GET /openapi.json HTTP/1.1\r\nHost: h\r\n\r\n";
  ASSERT_TRUE(client.Send(requests));
  // Until it has stood still for a while: nothing tells that the server goes no further.
  std::int64_t answered = 0;
  TimePoint changed = SteadyNow();
  while (answered == 0 || SteadyNow() - changed < std::chrono::milliseconds(200)) {
    const std::int64_t now = server->stats().requests;
    if (std::exchange(answered, now) != now) changed = SteadyNow();
    ASSERT_LT(SteadyNow() - changed, std::chrono::seconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LT(answered, 20);
  for (int i = 0; i < 400; ++i) {
    const auto response = client.Receive();
    ASSERT_TRUE(response && response->complete) << i;
  }
}

TEST_F(ProtocolTest, AnswersAHalfClosedClient) {
  RawClient client(port());
  client.Send(
      "GET /v1/sources HTTP/1.1\r\nHost: h\r\n\r\nGET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
  client.HalfClose();
  EXPECT_EQ(client.Receive()->status, 200);
  EXPECT_EQ(client.Receive()->status, 200);
  EXPECT_TRUE(client.AwaitClosed());
}

TEST_F(ProtocolTest, ReadsAndDropsSmallBodies) {
  RawClient client(port());
  client.Get("/healthz", "Content-Length: 5\r\n");
  client.Send("hello");
  EXPECT_EQ(client.Receive()->status, 200);
  client.Get("/healthz", "Expect: 100-continue\r\nContent-Length: 5\r\n");
  EXPECT_EQ(client.Receive()->status, 100);
  client.Send("hello");
  EXPECT_EQ(client.Receive()->status, 200);
}

TEST_F(ProtocolTest, TellsHttp10NothingBeforeTheAnswer) {
  RawClient client(port());
  client.Send("GET /healthz HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  client.Send("hello");
  EXPECT_EQ(client.Receive()->status, 200);
}

// What is wrong with the request comes before what is wrong with its body, which is not waited for:
// as of ffmpeg, which publishes by POST if it is not told otherwise.
TEST_F(ProtocolTest, RefusesARequestBeforeItsLargeBody) {
  for (const char* body : {"Content-Length: 100000000\r\n", "Transfer-Encoding: chunked\r\n"}) {
    for (const auto& [method, path, status] :
         {std::tuple{"POST", "/v1/live/cam", 405}, std::tuple{"PUT", "/v1/live/a/b", 404},
          std::tuple{"PUT", "/v1/live/%ff", 400}}) {
      RawClient client(port());
      client.Get(path, body, method);
      const auto response = client.Receive();
      ASSERT_TRUE(response) << path;
      EXPECT_EQ(response->status, status) << path;
      EXPECT_EQ(response->Field("allow"), status == 405 ? "PUT, OPTIONS" : "");
      EXPECT_EQ(response->Field("connection"), "close");
      EXPECT_TRUE(client.AwaitClosed());
    }
  }
  RawClient client(port());
  client.Get("/v1/live/cam", "Content-Length: 5\r\n", "POST");
  client.Send("hello");
  EXPECT_EQ(client.Receive()->Field("connection"), "") << "a small one is read";
}

TEST_F(ProtocolTest, HeadHasTheFieldsOfGet) {
  RawClient client(port());
  for (const char* path : {"/", "/openapi.json", "/healthz", "/v1/sources", "/nothing"}) {
    client.Get(path, {}, "HEAD");
    const auto head = client.Receive(RawClient::Body::kNone);
    client.Get(path);
    const auto get = client.Receive();
    ASSERT_TRUE(head && get);
    EXPECT_EQ(head->status, get->status) << path;
    EXPECT_EQ(head->Field("content-type"), get->Field("content-type")) << path;
    EXPECT_EQ(head->Field("content-length"), get->Field("content-length")) << path;
  }
}

TEST_F(ProtocolTest, RefusesOtherMethodsAndSaysWhich) {
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW", "get"}) {
    const auto response = Fetch(port(), "/v1/sources", {}, method);
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 405) << method;
    EXPECT_EQ(response->Field("allow"), "GET, HEAD, OPTIONS");
    EXPECT_EQ(response->Field("content-type"), "application/problem+json");
  }
  EXPECT_EQ(Fetch(port(), "/v1/streams/1", {}, "PUT")->Field("allow"),
            "GET, HEAD, DELETE, OPTIONS");
}

TEST_F(ProtocolTest, AnswersOptionsAndPreflights) {
  const auto response = Fetch(port(), "/v1/streams/1", "Origin: http://x\r\n", "OPTIONS");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 204);
  EXPECT_EQ(response->Field("allow"), "GET, HEAD, DELETE, OPTIONS");
  EXPECT_EQ(response->Field("access-control-allow-origin"), "*");
  EXPECT_EQ(response->Field("access-control-allow-methods"), "GET, HEAD");
  for (const char* field : {"Authorization", "CMCD-Request", "If-None-Match", "Range"}) {
    EXPECT_THAT(response->Field("access-control-allow-headers"), HasSubstr(field));
  }
  EXPECT_EQ(Fetch(port(), "*", {}, "OPTIONS")->status, 204);
  EXPECT_EQ(Fetch(port(), "/nothing", {}, "OPTIONS")->status, 404);
}

TEST_F(ProtocolTest, TellsAPageOfAnotherSiteWhyItMayNot) {
  const auto refused = Fetch(port(), "/v1/sources", "Origin: https://evil.example\r\n");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 403);
  EXPECT_EQ(refused->Field("access-control-allow-origin"), "*");
  EXPECT_THAT(refused->body, HasSubstr("add the page's host to http.host_names to allow it"));
  for (const char* own :
       {"Origin: http://127.0.0.1:8080\r\n", "Origin: http://localhost:3000\r\n", ""}) {
    EXPECT_EQ(Fetch(port(), "/v1/sources", own)->status, 200) << own;
  }
}

// Elsewhere, and where there are users, unless somebody has said which names are meant.
TEST_F(ProtocolTest, GuardsAgainstOtherSitesWhereNamesAreSet) {
  const std::string ann = "Authorization: Bearer word\r\nOrigin: ";
  options.users = Users::Parse("ann:word:read").value();
  Start();
  EXPECT_EQ(Fetch(port(), "/v1/sources", ann + "https://evil.example\r\n")->status, 200);
  options.host_names = {"movies.example"};
  Start();
  EXPECT_EQ(Fetch(port(), "/v1/sources", ann + "https://evil.example\r\n")->status, 403);
  EXPECT_EQ(Fetch(port(), "/v1/sources", ann + "https://movies.example\r\n")->status, 200);
}

TEST_F(ProtocolTest, CompressesJsonIfAccepted) {
  const auto plain = Fetch(port(), "/v1/sources");
  const auto packed = Fetch(port(), "/v1/sources", "Accept-Encoding: br, GZIP;q=0.5\r\n");
  ASSERT_TRUE(plain && packed);
  EXPECT_EQ(plain->Field("content-encoding"), "");
  EXPECT_EQ(packed->Field("content-encoding"), "gzip");
  EXPECT_EQ(packed->Field("vary"), "Accept-Encoding");
  EXPECT_LT(packed->body.size(), plain->body.size() / 4);
  EXPECT_EQ(Gunzip(packed->body), plain->body);
  EXPECT_EQ(
      Fetch(port(), "/v1/sources", "Accept-Encoding: gzip;q=0\r\n")->Field("content-encoding"), "");
  EXPECT_EQ(Fetch(port(), "/healthz", "Accept-Encoding: gzip\r\n")->Field("content-encoding"), "");
}

TEST_F(ProtocolTest, ValidatesThePageByTag) {
  for (const char* path : {"/", "/assets/page.js", "/assets/page.css", "/assets/icon.svg"}) {
    const auto first = Fetch(port(), path);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->status, 200) << path;
    const std::string etag = first->Field("etag");
    ASSERT_FALSE(etag.empty());
    const auto second = Fetch(port(), path, "If-None-Match: \"x\", W/" + etag + "\r\n");
    EXPECT_EQ(second->status, 304);
    EXPECT_EQ(second->Field("etag"), etag);
    EXPECT_EQ(second->Field("vary"), "Accept-Encoding");
    EXPECT_EQ(second->Field("content-type"), "");
    EXPECT_TRUE(second->body.empty());
    EXPECT_EQ(Fetch(port(), path, "If-None-Match: \"x\"\r\n")->status, 200);
  }
  EXPECT_EQ(Fetch(port(), "/assets/nothing.js")->status, 404);
}

TEST_F(ProtocolTest, WhatIsCompressedHasATagOfItsOwn) {
  const std::string accept = "Accept-Encoding: gzip\r\n";
  const auto plain = Fetch(port(), "/assets/page.js");
  const auto packed = Fetch(port(), "/assets/page.js", accept);
  ASSERT_TRUE(plain && packed);
  std::string tag = plain->Field("etag");
  tag.insert(tag.size() - 1, "-gzip");
  EXPECT_EQ(packed->Field("etag"), tag);
  const auto same = Fetch(port(), "/assets/page.js", accept + "If-None-Match: " + tag + "\r\n");
  EXPECT_EQ(same->status, 304);
  EXPECT_EQ(same->Field("etag"), tag);
  const auto both = "If-None-Match: \"x-gzip\", " + plain->Field("etag") + "\r\n";
  EXPECT_EQ(Fetch(port(), "/assets/page.js", both)->status, 304);
  EXPECT_EQ(Fetch(port(), "/assets/page.js", "If-None-Match: \"x-gzip\"\r\n")->status, 200);
  const auto lines = "If-None-Match: \"x\"\r\nIf-None-Match: " + plain->Field("etag") + "\r\n";
  EXPECT_EQ(Fetch(port(), "/assets/page.js", lines)->status, 304);
  const auto two = Fetch(port(), "/assets/page.js", "Accept-Encoding: br\r\n" + accept);
  EXPECT_EQ(two->Field("content-encoding"), "gzip");
}

TEST(CompressIfAccepted, APartOfATextStaysAsItIs) {
  HttpRequest request;
  request.fields = {{"accept-encoding", "gzip"}};
  for (const int status : {200, 206}) {
    HttpResponse response;
    response.status = status;
    response.content_type = "text/vtt";
    response.body = std::string(kMinGzipBytes, 'x');
    PackedTexts packed;
    CompressIfAccepted(request, response, packed);
    EXPECT_EQ(response.body.size() == kMinGzipBytes, status == 206);
    EXPECT_THAT(response.fields, testing::Contains(testing::Pair("Vary", "Accept-Encoding")));
  }
}

// A live playlist that many watch is compressed on the loop; what is too long for that is not.
TEST(CompressIfAccepted, ATextThatSeveralGetIsCompressedOnce) {
  HttpRequest request{.method = "GET", .target = "/", .fields = {{"accept-encoding", "gzip"}}};
  PackedTexts packed;
  const auto answer = [&](const std::shared_ptr<const std::string>& text) {
    HttpResponse response;
    response.content_type = "text/vtt";
    response.shared = SharedBody{.owner = text, .bytes = *text, .kept_bytes = text->size()};
    CompressIfAccepted(request, response, packed);
    return response;
  };
  auto text = std::make_shared<const std::string>(10'000, 'x');
  request.method = "HEAD";
  EXPECT_FALSE(answer(text).length_known);
  EXPECT_EQ(packed.made(), 0U) << "nobody gets it";
  request.method = "GET";
  const HttpResponse first = answer(text), second = answer(text);
  EXPECT_LT(first.content().size(), 1000U);
  EXPECT_EQ(first.content().data(), second.content().data());
  EXPECT_EQ(packed.made(), 1U);
  request.method = "HEAD";
  EXPECT_TRUE(answer(text).length_known);
  request.method = "GET";
  text = std::make_shared<const std::string>(10'000, 'y');
  EXPECT_NE(answer(text).content(), first.content()) << "another text, maybe at the same place";
  text = std::make_shared<const std::string>(kMaxLoopGzipBytes + 1, 'x');
  EXPECT_EQ(answer(text).content().size(), text->size()) << "it takes too long on the loop";
  EXPECT_EQ(packed.made(), 2U);
  packed.Of({.owner = text, .bytes = *text});  // as the thread does that has made it
  EXPECT_LT(answer(text).content().size(), 10'000U);
}

TEST(CompressIfAccepted, WhatIsBuiltInIsCompressedOnceWhateverItsSize) {
  const HttpRequest request{
      .method = "GET", .target = "/", .fields = {{"accept-encoding", "gzip"}}};
  const std::string text(2 * kMaxLoopGzipBytes, 'x');
  PackedTexts packed;
  for (int i = 0; i < 2; ++i) {
    HttpResponse response;
    response.content_type = "text/javascript";
    response.shared = SharedBody{.owner = nullptr, .bytes = text};
    CompressIfAccepted(request, response, packed);
    EXPECT_LT(response.content().size(), 10'000U);
  }
  EXPECT_EQ(packed.made(), 1U);
}

TEST_F(ProtocolTest, ThePageMayOnlyUseItsOwnServer) {
  const std::string policy = Fetch(port(), "/")->Field("content-security-policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_EQ(Fetch(port(), "/")->Field("x-content-type-options"), "nosniff");
}

TEST_F(ProtocolTest, RefusesBadAddressesAndTakenPorts) {
  HttpOptions bad = options;
  bad.address = "localhost";
  EXPECT_FALSE(HttpServer::Start(bad, service).ok());
  bad = options;
  bad.port = 70000;
  EXPECT_FALSE(HttpServer::Start(bad, service).ok());
  bad.port = 0;
  bad.limits.stream_buffer_bytes = 1000;
  EXPECT_FALSE(HttpServer::Start(bad, service).ok());
  bad = options;
  bad.port = port();
  const auto taken = HttpServer::Start(bad, service);
  ASSERT_FALSE(taken.ok());
}

}  // namespace
}  // namespace gopmill
