// SPDX-License-Identifier: Apache-2.0
#include "server/http/access.h"

#include <algorithm>
#include <boost/beast/core/detail/base64.hpp>
#include <cctype>
#include <utility>

#include "base/words.h"
#include "server/http/problem.h"

namespace gopmill {
namespace {

// The rest of an Authorization field if it is of this scheme (lower case).
std::optional<std::string_view> Credentials(std::string_view field, std::string_view scheme) {
  const std::size_t blank = field.find(' ');
  if (blank != scheme.size()) return std::nullopt;
  const bool same = std::ranges::equal(
      field.substr(0, blank), scheme,
      [](unsigned char a, unsigned char b) { return std::tolower(a) == static_cast<int>(b); });
  if (!same) return std::nullopt;
  field.remove_prefix(blank);
  field.remove_prefix(std::min(field.find_first_not_of(' '), field.size()));
  return field;
}

const User* UserOf(std::string_view field, const Users& users) {
  if (const auto token = Credentials(field, "bearer")) return users.FindToken(*token);
  const auto basic = Credentials(field, "basic");
  const auto text = basic ? DecodeBase64(*basic) : std::nullopt;
  const std::size_t colon = text ? text->find(':') : std::string::npos;
  if (colon == std::string::npos) return nullptr;
  return users.Find(std::string_view(*text).substr(0, colon),
                    std::string_view(*text).substr(colon + 1));
}

// What changes something needs a publisher. A transcode of one's own body is reading.
Role NeededRole(const HttpRequest& request, RouteId route) {
  if (route == RouteId::kLive || request.method == "DELETE") return Role::kPublish;
  return Role::kRead;
}

bool IsOpen(RouteId route) { return route == RouteId::kHealth || route == RouteId::kReady; }

}  // namespace

std::string ClassOfUser(const HttpRequest& request, const Users& users) {
  const User* user = users.empty() ? nullptr : UserOf(request.Field("authorization"), users);
  return user == nullptr ? "" : user->service_class;
}

std::string WhoAsks(const HttpRequest& request, const Users& users) {
  const User* user = users.empty() ? nullptr : UserOf(request.Field("authorization"), users);
  return user == nullptr ? request.peer : user->name + " at " + request.peer;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  namespace base64 = boost::beast::detail::base64;
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes(base64::decoded_size(text.size() + 3), '\0');
  const auto [written, read] = base64::decode(bytes.data(), text.data(), text.size());
  if (read != text.size()) return std::nullopt;
  bytes.resize(written);
  return bytes;
}

std::optional<HttpResponse> RefuseUser(const HttpRequest& request, RouteId route,
                                       const Users& users) {
  if (users.empty() || IsOpen(route)) return std::nullopt;
  const User* user = UserOf(request.Field("authorization"), users);
  if (user == nullptr) {
    HttpResponse response = ProblemResponse(ProtocolProblem(401, "Name and password are needed."));
    response.fields.emplace_back("WWW-Authenticate", "Basic realm=\"gopmill\", charset=\"UTF-8\"");
    return response;
  }
  if (user->Has(NeededRole(request, route))) return std::nullopt;
  return ProblemResponse(ProtocolProblem(403, "This user may not do that."));
}

Result<std::vector<std::string>> ParseHostNames(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view word : Words(text)) {
    std::string name = LowerAscii(word);
    if (name.ends_with('.')) name.pop_back();
    const bool good = !name.empty() && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    });
    if (!good) {
      return InvalidArgument("http.host_names", "'" + std::string(word) + "' is no name of a host.",
                             "names like movies.example, without a port");
    }
    names.push_back(std::move(name));
  }
  return names;
}

std::optional<HttpResponse> RefuseHost(const HttpRequest& request, RouteId route,
                                       const std::vector<std::string>& names) {
  if (IsOpen(route)) return std::nullopt;
  const std::string field = LowerAscii(request.Field("host"));
  std::string_view host = field;
  if (host.starts_with('[')) return std::nullopt;  // an IPv6 address
  host = host.substr(0, host.find(':'));
  if (host.ends_with('.')) host.remove_suffix(1);
  const bool address =
      std::ranges::all_of(host, [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
  const bool local = host.find('.') == std::string_view::npos || host.ends_with(".localhost");
  const bool named = std::ranges::find(names, host) != names.end();
  if (address || local || named) return std::nullopt;
  return ProblemResponse(ProtocolProblem(
      421,
      "This server is for its own machine; ask for it as 127.0.0.1 or localhost, or by a name in "
      "its setting http.host_names."));
}

}  // namespace gopmill
