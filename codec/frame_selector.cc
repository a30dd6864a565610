// SPDX-License-Identifier: Apache-2.0
#include "codec/frame_selector.h"

#include <algorithm>
#include <utility>

namespace gopmill {

FrameSelector::FrameSelector(std::shared_ptr<const StreamPlan> plan,
                             std::unique_ptr<VideoDecoder> decoder, std::int64_t first_number)
    : FrameSelector(std::move(plan), first_number) {
  pictures_.BeginWith(std::move(decoder));
}

FrameSelector::FrameSelector(std::shared_ptr<const StreamPlan> plan, std::int64_t first_number)
    : plan_(std::move(plan)), pictures_(plan_, first_number) {}

FrameSelector::~FrameSelector() = default;

SelectionCounts FrameSelector::counts() const {
  const TapCounts now = pictures_.counts();
  SelectionCounts counts = counts_;
  counts.decoded = now.decoded - before_.decoded;
  counts.taken = now.taken - before_.taken;
  return counts;
}

// The next frame that temporal_ has for what the decoder gives; false = none yet, or no more.
Result<bool> FrameSelector::FilterTemporal(AVFrame& frame) {
  while (true) {
    av::Frame raw = std::move(changed_);
    if (!raw) {
      raw = av::NewFrame();
      GOPMILL_ASSIGN_OR_RETURN(const bool got, pictures_.Next(*raw));
      if (!got && !pictures_.over()) return false;
      if (!got) return temporal_ ? temporal_->Filter(nullptr, frame) : Result<bool>(false);
    }
    const FilterSpec spec = TemporalPart(*plan_, *raw);
    if (temporal_ && !(temporal_->spec() == spec)) {
      GOPMILL_ASSIGN_OR_RETURN(const bool left, temporal_->Filter(nullptr, frame));
      changed_ = std::move(raw);
      if (left) return true;
      temporal_.reset();
      continue;
    }
    if (!temporal_) {
      GOPMILL_ASSIGN_OR_RETURN(temporal_, FrameFilter::Open(spec));
    }
    GOPMILL_ASSIGN_OR_RETURN(const bool out, temporal_->Filter(raw.get(), frame));
    if (out) return true;
  }
}

// One frame as the selection sees it.
Result<bool> FrameSelector::Decode(AVFrame& frame) {
  return plan_->temporal_context() > 0 ? FilterTemporal(frame) : pictures_.Next(frame);
}

// Fills next_ with the first frame later than current_, or leaves it empty at the end.
Status FrameSelector::PullNext() {
  while (!next_ && !drained_) {
    av::Frame frame = av::NewFrame();
    GOPMILL_ASSIGN_OR_RETURN(const bool got, Decode(*frame));
    if (!got) {
      drained_ = pictures_.over();
      return OkStatus();
    }
    if (frame->pts == AV_NOPTS_VALUE || (current_ && frame->pts <= current_->pts)) {
      ++counts_.dropped;  // no place on the clock of its own
      continue;
    }
    next_ = std::move(frame);
    Captions captions = CaptionsOf(*next_);
    if (captions.empty()) continue;
    has_captions_ = true;
    captions_.push_back({.pts = next_->pts, .captions = std::move(captions)});
  }
  return OkStatus();
}

// What no frame will show, for its captions; without any, as most sources are, it is not worth
// decoding.
Status FrameSelector::PullRest(SourceTicks end) {
  while (has_captions_ || pictures_.fed_captions()) {
    GOPMILL_RETURN_IF_ERROR(PullNext());
    if (!next_ || next_->pts >= end) break;
    ++counts_.dropped;
    next_.reset();
  }
  return OkStatus();
}

// By their times alone: it does not matter where the decoder began.
Captions FrameSelector::TakeCaptions(SourceTicks after, SourceTicks latest) {
  Captions all;
  while (!captions_.empty() && captions_.front().pts <= latest) {
    const auto& [pts, captions] = captions_.front();
    if (pts > after) all.insert(all.end(), captions.begin(), captions.end());
    captions_.pop_front();
  }
  return all;
}

Result<FrameSelector::Selected> FrameSelector::Select(std::int64_t n,
                                                      std::optional<SourceTicks> end_pts) {
  const SourceTicks latest = plan_->grid.LatestPts(n - plan_->grid.first());
  const SourceTicks before = plan_->grid.LatestPts(n - 1 - plan_->grid.first());
  bool fresh = false;
  while (true) {
    GOPMILL_RETURN_IF_ERROR(PullNext());
    // With no picture yet, the first one that comes stands in for what is missing before it.
    const bool take = next_ && (next_->pts <= latest || !current_);
    if (!take) break;
    if (current_ && !current_shown_) {
      ++counts_.dropped;
      if (!any_shown_ && current_->pts <= before) ++counts_.preroll;
    }
    current_ = std::move(next_);
    current_shown_ = false;
    fresh = true;
  }
  if (!current_) return Selected{};
  const bool repeated = !fresh && current_shown_;
  if (repeated) ++counts_.repeated;
  current_shown_ = any_shown_ = true;
  if (end_pts) GOPMILL_RETURN_IF_ERROR(PullRest(*end_pts));
  return Selected{.frame = current_.get(),
                  .repeated = repeated,
                  .captions = TakeCaptions(before, end_pts ? *end_pts - 1 : latest)};
}

}  // namespace gopmill
