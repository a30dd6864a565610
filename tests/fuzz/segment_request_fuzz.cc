// SPDX-License-Identifier: Apache-2.0
//
// Names of parts, ladders, parameters and ranges from any bytes. What is accepted must be within
// its limits, and a query made of parameters must stay one line of harmless characters.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "media/codec_string.h"
#include "server/segments/segment_request.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gopmill;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto part = ParsePartName(text); part.ok()) {
    Require(part->rendition >= 0 && part->number >= 0 && part->number < 1'000'000'000);
  }
  if (const auto rungs = ParseRungs(text, "rungs"); rungs.ok()) {
    Require(!rungs->empty() && rungs->size() <= kMaxRungs);
    for (const Rung& rung : *rungs) Require(rung.width >= kMinSide && rung.bitrate <= kMaxBitrate);
  }
  const std::size_t middle = text.find('=');
  const std::string name = text.substr(0, middle);
  const RequestParams params{{name, middle == std::string::npos ? "" : text.substr(middle + 1)}};
  if (const auto request = ParseSegmentParams(params, {}); request.ok()) {
    Require(request->segment_seconds >= 0.5 && request->segment_seconds <= 20);
  }
  Require(QueryFor(params, "v").find_first_of("\r\n\"<>$ ") == std::string::npos);
  static_cast<void>(CodecString(text));
  static_cast<void>(TrackTimescale(text));
  return 0;
}
