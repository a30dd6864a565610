// SPDX-License-Identifier: Apache-2.0
#include "server/http/routes.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace gopmill {
namespace {

constexpr std::array<Route, 20> kRoutes = {{
    {RouteId::kTranscode, "/v1/transcode/{path}", "GET HEAD"},
    {RouteId::kTranscodeBody, "/v1/transcode", "POST PUT"},
    {RouteId::kLive, "/v1/live/{name}", "PUT"},
    {RouteId::kLiveSources, "/v1/live", "GET"},
    {RouteId::kHls, "/v1/hls/{path}", "GET"},
    {RouteId::kDash, "/v1/dash/{path}", "GET"},
    {RouteId::kSources, "/v1/sources", "GET"},
    {RouteId::kStreams, "/v1/streams", "GET"},
    {RouteId::kStream, "/v1/streams/{id}", "GET DELETE"},
    {RouteId::kSeams, "/v1/streams/{id}/seams", "GET"},
    {RouteId::kTrace, "/v1/streams/{id}/trace", "GET"},
    {RouteId::kWorkers, "/v1/workers", "GET"},
    {RouteId::kExplain, "/v1/explain/{path}", "GET"},
    {RouteId::kExplainQuery, "/v1/explain", "GET"},
    {RouteId::kMetrics, "/metrics", "GET"},
    {RouteId::kHealth, "/healthz", "GET"},
    {RouteId::kReady, "/readyz", "GET"},
    {RouteId::kOpenApi, "/openapi.json", "GET"},
    {RouteId::kPage, "/", "GET"},
    {RouteId::kAsset, "/assets/{file}", "GET"},
}};

// Cuts the first word up to `separator` off `text`.
std::string_view Next(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

bool Matches(std::string_view pattern, const std::vector<std::string>& segments,
             std::string& argument) {
  argument.clear();
  pattern.remove_prefix(1);  // the slash
  std::size_t index = 0;
  while (!pattern.empty()) {
    const std::string_view part = Next(pattern, '/');
    if (index == segments.size()) return false;
    if (part == "{path}") {
      argument = segments[index++];
      while (index < segments.size()) argument.append("/").append(segments[index++]);
    } else if (part.starts_with('{')) {
      argument = segments[index++];
    } else if (segments[index++] != part) {
      return false;
    }
  }
  return index == segments.size();
}

bool HasMethod(std::string_view methods, std::string_view method) {
  while (!methods.empty()) {
    if (Next(methods, ' ') == method) return true;
  }
  return false;
}

}  // namespace

std::span<const Route> Routes() { return kRoutes; }

RouteMatch MatchRoute(const std::vector<std::string>& segments) {
  RouteMatch match;
  for (const Route& route : kRoutes) {
    if (!Matches(route.pattern, segments, match.argument)) continue;
    match.route = &route;
    return match;
  }
  match.argument.clear();
  return match;
}

bool TakesBody(const Route& route, std::string_view method) {
  return (method == "POST" || method == "PUT") && HasMethod(route.methods, method);
}

bool RouteAllows(const Route& route, std::string_view method) {
  if (method == "OPTIONS") return true;
  return HasMethod(route.methods, method == "HEAD" ? "GET" : method);
}

std::string AllowedMethods(const Route& route) {
  std::string allowed;
  for (const char* method : {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"}) {
    if (!RouteAllows(route, method)) continue;
    allowed.append(allowed.empty() ? "" : ", ").append(method);
  }
  return allowed;
}

std::string_view RouteLabel(RouteId id) {
  const auto* route = std::ranges::find(kRoutes, id, &Route::id);
  return route == kRoutes.end() ? "none" : route->pattern;
}

}  // namespace gopmill
