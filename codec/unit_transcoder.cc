// SPDX-License-Identifier: Apache-2.0
#include "codec/unit_transcoder.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <tuple>
#include <utility>

#include "codec/decode_aside.h"
#include "codec/unit_member.h"
#include "media/unit_planner.h"

namespace gopmill {
namespace {

std::shared_ptr<const RunHistory> Extend(const std::shared_ptr<const RunHistory>& before,
                                         const std::shared_ptr<const UnitInput>& unit) {
  auto after = before ? std::make_shared<RunHistory>(*before) : std::make_shared<RunHistory>();
  after->bytes += HeldBytes(unit->packets);
  after->complete = after->complete && after->bytes <= kMaxRunHistoryBytes &&
                    after->units.size() < kMaxRunHistoryUnits;
  if (after->complete) {
    after->units.push_back(unit);
  } else {
    after->units.clear();
  }
  return after;
}

// Where pictures are shared: not for what ends or looks further than those who share do.
PictureSeat* SeatOf(const UnitTask& task) {
  const StreamPlan& plan = *task.plan;
  const bool alike = !plan.target.duration.valid() && !plan.counted_pts &&
                     plan.target.degrain == Denoise::kOff && plan.target.unit_seconds > 0;
  return alike ? task.pictures.get() : nullptr;
}

std::vector<av::Packet> PacketsOf(const UnitInput& unit) {
  std::vector<av::Packet> packets;
  packets.reserve(unit.packets.size());
  for (const av::Packet& packet : unit.packets) packets.push_back(av::Ref(*packet));
  return packets;
}

// At the start of the unit, with a decoder of its own that is fed with what came before.
Result<std::unique_ptr<FrameSelector>> DecodeAgain(const UnitTask& task, ContextCache& cache) {
  const UnitInput& input = *task.input;
  const bool chained = input.spec.cut == CutKind::kChained;
  if (chained && (!task.run.history || !task.run.history->complete)) {
    return InternalError("The run is too large to be decoded again.");
  }
  GOPMILL_ASSIGN_OR_RETURN(auto decoder, cache.TakeDecoder(*task.plan->source));
  const std::int64_t first =
      chained ? task.run.history->units.front()->spec.first_packet : input.spec.first_packet;
  auto selector = std::make_unique<FrameSelector>(task.plan, std::move(decoder), first);
  if (chained) {
    for (const auto& unit : task.run.history->units)
      selector->Feed(PacketsOf(*unit), unit->spec.run_fed);
  }
  selector->Feed(PacketsOf(input), input.spec.ends_run || input.spec.run_fed);
  return selector;
}

// A selector at the start of the unit: the run's own, one that begins a run, or a new one fed with
// what came before.
Result<std::unique_ptr<FrameSelector>> SelectorFor(UnitTask& task, ContextCache& cache) {
  const UnitSpec& spec = task.input->spec;
  std::unique_ptr<FrameSelector> selector = std::move(task.run.selector);
  if (!selector && spec.cut != CutKind::kChained) {
    selector = std::make_unique<FrameSelector>(task.plan, spec.first_packet);
  }
  if (selector) {
    const std::size_t fed = std::exchange(task.run.fed, 0);
    GOPMILL_RETURN_IF_ERROR(selector->Feed(*task.input, fed, cache, SeatOf(task)));
  }
  if (!selector || selector->lost()) {
    GOPMILL_ASSIGN_OR_RETURN(selector, DecodeAgain(task, cache));
  }
  selector->ResetCounts();
  return selector;
}

using Member = UnitMember;
using Members = std::vector<Member*>;

bool IsCancelled(const Member* member) { return member->stats.cancelled; }

// A piece without the encoder of the pieces before.
bool MustGoBack(const Members& members) {
  return std::ranges::any_of(members, [](const Member* member) {
    return !member->spec().begins_gop() && !member->rendition.task.run.gop;
  });
}

// Whether they are pieces of GOPs that begin at one place of the grid.
bool BeginTogether(const Members& members) {
  const auto begin = [](const Member* member) {
    return member->rendition.task.plan->grid.first() + member->spec().gop_frame();
  };
  return std::ranges::all_of(
      members, [&](const Member* member) { return begin(member) == begin(members.front()); });
}

// The first has the run if any of them had it, also one that was asked to stop.
void PassRunOn(std::deque<Member>& all, Member& first, ContextCache& cache) {
  RunState& own = first.rendition.task.run;
  for (Member& member : all) {
    RunState& other = member.rendition.task.run;
    if (&other == &own || !other.selector) continue;
    if (!own.selector) {
      own.selector = std::move(other.selector);
      own.fed = other.fed;
    } else {
      cache.GiveDecoder(*member.rendition.task.plan->source, other.selector->TakeDecoder());
      other.selector.reset();
    }
  }
}

// A unit decodes ahead if there is room for one in so many of its frames.
constexpr std::size_t kLeastAhead = 4;

// One pass of each member over one decode, which runs ahead as far as all of them may.
class PassTogether {
 public:
  PassTogether(const Members& members, FrameSelector& selector)
      : members_(members),
        selector_(selector),
        spec_(members.front()->spec()),
        again_(MustGoBack(members)),
        all_end_gop_(std::ranges::all_of(members, [](Member* m) { return m->spec().ends_gop; })),
        room_(Room()),
        next_(again_ ? spec_.gop_frame() : spec_.first_frame) {}

