// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/movie_factory.h"

#include <memory>
#include <utility>

#include "server/api/live_name.h"
#include "server/api/request_params.h"
#include "server/rtsp/client_state.h"
#include "server/rtsp/means.h"
#include "server/rtsp/movie_media.h"
#include "server/rtsp/playback.h"
#include "server/rtsp/rtsp_auth.h"
#include "server/rtsp/shared_media.h"

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
constexpr const char* kSharedKey = "gopmill-shared";

SharedMedia& SharedOf(GstRTSPMediaFactory* factory) {
  return *static_cast<SharedMedia*>(g_object_get_data(G_OBJECT(factory), kSharedKey));
}

GstElement* CreateElement(GstRTSPMediaFactory* factory, const GstRTSPUrl* url) noexcept {
  auto& service = *static_cast<Service*>(g_object_get_data(G_OBJECT(factory), kServiceKey));
  ClientState* state = CurrentState();
  std::shared_ptr<Playback> playback;
  if (state != nullptr) {
    const MutexLock lock(state->mutex);
    if (state->opened_url == UrlKey(*url)) playback = std::move(state->opened);
    state->opened.reset();
  }
  // Again: a DESCRIBE may have waited for long. What is refused here leaves no media behind.
  if (const Status means = CheckMeans(); !means.ok()) {
    if (state != nullptr) SetProblem(*state, means.error());
    return nullptr;
  }
  // SETUP without DESCRIBE, or shared media that has ended since.
  if (playback == nullptr) {
    auto request = PlayRequestOf(*url);
    const GstRTSPContext* context = gst_rtsp_context_get_current();
    if (request.ok() && request->path.starts_with(kLivePrefix) && context != nullptr &&
        context->method == GST_RTSP_SETUP) {
      request = Error{.code = Code::kUnavailable, .message = "Ask for it with DESCRIBE first."};
    }
    const std::stop_token stop = state == nullptr ? std::stop_token() : state->leave.get_token();
    auto opened = request.ok() ? Playback::Open(service, std::move(request).value(), stop)
                               : Result<std::shared_ptr<Playback>>(request.error());
    if (!opened.ok()) {
      if (state != nullptr) SetProblem(*state, opened.error());
      return nullptr;
    }
    playback = std::move(opened).value();
  }
  const auto bin = Playback::MakeBin(playback);
  if (bin.ok()) return *bin;
  if (state != nullptr) SetProblem(*state, bin.error());
  return nullptr;
}

gchar* GenKey(GstRTSPMediaFactory* factory, const GstRTSPUrl* url) noexcept {
  const std::string key = UrlKey(*url);
  const bool shared = gst_rtsp_media_factory_is_shared(factory) != FALSE;
  return g_strdup(shared ? SharedOf(factory).KeyOf(key).c_str() : key.c_str());
}

GstRTSPMedia* Construct(GstRTSPMediaFactory* factory, const GstRTSPUrl* url) noexcept {
  auto* parent =
      static_cast<GstRTSPMediaFactoryClass*>(g_type_class_peek(GST_TYPE_RTSP_MEDIA_FACTORY));
  GstRTSPMedia* media = parent->construct(factory, url);
  if (media != nullptr) InitMovieMedia(*media);
  if (media != nullptr && gst_rtsp_media_factory_is_shared(factory)) {
    SharedOf(factory).OnMade(UrlKey(*url), *media);
  }
  return media;
}

void InitMovieFactory(gpointer type, gpointer /*data*/) noexcept {
  auto* factory = static_cast<GstRTSPMediaFactoryClass*>(type);
  factory->gen_key = &GenKey;
  factory->construct = &Construct;
  factory->create_element = &CreateElement;
}

GType MovieFactoryType() {
  static const GType kType = gst::Subclass<MovieFactoryClass, MovieFactory>(
      GST_TYPE_RTSP_MEDIA_FACTORY, "GopmillMovieFactory", &InitMovieFactory);
  return kType;
}

}  // namespace

std::string UrlKey(const GstRTSPUrl& url) {
  const auto request = PlayRequestOf(url);
  if (request.ok()) return KeyOf(*request);
  return std::string(url.abspath) + "?" + (url.query == nullptr ? "" : url.query);
}

Result<RtspRequest> RequestOf(const GstRTSPUrl& url) {
  return ParseRtspUrl(url.abspath, url.query == nullptr ? "" : url.query);
}

Result<RtspRequest> PlayRequestOf(const GstRTSPUrl& url) {
  GOPMILL_ASSIGN_OR_RETURN(RtspRequest request, RequestOf(url));
  const GstRTSPContext* context = gst_rtsp_context_get_current();
  if (context != nullptr) {
    GOPMILL_RETURN_IF_ERROR(UseClass(ClassOfUser(*context), request.params));
  }
  return request;
}

Result<MediaClaim> ClaimMedia(GstRTSPMediaFactory& factory, const std::string& url,
                              const std::stop_token& stop) {
  GOPMILL_ASSIGN_OR_RETURN(auto media, SharedOf(&factory).Claim(url, stop));
  const bool make = media == nullptr;
  const auto release = [owner = std::shared_ptr<GstRTSPMediaFactory>(gst::Share(&factory)), url,
                        stop](GstRTSPMedia* held) {
    SharedOf(owner.get()).Release(url, gst::Adopt(held), stop.stop_requested());
  };
  return MediaClaim{.make = make, .hold = std::shared_ptr<void>(media.release(), release)};
}

gst::Object<GstRTSPMediaFactory> MakeMovieFactory(Service& service, int most_waiting) {
  auto factory = gst::Adopt(GST_RTSP_MEDIA_FACTORY(g_object_new(MovieFactoryType(), nullptr)));
  g_object_set_data(G_OBJECT(factory.get()), kServiceKey, &service);
  g_object_set_data_full(
      G_OBJECT(factory.get()), kSharedKey, std::make_unique<SharedMedia>(most_waiting).release(),
      [](gpointer shared) noexcept { delete static_cast<SharedMedia*>(shared); });
  gst_rtsp_media_factory_set_media_gtype(factory.get(), MovieMediaType());
  AllowRole(*factory, Role::kRead);
  return factory;
}

}  // namespace gopmill
