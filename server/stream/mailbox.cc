// SPDX-License-Identifier: Apache-2.0
#include "server/stream/mailbox.h"

#include <utility>

#include "media/held_bytes.h"

namespace gopmill {
Mailbox::Mailbox(std::size_t window_bytes, int window_units)
    : window_bytes_(window_bytes), window_thousandths_(1000 * window_units) {}

void Mailbox::Post(Letter letter) {
  {
    const MutexLock lock(mutex_);
    letters_.push_back(std::move(letter));
  }
  letters_posted_.NotifyOne();
}

void Mailbox::PostAudio(AudioCoded audio) {
  const std::size_t bytes = HeldBytes(audio.packets);
  {
    const MutexLock lock(mutex_);
    while (!closed_ && audio_bytes_ > kMaxAudioBytes) audio_taken_.Wait(mutex_);
    audio_bytes_ += bytes;
    letters_.emplace_back(std::move(audio));
  }
  letters_posted_.NotifyOne();
}

bool Mailbox::Acquire(const WindowShare& unit) {
  const MutexLock lock(mutex_);
  while (!closed_ && held_thousandths_ > 0 &&
         (held_thousandths_ + unit.thousandths > window_thousandths_ ||
          held_bytes_ + unit.bytes > window_bytes_)) {
    window_freed_.Wait(mutex_);
  }
  if (closed_) return false;
  held_bytes_ += unit.bytes;
  held_thousandths_ += unit.thousandths;
  return true;
}

void Mailbox::Release(const WindowShare& unit) {
  {
    const MutexLock lock(mutex_);
    held_bytes_ -= unit.bytes;
    held_thousandths_ -= unit.thousandths;
  }
  window_freed_.NotifyOne();
}

std::optional<Letter> Mailbox::Take(std::chrono::milliseconds timeout) {
  const MutexLock lock(mutex_);
  const TimePoint deadline = SteadyNow() + timeout;
  while (letters_.empty()) {
    const Duration left = deadline - SteadyNow();
    if (left <= Duration::zero()) return std::nullopt;
    letters_posted_.WaitFor(mutex_, left);
  }
  Letter letter = std::move(letters_.front());
  letters_.pop_front();
  if (const auto* audio = std::get_if<AudioCoded>(&letter)) {
    audio_bytes_ -= HeldBytes(audio->packets);
    audio_taken_.NotifyOne();
  }
  return letter;
}

void Mailbox::Close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  window_freed_.NotifyAll();
  audio_taken_.NotifyAll();
}

}  // namespace gopmill
