// SPDX-License-Identifier: Apache-2.0
#include "media/measured_rate.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/contained.h"
#include "base/status.h"
#include "media/av_error.h"
#include "media/fd_io.h"

namespace gopmill {
namespace {

constexpr double kSameRate = 0.05, kSteady = 0.02;
// Intervals that times which waver are averaged over, and those that tell 30 from 29.97 where
// times are whole milliseconds.
constexpr std::size_t kShortWindow = 6, kLongWindow = 32;
constexpr std::size_t kFastestPart = 20;  // one of so many

constexpr int kPlaces = 8;
constexpr std::size_t kPicturesEach = 64;
// Behind a place's beginning. What lies between rarer pictures, hours of sound say, would be read
// in vain.
constexpr std::int64_t kPlaceMicros = 12'000'000;
constexpr std::int64_t kMostBytes = 32 << 20;
constexpr int kMostPackets = 20'000;

// Mean intervals, in ticks, of all windows of so many.
std::vector<double> Windows(std::span<const PictureTimes> places, std::size_t length) {
  std::vector<double> means;
  for (const PictureTimes& times : places) {
    for (std::size_t i = length; i < times.size(); ++i) {
      const auto ticks = static_cast<double>(times[i] - times[i - length]);
      if (ticks > 0) means.push_back(ticks / static_cast<double>(length));
    }
  }
  std::ranges::sort(means);
  return means;
}

// Ticks from picture to picture where the movie is fast, and whether they are exact enough to tell
// rates that are a thousandth apart.
struct FastInterval {
  double ticks = 0;
  bool exact = false;
};

std::optional<FastInterval> FastIntervalOf(std::span<const PictureTimes> places) {
  const std::vector<double> means = Windows(places, kShortWindow);
  if (means.empty()) return std::nullopt;
  const double fast = means[means.size() / kFastestPart];
  std::vector<double> steady = Windows(places, kLongWindow);
  std::erase_if(steady, [&](double m) { return std::abs(m / fast - 1) > kSteady; });
  if (steady.empty()) return FastInterval{.ticks = fast};
  return FastInterval{.ticks = steady[steady.size() / 2], .exact = true};
}

// The second demuxer of a file whose first one may be anywhere.
class Sampler {
 public:
  Sampler(int fd, const AVFormatContext& opened, std::int64_t start_us, std::stop_token stop)
      : fd_(fd),
        before_(lseek(fd, 0, SEEK_CUR)),
        io_(fd, std::move(stop)),
        start_us_(start_us),
        length_us_(std::max<std::int64_t>(opened.duration, 0)) {
    lseek(fd, 0, SEEK_SET);
  }
  ~Sampler() {
    format_.reset();
    lseek(fd_, before_, SEEK_SET);
  }
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  bool Open(const AVInputFormat& container, int stream);
  // False behind the last place.
  bool Sample(int number, PictureTimes& times);
  [[nodiscard]] Rational time_base() const { return time_base_; }

 private:
  template <class Call>
  int Guarded(const Call& call);
  bool Read(std::int64_t aim_us, PictureTimes& times);

