// SPDX-License-Identifier: Apache-2.0
#include "codec/run_pictures.h"

#include <algorithm>
#include <utility>

#include "media/coding_header.h"
#include "media/held_packets.h"
#include "media/unit_planner.h"

namespace gopmill {
namespace {

// Pictures in front of a cut: for a filter that looks at one, and for the captions of those that no
// frame shows.
constexpr std::int64_t kKeptBeforeCut = 8;

void Add(const TapCounts& some, TapCounts& sum) {
  sum.decoded += some.decoded;
  sum.taken += some.taken;
  sum.damaged += some.damaged;
}

}  // namespace

void RunPictures::Leg::Feed(av::Packet packet) {
  if (tap) {
    tap->Feed(*packet);
  } else {
    unread.push_back(std::move(packet));
  }
}

void RunPictures::Leg::Close() {
  fed = true;
  if (tap) tap->Close();
}

TapCounts RunPictures::Leg::counts() const {
  if (tap) return tap->counts();
  return {.decoded = decoded, .damaged = decoder ? decoder->damaged() : 0};
}

Result<bool> RunPictures::Leg::Next(AVFrame& frame) {
  if (tap) return tap->Next(frame);
  if (coded != nullptr) {
    const VideoInfo& video = coded->video;
    GOPMILL_ASSIGN_OR_RETURN(
        decoder, VideoDecoder::Open(*video.parameters, video.time_base, video.x264_build));
    coded.reset();
  }
  while (true) {
    GOPMILL_ASSIGN_OR_RETURN(const bool got, decoder->Receive(frame));
    if (got) {
      ++decoded;
      return true;
    }
    if (drain_sent) return false;
    if (!unread.empty()) {
      GOPMILL_RETURN_IF_ERROR(decoder->Send(unread.front().get()));
      unread.pop_front();
    } else if (fed) {
      GOPMILL_RETURN_IF_ERROR(decoder->Send(nullptr));
      drain_sent = true;
    } else {
      return false;
    }
  }
}

void RunPictures::BeginWith(std::unique_ptr<VideoDecoder> decoder) {
  legs_.emplace_back().decoder = std::move(decoder);
}

Status RunPictures::BeginOwn(ContextCache& cache) {
  GOPMILL_ASSIGN_OR_RETURN(auto decoder, cache.TakeDecoder(*plan_->source));
  BeginWith(std::move(decoder));
  return OkStatus();
}

void RunPictures::FeedLast(av::Packet packet) {
  fed_captions_ = fed_captions_ || (may_have_captions_ && HasCaptionData(*packet));
  auto other = legs_.back().tap ? nullptr : CodingFrom(*coded_, *packet);
  if (other != nullptr) {
    coded_ = std::move(other);
    legs_.back().Close();
    legs_.emplace_back().coded = coded_;
  }
  legs_.back().Feed(std::move(packet));
}

void RunPictures::Feed(std::vector<av::Packet> packets, bool last) {
  for (av::Packet& packet : packets) FeedLast(std::move(packet));
  if (!last) return;
  fed_ = true;
  legs_.back().Close();
}

// What is decoded before a cut is for the decoder alone, but for the last pictures.
std::optional<SourceTicks> RunPictures::NeededOf(const UnitSpec& spec) const {
  if (!spec.cut_by_all) return std::nullopt;
  const VideoInfo& video = plan_->source->video;
  return *spec.cut_by_all - Rescale(kKeptBeforeCut, video.fps.Inverse(), video.time_base);
}

Status RunPictures::Feed(const UnitInput& unit, std::size_t place, ContextCache& cache,
                         PictureSeat* seat) {
  for (std::size_t i = place; i < unit.packets.size(); ++i) {
    if (seat != nullptr) GOPMILL_RETURN_IF_ERROR(PassBy(unit, i, cache, *seat));
    if (legs_.empty()) GOPMILL_RETURN_IF_ERROR(BeginOwn(cache));
    FeedLast(av::Ref(*unit.packets[i]));
  }
  if (!unit.spec.ends_run && !unit.spec.run_fed) return OkStatus();
  fed_ = true;
  if (!legs_.empty()) legs_.back().Close();
  return OkStatus();
}

// Shared is from places on where nothing depends on what was before. What its own decoder has begun
// goes on with that as long as there is nothing to share.
Status RunPictures::PassBy(const UnitInput& unit, std::size_t place, ContextCache& cache,
                           PictureSeat& seat) {
  const auto needed = place == 0 ? NeededOf(unit.spec) : std::nullopt;
  const bool closed = unit.access[place] == RandomAccess::kClosed && plan_->temporal_context() == 0;
  const bool in_row = std::exchange(closed_before_, closed);
  if (!needed && !closed) return OkStatus();
  const KeyMet met{.needed = needed, .alone = closed && (in_row || single_pictures_)};
  auto tap = seat.Visit(plan_->source->video, *unit.packets[place], met);
  const bool own = !legs_.empty() && !legs_.back().tap;
  if (!tap && own) return OkStatus();
  if (!legs_.empty()) legs_.back().Close();
  if (!tap) return BeginOwn(cache);
  legs_.emplace_back().tap = std::move(tap);
  return OkStatus();
}

// Pictures come in the order of display. One whose packet told no time has at best its decoding
// time by way of the decoder, and at a drain none at all: unless that lies where the next picture
// can be, it follows the one before it at the nominal rate.
void RunPictures::Time(const Leg& leg, AVFrame& frame) {
  const VideoInfo& video = plan_->source->video;
  if (plan_->counted_pts) {
    frame.pts = Rescale(counted_++, video.fps.Inverse(), video.time_base);
    return;
  }
  const std::int64_t length =
      std::max<std::int64_t>(1, Rescale(1, video.fps.Inverse(), video.time_base));
  const bool told = leg.tap || leg.decoder->time_told();
  if (last_ && !told && (frame.pts == AV_NOPTS_VALUE || frame.pts - *last_ < length / 2)) {
    frame.pts = *last_ + length;
  }
  if (frame.pts != AV_NOPTS_VALUE) last_ = frame.pts;
}

Result<bool> RunPictures::Next(AVFrame& frame) {
  while (!legs_.empty()) {
    Leg& leg = legs_.front();
    GOPMILL_ASSIGN_OR_RETURN(const bool got, leg.Next(frame));
    if (got) {
      made_up_ = made_up_ || HasMadeUpParts(frame);
      Time(leg, frame);
      return true;
    }
    if (!leg.over() || legs_.size() == 1) return false;
    Add(leg.counts(), before_);
    legs_.pop_front();
  }
  return false;
}

bool RunPictures::over() const {
  return fed_ && (legs_.empty() || (legs_.size() == 1 && legs_.front().over()));
}

bool RunPictures::lost() const {
  return std::ranges::any_of(legs_, [](const Leg& leg) { return leg.tap && leg.tap->lost(); });
}

TapCounts RunPictures::counts() const {
  TapCounts sum = before_;
  for (const Leg& leg : legs_) Add(leg.counts(), sum);
  return sum;
}

std::size_t RunPictures::footprint_bytes() const {
  std::size_t sum = 0;
  for (const Leg& leg : legs_) {
    if (leg.decoder) sum += leg.decoder->footprint_bytes();
    for (const av::Packet& packet : leg.unread) sum += HeldBytes(*packet);
  }
  return sum;
}

std::unique_ptr<VideoDecoder> RunPictures::TakeDecoder() {
  if (legs_.empty() || coded_ != plan_->source) return nullptr;
  return std::move(legs_.back().decoder);
}

}  // namespace gopmill
