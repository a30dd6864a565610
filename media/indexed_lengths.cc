// SPDX-License-Identifier: Apache-2.0
#include "media/indexed_lengths.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/rational.h"
#include "media/av_error.h"
#include "media/file_boxes.h"

namespace gopmill {
namespace {

constexpr int kMostInFront = 256;  // boxes in front of the first fragment
constexpr std::int64_t kLongestSeconds = 10LL * 366 * 24 * 3600;  // beyond it is damage

struct SegmentIndex {
  std::uint64_t track = 0;
  Rational begin, end;  // seconds: the time of its first fragment; with all their lengths
};

std::optional<SegmentIndex> ReadIndex(int fd, const FileBox& box) {
  constexpr std::size_t kRow = 12, kMostBytes = 40 + kRow * 65'535;
  std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(box.size, kMostBytes));
  const auto got = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(box.at));
  if (got != static_cast<ssize_t>(bytes.size()) || got < 32) return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t size) {
    return at + size <= bytes.size() ? ReadBigEndian(std::span(bytes).subspan(at, size)) : 0;
  };
  const std::size_t width = bytes[8] == 0 ? 4 : 8;  // by its version
  const std::size_t rows = 24 + 2 * width;
  const std::uint64_t clock = number(16, 4), count = number(rows - 2, 2);
  const std::uint64_t begin = std::min<std::uint64_t>(number(20, width), INT64_MAX);
  std::uint64_t end = begin;
  for (std::size_t i = 0; i < count; ++i) end += number(rows + i * kRow + 4, 4);
  if (clock == 0 || end / clock > kLongestSeconds) return std::nullopt;
  return SegmentIndex{.track = number(12, 4),
                      .begin = {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(clock)},
                      .end = {static_cast<std::int64_t>(end), static_cast<std::int64_t>(clock)}};
}

// FFmpeg knows no tracks before the header.
std::vector<SegmentIndex> IndexesInFront(int fd) {
  std::vector<SegmentIndex> found;
  FileBoxes boxes(fd);
  bool header = false;
  for (int i = 0; i < kMostInFront; ++i) {
    const auto box = boxes.Next();
    if (!box || box->name == Fourcc("moof") || box->name == Fourcc("mdat")) break;
    header = header || box->name == Fourcc("moov");
    if (!header || box->name != Fourcc("sidx")) continue;
    if (const auto index = ReadIndex(fd, *box)) found.push_back(*index);
  }
  return found;
}

// Fragments that have been read may go further, where an index is of some of them.
void SetLength(AVStream& stream, Rational seconds) {
  const Rational tick = av::FromAv(stream.time_base);
  std::int64_t end = Rescale(seconds.num, {1, seconds.den}, tick);
  const int count = avformat_index_get_entries_count(&stream);
  if (count > 0) end = std::max(end, avformat_index_get_entry(&stream, count - 1)->timestamp);
  stream.duration = end;
}

void MendLengths(const std::vector<SegmentIndex>& indexes, AVFormatContext& format) {
  const auto other_clock = [&](const SegmentIndex& index) {
    return std::ranges::any_of(std::span(format.streams, format.nb_streams),
                               [&](const AVStream* stream) {
                                 return static_cast<std::uint64_t>(stream->id) == index.track &&
                                        Rational{1, index.end.den} != av::FromAv(stream->time_base);
                               });
  };
  const auto wrong = std::ranges::find_if(indexes, other_clock);
  if (wrong == indexes.end()) return;
  for (AVStream* stream : std::span(format.streams, format.nb_streams)) {
    const auto of_track = [&](const SegmentIndex& index) {
      return index.track == static_cast<std::uint64_t>(stream->id);
    };
    const auto own = std::ranges::find_if(indexes, of_track);
    SetLength(*stream, own == indexes.end() ? wrong->end : own->end);
  }
}

}  // namespace

double MendIndexedLengths(int fd, AVFormatContext& format) {
  const std::vector<SegmentIndex> indexes = IndexesInFront(fd);
  if (indexes.empty()) return 0;
  MendLengths(indexes, format);
  const auto begin = [](const SegmentIndex& index) { return index.begin.ToDouble(); };
  return begin(std::ranges::min(indexes, {}, begin));
}

}  // namespace gopmill
