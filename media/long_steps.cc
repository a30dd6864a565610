// SPDX-License-Identifier: Apache-2.0
#include "media/long_steps.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "media/timestamp_repair.h"

namespace gopmill {
namespace {

constexpr auto kGapMicros = static_cast<std::int64_t>(kMaxGapSeconds * 1e6);
constexpr auto kBackMicros = static_cast<std::int64_t>(kMaxBackSeconds * 1e6);
constexpr auto kLongestMicros = static_cast<std::int64_t>(kMaxPacketSeconds * 1e6);

constexpr auto kAheadMicros = static_cast<std::int64_t>(kMaxAheadSeconds * 1e6);

bool Near(std::int64_t a, std::int64_t b) { return std::abs(a - b) <= kGapMicros; }

std::optional<std::int64_t> Micros(const LongSteps::Track& track, std::int64_t time) {
  if (time == AV_NOPTS_VALUE) return std::nullopt;
  constexpr auto kMost = static_cast<std::int64_t>(kMostSeconds * 1e6);
  return std::clamp(Rescale(time, track.time_base, kMicros), -kMost, kMost);
}

// By which a jump would be told; none where it would not.
std::optional<std::int64_t> TimeOf(const LongSteps::Track& track, const AVPacket& packet) {
  const bool shown = packet.dts == AV_NOPTS_VALUE && !track.reorders;
  return Micros(track, shown ? packet.pts : packet.dts);
}

}  // namespace

LongSteps::LongSteps(const std::vector<Track>& tracks) {
  for (const Track& track : tracks) states_.push_back({.track = track});
}

const LongSteps::State* LongSteps::StateOf(const AVPacket& packet) const {
  const auto stream = static_cast<std::size_t>(packet.stream_index);
  if (stream >= states_.size() || av::IsHidden(packet)) return nullptr;
  return states_[stream].track.counts ? &states_[stream] : nullptr;
}

Result<int> LongSteps::Next(const Reader& read, AVPacket& packet) {
  if (!ahead_.empty()) {
    av_packet_move_ref(&packet, ahead_.front().get());
    ahead_.pop_front();
  } else if (end_) {
    return *std::exchange(end_, std::nullopt);
  } else {
    GOPMILL_ASSIGN_OR_RETURN(const int code, read(packet));
    if (code < 0) return code;
  }
  if (StateOf(packet) == nullptr) return 0;
  State& state = states_[static_cast<std::size_t>(packet.stream_index)];
  const auto us = TimeOf(state.track, packet);
  if (!us) return 0;
  if (const auto doubt = DoubtOf(packet, *us)) {
    GOPMILL_ASSIGN_OR_RETURN(const bool meant, IsMeant(read, *doubt));
    if (meant) MarkMeant(packet);
  }
  state.last_us = us;
  const std::int64_t duration = Rescale(packet.duration, state.track.time_base, kMicros);
  state.expected_us = *us + std::clamp<std::int64_t>(duration, 0, kLongestMicros);
  return 0;
}

// Of a packet that is decoded at `us`.
std::optional<LongSteps::Doubt> LongSteps::DoubtOf(const AVPacket& packet, std::int64_t us) const {
  const State& state = states_[static_cast<std::size_t>(packet.stream_index)];
  const bool is_long = state.expected_us && us - *state.expected_us > kGapMicros &&
                       us - *state.last_us <= kLongestMicros;
  if (is_long) return Doubt{.stream = packet.stream_index, .us = us, .shown = false};
  const auto shown = Micros(state.track, packet.pts);
  const bool late =
      state.track.reorders && shown && *shown - us > kAheadMicros && *shown - us <= kLongestMicros;
  if (late) return Doubt{.stream = packet.stream_index, .us = *shown, .shown = true};
  return std::nullopt;
}

// What another packet says of one that is in doubt.
std::optional<bool> LongSteps::Tells(const AVPacket& packet, const Doubt& doubt) const {
  const State* state = StateOf(packet);
  if (state == nullptr) return std::nullopt;
  const bool same = packet.stream_index == doubt.stream;
  const auto us =
      same && doubt.shown ? Micros(state->track, packet.pts) : TimeOf(state->track, packet);
  if (!us) return std::nullopt;
  if (same) return doubt.shown ? Near(*us, doubt.us) : *us >= doubt.us - kBackMicros;
  return Near(*us, doubt.us) ? std::optional(true) : std::nullopt;
}

// Whether pictures have gone on for long from where they were, in front of a step of sound.
bool LongSteps::GoesOnBefore(const AVPacket& packet, const Doubt& doubt) const {
  constexpr std::int64_t kLongMicros = 2 * kBackMicros;
  const State* state = StateOf(packet);
  if (state == nullptr || !state->track.pictures || !state->last_us) return false;
  const auto us = TimeOf(state->track, packet);
  return us && *us > *state->last_us + kLongMicros && *us < doubt.us - kGapMicros;
}

// The last one of a file is, unless other tracks went on from before it.
Result<bool> LongSteps::IsMeant(const Reader& read, const Doubt& doubt) {
  const bool of_pictures = states_[static_cast<std::size_t>(doubt.stream)].track.pictures;
  const bool has_pictures = std::ranges::any_of(
      states_, [](const State& s) { return s.track.pictures && s.last_us.has_value(); });
  const bool pictures_tell = !of_pictures && has_pictures;
  const auto is_there = [&](const State& s) {
    const bool tells = s.track.pictures || !pictures_tell;
    return tells && s.last_us && Near(*s.last_us, doubt.us);
  };
  if (std::ranges::any_of(states_, is_there)) return true;
  bool others = false, own = false;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < kMaxStepPackets && bytes < kMaxStepBytes; ++i) {
    if (i == ahead_.size()) {
      if (end_) return own || !others;
      av::Packet packet = av::NewPacket();
      GOPMILL_ASSIGN_OR_RETURN(const int code, read(*packet));
      if (code < 0) {
        end_ = code;
        return own || !others;
      }
      ahead_.push_back(std::move(packet));
    }
    const AVPacket& next = *ahead_[i];
    if (!of_pictures && GoesOnBefore(next, doubt)) return false;
    const State* state = StateOf(next);
    if (const auto told = Tells(next, doubt)) {
      // Sound goes on behind its step in either case, of all tracks: the pictures tell.
      if (!*told || !pictures_tell || (state != nullptr && state->track.pictures)) return *told;
      own = true;
    }
    others = others || state != nullptr;
    bytes += next.size;
  }
  return own;
}

}  // namespace gopmill
