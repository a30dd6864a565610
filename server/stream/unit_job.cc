// SPDX-License-Identifier: Apache-2.0
#include "server/stream/unit_job.h"

#include <algorithm>
#include <utility>

#include "codec/av1_gate.h"
#include "server/stream/context_use.h"

namespace gopmill {
namespace {

// Numbers a unit's packets and posts them.
class Poster : public UnitOutput {
 public:
  Poster(Mailbox& mailbox, const UnitSpec& unit)
      : mailbox_(mailbox), unit_(unit.index), first_gop_(unit.gop_frame() == 0) {}
  void OnEncoder(std::shared_ptr<const AVCodecParameters> parameters) override {
    if (first_gop_) mailbox_.Post(EncoderOpened{std::move(parameters)});
  }
  void OnPacket(av::Packet packet) override {
    mailbox_.Post(PacketCoded{.unit = unit_, .place = place_++, .packet = std::move(packet)});
  }
  void OnRunReady(std::unique_ptr<RunState> state) override {
    mailbox_.Post(RunReady{.unit = unit_, .state = std::move(state)});
  }
  void OnPicturesLost() override { pictures_lost_ = true; }
  [[nodiscard]] bool pictures_lost() const { return pictures_lost_; }

 private:
  Mailbox& mailbox_;
  const UnitIndex unit_;
  const bool first_gop_;
  std::int64_t place_ = 0;
  bool pictures_lost_ = false;
};

// Selector and encoder can be used once; a second run makes them anew from the history. All fields
// are named, so that one that is added does not compile before somebody has thought of it.
UnitTask Attempt(UnitTask& task) {
  auto& [plan, encoder, input, run, decode_ahead, aside, aim, step, pictures] = task;
  auto& [selector, fed, history, gop, gop_packets] = run;
  return {.plan = plan,
          .encoder = encoder,
          .input = input,
          .run = {.selector = std::move(selector),
                  .fed = std::exchange(fed, 0),
                  .history = history,
                  .gop = std::move(gop),
                  .gop_packets = gop_packets},
          .decode_ahead_bytes = decode_ahead,
          .decode_aside = aside,
          .aim = aim,
          .frame_step = step,
          .pictures = pictures};
}

Duration Work(const UnitStats& stats) { return stats.decode + stats.filter + stats.encode; }

}  // namespace

UnitOrders OneOrder(UnitOrder order) {
  UnitOrders orders;
  orders.push_back(std::move(order));
  return orders;
}

UnitJob::UnitJob(UnitOrders orders, ReportHandler on_report)
    : orders_(std::move(orders)), on_report_(std::move(on_report)), made_(orders_.size()) {}

JobOutcome UnitJob::Made::outcome() const {
  if (stats.cancelled) return JobOutcome::kCancelled;
  if (!error) return JobOutcome::kDone;
  return error->code == Code::kCancelled ? JobOutcome::kCancelled : JobOutcome::kFailed;
}

void UnitJob::Transcode(std::span<UnitOrder> orders, std::span<Made> made, ContextCache& cache) {
  std::vector<std::unique_ptr<Poster>> posters;
  std::vector<UnitRendition> renditions;
  for (UnitOrder& order : orders) {
    posters.push_back(std::make_unique<Poster>(*order.mailbox, order.task.input->spec));
    renditions.push_back({Attempt(order.task), order.stop, posters.back().get()});
  }
  const auto stats = TranscodeTogether(renditions, cache);
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] = {.stats = {}, .error = {}, .pictures_lost = posters[i]->pictures_lost()};
    if (stats.ok()) {
      made[i].stats = (*stats)[i];
    } else {
      made[i].error = stats.error();
    }
  }
}

// Of all of them: what is done is not made again.
JobOutcome UnitJob::Outcome() const {
  JobOutcome outcome = JobOutcome::kCancelled;
  for (const Made& made : made_) {
    if (made.outcome() == JobOutcome::kDone) return JobOutcome::kDone;
    if (made.outcome() == JobOutcome::kFailed) outcome = JobOutcome::kFailed;
  }
  return outcome;
}

// Without what it shares with others where that is gone.
void UnitJob::TranscodeAlone(std::size_t number, ContextCache& cache) {
  if (made_[number].pictures_lost) orders_[number].task.pictures.reset();
  Transcode(std::span(orders_).subspan(number, 1), std::span(made_).subspan(number, 1), cache);
}

JobOutcome UnitJob::Run(WorkerContext& worker) noexcept {
  if (std::ranges::all_of(orders_, [](const UnitOrder& o) { return o.stop.stop_requested(); })) {
    return JobOutcome::kCancelled;
  }
  const ContextUse use(worker);
  const Duration waited_before = Av1Gate::WaitedHere();
  Transcode(orders_, made_, use.cache());
  const bool may_do_alone = orders_.size() > 1 || made_.front().pictures_lost;
  if (may_do_alone && Outcome() == JobOutcome::kFailed) {
    for (std::size_t i = 0; i < orders_.size(); ++i) TranscodeAlone(i, use.cache());
  }
  waited_ = Av1Gate::WaitedHere() - waited_before;
  return Outcome();
}

void UnitJob::OnReport(const JobReport& report) noexcept {
  if (on_report_) on_report_(report, waited_);
  Duration work{};
  for (const Made& made : made_) work += Work(made.stats);
  for (std::size_t i = 0; i < orders_.size(); ++i) {
    JobReport own = report;
    own.unit = {orders_[i].stream, orders_[i].task.input->spec.index};
    if (report.outcome != JobOutcome::kCancelled) own.outcome = made_[i].outcome();
    if (orders_.size() > 1) {
      const double share = work > Duration::zero()
                               ? ToSeconds(Work(made_[i].stats)) / ToSeconds(work)
                               : 1 / static_cast<double>(orders_.size());
      own.cpu = FromSeconds(ToSeconds(report.cpu) * share);
      own.opening = FromSeconds(ToSeconds(report.opening) * share);
    }
    orders_[i].mailbox->Post(
        UnitEnded{.report = own, .stats = made_[i].stats, .error = made_[i].error});
  }
}

}  // namespace gopmill
