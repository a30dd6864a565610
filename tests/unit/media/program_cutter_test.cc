// SPDX-License-Identifier: Apache-2.0
#include "media/program_cutter.h"

#include <gtest/gtest.h>

extern "C" {
#include <libavutil/crc.h>
}

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace gopmill {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr int kTablePid = 0x1000;
constexpr std::uint8_t kAvc = 0x1B, kHevc = 0x24, kAac = 0x0F, kScte35 = 0x86, kPrivate = 0x06;

struct ListedTrack {
  std::uint8_t type;
  int pid;
  Bytes descriptors = {};
};

std::uint8_t High(std::size_t value) { return static_cast<std::uint8_t>(value >> 8U); }
std::uint8_t Low(std::size_t value) { return static_cast<std::uint8_t>(value & 0xFFU); }

// A section (ISO/IEC 13818-1, 2.4.4) with its checksum.
Bytes Section(std::uint8_t table, const Bytes& body, std::uint8_t number = 1) {
  const std::size_t size = 5 + body.size() + 4;
  Bytes section{table, static_cast<std::uint8_t>(0xB0U | High(size)), Low(size), 0, number, 0xC1, 0,
                0};
  section.insert(section.end(), body.begin(), body.end());
  const std::uint32_t crc =
      av_crc(av_crc_get_table(AV_CRC_32_IEEE), UINT32_MAX, section.data(), section.size());
  const auto* sum = reinterpret_cast<const std::uint8_t*>(&crc);
  section.insert(section.end(), sum, sum + 4);
  return section;
}

// The packets that carry it, filled up.
Bytes PacketsOf(int pid, const Bytes& payload, bool is_section) {
  Bytes packets;
  for (std::size_t at = 0; at < payload.size();) {
    const bool first = at == 0;
    Bytes packet{
        0x47, static_cast<std::uint8_t>((first ? 0x40U : 0U) | High(static_cast<std::size_t>(pid))),
        Low(static_cast<std::size_t>(pid)), 0x10};
    if (first && is_section) packet.push_back(0);
    while (packet.size() < kTsPacketBytes && at < payload.size()) packet.push_back(payload[at++]);
    packet.resize(kTsPacketBytes, 0xFF);
    packets.insert(packets.end(), packet.begin(), packet.end());
  }
  return packets;
}

struct ListedProgram {
  int pid;
  std::uint8_t number = 1;
};

Bytes ListOf(const std::vector<ListedProgram>& programs) {
  Bytes body;
  for (const auto& [pid, number] : programs) {
    const auto value = static_cast<std::size_t>(pid);
    body.insert(body.end(),
                {0, number, static_cast<std::uint8_t>(0xE0U | High(value)), Low(value)});
  }
  return PacketsOf(0, Section(0, body), true);
}

Bytes List(const std::vector<int>& pids) {
  std::vector<ListedProgram> programs;
  for (const int pid : pids) programs.push_back({pid});
  return ListOf(programs);
}

Bytes Table(const std::vector<ListedTrack>& tracks, int pid = kTablePid, std::uint8_t number = 1) {
  Bytes body{0xE1, 0x00, 0xF0, 0x00};
  for (const ListedTrack& track : tracks) {
    const auto value = static_cast<std::size_t>(track.pid);
    body.insert(body.end(), {track.type, static_cast<std::uint8_t>(0xE0U | High(value)), Low(value),
                             0xF0, Low(track.descriptors.size())});
    body.insert(body.end(), track.descriptors.begin(), track.descriptors.end());
  }
  return PacketsOf(pid, Section(2, body, number), true);
}

Bytes Media(int pid, std::uint8_t value) { return PacketsOf(pid, Bytes(500, value), false); }

Bytes Join(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// All that may be passed on, taken in pieces.
Bytes TakeAll(ProgramCutter& cutter, std::size_t piece = 100) {
  Bytes all, buffer(piece);
  for (std::size_t got = cutter.Take(buffer); got > 0; got = cutter.Take(buffer)) {
    all.insert(all.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(got));
  }
  return all;
}

const std::vector<ListedTrack> kFirst{{kAvc, 256}, {kAac, 257}};

Bytes Before() { return Join({List({kTablePid}), Table(kFirst), Media(256, 1), Media(257, 2)}); }

// What is passed on before `after` and because of it, where PIDs 256 and 257 are read.
struct Cutting {
  Bytes before, rest;
  bool changed = false;
};

Cutting Cut(const Bytes& after, std::size_t piece = 64 << 10, const Bytes& begin = Before()) {
  ProgramCutter cutter;
  cutter.Push(begin);
  Cutting cutting;
  cutting.before = TakeAll(cutter);
  cutter.Follow({256, 257});
  for (std::size_t at = 0; at < after.size(); at += piece) {
    cutter.Push(std::span(after).subspan(at, std::min(piece, after.size() - at)));
    const Bytes more = TakeAll(cutter);
    cutting.before.insert(cutting.before.end(), more.begin(), more.end());
  }
  cutter.End();
  const Bytes more = TakeAll(cutter);
  cutting.before.insert(cutting.before.end(), more.begin(), more.end());
  cutting.changed = cutter.changed();
  if (cutting.changed) {
    cutter.GoOn();
    cutting.rest = TakeAll(cutter);
  }
  return cutting;
}

TEST(ProgramCutter, CutsInFrontOfTheTableThatGivesATrackAnotherType) {
  const Bytes passed = Join({Media(256, 3), List({kTablePid})});
  const Bytes other = Join({Table({{kHevc, 256}, {kAac, 257}}), Media(256, 4)});
  const Bytes after = Join({passed, other});
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{188}, after.size()}) {
    const Cutting cutting = Cut(after, piece);
    EXPECT_TRUE(cutting.changed) << "in pieces of " << piece;
    EXPECT_EQ(cutting.before, Join({Before(), passed})) << "in pieces of " << piece;
    EXPECT_EQ(cutting.rest, Join({List({kTablePid}), other})) << "the list of programmes again";
  }
}

