// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/mux/mux_media.h"

extern "C" {
#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
}

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "media/av_error.h"
#include "media/interleaver.h"

namespace gopmill::testing {
namespace {

// Encoders are talkative; only what goes wrong is of interest.
const bool kQuiet = [] {
  av_log_set_level(AV_LOG_FATAL);
  return true;
}();

std::shared_ptr<const AVCodecParameters> ParametersOf(const AVCodecContext& context) {
  AVCodecParameters* parameters = avcodec_parameters_alloc();
  GOPMILL_CHECK(avcodec_parameters_from_context(parameters, &context) >= 0);
  return {parameters, [](AVCodecParameters* p) { avcodec_parameters_free(&p); }};
}

void Encode(AVCodecContext& context, const AVFrame* frame, std::vector<av::Packet>& out) {
  GOPMILL_CHECK(avcodec_send_frame(&context, frame) >= 0);
  for (;;) {
    av::Packet packet = av::NewPacket();
    if (avcodec_receive_packet(&context, packet.get()) < 0) return;
    out.push_back(std::move(packet));
  }
}

av::Frame Picture(const AVCodecContext& context, int n) {
  av::Frame frame = av::NewFrame();
  frame->width = context.width;
  frame->height = context.height;
  frame->format = context.pix_fmt;
  frame->pts = n;
  GOPMILL_CHECK(av_frame_get_buffer(frame.get(), 0) >= 0);
  for (int plane = 0; plane < 3; ++plane) {
    const int height = plane == 0 ? context.height : context.height / 2;
    const int width = plane == 0 ? context.width : context.width / 2;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        frame->data[plane][y * frame->linesize[plane] + x] =
            static_cast<std::uint8_t>(plane == 0 ? x * 3 + y * 2 + n * 5 : 128);
      }
    }
  }
  return frame;
}

// A sample format that the encoder takes.
AVSampleFormat FormatFor(std::string_view encoder) {
  const auto is_one_of = [encoder](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, encoder) != names.end();
  };
  if (is_one_of({"pcm_s24le", "dca", "truehd"})) return AV_SAMPLE_FMT_S32;
  if (is_one_of({"pcm_s16le", "flac", "libopus", "mp2"})) return AV_SAMPLE_FMT_S16;
  if (encoder == "alac") return AV_SAMPLE_FMT_S16P;
  return encoder == "pcm_f32le" ? AV_SAMPLE_FMT_FLT : AV_SAMPLE_FMT_FLTP;
}

}  // namespace

Coded MakeVideo(const VideoSpec& spec) {
  const AVCodec* codec = avcodec_find_encoder_by_name(spec.encoder);
  GOPMILL_CHECK(codec != nullptr);
  const av::CodecContext context(avcodec_alloc_context3(codec));
  context->width = spec.width;
  context->height = spec.height;
  context->pix_fmt = AV_PIX_FMT_YUV420P;
  context->time_base = av::ToAv(spec.fps.Inverse());
  context->framerate = av::ToAv(spec.fps);
  context->sample_aspect_ratio = {4, 3};
  context->gop_size = spec.gop;
  context->max_b_frames = spec.b_frames;
  context->thread_count = 1;
  if (spec.global_header) context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  const std::string_view name = spec.encoder;
  av_opt_set(context.get(), "preset", name == "libsvtav1" ? "12" : "veryfast",
             AV_OPT_SEARCH_CHILDREN);
  av_opt_set(context.get(), "x265-params", "log-level=none", AV_OPT_SEARCH_CHILDREN);
  GOPMILL_CHECK(avcodec_open2(context.get(), codec, nullptr) >= 0);
  Coded coded{
      .parameters = {}, .time_base = spec.fps.Inverse(), .frame_rate = spec.fps, .packets = {}};
  for (int n = 0; n < spec.frames; ++n) {
    Encode(*context, Picture(*context, n).get(), coded.packets);
  }
  Encode(*context, nullptr, coded.packets);
  for (const av::Packet& packet : coded.packets) packet->duration = 1;
  coded.parameters = ParametersOf(*context);
  return coded;
}

