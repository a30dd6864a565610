// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtsp_auth.h"

#include <algorithm>
#include <string_view>

namespace gopmill {
namespace {

// A user has one role as the library sees it.
constexpr const char* kReader = "read";
constexpr const char* kPublisher = "publish";
constexpr const char* kBoth = "read+publish";
constexpr const char* kClass = "gopmill.class";  // a field of tokens

gst::Text BasicOf(const User& user) {
  return gst::Text(gst_rtsp_auth_make_basic(user.name.c_str(), user.password.c_str()));
}

}  // namespace

UserTable::UserTable() : auth_(gst::Adopt(gst_rtsp_auth_new())) {
  gst_rtsp_auth_set_supported_methods(
      auth_.get(), static_cast<GstRTSPAuthMethod>(GST_RTSP_AUTH_BASIC | GST_RTSP_AUTH_DIGEST));
  gst_rtsp_auth_set_realm(auth_.get(), "gopmill");
}

GstRTSPToken* UserTable::TokenOf(const User& user) {
  const char* role = user.publishes ? kPublisher : kReader;
  if (user.reads && user.publishes) role = kBoth;
  Token& token = tokens_[{role, user.service_class}];
  if (token == nullptr) {
    token.reset(gst_rtsp_token_new(GST_RTSP_TOKEN_MEDIA_FACTORY_ROLE, G_TYPE_STRING, role, kClass,
                                   G_TYPE_STRING, user.service_class.c_str(), nullptr));
  }
  return token.get();
}

void UserTable::Set(const Users& users) {
  for (const User& user : users.all()) {
    gst_rtsp_auth_add_basic(auth_.get(), BasicOf(user).get(), TokenOf(user));
    gst_rtsp_auth_add_digest(auth_.get(), user.name.c_str(), user.password.c_str(), TokenOf(user));
  }
  for (const User& before : users_.all()) {
    const auto found = std::ranges::find(users.all(), before.name, &User::name);
    if (found == users.all().end()) {
      gst_rtsp_auth_remove_digest(auth_.get(), before.name.c_str());
    } else if (found->password == before.password) {
      continue;
    }
    gst_rtsp_auth_remove_basic(auth_.get(), BasicOf(before).get());
  }
  users_ = users;
}

GstRTSPStatusCode CheckRole(GstRTSPContext& context, Role role) {
  if (context.auth == nullptr) return GST_RTSP_STS_OK;
  if (context.token == nullptr) {
    GST_RTSP_AUTH_GET_CLASS(context.auth)->authenticate(context.auth, &context);
  }
  if (context.token == nullptr) return GST_RTSP_STS_UNAUTHORIZED;
  const char* name = gst_rtsp_token_get_string(context.token, GST_RTSP_TOKEN_MEDIA_FACTORY_ROLE);
  const std::string_view own = name == nullptr ? "" : name;
  const bool allowed = own == kBoth || own == (role == Role::kRead ? kReader : kPublisher);
  return allowed ? GST_RTSP_STS_OK : GST_RTSP_STS_FORBIDDEN;
}

std::string ClassOfUser(const GstRTSPContext& context) {
  if (context.token == nullptr) return "";
  const char* name = gst_rtsp_token_get_string(context.token, kClass);
  return name == nullptr ? "" : name;
}

void AskForUser(GstRTSPContext& context) {
  if (context.auth == nullptr) return;
  char* asked = nullptr;
  gst_rtsp_message_get_header(context.response, GST_RTSP_HDR_WWW_AUTHENTICATE, &asked, 0);
  if (asked != nullptr) return;
  GST_RTSP_AUTH_GET_CLASS(context.auth)->generate_authenticate_header(context.auth, &context);
}

void AllowRole(GstRTSPMediaFactory& factory, Role role) {
  for (const char* name : {role == Role::kRead ? kReader : kPublisher, kBoth}) {
    gst_rtsp_media_factory_add_role(&factory, name, GST_RTSP_PERM_MEDIA_FACTORY_ACCESS,
                                    G_TYPE_BOOLEAN, TRUE, GST_RTSP_PERM_MEDIA_FACTORY_CONSTRUCT,
                                    G_TYPE_BOOLEAN, TRUE, nullptr);
  }
}

}  // namespace gopmill
