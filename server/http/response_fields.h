// SPDX-License-Identifier: Apache-2.0
//
// The fields that every response carries, and what the request's fields change about a finished
// one.
//
// Any web page may read by GET (CORS "*") what it gets at all (access.h), so that players on other
// sites work; no page may DELETE, because a preflight is answered without that method.
//
// Thread-safety: safe.
#pragma once

#include <string>

#include "server/http/http_message.h"
#include "server/http/packed_texts.h"

namespace gopmill {

enum class Persistence { kKeepAlive, kClose };

// The field If-None-Match with the tags of the uncompressed forms; empty = none.
std::string PlainTags(const HttpRequest& request);

// Date, Server, CORS, nosniff, and Connection where HTTP/1.0 or closing needs it.
HttpFields CommonFields(const HttpRequest& request, Persistence persistence);

bool AcceptsGzip(const HttpRequest& request);

// Compresses the body if the request accepts gzip and it is text worth it. What is compressed has a
// strong tag of its own, "...-gzip", and so has the 304 to a client that names that one (RFC 9110
// section 8.8.3.3). Parts of a text are sent as they are. All of them, 304 included, say "Vary".
// Nothing is compressed for HEAD: its answer has no length then, but where that is known.
void CompressIfAccepted(const HttpRequest& request, HttpResponse& response, PackedTexts& packed);

}  // namespace gopmill