Coded MakeAudio(const char* encoder, const std::vector<float>& samples, int sample_rate,
                int channels, std::int64_t first_pts) {
  const AVCodec* codec = avcodec_find_encoder_by_name(encoder);
  GOPMILL_CHECK(codec != nullptr);
  const av::CodecContext context(avcodec_alloc_context3(codec));
  context->sample_rate = sample_rate;
  context->sample_fmt = FormatFor(encoder);
  // DTS takes certain rates only.
  context->bit_rate = (std::string_view(encoder) == "dca" ? 384'000 : 64'000) * channels;
  context->time_base = {1, sample_rate};
  context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER | AV_CODEC_FLAG_BITEXACT;
  context->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
  av_channel_layout_default(&context->ch_layout, channels);
  GOPMILL_CHECK(avcodec_open2(context.get(), codec, nullptr) >= 0);
  const int step = context->frame_size > 0 ? context->frame_size : 1024;
  Coded coded{.parameters = {}, .time_base = {1, sample_rate}, .frame_rate = {}, .packets = {}};
  SwrContext* swr = nullptr;
  AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO;
  swr_alloc_set_opts2(&swr, &context->ch_layout, context->sample_fmt, sample_rate, &mono,
                      AV_SAMPLE_FMT_FLTP, sample_rate, 0, nullptr);
  // Every channel gets the samples as they are, also those a normal upmix would leave silent.
  const std::vector<double> matrix(static_cast<std::size_t>(channels), 1.0);
  if (channels > 1) swr_set_matrix(swr, matrix.data(), 1);
  GOPMILL_CHECK(swr_init(swr) >= 0);
  for (std::size_t at = 0; at < samples.size(); at += static_cast<std::size_t>(step)) {
    av::Frame frame = av::NewFrame();
    frame->nb_samples =
        static_cast<int>(std::min(samples.size() - at, static_cast<std::size_t>(step)));
    frame->format = context->sample_fmt;
    frame->sample_rate = sample_rate;
    av_channel_layout_copy(&frame->ch_layout, &context->ch_layout);
    GOPMILL_CHECK(av_frame_get_buffer(frame.get(), 0) >= 0);
    const auto* in = reinterpret_cast<const std::uint8_t*>(samples.data() + at);
    GOPMILL_CHECK(swr_convert(swr, frame->extended_data, frame->nb_samples, &in,
                              frame->nb_samples) == frame->nb_samples);
    frame->pts = first_pts + static_cast<std::int64_t>(at);
    Encode(*context, frame.get(), coded.packets);
  }
  swr_free(&swr);
  Encode(*context, nullptr, coded.packets);
  coded.parameters = ParametersOf(*context);
  return coded;
}

std::vector<float> Clicks(int sample_rate, double seconds, const std::vector<double>& at) {
  std::vector<float> samples(static_cast<std::size_t>(std::lround(seconds * sample_rate)), 0.0F);
  for (const double time : at) {
    const auto first = static_cast<std::size_t>(std::lround(time * sample_rate));
    for (std::size_t i = 0; i < 2000 && first + i < samples.size(); ++i) {
      const double phase = 2 * 3.14159265358979 * 1500 * static_cast<double>(i) / sample_rate;
      samples[first + i] += static_cast<float>(
          0.8 * std::cos(phase) * std::exp(-static_cast<double>(i) * 200 / sample_rate));
    }
  }
  return samples;
}

// A click's time is where the burst's waveform correlates best with the template.
std::vector<double> FindClicks(const std::vector<float>& samples, int sample_rate, double start) {
  const std::vector<float> shape = Clicks(sample_rate, 0.012, {0});
  const auto correlation = [&](std::size_t at) {
    double sum = 0;
    for (std::size_t i = 0; i < shape.size() && at + i < samples.size(); ++i) {
      sum += static_cast<double>(shape[i]) * static_cast<double>(samples[at + i]);
    }
    return sum;
  };
  const auto guard = static_cast<std::size_t>(sample_rate / 50);
  std::vector<double> times;
  for (std::size_t n = 0; n < samples.size(); ++n) {
    if (std::abs(samples[n]) < 0.25F) continue;
    const std::size_t from = n > guard ? n - guard : 0;
    std::size_t best = n;
    double most = 0;
    for (std::size_t at = from; at < std::min(n + guard, samples.size()); ++at) {
      const double value = correlation(at);
      if (value > most) most = value, best = at;
    }
    times.push_back(start + static_cast<double>(best) / sample_rate);
    n = best + static_cast<std::size_t>(sample_rate / 10);
  }
  return times;
}

