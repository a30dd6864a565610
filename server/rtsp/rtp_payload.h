// SPDX-License-Identifier: Apache-2.0
//
// Packets of RTP that a depayloader of GStreamer shall not get, since it believes what they say of
// themselves:
// - rtph264depay and rtph265depay lose count of a unit in pieces at a packet with no payload among
//   them: the next unit is put into a buffer that is not there, or aborts the process. A piece
//   without bytes is taken for one of 4 GiB.
// - rtpmp4gdepay uses the buffer of an access unit that is empty, which it does not have.
// - rtpjpegdepay copies two quantization tables if a packet has any, also from behind its end.
// One that is left out is a gap for the depayloader, which starts afresh behind it. Pure.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <span>

namespace gopmill {

// Bits of the fields in front of each access unit of AAC (RFC 3640 section 3.2.1), 0 to 32.
struct UnitFields {
  unsigned size = 0, index = 0, index_delta = 0;
};

class PayloadRules {
 public:
  static PayloadRules H264() { return PayloadRules(Kind::kH264, {}); }
  static PayloadRules H265() { return PayloadRules(Kind::kH265, {}); }
  static PayloadRules Jpeg() { return PayloadRules(Kind::kJpeg, {}); }
  static PayloadRules Units(UnitFields fields) { return PayloadRules(Kind::kUnits, fields); }

  PayloadRules() = default;  // of the other codecs: that there is a payload
  // `payload`: what follows the header of RTP, without padding.
  [[nodiscard]] bool Allow(std::span<const std::uint8_t> payload) const;

 private:
  enum class Kind { kOther, kH264, kH265, kJpeg, kUnits };
  PayloadRules(Kind kind, UnitFields fields) : kind_(kind), fields_(fields) {}

  Kind kind_ = Kind::kOther;
  UnitFields fields_;
};

}  // namespace gopmill
