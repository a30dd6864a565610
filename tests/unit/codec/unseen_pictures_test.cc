// SPDX-License-Identifier: Apache-2.0
//
// What is left out of a long GOP, and that nobody sees it: real encoders' packets, decoded with and
// without.
#include "media/unseen_pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

extern "C" {
#include <libavutil/opt.h>
}

#include "codec/video_decoder.h"
#include "media/nal_units.h"
#include "tests/unit/codec/test_frames.h"
#include "tests/unit/media/boxes.h"

namespace gopmill {
namespace {

using ::testing::AllOf;
using testing::EncodedUnit;
using ::testing::Ge;
using ::testing::Le;
using testing::Scene;

constexpr SourceTicks kPictures = 120;
constexpr SourceTicks kEnd = std::numeric_limits<SourceTicks>::max();

// One GOP, with pictures in front of which others are decoded.
EncodedUnit LongGop(VideoCodec codec) {
  const Scene scene{.width = 112, .height = 96, .noise = 2};
  const EncoderSpec spec = testing::SpecFor(codec, scene);
  EncodedUnit unit = testing::EncodeWithParameters(spec, 300'000, scene, 0, kPictures);
  unit.parameters->field_order = AV_FIELD_PROGRESSIVE;  // as FFmpeg finds out of a file
  return unit;
}

std::vector<av::Packet> Referred(const std::vector<av::Packet>& packets) {
  std::vector<av::Packet> all;
  for (const av::Packet& packet : packets) all.push_back(av::Ref(*packet));
  return all;
}

std::vector<av::Packet> LeftOf(const EncodedUnit& unit, const std::vector<ShownTimes>& shown) {
  std::vector<av::Packet> left = Referred(unit.packets);
  LeaveOutUnseen(*unit.parameters, shown, left);
  return left;
}

// The parts of a packet with start codes of three or four bytes, with their lengths instead.
av::Packet WithLengths(const AVPacket& packet) {
  const nal::Bytes data(packet.data, static_cast<std::size_t>(packet.size));
  std::string boxed;
  for (auto at = nal::AfterStartCode(data, 0); at;) {
    const auto next = nal::AfterStartCode(data, *at);
    std::size_t end = next ? *next - 3 : data.size();
    if (next && data[end - 1] == 0) --end;
    boxed += test::Big(end - *at) + std::string(data.begin() + static_cast<std::ptrdiff_t>(*at),
                                                data.begin() + static_cast<std::ptrdiff_t>(end));
    at = next;
  }
  av::Packet made(av_packet_alloc());
  EXPECT_EQ(av_new_packet(made.get(), static_cast<int>(boxed.size())), 0);
  std::ranges::copy(boxed, made->data);
  made->pts = packet.pts;
  made->dts = packet.dts;
  return made;
}

void SetHeader(AVCodecParameters& parameters, const std::vector<std::uint8_t>& header) {
  av_freep(&parameters.extradata);
  parameters.extradata =
      static_cast<std::uint8_t*>(av_mallocz(header.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  parameters.extradata_size = static_cast<int>(header.size());
  std::ranges::copy(header, parameters.extradata);
}

// Each picture, by its time.
std::map<SourceTicks, std::uint64_t> Decoded(const AVCodecParameters& parameters,
                                             const std::vector<av::Packet>& packets) {
  auto decoder = VideoDecoder::Open(parameters, {1, 25}).value();
  std::map<SourceTicks, std::uint64_t> pictures;
  av::Frame frame = av::NewFrame();
  const auto take = [&] {
    while (*decoder->Receive(*frame)) pictures[frame->pts] = testing::PixelHash(*frame);
  };
  for (const av::Packet& packet : packets) {
    EXPECT_TRUE(decoder->Send(packet.get()).ok());
    take();
  }
  EXPECT_TRUE(decoder->Send(nullptr).ok());
  take();
  EXPECT_EQ(decoder->damaged(), 0);
  return pictures;
}

// The pictures that are shown are those of `whole`.
void ExpectShown(const std::map<SourceTicks, std::uint64_t>& whole,
                 const std::map<SourceTicks, std::uint64_t>& some, const ShownTimes& shown) {
  for (const auto& [pts, hash] : whole) {
    if (pts < shown.first || pts > shown.last) continue;
    const auto found = some.find(pts);
    ASSERT_NE(found, some.end()) << pts;
    EXPECT_EQ(found->second, hash) << pts;
  }
}

class Unseen : public ::testing::TestWithParam<VideoCodec> {};
INSTANTIATE_TEST_SUITE_P(Codecs, Unseen, ::testing::Values(VideoCodec::kH264, VideoCodec::kHevc),
                         [](const auto& codec) { return std::string(Name(codec.param)); });

TEST_P(Unseen, LeavesOutAThirdOrMoreAndShowsTheSame) {
  const EncodedUnit unit = LongGop(GetParam());
  const auto whole = Decoded(*unit.parameters, unit.packets);
  ASSERT_EQ(whole.size(), static_cast<std::size_t>(kPictures));
  for (const SourceTicks first : {0, 5, 60, 97, 110, 119}) {
    const ShownTimes shown{.first = first, .last = kEnd};
    const auto left = LeftOf(unit, {shown});
    ExpectShown(whole, Decoded(*unit.parameters, left), shown);
    const auto gone = static_cast<SourceTicks>(unit.packets.size() - left.size());
    const SourceTicks before = std::max<SourceTicks>(0, first - SourceTicks{kKeptInFront});
    EXPECT_THAT(gone, AllOf(Ge(before / 3), Le(before))) << first;
  }
}

TEST_P(Unseen, ShowsSinglePicturesFarFromEachOther) {
  const EncodedUnit unit = LongGop(GetParam());
  const auto whole = Decoded(*unit.parameters, unit.packets);
  const std::vector<ShownTimes> shown{{57, 57}, {58, 58}, {101, 101}};
  const auto left = LeftOf(unit, shown);
  const auto some = Decoded(*unit.parameters, left);
  for (const ShownTimes& one : shown) ExpectShown(whole, some, one);
  EXPECT_LT(left.size(), unit.packets.size() * 17 / 20);
}

TEST_P(Unseen, KeepsWhatMayBringMoreThanAPicture) {
  EncodedUnit unit = LongGop(GetParam());
  const ShownTimes last{.first = kPictures - 1, .last = kEnd};
  ASSERT_LT(LeftOf(unit, {last}).size(), unit.packets.size());
  // A parameter set that later pictures may need is in front of a slice.
  const bool h264 = GetParam() == VideoCodec::kH264;
  const std::vector<std::uint8_t> set = h264 ? std::vector<std::uint8_t>{0, 0, 1, 0x68, 1}
                                             : std::vector<std::uint8_t>{0, 0, 1, 0x44, 1, 1};
  for (av::Packet& packet : unit.packets) {
    const int size = packet->size;
    ASSERT_EQ(av_grow_packet(packet.get(), static_cast<int>(set.size())), 0);
    std::ranges::copy_backward(packet->data, packet->data + size, packet->data + packet->size);
    std::ranges::copy(set, packet->data);
  }
  EXPECT_EQ(LeftOf(unit, {last}).size(), unit.packets.size());
}

TEST_P(Unseen, KeepsAllWhereTimesAreMissingOrTheCodingChanges) {
  EncodedUnit unit = LongGop(GetParam());
  const ShownTimes last{.first = kPictures - 1, .last = kEnd};
  const SourceTicks pts = std::exchange(unit.packets[50]->pts, AV_NOPTS_VALUE);
  EXPECT_EQ(LeftOf(unit, {last}).size(), unit.packets.size());
  unit.packets[50]->pts = pts;
  ASSERT_NE(av_packet_new_side_data(unit.packets[50].get(), AV_PKT_DATA_NEW_EXTRADATA, 8), nullptr);
  EXPECT_EQ(LeftOf(unit, {last}).size(), unit.packets.size());
}

// ISO/IEC 14496-15 5.3.3.1, of a header with start codes.
std::vector<std::uint8_t> AvcHeader(const AVCodecParameters& video) {
  std::vector<std::uint8_t> sequence, picture;
  const nal::Bytes header(video.extradata, static_cast<std::size_t>(video.extradata_size));
  nal::ForEach(header, 0, [&](nal::Bytes unit) {
    constexpr unsigned kSequence = 7, kPicture = 8;
    const unsigned type = unit[0] & 31U;
    if (type == kSequence) sequence.assign(unit.begin(), unit.end());
    if (type == kPicture) picture.assign(unit.begin(), unit.end());
    return false;
  });
  std::vector<std::uint8_t> made{1, sequence[1], sequence[2], sequence[3], 0xFF, 0xE1};
  const auto add = [&made](const std::vector<std::uint8_t>& set) {
    made.push_back(static_cast<std::uint8_t>(set.size() >> 8U));
    made.push_back(static_cast<std::uint8_t>(set.size() & 0xFFU));
    made.insert(made.end(), set.begin(), set.end());
  };
  add(sequence);
  made.push_back(1);  // of the others
  add(picture);
  return made;
}

// As in MP4 and Matroska: with the length in front of each part.
TEST_P(Unseen, LeavesOutTheSameWhereLengthsAreInFront) {
  const EncodedUnit unit = LongGop(GetParam());
  EncodedUnit boxed;
  boxed.parameters.reset(avcodec_parameters_alloc());
  ASSERT_GE(avcodec_parameters_copy(boxed.parameters.get(), unit.parameters.get()), 0);
  for (const av::Packet& packet : unit.packets) boxed.packets.push_back(WithLengths(*packet));
  // Version 1; lengths of four bytes; one temporal layer.
  std::vector<std::uint8_t> header(23, 0xFF);
  header[0] = 1;
  header[21] = 1U << 3U | 3U;
  if (GetParam() == VideoCodec::kH264) header = AvcHeader(*unit.parameters);
  SetHeader(*boxed.parameters, header);
  const ShownTimes shown{.first = 100, .last = kEnd};
  const auto left = LeftOf(unit, {shown}), left_boxed = LeftOf(boxed, {shown});
  ASSERT_LT(left.size(), unit.packets.size());
  ASSERT_EQ(left_boxed.size(), left.size());
  for (std::size_t i = 0; i < left.size(); ++i) EXPECT_EQ(left_boxed[i]->pts, left[i]->pts) << i;
  if (GetParam() == VideoCodec::kH264) return;
  for (const unsigned layers : {0U, 2U}) {  // not known; two
    header[21] = static_cast<std::uint8_t>(layers << 3U | 3U);
    SetHeader(*boxed.parameters, header);
    EXPECT_EQ(LeftOf(boxed, {shown}).size(), unit.packets.size());
  }
}

// Packets that no frame shows have times of their own, which do not stand for pictures that are.
TEST_P(Unseen, HiddenPacketsDoNotCountAsPicturesInFront) {
  const EncodedUnit unit = LongGop(GetParam());
  const ShownTimes shown{.first = 100, .last = kEnd};
  const std::vector<av::Packet> left = LeftOf(unit, {shown});
  EncodedUnit more = LongGop(GetParam());
  for (int i = 0; i < 30; ++i) {
    av::Packet hidden = av::Ref(*unit.packets.front());
    hidden->pts = 99;
    hidden->flags |= AV_PKT_FLAG_DISCARD;
    more.packets.insert(more.packets.begin(), std::move(hidden));
  }
  EXPECT_EQ(LeftOf(more, {shown}).size(), left.size() + 30);
}

TEST_P(Unseen, GarbageLosesNothingThatIsShown) {
  std::minstd_rand random(7);
  EncodedUnit unit = LongGop(GetParam());
  for (int round = 0; round < 20; ++round) {
    for (av::Packet& packet : unit.packets) {
      ASSERT_EQ(av_packet_make_writable(packet.get()), 0);
      packet->data[random() % static_cast<unsigned>(packet->size)] =
          static_cast<std::uint8_t>(random());
    }
    const auto left = LeftOf(unit, {{.first = 100, .last = kEnd}});
    const auto shown = std::ranges::count_if(left, [](const av::Packet& packet) {
      return packet->pts >= 100 - SourceTicks{kKeptInFront};
    });
    EXPECT_EQ(shown, kPictures - 100 + SourceTicks{kKeptInFront});
  }
}

// FFmpeg finds out while it decodes how far such pictures are reordered.
TEST(UnseenPictures, AreAllKeptWhereNoReorderingWasSeen) {
  EncodedUnit unit = LongGop(VideoCodec::kH264);
  ASSERT_GT(unit.parameters->video_delay, 0);
  unit.parameters->video_delay = 0;
  EXPECT_EQ(LeftOf(unit, {{.first = 100, .last = kEnd}}).size(), unit.packets.size());
}

TEST(UnseenPictures, OfFieldsAreAllKept) {
  EncodedUnit unit = LongGop(VideoCodec::kH264);
  for (const AVFieldOrder order : {AV_FIELD_UNKNOWN, AV_FIELD_TT, AV_FIELD_BT}) {
    unit.parameters->field_order = order;
    EXPECT_EQ(LeftOf(unit, {{.first = 100, .last = kEnd}}).size(), unit.packets.size());
  }
}

// The bits of a parameter set, one after the other (H.264 7.2, 9.1).
class Bits {
 public:
  explicit Bits(const std::vector<std::uint8_t>& bytes) : bytes_(bytes) {}
  unsigned Take() {
    const unsigned bit = bytes_.at(at_ / 8) >> (7 - at_ % 8) & 1U;
    ++at_;
    return bit;
  }
  void Skip(std::size_t bits) { at_ += bits; }
  unsigned Golomb() {
    int zeros = 0;
    unsigned number = 1;
    while (Take() == 0) ++zeros;
    for (; zeros > 0; --zeros) number = number << 1U | Take();
    return number - 1;
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  const std::vector<std::uint8_t>& bytes_;
  std::size_t at_ = 0;
};

// A sequence parameter set without the usability information in which x264 tells how far pictures
// are reordered; frames of profile High, not cropped.
std::vector<std::uint8_t> WithoutUsability(std::vector<std::uint8_t> set) {
  Bits bits(set);
  bits.Skip(8 + 24);
  for (int n = 0; n < 4; ++n) bits.Golomb();  // its number, chroma, depths
  bits.Skip(2);
  for (int n = 0; n < 2; ++n) bits.Golomb();
  bits.Golomb();  // bits of the order
  bits.Golomb();  // reference pictures
  bits.Skip(1);
  for (int n = 0; n < 2; ++n) bits.Golomb();  // size
  bits.Skip(2);
  EXPECT_EQ(bits.Take(), 0U) << "cropped";
  const std::size_t flag = bits.at();
  EXPECT_EQ(bits.Take(), 1U) << "no usability information";
  set.resize(bits.at() / 8 + 1);
  for (std::size_t at = flag; at < set.size() * 8; ++at) {
    const auto bit = static_cast<std::uint8_t>(0x80U >> at % 8);
    set[at / 8] =
        static_cast<std::uint8_t>(at == flag + 1 ? set[at / 8] | bit : set[at / 8] & ~bit);
  }
  return set;
}

// The same header, with start codes.
std::vector<std::uint8_t> Untold(const AVCodecParameters& video) {
  std::vector<std::uint8_t> made;
  const nal::Bytes header(video.extradata, static_cast<std::size_t>(video.extradata_size));
  nal::ForEach(header, 0, [&](nal::Bytes unit) {
    constexpr unsigned kSequence = 7;
    std::vector<std::uint8_t> set(unit.begin(), unit.end());
    if ((unit[0] & 31U) == kSequence) set = WithoutUsability(std::move(set));
    made.insert(made.end(), {0, 0, 0, 1});
    made.insert(made.end(), set.begin(), set.end());
    return false;
  });
  return made;
}

// One GOP of x264 whose pictures are reordered by one, by two in 24 to 47 and from 96 on.
bool IsDeep(int n) { return n % 72 >= 24 && n % 72 < 48; }

AVPictureType TypeOf(int n) {
  if (n == 0) return AV_PICTURE_TYPE_I;
  return n % (IsDeep(n) ? 4 : 2) == 0 ? AV_PICTURE_TYPE_P : AV_PICTURE_TYPE_B;
}

EncodedUnit DeeperLater() {
  const Scene scene{.width = 112, .height = 96, .noise = 2};
  const AVCodec* codec = avcodec_find_encoder_by_name("libx264");
  const av::CodecContext encoder(avcodec_alloc_context3(codec));
  encoder->width = scene.width;
  encoder->height = scene.height;
  encoder->pix_fmt = AV_PIX_FMT_YUV420P;
  encoder->time_base = {1, 25};
  encoder->gop_size = 250;
  encoder->max_b_frames = 3;
  encoder->thread_count = 1;
  encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  av_opt_set(encoder->priv_data, "preset", "fast", 0);
  av_opt_set(encoder->priv_data, "x264-params", "scenecut=0:b-adapt=0:b-pyramid=normal:log=-1", 0);
  EXPECT_EQ(avcodec_open2(encoder.get(), codec, nullptr), 0);
  EncodedUnit unit;
  unit.parameters.reset(avcodec_parameters_alloc());
  EXPECT_GE(avcodec_parameters_from_context(unit.parameters.get(), encoder.get()), 0);
  unit.parameters->field_order = AV_FIELD_PROGRESSIVE;
  unit.parameters->video_delay = 1;  // as FFmpeg finds where a file begins
  for (int n = 0; n <= kPictures + 1; ++n) {
    av::Frame frame = n <= kPictures ? testing::MakeFrame(scene, n) : av::Frame();
    if (frame) frame->pts = n;
    if (frame) frame->pict_type = TypeOf(n);
    EXPECT_EQ(avcodec_send_frame(encoder.get(), frame.get()), 0);
    for (av::Packet packet(av_packet_alloc());
         avcodec_receive_packet(encoder.get(), packet.get()) >= 0;
         packet.reset(av_packet_alloc())) {
      unit.packets.push_back(std::move(packet));
    }
  }
  return unit;
}

// Where the header does not tell how far pictures are reordered, a decoder finds that out where it
// first sees it, and loses a picture there. It sees nothing of it in what would be left, and so
// would lose one that is shown.
TEST(UnseenPictures, AreKeptWhereADecoderFindsOutHowFarTheyAreReordered) {
  const EncodedUnit unit = DeeperLater();
  constexpr ShownTimes kShown{.first = 90, .last = kEnd};
  const auto left = LeftOf(unit, {kShown});
  ASSERT_LT(left.size(), unit.packets.size()) << "told";
  const auto whole = Decoded(*unit.parameters, unit.packets);
  ASSERT_EQ(whole.size(), kPictures + 1U);
  ExpectShown(whole, Decoded(*unit.parameters, left), kShown);

  EncodedUnit untold{.packets = Referred(unit.packets), .parameters = nullptr};
  untold.parameters.reset(avcodec_parameters_alloc());
  ASSERT_GE(avcodec_parameters_copy(untold.parameters.get(), unit.parameters.get()), 0);
  SetHeader(*untold.parameters, Untold(*unit.parameters));
  const auto kept = LeftOf(untold, {kShown});
  ExpectShown(whole, Decoded(*untold.parameters, kept), kShown);
  const auto fewer = Decoded(*untold.parameters, left);
  EXPECT_LT(
      std::ranges::count_if(fewer, [&](const auto& one) { return one.first >= kShown.first; }),
      kPictures + 1 - kShown.first);
}

TEST(UnseenPictures, OfSeveralLayersAreAllKept) {
  EncodedUnit unit = LongGop(VideoCodec::kHevc);
  ASSERT_LT(LeftOf(unit, {{.first = 100, .last = kEnd}}).size(), unit.packets.size());
  // Of temporal layer 1, as the header of the first part of each tells.
  for (av::Packet& packet : unit.packets) {
    ASSERT_EQ(av_packet_make_writable(packet.get()), 0);
    packet->data[5] = static_cast<std::uint8_t>((packet->data[5] & 0xF8U) | 2U);
  }
  const auto left = LeftOf(unit, {{.first = 100, .last = kEnd}});
  EXPECT_EQ(left.size(), unit.packets.size());
}

TEST(UnseenPictures, OfOtherCodecsAreAllKept) {
  for (const VideoCodec codec : {VideoCodec::kMpeg4, VideoCodec::kVp9}) {
    const EncodedUnit unit = LongGop(codec);
    EXPECT_EQ(LeftOf(unit, {{.first = 100, .last = kEnd}}).size(), unit.packets.size());
  }
}

}  // namespace
}  // namespace gopmill
