// SPDX-License-Identifier: Apache-2.0
//
// The users of the server in the terms of gst-rtsp-server: Basic and Digest (RFC 2617).
//
// Thread-safety: safe.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "config/users.h"
#include "server/rtsp/gst_ptr.h"

namespace gopmill {

// Who may ask a server, to be given to it once. Thread-safety: Set belongs to one thread at a time;
// requests may be answered meanwhile. A user's service class goes along in the token.
class UserTable {
 public:
  UserTable();

  // Who stays the same is not refused meanwhile.
  void Set(const Users& users);
  [[nodiscard]] GstRTSPAuth* auth() const { return auth_.get(); }

 private:
  using Token = std::unique_ptr<GstRTSPToken, gst::FreeBy<gst_rtsp_token_unref>>;
  [[nodiscard]] GstRTSPToken* TokenOf(const User& user);

  // By role and class. Contexts of requests borrow them from the library's tables: they stay when
  // their user goes.
  std::map<std::pair<std::string, std::string>, Token> tokens_;
  gst::Object<GstRTSPAuth> auth_;
  Users users_;
};

// 200, or 401 or 403, for the user of the request that is answered now; 200 for everybody where
// the server has no UserTable. The library itself asks only once the media is there.
GstRTSPStatusCode CheckRole(GstRTSPContext& context, Role role);
// The service class of the user whom CheckRole has let pass; empty: as the request says.
std::string ClassOfUser(const GstRTSPContext& context);
// An answer of 401 says how to authenticate.
void AskForUser(GstRTSPContext& context);
// Users with this role, and nobody else, get media of this factory. Without a UserTable everybody.
void AllowRole(GstRTSPMediaFactory& factory, Role role);

}  // namespace gopmill
