// SPDX-License-Identifier: Apache-2.0
#include "media/decoder_table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "media/source.h"

namespace gopmill {
namespace {

struct Entry {
  TrackKind kind;
  std::string_view codec;        // FFmpeg's name of the codec
  std::string_view decoder;      // the decoder we want for it
  std::string_view others = {};  // more that may open it, by commas: what FFmpeg picks for probing,
                                 // fixed-point forms, and what stands in where the first is lacking
};

using enum TrackKind;
constexpr std::array kEntries = std::to_array<Entry>({
    {kVideo, "mpeg1video", "mpeg1video"},
    {kVideo, "mpeg2video", "mpeg2video"},
    {kVideo, "mpeg4", "mpeg4"},
    {kVideo, "h264", "h264"},
    {kVideo, "hevc", "hevc"},
    {kVideo, "vp8", "vp8"},
    {kVideo, "vp9", "vp9"},
    {kVideo, "av1", "libdav1d", "libaom-av1,av1"},
    {kVideo, "mjpeg", "mjpeg"},
    {kVideo, "prores", "prores"},
    {kVideo, "dvvideo", "dvvideo"},
    {kVideo, "theora", "theora"},
    {kVideo, "rawvideo", "rawvideo"},
    {kVideo, "msmpeg4v2", "msmpeg4v2"},
    {kVideo, "msmpeg4v3", "msmpeg4"},
    {kVideo, "wmv1", "wmv1"},
    {kVideo, "wmv2", "wmv2"},
    {kVideo, "h263", "h263"},
    {kVideo, "flv1", "flv"},
    {kVideo, "vp6", "vp6"},
    {kVideo, "vp6f", "vp6f"},
    {kVideo, "vp6a", "vp6a"},
    {kVideo, "dnxhd", "dnxhd"},
    {kVideo, "cfhd", "cfhd"},
    {kVideo, "ffv1", "ffv1"},
    {kVideo, "huffyuv", "huffyuv"},
    {kVideo, "ffvhuff", "ffvhuff"},
    {kVideo, "utvideo", "utvideo"},
    {kAudio, "aac", "aac", "aac_fixed"},
    {kAudio, "aac_latm", "aac_latm"},
    {kAudio, "mp3", "mp3float", "mp3"},
    {kAudio, "mp2", "mp2", "mp2float"},
    {kAudio, "mp1", "mp1", "mp1float"},
    {kAudio, "ac3", "ac3", "ac3_fixed"},
    {kAudio, "eac3", "eac3"},
    {kAudio, "dts", "dca"},
    {kAudio, "truehd", "truehd"},
    {kAudio, "opus", "opus", "libopus"},
    {kAudio, "vorbis", "vorbis"},
    {kAudio, "flac", "flac"},
    {kAudio, "alac", "alac"},
    {kAudio, "mlp", "mlp"},
    {kAudio, "tta", "tta"},
    {kAudio, "wavpack", "wavpack"},
    {kAudio, "wmav1", "wmav1"},
    {kAudio, "wmav2", "wmav2"},
    {kAudio, "nellymoser", "nellymoser"},
    {kAudio, "amr_nb", "amrnb", "libopencore_amrnb"},
    {kAudio, "amr_wb", "amrwb", "libopencore_amrwb"},
    {kAudio, "gsm", "gsm", "libgsm"},
    {kAudio, "gsm_ms", "gsm_ms", "libgsm_ms"},
    {kAudio, "g723_1", "g723_1"},
    {kAudio, "adpcm_g726", "g726"},
    {kAudio, "adpcm_ms", "adpcm_ms"},
    {kAudio, "adpcm_ima_wav", "adpcm_ima_wav"},
    {kAudio, "adpcm_ima_qt", "adpcm_ima_qt"},
    {kAudio, "adpcm_swf", "adpcm_swf"},
    {kAudio, "pcm_s16le", "pcm_s16le"},
    {kAudio, "pcm_s16be", "pcm_s16be"},
    {kAudio, "pcm_s24le", "pcm_s24le"},
    {kAudio, "pcm_s24be", "pcm_s24be"},
    {kAudio, "pcm_s32le", "pcm_s32le"},
    {kAudio, "pcm_s32be", "pcm_s32be"},
    {kAudio, "pcm_f32le", "pcm_f32le"},
    {kAudio, "pcm_f32be", "pcm_f32be"},
    {kAudio, "pcm_f64le", "pcm_f64le"},
    {kAudio, "pcm_f64be", "pcm_f64be"},
    {kAudio, "pcm_u8", "pcm_u8"},
    {kAudio, "pcm_s8", "pcm_s8"},
    {kAudio, "pcm_alaw", "pcm_alaw"},
    {kAudio, "pcm_mulaw", "pcm_mulaw"},
    {kAudio, "pcm_dvd", "pcm_dvd"},
    {kAudio, "pcm_bluray", "pcm_bluray"},
});

const Entry* Find(TrackKind kind, std::string_view codec) {
  const auto* found = std::find_if(kEntries.begin(), kEntries.end(), [&](const Entry& entry) {
    return entry.kind == kind && entry.codec == codec;
  });
  return found == kEntries.end() ? nullptr : found;
}

}  // namespace

bool SourceCodecAllowed(TrackKind kind, std::string_view codec) {
  return Find(kind, codec) != nullptr;
}

const AVCodec* FindSourceDecoder(TrackKind kind, std::string_view codec) {
  const Entry* entry = Find(kind, codec);
  if (entry == nullptr) return nullptr;
  if (const AVCodec* wanted = avcodec_find_decoder_by_name(std::string(entry->decoder).c_str())) {
    return wanted;
  }
  const std::string other(entry->others.substr(0, entry->others.find(',')));
  return other.empty() ? nullptr : avcodec_find_decoder_by_name(other.c_str());
}

av::CodecContext OpenPictureDecoder(const AVCodecParameters& video) {
  const AVCodec* codec = FindSourceDecoder(TrackKind::kVideo, avcodec_get_name(video.codec_id));
  if (codec == nullptr) return nullptr;
  av::CodecContext context(avcodec_alloc_context3(codec));
  GOPMILL_CHECK(context != nullptr);
  context->thread_count = 1;
  context->max_pixels = kMaxSourcePixels;
  const bool opened = avcodec_parameters_to_context(context.get(), &video) >= 0 &&
                      avcodec_open2(context.get(), codec, nullptr) >= 0;
  return opened ? std::move(context) : nullptr;
}

const std::string& DecoderWhitelist() {
  static const std::string kList = [] {
    std::string all;
    for (const Entry& entry : kEntries) {
      if (!all.empty()) all += ',';
      all += entry.decoder;
      if (!entry.others.empty()) all.append(",").append(entry.others);
    }
    return all;
  }();
  return kList;
}

}  // namespace gopmill
