// SPDX-License-Identifier: Apache-2.0
//
// One stream from request to last byte. Two threads of its own: the ingest reads, plans and posts
// (ingest_loop.h); the egress takes letters from the mailbox, submits units to the scheduler, hands
// runs on between chained units, and drives the way out (output_chain.h).
//
//   ingest --UnitPlanned, AudioCoded--> mailbox --> egress --Submit--> scheduler --> workers
//                                          ^                                            |
//                                          +-----PacketCoded, RunReady, UnitEnded-------+
//
// Guarantees: each unit is delivered exactly once and in order, or the stream ends with a reported
// error; memory is bounded by the window; a slow sink stops the ingest and nothing else.
//
// Thread-safety: Cancel, WaitFor, closed and Snapshot are safe from any thread; Wait is for the
// owner.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/thread_safety.h"
#include "media/muxer.h"
#include "scheduler/scheduler.h"
#include "server/api/stream_sink.h"
#include "server/stream/decode_table.h"
#include "server/stream/degradation.h"
#include "server/stream/ingest_loop.h"
#include "server/stream/mailbox.h"
#include "server/stream/output_chain.h"
#include "server/stream/rate_gate.h"
#include "server/stream/sink_output.h"
#include "server/stream/stream_admission.h"
#include "server/stream/stream_stats.h"
#include "server/stream/unit_log.h"
#include "server/stream/unit_observer.h"

namespace gopmill {

struct SessionLimits {
  std::size_t window_bytes = std::size_t{16} << 20U;  // units in flight, per stream
  int window_units = 0;  // the same in units; 0 = by the number of workers
  std::size_t decode_ahead_bytes = std::size_t{24} << 20U;  // scaled frames, per running unit
};

struct SessionSpec {
  StreamId id;
  std::uint64_t number = 0;  // order of arrival
  std::string source_name;   // for reports
  SourceOpener open;
  SourceOpener open_again;          // empty: the source can be read once only
  PacketSourceOpener open_packets;  // in place of `open` where the source is no file
  TextReader read_texts;            // may be empty
  TargetRequest request;
  std::vector<Adjustment> adjustments;  // made before it was planned
  MuxSettings mux;                      // the container comes from the target
  SessionLimits limits;
  IngestPace pace = IngestPace::kAsFastAsPossible;
  // Its source or its client sets the pace: it needs its share of the workers all the time.
  bool real_time = false;
  // Its source goes on whether or not the machine keeps up.
  bool live = false;
  // When the machine does not keep up with a live source its pictures get less work.
  bool degrades = false;
  std::shared_ptr<StreamAdmission> admission;  // may be null: everything is let in
  std::shared_ptr<DecodeGroup> group;          // of a presentation; may be null
  std::size_t member = 0;                      // of the group; the first is to pay for the decode
  std::shared_ptr<DecodeTable> decoders;   // of readers on a shared clock, in place of a group; may
                                           // be null: it decodes for itself
  std::shared_ptr<PictureStore> pictures;  // of its live source; may be null
  std::shared_ptr<UnitObserver> observer;  // may be null
  std::unique_ptr<StreamSink> sink;
  // Last call of the last of its threads: whoever destroys it then waits for nobody. May be empty.
  std::function<void(StreamId)> on_closed;
};

class StreamSession {
 public:
  // The scheduler must outlive the session.
  // kInvalidArgument for an unknown class; `spec` is as it was then, and the sink goes where its
  // owner lets it go.
  static Result<std::unique_ptr<StreamSession>> Create(SessionSpec&& spec, Scheduler& scheduler);
  // Once. kUnavailable when the machine has no more threads: destroy it then, which does not wait
  // for a source. on_closed is not called then; the sink may have been finished or not.
  Status Launch();
  // Both.
  static Result<std::unique_ptr<StreamSession>> Start(SessionSpec spec, Scheduler& scheduler);
  // Cancels and waits.
  ~StreamSession();
  StreamSession(const StreamSession&) = delete;
  StreamSession& operator=(const StreamSession&) = delete;

  // Stops at the next frame, also while the sink blocks; does not wait.
  void Cancel();
  // Waits until the sink has been finished. One thread at a time.
  void Wait();
  // Waits at most `timeout`; true once the sink has been finished.
  bool WaitFor(std::chrono::milliseconds timeout);
  [[nodiscard]] bool closed() const;
  [[nodiscard]] bool live() const { return spec_.live; }
  [[nodiscard]] StreamSnapshot Snapshot() const;

