// SPDX-License-Identifier: Apache-2.0
#include "media/subtitle_bitmaps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "media/subtitle_script.h"

namespace gopmill::subtitle_bitmaps_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr int kCanvasWidth = 1280, kCanvasHeight = 720;
constexpr std::int64_t kTicksASecond = 90'000;
constexpr std::int64_t kZeroMicros = 10'000'000;  // of the source, on its container's clock

void Append(Bytes& bytes, int width, std::int64_t value) {
  for (int i = width - 1; i >= 0; --i) {
    bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

// A segment of PGS without the two letters and times of a .sup file, as containers have it.
Bytes Segment(int type, const Bytes& payload) {
  Bytes bytes;
  Append(bytes, 1, type);
  Append(bytes, 2, static_cast<std::int64_t>(payload.size()));
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

Bytes Composition(int number, bool shows, int x, int y) {
  Bytes payload;
  Append(payload, 2, kCanvasWidth);
  Append(payload, 2, kCanvasHeight);
  Append(payload, 1, 0x10);
  Append(payload, 2, number);
  Append(payload, 1, 0x80);  // the start of an epoch
  Append(payload, 2, 0);     // palette 0, not by itself
  Append(payload, 1, shows ? 1 : 0);
  if (shows) {
    Append(payload, 2, 0);  // the object
    Append(payload, 2, 0);  // in window 0, whole
    Append(payload, 2, x);
    Append(payload, 2, y);
  }
  return Segment(0x16, payload);
}

// Colour 1 is white, 2 half of it is seen through.
Bytes Palette() {
  Bytes payload{0, 0};
  for (const Bytes& color : {Bytes{1, 235, 128, 128, 255}, Bytes{2, 235, 128, 128, 128}}) {
    payload.insert(payload.end(), color.begin(), color.end());
  }
  return Segment(0x14, payload);
}

// All of one colour below 64, rows up to 63 pixels: a run is coded as 0, 10LLLLLL, colour.
Bytes Object(int width, int height, int color) {
  Bytes lines;
  for (int y = 0; y < height; ++y) {
    for (const int byte : {0, 0x80 | width, color, 0, 0}) Append(lines, 1, byte);
  }
  Bytes payload;
  Append(payload, 2, 0);     // the object
  Append(payload, 1, 0);     // its version
  Append(payload, 1, 0xC0);  // first and last in sequence
  Append(payload, 3, static_cast<std::int64_t>(lines.size()) + 4);
  Append(payload, 2, width);
  Append(payload, 2, height);
  payload.insert(payload.end(), lines.begin(), lines.end());
  return Segment(0x15, payload);
}

Bytes Shown(int number, int x, int y, int width, int height, int color = 1) {
  Bytes bytes;
  for (const Bytes& part : {Composition(number, true, x, y), Palette(),
                            Object(width, height, color), Segment(0x80, {})}) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

Bytes Cleared(int number) {
  Bytes bytes = Composition(number, false, 0, 0);
  const Bytes end = Segment(0x80, {});
  bytes.insert(bytes.end(), end.begin(), end.end());
  return bytes;
}

struct Stream {
  Stream() : format(avformat_alloc_context()), stream(avformat_new_stream(format, nullptr)) {
    stream->codecpar->codec_type = AVMEDIA_TYPE_SUBTITLE;
    stream->codecpar->codec_id = AV_CODEC_ID_HDMV_PGS_SUBTITLE;
    stream->time_base = {1, 90'000};
  }
  ~Stream() { avformat_free_context(format); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  AVFormatContext* format;
  AVStream* stream;
};

av::Packet PacketOf(const Bytes& bytes, double seconds, double duration = 0) {
  av::Packet packet = av::NewPacket();
  EXPECT_EQ(av_new_packet(packet.get(), static_cast<int>(bytes.size())), 0);
  std::ranges::copy(bytes, packet->data);
  packet->pts = static_cast<std::int64_t>((seconds + 10) * static_cast<double>(kTicksASecond));
  packet->dts = packet->pts;
  packet->duration = static_cast<std::int64_t>(duration * static_cast<double>(kTicksASecond));
  return packet;
}

class SubtitleBitmapsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto reader = PictureReader::Open(*stream_.stream, kZeroMicros);
    ASSERT_TRUE(reader.ok()) << reader.error().ToString();
    reader_.emplace(*std::move(reader));
  }

  void Push(const Bytes& bytes, double seconds, double duration = 0) {
    reader_->Push(*PacketOf(bytes, seconds, duration));
  }

  Stream stream_;
  std::optional<PictureReader> reader_;
};

TEST_F(SubtitleBitmapsTest, AreWhereAndWhenTheSourceShowsThem) {
  Push(Shown(0, 100, 600, 40, 20), 1);
  Push(Cleared(1), 2.5);
  const auto bitmaps = reader_->Finish();
  EXPECT_EQ(bitmaps->width, kCanvasWidth);
  EXPECT_EQ(bitmaps->height, kCanvasHeight);
  EXPECT_TRUE(bitmaps->square);
  ASSERT_EQ(bitmaps->cues.size(), 1U);
  const PictureCue& cue = bitmaps->cues.front();
  EXPECT_EQ(cue.start_us, 1'000'000);
  EXPECT_EQ(cue.end_us, 2'500'000);
  ASSERT_EQ(cue.bitmaps.size(), 1U);
  const Bitmap& bitmap = cue.bitmaps.front();
  EXPECT_EQ(bitmap.x, 100);
  EXPECT_EQ(bitmap.y, 600);
  EXPECT_EQ(bitmap.width, 40);
  EXPECT_EQ(bitmap.height, 20);
  EXPECT_EQ(Unpacked(bitmap), Bytes(800, 1));
  EXPECT_EQ(bitmap.palette.at(1), 0xFFFFFFFFU);
  EXPECT_EQ(bitmap.palette.at(2), 0x80FFFFFFU);
}

TEST_F(SubtitleBitmapsTest, EachTakesAwayTheOneBefore) {
  Push(Shown(0, 0, 0, 10, 10), 1);
  Push(Shown(1, 0, 0, 20, 10), 3);
  Push(Cleared(2), 4);
  const auto bitmaps = reader_->Finish();
  ASSERT_EQ(bitmaps->cues.size(), 2U);
  EXPECT_EQ(bitmaps->cues[0].end_us, 3'000'000);
  EXPECT_EQ(bitmaps->cues[1].start_us, 3'000'000);
  EXPECT_EQ(bitmaps->cues[1].end_us, 4'000'000);
}

TEST_F(SubtitleBitmapsTest, TheLastEndsBySomeTime) {
  Push(Shown(0, 0, 0, 10, 10), 1);
  const auto bitmaps = reader_->Finish();
  ASSERT_EQ(bitmaps->cues.size(), 1U);
  EXPECT_EQ(bitmaps->cues[0].end_us - bitmaps->cues[0].start_us, kCueMicros);
}

TEST_F(SubtitleBitmapsTest, ADurationEndsThem) {
  Push(Shown(0, 0, 0, 10, 10), 1, 0.5);
  Push(Shown(1, 0, 0, 10, 10), 3, 60);
  Push(Cleared(2), 4);
  const auto bitmaps = reader_->Finish();
  ASSERT_EQ(bitmaps->cues.size(), 2U);
  EXPECT_EQ(bitmaps->cues[0].end_us, 1'500'000);
  EXPECT_EQ(bitmaps->cues[1].end_us, 4'000'000) << "but not behind the next";
}

TEST_F(SubtitleBitmapsTest, DamagedPacketsShowNothing) {
  Bytes cut = Shown(0, 0, 0, 40, 20);
  cut.resize(cut.size() / 2);
  Push(cut, 1);
  Push(Bytes(200, 0xAB), 2);
  Push({}, 3);
  Push(Shown(1, 0, 0, 10, 10), 4);
  const auto bitmaps = reader_->Finish();
  ASSERT_EQ(bitmaps->cues.size(), 1U);
  EXPECT_EQ(bitmaps->cues[0].start_us, 4'000'000);
}

TEST_F(SubtitleBitmapsTest, MakeAScriptThatKnowsWhenToDraw) {
  Push(Shown(0, 0, 0, 10, 10), 1);
  Push(Cleared(1), 2);
  Push(Shown(2, 0, 0, 10, 10), 3);
  Push(Cleared(3), 4);
  SubtitleTrack track;
  track.of_pictures = true;
  track.bitmaps = reader_->Finish();
  const auto script = MakeScript(track);
  EXPECT_EQ(script->SpanAt(999'999), nullptr);
  EXPECT_NE(script->SpanAt(1'000'000), nullptr);
  EXPECT_EQ(script->SpanAt(2'000'000), nullptr);
  EXPECT_EQ(script->CuesAt(3500), std::vector<std::size_t>{1});
  EXPECT_GT(script->bytes(), 0U);
}

TEST_F(SubtitleBitmapsTest, OtherPicturesHaveAnotherFingerprint) {
  const auto fingerprint = [&](int x, int color, double seconds) {
    auto reader = PictureReader::Open(*stream_.stream, kZeroMicros);
    EXPECT_TRUE(reader.ok());
    reader->Push(*PacketOf(Shown(0, x, 0, 10, 10, color), seconds));
    SubtitleTrack track;
    track.bitmaps = reader->Finish();
    return MakeScript(track)->fingerprint;
  };
  EXPECT_EQ(fingerprint(0, 1, 1), fingerprint(0, 1, 1));
  EXPECT_NE(fingerprint(0, 1, 1), fingerprint(1, 1, 1));
  EXPECT_NE(fingerprint(0, 1, 1), fingerprint(0, 2, 1));
  EXPECT_NE(fingerprint(0, 1, 1), fingerprint(0, 1, 2));
}

TEST_F(SubtitleBitmapsTest, AreDescribedAsSuch) {
  const auto track = DescribeSubtitles(*stream_.stream);
  ASSERT_TRUE(track);
  EXPECT_TRUE(track->of_pictures);
  EXPECT_EQ(track->codec, "hdmv_pgs_subtitle");
}

TEST(SubtitleBitmaps, IndicesComeBackAsTheyWere) {
  Bytes indices(70'000);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    indices[i] = static_cast<std::uint8_t>(i * i / 7);
  }
  const Bitmap bitmap{.width = 700, .height = 100, .packed = Packed(indices)};
  EXPECT_EQ(Unpacked(bitmap), indices);
}

}  // namespace
}  // namespace gopmill::subtitle_bitmaps_test
