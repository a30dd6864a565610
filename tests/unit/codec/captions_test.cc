// SPDX-License-Identifier: Apache-2.0
#include "codec/captions.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace gopmill {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint8_t kField1 = 0xFC, kField2 = 0xFD, k708 = 0xFE, kFiller = 0xFA;

av::Frame WithSideData(const Captions& bytes) {
  av::Frame frame = av::NewFrame();
  AVFrameSideData* data = av_frame_new_side_data(frame.get(), AV_FRAME_DATA_A53_CC, bytes.size());
  std::copy(bytes.begin(), bytes.end(), data->data);
  return frame;
}

TEST(Captions, LeaveOutWhatOnlyFillsTheChannel) {
  const av::Frame frame =
      WithSideData({kField1, 'A', 'B', kFiller, 0, 0, k708, 1, 2, kFiller, 0, 0});
  EXPECT_THAT(CaptionsOf(*frame), ElementsAre(kField1, 'A', 'B', k708, 1, 2));
  EXPECT_THAT(CaptionsOf(*WithSideData({kFiller, 0, 0})), IsEmpty());
  EXPECT_THAT(CaptionsOf(*WithSideData({kField1, 'A'})), IsEmpty()) << "half a triplet";
  EXPECT_THAT(CaptionsOf(*av::NewFrame()), IsEmpty());
}

TEST(Captions, OfTooManyThoseOf608Stay) {
  Captions many;
  for (std::uint8_t n = 0; n < 40; ++n) {
    const bool line21 = n % 4 == 0;
    many.insert(many.end(), {line21 ? (n % 8 == 0 ? kField1 : kField2) : k708, n, n});
  }
  const av::Frame frame = av::NewFrame();
  AttachCaptions(many, *frame);
  const Captions kept = CaptionsOf(*frame);
  ASSERT_THAT(kept, SizeIs(3 * kMaxCaptionTriplets));
  for (std::size_t n = 0; n < 10; ++n) EXPECT_EQ(kept[3 * n + 1], 4 * n) << "in their order";
  EXPECT_EQ(kept[3 * 10], k708);
}

TEST(Captions, AttachNothingWhereThereAreNone) {
  const av::Frame frame = av::NewFrame();
  AttachCaptions({}, *frame);
  EXPECT_EQ(frame->nb_side_data, 0);
}

}  // namespace
}  // namespace gopmill
