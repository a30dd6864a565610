// SPDX-License-Identifier: Apache-2.0
#include "server/http/routes.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace gopmill {
namespace {

// In the order of RouteId.
constexpr auto kRoutes = std::to_array<Route>({
    {RouteId::kTranscode, "/v1/transcode/{path}", "GET HEAD", Access::kReaders, ClassFrom::kQuery},
    {RouteId::kTranscodeBody, "/v1/transcode", "POST PUT", Access::kReaders, ClassFrom::kQuery},
    {RouteId::kLive, "/v1/live/{name}", "PUT", Access::kPublishers},
    {RouteId::kLiveSources, "/v1/live", "GET"},
    {RouteId::kHls, "/v1/hls/{path}", "GET", Access::kReaders, ClassFrom::kUser},
    {RouteId::kDash, "/v1/dash/{path}", "GET", Access::kReaders, ClassFrom::kUser},
    {RouteId::kSources, "/v1/sources", "GET"},
    {RouteId::kStreams, "/v1/streams", "GET"},
    {RouteId::kStream, "/v1/streams/{id}", "GET DELETE"},
    {RouteId::kSeams, "/v1/streams/{id}/seams", "GET"},
    {RouteId::kTrace, "/v1/streams/{id}/trace", "GET"},
    {RouteId::kWorkers, "/v1/workers", "GET"},
    {RouteId::kExplain, "/v1/explain/{path}", "GET", Access::kReaders, ClassFrom::kQuery},
    {RouteId::kExplainQuery, "/v1/explain", "GET", Access::kReaders, ClassFrom::kQuery},
    {RouteId::kMetrics, "/metrics", "GET"},
    {RouteId::kHealth, "/healthz", "GET", Access::kAnybody},
    {RouteId::kReady, "/readyz", "GET", Access::kAnybody},
    {RouteId::kOpenApi, "/openapi.json", "GET"},
    {RouteId::kPage, "/", "GET"},
    {RouteId::kAsset, "/assets/{file}", "GET"},
});

constexpr bool HasAllInOrder() {
  std::size_t next = 0;
  for (const Route& route : kRoutes) {
    if (static_cast<std::size_t>(route.id) != next++) return false;
  }
  return next == static_cast<std::size_t>(RouteId::kUnknown);
}
static_assert(HasAllInOrder(), "each RouteId has its row");

// Null for kUnknown.
const Route* RowOf(RouteId id) {
  return id == RouteId::kUnknown ? nullptr : &kRoutes[static_cast<std::size_t>(id)];
}

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

Access AccessTo(RouteId id) {
  const Route* route = RowOf(id);
  return route == nullptr ? Access::kReaders : route->access;
}

std::string_view RouteLabel(RouteId id) {
  const Route* route = RowOf(id);
  return route == nullptr ? "none" : route->pattern;
}

}  // namespace gopmill
