// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/bounded_server.h"

#include <utility>

namespace gopmill {
namespace {

// A subclass because gst-rtsp-server has no other way to refuse a connection.
struct BoundedServerClass {
  GstRTSPServerClass parent;
};
struct BoundedServer {
  GstRTSPServer parent;
};
using HasRoom = std::function<bool()>;
constexpr const char* kHasRoomKey = "gopmill-has-room";

// The library closes the connection of a client that is null.
GstRTSPClient* CreateClient(GstRTSPServer* server) noexcept {
  const auto* has_room =
      static_cast<const HasRoom*>(g_object_get_data(G_OBJECT(server), kHasRoomKey));
  if (!(*has_room)()) return nullptr;
  auto* parent = static_cast<GstRTSPServerClass*>(g_type_class_peek(GST_TYPE_RTSP_SERVER));
  return parent->create_client(server);
}

void InitBoundedServer(gpointer type, gpointer /*data*/) noexcept {
  static_cast<GstRTSPServerClass*>(type)->create_client = &CreateClient;
}

GType BoundedServerType() {
  static const GType kType = gst::Subclass<BoundedServerClass, BoundedServer>(
      GST_TYPE_RTSP_SERVER, "GopmillBoundedServer", &InitBoundedServer);
  return kType;
}

}  // namespace

gst::Object<GstRTSPServer> MakeBoundedServer(std::function<bool()> has_room) {
  auto server = gst::Adopt(GST_RTSP_SERVER(g_object_new(BoundedServerType(), nullptr)));
  g_object_set_data_full(G_OBJECT(server.get()), kHasRoomKey, new HasRoom(std::move(has_room)),
                         [](gpointer held) noexcept { delete static_cast<HasRoom*>(held); });
  return server;
}

}  // namespace gopmill