  // `hand_on`: the selector is not used any more, nor is the GOP if that goes on.
  Status Run(const std::function<void()>& hand_on);

 private:
  using Picture = std::vector<av::Frame>;  // in the size of each member
  [[nodiscard]] std::size_t Room() const;
  Result<FrameSelector::Selected> Select();
  Status Decode();
  Status EncodeOne();
  [[nodiscard]] bool WantsAside() const;
  // The place on the grid of an output frame of the first member.
  [[nodiscard]] std::int64_t OnGrid(std::int64_t frame) const {
    return frame + members_.front()->rendition.task.plan->grid.first();
  }

  const Members& members_;
  FrameSelector& selector_;
  const UnitSpec& spec_;
  const bool again_, all_end_gop_;
  const std::size_t room_;  // pictures
  std::int64_t next_;
  std::deque<Picture> ahead_;
  std::unique_ptr<DecodeAside> aside_;  // null: selector_ is used on this thread
  SourcePicture shown_;                 // of aside_, newest
};

std::size_t PassTogether::Room() const {
  std::size_t bytes = 0, picture = 0;
  for (const Member* member : members_) {
    bytes = std::max(bytes, member->rendition.task.decode_ahead_bytes);
    picture += UnitPass::FrameBytes(*member->rendition.task.encoder);
  }
  const bool ahead = !spec_.ends_run && all_end_gop_;
  const std::size_t room = ahead ? bytes / picture : 0;
  // The run would go on a little earlier only: not worth the memory.
  if (kLeastAhead * room < static_cast<std::size_t>(spec_.frame_count())) return 1;
  return std::max<std::size_t>(1, room);
}

bool PassTogether::WantsAside() const {
  const auto wants = [](const Member* member) { return member->rendition.task.decode_aside; };
  return !again_ && room_ == 1 && std::ranges::any_of(members_, wants);
}

Result<FrameSelector::Selected> PassTogether::Select() {
  const bool last = next_ + 1 == spec_.end_frame;
  if (!aside_) return selector_.Select(OnGrid(next_), last ? spec_.end_pts : std::nullopt);
  GOPMILL_ASSIGN_OR_RETURN(shown_, aside_->Next());
  return FrameSelector::Selected{.frame = shown_.frame.get(),
                                 .repeated = shown_.repeated,
                                 .captions = std::move(shown_.captions)};
}

// Each has its share of the decoding time.
Status PassTogether::Decode() {
  if (again_ && next_ == spec_.first_frame) {  // what was before has been counted
    members_.front()->stats.decoded_again += selector_.counts().decoded;
    selector_.ResetCounts();
    for (Member* member : members_) member->stats.damage = {};
  }
  const TimePoint begin = SteadyNow();
  GOPMILL_ASSIGN_OR_RETURN(const FrameSelector::Selected selected, Select());
  Duration all = aside_ ? Duration::zero() : SteadyNow() - begin;
  Duration aside_cpu{};
  if (aside_ && next_ + 1 == spec_.end_frame) {
    all = aside_->End();
    aside_cpu = aside_->cpu();
  }
  const auto sharers = static_cast<std::int64_t>(members_.size());
  const Duration took = all / sharers;
  Picture picture(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i]->stats.cancelled) continue;
    members_[i]->stats.decode += took;
    members_[i]->stats.aside_cpu += aside_cpu / sharers;
    GOPMILL_ASSIGN_OR_RETURN(picture[i], members_[i]->Make(selected, next_ - spec_.first_frame));
  }
  ahead_.push_back(std::move(picture));
  ++next_;
  return OkStatus();
}

