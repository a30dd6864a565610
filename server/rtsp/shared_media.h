// SPDX-License-Identifier: Apache-2.0
//
// Which media the players of a URL share. gst-rtsp-server keeps the media of a live source by a key
// until it has been taken down, which takes some milliseconds from when its last player leaves; who
// comes meanwhile would get that media, which plays no more, and with it 503. A key of its own
// makes the library build another one.
//
// Thread-safety: safe.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <map>
#include <string>

#include "base/thread_safety.h"
#include "server/rtsp/gst_ptr.h"

namespace gopmill {

class SharedMedia {
 public:
  // The key of what players of `url` get: the one of its media unless that is being taken down.
  // Waits while the media is being made.
  std::string KeyOf(const std::string& url);
  // A media has been made for `url`. Forgets those that are gone.
  void OnMade(const std::string& url, GstRTSPMedia& media);

 private:
  struct Entry {
    Entry() { g_weak_ref_init(&media, nullptr); }
    ~Entry() { g_weak_ref_clear(&media); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    GWeakRef media;
    int number = 0;  // of the media of this URL, while one is there
  };
  static std::string Key(const std::string& url, int number);
  gst::Object<GstRTSPMedia> MediaOf(const std::string& url) GOPMILL_REQUIRES(mutex_);

  Mutex mutex_;
  std::map<std::string, Entry> entries_ GOPMILL_GUARDED_BY(mutex_);  // by URL
};

}  // namespace gopmill
