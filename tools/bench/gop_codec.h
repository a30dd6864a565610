// SPDX-License-Identifier: Apache-2.0
//
// The bare work on one GOP, straight on FFmpeg's libraries: decode, scale, encode. For the
// yardstick only: a failure of the libraries ends the program.
//
// Thread-safety: a Movie is safe once loaded; a GopCodec belongs to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "media/av_ptr.h"
#include "server/bench/workload.h"

struct SwsContext;

namespace gopmill::bench {

struct Gop {
  std::int64_t first_frame = 0;  // of the source, counted from its start
  std::vector<av::Packet> packets;
};

struct Movie {
  av::CodecParameters parameters;
  AVRational fps{};
  std::vector<Gop> gops;
};

// The video packets of the first `seconds`, cut at each key frame.
Result<Movie> LoadMovie(const std::string& path, double seconds);

struct Coded {
  std::int64_t bytes = 0, frames = 0;
};

class GopCodec {
 public:
  // `crf`: in place of the target's bit rate where it is not 0.
  GopCodec(const Movie& movie, const BenchStream& target, std::string preset, double crf);
  ~GopCodec();
  GopCodec(const GopCodec&) = delete;
  GopCodec& operator=(const GopCodec&) = delete;

  Coded Transcode(const Gop& gop);

 private:
  void OpenEncoder();
  // Hands the n-th frame of the source to the encoder as often as the output's rate wants it.
  void OnDecoded(std::int64_t n);
  void Scale();
  void Encode(const AVFrame* frame);

  const Movie& movie_;
  const BenchStream target_;
  const std::string preset_;
  const double crf_;
  av::CodecContext decoder_, encoder_;
  SwsContext* scaler_ = nullptr;
  av::Frame decoded_, scaled_;
  av::Packet packet_;
  Coded coded_;
};

}  // namespace gopmill::bench