const ReadTrack& ReadMovie::Of(AVMediaType type) const {
  for (const ReadTrack& track : tracks) {
    if (track.type == type) return track;
  }
  static const ReadTrack kNone;
  return kNone;
}

namespace {

float Sample(const std::uint8_t* data, AVSampleFormat format, int at) {
  const AVSampleFormat planar = av_get_planar_sample_fmt(format);
  if (planar == AV_SAMPLE_FMT_FLTP) return reinterpret_cast<const float*>(data)[at];
  if (planar == AV_SAMPLE_FMT_S16P) {
    return static_cast<float>(reinterpret_cast<const std::int16_t*>(data)[at]) / 32768.0F;
  }
  GOPMILL_CHECK(planar == AV_SAMPLE_FMT_S32P);
  return static_cast<float>(reinterpret_cast<const std::int32_t*>(data)[at]) / 2147483648.0F;
}

void Take(const AVFrame& frame, AVRational time_base, ReadTrack& track) {
  const double pts = static_cast<double>(frame.pts) * av_q2d(time_base);
  track.pts.push_back(frame.pts == AV_NOPTS_VALUE ? NAN : pts);
  if (track.type != AVMEDIA_TYPE_AUDIO) return;
  track.sample_rate = frame.sample_rate;
  track.channels = frame.ch_layout.nb_channels;
  const auto format = static_cast<AVSampleFormat>(frame.format);
  const int stride = av_sample_fmt_is_planar(format) != 0 ? 1 : track.channels;
  for (int i = 0; i < frame.nb_samples; ++i) {
    track.samples.push_back(Sample(frame.data[0], format, i * stride));
  }
}

av::CodecContext OpenDecoder(const AVStream& stream) {
  const AVCodec* codec = avcodec_find_decoder(stream.codecpar->codec_id);
  GOPMILL_CHECK(codec != nullptr);
  av::CodecContext context(avcodec_alloc_context3(codec));
  avcodec_parameters_to_context(context.get(), stream.codecpar);
  context->pkt_timebase = stream.time_base;
  context->thread_count = 1;
  GOPMILL_CHECK(avcodec_open2(context.get(), codec, nullptr) >= 0);
  return context;
}

void Decode(AVCodecContext& context, const AVPacket* packet, AVRational time_base,
            ReadTrack& track) {
  if (avcodec_send_packet(&context, packet) < 0) ++track.errors;
  for (;;) {
    const av::Frame frame = av::NewFrame();
    if (avcodec_receive_frame(&context, frame.get()) < 0) return;
    Take(*frame, time_base, track);
  }
}

}  // namespace

