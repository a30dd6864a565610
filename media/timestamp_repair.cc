// SPDX-License-Identifier: Apache-2.0
#include "media/timestamp_repair.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gopmill {
namespace {
// Pictures that may be decoded between one and its turn to be shown; the codecs allow 16.
constexpr int kMaxReorderFrames = 32;

char meant_mark;  // its address
bool IsMeant(const AVPacket& packet) { return packet.opaque == &meant_mark; }

double Seconds(const TimestampRepair::Track& track, std::int64_t ticks) {
  return static_cast<double>(ticks) * track.time_base.ToDouble();
}

std::int64_t Ticks(const TimestampRepair::Track& track, double seconds) {
  return std::llround(seconds / track.time_base.ToDouble());
}

// Whether a picture cannot be shown so long after (or before) it is decoded: its time is broken,
// and would make the output as long as it says.
bool TooFar(const TimestampRepair::Track& track, std::int64_t distance, bool meant) {
  const double ahead = meant ? kMaxPacketSeconds : kMaxAheadSeconds;
  const double longest =
      std::max(distance > 0 ? ahead : kMaxGapSeconds, kMaxReorderFrames * track.frame_seconds);
  return std::abs(Seconds(track, distance)) > longest;
}

}  // namespace

void MarkMeant(AVPacket& packet) { packet.opaque = &meant_mark; }

TimestampRepair::TimestampRepair(std::int64_t zero_us, const std::vector<Track>& tracks) {
  constexpr auto kMostMicros = static_cast<std::int64_t>(kMostSeconds * 1e6);
  zero_us = std::clamp(zero_us, -kMostMicros, kMostMicros);
  for (const Track& track : tracks) {
    State state;
    state.track = track;
    state.zero = Rescale(zero_us, kMicros, track.time_base);
    if (track.frame_seconds > 0) {
      state.last_duration = Ticks(track, track.frame_seconds);
    }
    states_.push_back(state);
  }
}

void TimestampRepair::Bound(const Track& track, AVPacket& packet) {
  for (std::int64_t* time : {&packet.dts, &packet.pts}) {
    if (*time == AV_NOPTS_VALUE || std::abs(Seconds(track, *time)) <= kMostSeconds) continue;
    *time = AV_NOPTS_VALUE;
    ++repaired_;
  }
  if (Seconds(track, packet.duration) <= kMaxPacketSeconds) return;
  packet.duration = Ticks(track, kMaxPacketSeconds);
  ++repaired_;
}

// Whether another track, begun before this one's last packet, has come to that time. If that is
// long after, only the pictures count.
bool TimestampRepair::IsPause(const State& state, double seconds) const {
  const double last = Seconds(state.track, *state.last_dts);
  const bool is_long = seconds - last > kMaxPauseSeconds;
  return std::ranges::any_of(states_, [&](const State& other) {
    if (&other == &state || !other.last_dts) return false;
    if (is_long && &other != &states_.front()) return false;
    if (Seconds(other.track, *other.first_dts) > last + kMaxGapSeconds) return false;
    const double ahead = seconds - Seconds(other.track, *other.last_dts);
    return ahead <= kMaxGapSeconds && ahead >= -kMaxBackSeconds;
  });
}

std::int64_t TimestampRepair::Rebase(const State& state, std::int64_t ticks) const {
  return ticks - state.zero + state.own + Rescale(shift_us_, kMicros, state.track.time_base);
}

std::int64_t TimestampRepair::Next(const State& state) {
  return *state.last_dts + std::min(state.last_duration, Ticks(state.track, kMaxGapSeconds));
}

