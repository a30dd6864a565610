// SPDX-License-Identifier: Apache-2.0
//
// Media for the tests of muxer and audio: small real encodes, muxing them through Interleaver and
// Muxer, and reading the result back the way a player does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/rational.h"
#include "media/av_ptr.h"
#include "media/muxer.h"

namespace gopmill::testing {

// One coded track.
struct Coded {
  std::shared_ptr<const AVCodecParameters> parameters;
  Rational time_base;
  Rational frame_rate;  // video only
  std::vector<av::Packet> packets;
};

// A moving grey ramp with two B-frames, in decoding order, pts 0 = first frame, dts before it.
struct VideoSpec {
  const char* encoder = "libx264";
  int frames = 100;
  Rational fps{24, 1};
  int gop = 24;
  int b_frames = 2;
  bool global_header = true;
  int width = 64, height = 48;
};
Coded MakeVideo(const VideoSpec& spec);

// Encodes mono float samples given for one channel, the same on all channels.
Coded MakeAudio(const char* encoder, const std::vector<float>& samples, int sample_rate,
                int channels, std::int64_t first_pts = 0);

// `seconds` of quiet noise-free silence with a click (a short decaying burst) at each position.
std::vector<float> Clicks(int sample_rate, double seconds, const std::vector<double>& at);
// Times, seconds, of the clicks in samples; `start` is the time of the first sample.
std::vector<double> FindClicks(const std::vector<float>& samples, int sample_rate, double start);

// What one packet or decoded stream looked like to a reader.
struct ReadTrack {
  AVMediaType type = AVMEDIA_TYPE_UNKNOWN;
  AVCodecID codec = AV_CODEC_ID_NONE;
  AVRational frame_rate{0, 1};
  AVRational sample_aspect{0, 1};
  std::uint32_t tag = 0;
  double duration = -1;     // the container's word, seconds
  std::vector<double> pts;  // of decoded frames, seconds
  std::vector<double> packet_dts;
  int sample_rate = 0, channels = 0;
  std::vector<float> samples;  // first channel
  int errors = 0;              // packets that the decoder refused
};
struct ReadMovie {
  std::vector<ReadTrack> tracks;
  double duration = -1;
  [[nodiscard]] const ReadTrack& video() const { return Of(AVMEDIA_TYPE_VIDEO); }
  [[nodiscard]] const ReadTrack& audio() const { return Of(AVMEDIA_TYPE_AUDIO); }

 private:
  [[nodiscard]] const ReadTrack& Of(AVMediaType type) const;
};
// Demuxes and decodes everything. Priming is skipped as libavformat and libavcodec do it.
ReadMovie ReadBack(const std::string& path);

// Muxes copies of the tracks' packets, with a fragment end about once a second of video.
struct Muxed {
  Status status;
  std::string bytes;                        // streamed
  std::vector<std::size_t> after_fragment;  // bytes out after each EndFragment
};
Muxed MuxStreamed(Container container, const std::vector<const Coded*>& tracks);
Status MuxFile(Container container, const std::vector<const Coded*>& tracks,
               const std::string& path);

MuxTrack TrackOf(const Coded& coded);
std::string TempPath(const std::string& name);
void WriteFile(const std::string& path, const std::string& bytes);
std::string ReadFile(const std::string& path);
// Runs a command; its output (both streams) and exit code.
std::pair<int, std::string> RunCommand(const std::string& command);

}  // namespace gopmill::testing
