// SPDX-License-Identifier: Apache-2.0
#include "codec/av1_gate.h"

#include <algorithm>

namespace gopmill {
namespace {

// How long a batch waits for workers that have just ended a unit.
constexpr std::chrono::milliseconds kGrace{20};

thread_local int encoding_here = 0;
thread_local Duration waited_here{};

class Waiting {
 public:
  Waiting() = default;
  ~Waiting() { waited_here += SteadyNow() - start_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  const TimePoint start_ = SteadyNow();
};

}  // namespace

Av1Gate& Av1Gate::Instance() {
  static Av1Gate gate;
  return gate;
}

Duration Av1Gate::WaitedHere() { return waited_here; }

void Av1Gate::BeginOpening() {
  const Waiting waiting;
  const MutexLock lock(mutex_);
  ++wanted_;
  returning_ = std::max(0, returning_ - 1);
  changed_.NotifyAll();
  while (opening_ || encoding_ > encoding_here) changed_.Wait(mutex_);
  opening_ = true;
}

void Av1Gate::EndOpening() {
  const MutexLock lock(mutex_);
  opening_ = false;
  --wanted_;
  changed_.NotifyAll();
}

void Av1Gate::BeginClosing() {
  const Waiting waiting;
  const MutexLock lock(mutex_);
  while (closing_) changed_.Wait(mutex_);
  closing_ = true;
}

void Av1Gate::EndClosing() {
  const MutexLock lock(mutex_);
  closing_ = false;
  changed_.NotifyAll();
}

void Av1Gate::BeginEncoding() {
  const Waiting waiting;
  const MutexLock lock(mutex_);
  // Whoever wants to open waits for this thread's other encoders, too.
  while (encoding_here == 0) {
    const TimePoint now = SteadyNow();
    const Duration grace = returning_ > 0 ? last_end_ + kGrace - now : Duration::zero();
    if (wanted_ > 0) {
      changed_.Wait(mutex_);
    } else if (grace > Duration::zero()) {
      changed_.WaitFor(mutex_, grace);
    } else {
      break;
    }
  }
  ++encoding_;
  ++encoding_here;
}

void Av1Gate::EndEncoding() {
  const MutexLock lock(mutex_);
  --encoding_;
  --encoding_here;
  ++returning_;
  last_end_ = SteadyNow();
  changed_.NotifyAll();
}

}  // namespace gopmill
