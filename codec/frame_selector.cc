// SPDX-License-Identifier: Apache-2.0
#include "codec/frame_selector.h"

#include <algorithm>
#include <utility>

namespace gopmill {

FrameSelector::FrameSelector(std::shared_ptr<const StreamPlan> plan,
                             std::unique_ptr<VideoDecoder> decoder, std::int64_t first_number)
    : plan_(std::move(plan)), decoder_(std::move(decoder)), counted_(first_number) {}

FrameSelector::~FrameSelector() = default;

void FrameSelector::Feed(std::vector<av::Packet> packets, bool last) {
  for (av::Packet& packet : packets) unread_.push_back(std::move(packet));
  last_fed_ = last_fed_ || last;
}

// Pictures come in the order of display. One whose packet told no time has at best its decoding
// time by way of the decoder, and at a drain none at all: unless that lies where the next picture
// can be, it follows the one before it at the nominal rate.
void FrameSelector::Time(AVFrame& frame) {
  const VideoInfo& video = plan_->source->video;
  if (plan_->counted_pts) {
    frame.pts = Rescale(counted_++, video.fps.Inverse(), video.time_base);
    return;
  }
  const std::int64_t length =
      std::max<std::int64_t>(1, Rescale(1, video.fps.Inverse(), video.time_base));
  if (last_raw_ && !decoder_->time_told() &&
      (frame.pts == AV_NOPTS_VALUE || frame.pts - *last_raw_ < length / 2)) {
    frame.pts = *last_raw_ + length;
  }
  if (frame.pts != AV_NOPTS_VALUE) last_raw_ = frame.pts;
}

// One frame from the decoder; false = none left among the packets fed.
Result<bool> FrameSelector::DecodeRaw(AVFrame& frame) {
  while (true) {
    GOPMILL_ASSIGN_OR_RETURN(const bool got, decoder_->Receive(frame));
    if (got) {
      ++counts_.decoded;
      Time(frame);
      return true;
    }
    if (drain_sent_) return false;
    if (!unread_.empty()) {
      GOPMILL_RETURN_IF_ERROR(decoder_->Send(unread_.front().get()));
      unread_.pop_front();
    } else if (last_fed_) {
      GOPMILL_RETURN_IF_ERROR(decoder_->Send(nullptr));
      drain_sent_ = true;
    } else {
      return false;
    }
  }
}

// The next frame that temporal_ has for what the decoder gives; false = none yet, or no more.
Result<bool> FrameSelector::FilterTemporal(AVFrame& frame) {
  while (true) {
    av::Frame raw = std::move(changed_);
    if (!raw) {
      raw = av::NewFrame();
      GOPMILL_ASSIGN_OR_RETURN(const bool got, DecodeRaw(*raw));
      if (!got && !drain_sent_) return false;
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
  return plan_->temporal_context() > 0 ? FilterTemporal(frame) : DecodeRaw(frame);
}

// Fills next_ with the first frame later than current_, or leaves it empty at the end.
Status FrameSelector::PullNext() {
  while (!next_ && !drained_) {
    av::Frame frame = av::NewFrame();
    GOPMILL_ASSIGN_OR_RETURN(const bool got, Decode(*frame));
    if (!got) {
      drained_ = drain_sent_;
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

// What no frame will show, for its captions.
Status FrameSelector::PullRest(SourceTicks end) {
  while (has_captions_) {
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
    if (current_ && !current_shown_) ++counts_.dropped;
    current_ = std::move(next_);
    current_shown_ = false;
    fresh = true;
  }
  if (!current_) return Selected{};
  const bool repeated = !fresh && current_shown_;
  if (repeated) ++counts_.repeated;
  current_shown_ = true;
  if (end_pts) GOPMILL_RETURN_IF_ERROR(PullRest(*end_pts));
  return Selected{.frame = current_.get(),
                  .repeated = repeated,
                  .captions = TakeCaptions(before, end_pts ? *end_pts - 1 : latest)};
}

}  // namespace gopmill
