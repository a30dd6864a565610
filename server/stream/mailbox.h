// SPDX-License-Identifier: Apache-2.0
//
// What the egress thread of a stream is told, by its ingest thread and by the workers, in one
// queue.
//
// Bounded: the ingest may only post a unit while the stream's window has room (Acquire), and
// workers only post what units inside the window produce; so the queue holds at most the window.
// Senders never wait for the receiver, except the ingest for the window.
//
// Thread-safety: safe. Mutex guards all members; no callbacks run under it.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/adjustment.h"
#include "base/thread_safety.h"
#include "codec/unit_transcoder.h"
#include "media/ingest.h"
#include "scheduler/job.h"

namespace gopmill {

// From the ingest thread, in this order: one PlanReady or Failed, AnalysisProgress, then units,
// audio and CodingChanged in the order of the source, then IngestEnded or Failed.
struct CodedSound {
  std::shared_ptr<const AVCodecParameters> parameters;
  Rational time_base;
};
struct PlanReady {
  std::shared_ptr<const StreamPlan> plan;
  std::shared_ptr<const EncoderSpec> encoder;
  std::vector<Adjustment> adjustments;
  std::vector<CodedSound> sounds;  // of the output, as SourceInfo::sound numbers them
  Duration opening{};              // time spent on opening and probing the source
};
// While the movie is measured before its first unit is planned; the last one with `done`.
struct AnalysisProgress {
  std::int64_t frames = 0;  // measured, of the newest pass
  Duration cpu{};           // of workers
  bool done = false;
};
// What a unit takes of the window.
struct WindowShare {
  std::size_t bytes = 0;   // compressed source, expected coded bytes, and `sound`
  std::size_t sound = 0;   // coded sound posted since the unit before, which waits for its pictures
  int thousandths = 1000;  // of one of the units that the window has room for
};
struct UnitPlanned {
  std::shared_ptr<const UnitInput> unit;
  WindowShare room;         // what was acquired for it
  double read_seconds = 0;  // how far the source has been read, output clock
  Duration read{};          // time spent on reading the unit and cutting it off
  Duration window_wait{};   // time until the window had room
  TimePoint read_at{};      // when it was whole
  TimePoint planned_at{};   // when the window had room
};
struct AudioCoded {
  std::size_t sound = 0;  // the number of its track
  std::vector<av::Packet> packets;
  double filled_seconds = 0;  // of it all so far: silence where the source had no sound
};
struct IngestEnded {
  EndOfSource source;
  std::int64_t audio_damaged = 0;
  std::optional<Error> reason = {};  // why it is the end, where the source goes on
};
struct Failed {
  Error error;
};

// From the workers.
struct EncoderOpened {
  std::shared_ptr<const AVCodecParameters> parameters;
};
struct PacketCoded {
  UnitIndex unit;
  std::int64_t place = 0;
  av::Packet packet;
};
struct RunReady {
  UnitIndex unit;  // the unit that handed it on
  std::unique_ptr<RunState> state;
};
struct UnitEnded {
  JobReport report;
  UnitStats stats;
  std::optional<Error> error;
};

using Letter = std::variant<PlanReady, AnalysisProgress, UnitPlanned, AudioCoded, CodingChanged,
                            IngestEnded, Failed, EncoderOpened, PacketCoded, RunReady, UnitEnded>;

// Coded audio that may wait in a mailbox (sound that is longer than the picture, a slow client).
inline constexpr std::size_t kMaxAudioBytes = std::size_t{1} << 20U;

class Mailbox {
 public:
  // window_bytes, window_units: of all units in flight; one unit always fits, however large.
  Mailbox(std::size_t window_bytes, int window_units);

  void Post(Letter letter);
  // Posts coded audio; waits first while more than kMaxAudioBytes of it have not been taken.
  void PostAudio(AudioCoded audio);
  // Waits until the window has room for a unit and takes it; false once closed.
  bool Acquire(const WindowShare& unit);
  void Release(const WindowShare& unit);
  // Waits for the next letter, at most `timeout`; closing changes nothing here.
  std::optional<Letter> Take(std::chrono::milliseconds timeout);
  // Wakes the ingest for good. Letters may still be posted and taken.
  void Close();

 private:
  const std::size_t window_bytes_;
  const int window_thousandths_;
  Mutex mutex_;  // guards everything below
  CondVar letters_posted_, window_freed_, audio_taken_;
  std::deque<Letter> letters_ GOPMILL_GUARDED_BY(mutex_);
  std::size_t held_bytes_ GOPMILL_GUARDED_BY(mutex_) = 0;
  int held_thousandths_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::size_t audio_bytes_ GOPMILL_GUARDED_BY(mutex_) = 0;
  bool closed_ GOPMILL_GUARDED_BY(mutex_) = false;
};

}  // namespace gopmill
