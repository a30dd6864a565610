// SPDX-License-Identifier: Apache-2.0
#include "media/source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/contained.h"
#include "media/av_error.h"
#include "media/decoder_table.h"
#include "media/early_end.h"
#include "media/fd_io.h"
#include "media/first_picture.h"
#include "media/held_packets.h"
#include "media/measured_rate.h"
#include "media/open_format.h"
#include "media/packet_meta.h"
#include "media/picture_codings.h"
#include "media/probe.h"
#include "media/source_packets.h"
#include "media/source_texts.h"
#include "media/timestamp_repair.h"

namespace gopmill {

struct Source::Impl {
  Impl(UniqueFd descriptor, std::stop_token stop_token, const SourceOptions& source_options,
       std::unique_ptr<ProgramCutter> cutter)
      : fd(std::move(descriptor)),
        stop(std::move(stop_token)),
        options(source_options),
        io(fd.get(), stop, std::move(cutter)) {
    if (options.opening_waits) io.LimitOpening(*options.opening_waits);
  }

  UniqueFd fd;
  std::stop_token stop;
  const SourceOptions options;
  FdIo io;
  av::InputFormat format;  // before io in destruction: it reads through it
  std::shared_ptr<SourceInfo> info;
  std::shared_ptr<const SourceInfo> shown_info;
  bool lacks_pts = false;
  bool damaged = false, early = false;
  EarlyEnd end;
  std::int64_t start_us = 0;
  HeldPackets held;  // read ahead
  std::int64_t skipped = 0;
  SourceTexts texts;
  PictureCodings codings;
  SourcePackets packets;
  Status Open();
  Status Rewind();
  [[nodiscard]] Status CheckClear() const;
  Status BeginAtFirstPicture();
  void ReadTracks();
  void FindRate();
  [[nodiscard]] bool FollowsCodings() const {
    return options.codings && !options.live && !counted_pts();
  }
  // Known once the first picture has been read.
  [[nodiscard]] bool counted_pts() const { return lacks_pts && !packets.tells_pts(); }
  Status ReturnToFirst();

