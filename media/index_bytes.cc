// SPDX-License-Identifier: Apache-2.0
#include "media/index_bytes.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

namespace gopmill {
namespace {

constexpr unsigned kGroupBits = 7;
constexpr std::uint64_t kMore = 1U << kGroupBits;
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
// The least that a track and a cue take; no count is believed beyond what bytes are left.
constexpr std::size_t kLeastTrackBytes = 13, kLeastCueBytes = 3;
// A field that has been added must be exchanged as well.
static_assert(sizeof(SourceIndex::Video) == 56 && sizeof(SourceIndex::Audio) == 32);

std::uint64_t FromSigned(std::int64_t value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return (bits << 1U) ^ (value < 0 ? ~std::uint64_t{0} : 0);
}

std::int64_t ToSigned(std::uint64_t value) {
  return std::bit_cast<std::int64_t>((value >> 1U) ^ ((value & 1U) != 0 ? ~std::uint64_t{0} : 0));
}

// Writer and Reader have the same members, so that one function says what lies where (Exchange).
class Writer {
 public:
  void Number(std::uint64_t& value) {
    std::uint64_t rest = value;
    for (; rest >= kMore; rest >>= kGroupBits) Byte(rest | kMore);
    Byte(rest);
  }
  void Word(std::uint64_t& value) {
    for (std::size_t i = 0; i < kWordBytes; ++i) Byte(value >> (8U * i));
  }
  void Text(std::string& text) {
    Count(text.size());
    bytes_ += text;
  }
  template <class T>
  void All(const std::vector<T>& values, std::size_t /*least*/, auto exchange) {
    Count(values.size());
    for (T value : values) exchange(value);  // a copy, since an exchange may write
  }
  void Expect(bool /*good*/) {}  // what is written comes from us
  std::string Take() { return std::move(bytes_); }

 private:
  void Byte(std::uint64_t low) { bytes_.push_back(static_cast<char>(low & 0xFFU)); }
  void Count(std::uint64_t count) { Number(count); }

  std::string bytes_;
};

// Gives zeros once anything was wrong.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  void Number(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += kGroupBits) {
      const std::uint64_t byte = Byte();
      value |= (byte & (kMore - 1)) << shift;
      if (byte < kMore) return;
    }
    good_ = false;
  }
  void Word(std::uint64_t& value) {
    value = 0;
    for (std::size_t i = 0; i < kWordBytes; ++i) value |= Byte() << (8U * i);
  }
  void Text(std::string& text) {
    const std::size_t count = Count(1);
    text = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
  }
  template <class T>
  void All(std::vector<T>& values, std::size_t least, auto exchange) {
    values.resize(Count(least));
    for (T& value : values) {
      if (good_) exchange(value);
    }
  }
  void Expect(bool good) { good_ = good_ && good; }
  [[nodiscard]] bool whole() const { return good_ && bytes_.empty(); }

 private:
  std::uint64_t Byte() {
    if (bytes_.empty()) good_ = false;
    if (!good_) return 0;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }
  // Of things that take so many bytes each.
  std::size_t Count(std::size_t least) {
    std::uint64_t count = 0;
    Number(count);
    if (count > bytes_.size() / least) good_ = false;
    return good_ ? static_cast<std::size_t>(count) : 0;
  }

  std::string_view bytes_;
  bool good_ = true;
};

// As the distance from `last`, which becomes it. Wraps around: every pair of numbers has one.
template <class Io>
void Step(Io& io, std::int64_t& value, std::int64_t& last) {
  const auto before = std::bit_cast<std::uint64_t>(last);
  std::uint64_t step =
      FromSigned(std::bit_cast<std::int64_t>(std::bit_cast<std::uint64_t>(value) - before));
  io.Number(step);
  value = std::bit_cast<std::int64_t>(before + std::bit_cast<std::uint64_t>(ToSigned(step)));
  last = value;
}

template <class Io, class T>
void Signed(Io& io, T& value) {
  std::int64_t wide = value;
  std::int64_t zero = 0;
  Step(io, wide, zero);
  value = static_cast<T>(wide);
  io.Expect(std::in_range<T>(wide));
}

// An enumerator or a bool, of at most `most`.
template <class Io, class T>
void Small(Io& io, T& value, T most) {
  auto number = static_cast<std::uint64_t>(value);
  io.Number(number);
  const bool known = number <= static_cast<std::uint64_t>(most);
  io.Expect(known);
  if (known) value = static_cast<T>(number);
}

