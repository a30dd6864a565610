// SPDX-License-Identifier: Apache-2.0
#include "server/stream/stream_session.h"

#include <utility>

#include "base/log.h"
#include "base/thread.h"
#include "server/stream/movie_analysis.h"

namespace gopmill {
namespace {

// Units in flight per stream: enough for every worker to have one, one to follow, and the runs of a
// source with long GOPs to overlap.
int WindowUnits(const SessionLimits& limits, const Scheduler& scheduler) {
  return limits.window_units > 0 ? limits.window_units : 4 * scheduler.worker_count() + 4;
}

// Opens the source by its descriptor.
PacketSourceOpener FileOpener(SourceOpener open, const AudioTracks& audio) {
  return [open = std::move(open),
          audio](const std::stop_token& stop) -> Result<std::unique_ptr<PacketSource>> {
    GOPMILL_ASSIGN_OR_RETURN(UniqueFd fd, open());
    GOPMILL_ASSIGN_OR_RETURN(auto source, Source::Open(std::move(fd), stop, {.audio = audio}));
    return std::unique_ptr<PacketSource>(std::move(source));
  };
}

constexpr std::chrono::milliseconds kTick{200};

}  // namespace

Result<std::unique_ptr<StreamSession>> StreamSession::Create(SessionSpec&& spec,
                                                             Scheduler& scheduler) {
  GOPMILL_ASSIGN_OR_RETURN(const std::uint16_t service_class,
                           scheduler.ClassOf(spec.request.service_class.value_or("")));
  return std::unique_ptr<StreamSession>(
      new StreamSession(std::move(spec), scheduler, service_class));
}

Result<std::unique_ptr<StreamSession>> StreamSession::Start(SessionSpec spec,
                                                            Scheduler& scheduler) {
  GOPMILL_ASSIGN_OR_RETURN(auto session, Create(std::move(spec), scheduler));
  GOPMILL_RETURN_IF_ERROR(session->Launch());
  return session;
}

Status StreamSession::Launch() {
  const auto ingest = [this] {
    RunIngest({.open = spec_.open_packets,
               .read_texts = spec_.read_texts,
               .analyse = [this](const StreamPlan& plan,
                                 const std::stop_token& stop) { return Analyse(plan, stop); },
               .request = spec_.request,
               .pace = spec_.pace},
              stop_.get_token(), *mailbox_);
    OnThreadOver();
  };
  const auto egress = [this] {
    RunEgress();
    OnThreadOver();
  };
  // In this order: an egress without an ingest ends as soon as it is cancelled, whereas an ingest
  // may be in a read that nothing ends, and whoever destroys the session waits for its threads.
  GOPMILL_ASSIGN_OR_RETURN(egress_, StartThread(egress));
  GOPMILL_ASSIGN_OR_RETURN(ingest_, StartThread(ingest));
  return OkStatus();
}

StreamSession::StreamSession(SessionSpec spec, Scheduler& scheduler, std::uint16_t service_class)
    : spec_(std::move(spec)),
      scheduler_(scheduler),
      service_class_(service_class),
      pictures_(spec_.pictures ? std::make_shared<PictureSeat>(spec_.pictures) : nullptr),
      mailbox_(std::make_shared<Mailbox>(spec_.limits.window_bytes,
                                         WindowUnits(spec_.limits, scheduler))),
      sink_output_(*spec_.sink, std::move(spec_.mux), stop_.get_token(),
                   [this] { NoteFirstByte(); }) {
  if (!spec_.open_packets) {
    spec_.open_packets = FileOpener(std::move(spec_.open), spec_.request.audio);
  }
  stats_.id = spec_.id;
  stats_.source = spec_.source_name;
  stats_.began = started_;
  stats_.unit_log = unit_log_;
  output_ = std::make_unique<OutputChain>(
      [this](Container container, std::span<const MuxTrack> tracks) {
        return sink_output_.Open(container, tracks);
      },
      [this](UnitIndex unit) { OnReleased(unit); },
      [log = stats_.seam_log](const Seam& seam) { log->Add(seam); });
}

StreamSession::~StreamSession() {
  Cancel();
  Wait();
}

void StreamSession::Cancel() {
  stop_.request_stop();
  mailbox_->Close();
  scheduler_.Cancel(spec_.id);
  mailbox_->Post(Failed{Cancelled()});
  spec_.sink->Cancel();
}

void StreamSession::Wait() {
  if (egress_.joinable()) egress_.join();
  if (ingest_.joinable()) ingest_.join();
}

bool StreamSession::WaitFor(std::chrono::milliseconds timeout) {
  const MutexLock lock(mutex_);
  if (!closed_) closed_changed_.WaitFor(mutex_, timeout);
  return closed_;
}

bool StreamSession::closed() const {
  const MutexLock lock(mutex_);
  return closed_;
}

StreamSnapshot StreamSession::Snapshot() const {
  const MutexLock lock(mutex_);
  StreamSnapshot copy = stats_;
  if (copy.state < StreamState::kDone) {
    copy.elapsed = SteadyNow() - started_;
  }
  return copy;
}

void StreamSession::RunEgress() {
  const Status status = EgressLoop();
  if (spec_.group) spec_.group->Leave(spec_.member, scheduler_);
  // No job may outlive the session's interest in it: stop them and take their reports.
  if (!status.ok()) {
    stop_.request_stop();
    mailbox_->Close();
    scheduler_.Cancel(spec_.id);
    while (jobs_out_ > 0) {
      const auto letter = mailbox_->Take(kTick);
      const auto* ended = letter ? std::get_if<UnitEnded>(&*letter) : nullptr;
      if (ended == nullptr) continue;
      --jobs_out_;
      Observe(*ended);
    }
  }
  Close(status);
}

Status StreamSession::EgressLoop() {
  while (!complete_) {
    std::optional<Letter> letter = mailbox_->Take(kTick);
    if (spec_.group) spec_.group->GoOn(scheduler_);
    if (!letter) continue;
    const TimePoint begin = SteadyNow();
    GOPMILL_RETURN_IF_ERROR(
        std::visit([this](auto& content) { return On(std::move(content)); }, *letter));
    const MutexLock lock(mutex_);
    stats_.stages.mux_send += SteadyNow() - begin;
    NoteOutput();
    stats_.window_peak_bytes = output_->reorderer().peak_bytes();
  }
  return OkStatus();
}

void StreamSession::NoteOutput() {
  stats_.frames_out = output_->frames_muxed();
  stats_.bytes_out = output_->bytes_out();
  stats_.seams = output_->seams();
}

void StreamSession::Close(const Status& status) {
  StreamEnd end{.status = status, .measures = {}};
  {
    const MutexLock lock(mutex_);
    stats_.elapsed = SteadyNow() - started_;
    NoteOutput();
    stats_.state = StreamState::kDone;
    if (!status.ok()) {
      stats_.error = status.error();
      stats_.state =
          status.error().code == Code::kCancelled ? StreamState::kCancelled : StreamState::kFailed;
    }
    end.measures = Measures(stats_);
  }
  if (!status.ok() && status.error().code != Code::kCancelled &&
      status.error().code != Code::kNotFound) {
    spdlog::warn("stream {} ({}): {}", spec_.id.value, spec_.source_name,
                 status.error().ToString());
  }
  if (spec_.admission) spec_.admission->Release(spec_.id);
  output_.reset();  // closes the output file before the sink is told
  spec_.sink->Finish(end);
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  closed_changed_.NotifyAll();
}

// A source on a disk that does not answer holds the ingest, whatever is cancelled: nobody shall
// wait for that thread until it has come back.
void StreamSession::OnThreadOver() {
  if (--threads_left_ == 0 && spec_.on_closed) spec_.on_closed(spec_.id);
}

// On the ingest thread.
Result<UnitBudgets> StreamSession::Analyse(const StreamPlan& plan, const std::stop_token& stop) {
  if (!WantsAnalysis(plan.target) || !spec_.open_again || spec_.real_time) return UnitBudgets{};
  AnalysisProgress progress;
  AnalysisOrder order{.id = spec_.id,
                      .number = spec_.number,
                      .source_name = spec_.source_name,
                      .open = spec_.open_again,
                      .read_texts = spec_.read_texts,
                      .request = spec_.request,
                      .limits = spec_.limits,
                      .on_progress = [&](const AnalysisProgress& now) {
                        progress = now;
                        mailbox_->Post(AnalysisProgress(now));
                      }};
  GOPMILL_ASSIGN_OR_RETURN(UnitBudgets budgets, AnalyseMovie(order, plan, scheduler_, stop));
  progress.done = true;
  mailbox_->Post(std::move(progress));
  return budgets;
}

}  // namespace gopmill
