// SPDX-License-Identifier: Apache-2.0
//
// Owning pointers for FFmpeg objects. FFmpeg frees in two shapes, f(p) and f(&p); two deleters
// cover them all, and this is the only place that names an av*_free function.
//
// Thread-safety: compatible. A packet or frame may move between threads; its buffers are
// reference-counted by FFmpeg with atomics.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavfilter/avfilter.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <libswresample/swresample.h>
}

#include <cstdint>
#include <memory>
#include <span>

namespace gopmill::av {

template <auto Free>
struct FreeByAddress {
  template <class T>
  void operator()(T* pointer) const noexcept {
    Free(&pointer);
  }
};

using Packet = std::unique_ptr<AVPacket, FreeByAddress<av_packet_free>>;
using Frame = std::unique_ptr<AVFrame, FreeByAddress<av_frame_free>>;
using CodecContext = std::unique_ptr<AVCodecContext, FreeByAddress<avcodec_free_context>>;
using CodecParameters = std::unique_ptr<AVCodecParameters, FreeByAddress<avcodec_parameters_free>>;
using FilterGraph = std::unique_ptr<AVFilterGraph, FreeByAddress<avfilter_graph_free>>;
using Resampler = std::unique_ptr<SwrContext, FreeByAddress<swr_free>>;
// Input and output AVFormatContext are freed differently: two types.
using InputFormat = std::unique_ptr<AVFormatContext, FreeByAddress<avformat_close_input>>;

class Subtitle {
 public:
  Subtitle() = default;
  ~Subtitle() { avsubtitle_free(&value_); }
  Subtitle(const Subtitle&) = delete;
  Subtitle& operator=(const Subtitle&) = delete;
  AVSubtitle* get() { return &value_; }
  const AVSubtitle* operator->() const { return &value_; }

 private:
  AVSubtitle value_{};
};

// What allocates here fails only when memory is exhausted; that is fatal at once, not an Error.
Packet NewPacket();
Frame NewFrame();
// A packet with a copy of these bytes.
Packet NewPacket(std::span<const std::uint8_t> bytes);
// A copy with the padding that FFmpeg wants behind extradata, for it to free; null of no bytes.
std::uint8_t* NewExtradata(std::span<const std::uint8_t> bytes);
// Decoded, since others may be predicted from it, and neither shown nor heard: an edit list
// (ISO/IEC 14496-12 section 8.6.6) leaves it out. Decoders give no frames for it.
inline bool IsHidden(const AVPacket& packet) { return (packet.flags & AV_PKT_FLAG_DISCARD) != 0; }
// A new reference to the same data (no copy of the payload). nullptr-safe input is not accepted.
Packet Ref(const AVPacket& packet);
Frame Ref(const AVFrame& frame);
// The same in a place that is there already; what it held is let go.
void Ref(const AVPacket& from, AVPacket& to);
void Ref(const AVFrame& from, AVFrame& to);
// Lets go of what it holds: it is as new.
inline void Unref(AVPacket& packet) { av_packet_unref(&packet); }
inline void Unref(AVFrame& frame) { av_frame_unref(&frame); }

}  // namespace gopmill::av
