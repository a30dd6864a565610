// SPDX-License-Identifier: Apache-2.0
//
// What a stream does with each letter of its mailbox, on its egress thread.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "scheduler/units_out.h"
#include "server/stream/stream_session.h"
#include "server/stream/unit_job.h"

namespace gopmill {
namespace {

// What of a stream's first unit was decoded in front of its first picture, which may lie seconds
// behind a key picture: a part of its decoding that none of its other frames will cost.
double PrerollOf(const UnitStats& unit, UnitIndex index) {
  if (index.value > 0 || unit.selection.decoded <= 0) return 0;
  return std::min(1.0, static_cast<double>(unit.selection.preroll) /
                           static_cast<double>(unit.selection.decoded));
}

// Divided as the times of its stages are; not where the encoder has threads of its own, beside
// which a picture is decoded in what passes for no time or for all of it.
UnitCost CostOf(const UnitEnded& ended, std::int64_t frames) {
  const UnitStats& unit = ended.stats;
  const Duration opening = ended.report.opening;
  const Duration cpu = ended.report.cpu + unit.aside_cpu;
  const double stages = ToSeconds(unit.decode + unit.filter + unit.encode);
  const double decode = stages > 0 ? ToSeconds(unit.decode) / stages : 0;
  const Duration decoding = FromSeconds(ToSeconds(cpu - opening) * decode);
  const double preroll = PrerollOf(unit, ended.report.unit.index);
  UnitCost cost{.making = cpu - opening,
                .opening = opening,
                .own = cpu - FromSeconds(ToSeconds(decoding) * preroll),
                .frames = frames};
  if (unit.aside_cpu > Duration::zero()) {
    const bool elsewhere =
        unit.selection.taken > 0 || (unit.decoded_elsewhere && unit.renditions == 1);
    cost.decoding_within = elsewhere ? 0 : 1.0 / unit.renditions;
    cost.making -= FromSeconds(ToSeconds(decoding) * preroll);
    return cost;
  }
  cost.making -= decoding;
  // Once: passes that correct a rate decode for themselves.
  const bool whole = !unit.decoded_elsewhere && unit.selection.taken == 0 && unit.encodes == 1;
  // Its part of what was decoded for so many.
  if (whole) cost.decoding = FromSeconds(ToSeconds(decoding) * unit.renditions * (1 - preroll));
  return cost;
}

}  // namespace

Status StreamSession::On(PlanReady letter) {
  plan_ = letter.plan;
  SetEncoders(letter.encoder);
  if (spec_.decoders) {
    spec_.group = spec_.decoders->Find(*plan_, service_class_);
    spec_.member = spec_.group->Join();
  }
  // A live source's units are due before their predecessors are known.
  if (!spec_.live && StreamRate::Applies(*letter.encoder)) rate_gate_ = RateGate(*letter.encoder);
  if (spec_.admission) {
    if (stop_.stop_requested()) return Cancelled();  // another may have its place already
    const bool decodes = spec_.decoders || !spec_.group || spec_.member == 0;
    GOPMILL_RETURN_IF_ERROR(spec_.admission->Admit(spec_.id, *plan_, service_class_,
                                                   spec_.real_time, SteadyNow(), decodes));
  }
  output_->SetPlan(letter);
  letter.adjustments.insert(letter.adjustments.begin(), spec_.adjustments.begin(),
                            spec_.adjustments.end());
  double seconds = 0;
  {
    const MutexLock lock(mutex_);
    stats_.plan = plan_;
    stats_.adjustments = letter.adjustments;
    stats_.opening = letter.opening;
    stats_.state = StreamState::kRunning;
    seconds = stats_.total_seconds();
  }
  const MovieTags tags = TagsWithoutJumps(plan_->source->tags, plan_->texts.jumps);
  sink_output_.SetTags(TagsWithin(tags, plan_->TextClip()));
  sink_output_.SetStart({.content_type = std::string(ContentType(plan_->target.container)),
                         .adjustments = std::move(letter.adjustments),
                         .plan_ms = ToMillis(letter.opening),
                         .seconds = seconds});
  return OkStatus();
}

// All readers of an encode have the same container (FanoutTable's keys), so that what its output
// carries is what theirs do.
void StreamSession::SetEncoders(std::shared_ptr<const EncoderSpec> full) {
  const auto faster = std::make_shared<const EncoderSpec>(WithLessSearch(*full));
  const auto smaller = WithHalfSize(*faster, *plan_);
  degradation_ = Degradation({.faster = faster->faster, .half_size = smaller.has_value()});
  encoders_.fill(faster);
  encoders_.at(static_cast<std::size_t>(Effort::kFull)) = std::move(full);
  encoders_.at(static_cast<std::size_t>(Effort::kHalfSize)) =
      smaller ? std::make_shared<const EncoderSpec>(*smaller) : nullptr;
}

Status StreamSession::On(AnalysisProgress letter) {
  const MutexLock lock(mutex_);
  stats_.state = letter.done ? StreamState::kRunning : StreamState::kAnalysing;
  const bool next_pass = letter.done || letter.frames < stats_.frames_analysed;
  if (next_pass) stats_.pass_began = SteadyNow() - started_;
  stats_.frames_analysed = letter.frames;
  stats_.stages.analysis = letter.cpu;
  return OkStatus();
}

Status StreamSession::On(UnitPlanned letter) {
  const UnitSpec& spec = letter.unit->spec;
  ++units_left_;
  window_sound_ += letter.room.sound;
  records_[spec.index] = {
      .plan = plan_,
      .room = letter.room,
      .media_seconds = static_cast<double>(spec.first_frame) / plan_->grid.fps().ToDouble(),
      .length_seconds = static_cast<double>(spec.frame_count()) / plan_->grid.fps().ToDouble(),
      .finished = {},
      .job = {},
      .read = letter.read,
      .window_wait = letter.window_wait,
      .read_at = letter.read_at,
      .planned_at = letter.planned_at};
  {
    const MutexLock lock(mutex_);
    ++stats_.units_planned;
    stats_.frames_planned = spec.end_frame;
    stats_.source_bytes += spec.source_bytes;
  }
  if (spec_.group) spec_.group->Announce(spec_.member, *plan_, spec, scheduler_.worker_count());
  output_->OnPlanned(spec);
  rate_gate_.OnPlanned(spec);
  GOPMILL_RETURN_IF_ERROR(output_->OnRead(letter.read_seconds));
  if (spec.cut != CutKind::kChained) return SubmitInTime(letter.unit, {});
  const auto run = runs_.find(spec.index);
  if (run == runs_.end()) {
    chained_[spec.index] = letter.unit;
    return OkStatus();
  }
  RunState state = std::move(run->second);
  runs_.erase(run);
  return SubmitInTime(letter.unit, std::move(state));
}

Status StreamSession::On(RunReady letter) {
  const auto record = records_.find(letter.unit);
  if (record == records_.end() || std::exchange(record->second.run_taken, true)) {
    return OkStatus();  // a retry of a unit whose run has gone on already
  }
  const UnitIndex next{letter.unit.value + 1};
  const auto waiting = chained_.find(next);
  if (waiting == chained_.end()) {
    runs_[next] = std::move(*letter.state);
    return OkStatus();
  }
  const std::shared_ptr<const UnitInput> unit = std::move(waiting->second);
  chained_.erase(waiting);
  return SubmitInTime(unit, std::move(*letter.state));
}

Status StreamSession::SubmitInTime(const std::shared_ptr<const UnitInput>& unit, RunState run) {
  auto ready = rate_gate_.Pass({.unit = unit, .run = std::move(run), .since = SteadyNow()});
  return ready ? SubmitInTurn(*std::move(ready)) : OkStatus();
}

// Units of live sources are due, and few: their window is as small. Those that go on with an open
// decoder are due as well, and hold memory.
Status StreamSession::SubmitInTurn(RateGate::Waiting ready) {
  const UnitSpec& unit = ready.unit->spec;
  RecordOf(unit.index).came_at = SteadyNow();
  if (spec_.live || unit.cut == CutKind::kChained) return Submit(std::move(ready));
  kept_.emplace(unit.index, std::move(ready));
  return SubmitKept();
}

Status StreamSession::SubmitKept() {
  while (!kept_.empty() && jobs_out_ < UnitsOut(scheduler_.in_service())) {
    GOPMILL_RETURN_IF_ERROR(Submit(std::move(kept_.extract(kept_.begin()).mapped())));
  }
  return OkStatus();
}

Status StreamSession::Submit(RateGate::Waiting ready) {
  const std::shared_ptr<const UnitInput>& unit = ready.unit;
  UnitRecord& record = RecordOf(unit->spec.index);
  // The first unit decodes and encodes frame by frame, so that the first byte is early.
  const bool hurry = unit->spec.index.value == 0 || scheduler_.in_service() == 1;
  const Effort effort = degradation_.ForUnit(unit->spec.gop_frame(), unit->spec.ends_gop);
  const TimePoint ordered = SteadyNow();
  {
    const MutexLock lock(mutex_);
    stats_.stages.rate_wait += ordered - ready.since;
  }
  UnitOrder order{.stream = spec_.id,
                  .task = {.plan = record.plan,
                           .encoder = EncoderFor(effort),
                           .input = unit,
                           .run = std::move(ready.run),
                           .decode_ahead_bytes = hurry ? 0 : spec_.limits.decode_ahead_bytes,
                           .aim = rate_gate_.AimOf(unit->spec.index),
                           .frame_step = FrameStep(effort),
                           .pictures = pictures_},
                  .mailbox = mailbox_,
                  .stop = stop_.get_token()};
  const JobSpec job{
      .unit = {spec_.id, unit->spec.index},
      .stream_number = spec_.number,
      .cost_bytes = static_cast<std::size_t>(std::max<std::int64_t>(1, unit->spec.source_bytes)),
      .frames = static_cast<std::uint32_t>(std::max<std::int64_t>(1, unit->spec.frame_count())),
      .service_class = service_class_,
      .deadline = DeadlineOf(unit->spec)};
  if (spec_.group) {
    spec_.group->Submit(spec_.member, job, std::move(order), scheduler_);
  } else {
    GOPMILL_RETURN_IF_ERROR(
        scheduler_.Submit(job, std::make_unique<UnitJob>(OneOrder(std::move(order)))));
  }
  ++jobs_out_;
  record.job = job;
  record.ordered = ordered;
  record.effort = effort;
  return OkStatus();
}

// What the class says goes first. Without it a live source gives the next unit when this one has
// been shown: until then it has to be done.
TimePoint StreamSession::DeadlineOf(const UnitSpec& unit) const {
  const TimePoint due = scheduler_.DeadlineOf(service_class_);
  if (due != kNoDeadline) return due;
  if (!spec_.real_time && spec_.pace != IngestPace::kRealTime) return kNoDeadline;
  const double seconds = static_cast<double>(unit.frame_count()) / plan_->grid.fps().ToDouble();
  return SteadyNow() + FromSeconds(seconds);
}

Status StreamSession::On(AudioCoded letter) {
  {
    const MutexLock lock(mutex_);
    stats_.sound_filled_seconds = letter.filled_seconds;
  }
  return output_->OnAudio(std::move(letter), window_sound_);
}

Status StreamSession::On(CodingChanged letter) {
  const std::string before = FormatOf(*plan_->source), now = FormatOf(*letter.plan->source);
  plan_ = std::move(letter.plan);
  if (before == now) return OkStatus();
  spdlog::info("stream {} ({}): the source goes on as {}, it was {}", spec_.id.value,
               spec_.source_name, now, before);
  const MutexLock lock(mutex_);
  ++stats_.format_changes;
  return OkStatus();
}

Status StreamSession::On(EncoderOpened letter) {
  return output_->OnEncoder(std::move(letter.parameters));
}

Status StreamSession::On(PacketCoded letter) { return output_->OnPacket(std::move(letter)); }

Status StreamSession::On(IngestEnded letter) {
  ingest_ended_ = true;
  end_reason_ = std::move(letter.reason);
  {
    const MutexLock lock(mutex_);
    stats_.all_planned = true;
    stats_.truncated = letter.source.truncated;
    stats_.repaired_timestamps = letter.source.repaired;
    stats_.frames_left_out = letter.source.left_out;
    stats_.audio_damaged = letter.audio_damaged;
    stats_.frames_planned = letter.source.planned_frames;
  }
  GOPMILL_RETURN_IF_ERROR(output_->OnAudioEnd());
  return EndIfComplete();
}

Status StreamSession::On(Failed letter) { return std::move(letter.error); }

Status StreamSession::On(UnitEnded letter) {
  --jobs_out_;
  const UnitIndex unit = letter.report.unit.index;
  UnitRecord& record = RecordOf(unit);
  {
    const MutexLock lock(mutex_);
    stats_.AddUnit(letter.report, letter.stats, record.effort);
  }
  Observe(letter);
  if (letter.report.outcome != JobOutcome::kDone) {
    if (letter.error) return letter.error->With("Unit " + std::to_string(unit.value));
    return Cancelled();
  }
  LearnDemand(letter);
  record.finished = letter.report.finished;
  {
    const MutexLock lock(mutex_);
    stats_.order.OnFinished(unit, letter.report.finished, record.media_seconds);
  }
  rate_gate_.OnEnded(unit, letter.stats);
  while (auto ready = rate_gate_.Next()) {
    GOPMILL_RETURN_IF_ERROR(SubmitInTurn(*std::move(ready)));
  }
  GOPMILL_RETURN_IF_ERROR(SubmitKept());
  const EncoderSpec& encoder = *EncoderFor(record.effort);
  GOPMILL_RETURN_IF_ERROR(output_->OnUnitEnd(unit, letter.stats, {encoder.width, encoder.height}));
  return EndIfComplete();
}

// Tells what units cost, and finds out whether the machine keeps up with them.
void StreamSession::LearnDemand(const UnitEnded& ended) {
  const JobReport& report = ended.report;
  const UnitRecord& record = RecordOf(report.unit.index);
  // What a unit costs that is not made as it was asked for says nothing of the others.
  if (spec_.admission && record.effort == Effort::kFull && report.attempt == 0) {
    spec_.admission->OnUnit(spec_.id, *record.plan, CostOf(ended, record.job.frames));
  }
  if (!spec_.degrades || report.unit.index.value == 0) return;
  const Duration length = FromSeconds(record.length_seconds);
  const bool changed = degradation_.OnUnit({.effort = record.effort,
                                            .submitted = record.ordered,
                                            .due = record.job.deadline,
                                            .finished = report.finished,
                                            .media = length});
  const Effort effort = degradation_.effort();
  if (spec_.admission) {
    spec_.admission->OnEffort(spec_.id, effort, report.finished, length, jobs_out_ > 0);
  }
  if (!changed) return;
  const bool less = effort > record.effort;
  spdlog::warn("stream {} ({}): {}, its units are made with effort {}", spec_.id.value,
               spec_.source_name, less ? "the machine does not keep up" : "the machine keeps up",
               Name(effort));
  const MutexLock lock(mutex_);
  stats_.effort = effort;
}

void StreamSession::Observe(const UnitEnded& ended) {
  const auto record = records_.find(ended.report.unit.index);
  if (record == records_.end()) return;
  const UnitLife life{.spec = record->second.job,
                      .report = ended.report,
                      .stats = ended.stats,
                      .read = record->second.read,
                      .window_wait = record->second.window_wait,
                      .read_at = record->second.read_at,
                      .planned_at = record->second.planned_at,
                      .came_at = record->second.came_at,
                      .media_seconds = record->second.media_seconds};
  unit_log_->OnEnded(life);
  if (spec_.observer) spec_.observer->OnEnded(life);
}

void StreamSession::NoteFirstByte() {
  const MutexLock lock(mutex_);
  stats_.first_byte = SteadyNow() - started_;
}

void StreamSession::OnReleased(UnitIndex unit) {
  const UnitRecord& record = RecordOf(unit);
  const TimePoint now = SteadyNow();
  {
    const MutexLock lock(mutex_);
    stats_.stages.reorder_wait += now - record.finished;
    stats_.order.OnReleased(now, record.media_seconds);
  }
  unit_log_->OnReleased({spec_.id, unit}, now);
  if (spec_.observer) spec_.observer->OnReleased({spec_.id, unit}, now);
  mailbox_->Release(record.room);
  window_sound_ -= record.room.sound;
  records_.erase(unit);
  --units_left_;
}

// Of a unit that has been planned and not released.
StreamSession::UnitRecord& StreamSession::RecordOf(UnitIndex unit) {
  const auto record = records_.find(unit);
  GOPMILL_CHECK(record != records_.end());
  return record->second;
}

Status StreamSession::EndIfComplete() {
  if (!ingest_ended_ || units_left_ > 0 || complete_) return OkStatus();
  GOPMILL_RETURN_IF_ERROR(output_->OnVideoEnd());
  std::int64_t frames = 0;
  {
    const MutexLock lock(mutex_);
    frames = stats_.frames_planned;
  }
  GOPMILL_RETURN_IF_ERROR(output_->Finish(frames));
  complete_ = true;
  return end_reason_ ? Status(*end_reason_) : OkStatus();
}

}  // namespace gopmill
