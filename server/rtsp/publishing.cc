// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/publishing.h"

#include <string>
#include <utility>

#include "server/api/live_name.h"
#include "server/rtsp/announcement.h"
#include "server/rtsp/describe_path.h"
#include "server/rtsp/means.h"
#include "server/rtsp/movie_factory.h"
#include "server/rtsp/rtsp_auth.h"
#include "server/rtsp/rtsp_request.h"
#include "server/rtsp/session_guard.h"

namespace gopmill {
namespace {

constexpr const char* kSelfKey = "gopmill-publishing";
// What a client has sent before it left is on its way for at most this long.
constexpr std::chrono::seconds kDrainPatience(2);

struct PublishMountsClass {
  GstRTSPMountPointsClass parent;
};
struct PublishMounts {
  GstRTSPMountPoints parent;
};
struct PublishFactoryClass {
  GstRTSPMediaFactoryClass parent;
};
struct PublishFactory {
  GstRTSPMediaFactory parent;
};
struct PublishMediaClass {
  GstRTSPMediaClass parent;
};
struct PublishMedia {
  GstRTSPMedia parent;
};

gboolean SetUpReceiver(GstRTSPMedia* /*media*/, GstElement* rtpbin) noexcept {
  GuardSessions(rtpbin, SessionUse::kPublish);
  return TRUE;
}

GType PublishMediaType() {
  static const GType kType = gst::Subclass<PublishMediaClass, PublishMedia>(
      GST_TYPE_RTSP_MEDIA, "GopmillPublishMedia", [](gpointer type, gpointer /*data*/) noexcept {
        static_cast<GstRTSPMediaClass*>(type)->setup_rtpbin = &SetUpReceiver;
      });
  return kType;
}

char* MakePlayerPath(GstRTSPClient* client, const GstRTSPUrl* url) {
  const GstRTSPContext* context = gst_rtsp_context_get_current();
  ClientState* state = StateOf(client);
  if (state == nullptr || context == nullptr) return g_strdup(url->abspath);
  return g_strdup(PlayerPath(*state, context->session, *url).c_str());
}

// At a DESCRIBE. Its requests mean what it publishes as long as it does; what it has announced and
// was refused, or never asked for, it gives up.
void PlaysFromNowOn(ClientState& state) {
  bool publishes = false;
  {
    const MutexLock lock(state.mutex);
    publishes = state.publication.reception != nullptr && state.publication.name.empty();
  }
  if (publishes) return;
  Publishing::Finish(state);
  const MutexLock lock(state.mutex);
  state.announced = false;
}

Result<std::string> NameOf(const GstRTSPUrl& url) {
  GOPMILL_ASSIGN_OR_RETURN(const RtspRequest request, RequestOf(url));
  if (!request.path.starts_with(kLivePrefix)) {
    return InvalidArgument("path", "Nothing can be published at this path.",
                           "rtsp://host:port/live/NAME");
  }
  if (!request.params.empty()) {
    return InvalidArgument(request.params.front().first, "A publisher has no parameters.",
                           "rtsp://host:port/live/NAME");
  }
  std::string name = request.path.substr(kLivePrefix.size());
  GOPMILL_RETURN_IF_ERROR(CheckLiveName(name));
  return name;
}

}  // namespace

GType Publishing::MountsType() {
  static const GType kType = gst::Subclass<PublishMountsClass, PublishMounts>(
      GST_TYPE_RTSP_MOUNT_POINTS, "GopmillPublishMounts",
      [](gpointer type_class, gpointer /*data*/) noexcept {
        static_cast<GstRTSPMountPointsClass*>(type_class)->make_path = &Publishing::MakePath;
      });
  return kType;
}

GType Publishing::FactoryType() {
  static const GType kType = gst::Subclass<PublishFactoryClass, PublishFactory>(
      GST_TYPE_RTSP_MEDIA_FACTORY, "GopmillPublishFactory",
      [](gpointer type_class, gpointer /*data*/) noexcept {
        static_cast<GstRTSPMediaFactoryClass*>(type_class)->create_element =
            &Publishing::CreateElement;
      });
  return kType;
}

std::unique_ptr<Publishing> Publishing::Make(Service& service, Duration silence) {
  return std::unique_ptr<Publishing>(new Publishing(service, silence));
}

Publishing::Publishing(Service& service, Duration silence)
    : service_(service),
      silence_(silence),
      mounts_(gst::Adopt(GST_RTSP_MOUNT_POINTS(g_object_new(MountsType(), nullptr)))),
      factory_(gst::Adopt(GST_RTSP_MEDIA_FACTORY(g_object_new(FactoryType(), nullptr)))) {
  g_object_set_data(G_OBJECT(mounts_.get()), kSelfKey, this);
  g_object_set_data(G_OBJECT(factory_.get()), kSelfKey, this);
  // Clients of one kind are all that this process has: no need for a type of our own.
  auto* clients = static_cast<GstRTSPClientClass*>(g_type_class_ref(GST_TYPE_RTSP_CLIENT));
  clients->make_path_from_uri = &Publishing::MakeClientPath;
  AllowRole(*factory_, Role::kPublish);
  gst_rtsp_media_factory_set_media_gtype(factory_.get(), PublishMediaType());
  gst_rtsp_media_factory_set_transport_mode(factory_.get(), GST_RTSP_TRANSPORT_MODE_RECORD);
  // A connection that breaks shall not end the pipeline before Finish has emptied it.
  gst_rtsp_media_factory_set_stop_on_disconnect(factory_.get(), FALSE);
  gst_rtsp_media_factory_set_latency(factory_.get(), kJitterMilliseconds);
}

// Of the requests with a session.
char* Publishing::MakeClientPath(GstRTSPClient* client, const GstRTSPUrl* url) noexcept {
  ClientState* state = StateOf(client);
  bool announced = false;
  if (state != nullptr) {
    const MutexLock lock(state->mutex);
    announced = state->announced;
  }
  if (!announced) return MakePlayerPath(client, url);
  return g_strconcat(kPublishMount, url->abspath, nullptr);
}

// Of ANNOUNCE and DESCRIBE, right before the media is looked up: the place where a name gets its
// mount point.
char* Publishing::MakePath(GstRTSPMountPoints* mounts, const GstRTSPUrl* url) noexcept {
  ClientState* state = CurrentState();
  if (state == nullptr) return g_strdup(url->abspath);
  if (gst_rtsp_context_get_current()->method != GST_RTSP_ANNOUNCE) {
    PlaysFromNowOn(*state);
    return g_strdup(TakeDescribePath(*state, url->abspath).c_str());
  }
  auto& self = *static_cast<Publishing*>(g_object_get_data(G_OBJECT(mounts), kSelfKey));
  const GstRTSPStatusCode user = CheckRole(*gst_rtsp_context_get_current(), Role::kPublish);
  if (user != GST_RTSP_STS_OK) {
    SetRefused(*state, user);
  } else if (const Status status = self.Mount(*url); !status.ok()) {
    SetProblem(*state, status.error());
  } else {
    const MutexLock lock(state->mutex);
    state->announced = true;
  }
  return g_strconcat(kPublishMount, url->abspath, nullptr);
}

Status Publishing::Mount(const GstRTSPUrl& url) {
  GOPMILL_RETURN_IF_ERROR(NameOf(url));
  const std::string path = std::string(kPublishMount) + url.abspath;
  mounted_.Mount(*mounts_, path, *factory_);
  return OkStatus();
}

// The media of an ANNOUNCE. The library has checked that its body is an SDP.
GstElement* Publishing::CreateElement(GstRTSPMediaFactory* factory,
                                      const GstRTSPUrl* url) noexcept {
  const GstRTSPContext* context = gst_rtsp_context_get_current();
  ClientState* state = CurrentState();
  if (state == nullptr || context->method != GST_RTSP_ANNOUNCE) return nullptr;
  Finish(*state);  // what this client has published before
  auto& self = *static_cast<Publishing*>(g_object_get_data(G_OBJECT(factory), kSelfKey));
  auto published = self.Announce(*context, *url);
  if (!published.ok()) {
    SetProblem(*state, published.error());
    return nullptr;
  }
  GstElement* bin = published->bin.get();
  const MutexLock lock(state->mutex);
  state->publication = std::move(published).value();
  return GST_ELEMENT(gst_object_ref(bin));
}

Result<Publication> Publishing::Announce(const GstRTSPContext& context, const GstRTSPUrl& url) {
  GOPMILL_ASSIGN_OR_RETURN(std::string name, NameOf(url));
  guint8* body = nullptr;
  guint size = 0;
  gst_rtsp_message_get_body(context.request, &body, &size);
  GOPMILL_ASSIGN_OR_RETURN(const Announcement announcement, ParseAnnouncement({body, size}));
  GOPMILL_RETURN_IF_ERROR(CheckMeans());
  GOPMILL_RETURN_IF_ERROR(service_.CheckPublish(name, Takeover::kAsSet));
  GOPMILL_ASSIGN_OR_RETURN(Publication publication, MakePublication(announcement, silence_));
  publication.name = std::move(name);
  publication.take_by = SteadyNow() + silence_;
  return publication;
}

// A RECORD that follows another of the same client claims nothing.
Status Publishing::Claim(ClientState& state) {
  std::shared_ptr<Reception> reception;
  std::string name;
  {
    const MutexLock lock(state.mutex);
    reception = state.publication.reception;
    name = state.publication.name;
  }
  if (reception == nullptr || name.empty()) return OkStatus();
  // Its end is in the log; a client that is still there then is cut by the sweep.
  GOPMILL_RETURN_IF_ERROR(service_.PublishPackets(name, "RTSP, " + state.peer, reception->feed(),
                                                  Takeover::kAsSet,
                                                  [](const Result<std::string>&) {}));
  const MutexLock lock(state.mutex);
  state.publication.name.clear();
  return OkStatus();
}

Status Publishing::OnRecord(GstRTSPContext& context) {
  ClientState* state = StateOf(context.client);
  const auto mounts = gst::Adopt(gst_rtsp_client_get_mount_points(context.client));
  auto& self = *static_cast<Publishing*>(g_object_get_data(G_OBJECT(mounts.get()), kSelfKey));
  if (context.media != nullptr) GOPMILL_RETURN_IF_ERROR(self.Claim(*state));
  std::shared_ptr<Reception> reception;
  gst::Object<GstElement> bin;
  {
    const MutexLock lock(state->mutex);
    reception = state->publication.reception;
    if (reception != nullptr) bin = gst::Share(state->publication.bin.get());
    // Packets do not keep a session alive, and behind some networks nothing else comes. Who has
    // gone is silent, which ends the feed, the connection and with it the session.
    if (reception != nullptr && context.session != nullptr && !state->publication.session) {
      gst_rtsp_session_prevent_expire(context.session);
      state->publication.session = gst::Share(context.session);
    }
  }
  if (reception == nullptr || context.media == nullptr) return OkStatus();
  reception->PreparePipeline(bin.get());
  for (guint i = 0; i < gst_rtsp_media_n_streams(context.media); ++i) {
    GstRTSPStream* stream = gst_rtsp_media_get_stream(context.media, i);
    const auto session = gst::Adopt(gst_rtsp_stream_get_rtpsession(stream));
    if (session != nullptr) reception->ListenTo(i, session.get());
  }
  return OkStatus();
}

void Publishing::Finish(ClientState& state) {
  Publication publication;
  {
    const MutexLock lock(state.mutex);
    publication = std::exchange(state.publication, {});
  }
  if (publication.session) gst_rtsp_session_allow_expire(publication.session.get());
  if (publication.reception == nullptr || publication.reception->feed()->abandoned()) return;
  if (!publication.name.empty()) return publication.reception->feed()->End();  // nobody reads it
  publication.reception->Drain(publication.bin.get(), kDrainPatience);
}

bool Publishing::Over(ClientState& state) {
  const MutexLock lock(state.mutex);
  if (state.publication.reception == nullptr) return false;
  if (!state.publication.name.empty()) return SteadyNow() > state.publication.take_by;
  return state.publication.reception->feed()->abandoned();
}

}  // namespace gopmill
