// SPDX-License-Identifier: Apache-2.0
//
// The SDP of a publisher from any bytes. What is accepted has one stream of pictures and no more
// streams than the limit; and the description of elements, which GStreamer parses, is made of our
// own words alone, whatever those of the publisher are.
#include <gst/gst.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "server/rtsp/announcement.h"
#include "server/rtsp/rtp_clock.h"
#include "tests/fuzz/bytes.h"

namespace {

using gopmill::Announcement;
using gopmill::fuzz::Require;

bool IsOurs(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view(" =!,/-").find(c) != std::string_view::npos;
}

void Check(const Announcement& announcement) {
  const auto& streams = announcement.streams;
  Require(!streams.empty() && streams.size() <= gopmill::kMaxAnnouncedStreams);
  Require(std::ranges::count_if(streams, [](const auto& stream) {
            return stream.receiver.kind == gopmill::TrackKind::kVideo;
          }) == 1);
  for (const auto& stream : streams) {
    Require(stream.number < gopmill::kMaxAnnouncedStreams);
    Require(stream.receiver.clock_rate >= gopmill::kSlowestRtpClock &&
            stream.receiver.clock_rate <= gopmill::kFastestRtpClock);
    Require(announcement.description.find(stream.receiver.branch) != std::string::npos);
  }
  Require(std::ranges::all_of(announcement.description, IsOurs));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool kStarted = gst_init_check(nullptr, nullptr, nullptr) != FALSE;
  Require(kStarted);
  const auto announcement = gopmill::ParseAnnouncement(std::span(data, size));
  if (announcement.ok()) Check(*announcement);
  return 0;
}
