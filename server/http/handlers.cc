// SPDX-License-Identifier: Apache-2.0
#include "server/http/handlers.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/entity_tag.h"
#include "base/library_path.h"
#include "base/log.h"
#include "server/api/request_params.h"
#include "server/http/access.h"
#include "server/http/assets.h"
#include "server/http/byte_range.h"
#include "server/http/problem.h"
#include "server/http/response_fields.h"
#include "server/http/target.h"

namespace gopmill {
namespace {

// The page runs its own script and style and talks to its own server; nothing else. hls.js makes
// tracks of text out of empty data: URLs.
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "media-src 'self' blob: data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

// Not only at its end, as ShuttingDown() says.
constexpr const char* kNotServing = "The server is starting or stopping.";

// One request on its way through its handler.
struct Call {
  const HttpRequest& request;
  const HandlerContext& context;
  std::string argument;  // what the route's braces matched
  RequestParams query;
  std::string service_class = {};  // of the user, for parts
};

HttpResponse Json(std::string body) {
  return {200, "application/json", {{"Cache-Control", "no-store"}}, std::move(body)};
}

HttpResponse JsonOrProblem(Result<std::string> result) {
  if (!result) return ErrorResponse(result.error());
  return Json(*std::move(result));
}

HttpResponse SharedOrProblem(const Result<SharedText>& result) {
  if (!result) return ErrorResponse(result.error());
  HttpResponse response = Json({});
  response.shared =
      SharedBody{.owner = *result, .bytes = **result, .kept_bytes = (*result)->capacity()};
  return response;
}

// For what is made for one alone.
JsonCallback Sharing(TextCallback done) {
  return [done = std::move(done)](Result<std::string> text) {
    if (!text.ok()) return done(text.error());
    done(std::make_shared<const std::string>(*std::move(text)));
  };
}

Error NotFound(std::string message) { return {Code::kNotFound, std::move(message)}; }

// Routes without parameters say so rather than ignore a typing error.
std::optional<Error> UnexpectedQuery(const Call& call) {
  if (call.query.empty()) return std::nullopt;
  const std::string& name = call.query.front().first;
  return InvalidArgument(name, "This resource has no parameter '" + name + "'.", "no parameters");
}

// HEAD: the fields GET would have, as far as they are known without transcoding.
HttpResponse StreamHead(const Result<SharedText>& content_type) {
  if (!content_type) return ErrorResponse(content_type.error());
  HttpResponse response;
  response.content_type = **content_type;
  response.fields = {{"Cache-Control", "no-store"}, {"Accept-Ranges", "none"}};
  response.length_known = false;
  return response;
}

std::optional<HttpResponse> NotServing(const Call& call) {
  if (!call.context.draining && call.context.service.Ready()) return std::nullopt;
  return ErrorResponse({Code::kUnavailable, kNotServing});
}

Reply Transcode(Call& call) {
  if (auto refusal = NotServing(call)) return *std::move(refusal);
  if (call.request.method != "HEAD") {
    return StreamReply{std::move(call.argument), std::move(call.query)};
  }
  return DeferredReply{[&service = call.context.service, path = call.argument, params = call.query](
                           std::stop_token left, TextCallback done) {
                         service.CheckStream(path, params, std::move(left),
                                             Sharing(std::move(done)));
                       },
                       StreamHead};
}

// POST or PUT: the source is the body.
Reply TranscodeBody(Call& call) {
  if (auto refusal = NotServing(call)) return *std::move(refusal);
  if (!call.request.has_body) {
    return ErrorResponse(
        InvalidArgument("body", "The request has no body to transcode.",
                        "a media file or stream, with Transfer-Encoding: chunked or a length"));
  }
  return StreamReply{{}, std::move(call.query)};
}

// What players tell a CDN of themselves (CTA-5004); it asks for nothing.
constexpr std::string_view kClientData = "CMCD";

// .../{movie}/{part}
Reply Part(Call& call, std::string_view entry) {
  const std::size_t slash = call.argument.rfind('/');
  if (slash == std::string::npos) {
    return ErrorResponse({Code::kNotFound, "The path names a movie but no part of it.", "path",
                          "{movie}/" + std::string(entry)});
  }
  std::erase_if(call.query, [](const auto& param) { return param.first == kClientData; });
  return PartReply{{.path = call.argument.substr(0, slash),
                    .name = call.argument.substr(slash + 1),
                    .params = std::move(call.query),
                    .if_none_match = PlainTags(call.request),
                    .service_class = std::move(call.service_class)}};
}

Reply Publish(Call& call) {
  if (auto refusal = NotServing(call)) return *std::move(refusal);
  if (auto error = UnexpectedQuery(call)) return ErrorResponse(*error);
  if (!call.request.has_body) {
    return ErrorResponse(InvalidArgument("body", "The request has no body to publish.",
                                         "a media stream, best MPEG-TS"));
  }
  return PublishReply{std::move(call.argument),
                      "HTTP, " + WhoAsks(call.request, call.context.users)};
}

Reply Sources(Call& call) {
  if (auto error = UnexpectedQuery(call)) return ErrorResponse(*error);
  return DeferredReply{[&service = call.context.service](std::stop_token left, TextCallback done) {
                         service.Sources(std::move(left), std::move(done));
                       },
                       SharedOrProblem};
}

Reply ExplainPath(Call& call, std::string path) {
  return DeferredReply{[&service = call.context.service, path = std::move(path),
                        params = call.query](std::stop_token left, TextCallback done) {
                         service.Explain(path, params, std::move(left), Sharing(std::move(done)));
                       },
                       SharedOrProblem, /*costly=*/true};
}

// /v1/explain?path=dir/movie.mp4: the same rules as for a path in the target.
Reply ExplainQuery(Call& call) {
  const auto is_path = [](const auto& param) { return param.first == "path"; };
  const auto found = std::ranges::find_if(call.query, is_path);
  if (found == call.query.end() || found->second.empty()) {
    return ErrorResponse(
        InvalidArgument("path", "The parameter 'path' is missing.", "a path of the library"));
  }
  std::string path = std::move(found->second);
  call.query.erase(found);
  if (Status status = CheckLibraryPath(path); !status) {
    return ErrorResponse(status.error());
  }
  return ExplainPath(call, std::move(path));
}

Result<StreamId> IdOf(const Call& call) {
  StreamId id;
  const char* end = call.argument.data() + call.argument.size();
  const auto parsed = std::from_chars(call.argument.data(), end, id.value);
  if (parsed.ec == std::errc() && parsed.ptr == end) return id;
  return NotFound("There is no stream with this id.");
}

Reply StreamById(Call& call) {
  if (auto error = UnexpectedQuery(call)) return ErrorResponse(*error);
  const Result<StreamId> id = IdOf(call);
  if (!id) return ErrorResponse(id.error());
  if (call.request.method != "DELETE") return JsonOrProblem(call.context.service.Stream(*id));
  if (Status status = call.context.service.CancelStream(*id); !status) {
    return ErrorResponse(status.error());
  }
  spdlog::info("stream {}: stopped by {}", id->value, WhoAsks(call.request, call.context.users));
  return HttpResponse{.status = 204};
}

Reply OfStream(const Call& call, Result<std::string> (Service::*report)(StreamId) const) {
  if (auto error = UnexpectedQuery(call)) return ErrorResponse(*error);
  const Result<StreamId> id = IdOf(call);
  if (!id) return ErrorResponse(id.error());
  return JsonOrProblem((call.context.service.*report)(*id));
}

Reply Listing(const Call& call, std::string (Service::*list)() const) {
  if (auto error = UnexpectedQuery(call)) return ErrorResponse(*error);
  return Json((call.context.service.*list)());
}

// Who watches may add parameters of their own; so may health checks.
Reply Metrics(const Call& call) {
  return HttpResponse{200,
                      "text/plain; version=0.0.4; charset=utf-8",
                      {{"Cache-Control", "no-store"}},
                      call.context.service.Metrics() + call.context.metrics.Serialize()};
}

Reply Ready(const Call& call) {
  const Service& service = call.context.service;
  const bool up = !call.context.draining && service.Ready();
  if (up && service.LibraryReadable()) return Json("{\"ready\":true}\n");
  return ErrorResponse({Code::kUnavailable, up ? "The library cannot be read." : kNotServing});
}

Reply AssetFile(const Call& call, std::string_view name) {
  const Asset* asset = FindAsset(name);
  if (asset == nullptr) return ProblemResponse(ProtocolProblem(404, "There is no such file."));
  HttpResponse response;
  response.content_type = AssetContentType(name);
  response.fields = {{"ETag", std::string(asset->etag)}, {"Cache-Control", "no-cache"}};
  if (NamesTag(PlainTags(call.request), asset->etag)) {
    response.status = 304;
    return response;
  }
  if (name == "index.html") {
    response.fields.emplace_back("Content-Security-Policy", kPagePolicy);
    response.fields.emplace_back("Referrer-Policy", "no-referrer");
  }
  response.shared = SharedBody{.owner = nullptr, .bytes = asset->bytes};
  return response;
}

// The fields that pages of other sites may send. "*" would not do: it leaves Authorization out.
constexpr const char* kAllowedFields =
    "Authorization, CMCD-Object, CMCD-Request, CMCD-Session, CMCD-Status, If-None-Match, Range";

HttpResponse Options(const std::string& allowed) {
  return {.status = 204,
          .fields = {{"Allow", allowed},
                     {"Access-Control-Allow-Methods", "GET, HEAD"},
                     {"Access-Control-Allow-Headers", kAllowedFields},
                     {"Access-Control-Max-Age", "86400"}}};
}

Reply CallRoute(RouteId route, Call& call) {
  switch (route) {
    case RouteId::kTranscode: return Transcode(call);
    case RouteId::kTranscodeBody: return TranscodeBody(call);
    case RouteId::kHls: return Part(call, "master.m3u8");
    case RouteId::kDash: return Part(call, "manifest.mpd");
    case RouteId::kLive: return Publish(call);
    case RouteId::kLiveSources: return Listing(call, &Service::LiveSources);
    case RouteId::kSources: return Sources(call);
    case RouteId::kStreams: return Listing(call, &Service::Streams);
    case RouteId::kStream: return StreamById(call);
    case RouteId::kSeams: return OfStream(call, &Service::Seams);
    case RouteId::kTrace: return OfStream(call, &Service::Trace);
    case RouteId::kWorkers: return Listing(call, &Service::Workers);
    case RouteId::kExplain: return ExplainPath(call, std::move(call.argument));
    case RouteId::kExplainQuery: return ExplainQuery(call);
    case RouteId::kMetrics: return Metrics(call);
    case RouteId::kHealth: return Json("{\"status\":\"ok\"}\n");
    case RouteId::kReady: return Ready(call);
    case RouteId::kOpenApi: return AssetFile(call, "openapi.json");
    case RouteId::kPage: return AssetFile(call, "index.html");
    case RouteId::kAsset: return AssetFile(call, call.argument);
    case RouteId::kUnknown: break;
  }
  return ProblemResponse(ProtocolProblem(404, "There is nothing at this path."));
}

// Of whom the time of workers is that a request may take. Playlists are for whoever gets them.
Status ApplyClass(ClassFrom class_from, Call& call) {
  if (class_from == ClassFrom::kNothing) return OkStatus();
  std::string of_user = ClassOfUser(call.request, call.context.users);
  if (class_from == ClassFrom::kQuery) return UseClass(of_user, call.query);
  call.service_class = std::move(of_user);
  return CheckClass(call.service_class, call.query);
}

// "public" lets shared caches keep even what needed Authorization (RFC 9111 section 3.5).
std::string CacheControl(const MediaPart& part, const Users& users) {
  if (part.max_age_seconds == 0) return "no-cache";
  return (users.empty() ? "public, max-age=" : "private, max-age=") +
         std::to_string(part.max_age_seconds);
}

}  // namespace

HttpResponse PartResponse(const HttpRequest& request, const Result<MediaPart>& part,
                          const Users& users) {
  if (!part.ok()) return ErrorResponse(part.error());
  HttpResponse response;
  response.content_type = part->content_type;
  response.fields = {{"ETag", part->etag},
                     {"Cache-Control", CacheControl(*part, users)},
                     {"Accept-Ranges", "bytes"}};
  if (part->not_modified) {
    response.status = 304;
    return response;
  }
  response.shared = SharedBody{
      .owner = part->bytes, .bytes = *part->bytes, .kept_bytes = part->bytes->capacity()};
  ApplyRange(request, part->etag, response);
  return response;
}

HandledRequest Handle(const HttpRequest& request, const HandlerContext& context) {
  if (request.method == "OPTIONS" && request.target == "*") {
    return {RouteId::kUnknown, Options("GET, HEAD, POST, PUT, DELETE, OPTIONS")};
  }
  auto target = ParseTarget(request.target);
  if (!target) {
    return {RouteId::kUnknown, ErrorResponse(target.error())};
  }
  RouteMatch match = MatchRoute(target->segments);
  const RouteId asked = match.route == nullptr ? RouteId::kUnknown : match.route->id;
  if (context.own_names_only) {
    auto refused = RefuseHost(request, asked, context.host_names);
    if (!refused) refused = RefuseForeignPage(request, asked, context.host_names);
    if (refused) return {RouteId::kUnknown, std::move(*refused)};
  }
  if (match.route == nullptr) {
    return {RouteId::kUnknown,
            ProblemResponse(ProtocolProblem(404, "There is nothing at this path."))};
  }
  const RouteId route = match.route->id;
  if (!RouteAllows(*match.route, request.method)) {
    HttpResponse response = ProblemResponse(ProtocolProblem(
        405, "This resource has the methods " + AllowedMethods(*match.route) + "."));
    response.fields.emplace_back("Allow", AllowedMethods(*match.route));
    return {route, std::move(response)};
  }
  if (request.method == "OPTIONS") return {route, Options(AllowedMethods(*match.route))};
  if (auto refused = RefuseUser(request, route, context.users)) return {route, std::move(*refused)};
  Call call{request, context, std::move(match.argument), std::move(target->query)};
  const Status status = ApplyClass(match.route->class_from, call);
  if (!status.ok()) return {route, ErrorResponse(status.error())};
  return {route, CallRoute(route, call)};
}

BodyUse UseOfBody(const HttpRequest& request) {
  const auto target = ParseTarget(request.target);
  if (!target) return BodyUse::kRefused;
  const RouteMatch match = MatchRoute(target->segments);
  if (match.route == nullptr || !RouteAllows(*match.route, request.method)) {
    return BodyUse::kRefused;
  }
  return TakesBody(*match.route, request.method) ? BodyUse::kTaken : BodyUse::kDropped;
}

}  // namespace gopmill