 private:
  StreamSession(SessionSpec spec, Scheduler& scheduler, std::uint16_t service_class);
  void RunEgress();
  Status EgressLoop();
  void SetEncoders(std::shared_ptr<const EncoderSpec> full);
  [[nodiscard]] const std::shared_ptr<const EncoderSpec>& EncoderFor(Effort effort) const {
    return encoders_.at(static_cast<std::size_t>(effort));
  }
  Result<UnitBudgets> Analyse(const StreamPlan& plan, const std::stop_token& stop);
  void Close(const Status& status);
  void OnThreadOver();

  Status On(PlanReady letter);
  Status On(AnalysisProgress letter);
  Status On(UnitPlanned letter);
  Status On(AudioCoded letter);
  Status On(CodingChanged letter);
  Status On(IngestEnded letter);
  Status On(Failed letter);
  Status On(EncoderOpened letter);
  Status On(PacketCoded letter);
  Status On(RunReady letter);
  Status On(UnitEnded letter);

  // When its rate can be told, and nobody else would have to wait for it behind its stream's
  // others.
  Status SubmitInTime(const std::shared_ptr<const UnitInput>& unit, RunState run);
  Status SubmitInTurn(RateGate::Waiting ready);
  Status SubmitKept();
  Status Submit(RateGate::Waiting ready);
  Status EndIfComplete();
  void OnReleased(UnitIndex unit);
  void NoteFirstByte();
  void NoteOutput() GOPMILL_REQUIRES(mutex_);
  void Observe(const UnitEnded& ended);
  void LearnDemand(const UnitEnded& ended);
  [[nodiscard]] TimePoint DeadlineOf(const UnitSpec& unit) const;

  struct UnitRecord {  // a unit in the window
    std::shared_ptr<const StreamPlan> plan;
    WindowShare room;
    double media_seconds = 0, length_seconds = 0;
    TimePoint finished;
    JobSpec job;  // once submitted
    TimePoint ordered{};
    Effort effort = Effort::kFull;
    Duration read{}, window_wait{};
    TimePoint read_at{}, planned_at{};
    std::optional<TimePoint> came_at = {};
    bool run_taken = false;  // its run has been handed on already
  };
  UnitRecord& RecordOf(UnitIndex unit);

  SessionSpec spec_;
  Scheduler& scheduler_;
  const std::uint16_t service_class_;
  const TimePoint started_ = SteadyNow();
  const std::shared_ptr<UnitLog> unit_log_ = std::make_shared<UnitLog>();
  const std::shared_ptr<PictureSeat> pictures_;  // may be null
  const std::shared_ptr<Mailbox> mailbox_;
  std::stop_source stop_;

  // Owned by the egress thread.
  SinkOutput sink_output_;  // outlives output_, whose end it is
  std::unique_ptr<OutputChain> output_;
  std::shared_ptr<const StreamPlan> plan_;  // of the units that are planned now
  std::array<std::shared_ptr<const EncoderSpec>, kEfforts> encoders_;  // by Effort; may be null
  Degradation degradation_;
  RateGate rate_gate_;
  std::map<UnitIndex, UnitRecord> records_;
  std::map<UnitIndex, std::shared_ptr<const UnitInput>> chained_;  // planned, waiting for their run
  std::map<UnitIndex, RunState> runs_;           // handed on, waiting for the unit (by its index)
  std::map<UnitIndex, RateGate::Waiting> kept_;  // for when fewer are submitted
  std::int64_t jobs_out_ = 0;                    // submitted, not yet reported
  std::int64_t units_left_ = 0;                  // planned, not yet released
  std::size_t window_sound_ = 0;                 // bytes of sound that came with these
  bool ingest_ended_ = false;
  std::optional<Error> end_reason_;  // IngestEnded
  bool complete_ = false;

  mutable Mutex mutex_;  // guards stats_ and closed_, which the egress writes and anybody reads
  CondVar closed_changed_;
  bool closed_ GOPMILL_GUARDED_BY(mutex_) = false;
  StreamSnapshot stats_ GOPMILL_GUARDED_BY(mutex_);

  std::atomic<int> threads_left_ = 2;
  std::jthread ingest_, egress_;  // last: started when everything above is ready
};

}  // namespace gopmill
