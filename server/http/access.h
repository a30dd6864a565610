// SPDX-License-Identifier: Apache-2.0
//
// Whether a request may be answered at all: its user (RFC 7617, RFC 6750), and where there are
// none, that it was meant for this host and comes from none of the pages of other sites.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "config/users.h"
#include "server/http/http_message.h"
#include "server/http/routes.h"

namespace gopmill {

// 401 or 403, or nothing if the request may go on. Health checks need no user.
std::optional<HttpResponse> RefuseUser(const HttpRequest& request, RouteId route,
                                       const Users& users);

// The service class of the user whom RefuseUser has let pass; empty: as the request says.
std::string ClassOfUser(const HttpRequest& request, const Users& users);

// For the log: the peer, with the name of the user whom RefuseUser has let pass.
std::string WhoAsks(const HttpRequest& request, const Users& users);

// 421 for a host name of the Internet: on loopback and without users, such a request comes from a
// page whose name was made to lead here (DNS rebinding). Addresses, localhost and names without a
// dot are ours, and those of `names` (lower case). Health checks may come by any name.
std::optional<HttpResponse> RefuseHost(const HttpRequest& request, RouteId route,
                                       const std::vector<std::string>& names);

// 403 for what a page of another site has the browser of this machine ask for (its Origin, or what
// browsers say of requests that have none): it would read the library, and have movies transcoded.
// Pages of this machine, of any port, and those of `names` may. So may what is no browser, and who
// follows a link, and OPTIONS, so that the page can read why. Behind RefuseHost.
std::optional<HttpResponse> RefuseForeignPage(const HttpRequest& request, RouteId route,
                                              const std::vector<std::string>& names);

// The names in a setting, in lower case.
Result<std::vector<std::string>> ParseHostNames(std::string_view text);

// Nothing if it is not base64.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace gopmill