ReadMovie ReadBack(const std::string& path) {
  AVFormatContext* raw = nullptr;
  AVDictionary* options = nullptr;
  av_dict_set(&options, "analyzeduration", "20000000", 0);  // sees tracks that begin late
  GOPMILL_CHECK(avformat_open_input(&raw, path.c_str(), nullptr, &options) >= 0);
  av_dict_free(&options);
  const av::InputFormat context(raw);
  GOPMILL_CHECK(avformat_find_stream_info(raw, nullptr) >= 0);
  ReadMovie movie;
  movie.duration = static_cast<double>(raw->duration) / AV_TIME_BASE;
  std::vector<av::CodecContext> decoders;
  for (unsigned i = 0; i < raw->nb_streams; ++i) {
    const AVStream& stream = *raw->streams[i];
    decoders.push_back(OpenDecoder(stream));
    ReadTrack& track = movie.tracks.emplace_back();
    track.type = stream.codecpar->codec_type;
    track.codec = stream.codecpar->codec_id;
    track.frame_rate = stream.avg_frame_rate;
    track.sample_aspect = stream.sample_aspect_ratio.num != 0
                              ? stream.sample_aspect_ratio
                              : stream.codecpar->sample_aspect_ratio;
    track.tag = stream.codecpar->codec_tag;
    if (stream.duration != AV_NOPTS_VALUE) {
      track.duration = static_cast<double>(stream.duration) * av_q2d(stream.time_base);
    }
  }
  const av::Packet packet = av::NewPacket();
  while (av_read_frame(raw, packet.get()) >= 0) {
    const auto index = static_cast<std::size_t>(packet->stream_index);
    const AVRational time_base = raw->streams[packet->stream_index]->time_base;
    movie.tracks[index].packet_dts.push_back(static_cast<double>(packet->dts) * av_q2d(time_base));
    Decode(*decoders[index], packet.get(), time_base, movie.tracks[index]);
    av_packet_unref(packet.get());
  }
  for (std::size_t i = 0; i < decoders.size(); ++i) {
    Decode(*decoders[i], nullptr, raw->streams[i]->time_base, movie.tracks[i]);
  }
  return movie;
}

MuxTrack TrackOf(const Coded& coded) {
  const bool video = coded.parameters->codec_type == AVMEDIA_TYPE_VIDEO;
  return {.kind = video ? TrackKind::kVideo : TrackKind::kAudio,
          .parameters = coded.parameters,
          .time_base = coded.time_base,
          .frame_rate = coded.frame_rate};
}

namespace {

Status Feed(Muxer& muxer, const std::vector<const Coded*>& tracks,
            std::vector<std::size_t>* after_fragment, const std::string* bytes) {
  std::vector<Rational> bases;
  for (const Coded* track : tracks) bases.push_back(track->time_base);
  Interleaver interleaver(bases);
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    for (const av::Packet& packet : tracks[i]->packets) interleaver.Push(i, av::Ref(*packet));
    interleaver.End(i);
  }
  while (auto next = interleaver.Pop()) {
    const bool border = tracks[next->first]->frame_rate.valid() &&
                        (next->second->flags & AV_PKT_FLAG_KEY) != 0 &&
                        muxer.packets_written(next->first) > 0;
    if (border) {
      GOPMILL_RETURN_IF_ERROR(muxer.EndFragment());
      if (after_fragment != nullptr) after_fragment->push_back(bytes->size());
    }
    GOPMILL_RETURN_IF_ERROR(muxer.Write(next->first, std::move(next->second)));
  }
  return muxer.Finish();
}

std::vector<MuxTrack> TracksOf(const std::vector<const Coded*>& tracks) {
  std::vector<MuxTrack> list;
  for (const Coded* track : tracks) list.push_back(TrackOf(*track));
  return list;
}

}  // namespace

Muxed MuxStreamed(Container container, const std::vector<const Coded*>& tracks) {
  Muxed muxed;
  auto muxer = Muxer::Open({.container = container, .streamed = true, .path = {}}, TracksOf(tracks),
                           [&](std::span<const std::uint8_t> bytes) {
                             muxed.bytes.append(bytes.begin(), bytes.end());
                             return OkStatus();
                           });
  muxed.status = muxer.ok() ? Feed(**muxer, tracks, &muxed.after_fragment, &muxed.bytes)
                            : Status(muxer.error());
  return muxed;
}

Status MuxFile(Container container, const std::vector<const Coded*>& tracks,
               const std::string& path) {
  auto muxer = Muxer::Open({.container = container, .streamed = false, .path = path},
                           TracksOf(tracks), nullptr);
  if (!muxer.ok()) return muxer.error();
  return Feed(**muxer, tracks, nullptr, nullptr);
}

namespace {

// A folder that goes away with the program.
struct TempFolder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("gopmill-test-" + std::to_string(getpid()));
  TempFolder() { std::filesystem::create_directories(path); }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

std::string TempPath(const std::string& name) {
  static const TempFolder kFolder;
  return kFolder.path / name;
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::pair<int, std::string> RunCommand(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  GOPMILL_CHECK(pipe != nullptr);
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

}  // namespace gopmill::testing
