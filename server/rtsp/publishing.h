// SPDX-License-Identifier: Apache-2.0
//
// ANNOUNCE and RECORD: clients that publish a live source. Its name is theirs from RECORD on: who
// only announces takes it from nobody. A name that is taken is refused at ANNOUNCE already, where
// clients expect that.
//
// gst-rtsp-server looks media up by path, and /live/NAME is what players ask for. So the path of a
// client that has announced something leads to a mount point of its own, below kPublishMount.
//
// Thread-safety: safe. All but Make runs on client threads.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <memory>

#include "base/clock.h"
#include "base/status.h"
#include "server/api/service.h"
#include "server/rtsp/client_state.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/mount_table.h"

namespace gopmill {

// No path of a URL has a question mark: a folder of the library may have any name.
inline constexpr const char* kPublishMount = "/publish?";

class Publishing {
 public:
  // A publisher that sends nothing for `silence` has left.
  static std::unique_ptr<Publishing> Make(Service& service, Duration silence);
  Publishing(const Publishing&) = delete;
  Publishing& operator=(const Publishing&) = delete;

  // Where the server shall look paths up.
  [[nodiscard]] GstRTSPMountPoints* mounts() const { return mounts_.get(); }

  // A client is about to send: it gets the name that it has announced, unless that is taken.
  static Status OnRecord(GstRTSPContext& context);
  // A client has sent everything, or has gone: what came from it still goes to the readers.
  static void Finish(ClientState& state);
  // The publisher of this client is over, or has not begun in time, while the client is still
  // there.
  static bool Over(ClientState& state);

 private:
  Publishing(Service& service, Duration silence);
  static char* MakeClientPath(GstRTSPClient* client, const GstRTSPUrl* url) noexcept;
  static char* MakePath(GstRTSPMountPoints* mounts, const GstRTSPUrl* url) noexcept;
  static GstElement* CreateElement(GstRTSPMediaFactory* factory, const GstRTSPUrl* url) noexcept;
  static GType MountsType();
  static GType FactoryType();
  Status Mount(const GstRTSPUrl& url);
  Result<Publication> Announce(const GstRTSPContext& context, const GstRTSPUrl& url);
  Status Claim(ClientState& state);

  Service& service_;
  const Duration silence_;
  gst::Object<GstRTSPMountPoints> mounts_;
  gst::Object<GstRTSPMediaFactory> factory_;
  MountTable mounted_;
};

}  // namespace gopmill
