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
  const bool changes = AccessTo(route) == Access::kPublishers || request.method == "DELETE";
  return changes ? Role::kPublish : Role::kRead;
}

// "movies.example" of "movies.example.:8080", "[::1]" of "[::1]:8080".
std::string_view HostOf(std::string_view authority) {
  if (authority.starts_with('[')) {
    const std::string_view address = authority.substr(0, authority.find(']') + 1);
    const std::string_view rest = authority.substr(address.size());
    return rest.empty() || rest.starts_with(':') ? address : std::string_view();
  }
  std::string_view host = authority.substr(0, authority.find(':'));
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

bool IsAddress(std::string_view host) {
  return host.starts_with('[') || std::ranges::all_of(host, [](unsigned char c) {
           return std::isdigit(c) != 0 || c == '.';
         });
}

bool IsOfThisMachine(std::string_view host) {
  if (host == "localhost" || host.ends_with(".localhost") || host == "[::1]") return true;
  return IsAddress(host) && host.starts_with("127.");
}

// "movies.example:8080" of "https://movies.example:8080/page"; empty where there is none.
std::string_view AuthorityOf(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  url.remove_prefix(scheme + 3);
  return url.substr(0, url.find('/'));
}

// Into a tab of its own: a frame in a page navigates too.
bool FollowsLink(const HttpRequest& request) {
  const std::string to = LowerAscii(request.Field("sec-fetch-dest"));
  return LowerAscii(request.Field("sec-fetch-mode")) == "navigate" &&
         (to.empty() || to == "document");
}

// The page that has a browser ask, as its Origin ("null" where it hides that), or of pictures and
// other elements, which have none, as the Referer. Empty: none that can be told, or who is led to
// see the answer by a link.
std::string PageOf(const HttpRequest& request, std::string_view site) {
  const std::string_view origin = request.Field("origin");
  if (!origin.empty()) return LowerAscii(origin);
  if (site != "cross-site" || FollowsLink(request)) return {};
  const std::string_view referer = request.Field("referer");
  return referer.empty() ? "null" : LowerAscii(referer);
}

bool IsOwnPage(std::string_view page, const HttpRequest& request,
               const std::vector<std::string>& names) {
  const std::string_view authority = AuthorityOf(page);
  if (authority.empty()) return false;
  if (authority == LowerAscii(request.Field("host"))) return true;  // which RefuseHost has seen
  const std::string_view host = HostOf(authority);
  return IsOfThisMachine(host) || std::ranges::find(names, host) != names.end();
}

bool IsOpen(RouteId route) { return AccessTo(route) == Access::kAnybody; }

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
  const std::string_view host = HostOf(field);
  const bool local = host.find('.') == std::string_view::npos || host.ends_with(".localhost");
  const bool named = std::ranges::find(names, host) != names.end();
  if (IsAddress(host) || local || named) return std::nullopt;
  return ProblemResponse(ProtocolProblem(
      421,
      "This server is for its own machine; ask for it as 127.0.0.1 or localhost, or by a name in "
      "its setting http.host_names."));
}

std::optional<HttpResponse> RefuseForeignPage(const HttpRequest& request, RouteId route,
                                              const std::vector<std::string>& names) {
  if (IsOpen(route) || request.method == "OPTIONS") return std::nullopt;
  const std::string site = LowerAscii(request.Field("sec-fetch-site"));
  if (site == "same-origin" || site == "none") return std::nullopt;
  const std::string page = PageOf(request, site);
  if (page.empty() || IsOwnPage(page, request, names)) return std::nullopt;
  return ProblemResponse(ProtocolProblem(
      403,
      "This server is for pages of its own machine, and this request comes from one of another "
      "site; add the page's host to http.host_names to allow it."));
}

}  // namespace gopmill
