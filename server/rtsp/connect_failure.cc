// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/connect_failure.h"

#include <array>
#include <memory>

#include "server/rtsp/gst_ptr.h"

namespace gopmill {
namespace {

constexpr guint16 kRtspPort = 554;  // unless the URL has another one
constexpr guint kTimeoutSeconds = 2;

struct Saying {
  int code;
  const char* text;
};

constexpr std::array<Saying, 3> kOfNames{{
    {G_RESOLVER_ERROR_NOT_FOUND, "the name of the host is not known"},
    {G_RESOLVER_ERROR_TEMPORARY_FAILURE,
     "the name of the host cannot be looked up now: no server of names answers"},
    {G_RESOLVER_ERROR_INTERNAL, "the name of the host cannot be looked up"},
}};
constexpr std::array<Saying, 4> kOfConnections{{
    {G_IO_ERROR_CONNECTION_REFUSED, "connection refused: nothing listens on this port there"},
    {G_IO_ERROR_HOST_UNREACHABLE, "the host cannot be reached"},
    {G_IO_ERROR_NETWORK_UNREACHABLE, "the host's network cannot be reached"},
    {G_IO_ERROR_TIMED_OUT, "the host does not answer"},
}};

std::string SayingOf(const GError& error) {
  for (const Saying& each : kOfNames) {
    if (g_error_matches(&error, G_RESOLVER_ERROR, each.code) != FALSE) return each.text;
  }
  for (const Saying& each : kOfConnections) {
    if (g_error_matches(&error, G_IO_ERROR, each.code) != FALSE) return each.text;
  }
  return "";
}

}  // namespace

std::string ConnectFailure(const std::string& peer, GCancellable* cancel) {
  const auto client = gst::Adopt(g_socket_client_new());
  g_socket_client_set_timeout(client.get(), kTimeoutSeconds);
  g_socket_client_set_enable_proxy(client.get(), FALSE);
  GError* raw = nullptr;
  GSocketConnection* connection =
      g_socket_client_connect_to_uri(client.get(), peer.c_str(), kRtspPort, cancel, &raw);
  if (connection != nullptr) {
    g_object_unref(connection);
    return "";
  }
  const std::unique_ptr<GError, gst::FreeBy<g_error_free>> error(raw);
  return SayingOf(*error);
}

}  // namespace gopmill
