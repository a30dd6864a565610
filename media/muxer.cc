// SPDX-License-Identifier: Apache-2.0
#include "media/muxer.h"

extern "C" {
#include <libavutil/opt.h>
}

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "media/av_error.h"
#include "media/mux_options.h"
#include "media/mux_sink.h"
#include "media/mux_times.h"

namespace gopmill {
namespace {

// How much media a fragmented MP4 may hold back while a track has brought nothing yet. Its edit
// list can only be written once its first packet is known; a track that starts later than this is
// placed by its fragments' decode times instead.
constexpr Rational kLongestWait{3, 1};
// The same where the header cannot be written before a track has begun.
constexpr std::size_t kMostHeldBytes = std::size_t{32} << 20U;

// FFmpeg describes AC-3 and E-AC-3 by what it has parsed of their packets; of E-AC-3, which may
// have several frames in a packet, only the second one tells that the first is whole.
struct Parsed {
  int needed = 0, seen = 0;  // packets
};

Parsed ForHeader(const MuxTrack& track) {
  if (track.parameters->codec_id == AV_CODEC_ID_AC3) return {.needed = 1};
  return {.needed = track.parameters->codec_id == AV_CODEC_ID_EAC3 ? 2 : 0};
}

// With others FFmpeg describes nothing (a recording that was cut into).
bool BeginsWithSyncWord(const AVPacket& packet) {
  return packet.size >= 2 && packet.data[0] == 0x0B && packet.data[1] == 0x77;
}

Error BeginsTooLate() {
  return {.code = Code::kUnsupported,
          .message =
              "A track of AC-3 or E-AC-3 sound begins too late, or never: a streamed MP4 "
              "cannot describe it.",
          .parameter = "acodec",
          .accepted = "aac, opus, none; or container=mkv"};
}

}  // namespace

struct Muxer::Impl {
  MuxSettings settings;
  std::unique_ptr<MuxSink> sink;  // outlives the context
  OutputFormat context;
  std::vector<MuxTimes> tracks;
  // Matroska: packets whose block time lies ahead of their dts by the priming. Blocks must come in
  // the order of their times (browsers insist), so these wait for those of the other tracks.
  std::deque<std::pair<std::int64_t, av::Packet>> waiting;  // block time without offset
  std::optional<Error> failed;
  bool moov_due = false;       // fragmented MP4: the moov has not been written yet
  std::vector<Parsed> parsed;  // of each track, for the moov
  std::size_t held_bytes = 0;  // until the moov is written
  bool finished = false;