void TimestampRepair::CloseJump(State& state, std::int64_t raw_dts) {
  const std::int64_t expected = *state.last_dts + state.last_duration;
  const auto misses = [&](std::int64_t time) { return std::abs(time - expected); };
  std::int64_t dts = Rebase(state, raw_dts);
  const std::int64_t untold = std::exchange(state.untold, 0);
  if (misses(dts - untold) < misses(dts)) {
    state.own -= untold;  // tracks do not come to a jump at once
    dts -= untold;
  }
  if (misses(dts - state.own) < misses(dts)) {
    dts -= std::exchange(state.own, 0);  // by now all have jumped
    state.alone = 0;
  }
  const double ahead = Seconds(state.track, dts - expected);
  const double back = Seconds(state.track, *state.last_dts - dts);
  const bool is_first = &state == &states_.front();
  if (ahead <= kMaxGapSeconds && back <= (is_first ? kMaxBackSeconds : kMaxOtherBackSeconds)) {
    if (back > 0) state.back = {.from = *state.last_dts, .by = *state.last_dts - dts};
    return;
  }
  if (ahead > 0 && state.latest_pts && dts <= *state.latest_pts) return;
  if (ahead > 0 && IsPause(state, Seconds(state.track, dts))) return;
  ++repaired_;
  if (!is_first) {
    state.alone = Next(state) - dts;
    state.own += state.alone;
    return;
  }
  const auto micros = [&](std::int64_t ticks) {
    return Rescale(ticks, state.track.time_base, kMicros);
  };
  const std::int64_t shift_us = micros(Next(state) - dts);
  if (closed_.size() < kMaxClosedJumps) {
    closed_.push_back({.from_us = micros(Next(state)) - shift_us_,
                       .to_us = micros(dts) - shift_us_,
                       .shift_us = shift_us_ + shift_us});
  }
  shift_us_ += shift_us;
  TellOthers(shift_us);
  ++jumps_;
}

// What still comes of the others is from before the jump of the pictures, or they came to it first,
// and then they go as far as those: where each goes on without a gap, sound is off for good.
void TimestampRepair::TellOthers(std::int64_t shift_us) {
  constexpr double kMostApart = kMaxOtherBackSeconds - kMaxBackSeconds;
  const State& pictures = states_.front();
  for (State& other : states_) {
    if (&other == &pictures || !other.last_dts) continue;
    const std::int64_t shift = Rescale(shift_us, kMicros, other.track.time_base);
    // They are moved behind the last of them, which is shown for so long.
    const std::int64_t shown =
        Rescale(pictures.last_duration, pictures.track.time_base, other.track.time_base);
    const auto is_this = [&](std::int64_t step) {
      return step != 0 && std::abs(Seconds(other.track, step - shift)) <= kMostApart;
    };
    if (is_this(other.alone)) {
      other.own -= std::exchange(other.alone, 0);
    } else if (!other.back || !is_this(other.back->by + shown)) {
      other.untold += shift;
    }
  }
}

void TimestampRepair::Remember(State& state, const AVPacket& packet) {
  state.last_dts = packet.dts;
  if (state.back && packet.dts > state.back->from) state.back.reset();
  if (state.track.reorders && packet.pts != AV_NOPTS_VALUE) {
    state.latest_pts = std::max(state.latest_pts.value_or(packet.pts), packet.pts);
  }
  if (!state.first_dts) state.first_dts = packet.dts;
  if (packet.duration > 0) state.last_duration = packet.duration;
}

void TimestampRepair::Fix(std::size_t track, AVPacket& packet) {
  State& state = states_[track];
  Bound(state.track, packet);
  const bool hidden = av::IsHidden(packet);
  // The pts of a picture that others are shown before says nothing of its decoding time.
  const std::int64_t known =
      packet.dts == AV_NOPTS_VALUE && !state.track.reorders ? packet.pts : packet.dts;
  const bool meant = IsMeant(packet);
  const bool may_jump = state.last_dts && !hidden && !meant;
  if (known != AV_NOPTS_VALUE && may_jump) CloseJump(state, known);

  if (packet.dts != AV_NOPTS_VALUE) packet.dts = Rebase(state, packet.dts);
  if (packet.pts != AV_NOPTS_VALUE) packet.pts = Rebase(state, packet.pts);
  if (hidden) return;
  const bool both = packet.dts != AV_NOPTS_VALUE && packet.pts != AV_NOPTS_VALUE;
  if (both && TooFar(state.track, packet.pts - packet.dts, meant)) {
    packet.pts = AV_NOPTS_VALUE;
    ++repaired_;
  }
  if (packet.dts == AV_NOPTS_VALUE) {
    const std::int64_t next = state.last_dts ? Next(state) : 0;
    packet.dts = packet.pts != AV_NOPTS_VALUE && !state.track.reorders ? packet.pts : next;
    if (packet.pts == AV_NOPTS_VALUE) ++repaired_;
  }
  if (packet.pts == AV_NOPTS_VALUE && !state.track.reorders) packet.pts = packet.dts;
  Remember(state, packet);
}

}  // namespace gopmill
