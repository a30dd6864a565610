// SPDX-License-Identifier: Apache-2.0
#include "codec/context_cache.h"

#include <gtest/gtest.h>

#include "tests/unit/codec/test_frames.h"

namespace gopmill {
namespace {

constexpr std::size_t kAmple = std::size_t{1} << 30U;

SourceInfo SourceOf(AVCodecID codec) {
  SourceInfo source;
  std::shared_ptr<AVCodecParameters> parameters(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  parameters->codec_type = AVMEDIA_TYPE_VIDEO;
  parameters->codec_id = codec;
  parameters->width = 640;
  parameters->height = 360;
  source.video.parameters = parameters;
  source.video.time_base = {1, 90'000};
  return source;
}

FilterSpec Scaling(int width) {
  return {.in_width = 640,
          .in_height = 360,
          .in_format = 0,
          .in_color_range = 1,
          .width = width,
          .height = 180,
          .format = 0};
}

EncoderSpec CrfSpec(double crf) {
  EncoderSpec spec = testing::SpecFor(VideoCodec::kH264, {});
  spec.rate_mode = RateMode::kCrf;
  spec.crf = crf;
  return spec;
}

TEST(ContextCache, GivesTheSameDecoderAgainForTheSameSource) {
  ContextCache cache(kAmple);
  const SourceInfo source = SourceOf(AV_CODEC_ID_PRORES);
  const SourceInfo other = SourceOf(AV_CODEC_ID_PRORES);
  auto decoder = cache.TakeDecoder(source);
  ASSERT_TRUE(decoder.ok());
  const VideoDecoder* first = decoder->get();
  cache.GiveDecoder(source, std::move(*decoder));
  EXPECT_GT(cache.Stats().bytes, 0U);
  auto for_other = cache.TakeDecoder(other);
  EXPECT_NE(for_other->get(), first);
  auto again = cache.TakeDecoder(source);
  EXPECT_EQ(again->get(), first);
  EXPECT_EQ(cache.Stats().decoder_hits, 1);
  EXPECT_EQ(cache.Stats().decoder_misses, 2);
  EXPECT_EQ(cache.Stats().bytes, 0U);
}

TEST(ContextCache, KeepsFiltersButNotThoseWithAMemory) {
  ContextCache cache(kAmple);
  FilterSpec spec = Scaling(320);
  cache.GiveFilter(*cache.TakeFilter(spec));
  EXPECT_TRUE(cache.TakeFilter(spec).ok());
  EXPECT_EQ(cache.Stats().filter_hits, 1);
  spec.deinterlace = Deinterlace::kAuto;
  cache.GiveFilter(*cache.TakeFilter(spec));
  EXPECT_TRUE(cache.TakeFilter(spec).ok());
  EXPECT_EQ(cache.Stats().filter_hits, 1);
  EXPECT_EQ(cache.Stats().filter_misses, 3);
}

TEST(ContextCache, StaysWithinItsLimitAndForgetsTheOldestFirst) {
  ContextCache probe(kAmple);
  probe.GiveFilter(*probe.TakeFilter(Scaling(320)));
  const std::size_t one = probe.Stats().bytes;

  ContextCache cache(one * 9 / 2);  // room for four
  for (const int width : {316, 318, 320, 322, 324}) {
    cache.GiveFilter(*cache.TakeFilter(Scaling(width)));
  }
  EXPECT_LE(cache.Stats().bytes, one * 9 / 2);
  for (const int width : {324, 322, 320, 318}) EXPECT_TRUE(cache.TakeFilter(Scaling(width)).ok());
  EXPECT_EQ(cache.Stats().filter_hits, 4);
  EXPECT_TRUE(cache.TakeFilter(Scaling(316)).ok());
  EXPECT_EQ(cache.Stats().filter_hits, 4);
}

TEST(ContextCache, OneContextTakesAQuarterOfTheRoomAtMost) {
  ContextCache probe(kAmple);
  probe.GiveFilter(*probe.TakeFilter(Scaling(320)));
  ContextCache cache(probe.Stats().bytes * 3);
  cache.GiveFilter(*cache.TakeFilter(Scaling(320)));
  EXPECT_EQ(cache.Stats().bytes, 0U);
}

// What is damaged would be patched with pictures of whatever was decoded before, and what lacks
// tables would be decoded with those of any picture.
TEST(ContextCache, KeepsNoDecoderThatRemembersRuns) {
  for (const AVCodecID codec : {AV_CODEC_ID_H264, AV_CODEC_ID_MJPEG, AV_CODEC_ID_DVVIDEO}) {
    SCOPED_TRACE(avcodec_get_name(codec));
    ContextCache cache(kAmple);
    const SourceInfo source = SourceOf(codec);
    cache.GiveDecoder(source, *cache.TakeDecoder(source));
    EXPECT_EQ(cache.Stats().bytes, 0U);
    ASSERT_TRUE(cache.TakeDecoder(source).ok());
    EXPECT_EQ(cache.Stats().decoder_hits, 0);
    EXPECT_EQ(cache.Stats().decoder_misses, 0) << "no worker could have had it";
  }
}

TEST(ContextCache, KeepsNothingWithoutRoom) {
  ContextCache cache(0);
  cache.GiveFilter(*cache.TakeFilter(Scaling(320)));
  const SourceInfo source = SourceOf(AV_CODEC_ID_PRORES);
  cache.GiveDecoder(source, *cache.TakeDecoder(source));
  EXPECT_TRUE(cache.TakeEncoder(CrfSpec(23)).ok());
  EXPECT_FALSE(cache.PrepareOne());
  EXPECT_EQ(cache.Stats().bytes, 0U);
}

// A worker asks again until there is nothing to prepare.
TEST(ContextCache, OpensNothingAheadThatItWouldNotKeep) {
  ContextCache cache(std::size_t{8} << 20U);
  EXPECT_TRUE(cache.TakeEncoder(CrfSpec(23)).ok());
  EXPECT_FALSE(cache.PrepareOne());
  EXPECT_EQ(cache.Stats().bytes, 0U);
}

TEST(ContextCache, CountsFiltersThatHoldNoPicture) {
  FilterSpec nothing_to_do = Scaling(640);
  nothing_to_do.height = 360;
  for (const std::size_t limit : {std::size_t{0}, kAmple}) {
    ContextCache cache(limit);
    cache.GiveFilter(*cache.TakeFilter(nothing_to_do));
    EXPECT_EQ(cache.Stats().bytes > 0, limit > 0);
    EXPECT_TRUE(cache.TakeFilter(nothing_to_do).ok());
    EXPECT_EQ(cache.Stats().filter_hits, limit > 0 ? 1 : 0);
  }
}

TEST(ContextCache, OpensEncodersAheadForSpecsUsedLately) {
  ContextCache cache(kAmple);
  EXPECT_FALSE(cache.PrepareOne()) << "nothing was asked for yet";
  EXPECT_TRUE(cache.TakeEncoder(CrfSpec(23)).ok());
  EXPECT_TRUE(cache.PrepareOne());
  EXPECT_FALSE(cache.PrepareOne()) << "one waits already";
  EXPECT_TRUE(cache.TakeEncoder(CrfSpec(23)).ok());
  EXPECT_EQ(cache.Stats().encoder_hits, 1);
  EXPECT_TRUE(cache.TakeEncoder(CrfSpec(24)).ok());
  EXPECT_EQ(cache.Stats().encoder_misses, 2);
}

// What waits is counted before libraries allocate pictures; libvpx does that at once.
TEST(ContextCache, OpensNoEncoderAheadThatIsLargeWhileItWaits) {
  for (const VideoCodec codec : testing::kAllCodecs) {
    SCOPED_TRACE(Name(codec));
    EncoderSpec spec = testing::SpecFor(codec, {});
    spec.rate_mode = RateMode::kCrf;
    spec.crf = 30;
    ContextCache cache(kAmple);
    EXPECT_TRUE(cache.TakeEncoder(spec).ok());
    EXPECT_EQ(cache.PrepareOne(), codec != VideoCodec::kVp9 && codec != VideoCodec::kAv1);
  }
}

TEST(ContextCache, ForgetsSpecsThatNobodyUses) {
  ContextCache cache(kAmple);
  EXPECT_TRUE(cache.TakeEncoder(CrfSpec(23)).ok());
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(cache.TakeEncoder(CrfSpec(30)).ok());
  EXPECT_TRUE(cache.PrepareOne());  // for 30
  EXPECT_FALSE(cache.PrepareOne()) << "23 is long ago";
}

// A live stream on a busy machine has GOPs of two sizes at once.
TEST(ContextCache, KeepsWhatBothSizesOfAStreamNeed) {
  ContextCache cache(kAmple);
  EncoderSpec whole = CrfSpec(23), half = CrfSpec(23);
  half.width = whole.width / 2;
  half.height = whole.height / 2;
  for (const int width : {320, 160}) cache.GiveFilter(*cache.TakeFilter(Scaling(width)));
  for (const EncoderSpec& spec : {whole, half}) EXPECT_TRUE(cache.TakeEncoder(spec).ok());
  EXPECT_TRUE(cache.PrepareOne());
  EXPECT_TRUE(cache.PrepareOne());
  EXPECT_FALSE(cache.PrepareOne()) << "one of each waits already";
  for (const EncoderSpec& spec : {whole, half}) {
    auto encoder = cache.TakeEncoder(spec);
    ASSERT_TRUE(encoder.ok());
    EXPECT_EQ((*encoder)->context().width, spec.width);
  }
  EXPECT_EQ(cache.Stats().encoder_hits, 2);
  for (const int width : {320, 160}) EXPECT_TRUE(cache.TakeFilter(Scaling(width)).ok());
  EXPECT_EQ(cache.Stats().filter_hits, 2);
}

TEST(ContextCache, APreparedEncoderYieldsTheBytesOfAFreshOne) {
  const testing::Scene scene;
  for (const RateMode mode : {RateMode::kBitrate, RateMode::kCrf}) {
    EncoderSpec spec = CrfSpec(25);
    spec.rate_mode = mode;
    ContextCache cache(kAmple);
    const auto encode = [&] {
      auto encoder = cache.TakeEncoder(spec);
      EXPECT_TRUE(encoder.ok());
      testing::SetBitrate(**encoder, 200'000, 50);
      return testing::PacketHash(testing::Encode(**encoder, scene, 100, 50));
    };
    const auto fresh = encode();
    ASSERT_TRUE(cache.PrepareOne());
    EXPECT_EQ(encode(), fresh);
    EXPECT_EQ(cache.Stats().encoder_hits, 1);
  }
}

}  // namespace
}  // namespace gopmill
