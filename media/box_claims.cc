// SPDX-License-Identifier: Apache-2.0
#include "media/box_claims.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "media/av_error.h"
#include "media/file_boxes.h"
#include "media/source.h"

namespace gopmill {
namespace {

// What takes a larger block is not made by FFmpeg, and so need not be counted.
constexpr std::uint64_t kMostInFragment = av::kMaxFfmpegBlock / 24,
                        kMostInTable = av::kMaxFfmpegBlock / 8;
// Half finished boxes of one track, and tables: more than there are names of them twice.
constexpr std::size_t kMostAtOnce = 32;
constexpr std::uint64_t kALot = std::uint64_t{1} << 40U;
// As long as FFmpeg takes for a packet, it looks at so many times of rows of an index, or moves so
// many rows.
constexpr std::uint64_t kTimesEach = 4096, kRowsEach = 512;
// What FFmpeg makes one packet of, in sound that has no frames; the least in other sound.
constexpr std::uint32_t kRawSamples = 1024, kFewestSamples = 160;

// Boxes in which FFmpeg looks for others (mov.c, mov_read_default).
bool IsContainer(std::uint32_t name) {
  constexpr std::array<std::string_view, 21> kContainers{
      "trak", "mdia", "minf", "stbl", "edts", "dinf", "udta", "ilst", "moof", "traf", "mvex",
      "wave", "sinf", "schi", "tref", "gmhd", "tmcd", "mfra", "iprp", "ipco", "meta"};
  return std::ranges::any_of(kContainers,
                             [&](std::string_view each) { return Fourcc(each) == name; });
}

// Those that are free may be a header that was renamed.
bool IsMovie(std::uint32_t name) {
  return name == Fourcc("moov") || name == Fourcc("hoov") || name == Fourcc("free");
}

bool IsRaw(std::uint32_t format) {
  constexpr std::array<std::string_view, 13> kRaw{"raw ", "twos", "sowt", "in24", "in32",
                                                  "fl32", "fl64", "NONE", "lpcm", "ulaw",
                                                  "alaw", "ipcm", "fpcm"};
  return std::ranges::any_of(kRaw, [&](std::string_view name) { return Fourcc(name) == format; });
}

}  // namespace

// ISO/IEC 14496-12, and the QuickTime File Format Specification.
const std::array<BoxClaims::Name, 15> BoxClaims::kNames{{{Fourcc("hdlr"), Kind::kHandler, 12},
                                                         {Fourcc("stsd"), Kind::kEntries, 48},
                                                         {Fourcc("stts"), Kind::kTimes, 8},
                                                         {Fourcc("stsc"), Kind::kRuns, 8},
                                                         {Fourcc("stco"), Kind::kChunks, 8},
                                                         {Fourcc("co64"), Kind::kChunks, 8},
                                                         {Fourcc("stsz"), Kind::kSizes, 12},
                                                         {Fourcc("stz2"), Kind::kSizes, 12},
                                                         {Fourcc("ctts"), Kind::kOffsets, 8},
                                                         {Fourcc("sbgp"), Kind::kGroups, 12},
                                                         {Fourcc("elst"), Kind::kEdits, 8},
                                                         {Fourcc("keys"), Kind::kKeys, 8},
                                                         {Fourcc("trun"), Kind::kFragment, 8},
                                                         {Fourcc("sidx"), Kind::kIndex, 24},
                                                         {Fourcc("sgpd"), Kind::kDescriptions, 8}}};

std::uint32_t BoxClaims::Field::At(std::size_t offset) const {
  return static_cast<std::uint32_t>(ReadBigEndian(std::span(bytes).subspan(offset, 4)));
}

void BoxClaims::Push(std::span<const std::uint8_t> bytes) {
  seen_ += bytes.size();
  while (!bytes.empty()) {
    const std::uint64_t skipped =
        std::min<std::uint64_t>(skip_to_ - std::min(at_, skip_to_), bytes.size());
    at_ += skipped;
    bytes = bytes.subspan(static_cast<std::size_t>(skipped));
    EndBoxes();
    if (bytes.empty()) return;
    if (at_ < skip_to_) continue;
    ++at_;
    See(bytes.front());
    bytes = bytes.subspan(1);
    EndBoxes();
  }
}

void BoxClaims::Skip(std::uint64_t bytes) {
  const std::uint64_t begin = at_ + skipped_;
  places_.Box(begin, begin + bytes);
  seen_ += bytes;
  skipped_ += bytes;
}

void BoxClaims::See(std::uint8_t byte) {
  if (leaf_end_ > 0) return SeeLeaf(byte);
  if (!open_.empty() && open_.back().searched) return SeeMeta(byte);
  SeeHeader(byte);
}

std::uint64_t BoxClaims::EndOfParent() const { return open_.empty() ? kALot : open_.back().end; }

void BoxClaims::SeeHeader(std::uint8_t byte) {
  header_[header_have_++] = byte;
  EndHeader();
}

void BoxClaims::EndHeader() {
  if (header_have_ < 8) return;
  std::uint64_t size = ReadBigEndian(std::span(header_).first(4));
  if (size == 1) {
    if (header_have_ < 16) return;
    size = LongBoxSize(header_);
  }
  const std::size_t have = header_have_;
  header_have_ = 0;
  const auto name = static_cast<std::uint32_t>(ReadBigEndian(std::span(header_).subspan(4, 4)));
  const std::uint64_t start = at_ - have, most = EndOfParent();
  const bool broken = size != 0 && size < have;  // FFmpeg looks no further in there
  const std::uint64_t end = broken || size == 0 || size > most - start ? most : start + size;
  const bool top = open_.empty();
  const bool known =
      top && places_.Box(start + skipped_, end == kALot ? UINT64_MAX : end + skipped_);
  if (broken) {
    skip_to_ = end;
  } else {
    if (name == Fourcc("moof")) NoteFragment(top && have == 8, known);
    BeginBox(name, end);
  }
}

// By words, until one is the name of its 'hdlr', which is the first box in it.
void BoxClaims::SeeMeta(std::uint8_t byte) {
  last_ = last_ << 8U | byte;
  if (++header_have_ < 4) return;
  header_have_ = 0;
  if (static_cast<std::uint32_t>(last_) != Fourcc("hdlr")) return;
  open_.back().searched = false;
  for (header_have_ = 0; header_have_ < 8; ++header_have_) {
    header_[header_have_] = static_cast<std::uint8_t>(last_ >> (56 - 8 * header_have_));
  }
  EndHeader();
}

void BoxClaims::Note(std::uint32_t name) {
  if (name == Fourcc("cmov")) compressed_ = true;
}

std::uint64_t BoxClaims::Tracks() const {
  return std::clamp<std::uint64_t>(tracks_, 1, kMaxSourceStreams);
}

// FFmpeg keeps two times for each track, and the place: one that is no box at the top would be read
// as such all the same. One that no index named is put in front of those that are ahead.
void BoxClaims::NoteFragment(bool at_the_top, bool known) {
  const std::uint64_t moved = known ? 0 : places_.ahead() / kRowsEach;
  listed_ = at_the_top ? listed_ + 2 * Tracks() + moved : kALot;
}

// What is looked into for other boxes, what is read, and what is skipped.
void BoxClaims::BeginBox(std::uint32_t name, std::uint64_t end) {
  Note(name);
  if (IsMovie(name) || IsContainer(name)) return BeginInner(name, end);
  if (!Match(end - at_, name)) {
    skip_to_ = end;
    return;
  }
  leaf_end_ = end;
  leaf_searched_ = name == Fourcc("stsd");
  leaf_has_movie_ = false;
  last_ = 0;
  if (at_ >= end) EndLeaf();
}

void BoxClaims::BeginInner(std::uint32_t name, std::uint64_t end) {
  constexpr std::size_t kMostDepth = 16;  // FFmpeg gives up earlier
  const bool among_tracks = open_.empty() || IsMovie(open_.back().name);
  if (name == Fourcc("trak")) {
    if (!among_tracks) {  // FFmpeg leaves the box that it is in
      skip_to_ = EndOfParent();
      return;
    }
    ++tracks_;
  }
  if (open_.size() >= kMostDepth) {
    skip_to_ = end;
    return;
  }
  if (name == Fourcc("trak")) outer_.push_back(std::exchange(track_, Track()));
  open_.push_back({.name = name, .end = end, .searched = name == Fourcc("meta")});
  last_ = 0;
}

void BoxClaims::SeeLeaf(std::uint8_t byte) {
  if (!tables_.empty()) FeedTables(byte);  // first, since a field may begin one behind it
  if (!fields_.empty()) FeedFields(byte);
  if (leaf_searched_) {
    last_ = last_ << 8U | byte;
    const auto size = static_cast<std::uint32_t>(last_ >> 32U);
    const auto name = static_cast<std::uint32_t>(last_);
    Note(name);
    NoteInEntry(name);
    Match(size > 8 ? size - 8 : kALot, name);
  } else if (fields_.empty() && tables_.empty()) {
    skip_to_ = std::exchange(leaf_end_, 0);
    return;
  }
  if (at_ >= leaf_end_) EndLeaf();
}

// FFmpeg reads the tracks of a header in there as well, each with tables of its own, which are not
// told apart here. Without one around it a track is passed over, and these letters may be text.
void BoxClaims::NoteInEntry(std::uint32_t name) {
  if (IsMovie(name)) leaf_has_movie_ = true;
  if (leaf_has_movie_ && name == Fourcc("trak")) listed_ = kALot;
}

// FFmpeg would read over the end of a box that is too small for what it should have. Sample entries
// may be shorter than what is looked at of them.
void BoxClaims::EndLeaf() {
  for (const Field& field : fields_) {
    if (field.kind == Kind::kEntries) {
      TakeEntries(field);
    } else {
      listed_ = kALot;
    }
  }
  if (!tables_.empty()) listed_ = kALot;
  tables_.clear();
  fields_.clear();
  leaf_end_ = 0;
}

void BoxClaims::EndBoxes() {
  while (!open_.empty() && at_ >= open_.back().end) {
    if (leaf_end_ > 0) EndLeaf();
    if (open_.back().name == Fourcc("trak")) EndTrack();
    open_.pop_back();
    header_have_ = 0;
  }
}

void BoxClaims::EndTrack() {
  listed_ = std::min(listed_ + track_.Packets(), kALot);
  track_ = outer_.back();
  outer_.pop_back();
}

void BoxClaims::FeedFields(std::uint8_t byte) {
  for (Field& field : fields_) {
    field.bytes[field.have++] = byte;
    if (field.have == field.need) field.need += MoreNeeded(field);
    if (field.have == field.need) Take(field);
  }
  std::erase_if(fields_, [](const Field& field) { return field.have == field.need; });
}

// Later versions of a box have more in it, in front of what is looked for.
std::size_t BoxClaims::MoreNeeded(const Field& field) {
  constexpr std::size_t kEntryVersion = 25;
  if (field.kind == Kind::kTimes && field.need == 8 && field.At(4) == 1) return 8;  // one row
  if (field.kind == Kind::kGroups && field.need == 12 && field.bytes[0] == 1) return 4;
  if (field.kind == Kind::kEntries && field.need == 48 && field.bytes[kEntryVersion] == 2)
    return 32;
  if (field.kind == Kind::kIndex && field.need == 24 && field.bytes[0] == 1) return 8;
  if (field.kind == Kind::kDescriptions && field.need == 8 && field.At(4) == Fourcc("sync"))
    return 4 + 4 * std::min<std::size_t>(field.bytes[0], 2);
  return 0;
}

bool BoxClaims::Reads(std::uint32_t name) {
  const auto is = [name](const Name& known) { return known.letters == name; };
  return IsMovie(name) || IsContainer(name) || name == Fourcc("cmov") ||
         std::ranges::any_of(kNames, is);
}

bool BoxClaims::Match(std::uint64_t content, std::uint32_t name) {
  const auto* const known =
      std::ranges::find_if(kNames, [name](const Name& each) { return each.letters == name; });
  if (known == kNames.end()) return false;
  if (fields_.size() >= kMostAtOnce) {
    listed_ = kALot;
    return true;
  }
  fields_.push_back({.kind = known->kind,
                     .content = content,
                     .end = at_ + skipped_ + content,
                     .need = known->bytes});
  return true;
}

void BoxClaims::Take(const Field& field) {
  switch (field.kind) {
    case Kind::kHandler: TakeHandler(field.At(8)); break;
    case Kind::kEntries: TakeEntries(field); break;
    case Kind::kTimes:
      if (field.At(4) != 1 || field.At(12) != 1) track_.single_ticks = false;
      break;
    case Kind::kRuns: BeginTable(field.kind, field.At(4), 12); break;
    case Kind::kChunks:
      if (field.At(4) > kMostInTable) break;
      track_.chunks = std::max<std::uint64_t>(track_.chunks, field.At(4));
      break;
    case Kind::kSizes: track_.sizes = std::max<std::uint64_t>(track_.sizes, field.At(8)); break;
    case Kind::kOffsets: BeginTable(field.kind, field.At(4), 8); break;
    case Kind::kGroups: BeginTable(field.kind, field.At(field.need - 4), 8); break;
    case Kind::kEdits: {
      // As many as fit into the box, whatever it says.
      const std::uint64_t row = field.bytes[0] == 1 ? 20 : 12;
      track_.edits = std::max(track_.edits, (std::max<std::uint64_t>(field.content, 8) - 8) / row);
      break;
    }
    case Kind::kKeys:
      if (field.At(4) <= kMostInTable) listed_ += field.At(4) / 3;
      break;
    case Kind::kFragment: TakeFragment(field); break;
    case Kind::kIndex: TakeIndex(field); break;
    case Kind::kDescriptions:  // a byte of each at least
      if (field.need > 8 && field.At(field.need - 4) > field.content) listed_ = kALot;
      break;
  }
}

// Others, such as that of the data (QuickTime's second one), do not change what a track is.
void BoxClaims::TakeHandler(std::uint32_t type) {
  if (type == Fourcc("soun")) track_.sound = true;
  constexpr std::array<std::string_view, 3> kOthers{"vide", "subp", "clcp"};
  const auto is = [type](std::string_view each) { return Fourcc(each) == type; };
  if (std::ranges::any_of(kOthers, is)) track_.other = true;
}

void BoxClaims::TakeFragment(const Field& field) {
  constexpr std::uint32_t kFieldsOfPackets = 0xf00;
  // Of more FFmpeg makes room in earnest before their rows have come.
  constexpr std::uint32_t kMostRows = 1'000'000;
  const bool has_rows = (field.At(0) & kFieldsOfPackets) != 0 && field.At(4) <= kMostRows;
  if (field.At(4) <= kMostInFragment && !(has_rows && opened_)) listed_ += field.At(4);
  listed_ += places_.ahead() * Tracks() / kTimesEach;  // for the next one of its track
}

// The rows of an index: as of a fragment, and the time that it begins at. Those in it are places
// one behind the other, the first one given.
void BoxClaims::TakeIndex(const Field& field) {
  const std::uint8_t version = field.bytes[0];
  if (version > 1) return;
  const std::uint32_t rows = field.At(field.need - 4) & 0xffffU;
  const std::uint64_t ahead =
      version == 0 ? field.At(16) : ReadBigEndian(std::span(field.bytes).subspan(20, 8));
  if (rows == 0) return;
  indexed_ += rows;
  listed_ += 3 * Tracks() * rows;
  BeginTable(field.kind, rows, 12);
  if (tables_.empty()) return;
  tables_.back().sum = field.end + ahead;
  AddPlace(field.end + ahead);
}

void BoxClaims::AddPlace(std::uint64_t place) {
  if (places_.Add(place)) listed_ += indexed_ / kRowsEach;  // which FFmpeg moves
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
  const auto first = static_cast<std::uint32_t>(ReadBigEndian(std::span(table.row).first(4)));
  if (table.kind == Kind::kIndex) {
    table.sum += first;
    return table.left > 0 ? AddPlace(table.sum) : places_.AddEnd(table.sum);
  }
  if (table.kind != Kind::kRuns) {
    table.sum += first;
    track_.expanded = std::max(track_.expanded, table.sum);
    return;
  }
  const auto count = static_cast<std::uint32_t>(ReadBigEndian(std::span(table.row).subspan(4, 4)));
  const auto entry = ReadBigEndian(std::span(table.row).subspan(8, 4));
  // FFmpeg mends those that are not by the row behind them.
  const bool orderly = first > table.first_chunk && count > 0 && entry > 0;
  if (!orderly) track_.runs_ordered = false;
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
  const bool joins = sound && !other && single_ticks;
  const std::uint64_t packets = joins ? Joined() : std::max({sizes, expanded, Joined()});
  return std::min(packets, kALot) * std::clamp<std::uint64_t>(edits, 2, kManyEdits + 1) -
         std::min(packets, kALot);
}

bool BoxClaims::too_many() const {
  std::uint64_t listed = listed_ + track_.Packets();
  for (const Track& track : outer_) listed += track.Packets();
  return listed > kMaxListedPackets + seen_ / kBytesEach;
}

}  // namespace gopmill
