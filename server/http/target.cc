// SPDX-License-Identifier: Apache-2.0
#include "server/http/target.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/library_path.h"
#include "server/api/query.h"

namespace gopmill {
namespace {

Result<std::vector<std::string>> ParsePath(std::string_view path) {
  std::vector<std::string> segments;
  if (path == "/") return segments;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    GOPMILL_ASSIGN_OR_RETURN(std::string segment,
                             DecodeEscapes(path.substr(0, end), Plus::kLiteral, "path"));
    GOPMILL_RETURN_IF_ERROR(CheckPathSegment(segment));
    segments.push_back(std::move(segment));
    path.remove_prefix(end);
  }
  return segments;
}

// The absolute form names scheme and authority first; a server must accept it and may ignore them.
std::string_view StripAuthority(std::string_view raw) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!raw.starts_with(scheme)) continue;
    const std::size_t slash = raw.find('/', scheme.size());
    return slash == std::string_view::npos ? std::string_view("/") : raw.substr(slash);
  }
  return raw;
}

}  // namespace

Result<RequestTarget> ParseTarget(std::string_view raw) {
  const std::string_view target = StripAuthority(raw);
  if (!target.starts_with('/')) {
    return InvalidArgument("path", "The request target must start with a slash.");
  }
  if (target.find('#') != std::string_view::npos) {
    return InvalidArgument("path", "The request target must not have a fragment.", "%23 for '#'");
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  RequestTarget result;
  GOPMILL_ASSIGN_OR_RETURN(result.segments, ParsePath(target.substr(0, question)));
  if (question < target.size()) {
    GOPMILL_ASSIGN_OR_RETURN(result.query, ParseQuery(target.substr(question + 1)));
  }
  return result;
}

}  // namespace gopmill
