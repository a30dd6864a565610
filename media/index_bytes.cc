// SPDX-License-Identifier: Apache-2.0
#include "media/index_bytes.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace gopmill {
namespace {

constexpr unsigned kGroupBits = 7;
constexpr std::uint64_t kMore = 1U << kGroupBits;
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
// The least that a track and a cue take; no count is believed beyond what bytes are left.
constexpr std::size_t kLeastTrackBytes = 12, kLeastCueBytes = 3;
// A field that has been added must be exchanged as well.
static_assert(sizeof(SourceIndex::Video) == 56 && sizeof(SourceIndex::Audio) == 32);

// Wraps around: every pair of numbers has a distance. Small ones of either sign are small.
std::uint64_t Distance(std::int64_t from, std::int64_t to) {
  const auto bits = std::bit_cast<std::uint64_t>(to) - std::bit_cast<std::uint64_t>(from);
  return (bits << 1U) ^ (bits >> 63U != 0 ? ~std::uint64_t{0} : 0);
}

std::int64_t AtDistance(std::int64_t from, std::uint64_t distance) {
  const std::uint64_t bits = (distance >> 1U) ^ ((distance & 1U) != 0 ? ~std::uint64_t{0} : 0);
  return std::bit_cast<std::int64_t>(std::bit_cast<std::uint64_t>(from) + bits);
}

// Writer and Reader have the same members, so that one function says what lies where (Exchange).
class Writer {
 public:
  // As the distance from `last`, which becomes it.
  void Step(std::int64_t value, std::int64_t& last) {
    Number(Distance(std::exchange(last, value), value));
  }
  void Signed(std::int64_t value) { Number(Distance(0, value)); }
  // An enumerator or a bool, of at most `most`.
  template <class T>
  void Small(T value, T /*most*/) {
    Number(static_cast<std::uint64_t>(value));
  }
  void Word(std::uint64_t value) {
    for (std::size_t i = 0; i < kWordBytes; ++i) Byte(value >> (8U * i));
  }
  void Text(const std::string& text) {
    Number(text.size());
    bytes_ += text;
  }
  template <class T>
  void All(const std::vector<T>& values, std::size_t /*least*/, auto exchange) {
    Number(values.size());
    for (const T& value : values) exchange(value);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  void Number(std::uint64_t rest) {
    for (; rest >= kMore; rest >>= kGroupBits) Byte(rest | kMore);
    Byte(rest);
  }
  void Byte(std::uint64_t low) { bytes_.push_back(static_cast<char>(low & 0xFFU)); }

  std::string bytes_;
};

// Gives zeros once anything was wrong.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  void Step(std::int64_t& value, std::int64_t& last) { value = last = AtDistance(last, Number()); }
  template <class T>
  void Signed(T& value) {
    const std::int64_t wide = AtDistance(0, Number());
    value = static_cast<T>(wide);
    good_ = good_ && std::in_range<T>(wide);
  }
  template <class T>
  void Small(T& value, T most) {
    const std::uint64_t number = Number();
    good_ = good_ && number <= static_cast<std::uint64_t>(most);
    value = static_cast<T>(good_ ? number : 0);
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
  // Of values that take at least so many bytes each.
  template <class T>
  void All(std::vector<T>& values, std::size_t least, auto exchange) {
    values.resize(Count(least));
    for (T& value : values) {
      if (good_) exchange(value);
    }
  }
  [[nodiscard]] bool whole() const { return good_ && bytes_.empty(); }

 private:
  std::uint64_t Number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += kGroupBits) {
      const std::uint64_t byte = Byte();
      value |= (byte & (kMore - 1)) << shift;
      if (byte < kMore) return value;
    }
    good_ = false;
    return 0;
  }
  std::uint64_t Byte() {
    if (bytes_.empty()) good_ = false;
    if (!good_) return 0;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }
  std::size_t Count(std::size_t least) {
    const std::uint64_t count = Number();
    if (count > bytes_.size() / least) good_ = false;
    return good_ ? static_cast<std::size_t>(count) : 0;
  }

  std::string_view bytes_;
  bool good_ = true;
};

// Of a packet behind `last`.
void Exchange(auto& io, auto& packet, SourceIndex::Video& last) {
  io.Step(packet.pts, last.pts);
  std::int64_t planned = packet.pts;  // what most are decoded with as well
  io.Step(packet.packet_pts, planned);
  io.Step(packet.dts, last.dts);
  io.Step(packet.seek_us, last.seek_us);
  io.Word(packet.fingerprint);
  io.Signed(packet.bytes);
  io.Small(packet.access, RandomAccess::kClosed);
  io.Small(packet.hidden, true);
}

void Exchange(auto& io, auto& packet, SourceIndex::Audio& last) {
  io.Step(packet.position, last.position);
  io.Step(packet.seek_us, last.seek_us);
  io.Word(packet.fingerprint);
  io.Signed(packet.samples);
  io.Signed(packet.bytes);
}

void ExchangeTrack(auto& io, auto& track) {
  io.Signed(track.stream_index);
  io.Signed(track.roles);
  for (auto* text : {&track.codec, &track.language, &track.title, &track.header}) io.Text(*text);
  for (auto* flag : {&track.is_default, &track.forced, &track.of_pictures, &track.incomplete}) {
    io.Small(*flag, true);
  }
  io.Small(track.form, CueForm::kMovText);
  std::int64_t last = 0;
  io.All(track.cues, kLeastCueBytes, [&](auto& cue) {
    io.Step(cue.start_us, last);
    std::int64_t start = cue.start_us;
    io.Step(cue.end_us, start);
    io.Text(cue.text);
  });
}

void ExchangeIndex(auto& io, auto& index) {
  io.Signed(index.audio_track);
  io.Small(index.counted_pts, true);
  io.Small(index.truncated, true);
  io.Signed(index.video_end);
  io.Signed(index.left_out);
  SourceIndex::Video video;
  io.All(index.video, kLeastPacketBytes, [&](auto& packet) { Exchange(io, packet, video); });
  SourceIndex::Audio audio;
  io.All(index.audio, kLeastPacketBytes, [&](auto& packet) { Exchange(io, packet, audio); });
  io.All(index.subtitles, kLeastTrackBytes, [&](auto& track) { ExchangeTrack(io, track); });
}

}  // namespace

std::optional<std::string> IndexBytes(const SourceIndex& index) {
  const auto drawn = [](const SubtitleTrack& track) { return track.bitmaps != nullptr; };
  if (!index.codings.empty() || std::ranges::any_of(index.subtitles, drawn)) return std::nullopt;
  Writer writer;
  ExchangeIndex(writer, index);
  return writer.Take();
}

std::shared_ptr<const SourceIndex> ParseIndexBytes(std::string_view bytes,
                                                   std::shared_ptr<const SourceInfo> source) {
  auto index = std::make_shared<SourceIndex>();
  Reader reader(bytes);
  ExchangeIndex(reader, *index);
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