Status PassTogether::EncodeOne() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i]->stats.cancelled) continue;
    GOPMILL_RETURN_IF_ERROR(members_[i]->Encode(*ahead_.front()[i]));
  }
  ahead_.pop_front();
  return OkStatus();
}

Status PassTogether::Run(const std::function<void()>& hand_on) {
  for (Member* member : members_) GOPMILL_RETURN_IF_ERROR(member->BeginPass(again_));
  if (WantsAside()) {
    // Without a thread to be had it works on this one.
    auto aside = DecodeAside::Begin(
        selector_,
        {.first = OnGrid(next_), .end = OnGrid(spec_.end_frame), .end_pts = spec_.end_pts});
    if (aside.ok()) aside_ = std::move(aside).value();
  }
  while (next_ < spec_.end_frame || !ahead_.empty()) {
    bool any = false;
    for (Member* member : members_) any |= member->goes_on();
    if (!any) return Cancelled();
    if (next_ < spec_.end_frame && ahead_.size() < room_) {
      GOPMILL_RETURN_IF_ERROR(Decode());
      if (next_ == spec_.end_frame && all_end_gop_) hand_on();
    } else {
      GOPMILL_RETURN_IF_ERROR(EncodeOne());
    }
  }
  for (Member* member : members_) {
    if (!member->stats.cancelled) GOPMILL_RETURN_IF_ERROR(member->EndPass());
  }
  if (!all_end_gop_) hand_on();
  return OkStatus();
}

void SayPicturesLost(const Members& members) {
  for (Member* member : members) member->rendition.output->OnPicturesLost();
}

// Passes over the unit again until one is good, or no better one can be had, each with a decode of
// its own that hands nothing on.
Status PassAgain(Member& member, ContextCache& cache) {
  UnitTask& task = member.rendition.task;
  do {
    task.run.selector.reset();
    member.stats.damage.concealed = member.stats.damage.patched = 0;
    GOPMILL_ASSIGN_OR_RETURN(auto selector, SelectorFor(task, cache));
    const Members alone{&member};
    const Status passed = PassTogether(alone, *selector).Run([&] {
      const std::int64_t decoded = selector->counts().decoded;
      member.stats.selection.decoded += decoded;
      member.stats.decoded_again += decoded;
      cache.GiveDecoder(*task.plan->source, selector->TakeDecoder());
    });
    if (!passed.ok() && selector->lost()) SayPicturesLost(alone);
    GOPMILL_RETURN_IF_ERROR(passed);
  } while (!member.concluded() && !member.verdict.EndPass());
  return OkStatus();
}

// Lets go of the packets of those whose first pass was good, then makes the others again.
Status Conclude(const Members& members, ContextCache& cache) {
  Members again;
  for (Member* member : members) {
    if (member->stats.cancelled) continue;
    if (member->concluded() || member->verdict.EndPass()) {
      member->verdict.Release();
    } else {
      again.push_back(member);
    }
  }
  for (Member* member : again) {
    const Status made = PassAgain(*member, cache);
    if (!member->goes_on()) continue;
    GOPMILL_RETURN_IF_ERROR(made);
    member->verdict.Release();
  }
  return OkStatus();
}

// The unit's last frame has been decoded: the first member hands the run on, or gives its decoder
// back to the worker; the others hand on the run's history. Each hands on its GOP if that goes on.
void EndRun(const Members& members, std::unique_ptr<FrameSelector> selector, ContextCache& cache) {
  const SelectionCounts counts = selector->counts();
  const std::int64_t rejected = selector->damaged();
  const bool flawless = selector->flawless();
  const UnitTask& task = members.front()->rendition.task;
  const bool over = task.input->spec.ends_run;
  if (over) cache.GiveDecoder(*task.plan->source, selector->TakeDecoder());
  const auto first = std::ranges::find(members, false, IsCancelled);
  for (Member* member : members) {
    UnitStats& stats = member->stats;
    if (stats.cancelled) continue;
    stats.selection = counts;
    stats.damage.rejected = rejected;
    stats.flawless_run = flawless;
    if (member != *first) stats.selection.decoded = stats.selection.taken = 0;
    stats.decoded_again += std::min(counts.preroll, stats.selection.decoded);
    stats.decoded_elsewhere = member != *first || (counts.decoded == 0 && counts.taken > 0);
    if (over) continue;
    const UnitRendition& own = member->rendition;
    auto state = std::make_unique<RunState>();
    state->selector = std::move(selector);  // null after the first
    state->history = Extend(own.task.run.history, own.task.input);
    if (member->gop) state->gop_packets = member->gop->packets;
    state->gop = std::move(member->gop);
    own.output->OnRunReady(std::move(state));
  }
}

}  // namespace