template <class Io>
void Exchange(Io& io, SourceIndex::Video& packet, SourceIndex::Video& last) {
  Step(io, packet.pts, last.pts);
  std::int64_t planned = packet.pts;  // what most are decoded with as well
  Step(io, packet.packet_pts, planned);
  Step(io, packet.dts, last.dts);
  Step(io, packet.seek_us, last.seek_us);
  io.Word(packet.fingerprint);
  Signed(io, packet.bytes);
  Small(io, packet.access, RandomAccess::kClosed);
  Small(io, packet.hidden, true);
}

template <class Io>
void Exchange(Io& io, SourceIndex::Audio& packet, SourceIndex::Audio& last) {
  Step(io, packet.position, last.position);
  Step(io, packet.seek_us, last.seek_us);
  io.Word(packet.fingerprint);
  Signed(io, packet.samples);
  Signed(io, packet.bytes);
}

template <class Io>
void Exchange(Io& io, SubtitleTrack& track) {
  Signed(io, track.stream_index);
  Signed(io, track.roles);
  for (std::string* text : {&track.codec, &track.language, &track.title, &track.header}) {
    io.Text(*text);
  }
  for (bool* flag : {&track.is_default, &track.forced, &track.of_pictures, &track.incomplete}) {
    Small(io, *flag, true);
  }
  Small(io, track.form, CueForm::kMovText);
  std::int64_t last = 0;
  io.All(track.cues, kLeastCueBytes, [&](SubtitleCue& cue) {
    Step(io, cue.start_us, last);
    std::int64_t start = cue.start_us;
    Step(io, cue.end_us, start);
    io.Text(cue.text);
  });
}

// `head`: of which all else is taken.
template <class Io, class Videos, class Audios>
void Exchange(Io& io, SourceIndex& head, Videos& videos, Audios& audios) {
  Signed(io, head.audio_track);
  Small(io, head.counted_pts, true);
  Small(io, head.truncated, true);
  Signed(io, head.video_end);
  Signed(io, head.left_out);
  SourceIndex::Video video;
  io.All(videos, kLeastPacketBytes,
         [&](SourceIndex::Video& packet) { Exchange(io, packet, video); });
  SourceIndex::Audio audio;
  io.All(audios, kLeastPacketBytes,
         [&](SourceIndex::Audio& packet) { Exchange(io, packet, audio); });
  io.All(head.subtitles, kLeastTrackBytes, [&](SubtitleTrack& track) { Exchange(io, track); });
}

}  // namespace

std::optional<std::string> IndexBytes(const SourceIndex& index) {
  const auto drawn = [](const SubtitleTrack& track) { return track.bitmaps != nullptr; };
  if (!index.codings.empty() || std::ranges::any_of(index.subtitles, drawn)) return std::nullopt;
  SourceIndex head;
  head.audio_track = index.audio_track;
  head.counted_pts = index.counted_pts;
  head.truncated = index.truncated;
  head.video_end = index.video_end;
  head.left_out = index.left_out;
  head.subtitles = index.subtitles;
  Writer writer;
  Exchange(writer, head, index.video, index.audio);
  return writer.Take();
}

std::shared_ptr<const SourceIndex> ParseIndexBytes(std::string_view bytes,
                                                   std::shared_ptr<const SourceInfo> source) {
  auto index = std::make_shared<SourceIndex>();
  Reader reader(bytes);
  Exchange(reader, *index, index->video, index->audio);
  const bool has_sound = source != nullptr && source->audio.has_value();
  if (!reader.whole() || index->video.empty() || (!index->audio.empty() && !has_sound)) return {};
  if (index->video.size() + index->audio.size() > kMaxIndexedPackets) return {};
  index->source = std::move(source);
  return index;
}

Result<std::shared_ptr<const SourceIndex>> IndexFromBytes(UniqueFd fd, const std::stop_token& stop,
                                                          int audio_track, std::string_view bytes) {
  GOPMILL_ASSIGN_OR_RETURN(const auto source, OpenToIndex(std::move(fd), stop, audio_track));
  auto index = ParseIndexBytes(bytes, source->info());
  if (index && index->counted_pts == source->counted_pts() && index->audio_track == audio_track) {
    return index;
  }
  return Error{.code = Code::kCorrupt, .message = "What was kept is no index of this movie."};
}

}  // namespace gopmill
