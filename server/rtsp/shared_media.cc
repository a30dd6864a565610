// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/shared_media.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>
#include <vector>

#include "server/rtsp/playback.h"

namespace gopmill {
namespace {

// Whether players may join this media; it stays prepared then until it is unprepared once more.
// Waits while it is being prepared. One whose stream has ended plays no more but stays for as long
// as one player keeps its session; and none is prepared a second time.
bool Hold(GstRTSPMedia& media) {
  const auto bin = gst::Adopt(gst_rtsp_media_get_element(&media));
  if (bin != nullptr && Playback::Ended(*bin)) return false;
  const GstRTSPMediaStatus status = gst_rtsp_media_get_status(&media);
  const bool ready =
      status == GST_RTSP_MEDIA_STATUS_PREPARED || status == GST_RTSP_MEDIA_STATUS_SUSPENDED;
  return ready && gst_rtsp_media_prepare(&media, nullptr) != FALSE;
}

}  // namespace

std::string SharedMedia::KeyOf(const std::string& url) {
  const MutexLock lock(mutex_);
  const auto [entry, fresh] = entries_.try_emplace(url);
  if (fresh) entry->second.number = next_++;
  return fmt::format("{}#{}", url, entry->second.number);
}

gst::Object<GstRTSPMedia> SharedMedia::MediaOf(const std::string& url) {
  const auto found = entries_.find(url);
  if (found == entries_.end()) return nullptr;
  return gst::Adopt(static_cast<GstRTSPMedia*>(g_weak_ref_get(&found->second.media)));
}

// References are let go without the lock: one may be the last, and end a stream.
Result<gst::Object<GstRTSPMedia>> SharedMedia::Claim(const std::string& url,
                                                     const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex_);
    changed_.NotifyAll();
  });
  gst::Object<GstRTSPMedia> media;
  std::vector<gst::Object<GstRTSPMedia>> seen;
  {
    const MutexLock lock(mutex_);
    if (claimed_.contains(url) && waiting_ >= most_waiting_) {
      return Error{.code = Code::kUnavailable,
                   .message = "As many players wait for live sources as rtsp.max_sessions allows."};
    }
    ++waiting_;
    bool waited = false;
    while (const auto claim = stop.stop_requested() ? nullptr : ClaimOf(url)) {
      while (!claim->over && !stop.stop_requested()) changed_.Wait(mutex_);
      waited = waited || !claim->left;
      if (!waited) continue;
      seen.push_back(MediaOf(url));
      if (seen.back() == nullptr) break;  // nothing came: not for the next who tries
    }
    --waiting_;
    media = MediaOf(url);
    if (stop.stop_requested() || (waited && media == nullptr)) {
      return Error{.code = Code::kUnavailable, .message = "The live source has not come."};
    }
    claimed_[url] = std::make_shared<Claimed>();
  }
  if (media != nullptr && Hold(*media)) {
    Unclaim(url, false);
    return media;
  }
  const MutexLock lock(mutex_);
  entries_.erase(url);  // the next key is another one
  return gst::Object<GstRTSPMedia>();
}

std::shared_ptr<const SharedMedia::Claimed> SharedMedia::ClaimOf(const std::string& url) {
  const auto found = claimed_.find(url);
  return found == claimed_.end() ? nullptr : found->second;
}

void SharedMedia::Unclaim(const std::string& url, bool left) {
  const MutexLock lock(mutex_);
  if (const auto claim = claimed_.extract(url)) *claim.mapped() = {.over = true, .left = left};
  changed_.NotifyAll();
}

void SharedMedia::Release(const std::string& url, gst::Object<GstRTSPMedia> media, bool left) {
  if (media == nullptr) return Unclaim(url, left);
  gst_rtsp_media_unprepare(media.get());
}

void SharedMedia::OnMade(const std::string& url, GstRTSPMedia& media) {
  std::vector<gst::Object<GstRTSPMedia>> alive;
  const MutexLock lock(mutex_);
  g_weak_ref_set(&entries_[url].media, &media);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    alive.push_back(MediaOf(entry->first));
    const bool gone = alive.back() == nullptr && !claimed_.contains(entry->first);
    entry = gone ? entries_.erase(entry) : std::next(entry);
  }
}

// It pauses what is prepared for one session alone.
std::shared_ptr<void> KeepPlaying(GstRTSPMedia& media) {
  if (gst_rtsp_media_is_shared(&media) == FALSE || !Hold(media)) return nullptr;
  g_object_ref(&media);
  return {&media, [](GstRTSPMedia* held) {
            gst_rtsp_media_unprepare(held);
            g_object_unref(held);
          }};
}

}  // namespace gopmill