  Result<ReadState> ReadNext(AVPacket& packet);
  // Whether a picture was found that can be decoded on its own; if not, which others are kept.
  enum class Unfound { kAll, kNoPictures };
  Result<bool> ReadAhead(Unfound keeps);
  [[nodiscard]] bool HoldsEnough() const;
  void SeeHeldAgain();
  Status TimeFirstPicture();
  [[nodiscard]] bool EndsEarly() const;
  Result<bool> SeekTo(std::int64_t at_us);
  [[nodiscard]] std::optional<std::int64_t> SlowPlace() const;
};

namespace {

// What may be read ahead to the first picture.
constexpr std::size_t kMaxHeldPackets = 20'000;
constexpr std::int64_t kMaxHeldBytes = 16 << 20;
// Pictures that may follow without a time.
constexpr int kMaxUntimed = 64;
// Microseconds between two pictures, more than which are a gap that will be closed.
constexpr auto kLongestBack = static_cast<std::int64_t>(kMaxGapSeconds * 1'000'000);
// How far a seek goes back in turn, microseconds, until a picture lies at or before its place.
constexpr std::array<std::int64_t, 5> kSeekBack{0, 2'000'000, 10'000'000, 60'000'000,
                                                std::int64_t{1} << 50};

// As RepairTracks numbers them.
std::size_t TrackOfSound(int sound) { return kAudioTrack + static_cast<std::size_t>(sound); }

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

Result<std::unique_ptr<Source>> Source::Open(UniqueFd fd, std::stop_token stop,
                                             const SourceOptions& options) {
  if (!fd.valid()) {
    return Error{.code = Code::kIo, .message = "The source is not open."};
  }
  auto cutter = options.live ? std::make_unique<ProgramCutter>() : nullptr;
  auto impl = std::make_unique<Impl>(std::move(fd), std::move(stop), options, std::move(cutter));
  if (const Status opened = impl->Open(); !opened.ok()) {
    Error error = opened.error();
    const bool of_the_file = error.code == Code::kUnsupported || error.code == Code::kCorrupt;
    // What a demuxer makes of a file that could not be read says nothing about the file.
    if (of_the_file && impl->io.failed()) {
      error = {.code = Code::kIo, .message = "The source cannot be read.", .native = error.native};
    }
    return error;
  }
  return std::unique_ptr<Source>(new Source(std::move(impl)));
}

Result<std::unique_ptr<PacketSource>> Source::Successor() {
  auto rest = impl_->io.TakeRest();
  if (!rest) return std::unique_ptr<PacketSource>();
  auto next =
      std::make_unique<Impl>(std::move(impl_->fd), impl_->stop, impl_->options, std::move(rest));
  GOPMILL_RETURN_IF_ERROR(next->Open());
  return std::unique_ptr<PacketSource>(new Source(std::move(next)));
}

Status Source::Impl::Open() {
  GOPMILL_ASSIGN_OR_RETURN(OpenedFormat opened, OpenFormat(io, stop, options.live));
  format = std::move(opened.format);
  GOPMILL_ASSIGN_OR_RETURN(info, DescribeSource(*format, opened.index_begin,
                                                {.wanted = options.audio, .live = options.live}));
  info->size_bytes = io.size();
  info->seekable = io.seekable();
  lacks_pts = LacksPts(*format->iformat, info->video);
  packets.Begin(*format, *info, options.live, lacks_pts);
  start_us = StartMicros(*format, info->video.stream_index);
  FindRate();
  if (!options.live) info->tags = ReadTags(*format, start_us);
  shown_info = info;
  ReadTracks();
  GOPMILL_RETURN_IF_ERROR(ReadAhead(Unfound::kAll));
  if (io.refusal() != FdIo::Refusal::kNone) return RefusalError(io.refusal());
  GOPMILL_RETURN_IF_ERROR(CheckClear());
  GOPMILL_RETURN_IF_ERROR(BeginAtFirstPicture());
  if (const AVPacket* first = held.FirstPicture()) {
    DescribeFirstPicture(*first, info->video);
    info->video.captions = held.HasCaptions();
  }
  codings.Begin(info, held.FirstPicture());
  io.Opened();
  return OkStatus();
}

// A rate that the container merely averages would lose pictures, so files are asked for theirs.
void Source::Impl::FindRate() {
  constexpr double kAnother = 0.05;
  VideoInfo& video = info->video;
  const AVRational average = format->streams[video.stream_index]->avg_frame_rate;
  const bool doubted = video.variable_fps || !IsUsualRate(video.fps) || average.num <= 0;
  // The demuxer itself tells the times of some pictures at most where `lacks_pts`.
  if (!options.rate || options.live || lacks_pts || !io.seekable() || !doubted) return;
  const auto measured = MeasureRate(fd.get(), *format, video.stream_index, start_us, stop);
  if (!measured || std::abs(measured->measured / video.fps.ToDouble() - 1) < kAnother) return;
  video.fps = measured->usual;
  video.variable_fps = true;
}

// Those that are described and no others. FFmpeg numbers the tracks of a transport stream by their
// PIDs.
void Source::Impl::ReadTracks() {
  for (unsigned i = 0; i < format->nb_streams; ++i) {
    const int index = static_cast<int>(i);
    const bool wanted = index == info->video.stream_index || SoundOf(*info, index);
    format->streams[i]->discard = wanted ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
  }
  texts = SourceTexts();
  texts.Open(*format, *info, start_us, options);
  std::vector<int> pids;
  for (unsigned i = 0; i < format->nb_streams; ++i) {
    const AVStream& stream = *format->streams[i];
    if (stream.discard != AVDISCARD_ALL) pids.push_back(stream.id);
  }
  io.Follow(std::move(pids));
}

const std::shared_ptr<const SourceInfo>& Source::info() const { return impl_->shown_info; }
const std::shared_ptr<const SourceInfo>& Source::coded() const { return impl_->codings.now(); }
bool Source::counted_pts() const { return impl_->counted_pts(); }
std::int64_t Source::start_us() const { return impl_->start_us; }
bool Source::truncated() const { return damaged() || impl_->early; }
std::int64_t Source::skipped() const { return impl_->skipped; }
bool Source::damaged() const { return impl_->damaged || impl_->io.failed(); }
bool Source::read_failed() const { return impl_->io.failed(); }

// Pictures in front of the first that can be decoded on its own are left out: what a recording that
// was cut into, or a seek without an index, begins with. Where no such picture comes in time, all
// are kept, or none.
Result<bool> Source::Impl::ReadAhead(Unfound keeps) {
  held.Clear();
  packets.Restart(*format, *info);
  skipped = 0;
  for (std::size_t read = 0; read < kMaxHeldPackets && !HoldsEnough(); ++read) {
    av::Packet packet = av::NewPacket();
    GOPMILL_ASSIGN_OR_RETURN(const ReadState kind, ReadNext(*packet));
    if (kind == ReadState::kEnd) return false;
    const bool found = kind == ReadState::kVideo && IsRandomAccess(*packet, info->video);
    if (found) skipped = held.DropPictures();
    if (!found && kind == ReadState::kVideo && keeps == Unfound::kNoPictures) continue;
    held.Add(kind, std::move(packet));
    if (!found) continue;
    if (skipped > 0) SeeHeldAgain();
    GOPMILL_RETURN_IF_ERROR(TimeFirstPicture());
    return true;
  }
  return false;
}

bool Source::Impl::HoldsEnough() const {
  return held.count() >= kMaxHeldPackets || held.payload() >= kMaxHeldBytes;
}

// Texts are moved by the jumps of the pictures that are read, not by one from those that were
// dropped.
void Source::Impl::SeeHeldAgain() {
  texts.Restart();
  held.ForEach([this](ReadState kind, const AVPacket& packet) {
    if (kind == ReadState::kVideo) texts.See(kVideoTrack, packet);
    if (kind == ReadState::kAudio) texts.See(TrackOfSound(packet.stream_index), packet);
  });
}

// As when it was opened: not every demuxer finds back to its beginning.
Status Source::Impl::Rewind() {
  format.reset();
  if (const std::int64_t at = avio_seek(io.context(), 0, SEEK_SET); at < 0) {
    return av::AvError("The source could not be sought in", static_cast<int>(at));
  }
  const unsigned last = static_cast<unsigned>(info->video.stream_index);
  GOPMILL_ASSIGN_OR_RETURN(OpenedFormat opened, OpenFormat(io, stop, options.live));
  format = std::move(opened.format);
  if (last >= format->nb_streams) {
    return Error{.code = Code::kCorrupt, .message = "The source changed while it was read."};
  }
  ReadTracks();
  codings.Reopened();
  GOPMILL_RETURN_IF_ERROR(ReadAhead(Unfound::kAll));
  return OkStatus();
}

// Decoders take encrypted bytes (ISO/IEC 23001-7, Matroska's ContentEncryption) for damaged ones.
Status Source::Impl::CheckClear() const {
  bool encrypted = held.HasEncrypted();
  for (unsigned i = 0; i < format->nb_streams; ++i) {
    const AVStream& stream = *format->streams[i];
    const bool read = stream.discard != AVDISCARD_ALL;
    encrypted = encrypted || (read && av_dict_get(stream.metadata, "enc_key_id", nullptr, 0));
  }
  if (!encrypted) return OkStatus();
  return Error{.code = Code::kUnsupported,
               .message = "The source is encrypted.",
               .accepted = "a source without DRM, or decrypted"};
}

// A transport or program stream counts from what comes first in it. Where that is left out and lies
// behind the first picture (a piece of it was copied in front), all between would be before zero.
Status Source::Impl::BeginAtFirstPicture() {
  const bool has_zero = (format->iformat->flags & AVFMT_TS_DISCONT) == 0;
  if (skipped == 0 || counted_pts() || has_zero) return OkStatus();
  const auto us = held.FirstTime(info->video);
  if (!us || *us >= start_us) return OkStatus();
  start_us = *us;
  return io.seekable() ? Rewind() : OkStatus();  // its texts count from there too
}

// Where a program stream was cut into, the first picture may be without a time, and all others
// would be placed by it. A picture that others are predicted from is shown when the next such
// picture is decoded: one that has no pts either, or another one than its dts.
Status Source::Impl::TimeFirstPicture() {
  AVPacket& first = *held.last();
  if (counted_pts() || first.pts != AV_NOPTS_VALUE || info->video.parameters->video_delay != 1) {
    return OkStatus();
  }
  for (int behind = 0; first.pts == AV_NOPTS_VALUE && behind < kMaxUntimed && !HoldsEnough();) {
    av::Packet packet = av::NewPacket();
    GOPMILL_ASSIGN_OR_RETURN(const ReadState kind, ReadNext(*packet));
    if (kind == ReadState::kEnd) return OkStatus();
    if (kind == ReadState::kVideo) {
      ++behind;
      if (packet->pts != packet->dts) first.pts = packet->dts;
    }
    held.Add(kind, std::move(packet));
  }
  return OkStatus();
}

// FFmpeg tells of a sample entry of MP4 where it is another than that of the picture it read last,
// also of one that nobody has seen, in what it had read ahead: so it has to be a known one.
Status Source::Impl::ReturnToFirst() {
  AVStream& pictures = *format->streams[info->video.stream_index];
  const bool has_entries = IsMp4(*format->iformat);
  const AVIndexEntry* first = avformat_index_get_entry(&pictures, 0);
  if (!FollowsCodings() || !has_entries || first == nullptr) return OkStatus();
  std::vector<AVDiscard> discards;
  for (unsigned i = 0; i < format->nb_streams; ++i) {
    AVStream& stream = *format->streams[i];
    discards.push_back(stream.discard);
    if (&stream != &pictures) stream.discard = AVDISCARD_ALL;
  }
  const av::Packet packet = av::NewPacket();
  int code = 0;
  const bool returned = ContainedCall([&] {
    code = av_seek_frame(format.get(), pictures.index, first->timestamp, AVSEEK_FLAG_BACKWARD);
    if (code >= 0) code = av_read_frame(format.get(), packet.get());
  });
  if (!returned) {
    static_cast<void>(format.release());
    return LeftBehindError();
  }
  for (unsigned i = 0; i < format->nb_streams; ++i) {
    format->streams[i]->discard = i < discards.size() ? discards[i] : AVDISCARD_ALL;
  }
  if (code >= 0) codings.Returned(*packet);
  return OkStatus();
}

// To the last place at or before that time from which pictures can be decoded, with what comes
// there held. False where none was found.
Result<bool> Source::Impl::SeekTo(std::int64_t at_us) {
  if (!format) return LeftBehindError();
  for (const std::int64_t back : kSeekBack) {
    GOPMILL_RETURN_IF_ERROR(ReturnToFirst());
    const std::int64_t to = std::max(at_us - back, start_us);
    int code = 0;
    if (!ContainedCall(
            [&] { code = avformat_seek_file(format.get(), -1, INT64_MIN, to, to, 0); })) {
      static_cast<void>(format.release());
      return LeftBehindError();
    }
    if (code < 0) break;  // some containers cannot be searched: it is read from its beginning
    GOPMILL_ASSIGN_OR_RETURN(const bool found, ReadAhead(Unfound::kNoPictures));
    if (found && !held.BeginsBehind(at_us, info->video)) return true;
    if (to == start_us) break;
  }
  return false;
}

// Whether pictures are not whole at once at the place that was sought. Null where they are: else
// its time, microseconds.
std::optional<std::int64_t> Source::Impl::SlowPlace() const {
  return held.BeginsSlowly(info->video) ? held.FirstTime(info->video) : std::nullopt;
}

Status Source::SeekBefore(Rational seconds) {
  if (!impl_->io.seekable()) {
    return InvalidArgument("start", "A pipe cannot be sought in.", "a source that is a file");
  }
  GOPMILL_ASSIGN_OR_RETURN(bool found, impl_->SeekTo(impl_->start_us + ToTicks(seconds, kMicros)));
  // Pictures are whole a group later, and FFmpeg may drop the first one behind such a place.
  for (int more = 0; found && more < 2; ++more) {
    const auto slow = impl_->SlowPlace();
    if (!slow) break;
    GOPMILL_ASSIGN_OR_RETURN(found, impl_->SeekTo(*slow - 1));
    // Not over a gap that will be closed: `start` would then be another place.
    const auto before = impl_->held.FirstTime(impl_->info->video);
    if (!found || !before || *before >= *slow - kLongestBack) continue;
    GOPMILL_ASSIGN_OR_RETURN(found, impl_->SeekTo(*slow));
    break;
  }
  if (found) return OkStatus();
  // The place is in front of the first picture, or a search by times missed the first group.
  return impl_->Rewind();
}

Result<Source::ReadState> Source::Impl::ReadNext(AVPacket& packet) {
  if (!format) return LeftBehindError();
  while (true) {
    GOPMILL_ASSIGN_OR_RETURN(const int code, packets.Read(format, stop, packet));
    if (code < 0) {
      damaged = damaged || (code != AVERROR_EOF && !(options.live && io.all_read()));
      early = early || EndsEarly();
      return ReadState::kEnd;
    }
    end.See(*format, packet);
    if (packet.stream_index == info->video.stream_index) {
      texts.See(kVideoTrack, packet);
      if (FollowsCodings()) codings.Read(*info, packet);
      return ReadState::kVideo;
    }
    if (const auto sound = SoundOf(*info, packet.stream_index)) {
      packet.stream_index = *sound;
      texts.See(TrackOfSound(*sound), packet);
      return ReadState::kAudio;
    }
    if (texts.Take(packet)) return ReadState::kText;
    av_packet_unref(&packet);
  }
}

// A publisher ends where it ends: what it breaks off in is no damage.
bool Source::Impl::EndsEarly() const {
  if (options.live) return false;
  if (io.seekable() && EndsInside(fd.get(), *format->iformat)) return true;
  return end.StopsShort(*format);
}

std::vector<SubtitleTrack> Source::TakeSubtitles() { return impl_->texts.Finish(); }
ClosedJumps Source::jumps() const { return impl_->texts.jumps(); }

Result<Source::ReadState> Source::Read(AVPacket& packet) {
  ReadState kind = ReadState::kEnd;
  if (impl_->held.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(kind, impl_->ReadNext(packet));
  } else {
    kind = impl_->held.Take(packet);
  }
  if (kind == ReadState::kVideo && impl_->FollowsCodings()) impl_->codings.Take(packet);
  return kind;
}

}  // namespace gopmill
