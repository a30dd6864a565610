// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codec/test_frames.h"

#include "codec/video_decoder.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <span>

namespace gopmill::testing {
namespace {

struct Plane {
  int width, height, shift;  // shift: bits above 8
};

Plane PlaneOf(const AVFrame& frame, int index) {
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(frame.format));
  const bool chroma = index > 0;
  return {chroma ? AV_CEIL_RSHIFT(frame.width, format->log2_chroma_w) : frame.width,
          chroma ? AV_CEIL_RSHIFT(frame.height, format->log2_chroma_h) : frame.height,
          format->comp[0].depth - 8};
}

void Put(AVFrame& frame, int plane, int x, int y, int value, int shift) {
  std::uint8_t* row = frame.data[plane] + std::ptrdiff_t{y} * frame.linesize[plane];
  if (shift == 0) {
    row[x] = static_cast<std::uint8_t>(value);
  } else {
    const auto wide = static_cast<std::uint16_t>(value << shift);
    std::memcpy(row + 2 * x, &wide, sizeof wide);
  }
}

av::Frame NewPicture(int width, int height, int format) {
  av::Frame frame = av::NewFrame();
  frame->width = width;
  frame->height = height;
  frame->format = format;
  EXPECT_GE(av_frame_get_buffer(frame.get(), 0), 0);
  return frame;
}

void FillPlane(AVFrame& frame, int index, const auto& value_at) {
  const Plane plane = PlaneOf(frame, index);
  for (int y = 0; y < plane.height; ++y) {
    for (int x = 0; x < plane.width; ++x) Put(frame, index, x, y, value_at(x, y), plane.shift);
  }
}

class Fnv {
 public:
  void Add(std::span<const std::uint8_t> bytes) {
    for (const std::uint8_t byte : bytes) hash_ = (hash_ ^ byte) * 0x100000001b3ULL;
  }
  void Add(std::int64_t value) {
    for (int i = 0; i < 8; ++i) {
      hash_ = (hash_ ^ (static_cast<std::uint64_t>(value) >> (8 * i) & 0xff)) * 0x100000001b3ULL;
    }
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

void Add(Fnv& hash, const AVFrame& frame) {
  for (int i = 0; i < 4 && frame.data[i] != nullptr; ++i) {
    const Plane plane = PlaneOf(frame, i);
    const std::size_t bytes = static_cast<std::size_t>(plane.width) * (plane.shift > 0 ? 2 : 1);
    for (int y = 0; y < plane.height; ++y) {
      hash.Add({frame.data[i] + std::ptrdiff_t{y} * frame.linesize[i], bytes});
    }
  }
}

void TakeAll(VideoEncoder& encoder, std::vector<av::Packet>& packets) {
  for (;;) {
    av::Packet packet = av::NewPacket();
    const auto got = encoder.Receive(*packet);
    ASSERT_TRUE(got.ok()) << got.error().ToString();
    if (!*got) return;
    packets.push_back(std::move(packet));
  }
}

}  // namespace

av::Frame MakeFrame(const Scene& scene, int n) {
  av::Frame frame = NewPicture(scene.width, scene.height, scene.format);
  std::minstd_rand random(static_cast<std::uint32_t>(n) * 7919 + 1);
  const int shot = scene.cut_every > 0 ? n / scene.cut_every : 0;
  FillPlane(*frame, 0, [&](int x, int y) {
    const int texture = (x + 2 * n) * (3 + shot) + (y + n) * (5 + 2 * shot);
    const int wave = (texture / 4 + ((x / 8) ^ (y / 8)) * 9 + 61 * shot) % 180;
    const int noise = scene.noise == 0
                          ? 0
                          : static_cast<int>(random() % (2U * static_cast<unsigned>(scene.noise)));
    return std::clamp(30 + wave + noise - scene.noise, 16, 235);
  });
  FillPlane(*frame, 1, [&](int x, int y) { return 96 + (x + y + n + 40 * shot) % 64; });
  FillPlane(*frame, 2, [&](int x, int y) { return 96 + (2 * x - y + 3 * n + 4096) % 64; });
  frame->pts = n;
  return frame;
}

av::Frame MakePlainFrame(int width, int height, int format, int y, int u, int v) {
  av::Frame frame = NewPicture(width, height, format);
  FillPlane(*frame, 0, [y](int, int) { return y; });
  FillPlane(*frame, 1, [u](int, int) { return u; });
  FillPlane(*frame, 2, [v](int, int) { return v; });
  frame->pts = 0;
  return frame;
}

void PaintLuma(AVFrame& frame, int x, int y, int width, int height, int luma) {
  const int shift = PlaneOf(frame, 0).shift;
  for (int row = y; row < y + height; ++row) {
    for (int column = x; column < x + width; ++column) Put(frame, 0, column, row, luma, shift);
  }
}

int LumaAt(const AVFrame& frame, int x, int y) {
  const int shift = PlaneOf(frame, 0).shift;
  const std::uint8_t* row = frame.data[0] + std::ptrdiff_t{y} * frame.linesize[0];
  if (shift == 0) return row[x];
  std::uint16_t wide = 0;
  std::memcpy(&wide, row + 2 * x, sizeof wide);
  return wide >> shift;
}

std::uint64_t PixelHash(const AVFrame& frame) {
  Fnv hash;
  Add(hash, frame);
  return hash.value();
}

std::uint64_t PixelHash(const std::vector<av::Frame>& frames) {
  Fnv hash;
  for (const av::Frame& frame : frames) Add(hash, *frame);
  return hash.value();
}

std::uint64_t PacketHash(const std::vector<av::Packet>& packets) {
  Fnv hash;
  for (const av::Packet& packet : packets) {
    hash.Add({packet->data, static_cast<std::size_t>(packet->size)});
    hash.Add(packet->pts);
    hash.Add(packet->dts);
    hash.Add(std::int64_t{packet->flags});
  }
  return hash.value();
}

std::int64_t TotalBits(const std::vector<av::Packet>& packets) {
  std::int64_t bits = 0;
  for (const av::Packet& packet : packets) bits += std::int64_t{8} * packet->size;
  return bits;
}

EncoderSpec SpecFor(VideoCodec codec, const Scene& scene) {
  return EncoderSpec{.codec = codec,
                     .width = scene.width,
                     .height = scene.height,
                     .fps = {25, 1},
                     .pixel_format = scene.format,
                     .nominal_bps = 300'000};
}

std::vector<av::Packet> Encode(VideoEncoder& encoder, const Scene& scene, int first, int count) {
  std::vector<av::Packet> packets;
  for (int n = first; n < first + count; ++n) {
    const Status sent = encoder.Send(MakeFrame(scene, n).get());
    EXPECT_TRUE(sent.ok()) << sent.error().ToString();
    if (!sent.ok()) return packets;
    TakeAll(encoder, packets);
  }
  EXPECT_TRUE(encoder.Send(nullptr).ok());
  TakeAll(encoder, packets);
  return packets;
}

EncodedUnit EncodeWithParameters(const EncoderSpec& spec, std::int64_t bps, const Scene& scene,
                                 int first, int count) {
  EncodedUnit unit;
  auto encoder = VideoEncoder::Open(spec);
  EXPECT_TRUE(encoder.ok());
  if (!encoder.ok()) return unit;
  SetBitrate(**encoder, bps, count);
  unit.packets = Encode(**encoder, scene, first, count);
  unit.parameters.reset(avcodec_parameters_alloc());
  EXPECT_GE(avcodec_parameters_from_context(unit.parameters.get(), &(*encoder)->context()), 0);
  unit.reorder_delay = (*encoder)->reorder_delay();
  return unit;
}

std::vector<av::Packet> EncodeUnit(const EncoderSpec& spec, std::int64_t bps, const Scene& scene,
                                   int first, int count) {
  return EncodeWithParameters(spec, bps, scene, first, count).packets;
}

std::vector<av::Frame> DecodeUnit(const EncodedUnit& unit, Rational time_base) {
  std::vector<av::Frame> frames;
  auto decoder = VideoDecoder::Open(*unit.parameters, time_base);
  EXPECT_TRUE(decoder.ok());
  if (!decoder.ok()) return frames;
  const auto take = [&] {
    for (;;) {
      av::Frame frame = av::NewFrame();
      auto got = (*decoder)->Receive(*frame);
      if (!got.ok() || !*got) return;
      frames.push_back(std::move(frame));
    }
  };
  for (const av::Packet& packet : unit.packets) {
    EXPECT_TRUE((*decoder)->Send(packet.get()).ok());
    take();
  }
  EXPECT_TRUE((*decoder)->Send(nullptr).ok());
  take();
  EXPECT_EQ((*decoder)->damaged(), 0);
  return frames;
}

EncodedUnit Encode444(int pictures) {
  constexpr int kWide = 160, kHigh = 96;
  EncodedUnit unit;
  const AVCodec* codec = avcodec_find_encoder_by_name("libx264");
  const av::CodecContext context(avcodec_alloc_context3(codec));
  context->width = kWide;
  context->height = kHigh;
  context->pix_fmt = AV_PIX_FMT_YUV444P;
  context->time_base = {1, 25};
  context->gop_size = 1;
  EXPECT_GE(avcodec_open2(context.get(), codec, nullptr), 0);
  unit.parameters.reset(avcodec_parameters_alloc());
  avcodec_parameters_from_context(unit.parameters.get(), context.get());
  std::mt19937 random(1);
  const auto pixel = [&](int x, int y) {
    const int noise = static_cast<int>(random() & 127U);
    const int form = (x / 20 * 7 + y / 20 * 3) % 4;
    return static_cast<std::uint8_t>(form == 0 ? noise : form == 1 ? x + 2 * y : 40 * form);
  };
  for (std::int64_t n = 0; n < pictures; ++n) {
    const av::Frame frame = av::NewFrame();
    frame->width = kWide;
    frame->height = kHigh;
    frame->format = AV_PIX_FMT_YUV444P;
    frame->pts = n;
    EXPECT_GE(av_frame_get_buffer(frame.get(), 0), 0);
    for (int i = 0; i < 3 * kWide * kHigh; ++i) {
      const int plane = i % 3, x = i / 3 % kWide, y = i / 3 / kWide;
      frame->data[plane][y * frame->linesize[plane] + x] = pixel(x, y);
    }
    avcodec_send_frame(context.get(), frame.get());
  }
  avcodec_send_frame(context.get(), nullptr);
  for (av::Packet packet = av::NewPacket();
       avcodec_receive_packet(context.get(), packet.get()) >= 0; packet = av::NewPacket()) {
    unit.packets.push_back(std::move(packet));
  }
  return unit;
}

}  // namespace gopmill::testing
