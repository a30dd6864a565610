// SPDX-License-Identifier: Apache-2.0
#include "server/session/unit_job.h"

#include <algorithm>
#include <utility>

#include "codec/av1_gate.h"

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

 private:
  Mailbox& mailbox_;
  const UnitIndex unit_;
  const bool first_gop_;
  std::int64_t place_ = 0;
};

// Selector and encoder can be used once; a second run makes them anew from the history.
UnitTask Attempt(UnitTask& task) {
  return {.plan = task.plan,
          .encoder = task.encoder,
          .input = task.input,
          .run = {.selector = std::move(task.run.selector),
                  .history = task.run.history,
                  .gop = std::move(task.run.gop),
                  .gop_packets = task.run.gop_packets},
          .decode_ahead_bytes = task.decode_ahead_bytes,
          .aim = task.aim,
          .frame_step = task.frame_step};
}

Duration Work(const UnitStats& stats) { return stats.decode + stats.filter + stats.encode; }

}  // namespace

UnitOrders OneOrder(UnitOrder order) {
  UnitOrders orders;
  orders.push_back(std::move(order));
  return orders;
}

UnitJob::UnitJob(UnitOrders orders, ReportHandler on_report)
    : orders_(std::move(orders)), on_report_(std::move(on_report)), stats_(orders_.size()) {}

Result<std::vector<UnitStats>> UnitJob::Transcode(ContextCache& cache) {
  std::vector<std::unique_ptr<Poster>> posters;
  std::vector<UnitRendition> renditions;
  for (UnitOrder& order : orders_) {
    posters.push_back(std::make_unique<Poster>(*order.mailbox, order.task.input->spec));
    renditions.push_back({Attempt(order.task), order.stop, posters.back().get()});
  }
  return TranscodeTogether(renditions, cache);
}

JobOutcome UnitJob::Run(WorkerContext& worker) noexcept {
  if (std::ranges::any_of(orders_, [](const UnitOrder& o) { return o.stop.stop_requested(); })) {
    return JobOutcome::kCancelled;
  }
  auto& codecs = *static_cast<WorkerCodecs*>(worker.local);
  const CacheStats before = codecs.cache.Stats();
  const Duration waited_before = Av1Gate::WaitedHere();
  Result<std::vector<UnitStats>> result = Transcode(codecs.cache);
  waited_ = Av1Gate::WaitedHere() - waited_before;
  const CacheStats after = codecs.cache.Stats();
  // Encoders do not count: each unit uses one up, and idle time prepares them.
  worker.cold =
      after.decoder_misses + after.filter_misses > before.decoder_misses + before.filter_misses;
  worker.opening = after.opening - before.opening;
  codecs.published->Publish(after);
  if (result.ok()) {
    stats_ = *std::move(result);
    error_.reset();
    return JobOutcome::kDone;
  }
  error_ = result.error();
  return error_->code == Code::kCancelled ? JobOutcome::kCancelled : JobOutcome::kFailed;
}

void UnitJob::OnReport(const JobReport& report) noexcept {
  if (on_report_) on_report_(report, waited_);
  Duration work{};
  for (const UnitStats& stats : stats_) work += Work(stats);
  for (std::size_t i = 0; i < orders_.size(); ++i) {
    JobReport own = report;
    own.unit = {orders_[i].stream, orders_[i].task.input->spec.index};
    if (orders_.size() > 1) {
      const double share = work > Duration::zero() ? ToSeconds(Work(stats_[i])) / ToSeconds(work)
                                                   : 1 / static_cast<double>(orders_.size());
      own.cpu = FromSeconds(ToSeconds(report.cpu) * share);
      own.opening = FromSeconds(ToSeconds(report.opening) * share);
    }
    orders_[i].mailbox->Post(UnitEnded{.report = own, .stats = stats_[i], .error = error_});
  }
}

}  // namespace gopmill
