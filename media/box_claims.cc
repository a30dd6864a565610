// SPDX-License-Identifier: Apache-2.0
#include "media/box_claims.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace gopmill {
namespace {

// Blocks that FFmpeg would not allocate (SilenceFfmpeg) need not be counted. Letters of a text that
// reads like the name of a box are more.
constexpr std::uint32_t kMostInFragment = (1U << 30U) / 24, kMostKeys = (1U << 30U) / 8;
// Half finished boxes of one track, and tables: more than there are names of them twice.
constexpr std::size_t kMostAtOnce = 32;
constexpr std::uint64_t kALot = std::uint64_t{1} << 40U;
// What FFmpeg makes one packet of, in sound that has no frames; the least in other sound.
constexpr std::uint32_t kRawSamples = 1024, kFewestSamples = 160;
// Boxes of a file; no recording has as many.
constexpr int kMostFileBoxes = 1'000'000;

constexpr std::uint32_t Fourcc(std::string_view name) {
  std::uint32_t value = 0;
  for (const char letter : name) value = value << 8U | static_cast<unsigned char>(letter);
  return value;
}

std::uint64_t ReadNumber(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (const std::uint8_t byte : bytes) value = value << 8U | byte;
  return value;
}

bool IsRaw(std::uint32_t format) {
  constexpr std::array<std::string_view, 13> kRaw{"raw ", "twos", "sowt", "in24", "in32",
                                                  "fl32", "fl64", "NONE", "lpcm", "ulaw",
                                                  "alaw", "ipcm", "fpcm"};
  return std::ranges::any_of(kRaw, [&](std::string_view name) { return Fourcc(name) == format; });
}

}  // namespace

// ISO/IEC 14496-12, and the QuickTime File Format Specification.
const std::array<BoxClaims::Name, 13> BoxClaims::kNames{{{Fourcc("hdlr"), Kind::kHandler, 12},
                                                         {Fourcc("stsd"), Kind::kEntries, 48},
                                                         {Fourcc("stts"), Kind::kTimes, 16},
                                                         {Fourcc("stsc"), Kind::kRuns, 8},
                                                         {Fourcc("stco"), Kind::kChunks, 8},
                                                         {Fourcc("co64"), Kind::kChunks, 8},
                                                         {Fourcc("stsz"), Kind::kSizes, 12},
                                                         {Fourcc("stz2"), Kind::kSizes, 12},
                                                         {Fourcc("ctts"), Kind::kOffsets, 8},
                                                         {Fourcc("sbgp"), Kind::kGroups, 12},
                                                         {Fourcc("elst"), Kind::kEdits, 8},
                                                         {Fourcc("keys"), Kind::kKeys, 8},
                                                         {Fourcc("trun"), Kind::kFragment, 8}}};

std::uint32_t BoxClaims::Field::At(std::size_t offset) const {
  return static_cast<std::uint32_t>(ReadNumber(std::span(bytes).subspan(offset, 4)));
}

void BoxClaims::Push(std::span<const std::uint8_t> bytes) {
  seen_ += bytes.size();
  while (!bytes.empty()) {
    if (left_ == 0 && !to_end_) {
      header_[header_have_++] = bytes.front();
      See(bytes.front());
      bytes = bytes.subspan(1);
      BeginBox();
      continue;
    }
    const std::size_t here =
        to_end_ ? bytes.size()
                : static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    if (!media_) {
      for (const std::uint8_t byte : bytes.first(here)) See(byte);
    }
    bytes = bytes.subspan(here);
    if (to_end_) continue;
    left_ -= here;
    if (left_ == 0) EndBox();
  }
}

void BoxClaims::BeginBox() {
  if (header_have_ < 8) return;
  std::uint64_t size = ReadNumber(std::span(header_).first(4));
  if (size == 1) {
    if (header_have_ < 16) return;
    size = ReadNumber(std::span(header_).subspan(8, 8));
  }
  const std::uint64_t name = ReadNumber(std::span(header_).subspan(4, 4));
  media_ = name == Fourcc("mdat");
  movie_ = name == Fourcc("moov");
  inner_.Begin();
  if (size >= header_have_) {
    left_ = size - header_have_;
  } else {
    to_end_ = true;
    media_ = media_ && size == 0;
  }
  header_have_ = 0;
  if (left_ == 0 && !to_end_) EndBox();
}

