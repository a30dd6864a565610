// SPDX-License-Identifier: Apache-2.0
//
// Scripts of the library's movies, to be drawn into pictures (movie_texts.h).
//
// Reading one of the movie's own reads the movie to its end, so scripts are kept: at most
// kMaxKeptScripts of kMaxKeptScriptBytes together, by the identity of all files they depend on.
//
// Thread-safety: safe; Get blocks while it reads.
#pragma once

#include <list>
#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "base/thread_safety.h"
#include "media/subtitle_script.h"
#include "server/files/library.h"

namespace gopmill {

inline constexpr std::size_t kMaxKeptScripts = 16;
inline constexpr std::size_t kMaxKeptScriptBytes = std::size_t{64} << 20U;

class ScriptShelf {
 public:
  explicit ScriptShelf(const Library& library) : library_(library) {}

  Result<std::shared_ptr<const SubtitleScript>> Get(const std::string& path, int number,
                                                    const std::stop_token& stop);

 private:
  struct Kept {
    std::string key;
    std::shared_ptr<const SubtitleScript> script;
  };
  [[nodiscard]] std::string KeyOf(const std::string& path, int number) const;
  // The script if it is kept; else the caller has to read it, and to call Keep. Waits for who reads
  // it already; kCancelled at `stop`.
  Result<std::shared_ptr<const SubtitleScript>> Claim(const std::string& key,
                                                      const std::stop_token& stop);
  // A null script: it could not be read.
  void Keep(Kept kept);

  const Library& library_;
  Mutex mutex_;  // guards all below; not held while a script is read
  CondVar read_;
  std::set<std::string> reading_ GOPMILL_GUARDED_BY(mutex_);  // keys; who comes meanwhile waits
  std::list<Kept> kept_ GOPMILL_GUARDED_BY(mutex_);           // asked for last in front
};

}  // namespace gopmill
