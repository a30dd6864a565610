// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/movie_factory.h"

#include <memory>
#include <utility>

#include "server/rtsp/client_state.h"
#include "server/rtsp/playback.h"
#include "server/rtsp/rtsp_auth.h"

namespace gopmill {
namespace {

// Makes the media of a URL. A subclass because gst-rtsp-server has no other way to do that.
struct MovieFactoryClass {
  GstRTSPMediaFactoryClass parent;
};
struct MovieFactory {
  GstRTSPMediaFactory parent;
};
constexpr const char* kServiceKey = "gopmill-service";

GstElement* CreateElement(GstRTSPMediaFactory* factory, const GstRTSPUrl* url) noexcept {
  auto& service = *static_cast<Service*>(g_object_get_data(G_OBJECT(factory), kServiceKey));
  ClientState* state = CurrentState();
  std::shared_ptr<Playback> playback;
  if (state != nullptr) {
    const MutexLock lock(state->mutex);
    if (state->opened_url == UrlKey(*url)) playback = std::move(state->opened);
    state->opened.reset();
  }
  if (playback == nullptr) {  // a live source, or SETUP without DESCRIBE
    auto request = RequestOf(*url);
    const std::stop_token stop = state == nullptr ? std::stop_token() : state->stop;
    auto opened = request.ok() ? Playback::Open(service, std::move(request).value(), stop)
                               : Result<std::shared_ptr<Playback>>(request.error());
    if (!opened.ok()) {
      if (state != nullptr) SetProblem(*state, opened.error());
      return nullptr;
    }
    playback = std::move(opened).value();
  }
  const auto bin = Playback::MakeBin(playback);
  return bin.ok() ? *bin : nullptr;
}

void InitMovieFactory(gpointer type, gpointer /*data*/) noexcept {
  static_cast<GstRTSPMediaFactoryClass*>(type)->create_element = &CreateElement;
}

GType MovieFactoryType() {
  static const GType type = gst::Subclass<MovieFactoryClass, MovieFactory>(
      GST_TYPE_RTSP_MEDIA_FACTORY, "GopmillMovieFactory", &InitMovieFactory);
  return type;
}

}  // namespace

std::string UrlKey(const GstRTSPUrl& url) {
  return std::string(url.abspath) + "?" + (url.query == nullptr ? "" : url.query);
}

Result<RtspRequest> RequestOf(const GstRTSPUrl& url) {
  return ParseRtspUrl(url.abspath, url.query == nullptr ? "" : url.query);
}

gst::Object<GstRTSPMediaFactory> MakeMovieFactory(Service& service) {
  auto factory = gst::Adopt(GST_RTSP_MEDIA_FACTORY(g_object_new(MovieFactoryType(), nullptr)));
  g_object_set_data(G_OBJECT(factory.get()), kServiceKey, &service);
  AllowRole(*factory, Role::kRead);
  return factory;
}

}  // namespace gopmill