void BoxClaims::EndBox() {
  EndTrack();
  movie_ = false;
}

bool BoxClaims::Inner::Push(std::uint8_t byte) {
  if (lost_) return false;
  if (left_ > 0) {
    --left_;
    return false;
  }
  header_[have_++] = byte;
  const std::size_t have = have_;
  if (have < 8) return false;
  std::uint64_t size = ReadNumber(std::span(header_).first(4));
  if (size == 1 && have < 16) return have == 8;
  if (size == 1) size = ReadNumber(std::span(header_).subspan(8, 8));
  lost_ = size < have;
  left_ = lost_ ? 0 : size - have;
  have_ = 0;
  return have == 8;
}

void BoxClaims::See(std::uint8_t byte) {
  if (!tables_.empty()) FeedTables(byte);  // first, since a field may begin one behind it
  if (!fields_.empty()) FeedFields(byte);
  last_ = last_ << 8U | byte;
  const bool inner = movie_ && inner_.Push(byte);
  const auto name = static_cast<std::uint32_t>(last_);
  if (name == Fourcc("trak")) return BeginTrack(inner);
  Match(static_cast<std::uint32_t>(last_ >> 32U), name);
}

// FFmpeg would read over the end of a box that is too small for what it should have.
void BoxClaims::EndTrack() {
  const auto cut = [](const Field& field) { return field.kind != Kind::kEntries; };
  if (!tables_.empty() || std::ranges::any_of(fields_, cut)) listed_ = kALot;
  tables_.clear();
  fields_.clear();
  listed_ = std::min(listed_ + track_.Packets(), kALot);
  track_ = Track();
}

// One that is not expected may be no track at all, in the midst of another one.
void BoxClaims::BeginTrack(bool expected) {
  ++tracks_;
  if (expected) return EndTrack();
  track_.odd = true;
  listed_ = std::min(listed_ + track_.Packets(), kALot);
  track_ = Track{.odd = true};
}

void BoxClaims::FeedFields(std::uint8_t byte) {
  for (Field& field : fields_) {
    if (field.skip > 0) {
      --field.skip;
      continue;
    }
    field.bytes[field.have++] = byte;
    if (field.have == field.need) field.need += MoreNeeded(field);
    if (field.have == field.need) Take(field);
  }
  std::erase_if(fields_, [](const Field& field) { return field.have == field.need; });
}

// Later versions of a box have more in it, in front of what is looked for.
std::size_t BoxClaims::MoreNeeded(const Field& field) {
  constexpr std::size_t kEntryVersion = 25;
  if (field.kind == Kind::kGroups && field.need == 12 && field.bytes[0] == 1) return 4;
  if (field.kind == Kind::kEntries && field.need == 48 && field.bytes[kEntryVersion] == 2)
    return 32;
  return 0;
}

void BoxClaims::Match(std::uint32_t box_size, std::uint32_t name) {
  if (name == Fourcc("moof")) {  // FFmpeg keeps two times for each track
    listed_ += 2 * std::clamp<std::uint64_t>(tracks_, 1, 64);
    return;
  }
  if (name == Fourcc("cmov")) compressed_ = true;
  for (const Name& known : kNames) {
    if (known.letters != name) continue;
    if (fields_.size() >= kMostAtOnce) listed_ = kALot;
    if (fields_.size() >= kMostAtOnce) return;
    fields_.push_back({.kind = known.kind,
                       .box_size = box_size,
                       .skip = box_size == 1 ? std::size_t{8} : 0,
                       .need = known.bytes});
  }
}

