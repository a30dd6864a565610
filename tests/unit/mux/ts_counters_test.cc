// SPDX-License-Identifier: Apache-2.0
#include "media/ts_counters.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "media/segment_muxer.h"
#include "media/ts_packet.h"
#include "tests/unit/mux/mux_media.h"

namespace gopmill::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What a demultiplexer that goes by the counters finds in a stream.
struct Found {
  std::vector<std::string> breaks;     // places where they do not go on, unannounced
  std::vector<std::size_t> announced;  // packets that announce a break
};

Found Read(const std::string& stream) {
  Found found;
  std::map<int, int> last;
  for (std::size_t at = 0; at < stream.size(); at += kTsPacketBytes) {
    const std::span packet(reinterpret_cast<const std::uint8_t*>(stream.data()) + at,
                           kTsPacketBytes);
    const std::size_t number = at / kTsPacketBytes;
    const bool has_field = (packet[3] & 0x20) != 0 && packet[4] > 0;
    const bool announced = has_field && (packet[5] & 0x80) != 0;
    if (announced) found.announced.push_back(number);
    const int pid = TsPidAt(packet, 1), counter = packet[3] & 15;
    const auto [before, first] = last.try_emplace(pid, counter);
    const int expected = (before->second + ((packet[3] & 0x10) != 0 ? 1 : 0)) % 16;
    if (!first && !announced && counter != expected) {
      found.breaks.push_back("packet " + std::to_string(number) + " of " + std::to_string(pid));
    }
    before->second = counter;
  }
  return found;
}

// Three segments of a second, each by a muxer of its own.
std::vector<std::string> Segments() {
  const Coded coded = MakeVideo({});
  std::vector<std::string> segments;
  for (std::int64_t number = 0; number < 3; ++number) {
    std::vector<av::Packet> packets;
    for (const av::Packet& packet : coded.packets) packets.push_back(av::Ref(*packet));
    auto made = MakeSegment(Container::kTs, TrackOf(coded), 0, number, std::move(packets));
    EXPECT_TRUE(made.ok()) << made.error().ToString();
    segments.push_back(made.ok() ? *std::move(made) : std::string());
  }
  return segments;
}

void GoOn(TsCounters& counters, std::string& segment) {
  counters.GoOn({reinterpret_cast<std::uint8_t*>(segment.data()), segment.size()});
}

TEST(TsCountersTest, GoOnFromSegmentToSegment) {
  std::string alone, together;
  TsCounters counters;
  for (std::string& segment : Segments()) {
    ASSERT_FALSE(segment.empty());
    alone += segment;
    GoOn(counters, segment);
    together += segment;
  }
  const std::size_t segment = alone.size() / 3 / kTsPacketBytes;
  EXPECT_THAT(Read(together).breaks, IsEmpty());
  EXPECT_THAT(Read(together).announced, Each(::testing::Lt(segment))) << "of the first alone";
  EXPECT_GT(Read(alone).announced.size(), Read(together).announced.size());
}

// Nothing but the counters and the announcements is another.
TEST(TsCountersTest, LeaveTheRestAsItIs) {
  std::vector<std::string> segments = Segments();
  TsCounters counters;
  for (std::string& segment : segments) {
    const std::string before = segment;
    GoOn(counters, segment);
    for (std::size_t i = 0; i < segment.size(); ++i) {
      const std::size_t place = i % kTsPacketBytes;
      if (place == 3 || place == 5) continue;
      ASSERT_EQ(segment[i], before[i]) << i;
    }
    for (std::size_t at = 3; at < segment.size(); at += kTsPacketBytes) {
      ASSERT_EQ(segment[at] & 0xf0, before[at] & 0xf0);
    }
  }
}

TEST(TsCountersTest, PacketsWithoutPayloadDoNotCount) {
  const auto packet = [](std::uint8_t control, std::uint8_t field, std::uint8_t flags) {
    std::string bytes(kTsPacketBytes, '\0');
    bytes[0] = 0x47;
    bytes[1] = 1;  // PID 256
    bytes[3] = static_cast<char>(control);
    bytes[4] = static_cast<char>(field);
    bytes[5] = static_cast<char>(flags);
    return bytes;
  };
  TsCounters counters;
  std::string first = packet(0x1f, 0x80, 0x80);  // counter 15, payload alone
  GoOn(counters, first);
  EXPECT_EQ(first, packet(0x1f, 0x80, 0x80));
  std::string second = packet(0x27, 183, 0x90) + packet(0x37, 0, 0x80) + packet(0x17, 0x80, 0x80);
  GoOn(counters, second);
  EXPECT_EQ(second, packet(0x2f, 183, 0x10) +    // as the one before: no payload
                        packet(0x30, 0, 0x80) +  // no flags, so what looks like them is payload
                        packet(0x11, 0x80, 0x80));
}

}  // namespace
}  // namespace gopmill::testing
