// SPDX-License-Identifier: Apache-2.0
//
// One software decoder with one thread, from the list in media/decoder_table.h. Can be flushed and
// used again for another run of the same source.
//
// Guarantee: a flushed decoder yields the same frames as a fresh one, also where the codec learns
// its reordering depth while it decodes.
//
// Thread-safety: thread-compatible; may move between workers, one at a time.
#pragma once

#include <memory>

#include "base/status.h"
#include "media/av_ptr.h"
#include "media/source_info.h"

namespace gopmill {

// Whether no picture of such a codec is predicted from another (MJPEG, ProRes, DV). Decoders of
// others still have the memory of the pictures they made when they are flushed, and some patch what
// is damaged with it: a run on a damaged source would depend on what the decoder did before.
bool DecodesSinglePictures(const AVCodecParameters& parameters);

// Whether nothing of a run stays in a decoder of such a codec that is flushed. Beside those that
// keep pictures, that of MJPEG keeps tables, which later pictures may lack, and that of DV the
// format, which it takes for that of pictures whose header is damaged.
bool ForgetsRuns(const AVCodecParameters& parameters);

// Whether the decoder had to make up parts of a picture: data that was missing or senseless, or a
// picture it is predicted from.
bool HasMadeUpParts(const AVFrame& frame);

class VideoDecoder {
 public:
  // `x264_build`: VideoInfo's; the decoder may begin behind the packet that tells it.
  static Result<std::unique_ptr<VideoDecoder>> Open(const AVCodecParameters& parameters,
                                                    Rational time_base, int x264_build = -1);

  // Feeds one packet (nullptr = end of run). Damaged packets are not errors: the decoder rejects
  // them and counts (damaged()), or makes up what they lack (HasMadeUpParts). Take all frames with
  // Receive before the next Send.
  Status Send(const AVPacket* packet);
  // Takes the next frame in display order (pts = the decoder's best estimate); false = feed more,
  // or after the end: no more.
  Result<bool> Receive(AVFrame& frame);
  // Whether the pts of the frame received last is that of its packet, not an estimate.
  [[nodiscard]] bool time_told() const { return time_told_; }
  // Forgets everything; ready for a new run.
  void Flush();

  // Packets that the codec rejected or failed at, or that the container says are incomplete.
  [[nodiscard]] std::int64_t damaged() const { return damaged_; }
  [[nodiscard]] std::size_t footprint_bytes() const;

 private:
  VideoDecoder(av::CodecContext context, av::CodecParameters parameters, Rational time_base,
               int x264_build)
      : parameters_(std::move(parameters)),
        time_base_(time_base),
        x264_build_(x264_build),
        context_(std::move(context)),
        initial_delay_(context_->has_b_frames) {}
  static Result<av::CodecContext> OpenContext(const AVCodecParameters& parameters,
                                              Rational time_base, int x264_build);
  // Counts damage; only what is not the packet's fault stays an error.
  Status Judge(int native);
  // Goes on with a fresh decoder after one that failed an assertion of its own.
  Status Replace();

  const av::CodecParameters parameters_;
  const Rational time_base_;
  const int x264_build_;
  av::CodecContext context_;
  int initial_delay_;  // reordering depth known before the first packet, frames
  bool time_told_ = false;
  std::int64_t damaged_ = 0;
};

}  // namespace gopmill