Result<UnitStats> TranscodeUnit(UnitTask task, ContextCache& cache, const std::stop_token& stop,
                                UnitOutput& output) {
  UnitRendition only{.task = std::move(task), .stop = stop, .output = &output};
  GOPMILL_ASSIGN_OR_RETURN(const std::vector<UnitStats> stats,
                           TranscodeTogether({&only, 1}, cache));
  return stats.front();
}

bool ShowTheSame(const UnitTask& a, const UnitTask& b) {
  const auto place = [](const UnitTask& task) {
    const UnitSpec& spec = task.input->spec;
    const StreamPlan& plan = *task.plan;
    const std::int64_t frame = plan.grid.first(), packet = plan.first_packet;
    // Of readers with different sound the sources differ, but not in their pictures.
    // Grids that were made for another coding forgive other times, so the latest of one counts too.
    return std::tuple(plan.source->video.parameters.get(), plan.grid.fps(), plan.grid.origin(),
                      plan.grid.LatestPts(-frame), plan.counted_pts, plan.target.degrain,
                      plan.deinterlace(), frame + spec.first_frame, frame + spec.end_frame,
                      packet + spec.sync_packet, packet + spec.first_packet,
                      packet + spec.end_packet, spec.ends_run, spec.run_fed, spec.end_pts);
  };
  // A reader that has lost something has other packets of these numbers, or at other times.
  const auto same_packet = [](const av::Packet& left, const av::Packet& right) {
    return left->data == right->data && left->pts == right->pts && left->dts == right->dts;
  };
  return place(a) == place(b) &&
         std::ranges::equal(a.input->packets, b.input->packets, same_packet);
}

namespace {

Result<std::vector<UnitStats>> TranscodeApart(std::span<UnitRendition> renditions,
                                              ContextCache& cache) {
  std::vector<UnitStats> stats;
  for (std::size_t i = 0; i < renditions.size(); ++i) {
    const auto one = TranscodeTogether(renditions.subspan(i, 1), cache);
    if (!one.ok() && !renditions[i].stop.stop_requested()) return one.error();
    stats.push_back(one.ok() ? one->front() : UnitStats{});
    stats.back().cancelled = !one.ok();
  }
  return stats;
}

}  // namespace

Result<std::vector<UnitStats>> TranscodeTogether(std::span<UnitRendition> renditions,
                                                 ContextCache& cache) {
  std::deque<Member> owned;
  Members members;
  for (UnitRendition& rendition : renditions) {
    Member& member = owned.emplace_back(rendition, cache);
    if (member.goes_on()) members.push_back(&member);
  }
  if (members.empty()) return Cancelled();
  if (MustGoBack(members) && !BeginTogether(members)) return TranscodeApart(renditions, cache);
  PassRunOn(owned, *members.front(), cache);
  UnitTask& task = members.front()->rendition.task;
  if (MustGoBack(members)) task.run.selector.reset();
  GOPMILL_ASSIGN_OR_RETURN(std::unique_ptr<FrameSelector> selector, SelectorFor(task, cache));
  const Status passed =
      PassTogether(members, *selector).Run([&] { EndRun(members, std::move(selector), cache); });
  if (!passed.ok() && selector && selector->lost()) SayPicturesLost(members);
  GOPMILL_RETURN_IF_ERROR(passed);
  GOPMILL_RETURN_IF_ERROR(Conclude(members, cache));
  if (std::ranges::all_of(members, IsCancelled)) return Cancelled();
  std::vector<UnitStats> stats;
  for (Member& member : owned) {
    if (!member.stats.cancelled) {
      member.stats.frames = task.input->spec.frame_count();
      member.stats.renditions = static_cast<int>(members.size());
    }
    stats.push_back(member.stats);
  }
  return stats;
}

}  // namespace gopmill