void BoxClaims::Take(const Field& field) {
  switch (field.kind) {
    case Kind::kHandler:
      (field.At(8) == Fourcc("soun") ? track_.sound : track_.other) = true;
      break;
    case Kind::kEntries: TakeEntries(field); break;
    case Kind::kTimes:
      if (field.At(4) != 1 || field.At(12) != 1) track_.single_ticks = false;
      break;
    case Kind::kRuns: BeginTable(field.kind, field.At(4), 12); break;
    case Kind::kChunks: track_.chunks = std::max<std::uint64_t>(track_.chunks, field.At(4)); break;
    case Kind::kSizes: track_.sizes = std::max<std::uint64_t>(track_.sizes, field.At(8)); break;
    case Kind::kOffsets: BeginTable(field.kind, field.At(4), 8); break;
    case Kind::kGroups: BeginTable(field.kind, field.At(field.need - 4), 8); break;
    case Kind::kEdits: {
      const std::uint32_t row = field.bytes[0] == 1 ? 20 : 12;
      const std::uint32_t room = field.box_size > 16 ? (field.box_size - 16) / row : UINT32_MAX;
      track_.edits = std::max<std::uint64_t>(track_.edits, std::min(field.At(4), room));
      break;
    }
    case Kind::kKeys:
      if (field.At(4) <= kMostKeys) listed_ += field.At(4) / 3;
      break;
    case Kind::kFragment: TakeFragment(field); break;
  }
}

void BoxClaims::TakeFragment(const Field& field) {
  constexpr std::uint32_t kFieldsOfPackets = 0xf00;
  const bool has_rows = (field.At(0) & kFieldsOfPackets) != 0;
  if (field.At(4) <= kMostInFragment && !(has_rows && opened_)) listed_ += field.At(4);
}

// Of sound: whether its samples have no frames, by its only sample entry.
void BoxClaims::TakeEntries(const Field& field) {
  const std::uint8_t version = field.bytes[25];
  const bool frames = (version == 1 && field.At(44) > 1) || (version == 2 && field.At(76) > 1);
  (field.At(4) == 1 && IsRaw(field.At(12)) && !frames ? track_.raw : track_.not_raw) = true;
}

void BoxClaims::BeginTable(Kind kind, std::uint32_t rows, std::size_t row_bytes) {
  if (tables_.size() >= kMostAtOnce) listed_ = kALot;
  if (rows == 0 || tables_.size() >= kMostAtOnce) return;
  tables_.push_back({.kind = kind, .left = rows, .row_bytes = row_bytes});
}

void BoxClaims::FeedTables(std::uint8_t byte) {
  for (Table& table : tables_) {
    table.row[table.have++] = byte;
    if (table.have < table.row_bytes) continue;
    table.have = 0;
    --table.left;
    TakeRow(table);
  }
  std::erase_if(tables_, [](const Table& table) { return table.left == 0; });
}

void BoxClaims::TakeRow(Table& table) {
  const auto first = static_cast<std::uint32_t>(ReadNumber(std::span(table.row).first(4)));
  if (table.kind != Kind::kRuns) {
    table.sum += first;
    track_.expanded = std::max(track_.expanded, table.sum);
    return;
  }
  const auto count = static_cast<std::uint32_t>(ReadNumber(std::span(table.row).subspan(4, 4)));
  if (table.first_chunk != 0 && first <= table.first_chunk) track_.runs_ordered = false;
  if (table.first_chunk != 0 && first > table.first_chunk) {
    const std::uint64_t chunks = first - table.first_chunk;
    table.sum = std::min(table.sum + chunks * (table.in_chunk / kFewestSamples + 1), kALot);
    table.raw = std::min(table.raw + chunks * (table.in_chunk / kRawSamples + 1), kALot);
  }
  table.first_chunk = track_.last_first = first;
  table.in_chunk = track_.last_in_chunk = count;
  track_.in_runs = std::max(track_.in_runs, table.sum);
  track_.raw_in_runs = std::max(track_.raw_in_runs, table.raw);
  track_.most_in_chunk = std::max(track_.most_in_chunk, count);
}

// Packets that FFmpeg joins the samples of its chunks to.
std::uint64_t BoxClaims::Track::Joined() const {
  if (most_in_chunk == 0) return 0;
  const bool without_frames = raw && !not_raw;
  const std::uint32_t each = without_frames ? kRawSamples : kFewestSamples;
  if (!runs_ordered) return chunks * (most_in_chunk / each + 1);
  const std::uint64_t behind = chunks >= last_first ? chunks - last_first + 1 : 0;
  return (without_frames ? raw_in_runs : in_runs) + behind * (last_in_chunk / each + 1);
}

