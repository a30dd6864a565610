// SPDX-License-Identifier: Apache-2.0
//
// From a request to what shall be answered. Knows the routes and Service; knows nothing of sockets,
// libevent or chunks, so that it can be read (and tested) on its own.
//
// Thread-safety: Handle runs on the loop thread and never blocks.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "config/users.h"
#include "server/api/service.h"
#include "server/http/http_message.h"
#include "server/http/http_metrics.h"
#include "server/http/routes.h"

namespace gopmill {

// What handlers may use.
struct HandlerContext {
  Service& service;
  const HttpMetrics& metrics;
  const Users& users;  // may be others with the next request; loop thread only
  const std::vector<std::string>& host_names;
  bool own_names_only = false;  // refuse other hosts of the Internet, and pages of theirs; loop
                                // thread only
  bool draining = false;        // loop thread only
};

// The answer comes later: call `start` now; turn what it delivers into a response by `finish`. The
// token is to be stopped when nobody waits for it any more.
struct DeferredReply {
  std::function<void(std::stop_token left, TextCallback)> start;
  std::function<HttpResponse(const Result<SharedText>&)> finish;
  bool costly = false;  // half a close counts as leaving, as for a part
};

// The answer is a stream: open it and send what it makes.
struct StreamReply {
  std::string path;  // of the library; empty: the source is the request's body
  RequestParams params;
};

// The answer is a part of a segmented movie, which comes later; a client that leaves meanwhile
// gives it up. Turn what is delivered into a response by PartResponse.
struct PartReply {
  PartRequest part;
};

// The body is a live source; the answer comes at its end.
struct PublishReply {
  std::string name;
  std::string from;  // who publishes, for the log
};

using Reply = std::variant<HttpResponse, DeferredReply, StreamReply, PartReply, PublishReply>;

struct HandledRequest {
  RouteId route = RouteId::kUnknown;
  Reply reply;
};

// What answers the request with this part, or with why there is none. Where there are users, only
// caches of one client may keep it: others would give it to who has no name here.
HttpResponse PartResponse(const HttpRequest& request, const Result<MediaPart>& part,
                          const Users& users);

HandledRequest Handle(const HttpRequest& request, const HandlerContext& context);
// Whether Handle has a use for the body of this request, or none for the request.
BodyUse UseOfBody(const HttpRequest& request);

}  // namespace gopmill
