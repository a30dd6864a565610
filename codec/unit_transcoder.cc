// SPDX-License-Identifier: Apache-2.0
#include "codec/unit_transcoder.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <tuple>
#include <utility>

#include "codec/unit_pass.h"
#include "codec/unit_verdict.h"

namespace gopmill {
namespace {

Error Cancelled() { return {.code = Code::kCancelled, .message = "Cancelled."}; }

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
    HandOn(task_, std::move(selector), output_);
  }
  // Without a selector, who comes next decodes the run again, or has one from elsewhere.
  static void HandOn(const UnitTask& task, std::unique_ptr<FrameSelector> selector,
                     UnitOutput& output) {
    auto state = std::make_unique<RunState>();
    state->selector = std::move(selector);
    state->history = Extend(task.run.history, task.input);
    output.OnRunReady(std::move(state));
  }

 private:
  const UnitTask& task_;
  ContextCache& cache_;
  UnitStats& stats_;
  UnitOutput& output_;
};

// Passes over the unit again until one is good, or no better one can be had, each with a decode of
// its own that hands nothing on.
Status PassAgain(UnitTask& task, ContextCache& cache, const std::stop_token& stop, UnitStats& stats,
                 UnitOutput& output, UnitVerdict& verdict) {
  do {
    task.run.selector.reset();
    GOPMILL_ASSIGN_OR_RETURN(auto selector, SelectorFor(task, cache));
    UnitPass pass(task, cache, stop, stats, output);
    GOPMILL_RETURN_IF_ERROR(pass.Run(
        *selector, verdict.rate(), [&](av::Packet packet) { verdict.Add(std::move(packet)); },
        [&] { cache.GiveDecoder(*task.plan->source, selector->TakeDecoder()); }));
  } while (!verdict.EndPass());
  return OkStatus();
}

// One rendition of those that are made together.
struct Member {
  Member(UnitRendition& wanted, ContextCache& cache)
      : rendition(wanted), verdict(wanted.task, stats, *wanted.output) {
    pass.emplace(wanted.task, cache, wanted.stop, stats, *wanted.output);
  }

  UnitRendition& rendition;
  UnitStats stats;
  UnitVerdict verdict;
  std::optional<UnitPass> pass;  // the first
  const UnitPass::PacketHandler add = [this](av::Packet packet) { verdict.Add(std::move(packet)); };
};
using Members = std::vector<std::unique_ptr<Member>>;

// The first passes of all over one decode, which runs ahead as far as all of them may.
class PassTogether {
 public:
  PassTogether(Members& members, FrameSelector& selector)
      : members_(members),
        selector_(selector),
        spec_(members.front()->rendition.task.input->spec),
        room_(Room()),
        next_(spec_.first_frame) {}

  Status Run(const std::function<void()>& on_decoded);
  [[nodiscard]] Duration decode() const { return decode_; }

 private:
  using Picture = std::vector<av::Frame>;  // in the size of each member
  [[nodiscard]] std::size_t Room() const;
  Status Decode();
  Status EncodeOne();

  Members& members_;
  FrameSelector& selector_;
  const UnitSpec& spec_;
  const std::size_t room_;  // pictures
  std::int64_t next_;
  std::deque<Picture> ahead_;
  Duration decode_{};
};

std::size_t PassTogether::Room() const {
  std::size_t bytes = 0, picture = 0;
  for (const auto& member : members_) {
    bytes = std::max(bytes, member->rendition.task.decode_ahead_bytes);
    picture += UnitPass::FrameBytes(*member->rendition.task.encoder);
  }
  return std::max<std::size_t>(1, spec_.ends_run ? 0 : bytes / picture);
}

Status PassTogether::Decode() {
  const TimePoint begin = SteadyNow();
  GOPMILL_ASSIGN_OR_RETURN(const FrameSelector::Selected selected, selector_.Select(next_));
  decode_ += SteadyNow() - begin;
  Picture picture;
  for (auto& member : members_) {
    if (member->rendition.stop.stop_requested()) return Cancelled();
    GOPMILL_ASSIGN_OR_RETURN(av::Frame frame, member->pass->Make(selected, next_));
    picture.push_back(std::move(frame));
  }
  ahead_.push_back(std::move(picture));
  ++next_;
  return OkStatus();
}

Status PassTogether::EncodeOne() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i]->rendition.stop.stop_requested()) return Cancelled();
    GOPMILL_RETURN_IF_ERROR(members_[i]->pass->Encode(*ahead_.front()[i], members_[i]->add));
  }
  ahead_.pop_front();
  return OkStatus();
}

