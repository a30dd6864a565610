// SPDX-License-Identifier: Apache-2.0
#include "codec/decode_aside.h"

extern "C" {
#include <libavutil/imgutils.h>
}

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/thread.h"

namespace gopmill {
namespace {

std::size_t BytesOf(const Result<SourcePicture>& picture) {
  if (!picture.ok() || !picture->frame) return 0;
  const AVFrame& frame = *picture->frame;
  const int bytes = av_image_get_buffer_size(static_cast<AVPixelFormat>(frame.format), frame.width,
                                             frame.height, 1);
  return static_cast<std::size_t>(std::max(bytes, 0));
}

Result<SourcePicture> SelectOne(FrameSelector& selector, std::int64_t n,
                                std::optional<SourceTicks> end_pts) {
  GOPMILL_ASSIGN_OR_RETURN(FrameSelector::Selected selected, selector.Select(n, end_pts));
  SourcePicture picture{
      .frame = nullptr, .repeated = selected.repeated, .captions = std::move(selected.captions)};
  if (selected.frame != nullptr) picture.frame = av::Ref(*selected.frame);
  return picture;
}

}  // namespace

Result<std::unique_ptr<DecodeAside>> DecodeAside::Begin(FrameSelector& selector,
                                                        const Frames& frames) {
  std::unique_ptr<DecodeAside> aside(new DecodeAside);
  const auto run = [self = aside.get(), &selector, frames] {
    pthread_setname_np(pthread_self(), "decode");
    self->Run(selector, frames);
  };
  GOPMILL_ASSIGN_OR_RETURN(aside->thread_, StartThread(run));
  return aside;
}

DecodeAside::~DecodeAside() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void DecodeAside::Run(FrameSelector& selector, const Frames& frames) {
  for (std::int64_t n = frames.first; n < frames.end; ++n) {
    const TimePoint begin = SteadyNow();
    const bool last = n + 1 == frames.end;
    auto picture = SelectOne(selector, n, last ? frames.end_pts : std::nullopt);
    took_ += SteadyNow() - begin;
    cpu_ = ThreadCpuNow();
    const bool failed = !picture.ok();
    if (!Push(std::move(picture)) || failed) return;
  }
}

// False = nobody wants more.
bool DecodeAside::Push(Result<SourcePicture> picture) {
  const std::size_t bytes = BytesOf(picture);
  {
    const MutexLock lock(mutex_);
    while (!stopping_ && !pictures_.empty() && bytes_ + bytes > kAsideBytes) changed_.Wait(mutex_);
    if (stopping_) return false;
    bytes_ += bytes;
    pictures_.push_back(std::move(picture));
  }
  changed_.NotifyAll();
  return true;
}

Result<SourcePicture> DecodeAside::Next() {
  Result<SourcePicture> picture = [this] {
    const MutexLock lock(mutex_);
    while (pictures_.empty()) changed_.Wait(mutex_);
    Result<SourcePicture> next = std::move(pictures_.front());
    pictures_.pop_front();
    bytes_ -= BytesOf(next);
    return next;
  }();
  changed_.NotifyAll();
  return picture;
}

std::size_t DecodeAside::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

Duration DecodeAside::End() {
  if (thread_.joinable()) thread_.join();
  return took_;
}

}  // namespace gopmill
