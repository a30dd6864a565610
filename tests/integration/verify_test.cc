// SPDX-License-Identifier: Apache-2.0
//
// --verify on results that have been spoilt: each fault is found in the file itself.
#include "server/offline/verify.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kTsPacket = 188;
using Bytes = std::vector<std::uint8_t>;

// One result in MPEG-TS, whose packets can be taken out one by one.
class VerifyTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto engine = MakeEngine("hearth", 2);
    result_ = new Outcome(RunStream(*engine, "ref-talk.mpg",
                                    "width=176 height=120 bitrate=80k maxrate=100k bufsize=100k "
                                    "duration=6 container=ts"));
  }
  static void TearDownTestSuite() { delete std::exchange(result_, nullptr); }

  VerifyTest() {
    const StreamSnapshot& end = result_->snapshot;
    terms = {.frames = end.frames_planned,
             .fps = end.plan->grid.fps(),
             .maxrate = end.plan->target.maxrate,
             .bufsize = end.plan->target.bufsize,
             .audio_packets = end.seams.audio_packets};
  }

  std::vector<std::string> Verify(const Bytes& bytes) {
    // Shards of this program run side by side.
    const std::string path =
        testing::TempDir() + "gopmill_verify_test_" + std::to_string(getpid()) + ".ts";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    auto findings = VerifyFile(path, terms, {});
    std::remove(path.c_str());
    GOPMILL_CHECK(findings.ok());
    return *std::move(findings);
  }
  static const Bytes& bytes() { return result_->bytes; }

  VerifyTerms terms;

 private:
  static inline Outcome* result_ = nullptr;
};

// Takes out what comes in TS packets of sound from the n-th start of a PES packet to the next.
Bytes WithoutSound(const Bytes& from, int n) {
  Bytes to;
  int pid = -1, starts = 0;
  for (std::size_t at = 0; at + kTsPacket <= from.size(); at += kTsPacket) {
    const std::uint8_t* packet = from.data() + at;
    const int of = (packet[1] & 0x1f) << 8 | packet[2];
    const std::size_t payload = (packet[3] & 0x20) != 0 ? std::size_t{5} + packet[4] : 4;
    const bool start = (packet[1] & 0x40) != 0 && payload + 4 <= kTsPacket;
    const bool sound = start && packet[payload] == 0 && packet[payload + 1] == 0 &&
                       packet[payload + 2] == 1 && (packet[payload + 3] & 0xe0) == 0xc0;
    if (sound) pid = of;
    if (of == pid && start) ++starts;
    if (of != pid || starts != n) to.insert(to.end(), packet, packet + kTsPacket);
  }
  return to;
}

TEST_F(VerifyTest, WholeResultHasNoFinding) { EXPECT_THAT(Verify(bytes()), IsEmpty()); }

TEST_F(VerifyTest, OtherNumberOfFramesIsFound) {
  ++terms.frames;
  EXPECT_THAT(Verify(bytes()), Contains(HasSubstr("frames instead of")));
}

TEST_F(VerifyTest, GapInTimeIsFound) {
  terms.fps = {25, 1};
  EXPECT_THAT(Verify(bytes()), Contains(HasSubstr("frame 1 is shown at")));
}

TEST_F(VerifyTest, OverflowOfTheDeclaredRateIsFound) {
  terms.maxrate = 40'000;
  terms.bufsize = 40'000;
  EXPECT_THAT(Verify(bytes()), Contains(HasSubstr("maxrate")));
}

TEST_F(VerifyTest, MissingSoundIsFound) {
  const Bytes spoilt = WithoutSound(bytes(), 3);
  ASSERT_LT(spoilt.size(), bytes().size());
  const auto findings = Verify(spoilt);
  EXPECT_THAT(findings, Contains(HasSubstr("packets of sound instead of")));
  EXPECT_THAT(findings, Contains(HasSubstr("is heard at")));
}

TEST_F(VerifyTest, OtherParameterSetsAreFound) {
  Bytes spoilt = bytes();
  constexpr std::uint8_t kPps[] = {0, 0, 1, 0x68};
  const auto first = std::search(spoilt.begin(), spoilt.end(), std::begin(kPps), std::end(kPps));
  ASSERT_NE(first, spoilt.end());
  const auto second = std::search(first + 4, spoilt.end(), std::begin(kPps), std::end(kPps));
  ASSERT_NE(second, spoilt.end());
  second[6] ^= 0x10;
  EXPECT_THAT(Verify(spoilt), Contains(HasSubstr("other parameter sets")));
}

}  // namespace
}  // namespace gopmill::test