Status PassTogether::Run(const std::function<void()>& on_decoded) {
  for (auto& member : members_) {
    GOPMILL_RETURN_IF_ERROR(member->pass->Open(member->verdict.rate()));
  }
  while (next_ < spec_.end_frame || !ahead_.empty()) {
    if (next_ < spec_.end_frame && ahead_.size() < room_) {
      GOPMILL_RETURN_IF_ERROR(Decode());
      if (next_ == spec_.end_frame) on_decoded();
    } else {
      GOPMILL_RETURN_IF_ERROR(EncodeOne());
    }
  }
  for (auto& member : members_) {
    GOPMILL_RETURN_IF_ERROR(member->pass->Finish(member->add));
    member->pass.reset();  // gives its scaler back
  }
  return OkStatus();
}

// Lets go of the packets of those whose first pass was good, then makes the others again.
Status Conclude(Members& members, ContextCache& cache) {
  std::vector<Member*> again;
  for (auto& member : members) {
    if (member->verdict.EndPass()) {
      member->verdict.Release();
    } else {
      again.push_back(member.get());
    }
  }
  for (Member* member : again) {
    auto& [task, stop, output] = member->rendition;
    GOPMILL_RETURN_IF_ERROR(PassAgain(task, cache, stop, member->stats, *output, member->verdict));
    member->verdict.Release();
  }
  return OkStatus();
}

}  // namespace

Result<UnitStats> TranscodeUnit(UnitTask task, ContextCache& cache, const std::stop_token& stop,
                                UnitOutput& output) {
  UnitStats stats;
  UnitVerdict verdict(task, stats, output);
  GOPMILL_ASSIGN_OR_RETURN(std::unique_ptr<FrameSelector> selector, SelectorFor(task, cache));
  RunEnd end(task, cache, stats, output);
  {
    UnitPass pass(task, cache, stop, stats, output);
    GOPMILL_RETURN_IF_ERROR(pass.Run(
        *selector, verdict.rate(), [&](av::Packet packet) { verdict.Add(std::move(packet)); },
        [&] { end.Decoded(selector); }));
  }
  if (!verdict.EndPass()) {
    GOPMILL_RETURN_IF_ERROR(PassAgain(task, cache, stop, stats, output, verdict));
  }
  verdict.Release();
  stats.frames = task.input->spec.frame_count();
  return stats;
}

bool ShowTheSame(const UnitTask& a, const UnitTask& b) {
  const UnitSpec &left = a.input->spec, &right = b.input->spec;
  const auto place = [](const UnitSpec& spec) {
    return std::tuple(spec.index, spec.first_frame, spec.end_frame, spec.first_packet,
                      spec.end_packet, spec.cut, spec.ends_run, spec.run_fed);
  };
  return a.plan->source == b.plan->source && a.plan->grid.fps() == b.plan->grid.fps() &&
         a.plan->grid.origin() == b.plan->grid.origin() &&
         a.plan->counted_pts == b.plan->counted_pts && place(left) == place(right);
}

Result<std::vector<UnitStats>> TranscodeTogether(std::span<UnitRendition> renditions,
                                                 ContextCache& cache) {
  Members members;
  for (UnitRendition& rendition : renditions) {
    members.push_back(std::make_unique<Member>(rendition, cache));
  }
  Member& first = *members.front();
  UnitTask& task = first.rendition.task;
  GOPMILL_ASSIGN_OR_RETURN(std::unique_ptr<FrameSelector> selector, SelectorFor(task, cache));
  RunEnd end(task, cache, first.stats, *first.rendition.output);
  const auto decoded = [&] {
    end.Decoded(selector);
    for (auto& member : members) {
      if (member.get() == &first) continue;
      member->stats.selection = {.dropped = first.stats.selection.dropped,
                                 .repeated = first.stats.selection.repeated};
      member->stats.damaged = first.stats.damaged;
      member->stats.decoded_elsewhere = true;
      const UnitRendition& own = member->rendition;
      if (!task.input->spec.ends_run) RunEnd::HandOn(own.task, nullptr, *own.output);
    }
  };
  PassTogether passes(members, *selector);
  GOPMILL_RETURN_IF_ERROR(passes.Run(decoded));
  GOPMILL_RETURN_IF_ERROR(Conclude(members, cache));
  std::vector<UnitStats> stats;
  for (auto& member : members) {
    member->stats.decode += passes.decode() / static_cast<std::int64_t>(members.size());
    member->stats.frames = task.input->spec.frame_count();
    member->stats.renditions = static_cast<int>(members.size());
    stats.push_back(member->stats);
  }
  return stats;
}

}  // namespace gopmill
