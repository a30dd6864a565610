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
  const auto found = entries_.find(url);
  if (found == entries_.end()) return Key(url, 0);
  now = MediaOf(url);
  if (over && now == media) {  // else another player has seen it, too
    ++found->second.number;
    g_weak_ref_set(&found->second.media, nullptr);
  }
  return Key(url, found->second.number);
}

gst::Object<GstRTSPMedia> SharedMedia::MediaOf(const std::string& url) {
  const auto found = entries_.find(url);
  if (found == entries_.end()) return nullptr;
  return gst::Adopt(static_cast<GstRTSPMedia*>(g_weak_ref_get(&found->second.media)));
}

bool SharedMedia::Claim(const std::string& url, const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex_);
    changed_.NotifyAll();
  });
  gst::Object<GstRTSPMedia> media;
  bool over = false;  // of `media`
  while (true) {
    gst::Object<GstRTSPMedia> before = std::move(media);
    {
      const MutexLock lock(mutex_);
      while (claimed_.contains(url) && !stop.stop_requested()) changed_.Wait(mutex_);
      if (stop.stop_requested()) return false;
      media = MediaOf(url);
      if (media == nullptr || (over && media == before)) return claimed_.insert(url).second;
    }
    over = IsOver(*media);
    if (!over) return false;
  }
}

void SharedMedia::Release(const std::string& url) {
  const MutexLock lock(mutex_);
  claimed_.erase(url);
  changed_.NotifyAll();
}

void SharedMedia::OnMade(const std::string& url, GstRTSPMedia& media) {
  g_signal_connect(&media, "prepared", G_CALLBACK(&OnPrepared), nullptr);
  std::vector<gst::Object<GstRTSPMedia>> alive;
  const MutexLock lock(mutex_);
  g_weak_ref_set(&entries_[url].media, &media);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    alive.push_back(MediaOf(entry->first));
    entry = alive.back() == nullptr ? entries_.erase(entry) : std::next(entry);
  }
}

}  // namespace gopmill