TEST(ProgramCutter, CutsAStreamThatBeginsInsideAPacket) {
  for (const std::size_t lost : {1U, 100U, 187U}) {
    Bytes begin = Join({Media(256, 7), Before()});
    begin.erase(begin.begin(), begin.begin() + static_cast<std::ptrdiff_t>(lost));
    const Bytes other = Join({Table({{kHevc, 256}, {kAac, 257}}), Media(256, 4)});
    const Cutting cutting = Cut(other, 7, begin);
    EXPECT_TRUE(cutting.changed) << "without " << lost << " bytes";
    EXPECT_EQ(cutting.before, begin);
    EXPECT_EQ(cutting.rest, Join({List({kTablePid}), other}));
  }
}

TEST(ProgramCutter, CutsWhereATrackLeaves) {
  EXPECT_TRUE(Cut(Table({{kAvc, 256}})).changed);
  EXPECT_TRUE(Cut(Table({{kAvc, 258}, {kAac, 257}})).changed);
}

TEST(ProgramCutter, CutsWhereSoundComesLater) {
  EXPECT_TRUE(Cut(Table({{kAvc, 256}, {kAac, 257}, {kAac, 258}})).changed);
}

TEST(ProgramCutter, CutsWhereTheProgrammeLeavesTheList) {
  const Bytes other = Join({List({kTablePid + 1}), Table({{kAvc, 300}}, kTablePid + 1)});
  const Cutting cutting = Cut(other);
  EXPECT_TRUE(cutting.changed);
  EXPECT_EQ(cutting.before, Before());
  EXPECT_EQ(cutting.rest, other);
}

TEST(ProgramCutter, TellsPrivateTracksByTheirDescriptors) {
  const ListedTrack ac3{kPrivate, 258, {0x6A, 1, 0}};
  const ListedTrack nothing{kPrivate, 258, {0x0A, 4, 'e', 'n', 'g', 0}};
  EXPECT_TRUE(Cut(Table({{kAvc, 256}, {kAac, 257}, ac3})).changed);
  EXPECT_FALSE(Cut(Table({{kAvc, 256}, {kAac, 257}, nothing})).changed);
}

TEST(ProgramCutter, PassesWhatIsNoOtherFormat) {
  Bytes damaged = Table({{kHevc, 256}});
  damaged[20] ^= 1U;  // its checksum fails
  Bytes incomplete = Table({{kHevc, 256}});
  incomplete.resize(100);
  const std::vector<std::pair<const char*, Bytes>> cases{
      {"the same table again", Table(kFirst)},
      {"another language", Table({{kAvc, 256}, {kAac, 257, {0x0A, 4, 'd', 'e', 'u', 0}}})},
      {"cue messages that come", Table({{kAvc, 256}, {kAac, 257}, {kScte35, 500}})},
      {"another programme beside it", Join({List({kTablePid, 0x1001}), Table({{kAvc, 300}}, 0x1001),
                                            Table({{kHevc, 300}}, 0x1001)})},
      {"a table that fails its checksum", damaged},
      {"the end in the middle of one", incomplete},
      {"packets that lost their place", Join({Bytes(77, 0x00), Media(256, 5), Table(kFirst)})},
  };
  for (const auto& [what, bytes] : cases) {
    const Cutting cutting = Cut(bytes, 50);
    EXPECT_FALSE(cutting.changed) << what;
    EXPECT_EQ(cutting.before, Join({Before(), bytes})) << what;
  }
}

