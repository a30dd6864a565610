// SPDX-License-Identifier: Apache-2.0
#include "media/track_rate.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "base/rational.h"
#include "media/av_error.h"
#include "media/probe.h"

namespace gopmill {
namespace {

// Part of a track's length from which on the packets that are known are all of it: the last one may
// be shown for long.
constexpr double kNearlyAll = 0.75;
constexpr double kHighestRate = 1e12;  // bits per second

// What the demuxer knows of a track's packets.
struct KnownPart {
  double bits = 0;
  double first = 0, end = 0;  // seconds; the last packet is as long as the others in the mean
};

double SecondsOf(std::int64_t ticks, const AVStream& stream) {
  return static_cast<double>(ticks) * av::FromAv(stream.time_base).ToDouble();
}

KnownPart KnownPartOf(AVStream& stream) {
  const int count = avformat_index_get_entries_count(&stream);
  KnownPart part;
  for (int i = 0; i < count; ++i) part.bits += 8.0 * avformat_index_get_entry(&stream, i)->size;
  if (count == 0) return part;
  part.first = SecondsOf(avformat_index_get_entry(&stream, 0)->timestamp, stream);
  const double last = SecondsOf(avformat_index_get_entry(&stream, count - 1)->timestamp, stream);
  part.end = last + (last - part.first) / std::max(count - 1, 1);
  return part;
}

// Of damaged times it may be anything.
std::int64_t WholeRate(double rate) { return std::llround(std::clamp(rate, 0.0, kHighestRate)); }

std::int64_t ShareOfFile(AVFormatContext& format, double bits) {
  double all = 0;
  for (AVStream* stream : std::span(format.streams, format.nb_streams)) {
    all += KnownPartOf(*stream).bits;
  }
  return WholeRate(static_cast<double>(FileRate(format)) * bits / all);
}

}  // namespace

std::int64_t FileRate(const AVFormatContext& format) {
  return StatesLengths(format) ? format.bit_rate : 0;
}

std::int64_t TrackRate(AVFormatContext& format, AVStream& stream) {
  const std::int64_t stated = stream.codecpar->bit_rate;
  if (!std::string_view(format.iformat->name).starts_with("mov")) return stated;
  const KnownPart part = KnownPartOf(stream);
  const double length = SecondsOf(stream.duration, stream) - part.first;
  const double known = part.end - part.first;
  if (part.bits <= 0 || length <= 0) return stated;
  // Probing may have come to the end of a movie of which the header had one fragment.
  if (known >= kNearlyAll * length) return std::max(stated, WholeRate(part.bits / length));
  if (FileRate(format) > 0) return ShareOfFile(format, part.bits);
  return known > 0 ? WholeRate(part.bits / known) : 0;
}

}  // namespace gopmill
