// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtp_payload.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace gopmill {
namespace {

using Bytes = std::span<const std::uint8_t>;

std::size_t Word(Bytes bytes, std::size_t at) {
  return (std::size_t{bytes[at]} << 8U) | bytes[at + 1];
}

// Of NAL units: what their depayloaders have to know of H.264 and of HEVC.
struct NalForm {
  std::size_t header;                  // bytes of the header of a unit
  unsigned shift, mask;                // of its type, in the first of them
  unsigned last_slice;                 // types of slices, which are looked at behind their header
  std::array<unsigned, 2> aggregate;   // types of packets with several units
  std::array<std::size_t, 2> skipped;  // bytes in front of the first of these
  std::array<unsigned, 2> piece;       // types of pieces of a unit
};
constexpr NalForm kH264{1, 0, 0x1f, 5, {{24, 25}}, {{1, 3}}, {{28, 29}}};   // RFC 6184
constexpr NalForm kH265{2, 1, 0x3f, 31, {{48, 48}}, {{2, 2}}, {{49, 49}}};  // RFC 7798

unsigned TypeOf(Bytes unit, const NalForm& form) { return (unit[0] >> form.shift) & form.mask; }

bool IsUnit(Bytes unit, const NalForm& form) {
  return unit.size() > form.header || TypeOf(unit, form) > form.last_slice;
}

// Sizes in front of units count up to the end of the packet, as the depayloaders have it.
bool AreUnits(Bytes units, const NalForm& form) {
  while (units.size() > 2) {
    const std::size_t size = std::min(Word(units, 0), units.size() - 2);
    if (size > 0 && !IsUnit(units.subspan(2, size), form)) return false;
    units = units.subspan(2 + size);
  }
  return true;
}

bool HasUnits(Bytes payload, const NalForm& form) {
  if (payload.size() < form.header) return false;
  const unsigned type = TypeOf(payload, form);
  for (const unsigned piece : form.piece) {
    if (type == piece) return payload.size() > form.header + 1;  // and the header of a piece
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (type != form.aggregate[i]) continue;
    return payload.size() >= form.skipped[i] && AreUnits(payload.subspan(form.skipped[i]), form);
  }
  return IsUnit(payload, form);
}

// RFC 2435 section 3.1: what each first packet of a picture says of its tables. Those by number
// (Q below 128) are the depayloader's own. It copies two of them; where there is one only, as from
// ffmpeg, what follows it must be there to be copied.
bool HasItsTables(Bytes payload) {
  constexpr std::size_t kHeader = 8, kRestart = 4, kTables = 4;
  constexpr unsigned kWithRestarts = 64, kWithTables = 128, kTable = 64;
  if (payload.size() < kHeader) return true;  // the depayloader knows that it is cut
  const bool first = payload[1] == 0 && Word(payload, 2) == 0;
  if (!first || payload[5] < kWithTables) return true;
  const std::size_t at = kHeader + (payload[4] >= kWithRestarts ? kRestart : 0);
  if (payload.size() < at + kTables) return true;
  const unsigned precision = payload[at + 1];
  const std::size_t length = Word(payload, at + 2);
  const std::size_t luma = (precision & 1U) != 0 ? 2 * kTable : kTable;
  const std::size_t chroma = (precision & 2U) != 0 ? 2 * kTable : kTable;
  return length == 0 || payload.size() - at - kTables >= luma + chroma;
}

// As the depayloader reads: what is missing at the end is left out.
class BitReader {
 public:
  explicit BitReader(Bytes bytes) : bytes_(bytes) {}
  std::uint64_t Read(unsigned count) {
    std::uint64_t value = 0;
    for (; count > 0 && place_ < 8 * bytes_.size(); --count, ++place_) {
      value = (value << 1U) | ((bytes_[place_ / 8] >> (7 - place_ % 8)) & 1U);
    }
    return value;
  }

 private:
  Bytes bytes_;
  std::size_t place_ = 0;  // bits
};

// RFC 3640 section 3.2; how many units there are is what the depayloader thinks.
bool HasEmptyUnit(Bytes payload, const UnitFields& fields) {
  if (fields.size == 0) return false;
  if (payload.size() < 2) return true;
  const std::size_t bits = Word(payload, 0);
  const std::size_t bytes = (bits + 7) / 8;
  payload = payload.subspan(2);
  if (payload.size() < bytes) return true;
  BitReader reader(payload);
  std::size_t left = payload.size() - bytes;
  for (std::size_t i = 0; i < bits / 16 && left > 0; ++i) {
    const std::uint64_t size = reader.Read(fields.size);
    if (size == 0) return true;
    reader.Read(i == 0 ? fields.index : fields.index_delta);
    left -= std::min<std::uint64_t>(size, left);
  }
  return false;
}

}  // namespace

bool PayloadRules::Allow(Bytes payload) const {
  if (payload.empty()) return false;
  switch (kind_) {
    case Kind::kOther: return true;
    case Kind::kH264: return HasUnits(payload, kH264);
    case Kind::kH265: return HasUnits(payload, kH265);
    case Kind::kJpeg: return HasItsTables(payload);
    case Kind::kUnits: return !HasEmptyUnit(payload, fields_);
  }
  return true;
}

}  // namespace gopmill