  const int fd_;
  const off_t before_;
  FdIo io_;
  const std::int64_t start_us_, length_us_;  // 0 = unknown
  av::InputFormat format_;                   // before io_ in destruction: it reads through it
  int stream_ = 0;
  Rational time_base_;
  std::int64_t bytes_ = 0;
  int packets_ = 0;
  std::int64_t last_us_ = 0;  // of the picture read last
};

bool Sampler::Open(const AVInputFormat& container, int stream) {
  AVFormatContext* raw = avformat_alloc_context();
  GOPMILL_CHECK(raw != nullptr);
  raw->pb = io_.context();
  AVDictionary* settings = nullptr;
  av_dict_set(&settings, "protocol_whitelist", "none", 0);
  int code = 0;
  if (!ContainedCall([&] {  // frees when it fails
        code = avformat_open_input(&raw, nullptr, &container, &settings);
      })) {
    return false;
  }
  av_dict_free(&settings);
  if (code < 0) return false;
  format_.reset(raw);
  stream_ = stream;
  if (stream >= static_cast<int>(raw->nb_streams)) return false;
  time_base_ = av::FromAv(raw->streams[stream]->time_base);
  // Where it is read on, what lies between pictures has to count.
  for (unsigned i = 0; length_us_ > 0 && i < raw->nb_streams; ++i) {
    if (static_cast<int>(i) != stream) raw->streams[i]->discard = AVDISCARD_ALL;
  }
  last_us_ = start_us_;
  return true;
}

// The demuxer is left behind where it fails an assertion of its own.
template <class Call>
int Sampler::Guarded(const Call& call) {
  int code = AVERROR_BUG;
  if (format_ == nullptr || ContainedCall([&] { code = call(); })) return code;
  static_cast<void>(format_.release());
  return AVERROR_BUG;
}

// What states no length cannot be searched by places of it either: there they follow each other.
bool Sampler::Sample(int number, PictureTimes& times) {
  const bool follows = length_us_ == 0;
  const std::int64_t aim = follows ? last_us_ : start_us_ + length_us_ / kPlaces * number;
  const bool there = number == 0 || follows;  // the seek to it may be refused
  const auto seek = [&] { return avformat_seek_file(format_.get(), -1, INT64_MIN, aim, aim, 0); };
  if (!there && Guarded(seek) < 0) return false;
  const bool more = Read(aim, times);
  std::ranges::sort(times);
  return follows ? more && !times.empty() : more && number + 1 < kPlaces;
}

// False at the end of what may be read.
bool Sampler::Read(std::int64_t aim_us, PictureTimes& times) {
  const av::Packet packet = av::NewPacket();
  while (times.size() < kPicturesEach) {
    if (bytes_ > kMostBytes || packets_ > kMostPackets) return false;
    if (Guarded([&] { return av_read_frame(format_.get(), packet.get()); }) < 0) return true;
    ++packets_;
    bytes_ += packet->size;
    const std::int64_t pts = packet->pts;
    const bool picture =
        packet->stream_index == stream_ && pts != AV_NOPTS_VALUE && !av::IsHidden(*packet);
    av_packet_unref(packet.get());
    if (!picture) continue;
    times.push_back(pts);
    last_us_ = Rescale(pts, time_base_, kMicros);
    if (last_us_ - aim_us > kPlaceMicros) return true;
  }
  return true;
}

// Of rates that are a thousandth apart the whole one, unless that is known so well.
Rational UsualRateFor(double rate, bool exact) {
  const auto off = [&](Rational fps) {
    return fps.den == 1 || exact ? std::abs(fps.ToDouble() / rate - 1) : 1;
  };
  const Rational nearest = *std::ranges::min_element(kUsualRates, {}, off);
  if (off(nearest) < kSameRate) return nearest;
  const auto above =
      std::ranges::find_if(kUsualRates, [&](Rational fps) { return fps.ToDouble() > rate; });
  return above == kUsualRates.end() ? kUsualRates.back() : *above;
}

}  // namespace

bool IsUsualRate(Rational fps) {
  constexpr double kRounding = 2e-4;
  const double rate = fps.ToDouble();
  const auto whole = [&](double value) {
    return std::abs(value - std::round(value)) < kRounding * std::max(value, 1.0);
  };
  return rate > 0 && (whole(rate) || whole(rate * 1.001));
}

std::optional<PeakRate> FindPeakRate(std::span<const PictureTimes> places, Rational time_base) {
  const auto interval = FastIntervalOf(places);
  if (!interval) return std::nullopt;
  const double rate = 1 / (interval->ticks * time_base.ToDouble());
  return PeakRate{.measured = rate, .usual = UsualRateFor(rate, interval->exact)};
}

std::optional<PeakRate> MeasureRate(int fd, const AVFormatContext& opened, int stream,
                                    std::int64_t start_us, std::stop_token stop) {
  Sampler sampler(fd, opened, start_us, std::move(stop));
  if (!sampler.Open(*opened.iformat, stream)) return std::nullopt;
  std::vector<PictureTimes> places;
  for (bool more = true; more;) {
    PictureTimes times;
    more = sampler.Sample(static_cast<int>(places.size()), times);
    places.push_back(std::move(times));
  }
  return FindPeakRate(places, sampler.time_base());
}

}  // namespace gopmill
