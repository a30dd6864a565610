// SPDX-License-Identifier: Apache-2.0
#include "server/session/unit_job.h"

#include <utility>

namespace gopmill {
namespace {

// Numbers a unit's packets and posts them.
class Poster : public UnitOutput {
 public:
  Poster(Mailbox& mailbox, UnitIndex unit) : mailbox_(mailbox), unit_(unit) {}
  void OnEncoder(std::shared_ptr<const AVCodecParameters> parameters) override {
    if (unit_.value == 0) mailbox_.Post(EncoderOpened{std::move(parameters)});
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
  std::int64_t place_ = 0;
};

}  // namespace

UnitJob::UnitJob(UnitTask task, std::shared_ptr<Mailbox> mailbox, std::stop_token stop)
    : task_(std::move(task)), mailbox_(std::move(mailbox)), stop_(std::move(stop)) {}

JobOutcome UnitJob::Run(WorkerContext& worker) noexcept {
  if (stop_.stop_requested()) return JobOutcome::kCancelled;
  // The selector can be used once; a second run decodes from the history.
  UnitTask task{.plan = task_.plan,
                .encoder = task_.encoder,
                .input = task_.input,
                .run = {.selector = std::move(task_.run.selector), .history = task_.run.history},
                .decode_ahead_bytes = task_.decode_ahead_bytes,
                .frame_step = task_.frame_step};
  Poster poster(*mailbox_, task_.input->spec.index);
  auto& codecs = *static_cast<WorkerCodecs*>(worker.local);
  const CacheStats before = codecs.cache.Stats();
  Result<UnitStats> result = TranscodeUnit(std::move(task), codecs.cache, stop_, poster);
  const CacheStats after = codecs.cache.Stats();
  // Encoders do not count: each unit uses one up, and idle time prepares them.
  worker.cold =
      after.decoder_misses + after.filter_misses > before.decoder_misses + before.filter_misses;
  worker.opening = after.opening - before.opening;
  codecs.published->Publish(after);
  if (result.ok()) {
    stats_ = *result;
    error_.reset();
    return JobOutcome::kDone;
  }
  error_ = result.error();
  return error_->code == Code::kCancelled ? JobOutcome::kCancelled : JobOutcome::kFailed;
}

void UnitJob::OnReport(const JobReport& report) noexcept {
  mailbox_->Post(UnitEnded{.report = report, .stats = stats_, .error = std::move(error_)});
}

}  // namespace gopmill
