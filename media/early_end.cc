// SPDX-License-Identifier: Apache-2.0
#include "media/early_end.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <string_view>

#include "base/rational.h"
#include "media/av_error.h"
#include "media/file_boxes.h"
#include "media/probe.h"

namespace gopmill {
namespace {

// Stated lengths are rounded, and some count what is cut away at an end.
constexpr std::int64_t kSlackMicros = 1'200'000;
constexpr int kMostBoxes = 100'000;

std::optional<std::uint64_t> BigEndian(int fd, std::int64_t at, std::size_t bytes) {
  std::array<std::uint8_t, 8> data{};
  if (pread(fd, data.data(), bytes, at) != static_cast<ssize_t>(bytes)) return std::nullopt;
  return ReadBigEndian(std::span(data).first(bytes));
}

// Those of a movie; anything else behind it is what some program has left there.
bool HoldsMovie(std::uint32_t name) {
  return name == Fourcc("mdat") || name == Fourcc("moof") || name == Fourcc("moov");
}

bool BoxEndsBehind(int fd, std::int64_t size) {
  FileBoxes boxes(fd);
  for (int i = 0; i < kMostBoxes; ++i) {
    const auto box = boxes.Next();
    if (!box) return false;
    if (box->size > static_cast<std::uint64_t>(size) - box->at) return HoldsMovie(box->name);
  }
  return false;
}

struct Element {
  std::int64_t data = 0;              // where it begins
  std::optional<std::int64_t> bytes;  // none = not known
};

// RFC 8794 section 4: identifier of four bytes, size of one to eight.
std::optional<Element> ElementAt(int fd, std::int64_t at, std::uint64_t id) {
  if (BigEndian(fd, at, 4) != id) return std::nullopt;
  const auto first = BigEndian(fd, at + 4, 1);
  if (!first || *first == 0) return std::nullopt;
  const int width = std::countl_zero(static_cast<std::uint8_t>(*first)) + 1;
  const auto coded = BigEndian(fd, at + 4, static_cast<std::size_t>(width));
  if (!coded) return std::nullopt;
  const std::uint64_t mask = (std::uint64_t{1} << static_cast<unsigned>(7 * width)) - 1;
  Element element{.data = at + 4 + width, .bytes = static_cast<std::int64_t>(*coded & mask)};
  if ((*coded & mask) == mask) element.bytes.reset();
  return element;
}

bool SegmentEndsBehind(int fd, std::int64_t size) {
  constexpr std::uint64_t kEbml = 0x1A45DFA3, kSegment = 0x18538067;
  const auto head = ElementAt(fd, 0, kEbml);
  if (!head || !head->bytes) return false;
  const auto segment = ElementAt(fd, head->data + *head->bytes, kSegment);
  return segment && segment->bytes && *segment->bytes > size - segment->data;
}

// RIFF, and the RIFF AVIX that OpenDML puts behind it: lists with a type, little-endian sizes. What
// is still being written states 0.
bool ListEndsBehind(int fd, std::int64_t size) {
  constexpr std::uint64_t kRiff = 0x52494646;
  std::int64_t at = 0;
  for (int i = 0; i < kMostBoxes; ++i) {
    const auto type = BigEndian(fd, at, 4);
    const auto swapped = BigEndian(fd, at + 4, 4);
    if (type != kRiff || !swapped || *swapped == 0) return false;
    const std::uint32_t bytes = __builtin_bswap32(static_cast<std::uint32_t>(*swapped));
    at += 8 + std::int64_t{bytes} + (bytes & 1U);
    if (at > size + 1) return true;
  }
  return false;
}

}  // namespace

void EarlyEnd::See(const AVFormatContext& format, const AVPacket& packet) {
  ends_.resize(std::max<std::size_t>(ends_.size(), format.nb_streams), AV_NOPTS_VALUE);
  const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (time == AV_NOPTS_VALUE) return;
  std::int64_t& end = ends_[static_cast<std::size_t>(packet.stream_index)];
  end = std::max(end, time + std::max<std::int64_t>(packet.duration, 0));
}

bool EarlyEnd::StopsShort(const AVFormatContext& format) const {
  if (format.duration_estimation_method != AVFMT_DURATION_FROM_STREAM) return false;
  if (!StatesLengths(format)) return false;
  bool all_read = true;
  std::int64_t last = INT64_MIN;
  for (unsigned i = 0; i < format.nb_streams; ++i) {
    const AVStream& stream = *format.streams[i];
    all_read = all_read && stream.discard != AVDISCARD_ALL;
    // Probing may have read packets of a track that nobody reads.
    if (stream.discard == AVDISCARD_ALL) continue;
    if (i >= ends_.size() || ends_[i] == AV_NOPTS_VALUE) continue;
    const Rational tick = av::FromAv(stream.time_base);
    last = std::max(last, Rescale(ends_[i], tick, kMicros));
    // Of a track of text it is the end of the last cue, in Matroska, and cues begin late.
    const bool heard_or_seen = stream.codecpar->codec_type != AVMEDIA_TYPE_SUBTITLE;
    if (!heard_or_seen || stream.duration <= 0 || stream.start_time == AV_NOPTS_VALUE) continue;
    const std::int64_t missing =
        std::min<std::int64_t>(stream.start_time, 0) + stream.duration - ends_[i];
    if (Rescale(missing, tick, kMicros) > kSlackMicros) return true;
  }
  // The length of the whole is that of the longest track, which may be one that is not read.
  if (!all_read || last == INT64_MIN || format.duration <= 0) return false;
  const std::int64_t start = format.start_time == AV_NOPTS_VALUE ? 0 : format.start_time;
  return std::min<std::int64_t>(start, 0) + format.duration - last > kSlackMicros;
}

bool EndsInside(int fd, const AVInputFormat& container) {
  struct stat file {};
  if (fstat(fd, &file) != 0) return false;
  const std::string_view name = container.name;
  if (name.starts_with("mov")) return BoxEndsBehind(fd, file.st_size);
  if (name == "avi") return ListEndsBehind(fd, file.st_size);
  return name.starts_with("matroska") && SegmentEndsBehind(fd, file.st_size);
}

}  // namespace gopmill
