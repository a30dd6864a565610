// SPDX-License-Identifier: Apache-2.0
#include "media/mux_options.h"

extern "C" {
#include <libavutil/dict.h>
}

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "media/av_error.h"
#include "media/mux_sink.h"

namespace gopmill {
namespace {

using Options = std::vector<std::pair<const char*, const char*>>;

const char* FormatName(Container container) {
  switch (container) {
    case Container::kMp4: return "mp4";
    case Container::kTs: return "mpegts";
    case Container::kMkv: return "matroska";
    case Container::kWebm: return "webm";
  }
  return "";
}

// MP4, streamed: we say where fragments end. The moov is delayed to the first of them, because only
// then the edit lists for encoder priming and B-frame delay are known (an empty moov at the very
// start has none: the video would start late by the reordering delay).
// MP4, file: the moov is moved to the front at the end.
// Matroska, streamed: `live` leaves out everything that would have to be patched later.
Options OptionsFor(Container container, bool streamed) {
  switch (container) {
    case Container::kMp4:
      if (streamed) return {{"movflags", "frag_custom+delay_moov+default_base_moof"}};
      return {{"movflags", "faststart"}};
    case Container::kTs: return {};
    case Container::kMkv:
    case Container::kWebm:
      if (streamed) return {{"live", "1"}};
      return {};
  }
  return {};
}

// Ticks per second of an MP4 file's edit lists: so fine that the list of a sound track ends where
// the sound does. Of FFmpeg's milliseconds readers leave out a last packet of a few samples.
int EditTimescale(const AVFormatContext& context) {
  for (const AVStream* stream : std::span(context.streams, context.nb_streams)) {
    const AVCodecParameters& parameters = *stream->codecpar;
    if (parameters.codec_type == AVMEDIA_TYPE_AUDIO && parameters.sample_rate > 0) {
      return parameters.sample_rate;
    }
  }
  return 90'000;
}

std::uint32_t CodecTag(Container container, AVCodecID codec) {
  // Apple's players take HEVC only with parameter sets out of band, which this tag promises.
  if (container == Container::kMp4 && codec == AV_CODEC_ID_HEVC) {
    return MKTAG('h', 'v', 'c', '1');
  }
  return 0;  // the muxer's choice
}

Status AddHdr(AVStream& stream, const MuxTrack& track) {
  const std::pair<AVPacketSideDataType, std::span<const std::uint8_t>> entries[] = {
      {AV_PKT_DATA_MASTERING_DISPLAY_METADATA, track.mastering_display},
      {AV_PKT_DATA_CONTENT_LIGHT_LEVEL, track.content_light},
  };
  for (const auto& [type, bytes] : entries) {
    if (bytes.empty()) continue;
    if (!av::AddStreamSideData(stream, type, bytes)) {
      return av::AvError("The track cannot be described", AVERROR(ENOMEM));
    }
  }
  return OkStatus();
}

void NameTrack(AVStream& stream, const MuxTrack& track) {
  if (!track.language.empty()) av_dict_set(&stream.metadata, "language", track.language.c_str(), 0);
  if (!track.title.empty()) av_dict_set(&stream.metadata, "title", track.title.c_str(), 0);
  if (track.is_default) stream.disposition |= AV_DISPOSITION_DEFAULT;
  if (track.forced) stream.disposition |= AV_DISPOSITION_FORCED;
  stream.disposition |= track.roles;
}

}  // namespace

Result<OutputFormat> NewOutputFormat(Container container) {
  AVFormatContext* raw = nullptr;
  const int result = avformat_alloc_output_context2(&raw, nullptr, FormatName(container), nullptr);
  if (result < 0) return av::AvError("This build cannot write the container", result);
  OutputFormat context(raw);
  // No dates, no library versions, no random identifiers.
  context->flags |= AVFMT_FLAG_BITEXACT | AVFMT_FLAG_CUSTOM_IO;
  context->flush_packets = 0;  // the muxer flushes at fragment ends
  // FLAC in MP4: FFmpeg 5.1 calls it so, players have it.
  if (container == Container::kMp4) context->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
  if (container == Container::kTs) context->max_delay = kTsDelayMicroseconds;
  if (container == Container::kMkv || container == Container::kWebm) {
    context->avoid_negative_ts = 0;  // the muxer places the tracks itself
  }
  return context;
}

Status AddStream(AVFormatContext& context, Container container, const MuxTrack& track) {
  GOPMILL_CHECK(track.parameters != nullptr && track.time_base.positive());
  AVStream* stream = avformat_new_stream(&context, nullptr);
  if (stream == nullptr) return av::AvError("The track cannot be added", AVERROR(ENOMEM));
  const int result = avcodec_parameters_copy(stream->codecpar, track.parameters.get());
  if (result < 0) return av::AvError("The track cannot be described", result);
  stream->codecpar->codec_tag = CodecTag(container, stream->codecpar->codec_id);
  stream->time_base = av::ToAv(track.time_base.Reduced());
  NameTrack(*stream, track);
  if (track.kind != TrackKind::kVideo) return OkStatus();
  stream->sample_aspect_ratio = stream->codecpar->sample_aspect_ratio;
  if (track.frame_rate.positive()) {
    stream->avg_frame_rate = stream->r_frame_rate = av::ToAv(track.frame_rate.Reduced());
  }
  // The picture has been turned upright already.
  av::RemoveStreamSideData(*stream, AV_PKT_DATA_DISPLAYMATRIX);
  return AddHdr(*stream, track);
}

Status WriteHeader(AVFormatContext& context, Container container, bool streamed) {
  AVDictionary* options = nullptr;
  for (const auto& [name, value] : OptionsFor(container, streamed)) {
    av_dict_set(&options, name, value, 0);
  }
  if (container == Container::kMp4 && !streamed) {
    av_dict_set_int(&options, "movie_timescale", EditTimescale(context), 0);
  }
  const int result = avformat_write_header(&context, &options);
  const bool leftover = av_dict_count(options) != 0;
  av_dict_free(&options);
  if (result < 0) return MuxError("The container cannot hold these tracks", result);
  if (leftover) return InternalError("The container does not know one of its options.");
  return OkStatus();
}

}  // namespace gopmill