TEST(ProgramCutter, HoldsATableBackUntilItIsComplete) {
  std::vector<ListedTrack> many{{kHevc, 256}, {kAac, 257}};
  for (int i = 0; i < 40; ++i) many.push_back({kScte35, 600 + i});
  const Bytes table = Table(many);
  ASSERT_EQ(table.size(), 2 * kTsPacketBytes);
  const Cutting cutting = Cut(Join({Media(256, 3), table, Media(256, 4)}), kTsPacketBytes);
  EXPECT_TRUE(cutting.changed);
  EXPECT_EQ(cutting.before, Join({Before(), Media(256, 3)}));
  EXPECT_EQ(cutting.rest, Join({List({kTablePid}), table, Media(256, 4)}));
}

// ISO/IEC 13818-1, 2.4.4.1: one PID may have the tables of several programmes.
TEST(ProgramCutter, TellsProgrammesApartWhoseTablesShareAPid) {
  const std::vector<ListedTrack> second{{kAvc, 300}, {kAac, 301}};
  const Bytes list = ListOf({{kTablePid, 1}, {kTablePid, 2}});
  const auto one = [](const std::vector<ListedTrack>& tracks) {
    return Table(tracks, kTablePid, 1);
  };
  const auto two = [](const std::vector<ListedTrack>& tracks) {
    return Table(tracks, kTablePid, 2);
  };
  const Bytes begin = Join({list, one(kFirst), two(second), Media(256, 1), Media(300, 2)});
  const Bytes again = Join({list, one(kFirst), two(second), Media(256, 3)});
  const auto changed = [&](const Bytes& after) { return Cut(after, 64 << 10, begin).changed; };
  EXPECT_FALSE(changed(Join({again, again}))) << "the same again";
  EXPECT_FALSE(changed(two({{kHevc, 300}}))) << "another programme";
  EXPECT_FALSE(changed(ListOf({{kTablePid, 1}}))) << "which leaves";
  EXPECT_TRUE(changed(Join({again, one({{kHevc, 256}, {kAac, 257}})})));
  EXPECT_TRUE(changed(ListOf({{kTablePid, 2}}))) << "that programme leaves";
}

TEST(ProgramCutter, TakesTablesWhoseNumberTheListHasNot) {
  const Bytes begin = Join({List({kTablePid}), Table(kFirst, kTablePid, 7), Media(256, 1)});
  const auto changed = [&](const Bytes& after) { return Cut(after, 64 << 10, begin).changed; };
  EXPECT_FALSE(changed(Join({begin, begin})));
  EXPECT_TRUE(changed(Table({{kHevc, 256}}, kTablePid, 7)));
  EXPECT_TRUE(changed(List({kTablePid + 1})));
}

// Sections that follow each other without filling: a packet that begins one ends the one before.
TEST(ProgramCutter, ReadsTablesThatSharePackets) {
  std::vector<ListedTrack> many{{kHevc, 256}, {kAac, 257}};
  for (int i = 0; i < 40; ++i) many.push_back({kScte35, 600 + i});
  Bytes first = Table(many);  // two packets, the second one filled up
  const Bytes same = Table(kFirst);
  const std::size_t used = 12 + many.size() * 5 + 4;  // of the section
  const std::size_t rest = used - (kTsPacketBytes - 5);
  Bytes second = first;
  second.erase(second.begin(), second.begin() + std::ptrdiff_t{kTsPacketBytes});
  second.insert(second.begin() + 4, static_cast<std::uint8_t>(rest));
  second[1] |= 0x40U;  // a section begins, behind the rest of this one
  std::copy(same.begin() + 5, same.begin() + 5 + 30,
            second.begin() + 5 + static_cast<std::ptrdiff_t>(rest));
  second.resize(kTsPacketBytes);
  first.resize(kTsPacketBytes);
  const Cutting cutting = Cut(Join({Media(256, 3), first, second, Media(256, 4)}));
  EXPECT_TRUE(cutting.changed);
  EXPECT_EQ(cutting.before, Join({Before(), Media(256, 3)}));
}

