// SPDX-License-Identifier: Apache-2.0
#include "codec/audio_segment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "codec/audio_decoder.h"

namespace gopmill::audio_segment_test {
namespace {

constexpr int kSourceRate = 44'100, kRate = 48'000, kPacket = 1024;
constexpr std::int64_t kLoud = 20'000;

// Mono of 16 bits that begins at `begin` as loud as it goes on.
AudioSegmentTask TaskOf(std::int64_t begin, int packets) {
  std::shared_ptr<AVCodecParameters> parameters(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  parameters->codec_type = AVMEDIA_TYPE_AUDIO;
  parameters->codec_id = AV_CODEC_ID_PCM_S16LE;
  parameters->sample_rate = kSourceRate;
  av_channel_layout_default(&parameters->ch_layout, 1);
  auto source = std::make_shared<SourceInfo>();
  source->audio.emplace();
  source->audio->codec = "pcm_s16le";
  source->audio->sample_rate = kSourceRate;
  source->audio->channels = 1;
  source->audio->parameters = parameters;
  auto index = std::make_shared<SourceIndex>();
  AudioSegmentTask task;
  for (int n = 0; n < packets; ++n) {
    av::Packet packet = av::NewPacket();
    EXPECT_EQ(av_new_packet(packet.get(), 2 * kPacket), 0);
    for (int i = 0; i < kPacket; ++i) {
      const double turns = 1000.0 * (n * kPacket + i) / kSourceRate;
      const auto sample =
          static_cast<std::int16_t>(std::lround(kLoud * std::cos(2 * M_PI * turns)));
      std::memcpy(packet->data + std::ptrdiff_t{2} * i, &sample, sizeof sample);
    }
    packet->pts = packet->dts = begin + std::int64_t{n} * kPacket;
    index->audio.push_back({.position = packet->pts, .samples = kPacket, .bytes = 2 * kPacket});
    task.packets.push_back(std::move(packet));
  }
  index->source = source;
  task.index = index;
  task.target.acodec = AudioCodec::kOpus;
  task.target.abitrate = 256'000;
  task.target.channels = 1;
  task.target.sample_rate = kRate;
  task.target.layout = AV_CH_LAYOUT_MONO;
  return task;
}

// Where the sound of all segments begins, in samples of kRate; -1 = nowhere.
double BeginOf(AudioSegmentTask& task, const AudioCoding& coding) {
  auto decoder = AudioDecoder::Open(*coding.parameters, {1, kRate});
  EXPECT_TRUE(decoder.ok());
  double begin = -1;
  const std::vector<av::Packet> all = std::move(task.packets);
  for (task.number = 0; task.number < task.grid.count() && begin < 0; ++task.number) {
    const PacketRange range = AudioPackets(*task.index, task.grid, task.start, task.number);
    task.packets.clear();
    for (std::int64_t n = range.first; n < range.end; ++n)
      task.packets.push_back(av::Ref(*all[static_cast<std::size_t>(n)]));
    auto packets = EncodeAudioSegment(task, {});
    EXPECT_TRUE(packets.ok());
    if (!packets.ok()) break;
    for (const av::Packet& packet : *packets) {
      (*decoder)->Send(packet.get());
      for (av::Frame frame = av::NewFrame(); (*decoder)->Receive(*frame);) {
        const auto* samples = reinterpret_cast<const float*>(frame->extended_data[0]);
        for (int i = 0; i < frame->nb_samples && begin < 0; ++i) {
          if (std::abs(samples[i]) > 0.25F) begin = static_cast<double>(frame->pts + i);
        }
      }
    }
  }
  return begin;
}

// At 44.1 kHz only each 147th sample lies on one of 48 kHz, where resampling of a segment starts.
TEST(AudioSegment, HasTheFirstSamplesOfSoundThatBeginsInIt) {
  for (const std::int64_t behind : {std::int64_t{1}, std::int64_t{73}, std::int64_t{146}}) {
    const std::int64_t begin = std::int64_t{147} * 100 + behind;
    AudioSegmentTask task = TaskOf(begin, 80);
    const auto coding = ProbeAudioCoding(task.target);
    ASSERT_TRUE(coding.ok());
    task.grid.rate = coding->rate;
    task.grid.frame_size = coding->frame_size;
    task.grid.priming = coding->priming;
    task.grid.samples = std::int64_t{2} * kRate;
    const std::int64_t count = (task.grid.samples + coding->priming) / coding->frame_size + 1;
    task.grid.borders = {0, count / 2, count};
    const double expected = static_cast<double>(begin) * kRate / kSourceRate;
    EXPECT_NEAR(BeginOf(task, *coding), expected, 24) << behind << ": within half a millisecond";
  }
}

}  // namespace
}  // namespace gopmill::audio_segment_test
