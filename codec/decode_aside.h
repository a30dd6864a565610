// SPDX-License-Identifier: Apache-2.0
//
// Selects the pictures of a unit on a thread of its own, some ahead of who encodes them. For a unit
// that somebody waits for; the pictures are those of FrameSelector.
//
// Threads: one of its own, which alone uses the selector while this lives. Next belongs to one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/thread_safety.h"
#include "codec/frame_selector.h"

namespace gopmill {

// Decoded pictures that wait to be encoded; a larger one waits alone.
inline constexpr std::size_t kAsideBytes = std::size_t{16} << 20U;

struct SourcePicture {
  av::Frame frame;        // null: the source gave none at all
  bool repeated = false;  // the same as for the output frame before
  Captions captions = {};
};

class DecodeAside {
 public:
  // Output frames [first, end), `end_pts` as FrameSelector has it.
  struct Frames {
    std::int64_t first = 0, end = 0;
    std::optional<SourceTicks> end_pts = {};
  };
  // The selector is borrowed. kUnavailable without a thread.
  static Result<std::unique_ptr<DecodeAside>> Begin(FrameSelector& selector, const Frames& frames);
  ~DecodeAside();  // waits until the thread has left the selector
  DecodeAside(const DecodeAside&) = delete;
  DecodeAside& operator=(const DecodeAside&) = delete;

  // The picture of the next output frame, of which there is one; waits for it.
  Result<SourcePicture> Next();
  // Waits until all have been selected; the time that took on its thread. Call after the last Next.
  Duration End();
  // CPU time of its thread. Call after End.
  [[nodiscard]] Duration cpu() const { return cpu_; }
  // Of pictures that wait for Next.
  [[nodiscard]] std::size_t bytes() const;

 private:
  DecodeAside() = default;
  void Run(FrameSelector& selector, const Frames& frames);
  bool Push(Result<SourcePicture> picture);

  mutable Mutex mutex_;  // guards what follows
  CondVar changed_;
  std::deque<Result<SourcePicture>> pictures_ GOPMILL_GUARDED_BY(mutex_);
  std::size_t bytes_ GOPMILL_GUARDED_BY(mutex_) = 0;
  bool stopping_ GOPMILL_GUARDED_BY(mutex_) = false;

  Duration took_{}, cpu_{};  // written by the thread, read after it has ended
  std::jthread thread_;
};

}  // namespace gopmill
