// SPDX-License-Identifier: Apache-2.0
#include "media/track_rates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "base/rational.h"
#include "media/av_error.h"
#include "media/probe.h"

namespace gopmill {
namespace {

// Part of a track's length from which on the packets that are known are all of it: the last one may
// be shown for long.
constexpr double kNearlyAll = 0.75;
constexpr double kHighestRate = 1e12;  // bits per second
// Movies that begin less late are as long as FFmpeg says, to the tick.
constexpr double kShortLead = 1;

double SecondsOf(std::int64_t ticks, const AVStream& stream) {
  return static_cast<double>(ticks) * av::FromAv(stream.time_base).ToDouble();
}

// Of damaged times it may be anything.
std::int64_t WholeRate(double rate) { return std::llround(std::clamp(rate, 0.0, kHighestRate)); }

}  // namespace

TrackRates::TrackRates(AVFormatContext& format, double index_begin)
    : format_(format), mp4_(IsMp4(*format.iformat)) {
  if (!mp4_) return;
  for (AVStream* stream : std::span(format.streams, format.nb_streams)) {
    parts_.push_back(PartOf(*stream, index_begin));
  }
  lead_ = FindLead();
}

// All packets of a movie without fragments are known, and make up its length; that of fragments is
// the time at which they end.
TrackRates::KnownPart TrackRates::PartOf(AVStream& stream, double index_begin) {
  const int count = avformat_index_get_entries_count(&stream);
  KnownPart part;
  for (int i = 0; i < count; ++i) part.bits += 8.0 * avformat_index_get_entry(&stream, i)->size;
  if (count == 0) return part;
  part.first = SecondsOf(avformat_index_get_entry(&stream, 0)->timestamp, stream);
  const double last = SecondsOf(avformat_index_get_entry(&stream, count - 1)->timestamp, stream);
  part.end = last + (last - part.first) / std::max(count - 1, 1);
  const double stated = SecondsOf(stream.duration, stream), known = part.end - part.first;
  if (known < kNearlyAll * (stated - part.first)) {
    part.before = std::min(part.first, index_begin);
  } else if (std::abs(part.end - stated) < std::abs(known - stated)) {
    part.before = part.first;
  }
  return part;
}

std::int64_t TrackRates::FindLead() const {
  double lead = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].bits <= 0 || format_.streams[i]->duration <= 0) continue;
    lead = std::min(lead, parts_[i].before);
  }
  const double most = static_cast<double>(format_.duration) / AV_TIME_BASE;
  return lead >= kShortLead && lead < most ? std::llround(lead * AV_TIME_BASE) : 0;
}

std::int64_t TrackRates::file() const {
  if (!StatesLengths(format_)) return 0;
  if (lead_ == 0) return format_.bit_rate;
  const double length = static_cast<double>(format_.duration - lead_);
  return WholeRate(static_cast<double>(format_.bit_rate) * static_cast<double>(format_.duration) /
                   length);
}

std::int64_t TrackRates::Of(const AVStream& stream) const {
  const std::int64_t stated = stream.codecpar->bit_rate;
  if (!mp4_) return stated;
  const KnownPart& part = parts_[static_cast<std::size_t>(stream.index)];
  const double length = SecondsOf(stream.duration, stream) - part.before;
  const double known = part.end - part.first;
  if (part.bits <= 0 || length <= 0) return stated;
  // Probing may have come to the end of a movie of which the header had one fragment.
  if (known >= kNearlyAll * length) return std::max(stated, WholeRate(part.bits / length));
  if (file() <= 0) return known > 0 ? WholeRate(part.bits / known) : 0;
  const auto add = [](double sum, const KnownPart& each) { return sum + each.bits; };
  const double all = std::accumulate(parts_.begin(), parts_.end(), 0.0, add);
  return WholeRate(static_cast<double>(file()) * part.bits / all);
}

}  // namespace gopmill
