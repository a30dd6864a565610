// SPDX-License-Identifier: Apache-2.0
//
// What a live source's readers are told about their place on its clock.
#include "server/session/live_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

using testing::Gt;

constexpr const char* kMovie = "sync-720p.mp4";

void Publish(LiveSource& live) {
  auto movie = OpenMovie(kMovie)({});
  ASSERT_TRUE(movie.ok());
  const auto claim = live.Acquire(false);
  ASSERT_TRUE(claim.ok());
  EXPECT_TRUE(live.Run(*claim, **movie).ok());
  EXPECT_TRUE(live.Release(*claim).ok());
}

TEST(LiveSource, WhoWaitsForAnotherPublisherBeginsWhereItIsToldTo) {
  const auto live = std::make_shared<LiveSource>(std::chrono::minutes(1));
  Publish(*live);  // the source's clock goes on from its end
  Result<std::unique_ptr<PacketSource>> reader = Error{.code = Code::kInternal, .message = ""};
  std::thread subscriber(
      [&] { reader = live->Subscribe({}, {}, LiveSource::ReaderClock::kShared); });
  while (live->readers() == 0) std::this_thread::yield();
  Publish(*live);
  subscriber.join();
  ASSERT_TRUE(reader.ok()) << reader.error().ToString();

  const av::Packet packet = av::NewPacket();
  const auto state = (*reader)->Read(*packet);
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(*state, PacketSource::ReadState::kVideo);
  ASSERT_NE((*reader)->join(), nullptr);
  EXPECT_EQ(packet->dts, (*reader)->join()->begin);
  const Rational time_base = (*reader)->info()->video.time_base;
  EXPECT_THAT(static_cast<double>(packet->dts) * time_base.ToDouble(), Gt(1));
}

}  // namespace
}  // namespace gopmill::test
