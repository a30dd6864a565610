// SPDX-License-Identifier: Apache-2.0
#include "media/open_format.h"

#include <cerrno>
#include <span>
#include <string>
#include <string_view>

#include "base/contained.h"
#include "media/av_error.h"
#include "media/decoder_table.h"
#include "media/file_claims.h"
#include "media/indexed_lengths.h"
#include "media/probe.h"
#include "media/source.h"

namespace gopmill {
namespace {

// Microseconds of a live FLV in which the tracks that it announces may begin. FFmpeg itself looks
// for them in 90 seconds, and in 5 of other containers.
constexpr std::int64_t kLiveFlvAnalysis = 5'000'000;

int OnInterrupt(void* stop) noexcept {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

struct DictionaryOwner {
  AVDictionary* entries = nullptr;
  ~DictionaryOwner() { av_dict_free(&entries); }
};

// Whether FFmpeg means the file by this error. `unread`: reading it has failed.
bool IsOfTheFile(int native, bool unread) {
  switch (native) {
    case AVERROR_INVALIDDATA:
    case AVERROR_EOF:
    case AVERROR_DEMUXER_NOT_FOUND:
    case AVERROR(EINVAL): return true;
    // Its reader of ASF says -1 of what it does not understand.
    case AVERROR(EPERM): return true;
    // Its reader of YUV4MPEG adds the 6 of a frame's mark to EINVAL where it finds a size absurd.
    case AVERROR(EINVAL) + 6: return true;
    // Its reader of Matroska says so of a file that ends early.
    case AVERROR(EIO): return !unread;
    default: return false;
  }
}

Error OpenError(int native, const FdIo& io, const std::stop_token& stop) {
  if (stop.stop_requested()) return Cancelled();
  if (io.refusal() != FdIo::Refusal::kNone) return RefusalError(io.refusal());
  // Of a track beyond max_streams, or of tables that it would not allocate anywhere, as large as a
  // damaged header claims them.
  if (native == AVERROR(ENOMEM)) {
    return {.code = Code::kUnsupported,
            .message = "The source has too many tracks, or it is damaged.",
            .accepted = "up to " + std::to_string(kMaxSourceStreams) + " tracks of all kinds",
            .native = native};
  }
  if (IsOfTheFile(native, io.failed())) {
    return {.code = Code::kUnsupported,
            .message = "The source is not a media file of a supported container, or it is damaged.",
            .accepted =
                "MP4, MOV, Matroska, WebM, MPEG-TS, MPEG-PS, AVI, ASF, FLV, Ogg, MXF and raw "
                "video streams",
            .native = native};
  }
  return av::AvError("The source could not be opened", native);
}

// As avformat_open_input does, but that JPEG pictures in a row are a movie, not each an image file.
int FindContainer(AVFormatContext& format, const AVInputFormat** found) {
  const int code = av_probe_input_buffer2(format.pb, found, "", &format, 0,
                                          static_cast<unsigned>(format.format_probesize));
  if (code >= 0 && std::string_view((*found)->name) == "jpeg_pipe") {
    *found = av_find_input_format("mjpeg");
  }
  return code;
}

// Why it may not be opened: what it lists is counted before FFmpeg believes it.
FdIo::Refusal RefusalOf(FdIo& io, const AVInputFormat& container, const std::stop_token& stop) {
  if (!IsMp4(container)) return FdIo::Refusal::kNone;
  if (io.seekable()) return RefusalOfFile(io.fd(), stop);
  const AVIOContext& read = *io.context();
  io.CountPackets(std::span(read.buf_ptr, read.buf_end));
  return io.refusal();
}

}  // namespace

Error RefusalError(FdIo::Refusal refusal) {
  switch (refusal) {
    case FdIo::Refusal::kNone: break;
    case FdIo::Refusal::kListsTooMuch:
      return {.code = Code::kUnsupported,
              .message = "The source's header says that there are more packets than are read.",
              .accepted = "up to " + std::to_string(kMaxListedPackets) + " of all tracks"};
    case FdIo::Refusal::kStrayIndex:
      return {.code = Code::kUnsupported,
              .message = "The source's index ('sidx') leads to where no fragment begins.",
              .accepted = "an index that fits, or none"};
    case FdIo::Refusal::kCompressedHeader:
      return {
          .code = Code::kUnsupported,
          .message = "The source's header is compressed (QuickTime's 'cmov'), which is not read.",
          .accepted = "a header as it is, such as 'ffmpeg -i IN -c copy OUT.mov' writes"};
    case FdIo::Refusal::kLongHeader:
      return {.code = Code::kUnsupported,
              .message = "The source's header does not end within " +
                         std::to_string(kMaxSourceHeaderBytes >> 20U) + " MiB.",
              .accepted = "fewer attachments; an MP4 with its index in front or in fragments"};
    case FdIo::Refusal::kTooSlow:
      return {.code = Code::kDeadlineExceeded,
              .message = "The source came too slowly to tell what it is.",
              .accepted = std::to_string(kSlowestOpening >> 10U) + " KiB a second until then"};
  }
  return {.code = Code::kInternal, .message = "The source was not refused."};
}

Error LeftBehindError() {
  return {.code = Code::kCorrupt,
          .message = "The source is damaged in a way that FFmpeg here cannot go on with."};
}

Result<OpenedFormat> OpenFormat(FdIo& io, const std::stop_token& stop, bool live) {
  AVFormatContext* raw = avformat_alloc_context();
  GOPMILL_CHECK(raw != nullptr);
  raw->pb = io.context();
  raw->interrupt_callback = {&OnInterrupt, const_cast<std::stop_token*>(&stop)};
  raw->max_streams = static_cast<int>(kMaxSourceStreams);
  raw->probesize = kProbeBytes;
  DictionaryOwner settings;
  av_dict_set(&settings.entries, "format_whitelist", kAllowedDemuxers, 0);
  av_dict_set(&settings.entries, "codec_whitelist", DecoderWhitelist().c_str(), 0);
  av_dict_set(&settings.entries, "protocol_whitelist", "none", 0);
  const AVInputFormat* container = nullptr;
  int code = 0;
  FdIo::Refusal refusal = FdIo::Refusal::kNone;
  if (!ContainedCall([&] { code = FindContainer(*raw, &container); })) return LeftBehindError();
  if (code >= 0) refusal = RefusalOf(io, *container, stop);
  if (code < 0) {
    avformat_free_context(raw);
  } else if (refusal != FdIo::Refusal::kNone) {
    avformat_free_context(raw);
    return RefusalError(refusal);
  } else if (!ContainedCall([&] {  // frees the context when it fails
               code = avformat_open_input(&raw, nullptr, container, &settings.entries);
             })) {
    settings.entries = nullptr;  // left behind with the context
    return LeftBehindError();
  }
  if (code < 0) return OpenError(code, io, stop);
  io.HeaderRead();
  if (live && IsFlv(*container)) raw->max_analyze_duration = kLiveFlvAnalysis;
  const bool indexed = io.seekable() && IsMp4(*container);
  const double index_begin = indexed ? MendIndexedLengths(io.fd(), *raw) : 0;
  if (!ContainedCall([&] { code = avformat_find_stream_info(raw, nullptr); })) {
    return LeftBehindError();
  }
  av::InputFormat format(raw);
  const bool refused = io.refusal() != FdIo::Refusal::kNone;
  if (code < 0 || refused || stop.stop_requested()) return OpenError(code, io, stop);
  return OpenedFormat{.format = std::move(format), .index_begin = index_begin};
}

}  // namespace gopmill
