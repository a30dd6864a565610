// SPDX-License-Identifier: Apache-2.0
#include "codec/picture_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/unit/codec/test_frames.h"

namespace gopmill {
namespace {

constexpr testing::Scene kShown{.width = 128, .height = 96};
constexpr int kGop = 12;  // pictures
constexpr Rational kTick{1, 25};

// A live source in closed GOPs, and what a decoder alone makes of them.
struct Camera {
  explicit Camera(int gops, int length = kGop) {
    for (int i = 0; i < gops; ++i) {
      coded.push_back(testing::EncodeWithParameters(testing::SpecFor(VideoCodec::kH264, kShown),
                                                    300'000, kShown, i * length, length));
    }
    const std::shared_ptr<AVCodecParameters> parameters(
        coded.front().parameters.release(),
        [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
    video.parameters = parameters;
    video.time_base = kTick;
  }
  [[nodiscard]] const AVPacket& key(std::size_t gop) const { return *coded[gop].packets.front(); }

  std::vector<testing::EncodedUnit> coded;
  VideoInfo video;
};

struct Shown {
  std::uint64_t pixels;
  std::int64_t pts;
  bool operator==(const Shown&) const = default;
};

// One of the streams, whose clock is `late` behind that of the source.
struct Viewer {
  explicit Viewer(const std::shared_ptr<PictureStore>& store, std::int64_t late_ticks = 0)
      : seat(std::make_shared<PictureSeat>(store)), late(late_ticks) {}

  av::Packet Placed(const AVPacket& packet) const {
    av::Packet placed = av::Ref(packet);
    placed->pts += late;
    placed->dts += late;
    return placed;
  }
  std::unique_ptr<PictureTap> Visit(const Camera& camera, std::size_t gop,
                                    const KeyMet& met = {}) const {
    return seat->Visit(camera.video, *Placed(camera.key(gop)), met);
  }
  void Feed(PictureTap& tap, const std::vector<av::Packet>& packets, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) tap.Feed(*Placed(*packets[i]));
  }

  std::shared_ptr<PictureSeat> seat;
  std::int64_t late;
};

std::vector<Shown> TakeAll(PictureTap& tap) {
  std::vector<Shown> shown;
  av::Frame frame = av::NewFrame();
  while (true) {
    const auto got = tap.Next(*frame);
    if (!got.ok() || !*got) return shown;
    shown.push_back({testing::PixelHash(*frame), frame->pts});
  }
}

// Of the first packets of a GOP, and of all with the end.
std::vector<Shown> DecodedAlone(const Camera& camera, std::size_t gop, std::size_t count, bool end,
                                std::int64_t late = 0) {
  auto decoder = VideoDecoder::Open(*camera.video.parameters, kTick).value();
  std::vector<Shown> shown;
  const auto take = [&] {
    av::Frame frame = av::NewFrame();
    while (decoder->Receive(*frame).value()) {
      shown.push_back({testing::PixelHash(*frame), frame->pts + late});
    }
  };
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(decoder->Send(camera.coded[gop].packets[i].get()).ok());
    take();
  }
  if (end) {
    EXPECT_TRUE(decoder->Send(nullptr).ok());
    take();
  }
  return shown;
}

class PictureStoreTest : public ::testing::Test {
 protected:
  // Two that have met at the first GOP, and so share the second.
  void Meet() {
    EXPECT_EQ(one.Visit(camera, 0), nullptr);
    EXPECT_EQ(other.Visit(camera, 0), nullptr);
  }
  std::unique_ptr<PictureTap> Fed(const Viewer& viewer, std::size_t gop) {
    auto tap = viewer.Visit(camera, gop);
    if (tap) viewer.Feed(*tap, camera.coded[gop].packets, kGop);
    return tap;
  }

  const Camera camera{8};
  std::shared_ptr<PictureStore> store = std::make_shared<PictureStore>();
  Viewer one{store}, other{store, 1000};
};

TEST_F(PictureStoreTest, DecodedOnceWithTheTimesOfEach) {
  Meet();
  const auto first = Fed(one, 1), second = Fed(other, 1);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  first->Close();
  second->Close();
  EXPECT_EQ(TakeAll(*first), DecodedAlone(camera, 1, kGop, true));
  EXPECT_EQ(TakeAll(*second), DecodedAlone(camera, 1, kGop, true, 1000));
  EXPECT_TRUE(first->over() && second->over());
  EXPECT_EQ(first->counts().decoded, kGop);
  EXPECT_EQ(first->counts().taken, 0);
  EXPECT_EQ(second->counts().decoded, 0);
  EXPECT_EQ(second->counts().taken, kGop);
}

// A run that begins before the picture of its cut: those in front are decoded, and not kept.
TEST_F(PictureStoreTest, OfARunPicturesFromItsCutOnAreKept) {
  const SourceTicks cut = DecodedAlone(camera, 1, kGop, true)[3].pts;
  for (const Viewer* viewer : {&one, &other}) {
    EXPECT_EQ(viewer->Visit(camera, 0, {.needed = camera.key(0).pts}), nullptr) << "they meet here";
  }
  EXPECT_EQ(one.Visit(camera, 1)->over(), false) << "a GOP that begins with the same picture";
  std::vector<std::unique_ptr<PictureTap>> taps;
  for (const Viewer* viewer : {&one, &other}) {
    taps.push_back(viewer->Visit(camera, 1, {.needed = cut}));
    ASSERT_NE(taps.back(), nullptr);
    viewer->Feed(*taps.back(), camera.coded[1].packets, kGop);
    taps.back()->Close();
  }
  for (std::size_t i = 0; i < taps.size(); ++i) {
    auto shown = DecodedAlone(camera, 1, kGop, true, i == 0 ? 0 : 1000);
    shown.erase(shown.begin(), shown.begin() + 3);
    EXPECT_EQ(TakeAll(*taps[i]), shown) << i;
    EXPECT_TRUE(taps[i]->over());
  }
  EXPECT_EQ(taps[0]->counts().decoded, kGop);
  EXPECT_EQ(taps[1]->counts().decoded, 0);
}

TEST_F(PictureStoreTest, NobodyIsAheadOfItsPackets) {
  Meet();
  const auto first = Fed(one, 1);
  first->Close();
  TakeAll(*first);
  const auto second = other.Visit(camera, 1);
  std::vector<Shown> so_far;
  for (std::size_t i = 0; i < kGop; ++i) {
    second->Feed(*other.Placed(*camera.coded[1].packets[i]));
    for (const Shown& shown : TakeAll(*second)) so_far.push_back(shown);
    EXPECT_EQ(so_far, DecodedAlone(camera, 1, i + 1, false, 1000)) << i;
    EXPECT_FALSE(second->over());
  }
  second->Close();
  for (const Shown& shown : TakeAll(*second)) so_far.push_back(shown);
  EXPECT_EQ(so_far, DecodedAlone(camera, 1, kGop, true, 1000));
}

TEST_F(PictureStoreTest, WhoIsAloneDecodesForItselfAndNothingIsKept) {
  for (std::size_t gop = 0; gop < 8; ++gop) EXPECT_EQ(one.Visit(camera, gop), nullptr);
  EXPECT_EQ(store->bytes(), 0U);
}

TEST_F(PictureStoreTest, AloneAgainAfterAWhile) {
  Meet();
  int shared = 0;
  for (std::size_t gop = 1; gop < 8; ++gop) {
    const auto tap = Fed(one, gop);
    if (tap == nullptr) continue;
    ++shared;
    tap->Close();
    EXPECT_EQ(TakeAll(*tap).size(), static_cast<std::size_t>(kGop));
  }
  EXPECT_GT(shared, 0);
  EXPECT_LT(shared, 7);
}

TEST_F(PictureStoreTest, OldPicturesGoAndWhoNeedsThemIsLost) {
  store = std::make_shared<PictureStore>(1);
  one = Viewer(store);
  other = Viewer(store);
  Meet();
  for (std::size_t gop = 1; gop <= 4; ++gop) {
    const auto second = Fed(other, gop);
    EXPECT_EQ(second == nullptr, gop > kMostLost) << "it pauses after " << kMostLost;
    const auto first = Fed(one, gop);
    ASSERT_NE(first, nullptr);
    first->Close();
    EXPECT_EQ(TakeAll(*first), DecodedAlone(camera, gop, kGop, true));
    if (second == nullptr) continue;
    EXPECT_TRUE(TakeAll(*second).empty());
    EXPECT_TRUE(second->lost());
  }
  EXPECT_LE(store->bytes(), kFewestShared * 2 * 160 * 160);
}

TEST_F(PictureStoreTest, OtherPacketsAreNotThoseOfTheGop) {
  Meet();
  const auto first = Fed(one, 1);
  const auto second = other.Visit(camera, 1);
  other.Feed(*second, camera.coded[1].packets, 3);
  second->Feed(*camera.coded[2].packets[3]);
  EXPECT_TRUE(second->lost());
  first->Close();
  EXPECT_EQ(TakeAll(*first), DecodedAlone(camera, 1, kGop, true));
}

TEST_F(PictureStoreTest, WhoStopsEarlyIsLostAndDisturbsNobody) {
  Meet();
  const auto first = Fed(one, 1);
  const auto second = other.Visit(camera, 1);
  other.Feed(*second, camera.coded[1].packets, 3);
  second->Close();
  EXPECT_TRUE(second->lost());
  first->Close();
  EXPECT_EQ(TakeAll(*first), DecodedAlone(camera, 1, kGop, true));
}

TEST_F(PictureStoreTest, LeavingLeavesNothingBehind) {
  Meet();
  {
    const auto first = Fed(one, 1);
    TakeAll(*first);
    EXPECT_GT(store->bytes(), 0U);
  }
  one.seat.reset();
  EXPECT_GT(store->bytes(), 0U) << "the other one may still come by";
  other.seat.reset();
  EXPECT_EQ(store->bytes(), 0U);
}

// Where each picture is a GOP, more of them are remembered: 256, not four.
TEST(PictureStoreKeys, SinglePicturesAreSharedByWhoIsUnitsBehind) {
  constexpr std::size_t kBehind = 70, kPictures = 120;
  const Camera camera(static_cast<int>(kPictures), 1);
  const auto store = std::make_shared<PictureStore>();
  const Viewer ahead(store), behind(store, 1000);
  const auto taken_by = [&](const Viewer& viewer, std::size_t n, std::int64_t late) {
    const auto tap = viewer.Visit(camera, n, {.alone = true});
    if (tap == nullptr) return std::pair<std::int64_t, std::int64_t>{};
    viewer.Feed(*tap, camera.coded[n].packets, 1);
    tap->Close();
    EXPECT_EQ(TakeAll(*tap), DecodedAlone(camera, n, 1, true, late)) << n;
    return std::pair(tap->counts().decoded, tap->counts().taken);
  };
  ahead.Visit(camera, 0, {.alone = true});
  behind.Visit(camera, 0, {.alone = true});
  std::int64_t decoded = 0, taken = 0;
  for (std::size_t n = 1; n < kPictures; ++n) {
    decoded += taken_by(ahead, n, 0).first;
    if (n > kBehind) taken += taken_by(behind, n - kBehind, 1000).second;
  }
  EXPECT_EQ(decoded, static_cast<std::int64_t>(kPictures - 1));
  EXPECT_EQ(taken, static_cast<std::int64_t>(kPictures - 1 - kBehind));
}

// Key pictures of a megabyte each, as of a camera of 4K: what is known of them stays bounded.
TEST(PictureStoreKeys, LargeKeyPicturesAreNotHeldForLong) {
  const auto store = std::make_shared<PictureStore>();
  const Viewer viewer(store);
  VideoInfo video;
  for (int n = 0; n < 100; ++n) {
    av::Packet packet = av::NewPacket();
    ASSERT_EQ(av_new_packet(packet.get(), 1 << 20), 0);
    packet->pts = n;
    EXPECT_EQ(viewer.seat->Visit(video, *packet, {.alone = true}), nullptr);
    EXPECT_LE(store->key_bytes(), kKnownKeyBytes);
  }
  EXPECT_GE(store->key_bytes(), kKnownKeyBytes / 2);
}

// As a decoder does that begins with any other packet than the first, which tells it.
TEST(PictureStoreKeys, DecodesAsTheBuildOfX264Was) {
  auto unit = testing::Encode444(3);
  ASSERT_EQ(unit.packets.size(), 3U);
  VideoInfo video;
  video.time_base = kTick;
  video.x264_build = 142;
  video.parameters = {unit.parameters.get(), [](const AVCodecParameters*) {}};
  const auto store = std::make_shared<PictureStore>();
  const Viewer one(store), other(store);
  for (const Viewer* viewer : {&one, &other}) viewer->seat->Visit(video, *unit.packets[1], {});
  const auto tap = one.seat->Visit(video, *unit.packets[2], {});
  ASSERT_NE(tap, nullptr);
  tap->Feed(*unit.packets[2]);
  tap->Close();
  const auto decoder = VideoDecoder::Open(*unit.parameters, kTick, video.x264_build).value();
  av::Frame frame = av::NewFrame();
  ASSERT_TRUE(decoder->Send(unit.packets[2].get()).ok() && decoder->Send(nullptr).ok());
  ASSERT_TRUE(decoder->Receive(*frame).value());
  const auto shown = TakeAll(*tap);
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].pixels, testing::PixelHash(*frame));
}

// Presentation times that run backwards: the decoder goes by decoding times, and those are what
// packets long gone had for theirs.
TEST(PictureStoreTimes, SenselessOnesAreHarmless) {
  constexpr int kPictures = 300;
  const Camera camera(2, kPictures);
  for (int i = 0; i < kPictures; ++i) {
    AVPacket& packet = *camera.coded[1].packets[static_cast<std::size_t>(i)];
    packet.pts = kPictures - i;
    packet.dts = i;
  }
  const auto store = std::make_shared<PictureStore>();
  const Viewer one(store), other(store, 1000);
  one.Visit(camera, 0);
  other.Visit(camera, 0);
  const auto first = one.Visit(camera, 1), second = other.Visit(camera, 1);
  ASSERT_TRUE(first && second);
  one.Feed(*first, camera.coded[1].packets, kPictures);
  other.Feed(*second, camera.coded[1].packets, kPictures);
  first->Close();
  second->Close();
  const auto shown = TakeAll(*first);
  EXPECT_EQ(shown.size(), static_cast<std::size_t>(kPictures));
  auto expected = shown;
  for (Shown& picture : expected) picture.pts += 1000;
  EXPECT_EQ(TakeAll(*second), expected);
}

TEST_F(PictureStoreTest, FromSeveralThreadsAtOnce) {
  Meet();
  for (std::size_t gop = 1; gop < 8; ++gop) {
    const auto first = Fed(one, gop), second = Fed(other, gop);
    ASSERT_NE(first, nullptr);
    ASSERT_NE(second, nullptr);
    std::vector<Shown> of_second;
    std::thread thread([&] {
      second->Close();
      of_second = TakeAll(*second);
    });
    first->Close();
    const auto of_first = TakeAll(*first);
    thread.join();
    EXPECT_EQ(of_first, DecodedAlone(camera, gop, kGop, true));
    EXPECT_EQ(of_second, DecodedAlone(camera, gop, kGop, true, 1000));
    EXPECT_EQ(first->counts().decoded + second->counts().decoded, kGop);
  }
}

}  // namespace
}  // namespace gopmill
