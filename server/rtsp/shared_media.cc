// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/shared_media.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>
#include <vector>

#include "server/rtsp/playback.h"

namespace gopmill {
namespace {

constexpr const char* kPreparedKey = "gopmill-prepared";

void OnPrepared(GstRTSPMedia* media, gpointer /*data*/) noexcept {
  g_object_set_data(G_OBJECT(media), kPreparedKey, GINT_TO_POINTER(1));
}

// Nothing more comes, and the media stays for as long as one player keeps its session.
bool HasEnded(GstRTSPMedia& media) {
  const auto bin = gst::Adopt(gst_rtsp_media_get_element(&media));
  return bin != nullptr && Playback::Ended(*bin);
}

// A media is prepared once; before that it has the state of one that has been taken down.
bool IsOver(GstRTSPMedia& media) {
  if (HasEnded(media)) return true;
  switch (gst_rtsp_media_get_status(&media)) {
    case GST_RTSP_MEDIA_STATUS_UNPREPARING:
    case GST_RTSP_MEDIA_STATUS_ERROR: return true;
    case GST_RTSP_MEDIA_STATUS_UNPREPARED:
      return g_object_get_data(G_OBJECT(&media), kPreparedKey) != nullptr;
    case GST_RTSP_MEDIA_STATUS_PREPARING:
    case GST_RTSP_MEDIA_STATUS_PREPARED:
    case GST_RTSP_MEDIA_STATUS_SUSPENDED: return false;
  }
  return false;
}

}  // namespace

std::string SharedMedia::Key(const std::string& url, int number) {
  return fmt::format("{}#{}", url, number);
}

// References are let go without the lock: one may be the last, and end a stream.
std::string SharedMedia::KeyOf(const std::string& url) {
  gst::Object<GstRTSPMedia> media, now;
  {
    const MutexLock lock(mutex_);
    media = MediaOf(url);
  }
  const bool over = media != nullptr && IsOver(*media);
  const MutexLock lock(mutex_);
  const auto [entry, fresh] = entries_.try_emplace(url);
  now = MediaOf(url);
  // Else another player has seen it, too.
  const bool replaced = over && now == media;
  if (fresh || replaced) entry->second.number = next_++;
  if (replaced) g_weak_ref_set(&entry->second.media, nullptr);
  return Key(url, entry->second.number);
}

gst::Object<GstRTSPMedia> SharedMedia::MediaOf(const std::string& url) {
  const auto found = entries_.find(url);
  if (found == entries_.end()) return nullptr;
  return gst::Adopt(static_cast<GstRTSPMedia*>(g_weak_ref_get(&found->second.media)));
}

Result<gst::Object<GstRTSPMedia>> SharedMedia::Claim(const std::string& url,
                                                     const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex_);
    changed_.NotifyAll();
  });
  bool over = false, waited = false;
  gst::Object<GstRTSPMedia> media, before;
  while (true) {
    {
      const MutexLock lock(mutex_);
      waited = waited || claimed_.contains(url);
      while (claimed_.contains(url) && !stop.stop_requested()) changed_.Wait(mutex_);
      before = std::exchange(media, MediaOf(url));
      if (stop.stop_requested() || (waited && media == nullptr)) {
        return Error{.code = Code::kUnavailable, .message = "The live source has not come."};
      }
      if (media == nullptr || (over && media == before)) {
        claimed_.insert(url);
        return gst::Object<GstRTSPMedia>();
      }
    }
    // It is prepared once only, so this fails if its last player has left meanwhile.
    over = IsOver(*media) || !gst_rtsp_media_prepare(media.get(), nullptr);
    if (!over) return media;
  }
}

void SharedMedia::Release(const std::string& url, gst::Object<GstRTSPMedia> media) {
  if (media != nullptr) {
    gst_rtsp_media_unprepare(media.get());
    return;
  }
  const MutexLock lock(mutex_);
  claimed_.erase(url);
  changed_.NotifyAll();
}

void SharedMedia::OnMade(const std::string& url, GstRTSPMedia& media) {
  g_signal_connect(&media, "prepared", G_CALLBACK(&OnPrepared), nullptr);
  std::vector<gst::Object<GstRTSPMedia>> alive;
  const MutexLock lock(mutex_);
  const auto [made, fresh] = entries_.try_emplace(url);  // KeyOf has made it
  if (fresh) made->second.number = next_++;
  g_weak_ref_set(&made->second.media, &media);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    alive.push_back(MediaOf(entry->first));
    const bool gone = alive.back() == nullptr && !claimed_.contains(entry->first);
    entry = gone ? entries_.erase(entry) : std::next(entry);
  }
}

}  // namespace gopmill
