// SPDX-License-Identifier: Apache-2.0
//
// Who may be let in: the proportional-share model (share_policy.h) asked before a stream starts.
//
// A real-time stream (a live source, a player that takes pictures at their own pace) needs so many
// core-seconds per second for as long as it lasts; a file for a client that takes whatever comes
// needs nothing in particular. The model promises a class the cores it gets when every class has
// work,
//
//     g_c = r * max(G_c, left * w_c / (sum of w of those above their guarantee)),
//
// (r workers, G guaranteed share, w weight, left = what the classes at their guarantee leave over;
// at most the class's maximum), because that is all the policy can hold against the others. A
// real-time stream is refused if the needs of its class would then exceed `promise` times g_c, so a
// promise that was made stays kept; what the others leave over is lent, never promised. A class
// with a deadline D also refuses any stream whose units take longer than that: D < t + t_open (t =
// time of a unit, t_open = of opening its contexts). Sources: D. Guo (share_policy.h) for g, R.
// Kokku (everest.h) for the deadline; the test on admission is ours.
//
// Needs are predictions at first and are replaced by what was measured.
//
// Cost: O(1), one allocation per stream. Thread-safety: compatible.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "scheduler/service_class.h"

namespace gopmill {

// What a stream will need of the workers.
struct StreamNeed {
  std::uint16_t service_class = 0;  // one that does not exist counts as the last class
  bool real_time = false;
  double cores = 0;      // core-seconds per second, if real_time
  Duration unit_time{};  // of one unit on a warm worker
  Duration opening{};    // surcharge of a cold start
};

struct ClassPromise {
  double cores = 0;  // g_c
  double taken = 0;  // needed by the real-time streams that were let in
  int streams = 0;   // how many those are
};

class Admission {
 public:
  // `classes` as validated, empty = one class; `promise` in (0, 1]: the part of a class's cores
  // that may be taken.
  Admission(std::vector<ServiceClass> classes, int workers, double promise);

  // So many workers from now on. What was promised stays so, be it more than there is now.
  void SetWorkers(int workers);

  // kUnavailable if a unit takes longer than the class's deadline.
  [[nodiscard]] Status InTime(const StreamNeed& need) const;
  // Ok, and the need is counted until Release; or kUnavailable, with what is free in the text.
  Status Admit(StreamId stream, const StreamNeed& need);
  // What is counted for one stream is counted for another, new one from now on.
  void GoOn(StreamId from, StreamId to);
  // What the stream was seen to take. Nothing happens if it is not counted.
  void Measured(StreamId stream, double cores);
  void Release(StreamId stream);

  [[nodiscard]] ClassPromise PromiseOf(std::uint16_t service_class) const;
  // Cores that the class may still promise; below 0 when streams turned out to need more.
  [[nodiscard]] double FreeFor(std::uint16_t service_class) const;
  [[nodiscard]] const std::vector<ServiceClass>& classes() const { return classes_; }

 private:
  [[nodiscard]] std::size_t IndexOf(std::uint16_t service_class) const;

  std::vector<ServiceClass> classes_;
  const double promise_;
  std::vector<ClassPromise> promises_;  // by class
  struct Held {
    std::size_t service_class = 0;
    double cores = 0;
  };
  std::unordered_map<StreamId, Held> held_;
};

}  // namespace gopmill
