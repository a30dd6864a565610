// SPDX-License-Identifier: Apache-2.0
//
// The compressed forms of texts that several clients get: each is made once, and forgotten with the
// text. Those that are built into the program stay.
//
// Bounded: kMaxPackedTexts of them, each of a text of at most kMaxGzipBytes; those made longest ago
// go first. Thread-safety: safe; texts are compressed without the lock.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "base/thread_safety.h"
#include "server/http/http_message.h"

namespace gopmill {

// Answers below this many bytes are not worth compressing, and above the second one not, either.
inline constexpr std::size_t kMinGzipBytes = 1024;
inline constexpr std::size_t kMaxGzipBytes = std::size_t{4} * 1024 * 1024;
// The event loop compresses no more than this but what is built in, which it does once: a megabyte
// takes some ten milliseconds.
inline constexpr std::size_t kMaxLoopGzipBytes = std::size_t{256} * 1024;
// A few playlists of each of the live sources that are watched.
inline constexpr std::size_t kMaxPackedTexts = 128;

// Whether it is text that compresses well.
bool IsText(std::string_view content_type);

class PackedTexts {
 public:
  using Bytes = std::shared_ptr<const std::string>;
  // The compressed form of a shared text; null if it is not to be compressed, or has not been while
  // it has more than `most` bytes.
  Bytes Of(const SharedBody& text, std::size_t most = kMaxGzipBytes);
  [[nodiscard]] std::size_t made() const;

 private:
  struct Packed {
    std::weak_ptr<const void> owner;  // of the text; nobody, if it is built in
    bool built_in = false;
    std::string_view text;  // not looked at without its owner
    Bytes bytes;
    [[nodiscard]] bool IsOf(const SharedBody& other) const;
  };
  Bytes Known(const SharedBody& text) const;

  mutable Mutex mutex_;                                 // guards all below
  std::list<Packed> texts_ GOPMILL_GUARDED_BY(mutex_);  // made last in front
  std::size_t made_ GOPMILL_GUARDED_BY(mutex_) = 0;
};

}  // namespace gopmill
