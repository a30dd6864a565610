// SPDX-License-Identifier: Apache-2.0
//
// The route table: every path that is answered, with its methods, who may ask, and whose share of
// the workers that takes. openapi.json describes exactly these (a test compares the two). HEAD is
// answered wherever GET is, OPTIONS everywhere; the table names HEAD only where it does something
// of its own.
//
// Thread-safety: safe (constants and pure functions).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gopmill {

enum class RouteId : std::uint8_t {
  kTranscode,
  kTranscodeBody,
  kLive,
  kLiveSources,
  kHls,
  kDash,
  kSources,
  kStreams,
  kStream,
  kSeams,
  kTrace,
  kWorkers,
  kExplain,
  kExplainQuery,
  kMetrics,
  kHealth,
  kReady,
  kOpenApi,
  kPage,
  kAsset,
  kUnknown,  // no route matched; only a label of metrics, not in the table
};

// Who may ask, where there are users.
enum class Access : std::uint8_t {
  kReaders,  // DELETE is for publishers all the same: it changes something
  kPublishers,
  kAnybody,  // health checks: by any name of the host and from any page, too
};

// Of which service class the work is that a request asks for.
enum class ClassFrom : std::uint8_t {
  kNothing,  // no worker has to do with it
  kQuery,    // its parameter, or its user's
  kUser,     // its user's alone: playlists are for whoever gets them
};

struct Route {
  RouteId id;
  std::string_view pattern;  // "/v1/streams/{id}"; "{path}" takes all remaining segments
  std::string_view methods;  // "GET DELETE"
  Access access = Access::kReaders;
  ClassFrom class_from = ClassFrom::kNothing;
};

std::span<const Route> Routes();

// As the table says; kReaders for kUnknown.
Access AccessTo(RouteId id);

struct RouteMatch {
  const Route* route = nullptr;  // null: nothing at this path
  std::string argument;          // what the braces matched, segments joined by slashes
};

RouteMatch MatchRoute(const std::vector<std::string>& segments);

// Whether `route` answers `method`, counting the implied HEAD and OPTIONS.
bool RouteAllows(const Route& route, std::string_view method);
// Whether the body of such a request is for the server: it is passed on while it arrives.
bool TakesBody(const Route& route, std::string_view method);
// The Allow field: "GET, HEAD, OPTIONS".
std::string AllowedMethods(const Route& route);

// The label of the metrics: the pattern, or "none" for kUnknown.
std::string_view RouteLabel(RouteId id);

}  // namespace gopmill
