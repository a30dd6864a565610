// SPDX-License-Identifier: Apache-2.0
//
// Which media the players of a URL share. gst-rtsp-server keeps the media of a live source by a key
// until it has been taken down. That takes some milliseconds from when its last player leaves; who
// comes meanwhile would get that media, which plays no more, and with it 503. And a media whose
// source has ended stays for as long as a player keeps its session. A key of its own makes the
// library build another one.
//
// Thread-safety: safe.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <map>
#include <memory>
#include <stop_token>
#include <string>

#include "base/status.h"
#include "base/thread_safety.h"
#include "server/rtsp/gst_ptr.h"

namespace gopmill {

class SharedMedia {
 public:
  // `most_waiting`: callers of Claim that wait at once, each on a thread of its own.
  explicit SharedMedia(int most_waiting) : most_waiting_(most_waiting) {}
  // What the library keeps the media of `url` by, since Claim said that it has to be made.
  std::string KeyOf(const std::string& url);
  // The media of `url`, which stays prepared until Release; or null: none is there that plays, and
  // the caller has to make it. Waits for who does; kUnavailable when nothing came of that, at
  // `stop`, or at once where too many wait: who waits does not wait once more, but in place of one
  // who has left.
  Result<gst::Object<GstRTSPMedia>> Claim(const std::string& url, const std::stop_token& stop);
  // Once for each that has succeeded, when the media has been described, or cannot be. `media`:
  // what Claim has given. `left`: who had to make it has gone, whatever came of it.
  void Release(const std::string& url, gst::Object<GstRTSPMedia> media, bool left);
  // A media has been made for `url`. Forgets those that are gone.
  void OnMade(const std::string& url, GstRTSPMedia& media);

 private:
  struct Entry {
    Entry() { g_weak_ref_init(&media, nullptr); }
    ~Entry() { g_weak_ref_clear(&media); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    GWeakRef media;
    int number = 0;  // of the media, given by KeyOf; none has that of another
  };
  struct Claimed {
    bool over = false;
    bool left = false;
  };
  void Unclaim(const std::string& url, bool left);
  std::shared_ptr<const Claimed> ClaimOf(const std::string& url) GOPMILL_REQUIRES(mutex_);
  gst::Object<GstRTSPMedia> MediaOf(const std::string& url) GOPMILL_REQUIRES(mutex_);

  const int most_waiting_;
  Mutex mutex_;
  CondVar changed_;
  int waiting_ GOPMILL_GUARDED_BY(mutex_) = 0;
  int next_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::shared_ptr<Claimed>> claimed_ GOPMILL_GUARDED_BY(mutex_);
  std::map<std::string, Entry> entries_ GOPMILL_GUARDED_BY(mutex_);  // by URL
};

// The library pauses a pipeline with its only player; what is live would go on later where it was.
// While this is held it goes on, and nothing is sent. Null where nobody shares the media.
std::shared_ptr<void> KeepPlaying(GstRTSPMedia& media);

}  // namespace gopmill
