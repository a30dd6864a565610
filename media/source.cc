// SPDX-License-Identifier: Apache-2.0
#include "media/source.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "media/av_error.h"
#include "media/fd_io.h"
#include "media/probe.h"

namespace gopmill {

struct Source::Impl {
  Impl(UniqueFd descriptor, std::stop_token stop_token)
      : fd(std::move(descriptor)), stop(std::move(stop_token)), io(fd.get(), stop) {}

  UniqueFd fd;
  std::stop_token stop;
  FdIo io;
  av::InputFormat format;  // before io in destruction: it reads through it
  std::shared_ptr<const SourceInfo> info;
  bool counted_pts = false;
  bool truncated = false;
  std::int64_t start_us = 0;
};

namespace {

int OnInterrupt(void* stop) noexcept {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

struct DictionaryOwner {
  AVDictionary* entries = nullptr;
  ~DictionaryOwner() { av_dict_free(&entries); }
};

Error OpenError(int native, const std::stop_token& stop) {
  if (stop.stop_requested()) return {.code = Code::kCancelled, .message = "Cancelled."};
  if (native == AVERROR_INVALIDDATA || native == AVERROR_EOF ||
      native == AVERROR_DEMUXER_NOT_FOUND || native == AVERROR(EINVAL)) {
    return {.code = Code::kUnsupported,
            .message = "The source is not a media file of a supported container, or it is damaged.",
            .accepted =
                "MP4, MOV, Matroska, WebM, MPEG-TS, MPEG-PS, AVI, FLV, Ogg, MXF and raw "
                "video streams",
            .native = native};
  }
  return av::AvError("The source could not be opened", native);
}

// Raw streams carry no times at all; AVI carries decoding times only.
bool LacksPts(const AVInputFormat& format, const VideoInfo& video) {
  const std::string_view name = format.name;
  if (name == "avi") return video.has_b_frames;
  constexpr std::array<std::string_view, 6> kRaw{"h264",      "hevc",  "m4v",
                                                 "mpegvideo", "mjpeg", "obu"};
  return (format.flags & AVFMT_NOTIMESTAMPS) != 0 || std::ranges::find(kRaw, name) != kRaw.end();
}

}  // namespace

Source::Source(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Source::~Source() {
  if (impl_) impl_->format.reset();
}

Result<std::unique_ptr<Source>> Source::Open(UniqueFd fd, std::stop_token stop) {
  auto impl = std::make_unique<Impl>(std::move(fd), stop);
  AVFormatContext* raw = avformat_alloc_context();
  GOPMILL_CHECK(raw != nullptr);
  raw->pb = impl->io.context();
  raw->interrupt_callback = {&OnInterrupt, &impl->stop};
  raw->max_streams = static_cast<int>(kMaxSourceStreams);
  raw->probesize = kProbeBytes;
  DictionaryOwner options;
  av_dict_set(&options.entries, "format_whitelist", kAllowedDemuxers, 0);
  av_dict_set(&options.entries, "codec_whitelist", kAllowedDecoders, 0);
  av_dict_set(&options.entries, "protocol_whitelist", "none", 0);
  // avformat_open_input frees the context when it fails.
  int code = avformat_open_input(&raw, nullptr, nullptr, &options.entries);
  if (code < 0) return OpenError(code, impl->stop);
  impl->format.reset(raw);
  code = avformat_find_stream_info(raw, nullptr);
  if (code < 0 || impl->stop.stop_requested()) return OpenError(code, impl->stop);

  GOPMILL_ASSIGN_OR_RETURN(auto info, DescribeSource(*raw));
  info->size_bytes = impl->io.size();
  info->seekable = impl->io.seekable();
  for (unsigned i = 0; i < raw->nb_streams; ++i) {
    const int index = static_cast<int>(i);
    const bool wanted =
        index == info->video.stream_index || (info->audio && index == info->audio->stream_index);
    raw->streams[i]->discard = wanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
  }
  impl->counted_pts = LacksPts(*raw->iformat, info->video);
  impl->start_us = raw->start_time == AV_NOPTS_VALUE ? 0 : raw->start_time;
  impl->info = std::move(info);
  return std::unique_ptr<Source>(new Source(std::move(impl)));
}

const std::shared_ptr<const SourceInfo>& Source::info() const { return impl_->info; }
bool Source::counted_pts() const { return impl_->counted_pts; }
std::int64_t Source::start_us() const { return impl_->start_us; }
bool Source::truncated() const { return impl_->truncated || impl_->io.failed(); }

Status Source::SeekBefore(Rational seconds) {
  if (!impl_->io.seekable()) {
    return InvalidArgument("start", "A pipe cannot be sought in.", "a source that is a file");
  }
  const std::int64_t at = impl_->start_us + Rescale(seconds.num, {1, seconds.den}, {1, 1'000'000});
  const int code = avformat_seek_file(impl_->format.get(), -1, INT64_MIN, at, at, 0);
  if (code < 0) return av::AvError("The source could not be sought in", code);
  return OkStatus();
}

Result<Source::ReadState> Source::Read(AVPacket& packet) {
  while (true) {
    const int code = av_read_frame(impl_->format.get(), &packet);
    if (impl_->stop.stop_requested()) {
      return Error{.code = Code::kCancelled, .message = "Cancelled."};
    }
    if (code == AVERROR(EAGAIN)) continue;
    if (code < 0) {
      impl_->truncated = impl_->truncated || code != AVERROR_EOF;
      return ReadState::kEnd;
    }
    if (packet.stream_index == impl_->info->video.stream_index) return ReadState::kVideo;
    if (impl_->info->audio && packet.stream_index == impl_->info->audio->stream_index) {
      return ReadState::kAudio;
    }
    av_packet_unref(&packet);
  }
}

}  // namespace gopmill
