// SPDX-License-Identifier: Apache-2.0
#include "codec/unit_transcoder.h"

#include <optional>
#include <utility>

#include "codec/unit_pass.h"
#include "codec/unit_rate.h"
#include "codec/vbv.h"

namespace gopmill {
namespace {

std::shared_ptr<const RunHistory> Extend(const std::shared_ptr<const RunHistory>& before,
                                         const std::shared_ptr<const UnitInput>& unit) {
  auto after = before ? std::make_shared<RunHistory>(*before) : std::make_shared<RunHistory>();
  after->bytes += unit->bytes();
  after->complete = after->complete && after->bytes <= kMaxRunHistoryBytes;
  if (after->complete) {
    after->units.push_back(unit);
  } else {
    after->units.clear();
  }
  return after;
}

// A selector at the start of the unit: the run's own, or a new one fed with what came before.
Result<std::unique_ptr<FrameSelector>> SelectorFor(UnitTask& task, ContextCache& cache) {
  const UnitInput& input = *task.input;
  const auto refs = [](const UnitInput& unit) {
    std::vector<av::Packet> packets;
    for (const av::Packet& packet : unit.packets) packets.push_back(av::Ref(*packet));
    return packets;
  };
  std::unique_ptr<FrameSelector> selector = std::move(task.run.selector);
  if (!selector) {
    const bool chained = input.spec.cut == CutKind::kChained;
    if (chained && (!task.run.history || !task.run.history->complete)) {
      return InternalError("The run is too large to be decoded again.");
    }
    GOPMILL_ASSIGN_OR_RETURN(auto decoder, cache.TakeDecoder(*task.plan->source));
    const std::int64_t first =
        chained ? task.run.history->units.front()->spec.first_packet : input.spec.first_packet;
    selector = std::make_unique<FrameSelector>(task.plan, std::move(decoder), first);
    if (chained) {
      for (const auto& unit : task.run.history->units)
        selector->Feed(refs(*unit), unit->spec.run_fed);
    }
  }
  selector->Feed(refs(input), input.spec.ends_run || input.spec.run_fed);
  selector->ResetCounts();
  return selector;
}

// Hands the run on, or gives its decoder back to the worker.
class RunEnd {
 public:
  RunEnd(const UnitTask& task, ContextCache& cache, UnitStats& stats, UnitOutput& output)
      : task_(task), cache_(cache), stats_(stats), output_(output) {}

  void Decoded(std::unique_ptr<FrameSelector>& selector) {
    stats_.selection = selector->counts();
    stats_.damaged = selector->damaged();
    if (task_.input->spec.ends_run) {
      cache_.GiveDecoder(*task_.plan->source, selector->TakeDecoder());
      return;
    }
    auto state = std::make_unique<RunState>();
    state->selector = std::move(selector);
    state->history = Extend(task_.run.history, task_.input);
    output_.OnRunReady(std::move(state));
  }

 private:
  const UnitTask& task_;
  ContextCache& cache_;
  UnitStats& stats_;
  UnitOutput& output_;
};

bool Repeatable(const UnitTask& task) {
  return task.input->spec.cut != CutKind::kChained ||
         (task.run.history && task.run.history->complete);
}

// What one pass made, held back until it has been judged.
struct JudgedPass {
  explicit JudgedPass(const EncoderSpec& spec) {
    if (spec.maxrate > 0) vbv.emplace(spec.maxrate, spec.bufsize, spec.fps);
  }
  void Add(av::Packet packet) {
    if (vbv) vbv->Add(packet->size);
    bytes += packet->size;
    packets.push_back(std::move(packet));
  }
  [[nodiscard]] double vbv_factor() const {
    return vbv && !vbv->passes() ? vbv->CorrectionFactor() : 1;
  }

  std::optional<VbvModel> vbv;
  std::int64_t bytes = 0;
  std::vector<av::Packet> packets;
};

// Passes over the unit until one is good, or no better one can be had. Each depends on the results
// of those before it and on nothing else.
Status RunJudged(UnitTask& task, ContextCache& cache, const std::stop_token& stop, UnitStats& stats,
                 UnitOutput& output, std::unique_ptr<FrameSelector>& selector,
                 const UnitPass::DecodedHandler& on_decoded) {
  UnitRate rate(*task.encoder, task.input->spec, Repeatable(task));
  std::optional<JudgedPass> best;
  // A later pass decodes again on its own and hands nothing on.
  const auto give_back = [&] { cache.GiveDecoder(*task.plan->source, selector->TakeDecoder()); };
  for (stats.encodes = 1;; ++stats.encodes) {
    JudgedPass judged(*task.encoder);
    stats.concealed = 0;
    UnitPass pass(task, cache, stop, stats, output);
    GOPMILL_RETURN_IF_ERROR(pass.Run(
        *selector, rate.next(), [&](av::Packet packet) { judged.Add(std::move(packet)); },
        stats.encodes == 1 ? on_decoded : UnitPass::DecodedHandler(give_back)));
    const UnitRate::Verdict verdict = rate.Judge(judged.bytes, judged.vbv_factor());
    if (verdict.keep) best.emplace(std::move(judged));
    if (verdict.done) break;
    task.run.selector.reset();
    GOPMILL_ASSIGN_OR_RETURN(selector, SelectorFor(task, cache));
  }
  stats.vbv_violated = best->vbv_factor() < 1;
  stats.bytes = best->bytes;
  for (av::Packet& packet : best->packets) output.OnPacket(std::move(packet));
  return OkStatus();
}

}  // namespace

Result<UnitStats> TranscodeUnit(UnitTask task, ContextCache& cache, const std::stop_token& stop,
                                UnitOutput& output) {
  UnitStats stats;
  GOPMILL_ASSIGN_OR_RETURN(std::unique_ptr<FrameSelector> selector, SelectorFor(task, cache));
  RunEnd end(task, cache, stats, output);
  const auto on_decoded = [&] { end.Decoded(selector); };
  if (UnitRate::MustBeJudged(*task.encoder)) {
    GOPMILL_RETURN_IF_ERROR(RunJudged(task, cache, stop, stats, output, selector, on_decoded));
  } else {
    UnitPass pass(task, cache, stop, stats, output);
    const auto forward = [&](av::Packet packet) {
      stats.bytes += packet->size;
      output.OnPacket(std::move(packet));
    };
    GOPMILL_RETURN_IF_ERROR(
        pass.Run(*selector, {.bps = task.input->spec.budget_bps}, forward, on_decoded));
  }
  stats.frames = task.input->spec.frame_count();
  return stats;
}

}  // namespace gopmill
