// SPDX-License-Identifier: Apache-2.0
#include "server/http/problem.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/dump_json.h"

namespace gopmill {
namespace {

// Streams end and room appears within seconds, and what took too long goes on being made, so
// clients may come back soon.
constexpr const char* kRetryAfterSeconds = "5";

struct CodeRow {
  Code code;
  int status;
  const char* title;
};

// The one table from Code to HTTP status. kResourceExhausted (a limit or the disk is full) is 503
// rather than 507: it passes, and every client and proxy knows 503. kCancelled reaches a client
// only when somebody else stopped its stream before the first byte.
constexpr std::array<CodeRow, 11> kCodes = {{
    {Code::kInvalidArgument, 400, "The request has an invalid parameter"},
    {Code::kNotFound, 404, "There is no such resource"},
    {Code::kAlreadyExists, 409, "Another client has taken this resource"},
    {Code::kUnsupported, 422, "The media or the request is not supported"},
    {Code::kCorrupt, 422, "The media is damaged"},
    {Code::kResourceExhausted, 503, "A resource is used up"},
    {Code::kUnavailable, 503, "The service is not available now"},
    {Code::kCancelled, 503, "The stream was stopped"},
    {Code::kDeadlineExceeded, 504, "A time limit passed"},
    {Code::kIo, 500, "Reading or writing failed"},
    {Code::kInternal, 500, "The server made a mistake"},
}};

struct StatusRow {
  int status;
  const char* slug;
  const char* title;
};

constexpr std::array<StatusRow, 15> kProtocol = {{
    {400, "bad-request", "The request is not well-formed HTTP"},
    {401, "unauthorized", "A user is needed"},
    {403, "forbidden", "The user may not do this"},
    {404, "no-such-route", "There is nothing at this path"},
    {405, "method-not-allowed", "The resource does not have this method"},
    {408, "request-timeout", "The request took too long to arrive"},
    {413, "content-too-large", "The request body is too large"},
    {414, "uri-too-long", "The request target is too long"},
    {416, "range-not-satisfiable", "The range lies outside of the resource"},
    {417, "expectation-failed", "The expectation cannot be met"},
    {421, "misdirected-request", "This server does not answer for this host"},
    {431, "header-too-large", "The request header is too large"},
    {501, "not-implemented", "The transfer coding or method is not one that this server knows"},
    {503, "too-many-connections", "There are too many connections"},
    {505, "http-version", "Only HTTP/1.0 and HTTP/1.1 are spoken here"},
}};

}  // namespace

Problem ProtocolProblem(int status, std::string detail) {
  const auto* row = std::ranges::find(kProtocol, status, &StatusRow::status);
  GOPMILL_CHECK(row != kProtocol.end());
  return {status, row->slug, row->title, std::move(detail)};
}

HttpResponse ProblemResponse(const Problem& problem) {
  nlohmann::ordered_json body = {
      {"type", "urn:gopmill:problem:" + problem.slug},
      {"title", problem.title},
      {"status", problem.status},
  };
  const auto add = [&body](const char* name, const std::string& value) {
    if (!value.empty()) body[name] = value;
  };
  add("detail", problem.detail);
  add("parameter", problem.parameter);
  add("accepted", problem.accepted);
  HttpResponse response;
  response.status = problem.status;
  response.content_type = "application/problem+json";
  response.fields.emplace_back("Cache-Control", "no-store");
  const bool passes = problem.status == 503 || problem.status == 504;
  if (passes) response.fields.emplace_back("Retry-After", kRetryAfterSeconds);
  response.body = DumpJson(body, 2) + "\n";
  return response;
}

HttpResponse ErrorResponse(const Error& error) {
  const auto* row = std::ranges::find(kCodes, error.code, &CodeRow::code);
  GOPMILL_CHECK(row != kCodes.end());
  return ProblemResponse({row->status, std::string(CodeName(error.code)), row->title, error.message,
                          error.parameter, error.accepted});
}

}  // namespace gopmill
