// SPDX-License-Identifier: Apache-2.0
//
// A tone of its own in each channel, through resampler and encoder to what a player decodes.
#include <gtest/gtest.h>

extern "C" {
#include <libavutil/channel_layout.h>
}

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "codec/audio_encoder.h"
#include "codec/audio_fifo.h"
#include "codec/audio_resampler.h"
#include "media/sound_layout.h"

namespace gopmill {
namespace {

constexpr int kToneRate = 48'000, kToneSamples = kToneRate / 2;

AVChannelLayout Layout(std::uint64_t mask) {
  AVChannelLayout layout{};
  av_channel_layout_from_mask(&layout, mask);
  return layout;
}

AVChannelLayout Unspecified(int channels) {
  return {.order = AV_CHANNEL_ORDER_UNSPEC, .nb_channels = channels, .u = {}, .opaque = nullptr};
}

std::string NameOf(const AVChannelLayout& layout, int channel) {
  std::array<char, 16> name{};
  av_channel_name(name.data(), name.size(),
                  av_channel_layout_channel_from_index(&layout, static_cast<unsigned>(channel)));
  return name.data();
}

// Coders leave little but bass of the channel for it.
double Pitch(const AVChannelLayout& layout, int channel) {
  return NameOf(layout, channel) == "LFE" ? 60 : 300 + 150 * channel;
}

av::Frame Tones(const AVChannelLayout& layout) {
  av::Frame frame = av::NewFrame();
  frame->format = AV_SAMPLE_FMT_FLTP;
  frame->sample_rate = kToneRate;
  frame->nb_samples = kToneSamples;
  av_channel_layout_copy(&frame->ch_layout, &layout);
  EXPECT_EQ(av_frame_get_buffer(frame.get(), 0), 0);
  for (int c = 0; c < layout.nb_channels; ++c) {
    auto* samples = reinterpret_cast<float*>(frame->extended_data[c]);
    const double step = 2 * std::numbers::pi * Pitch(layout, c) / kToneRate;
    for (int n = 0; n < kToneSamples; ++n)
      samples[n] = static_cast<float>(0.3 * std::sin(step * n));
  }
  return frame;
}

struct Sound {
  AVChannelLayout layout{};
  std::vector<std::vector<float>> channels;
};

void Take(AVCodecContext& decoder, Sound& sound) {
  const av::Frame frame = av::NewFrame();
  while (avcodec_receive_frame(&decoder, frame.get()) >= 0) {
    ASSERT_EQ(frame->format, AV_SAMPLE_FMT_FLTP);
    sound.channels.resize(static_cast<std::size_t>(frame->ch_layout.nb_channels));
    // A number of channels alone is understood as the usual layout.
    if (frame->ch_layout.order == AV_CHANNEL_ORDER_UNSPEC) {
      av_channel_layout_default(&sound.layout, frame->ch_layout.nb_channels);
    } else {
      av_channel_layout_copy(&sound.layout, &frame->ch_layout);
    }
    for (std::size_t c = 0; c < sound.channels.size(); ++c) {
      const auto* from = reinterpret_cast<const float*>(frame->extended_data[c]);
      sound.channels[c].insert(sound.channels[c].end(), from, from + frame->nb_samples);
    }
  }
}

Sound Decoded(const AVCodecContext& encoder, const std::vector<av::Packet>& packets) {
  const AVCodec* codec = avcodec_find_decoder(encoder.codec_id);
  const av::CodecContext decoder(avcodec_alloc_context3(codec));
  AVCodecParameters* parameters = avcodec_parameters_alloc();
  avcodec_parameters_from_context(parameters, &encoder);
  avcodec_parameters_to_context(decoder.get(), parameters);
  avcodec_parameters_free(&parameters);
  EXPECT_EQ(avcodec_open2(decoder.get(), codec, nullptr), 0);
  Sound sound;
  for (const av::Packet& packet : packets) {
    EXPECT_EQ(avcodec_send_packet(decoder.get(), packet.get()), 0);
    Take(*decoder, sound);
  }
  return sound;
}

Sound Coded(AudioCodec codec, const AVChannelLayout& source, int channels) {
  const std::uint64_t stated = source.order == AV_CHANNEL_ORDER_NATIVE ? source.u.mask : 0;
  const SoundTarget target{.abitrate = 96'000 * channels,
                           .channels = channels,
                           .sample_rate = kToneRate,
                           .layout = CodedLayout(codec, channels, stated)};
  const av::Frame frame = Tones(source);
  auto resampler = AudioResampler::Open(*frame, kToneRate, target.layout);
  auto encoder = AudioEncoder::Open(codec, target, true);
  EXPECT_TRUE(resampler.ok() && encoder.ok()) << channels;
  if (!resampler.ok() || !encoder.ok()) return {};
  AudioFifo fifo(channels, std::nullopt);
  fifo.Seek(0);
  std::vector<av::Packet> packets;
  const auto encode = [&](const float* const* planes, std::int64_t count) {
    fifo.Append(planes, count);
    return (*encoder)->Encode(fifo, false, packets);
  };
  EXPECT_TRUE((*resampler)->Convert(frame.get(), encode).ok());
  EXPECT_TRUE((*encoder)->Encode(fifo, true, packets).ok());
  return Decoded((*encoder)->context(), packets);
}

bool Has(const std::vector<float>& samples, double pitch) {
  constexpr std::size_t kFrom = 4800, kSpan = 14'400;  // whole periods of all tones
  double sine = 0, cosine = 0;
  for (std::size_t n = kFrom; n < kFrom + kSpan; ++n) {
    const double phase = 2 * std::numbers::pi * pitch * static_cast<double>(n) / kToneRate;
    sine += static_cast<double>(samples[n]) * std::sin(phase);
    cosine += static_cast<double>(samples[n]) * std::cos(phase);
  }
  return 2 * std::hypot(sine, cosine) / kSpan > 0.05;
}

// What each loudspeaker plays, by names: "FL:FL FR:FR FC:".
std::string Heard(const Sound& sound, const AVChannelLayout& source) {
  std::string text;
  for (std::size_t c = 0; c < sound.channels.size(); ++c) {
    text += (c == 0 ? "" : " ") + NameOf(sound.layout, static_cast<int>(c)) + ":";
    for (int i = 0; i < source.nb_channels; ++i) {
      if (Has(sound.channels[c], Pitch(source, i))) text += NameOf(source, i);
    }
  }
  return text;
}

std::string Heard(AudioCodec codec, std::uint64_t layout) {
  const AVChannelLayout source = Layout(layout);
  return Heard(Coded(codec, source, source.nb_channels), source);
}

TEST(SoundLayouts, EachChannelOfOneToEightStaysInItsPlace) {
  const struct {
    std::uint64_t source;
    const char* heard;
  } cases[] = {
      {AV_CH_LAYOUT_MONO, "FC:FC"},
      {AV_CH_LAYOUT_STEREO, "FL:FL FR:FR"},
      {AV_CH_LAYOUT_SURROUND, "FL:FL FR:FR FC:FC"},
      {AV_CH_LAYOUT_QUAD, "FL:FL FR:FR BL:BL BR:BR"},
      {AV_CH_LAYOUT_5POINT0_BACK, "FL:FL FR:FR FC:FC BL:BL BR:BR"},
      {AV_CH_LAYOUT_5POINT0, "FL:FL FR:FR FC:FC BL:SL BR:SR"},
      {AV_CH_LAYOUT_5POINT1_BACK, "FL:FL FR:FR FC:FC LFE:LFE BL:BL BR:BR"},
      {AV_CH_LAYOUT_5POINT1, "FL:FL FR:FR FC:FC LFE:LFE BL:SL BR:SR"},
      {AV_CH_LAYOUT_6POINT1, "FL:FL FR:FR FC:FC LFE:LFE BC:BC SL:SL SR:SR"},
      {AV_CH_LAYOUT_6POINT1_BACK, "FL:FL FR:FR FC:FC LFE:LFE BC:BC SL:BL SR:BR"},
      {AV_CH_LAYOUT_7POINT1, "FL:FL FR:FR FC:FC LFE:LFE BL:BL BR:BR SL:SL SR:SR"},
  };
  for (const auto& [source, heard] : cases) {
    EXPECT_EQ(Heard(AudioCodec::kAac, source), heard) << "AAC of " << LayoutName(source);
    EXPECT_EQ(Heard(AudioCodec::kOpus, source), heard) << "Opus of " << LayoutName(source);
  }
}

TEST(SoundLayouts, AacHasMoreOfThem) {
  EXPECT_EQ(Heard(AudioCodec::kAac, AV_CH_LAYOUT_2POINT1), "FL:FL FR:FR LFE:LFE");
  EXPECT_EQ(Heard(AudioCodec::kAac, AV_CH_LAYOUT_2_1), "FL:FL FR:FR BC:BC");
  EXPECT_EQ(Heard(AudioCodec::kAac, AV_CH_LAYOUT_4POINT0), "FL:FL FR:FR FC:FC BC:BC");
  EXPECT_EQ(Heard(AudioCodec::kAac, AV_CH_LAYOUT_2_2), "FL:FL FR:FR SL:SL SR:SR");
  EXPECT_EQ(Heard(AudioCodec::kAac, AV_CH_LAYOUT_6POINT0_FRONT),
            "FL:FL FR:FR FLC:FLC FRC:FRC SL:SL SR:SR");
}

// Six channels without bass, four of which two are above the others, and so on.
TEST(SoundLayouts, OfOtherLayoutsNoChannelIsLost) {
  constexpr std::uint64_t kAbove =
      AV_CH_LAYOUT_STEREO | AV_CH_TOP_FRONT_LEFT | AV_CH_TOP_FRONT_RIGHT;
  const std::uint64_t layouts[] = {
      AV_CH_LAYOUT_2_1,           AV_CH_LAYOUT_4POINT0,
      AV_CH_LAYOUT_2_2,           kAbove,
      AV_CH_LAYOUT_6POINT0,       AV_CH_LAYOUT_6POINT0_FRONT,
      AV_CH_LAYOUT_HEXAGONAL,     AV_CH_LAYOUT_7POINT0,
      AV_CH_LAYOUT_7POINT0_FRONT, AV_CH_LAYOUT_7POINT1_WIDE,
      AV_CH_LAYOUT_OCTAGONAL,     AV_CH_BACK_LEFT | AV_CH_TOP_CENTER | AV_CH_TOP_BACK_LEFT};
  for (const std::uint64_t layout : layouts) {
    const AVChannelLayout source = Layout(layout);
    for (const AudioCodec codec : {AudioCodec::kAac, AudioCodec::kOpus}) {
      const Sound sound = Coded(codec, source, source.nb_channels);
      for (int i = 0; i < source.nb_channels; ++i) {
        if (NameOf(source, i) == "LFE") continue;
        int heard = 0;
        for (const auto& samples : sound.channels) heard += Has(samples, Pitch(source, i)) ? 1 : 0;
        EXPECT_GT(heard, 0) << NameOf(source, i) << " of " << LayoutName(layout) << ", "
                            << Name(codec);
      }
    }
  }
}

TEST(SoundLayouts, ChannelsWithoutALayoutStayInTheirOrder) {
  for (const AudioCodec codec : {AudioCodec::kAac, AudioCodec::kOpus}) {
    for (int channels = 1; channels <= 8; ++channels) {
      const AVChannelLayout source = Unspecified(channels);
      const Sound sound = Coded(codec, source, channels);
      ASSERT_EQ(sound.channels.size(), static_cast<std::size_t>(channels));
      for (int i = 0; i < channels; ++i) {
        // The channel that the coders take for bass has none of it here.
        if (NameOf(sound.layout, i) == "LFE") continue;
        EXPECT_TRUE(Has(sound.channels[static_cast<std::size_t>(i)], Pitch(source, i)))
            << "channel " << i << " of " << channels << ", " << Name(codec);
      }
    }
  }
}

TEST(SoundLayouts, FewerChannelsHaveAUsualLayout) {
  const AVChannelLayout source = Layout(AV_CH_LAYOUT_5POINT1_BACK);
  for (const AudioCodec codec : {AudioCodec::kAac, AudioCodec::kOpus}) {
    EXPECT_EQ(Heard(Coded(codec, source, 3), source), "FL:FLBL FR:FRBR FC:FC") << Name(codec);
    EXPECT_EQ(Heard(Coded(codec, source, 5), source), "FL:FL FR:FR FC:FC BL:BL BR:BR")
        << Name(codec);
  }
  EXPECT_EQ(Heard(Coded(AudioCodec::kOpus, source, 4), source), "FL:FLFC FR:FRFC BL:BL BR:BR");
  EXPECT_EQ(Heard(Coded(AudioCodec::kAac, source, 4), source), "FL:FL FR:FR FC:FC BC:BLBR");
}

}  // namespace
}  // namespace gopmill
