// SPDX-License-Identifier: Apache-2.0
//
// How many packets the header of an MP4 or MOV says that it lists. FFmpeg makes 24 to 32 bytes of
// each before it has seen any: where all are of one size, a header of some hundred bytes is enough
// for gigabytes. So they are counted first, in the bytes that FFmpeg is about to read.
//
// Boxes are walked as FFmpeg does, which takes one for what its name says wherever it lies, but
// looks for others in some kinds only: what is text or a picture there is no box, whatever letters
// it has. Within sample entries, whose forms are many, names are looked for at each byte.
//
// Memory: some KiB, and that of IndexPlaces. Thread-safety: compatible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "media/index_places.h"

namespace gopmill {

// Of all tracks together, before there is media for them: one more for each kBytesEach of the
// source, as fragments come.
inline constexpr std::uint64_t kMaxListedPackets = 16'000'000;
inline constexpr std::uint64_t kBytesEach = 64;

class BoxClaims {
 public:
  // The next bytes, from the first one of the source.
  void Push(std::span<const std::uint8_t> bytes);
  // A box at the top that is so long was not pushed: nothing in it is read.
  void Skip(std::uint64_t bytes);
  // Of a file: IndexPlaces::OfFile, and the end of what is pushed or skipped.
  void OfFile(std::uint64_t bytes, std::uint64_t mfra_bytes) { places_.OfFile(bytes, mfra_bytes); }
  void End() { places_.End(); }
  // Whether a box of this name is looked into at all.
  [[nodiscard]] static bool Reads(std::uint32_t name);
  // From now on what fragments list counts only where no bytes of theirs stand behind it.
  void Opened() { opened_ = true; }
  // FFmpeg must not see what was pushed last.
  [[nodiscard]] bool too_many() const;
  // Nor may it where an index names a place at which no box at the top begins (IndexPlaces).
  [[nodiscard]] bool astray() const { return places_.astray(); }
  // There are boxes that cannot be looked into: zlib's (QuickTime's 'cmov').
  [[nodiscard]] bool compressed() const { return compressed_; }

 private:
  enum class Kind : std::uint8_t {
    kHandler,
    kEntries,
    kTimes,
    kRuns,
    kChunks,
    kSizes,
    kOffsets,
    kGroups,
    kEdits,
    kKeys,
    kFragment,
    kIndex,
    kDescriptions
  };
  struct Name {
    std::uint32_t letters;
    Kind kind;
    std::uint8_t bytes;  // of its content that are looked at
  };
  static const std::array<Name, 15> kNames;
  struct Field {  // the beginning of a box
    Kind kind = Kind::kHandler;
    std::uint64_t content = 0;  // of the box, bytes
    std::uint64_t end = 0;      // of the box, in the source
    std::size_t need = 0, have = 0;
    std::array<std::uint8_t, 80> bytes{};
    [[nodiscard]] std::uint32_t At(std::size_t offset) const;
  };
  struct Table {  // the rest of one
    Kind kind = Kind::kRuns;
    std::uint32_t left = 0;  // rows
    std::size_t row_bytes = 0, have = 0;
    std::array<std::uint8_t, 12> row{};
    std::uint64_t sum = 0;                        // of what its rows count; kIndex: a place
    std::uint64_t raw = 0;                        // kRuns: the same of sound without frames
    std::uint32_t first_chunk = 0, in_chunk = 0;  // of the row before
  };
  struct Track {
    bool sound = false, other = false;  // what it is said to be
    bool single_ticks = true;           // all durations are 1: FFmpeg joins samples
    bool raw = false, not_raw = false;  // sound without frames
    std::uint64_t sizes = 0, expanded = 0, edits = 0;
    std::uint64_t chunks = 0, in_runs = 0, raw_in_runs = 0;
    bool runs_ordered = true;
    std::uint32_t last_first = 0, last_in_chunk = 0, most_in_chunk = 0;
    [[nodiscard]] std::uint64_t Joined() const;
    [[nodiscard]] std::uint64_t Packets() const;
  };
  struct Open {  // a box that others are in
    std::uint32_t name = 0;
    std::uint64_t end = 0;
    bool searched = false;  // 'meta': others begin with its 'hdlr'
  };

  void See(std::uint8_t byte);
  void SeeHeader(std::uint8_t byte);
  void EndHeader();
  void Note(std::uint32_t name);
  void NoteInEntry(std::uint32_t name);
  void NoteFragment(bool at_the_top, bool known);
  [[nodiscard]] std::uint64_t Tracks() const;
  void SeeMeta(std::uint8_t byte);
  void SeeLeaf(std::uint8_t byte);
  void BeginBox(std::uint32_t name, std::uint64_t end);
  void BeginInner(std::uint32_t name, std::uint64_t end);
  void EndLeaf();
  void EndBoxes();
  [[nodiscard]] std::uint64_t EndOfParent() const;
  void FeedFields(std::uint8_t byte);
  void FeedTables(std::uint8_t byte);
  bool Match(std::uint64_t content, std::uint32_t name);
  [[nodiscard]] static std::size_t MoreNeeded(const Field& field);
  void Take(const Field& field);
  void TakeHandler(std::uint32_t type);
  void TakeFragment(const Field& field);
  void TakeEntries(const Field& field);
  void TakeIndex(const Field& field);
  void AddPlace(std::uint64_t place);
  void BeginTable(Kind kind, std::uint32_t rows, std::size_t row_bytes);
  void TakeRow(Table& table);
  void EndTrack();

  bool opened_ = false, compressed_ = false;
  std::uint64_t seen_ = 0;     // bytes
  std::uint64_t skipped_ = 0;  // of them, by Skip
  std::uint64_t listed_ = 0;   // by all but the tracks that are being read
  std::uint64_t tracks_ = 0;
  std::uint64_t indexed_ = 0;  // rows of indexes
  IndexPlaces places_;
  // Where it is, in bytes that were pushed: the boxes around it, what is skipped, and the end of a
  // box that is read itself (0 = none); of that, whether names are looked for at each byte, and one
  // of a header has been found.
  std::uint64_t at_ = 0, skip_to_ = 0, leaf_end_ = 0;
  bool leaf_searched_ = false, leaf_has_movie_ = false;
  std::vector<Open> open_;
  std::array<std::uint8_t, 16> header_{};
  std::size_t header_have_ = 0;
  std::uint64_t last_ = 0;  // eight bytes
  std::vector<Field> fields_;
  std::vector<Table> tables_;
  // The one that is read, and those around it: what lies between tracks belongs to none.
  Track track_;
  std::vector<Track> outer_;
};

}  // namespace gopmill