  // Remembers a failure: everything after it returns the same.
  Status Fail(Error error) {
    failed = std::move(error);
    return *failed;
  }
  Status Check(std::string_view doing, int result) {
    if (sink->error()) return Fail(*sink->error());
    if (result < 0) return Fail(MuxError(doing, result));
    return OkStatus();
  }
  // `at_end`: with what there is, if that is anything.
  [[nodiscard]] bool CanDescribe(bool at_end = false) const {
    return std::ranges::all_of(parsed, [at_end](const Parsed& track) {
      return track.seen >= (at_end ? std::min(track.needed, 1) : track.needed);
    });
  }
  Status HoldForMoov(Parsed& track, const AVPacket& packet) {
    if (track.seen < track.needed && BeginsWithSyncWord(packet)) ++track.seen;
    held_bytes += static_cast<std::size_t>(packet.size);
    if (held_bytes > kMostHeldBytes && !CanDescribe()) return Fail(BeginsTooLate());
    return OkStatus();
  }
  // Whether every track has begun, or waiting for the missing ones has gone on long enough.
  [[nodiscard]] bool MoovMayGo() const {
    if (!CanDescribe()) return false;
    return std::all_of(tracks.begin(), tracks.end(),
                       [](const MuxTimes& track) { return track.packets > 0; }) ||
           std::any_of(tracks.begin(), tracks.end(), [](const MuxTimes& track) {
             if (track.packets == 0) return false;
             const std::int64_t span = *track.last_dts - *track.first_dts;
             return Rational{span * track.time_base.num, track.time_base.den} >= kLongestWait;
           });
  }
  Status WriteNow(AVPacket& packet);
  Status WriteWaiting(std::int64_t until);
  Status FlushFragment();
};

Muxer::Muxer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Muxer::~Muxer() = default;

Result<std::unique_ptr<Muxer>> Muxer::Open(const MuxSettings& settings,
                                           std::span<const MuxTrack> tracks, MuxOutput output) {
  auto impl = std::make_unique<Impl>();
  impl->settings = settings;
  GOPMILL_ASSIGN_OR_RETURN(impl->context, NewOutputFormat(settings.container));
  for (const MuxTrack& track : tracks) {
    GOPMILL_RETURN_IF_ERROR(AddStream(*impl->context, settings.container, track));
    impl->tracks.emplace_back().time_base = track.time_base;
    impl->parsed.push_back(ForHeader(track));
  }
  GOPMILL_RETURN_IF_ERROR(
      AddTags(*impl->context, settings.container, settings.streamed, settings.tags));
  GOPMILL_ASSIGN_OR_RETURN(impl->sink, settings.streamed ? MuxSink::ToCallback(std::move(output))
                                                         : MuxSink::ToFile(settings.path));
  impl->context->pb = impl->sink->context();
  impl->context->url = av_strdup(impl->sink->url().c_str());
  const Status header = WriteHeader(*impl->context, settings.container, settings.streamed);
  if (impl->sink->error()) return *impl->sink->error();
  if (!header.ok()) return header.error();
  for (std::size_t i = 0; i < impl->tracks.size(); ++i) {
    impl->tracks[i].stream_base = av::FromAv(impl->context->streams[i]->time_base);
  }
  if (settings.container == Container::kMkv || settings.container == Container::kWebm) {
    GOPMILL_RETURN_IF_ERROR(PlaceMatroska(*impl->context, impl->tracks));
  }
  impl->moov_due = settings.streamed && settings.container == Container::kMp4;
  return std::unique_ptr<Muxer>(new Muxer(std::move(impl)));
}

Status Muxer::Write(std::size_t track_index, av::Packet packet) {
  if (impl_->failed) return *impl_->failed;
  GOPMILL_CHECK(track_index < impl_->tracks.size() && packet != nullptr && !impl_->finished);
  MuxTimes& track = impl_->tracks[track_index];
  const Status times = CheckTimes(track, *packet);
  if (!times.ok()) return impl_->Fail(times.error());
  if (track.packets == 0 && !impl_->moov_due && impl_->settings.streamed &&
      impl_->settings.container == Container::kMp4) {
    // The track's place cannot go into an edit list any more.
    av_opt_set(impl_->context->priv_data, "movflags", "+frag_discont", 0);
  }
  track.last_dts = packet->dts;
  if (!track.first_dts) track.first_dts = packet->dts;
  ++track.packets;
  if (impl_->moov_due) {
    GOPMILL_RETURN_IF_ERROR(impl_->HoldForMoov(impl_->parsed[track_index], *packet));
  }
  const std::int64_t now = Rescale(packet->dts, track.time_base, track.stream_base);
  const std::int64_t block = Rescale(packet->pts + track.lead, track.time_base, track.stream_base);
  PlaceOnClock(track, *packet);
  packet->stream_index = static_cast<int>(track_index);
  if (impl_->settings.container == Container::kMkv ||
      impl_->settings.container == Container::kWebm) {
    GOPMILL_RETURN_IF_ERROR(impl_->WriteWaiting(now));
  }
  if (track.lead == 0) return impl_->WriteNow(*packet);
  impl_->waiting.emplace_back(block, std::move(packet));
  return OkStatus();
}

Status Muxer::Impl::WriteNow(AVPacket& packet) {
  return Check("The container refused a packet", av_write_frame(context.get(), &packet));
}

// Nothing that comes can have a block before the dts of what has come.
Status Muxer::Impl::WriteWaiting(std::int64_t until) {
  while (!waiting.empty() && waiting.front().first <= until) {
    const av::Packet packet = std::move(waiting.front().second);
    waiting.pop_front();
    GOPMILL_RETURN_IF_ERROR(WriteNow(*packet));
  }
  return OkStatus();
}

// A delayed moov is what the first flush of an MP4 writes, and nothing else: a second one brings
// the fragment.
Status Muxer::Impl::FlushFragment() {
  const int flushes = moov_due ? 2 : 1;
  moov_due = false;
  for (int i = 0; i < flushes; ++i) {
    GOPMILL_RETURN_IF_ERROR(
        Check("The output cannot be written", av_write_frame(context.get(), nullptr)));
  }
  sink->Flush();
  return Check("The output cannot be written", sink->context()->error);
}

Status Muxer::EndFragment() {
  if (impl_->failed) return *impl_->failed;
  if (!impl_->settings.streamed) return OkStatus();
  if (impl_->moov_due && !impl_->MoovMayGo()) return OkStatus();
  return impl_->FlushFragment();
}

Status Muxer::Finish() {
  if (impl_->failed) return *impl_->failed;
  if (impl_->finished) return OkStatus();
  impl_->finished = true;
  if (impl_->moov_due && !impl_->CanDescribe(/*at_end=*/true)) return impl_->Fail(BeginsTooLate());
  GOPMILL_RETURN_IF_ERROR(impl_->WriteWaiting(std::numeric_limits<std::int64_t>::max()));
  GOPMILL_RETURN_IF_ERROR(
      impl_->Check("The output cannot be completed", av_write_trailer(impl_->context.get())));
  const Status closed = impl_->sink->Close();
  if (!closed.ok()) return impl_->Fail(closed.error());
  return OkStatus();
}

std::int64_t Muxer::bytes_written() const { return impl_->sink->bytes(); }

std::int64_t Muxer::packets_written(std::size_t track) const {
  GOPMILL_CHECK(track < impl_->tracks.size());
  return impl_->tracks[track].packets;
}

std::string_view ContentType(Container container) {
  switch (container) {
    case Container::kMp4: return "video/mp4";
    case Container::kTs: return "video/mp2t";
    case Container::kMkv: return "video/x-matroska";
    case Container::kWebm: return "video/webm";
  }
  return "application/octet-stream";
}

}  // namespace gopmill