// Each edit lists what it shows again; of two, one is mostly empty.
std::uint64_t BoxClaims::Track::Packets() const {
  constexpr std::uint64_t kManyEdits = std::uint64_t{1} << 20U;
  const bool joins = sound && !other && single_ticks && !odd;
  const std::uint64_t packets = joins ? Joined() : std::max({sizes, expanded, Joined()});
  return std::min(packets, kALot) * std::clamp<std::uint64_t>(edits, 2, kManyEdits + 1) -
         std::min(packets, kALot);
}

bool BoxClaims::too_many() const {
  return listed_ + track_.Packets() > kMaxListedPackets + seen_ / kBytesEach;
}

namespace {

// The boxes of a file one behind the other, but for their media.
class FileBoxes {
 public:
  FileBoxes(int fd, const std::stop_token& stop) : fd_(fd), stop_(stop) {}
  bool ListTooMuch();

 private:
  // Reads the header of the next one. False at the end of the file.
  bool Next();
  [[nodiscard]] bool IsPadding() const;
  void Look();

  const int fd_;
  const std::stop_token& stop_;
  BoxClaims claims_;
  std::uint64_t at_ = 0, size_ = 0;  // of the box; 0 = to the end of the file
  std::array<std::uint8_t, 16> header_{};
  std::size_t got_ = 0;
  std::uint32_t name_ = 0;
};

bool FileBoxes::Next() {
  const ssize_t got = pread(fd_, header_.data(), header_.size(), static_cast<off_t>(at_));
  if (got < 8) return false;
  got_ = static_cast<std::size_t>(got);
  size_ = ReadNumber(std::span(header_).first(4));
  name_ = static_cast<std::uint32_t>(ReadNumber(std::span(header_).subspan(4, 4)));
  if (size_ == 1 && got_ == header_.size()) size_ = ReadNumber(std::span(header_).subspan(8, 8));
  return true;
}

// FFmpeg looks into what is free where a header seems to have been renamed.
bool FileBoxes::IsPadding() const {
  const auto inner = static_cast<std::uint32_t>(ReadNumber(std::span(header_).subspan(12, 4)));
  if (name_ == Fourcc("free") || name_ == Fourcc("hoov")) {
    return inner != Fourcc("mvhd") && inner != Fourcc("cmov");
  }
  return name_ == Fourcc("mdat") || name_ == Fourcc("skip") || name_ == Fourcc("wide") ||
         name_ == Fourcc("uuid");
}

void FileBoxes::Look() {
  std::vector<std::uint8_t> bytes(std::size_t{64} << 10U);
  std::uint64_t done = 0;
  while ((size_ == 0 || done < size_) && !claims_.too_many() && !stop_.stop_requested()) {
    const std::uint64_t left = size_ == 0 ? bytes.size() : size_ - done;
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(left, bytes.size()));
    const ssize_t got = pread(fd_, bytes.data(), want, static_cast<off_t>(at_ + done));
    if (got <= 0) break;
    claims_.Push(std::span(bytes).first(static_cast<std::size_t>(got)));
    done += static_cast<std::uint64_t>(got);
  }
}

// FFmpeg reads all of them, unless an index says where the fragments lie.
bool FileBoxes::ListTooMuch() {
  bool indexed = false;
  for (int box = 0; box < kMostFileBoxes && Next() && !stop_.stop_requested(); ++box) {
    indexed = indexed || name_ == Fourcc("sidx");
    if (indexed && name_ == Fourcc("mdat")) break;
    if (!IsPadding()) Look();
    if (claims_.too_many()) return true;
    if (size_ < 8 || at_ + size_ < at_) break;
    at_ += size_;
  }
  return false;
}

}  // namespace

bool ListsTooMuch(int fd, const std::stop_token& stop) { return FileBoxes(fd, stop).ListTooMuch(); }

}  // namespace gopmill