TEST(ProgramCutter, FindsATableBehindAnotherOneInItsPacket) {
  Bytes both = Table(kFirst);  // a section of 26 bytes
  const Bytes other = Table({{kHevc, 256}, {kAac, 257}});
  std::copy(other.begin() + 5, other.begin() + 5 + 26, both.begin() + 5 + 26);
  EXPECT_TRUE(Cut(both).changed);
  both[5 + 26 + 20] ^= 1U;
  EXPECT_FALSE(Cut(both).changed) << "its checksum fails";
}

TEST(ProgramCutter, HoldsNoMoreThanItsLimitForATableThatDoesNotEnd) {
  Bytes table = Table({{kHevc, 256}, {kAac, 257}});
  table[6] = 0xBF;  // of 4095 bytes, which never come
  ProgramCutter cutter;
  cutter.Push(Before());
  TakeAll(cutter);
  cutter.Follow({256, 257});
  cutter.Push(table);
  std::size_t held = table.size();
  for (int i = 0; i < 1000; ++i) {
    const Bytes media = Media(256, 9);
    cutter.Push(media);
    held += media.size();
    held -= TakeAll(cutter).size();
    ASSERT_LE(held, kMaxTableBytes + media.size());
  }
}

// The bytes of all, without the packet that some begin with which stood before them already.
Bytes InOrder(const std::vector<Bytes>& programmes, const Bytes& input) {
  Bytes all;
  for (const Bytes& programme : programmes) {
    const bool fits =
        all.size() + programme.size() <= input.size() &&
        std::equal(programme.begin(), programme.end(), input.begin() + std::ssize(all));
    const bool again = !fits && programme.size() >= kTsPacketBytes;
    all.insert(all.end(), programme.begin() + (again ? std::ptrdiff_t{kTsPacketBytes} : 0),
               programme.end());
  }
  return all;
}

// Whatever comes, in whatever pieces: each byte is passed on once and in order, with a packet of
// the list of programmes again at most behind a cut.
TEST(ProgramCutter, LosesNoByteOfGarbage) {
  std::mt19937 random(5);
  const auto below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  const Bytes good = Join({Before(), Table({{kHevc, 256}, {kAac, 257}}), Media(256, 4),
                           List({kTablePid + 1}), Table({{kAvc, 300}}, kTablePid + 1)});
  int cuts = 0;
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes = Join({good, good});
    for (std::size_t i = below(20); i > 0; --i) {
      bytes[below(bytes.size())] = static_cast<std::uint8_t>(below(256));
    }
    if (round % 4 == 0) bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(below(1000)));
    ProgramCutter cutter;
    std::vector<Bytes> programmes(1);
    const auto take = [&] {
      while (true) {
        const Bytes more = TakeAll(cutter, 1 + below(500));
        programmes.back().insert(programmes.back().end(), more.begin(), more.end());
        if (!cutter.changed()) return;
        ++cuts;
        cutter.GoOn();
        programmes.emplace_back();
      }
    };
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = std::min(1 + below(700), bytes.size() - at);
      cutter.Push(std::span(bytes).subspan(at, piece));
      at += piece;
      if (at > 1200) cutter.Follow({256, 257});
      take();
    }
    cutter.End();
    take();
    ASSERT_EQ(InOrder(programmes, bytes), bytes) << "round " << round;
  }
  EXPECT_GT(cuts, 1000);
}

TEST(ProgramCutter, PassesOtherFormatsAsTheyAre) {
  for (const std::size_t size : {10U, 1000U, 100'000U}) {
    const Bytes matroska(size, 0x1A);
    ProgramCutter cutter;
    cutter.Push(matroska);
    cutter.End();
    EXPECT_EQ(TakeAll(cutter), matroska);
    EXPECT_FALSE(cutter.changed());
  }
}

TEST(ProgramCutter, FollowsNothingAfterItWentOnUntilItIsTold) {
  ProgramCutter cutter;
  cutter.Push(Before());
  cutter.Follow({256, 257});
  const Bytes other = Join({Table({{kHevc, 256}}), Media(256, 4)});
  cutter.Push(other);
  TakeAll(cutter);
  ASSERT_TRUE(cutter.changed());
  cutter.GoOn();
  cutter.Push(Table(kFirst));
  EXPECT_EQ(TakeAll(cutter), Join({List({kTablePid}), other, Table(kFirst)}));
  cutter.Follow({256, 257});
  cutter.Push(Join({Table({{kHevc, 256}}), Media(256, 4)}));
  TakeAll(cutter);
  EXPECT_TRUE(cutter.changed()) << "a second time";
}

}  // namespace
}  // namespace gopmill
