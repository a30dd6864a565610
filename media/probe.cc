// SPDX-License-Identifier: Apache-2.0
#include "media/probe.h"

extern "C" {
#include <libavutil/dovi_meta.h>
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>

#include "media/av_error.h"
#include "media/decoder_table.h"
#include "media/hdr_metadata.h"
#include "media/orientation.h"
#include "media/source.h"
#include "media/track_rates.h"

namespace gopmill {

const char* const kAllowedDemuxers =
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,mpegts,mpeg,mpegvideo,avi,flv,live_flv,ogg,h264,hevc,"
    "m4v,obu,ivf,dv,mjpeg,asf,nut,mxf,yuv4mpegpipe,av1";

int BitDepthOf(int pixel_format) {
  const AVPixFmtDescriptor* format = av_pix_fmt_desc_get(static_cast<AVPixelFormat>(pixel_format));
  return format == nullptr ? 8 : format->comp[0].depth;
}

Status CheckVideo(const AVCodecParameters& parameters) {
  const std::string accepted = "up to " + std::to_string(kMaxSourceSide) + " pixels a side and " +
                               std::to_string(kMaxSourcePixels) + " pixels in all";
  if (parameters.width <= 0 || parameters.height <= 0) {
    return Error{.code = Code::kCorrupt,
                 .message =
                     "The video track does not state a frame size that FFmpeg can use: the source "
                     "is cut off, damaged, without a key picture, or its frames are too large.",
                 .accepted = accepted};
  }
  const std::int64_t pixels = std::int64_t{parameters.width} * parameters.height;
  if (parameters.width > kMaxSourceSide || parameters.height > kMaxSourceSide ||
      pixels > kMaxSourcePixels) {
    return Error{.code = Code::kUnsupported,
                 .message = "The source's frames of " + std::to_string(parameters.width) + "x" +
                            std::to_string(parameters.height) + " are too large.",
                 .accepted = accepted};
  }
  return OkStatus();
}

namespace {

using av::FromAv;

// With that bit rate, which goes into the header of a copy.
std::shared_ptr<const AVCodecParameters> CopyParameters(const AVCodecParameters& from,
                                                        std::int64_t bitrate) {
  av::CodecParameters copy(avcodec_parameters_alloc());
  GOPMILL_CHECK(copy != nullptr && avcodec_parameters_copy(copy.get(), &from) >= 0);
  copy->bit_rate = bitrate;
  return std::shared_ptr<const AVCodecParameters>(std::move(copy));
}

std::span<const std::uint8_t> SideData(const AVStream& stream, AVPacketSideDataType type) {
#if LIBAVCODEC_VERSION_MAJOR >= 61
  const AVPacketSideData* found = av_packet_side_data_get(
      stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data, type);
  return found == nullptr ? std::span<const std::uint8_t>{}
                          : std::span<const std::uint8_t>{found->data, found->size};
#else
  std::size_t size = 0;
  const std::uint8_t* data = av_stream_get_side_data(&stream, type, &size);
  return {data, data == nullptr ? 0 : size};
#endif
}

// Dolby Vision without a base layer that others can show: profiles 5 of HEVC and 10.0 of AV1 code
// IPT colours with a curve of their own, which come out purple and green when taken for YCbCr.
Status CheckColours(const AVStream& stream) {
  constexpr int kHevcAlone = 5, kAv1 = 10;
  AVDOVIDecoderConfigurationRecord dolby{};
  const auto bytes = SideData(stream, AV_PKT_DATA_DOVI_CONF);
  if (bytes.size() < sizeof dolby) return OkStatus();
  std::memcpy(&dolby, bytes.data(), sizeof dolby);
  const bool alone = dolby.dv_profile == kHevcAlone ||
                     (dolby.dv_profile == kAv1 && dolby.dv_bl_signal_compatibility_id == 0);
  if (!alone) return OkStatus();
  return Error{.code = Code::kUnsupported,
               .message = "The pictures are Dolby Vision profile " +
                          std::to_string(dolby.dv_profile) +
                          ", whose colours only a Dolby Vision player can show.",
               .accepted =
                   "Dolby Vision that HDR10, HLG or SDR players can show as well, as "
                   "profiles 7 and 8 are"};
}

// AVI and MOV tell the palette with the packet that is read first, and no other: pictures that are
// decoded from anywhere else would be black. NUT has it in each.
Status CheckPalette(const AVFormatContext& format, const AVCodecParameters& video) {
  const bool told_once = std::string_view(format.iformat->name) != "nut";
  const bool raw = video.codec_id == AV_CODEC_ID_RAWVIDEO;
  if (!raw || video.format != AV_PIX_FMT_PAL8 || !told_once) return OkStatus();
  return Error{.code = Code::kUnsupported,
               .message = "The pictures are raw video with a palette, which is told only once.",
               .accepted = "raw video of YUV, RGB or grey, or coded pictures"};
}

Rational NominalFps(AVFormatContext& format, AVStream& stream) {
  const Rational guess = FromAv(av_guess_frame_rate(&format, &stream, nullptr));
  const Rational average = FromAv(stream.avg_frame_rate);
  constexpr double kTimesMissing = 1.5;
  // A nominal rate far below the average is made of times that are missing.
  const bool slow = average.positive() && average <= kHighestSourceFps &&
                    guess.ToDouble() * kTimesMissing < average.ToDouble();
  if (guess.positive() && guess <= kHighestSourceFps && !slow) return guess.Reduced();
  if (average.positive() && average <= kHighestSourceFps) return average.Reduced();
  // Higher ones are mostly the clock of the container, unless so many pictures are there.
  constexpr Rational kHighestAgreed{1000, 1};
  constexpr double kAgreed = 0.01;
  const bool agreed = guess.positive() && guess <= kHighestAgreed && average.positive() &&
                      std::abs(average.ToDouble() / guess.ToDouble() - 1) < kAgreed;
  return agreed ? guess.Reduced() : Rational{25, 1};
}

VideoInfo DescribeVideo(AVFormatContext& format, AVStream& stream, std::int64_t bitrate) {
  const AVCodecParameters& parameters = *stream.codecpar;
  const Rational fps = NominalFps(format, stream);
  const Rational average = FromAv(stream.avg_frame_rate);
  const Orientation orientation = OrientationOf(SideData(stream, AV_PKT_DATA_DISPLAYMATRIX));
  return VideoInfo{
      .stream_index = stream.index,
      .codec = avcodec_get_name(parameters.codec_id),
      .language = StreamLanguage(stream),
      .title = StreamTag(stream, "title"),
      .width = parameters.width,
      .height = parameters.height,
      .sample_aspect = av::AspectFromAv(av_guess_sample_aspect_ratio(&format, &stream, nullptr)),
      .rotation = orientation.rotation,
      .mirrored = orientation.mirrored,
      .time_base = FromAv(stream.time_base),
      .fps = fps,
      .variable_fps =
          average.positive() && std::abs(average.ToDouble() / fps.ToDouble() - 1.0) > 0.01,
      .bit_depth = BitDepthOf(parameters.format),
      .interlaced = parameters.field_order != AV_FIELD_UNKNOWN &&
                    parameters.field_order != AV_FIELD_PROGRESSIVE,
      .has_b_frames = parameters.video_delay > 0,
      .bitrate = bitrate,
      .mastering_display =
          KeptBytes(MasteringDisplayOf(SideData(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA))),
      .content_light = KeptBytes(ContentLightOf(SideData(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL))),
      .parameters = CopyParameters(parameters, bitrate),
  };
}

int ChannelsOf(const AVCodecParameters& parameters) { return parameters.ch_layout.nb_channels; }

AudioInfo DescribeAudio(const AVStream& stream, std::int64_t bitrate) {
  const AVCodecParameters& parameters = *stream.codecpar;
  return AudioInfo{
      .stream_index = stream.index,
      .codec = avcodec_get_name(parameters.codec_id),
      .language = StreamLanguage(stream),
      .title = StreamTag(stream, "title"),
      .is_default = (stream.disposition & AV_DISPOSITION_DEFAULT) != 0,
      .roles = StreamRoles(stream),
      .sample_rate = parameters.sample_rate,
      .channels = ChannelsOf(parameters),
      .time_base = FromAv(stream.time_base),
      .bitrate = bitrate,
      .parameters = CopyParameters(parameters, bitrate),
  };
}

// The best track of a kind that is neither a cover picture nor of a codec we do not take.
int BestTrack(AVFormatContext& format, AVMediaType kind, int related) {
  const int found = av_find_best_stream(&format, kind, -1, related, nullptr, 0);
  const auto cover = [&](int index) {
    return (format.streams[index]->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
  };
  if (found < 0 || !cover(found)) return found < 0 ? -1 : found;
  for (int i = 0; i < static_cast<int>(format.nb_streams); ++i) {
    if (format.streams[i]->codecpar->codec_type == kind && !cover(i)) return i;
  }
  return -1;
}

// The sound tracks that go with the pictures: of a transport stream with several programmes, those
// of others do not.
std::vector<const AVStream*> SoundStreams(AVFormatContext& format, int video) {
  const AVProgram* program = av_find_program_from_stream(&format, nullptr, video);
  const auto goes_along = [&](unsigned stream) {
    if (program == nullptr) return true;
    const std::span own(program->stream_index, program->nb_stream_indexes);
    return std::ranges::find(own, stream) != own.end();
  };
  std::vector<const AVStream*> streams;
  for (unsigned i = 0; i < format.nb_streams; ++i) {
    const AVStream* stream = format.streams[i];
    const bool sound = stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
    if (sound && goes_along(i)) streams.push_back(stream);
  }
  return streams;
}

// A sound track of a codec we do not take, or without a usable rate, is left out, not fatal.
void SortSounds(const std::vector<const AVStream*>& streams, const TrackRates& rates,
                SourceInfo& info) {
  for (const AVStream* stream : streams) {
    const AVCodecParameters& parameters = *stream->codecpar;
    const bool known = parameters.codec_id != AV_CODEC_ID_NONE;
    const std::string codec = known ? avcodec_get_name(parameters.codec_id) : "of unknown codec";
    const int rate = parameters.sample_rate;
    const bool allowed = SourceCodecAllowed(TrackKind::kAudio, codec);
    if (allowed && SoundRateUsable(rate) && ChannelsOf(parameters) > 0) {
      info.audio_tracks.push_back(DescribeAudio(*stream, rates.Of(*stream)));
    } else if (allowed && rate > 0 && !SoundRateUsable(rate)) {
      info.unusable_audio.push_back(codec + " at " + std::to_string(rate) + " Hz");
    } else if (allowed && rate <= 0) {
      info.unusable_audio.push_back(codec + " (nothing of it came in time)");
    } else {
      info.unusable_audio.push_back(codec);
    }
  }
}

// The first of the default tracks, or else of those that are for everybody. Nothing that was
// probed counts: a publisher that comes back has the same one.
std::optional<AudioInfo> LiveAudio(const AVFormatContext& format,
                                   const std::vector<AudioInfo>& tracks) {
  std::optional<AudioInfo> best;
  int best_rank = 0;
  for (const AudioInfo& track : tracks) {
    const int disposition = format.streams[track.stream_index]->disposition;
    const bool for_all =
        (disposition & (AV_DISPOSITION_HEARING_IMPAIRED | AV_DISPOSITION_VISUAL_IMPAIRED)) == 0;
    const int rank = !for_all ? 1 : (disposition & AV_DISPOSITION_DEFAULT) == 0 ? 2 : 3;
    if (rank > best_rank) best = track;
    best_rank = std::max(best_rank, rank);
  }
  return best;
}

// What FFmpeg takes for the best, or the first where that is left out.
std::optional<AudioInfo> BestAudio(AVFormatContext& format, const std::vector<AudioInfo>& tracks,
                                   int video) {
  if (tracks.empty()) return std::nullopt;
  const int best = BestTrack(format, AVMEDIA_TYPE_AUDIO, video);
  const auto found = std::ranges::find(tracks, best, &AudioInfo::stream_index);
  return found == tracks.end() ? tracks.front() : *found;
}

Result<AudioInfo> AudioOfNumber(const SourceInfo& info, int number) {
  const std::vector<AudioInfo>& tracks = info.audio_tracks;
  const auto place = static_cast<std::size_t>(number - 1);
  if (place < tracks.size()) return tracks[place];
  return NoSuchSoundTrack(info, tracks.size());
}

Status ChooseSounds(AVFormatContext& format, int video, const SoundReading& reading,
                    SourceInfo& info) {
  const AudioTracks& wanted = reading.wanted;
  const std::vector<AudioInfo>& tracks = info.audio_tracks;
  if (wanted.first > 0) {
    GOPMILL_ASSIGN_OR_RETURN(info.audio, AudioOfNumber(info, wanted.first));
  } else {
    info.audio = reading.live ? LiveAudio(format, tracks) : BestAudio(format, tracks, video);
  }
  for (const int number : wanted.more) {
    GOPMILL_ASSIGN_OR_RETURN(info.more_audio.emplace_back(), AudioOfNumber(info, number));
  }
  if (!wanted.all || !info.audio) return OkStatus();
  for (const AudioInfo& track : tracks) {
    const bool first = track.stream_index == info.audio->stream_index;
    if (!first && info.sounds() < kMaxSounds) info.more_audio.push_back(track);
  }
  return OkStatus();
}

// A fragmented movie that comes by a pipe is as long as its fragments so far, for its demuxer.
bool KnowsItsBeginningOnly(const AVFormatContext& format) {
  const bool read_once = format.pb != nullptr && (format.pb->seekable & AVIO_SEEKABLE_NORMAL) == 0;
  return read_once && IsMp4(*format.iformat);
}

// Raw streams state no length: FFmpeg takes it from their bytes and the bit rate in their header,
// which is the highest one. Pictures of DV are all of one size.
bool GuessesLength(const AVFormatContext& format) {
  const bool by_rate = format.duration_estimation_method == AVFMT_DURATION_FROM_BITRATE;
  return by_rate && std::string_view(format.iformat->name) != "dv";
}

}  // namespace

bool IsMp4(const AVInputFormat& container) {
  return std::string_view(container.name).starts_with("mov");
}

bool IsFlv(const AVInputFormat& container) {
  return std::string_view(container.name).ends_with("flv");
}

bool StatesLengths(const AVFormatContext& format) {
  const std::span streams(format.streams, format.nb_streams);
  return std::ranges::none_of(streams, [](const AVStream* s) { return s->duration == UINT32_MAX; });
}

// FFmpeg's own is that of all programmes of a multiplex, each of which has a clock of its own.
std::int64_t StartMicros(AVFormatContext& format, int video) {
  const std::int64_t of_all = format.start_time == AV_NOPTS_VALUE ? 0 : format.start_time;
  if (format.nb_programs < 2) return of_all;
  std::vector<const AVStream*> streams = SoundStreams(format, video);
  streams.push_back(format.streams[video]);
  std::int64_t start = INT64_MAX;
  for (const AVStream* stream : streams) {
    if (stream->start_time == AV_NOPTS_VALUE) continue;
    start = std::min(start, Rescale(stream->start_time, FromAv(stream->time_base), kMicros));
  }
  return start == INT64_MAX ? of_all : start;
}

Result<std::shared_ptr<SourceInfo>> DescribeSource(AVFormatContext& format, double index_begin,
                                                   const SoundReading& sounds) {
  const int video = BestTrack(format, AVMEDIA_TYPE_VIDEO, -1);
  if (video < 0) {
    return Error{.code = Code::kUnsupported,
                 .message = "The source has no video track (a cover picture does not count)."};
  }
  AVStream& video_stream = *format.streams[video];
  const std::string codec = avcodec_get_name(video_stream.codecpar->codec_id);
  if (!SourceCodecAllowed(TrackKind::kVideo, codec)) {
    return Error{
        .code = Code::kUnsupported,
        .message = "Video codec '" + codec + "' is not supported.",
        .accepted =
            "MPEG-1, MPEG-2, MPEG-4, H.264, HEVC, VP8, VP9, AV1, MJPEG, ProRes, "
            "DNxHD, CineForm, DV, Theora, H.263, Sorenson Spark, VP6, DivX 3, Windows Media 7 "
            "and 8, FFV1, HuffYUV, Ut Video, raw video"};
  }
  GOPMILL_RETURN_IF_ERROR(CheckVideo(*video_stream.codecpar));
  GOPMILL_RETURN_IF_ERROR(CheckColours(video_stream));
  GOPMILL_RETURN_IF_ERROR(CheckPalette(format, *video_stream.codecpar));

  auto info = std::make_shared<SourceInfo>();
  info->container = format.iformat->name;
  const TrackRates rates(format, index_begin);
  const bool known = !KnowsItsBeginningOnly(format) && !GuessesLength(format);
  if (format.duration > 0 && known && StatesLengths(format)) {
    info->duration = {format.duration - rates.lead(), AV_TIME_BASE};
  }
  info->bitrate = rates.file();
  info->video = DescribeVideo(format, video_stream, rates.Of(video_stream));
  SortSounds(SoundStreams(format, video), rates, *info);
  GOPMILL_RETURN_IF_ERROR(ChooseSounds(format, video, sounds, *info));
  // FFmpeg takes data of any script in FLV for a track of text.
  const bool has_texts = !IsFlv(*format.iformat);
  for (unsigned i = 0; has_texts && i < format.nb_streams; ++i) {
    auto track = DescribeSubtitles(*format.streams[i]);
    const bool usable = track && !(sounds.live && track->of_pictures);
    if (usable) info->subtitles.push_back(*std::move(track));
  }
  return info;
}

}  // namespace gopmill
