// SPDX-License-Identifier: Apache-2.0
#include "codec/frame_selector.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "codec/captions.h"
#include "codec/decode_aside.h"
#include "media/packet_meta.h"
#include "media/unit_planner.h"
#include "tests/unit/codec/test_frames.h"

namespace gopmill {
namespace {

constexpr Rational kTimeBase{1, 90'000};
constexpr std::int64_t kLength = 3600;  // of a picture, ticks

struct Movie {
  std::vector<av::Packet> packets;  // decode order
  std::shared_ptr<SourceInfo> source = std::make_shared<SourceInfo>();
  Denoise temporal = Denoise::kOff;
};

struct Coding {
  int frames = 36;
  int group = 12;
  bool closed = true;
  bool interlaced = false;
  Denoise temporal = Denoise::kOff;
  int b_frames = 2;
  int width = 128;
  const char* x264 = "open-gop=1:b-pyramid=normal:b-adapt=0:scenecut=0";
  AVCodecID codec = AV_CODEC_ID_MPEG2VIDEO;  // the decoder of MJPEG holds no picture back
  int captioned = -1;                        // the picture that has closed captions
};

av::CodecContext OpenEncoder(const Coding& coding, const testing::Scene& scene) {
  const AVCodec* codec = avcodec_find_encoder(coding.codec);
  av::CodecContext context(avcodec_alloc_context3(codec));
  context->width = scene.width;
  context->height = scene.height;
  context->pix_fmt = coding.codec == AV_CODEC_ID_MJPEG ? AV_PIX_FMT_YUVJ420P : AV_PIX_FMT_YUV420P;
  context->time_base = {1, 25};
  context->framerate = {25, 1};
  context->gop_size = coding.group;
  context->max_b_frames = coding.b_frames;
  context->bit_rate = 1'000'000;
  context->thread_count = 1;
  context->flags |= AV_CODEC_FLAG_BITEXACT;
  if (coding.closed) context->flags |= static_cast<int>(AV_CODEC_FLAG_CLOSED_GOP);
  if (coding.interlaced)
    context->flags |= AV_CODEC_FLAG_INTERLACED_DCT | AV_CODEC_FLAG_INTERLACED_ME;
  AVDictionary* options = nullptr;
  if (coding.codec == AV_CODEC_ID_H264) {
    av_dict_set(&options, "x264-params", coding.x264, 0);
  } else if (coding.codec == AV_CODEC_ID_HEVC) {
    av_dict_set(&options, "x265-params",
                "open-gop=1:b-adapt=0:scenecut=0:min-keyint=12:pools=none:frame-threads=1:"
                "log-level=none",
                0);
  } else {
    av_dict_set(&options, "sc_threshold", "1000000000", 0);
  }
  EXPECT_EQ(avcodec_open2(context.get(), codec, &options), 0);
  av_dict_free(&options);
  return context;
}

Movie MakeMovie(const Coding& coding) {
  const testing::Scene scene{.width = coding.width, .height = 96};
  const av::CodecContext context = OpenEncoder(coding, scene);
  Movie movie;
  movie.temporal = coding.temporal;
  const auto take = [&] {
    av::Packet packet = av::NewPacket();
    while (avcodec_receive_packet(context.get(), packet.get()) == 0) {
      packet->pts *= kLength;
      packet->dts *= kLength;
      packet->duration = kLength;
      movie.packets.push_back(std::move(packet));
      packet = av::NewPacket();
    }
  };
  for (int n = 0; n < coding.frames; ++n) {
    av::Frame frame = testing::MakeFrame(scene, n);
    frame->interlaced_frame = coding.interlaced ? 1 : 0;
    frame->top_field_first = 1;
    frame->format = context->pix_fmt;
    if (n == coding.captioned) AttachCaptions({4, 'A', 'B'}, *frame);
    EXPECT_EQ(avcodec_send_frame(context.get(), frame.get()), 0);
    take();
  }
  avcodec_send_frame(context.get(), nullptr);
  take();
  std::shared_ptr<AVCodecParameters> parameters(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  EXPECT_GE(avcodec_parameters_from_context(parameters.get(), context.get()), 0);
  movie.source->video = {.codec = avcodec_get_name(coding.codec),
                         .width = scene.width,
                         .height = scene.height,
                         .time_base = kTimeBase,
                         .fps = {25, 1},
                         .interlaced = coding.interlaced,
                         .has_b_frames = true,
                         .mastering_display = {},
                         .content_light = {},
                         .parameters = parameters};
  return movie;
}

std::shared_ptr<const StreamPlan> PlanOf(const Movie& movie, Rational fps = {25, 1}) {
  auto plan = std::make_shared<StreamPlan>();
  plan->source = movie.source;
  plan->target.width = movie.source->video.width;
  plan->target.height = movie.source->video.height;
  plan->target.degrain = movie.temporal;
  plan->grid = OutputGrid(fps, {25, 1}, kTimeBase, 0);
  return plan;
}

// That has been fed packets [first, end).
std::unique_ptr<FrameSelector> Fed(const Movie& movie, std::size_t first, std::size_t end,
                                   Rational fps = {25, 1}) {
  auto decoder = VideoDecoder::Open(*movie.source->video.parameters, kTimeBase);
  EXPECT_TRUE(decoder.ok());
  auto selector =
      std::make_unique<FrameSelector>(PlanOf(movie, fps), std::move(decoder).value(), 0);
  std::vector<av::Packet> packets;
  for (std::size_t n = first; n < end; ++n) packets.push_back(av::Ref(*movie.packets[n]));
  selector->Feed(std::move(packets), true);
  return selector;
}

// The pictures that a run of packets [first, end) shows at output frames [from, until).
std::vector<std::uint64_t> Show(const Movie& movie, std::size_t first, std::size_t end,
                                std::int64_t from, std::int64_t until) {
  const auto fed = Fed(movie, first, end);
  FrameSelector& selector = *fed;
  std::vector<std::uint64_t> hashes;
  for (std::int64_t n = from; n < until; ++n) {
    const auto selected = selector.Select(n);
    EXPECT_TRUE(selected.ok() && selected->frame != nullptr) << n;
    if (!selected.ok() || selected->frame == nullptr) break;
    EXPECT_FALSE(selected->repeated) << n;
    hashes.push_back(testing::PixelHash(*selected->frame));
  }
  return hashes;
}

// MPEG program streams tell the times of some pictures only, and a drained decoder estimates none.
TEST(FrameSelector, GivesPicturesWithoutATimeTheirPlace) {
  Movie movie = MakeMovie({});
  const auto all = Show(movie, 0, movie.packets.size(), 0, 36);
  for (std::size_t n = 1; n < movie.packets.size(); ++n) {
    if (movie.packets[n]->pts != movie.packets[n]->dts) movie.packets[n]->pts = AV_NOPTS_VALUE;
  }
  EXPECT_EQ(Show(movie, 0, movie.packets.size(), 0, 36), all);
  std::size_t second = 1;
  while ((movie.packets[second]->flags & AV_PKT_FLAG_KEY) == 0) ++second;
  const auto frames = static_cast<std::int64_t>(second);
  EXPECT_EQ(Show(movie, 0, second, 0, frames), std::vector(all.begin(), all.begin() + frames))
      << "a run that ends at a closed cut";
}

// A deinterlacer looks at the pictures on both sides: cut into units or not, all must be the same.
void ExpectSeamless(const Coding& coding) {
  const Movie movie = MakeMovie(coding);
  const auto whole = Show(movie, 0, movie.packets.size(), 0, coding.frames);
  PacketDescriber describer(movie.source, false);
  UnitPlanner planner(PlanOf(movie)->grid, {.unit_seconds = 0,
                                            .source_fps = {25, 1},
                                            .source_time_base = kTimeBase,
                                            .temporal_context = PlanOf(movie)->temporal_context()});
  std::vector<UnitSpec> units;
  for (const av::Packet& packet : movie.packets) planner.Push(describer.Describe(*packet), units);
  planner.Finish(units);
  ASSERT_GE(units.size(), 3U);
  for (const UnitSpec& unit : units) {
    ASSERT_TRUE(unit.ends_run);
    const std::vector<std::uint64_t> expected(whole.begin() + unit.first_frame,
                                              whole.begin() + unit.end_frame);
    EXPECT_EQ(Show(movie, static_cast<std::size_t>(unit.first_packet),
                   static_cast<std::size_t>(unit.end_packet), unit.first_frame, unit.end_frame),
              expected)
        << "unit " << unit.index.value;
  }
}

TEST(FrameSelector, DeinterlacesOverClosedCutsAsWithoutThem) {
  ExpectSeamless({.closed = true, .interlaced = true});
}

TEST(FrameSelector, DeinterlacesOverOpenCutsAsWithoutThem) {
  ExpectSeamless({.closed = false, .interlaced = true});
}

TEST(FrameSelector, DenoisesInTimeOverCutsAsWithoutThem) {
  for (const Denoise strength : {Denoise::kLight, Denoise::kMedium, Denoise::kStrong}) {
    SCOPED_TRACE(Name(strength));
    Coding coding{.frames = 120, .temporal = strength};
    ExpectSeamless(coding);
    coding.closed = false;
    ExpectSeamless(coding);
    coding.interlaced = true;
    ExpectSeamless(coding);
    ExpectSeamless({.frames = 120, .group = 1, .temporal = strength, .b_frames = 0});
    ExpectSeamless({.frames = 120, .group = 3, .temporal = strength});
  }
}

// Those before the change pass filters that are made for them, to the last.
TEST(FrameSelector, NoPictureIsLostInFiltersWhenTheSizeChanges) {
  const Coding coding{
      .frames = 24, .temporal = Denoise::kStrong, .b_frames = 0, .codec = AV_CODEC_ID_MJPEG};
  Coding wider = coding;
  wider.width = 160;
  Movie movie = MakeMovie(coding);
  Movie second = MakeMovie(wider);
  auto expected = Show(movie, 0, 24, 0, 24);
  const auto after = Show(second, 0, 24, 0, 24);
  expected.insert(expected.end(), after.begin(), after.end());
  for (av::Packet& packet : second.packets) {
    packet->pts += 24 * kLength;
    packet->dts += 24 * kLength;
    movie.packets.push_back(std::move(packet));
  }
  EXPECT_EQ(Show(movie, 0, 48, 0, 48), expected);
}

TEST(FrameSelector, CutsProgressiveGroupsWithoutASeam) {
  ExpectSeamless({.closed = true});
  ExpectSeamless({.closed = false});
}

// Where a group is open and exact, decoding begins at its key picture and not at the one before.
TEST(FrameSelector, CutsOpenGroupsOfEachCodecWithoutASeam) {
  for (const AVCodecID codec :
       {AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4, AV_CODEC_ID_H264, AV_CODEC_ID_HEVC}) {
    SCOPED_TRACE(avcodec_get_name(codec));
    const Coding coding{.frames = 60, .closed = false, .b_frames = 3, .codec = codec};
    const Movie movie = MakeMovie(coding);
    PacketDescriber describer(movie.source, false);
    std::int64_t exact = 0, leading = 0;
    SourceTicks key = 0;
    for (const av::Packet& packet : movie.packets) {
      const PacketMeta meta = describer.Describe(*packet);
      if (meta.access != RandomAccess::kNone) key = meta.pts;
      exact += meta.access == RandomAccess::kOpenGop ? 1 : 0;
      leading += meta.pts < key ? 1 : 0;
    }
    EXPECT_GE(exact, 3);
    EXPECT_GE(leading, 3);
    ExpectSeamless(coding);
  }
}

// FFmpeg may drop the first picture behind a point of recovery, and what it refreshes with it.
TEST(FrameSelector, CutsWherePicturesRecoverSlowlyWithoutASeam) {
  ExpectSeamless({.frames = 96,
                  .closed = false,
                  .b_frames = 0,
                  .x264 = "intra-refresh=1:keyint=12:scenecut=0",
                  .codec = AV_CODEC_ID_H264});
}

// Of twelve pictures in front of a closed cut every fourth is shown.
FrameSelector::Selected ShowLastOfFew(FrameSelector& selector) {
  for (int n = 0; n < 2; ++n) {
    const auto selected = selector.Select(n);
    EXPECT_TRUE(selected.ok() && selected->captions.empty()) << n;
  }
  auto selected = selector.Select(2, 12 * kLength);
  EXPECT_TRUE(selected.ok());
  return std::move(selected).value();
}

TEST(FrameSelector, TheLastFrameHasCaptionsThatComeInFrontOfTheCutAlone) {
  const Movie movie = MakeMovie({.frames = 12,
                                 .x264 = "open-gop=0:b-adapt=0:scenecut=0",
                                 .codec = AV_CODEC_ID_H264,
                                 .captioned = 11});
  const auto selector = Fed(movie, 0, movie.packets.size(), {25, 4});
  EXPECT_EQ(ShowLastOfFew(*selector).captions, (Captions{4, 'A', 'B'}));
  EXPECT_EQ(selector->counts().decoded, 12);
}

TEST(FrameSelector, DecodesNothingMoreWhereThereAreNoCaptions) {
  const Movie movie = MakeMovie(
      {.frames = 12, .x264 = "open-gop=0:b-adapt=0:scenecut=0", .codec = AV_CODEC_ID_H264});
  const auto selector = Fed(movie, 0, movie.packets.size(), {25, 4});
  EXPECT_EQ(ShowLastOfFew(*selector).captions, Captions());
  EXPECT_LE(selector->counts().decoded, 10);
}

// --- on a thread of its own -------------------------------------------------------------------

TEST(DecodeAside, GivesThePicturesOfItsSelector) {
  const Movie movie = MakeMovie({});
  const auto selector = Fed(movie, 0, movie.packets.size());
  auto aside = DecodeAside::Begin(*selector, {.first = 0, .end = 36});
  ASSERT_TRUE(aside.ok());
  std::vector<std::uint64_t> hashes;
  for (int n = 0; n < 36; ++n) {
    const auto picture = (*aside)->Next();
    ASSERT_TRUE(picture.ok() && picture->frame);
    EXPECT_FALSE(picture->repeated);
    hashes.push_back(testing::PixelHash(*picture->frame));
  }
  EXPECT_GT((*aside)->End().count(), 0);
  EXPECT_GT((*aside)->cpu().count(), 0);
  EXPECT_EQ(hashes, Show(movie, 0, movie.packets.size(), 0, 36));
  EXPECT_EQ(selector->counts().decoded, 36);
}

// 48 pictures of 1 MiB: most of them do not fit, so that its thread waits when it is stopped.
TEST(DecodeAside, HoldsSoManyBytesAndEndsWhenNobodyWantsMore) {
  constexpr std::size_t kPictureBytes = 7680 * 96 * 3 / 2;
  const Movie movie =
      MakeMovie({.frames = 48, .b_frames = 0, .width = 7680, .codec = AV_CODEC_ID_MJPEG});
  const auto selector = Fed(movie, 0, movie.packets.size());
  {
    auto aside = DecodeAside::Begin(*selector, {.first = 0, .end = 48});
    ASSERT_TRUE(aside.ok());
    ASSERT_TRUE((*aside)->Next().ok());
    while ((*aside)->bytes() + kPictureBytes <= kAsideBytes) std::this_thread::yield();
  }
  constexpr std::size_t kFit = kAsideBytes / kPictureBytes;
  EXPECT_GE(selector->counts().decoded, static_cast<std::int64_t>(kFit));
  EXPECT_LE(selector->counts().decoded,
            static_cast<std::int64_t>(kFit) + 4);  // taken, shown, next, one more
}

TEST(DecodeAside, SaysThatThereIsNoPictureAtAll) {
  const Movie movie = MakeMovie({.frames = 12});
  const auto selector = Fed(movie, 0, 0);
  auto aside = DecodeAside::Begin(*selector, {.first = 0, .end = 2});
  ASSERT_TRUE(aside.ok());
  for (int n = 0; n < 2; ++n) {
    const auto picture = (*aside)->Next();
    ASSERT_TRUE(picture.ok());
    EXPECT_FALSE(picture->frame);
  }
}

}  // namespace
}  // namespace gopmill
