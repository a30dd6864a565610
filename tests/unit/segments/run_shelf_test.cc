// SPDX-License-Identifier: Apache-2.0
#include "server/segments/run_shelf.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>

#include "media/source_info.h"

namespace gopmill {
namespace {

std::shared_ptr<const StreamPlan> Plan() {
  AVCodecParameters* parameters = avcodec_parameters_alloc();
  parameters->codec_type = AVMEDIA_TYPE_VIDEO;
  parameters->codec_id = AV_CODEC_ID_MPEG2VIDEO;
  auto source = std::make_shared<SourceInfo>();
  source->video.time_base = {1, 25};
  source->video.parameters = {parameters,
                              [](AVCodecParameters* p) { avcodec_parameters_free(&p); }};
  auto plan = std::make_shared<StreamPlan>();
  plan->source = std::move(source);
  return plan;
}

std::unique_ptr<FrameSelector> NewRun() {
  const auto plan = Plan();
  auto decoder = VideoDecoder::Open(*plan->source->video.parameters, {1, 25});
  EXPECT_TRUE(decoder.ok());
  return std::make_unique<FrameSelector>(plan, std::move(decoder).value(), 0);
}

TEST(RunShelf, GivesEachRunOnce) {
  RunShelf shelf;
  auto run = NewRun();
  const FrameSelector* const address = run.get();
  shelf.Put("a", std::move(run));
  shelf.Put("b", NewRun());
  EXPECT_EQ(shelf.Take("c"), nullptr);
  EXPECT_EQ(shelf.Take("a").get(), address);
  EXPECT_EQ(shelf.Take("a"), nullptr);
  EXPECT_NE(shelf.Take("b"), nullptr);
  EXPECT_EQ(shelf.bytes(), 0U);
}

TEST(RunShelf, KeepsNoMoreBytesThanItMay) {
  const std::size_t one = NewRun()->footprint_bytes();
  ASSERT_GT(one, 0U);
  RunShelf shelf(3 * one);
  const TimePoint begin = SteadyNow();
  for (const char* key : {"a", "b", "c", "d"}) {
    shelf.Put(key, NewRun(), begin);
    EXPECT_LE(shelf.bytes(), 3 * one);
  }
  EXPECT_EQ(shelf.Take("d"), nullptr) << "those before are still wanted";
  shelf.Put("e", NewRun(), begin + kRunWanted + std::chrono::seconds(1));
  EXPECT_EQ(shelf.Take("a"), nullptr) << "the first goes first";
  EXPECT_NE(shelf.Take("b"), nullptr);
  EXPECT_NE(shelf.Take("e"), nullptr);
  RunShelf small(one - 1);
  small.Put("a", NewRun());
  small.Put("b", NewRun());
  EXPECT_EQ(small.Take("b"), nullptr);
  EXPECT_NE(small.Take("a"), nullptr) << "one is kept, however large";
}

TEST(RunShelf, HasOneForEachKey) {
  RunShelf shelf;
  shelf.Put("a", NewRun());
  const std::size_t one = shelf.bytes();
  auto run = NewRun();
  const FrameSelector* const address = run.get();
  shelf.Put("a", std::move(run));
  EXPECT_EQ(shelf.bytes(), one);
  EXPECT_EQ(shelf.Take("a").get(), address);
  EXPECT_EQ(shelf.Take("a"), nullptr);
}

TEST(RunShelf, DropsWhatIsOld) {
  RunShelf shelf;
  shelf.Put("a", NewRun());
  const TimePoint between = SteadyNow();
  shelf.Put("b", NewRun());
  shelf.Drop(between);
  EXPECT_EQ(shelf.Take("a"), nullptr);
  EXPECT_NE(shelf.Take("b"), nullptr);
}

}  // namespace
}  // namespace gopmill
