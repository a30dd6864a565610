// SPDX-License-Identifier: Apache-2.0
#include "media/mux_times.h"

#include <algorithm>

#include "media/matroska_delay.h"

namespace gopmill {

Status CheckTimes(const MuxTimes& times, const AVPacket& packet) {
  if (packet.pts == AV_NOPTS_VALUE || packet.dts == AV_NOPTS_VALUE) {
    return InternalError("A packet without a time reached the muxer.");
  }
  if (packet.pts < packet.dts || (times.last_dts && packet.dts <= *times.last_dts)) {
    return InternalError("The times of two packets are out of order.");
  }
  return OkStatus();
}

// Times before zero (priming) are rounded down: in Matroska's whole milliseconds 1024 samples at
// 48 kHz are 22 then. 21 would be half a frame at 24 per second within rounding, where players that
// start counting at the earliest time double and drop frames.
void PlaceOnClock(const MuxTimes& times, AVPacket& packet) {
  const auto place = [&](std::int64_t time) {
    const Round round = time + times.lead < 0 ? Round::kDown : Round::kNearest;
    return Rescale(time + times.lead, times.time_base, times.stream_base, round) + times.offset;
  };
  const std::int64_t end = place(packet.pts + packet.duration);
  packet.pts = place(packet.pts);
  packet.dts = std::min(place(packet.dts), packet.pts);
  packet.duration = std::max<std::int64_t>(end - packet.pts, 0);
}

Status PlaceMatroska(const AVFormatContext& context, std::vector<MuxTimes>& tracks) {
  std::int64_t shift = 0;
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    const AVCodecParameters& parameters = *context.streams[i]->codecpar;
    if (parameters.initial_padding <= 0 || parameters.sample_rate <= 0) continue;
    MuxTimes& track = tracks[i];
    MatroskaDelay delay;
    GOPMILL_RETURN_IF_ERROR(AskMatroskaDelay(parameters, delay));
    const Rational sample{1, parameters.sample_rate};
    if (delay.written) {
      track.lead = Rescale(parameters.initial_padding, sample, track.time_base);
      track.offset = -delay.added_ms;
    } else {
      const auto padding =
          Rescale(parameters.initial_padding, sample, track.stream_base, Round::kUp);
      shift = std::max(shift, padding);
    }
  }
  for (MuxTimes& track : tracks) track.offset += shift;
  return OkStatus();
}

}  // namespace gopmill
