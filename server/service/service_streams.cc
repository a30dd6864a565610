// SPDX-License-Identifier: Apache-2.0
//
// How MediaService opens, replaces and cancels streams and parts, and who may publish.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "media/packet_feed.h"
#include "media/resolve_target.h"
#include "media/source.h"
#include "server/api/request_params.h"
#include "server/files/movie_texts.h"
#include "server/live/live_request.h"
#include "server/service/media_service.h"

namespace gopmill {
namespace {

// Whoever sends packets by a protocol of its own (RTSP) sends them in the order of display, as
// cameras do, unless asked otherwise: that is sooner by three pictures.
bool WantsBFrames(const TargetRequest& request, bool live, StreamSink& sink) {
  const bool plain = live && sink.packets() != nullptr &&
                     request.vcodec.value_or(VideoCodec::kH264) == VideoCodec::kH264;
  return MayHaveBFrames(request, !plain);
}

// Equal for requests with the same parameters, whether they say `bframes` or have it by default.
std::string FanoutKey(const std::string& path, RequestParams params, bool b_frames) {
  std::erase_if(params, [](const auto& param) { return param.first == "bframes"; });
  params.emplace_back("bframes", b_frames ? "on" : "off");
  return path + QueryFor(params, "");
}

// Equal requests for what comes now get the same, whatever protocol they came by; a length is
// counted from each one's own begin.
bool MayShare(const SessionSpec& spec) {
  return spec.open_packets && !spec.request.start && !spec.request.duration;
}

// What no body can have, whatever it is: it is not read for that.
Status CheckUploadTarget(const TargetRequest& target) {
  if (target.start.value_or(Rational{0, 1}).num > 0) {
    return InvalidArgument("start", "An upload cannot be sought in.", "no start");
  }
  if (target.burn.value_or(0) > 0) {
    return InvalidArgument("burn", "The text of an upload cannot be drawn.", "off");
  }
  if (target.subtitles == Subtitles::kCopy) {
    return InvalidArgument("subtitles", "The text of an upload cannot be copied.", "off");
  }
  return OkStatus();
}

}  // namespace

Result<StreamId> MediaService::OpenStream(const std::string& path, const RequestParams& params,
                                          std::unique_ptr<StreamSink> sink) {
  return OpenEntry(path, params, std::move(sink), std::nullopt);
}

Result<StreamId> MediaService::ReplaceStream(StreamId before, const std::string& path,
                                             const RequestParams& params,
                                             const SinkMaker& make_sink) {
  const StreamId id = TakePlaceOf(before);
  admission_->GoOn(before, id);
  auto sink = make_sink();
  static_cast<void>(CancelStream(before));  // it may have ended
  auto opened = OpenEntry(path, params, std::move(sink), id);
  if (!opened.ok()) admission_->Release(id);
  const MutexLock lock(mutex_);
  expected_.erase(id);  // if the stream did not take the place
  return opened;
}

// The number of the stream that will have it.
StreamId MediaService::TakePlaceOf(StreamId before) {
  const MutexLock lock(mutex_);
  const StreamId id{next_id_++};
  if (running_.contains(before) && replaced_.insert(before).second) expected_.insert(id);
  return id;
}

Result<PlanTexts> MediaService::ReadTexts(const std::string& path, const TargetRequest& request,
                                          const std::stop_token& stop) {
  return ReadPlanTexts(
      request, [&](int number) { return scripts_.Get(path, number, stop); },
      [&] { return library_.OpenEntry(path); }, [&] { return TextFilesOf(library_, path); }, stop);
}

Result<StreamId> MediaService::OpenEntry(const std::string& path, const RequestParams& params,
                                         std::unique_ptr<StreamSink> sink,
                                         std::optional<StreamId> place) {
  GOPMILL_ASSIGN_OR_RETURN(TargetRequest request, ParseParams(params));
  SessionSpec spec;
  spec.source_name = path;
  if (path.starts_with(kLivePrefix)) {
    GOPMILL_RETURN_IF_ERROR(CheckLiveTarget(request));
    GOPMILL_ASSIGN_OR_RETURN(const auto live, live_.Find(path.substr(kLivePrefix.size())));
    spec.open_packets = [live, sounds = request.audio](const std::stop_token& stop) {
      return live->Subscribe(stop, sounds, LiveSource::ReaderClock::kShared);
    };
    spec.decoders = decoders_;
    spec.pictures = live->pictures();
    MakeLive(spec);
  } else {
    spec.open = [this, path] { return library_.OpenEntry(path); };
    spec.open_again = spec.open;
    spec.read_texts = [this, path](const TargetRequest& wanted, const std::stop_token& stop) {
      return ReadTexts(path, wanted, stop);
    };
  }
  if (request.subtitles == Subtitles::kCopy && sink->packets() != nullptr) {
    return InvalidArgument("subtitles", "RTSP carries no text here.", "off");
  }
  if (request.audio.several() && sink->packets() != nullptr) {
    return InvalidArgument("audio", "RTSP carries one sound track here.",
                           "one track, like audio=2");
  }
  GOPMILL_RETURN_IF_ERROR(CheckStreamedText(request));
  spec.request = std::move(request);
  // Who takes coded packets plays them at their own pace, and as they come.
  spec.real_time = spec.real_time || sink->packets() != nullptr;
  spec.request.b_frames = WantsBFrames(spec.request, spec.live, *sink);
  if (MayShare(spec)) return JoinStream(path, params, std::move(sink), std::move(spec));
  spec.sink = std::move(sink);
  return Admit(std::move(spec), place);
}

// As one of the readers of an encode of its own kind.
Result<StreamId> MediaService::JoinStream(const std::string& path, const RequestParams& params,
                                          std::unique_ptr<StreamSink> sink, SessionSpec spec) {
  StreamId reader;
  {
    const MutexLock lock(mutex_);
    GOPMILL_RETURN_IF_ERROR(CheckRoom());
    reader = StreamId{next_id_++};
  }
  const std::string key = FanoutKey(path, params, *spec.request.b_frames);
  GOPMILL_RETURN_IF_ERROR(
      fanouts_.Join(key, reader, std::move(sink), [&](std::unique_ptr<StreamSink> fanout) {
        spec.sink = std::move(fanout);
        return Admit(std::move(spec));
      }));
  return reader;
}

Result<StreamId> MediaService::OpenUpload(UniqueFd body, const RequestParams& params,
                                          std::unique_ptr<StreamSink> sink) {
  SessionSpec spec;
  GOPMILL_ASSIGN_OR_RETURN(spec.request, ParseParams(params));
  GOPMILL_RETURN_IF_ERROR(CheckUploadTarget(spec.request));
  spec.source_name = "(upload)";
  const auto shared_body = std::make_shared<UniqueFd>(std::move(body));
  const auto share = std::make_shared<UploadSpool::Share>(uploads_);  // until the stream has ended
  spec.open_packets = [this, shared_body, share, waits = OpeningWaits(),
                       sounds = spec.request.audio](
                          const std::stop_token& stop) -> Result<std::unique_ptr<PacketSource>> {
    GOPMILL_ASSIGN_OR_RETURN(UniqueFd readable,
                             uploads_.Readable(std::move(*shared_body), *share, waits, stop));
    GOPMILL_ASSIGN_OR_RETURN(auto source, Source::Open(std::move(readable), stop,
                                                       {.audio = sounds, .opening_waits = waits}));
    return std::unique_ptr<PacketSource>(std::move(source));
  };
  spec.sink = std::move(sink);
  return Admit(std::move(spec));
}

Status MediaService::Publish(const std::string& name, const std::string& from, UniqueFd body,
                             JsonCallback done) {
  if (!Ready()) return ShuttingDown();
  const auto shared_body = std::make_shared<UniqueFd>(std::move(body));
  const SourceOptions options{.texts = TextUse::kWebVtt,
                              .audio = {.all = true},
                              .live = true,
                              .opening_waits = OpeningWaits()};
  return live_.Publish(
      name, from,
      [shared_body, options](const std::stop_token& stop) -> Result<std::unique_ptr<PacketSource>> {
        GOPMILL_ASSIGN_OR_RETURN(auto source, Source::Open(std::move(*shared_body), stop, options));
        return std::unique_ptr<PacketSource>(std::move(source));
      },
      std::move(done));
}

Status MediaService::PublishPackets(const std::string& name, const std::string& from,
                                    std::shared_ptr<PacketFeed> feed, Takeover takeover,
                                    JsonCallback done) {
  if (!Ready()) return ShuttingDown();
  return live_.Publish(
      name, from,
      [feed = std::move(feed)](const std::stop_token& stop) {
        return PacketFeed::Open(feed, stop);
      },
      std::move(done), takeover);
}

Status MediaService::CheckPublish(const std::string& name, Takeover takeover) const {
  return Ready() ? live_.CheckPublish(name, takeover) : Status(ShuttingDown());
}

// Who drips a byte now and then would keep a place, and a name, for ever.
Duration MediaService::OpeningWaits() const {
  const MutexLock lock(mutex_);
  return std::chrono::seconds(config_.streams.opening_timeout_seconds);
}

// A machine that does not keep up shall drop what is old, not collect it.
void MediaService::MakeLive(SessionSpec& spec) const {
  spec.limits.window_units = engine_->scheduler().in_service() + 2;
  spec.real_time = true;
  spec.live = true;
}

// Gives the stream its number and starts it, if there is room for it.
Result<StreamId> MediaService::Admit(SessionSpec spec, std::optional<StreamId> place) {
  spec.on_closed = [this](StreamId id) { OnClosed(id); };
  spec.observer = observer_;
  spec.admission = admission_;
  // Goes after the lock, as `spec` does: a sink that ends calls into those who serve its client.
  std::shared_ptr<StreamSession> session;
  const MutexLock lock(mutex_);
  if (place) expected_.erase(*place);
  GOPMILL_RETURN_IF_ERROR(CheckRoom());
  const StreamId id = place ? *place : StreamId{next_id_++};
  spec.id = id;
  spec.degrades = spec.live && config_.live.degradation == "on";
  spec.number = streams_started_;
  spec.limits.window_bytes = static_cast<std::size_t>(config_.streams.window_bytes);
  GOPMILL_ASSIGN_OR_RETURN(session, StreamSession::Create(std::move(spec), engine_->scheduler()));
  GOPMILL_RETURN_IF_ERROR(session->Launch());
  ++streams_started_;
  running_[id] = std::move(session);
  return id;
}

// Of streams that readers share each reader counts, and not the stream. Those that are replaced do
// not count, unless they have become so many that they do not seem to end.
Status MediaService::CheckRoom() {
  if (draining_) return ShuttingDown();
  const auto ending =
      std::min<std::int64_t>(std::ssize(replaced_), std::max(config_.streams.max, kFewestReplaced));
  const auto used =
      static_cast<std::int64_t>(running_.size() + fanouts_.readers() + expected_.size()) -
      static_cast<std::int64_t>(fanouts_.encodes()) - ending;
  if (used < config_.streams.max) return OkStatus();
  ++totals_.refused;
  return Error{.code = Code::kUnavailable,
               .message = "All " + std::to_string(config_.streams.max) +
                          " streams of this server are in use.",
               .accepted = "the same once one of them has ended; /v1/streams lists them"};
}

bool MediaService::IsRunning(StreamId id) const {
  const MutexLock lock(mutex_);
  return running_.contains(id);
}

Status MediaService::CancelStream(StreamId id) {
  if (fanouts_.Leave(id)) return OkStatus();
  std::shared_ptr<StreamSession> session;
  {
    const MutexLock lock(mutex_);
    if (const auto found = running_.find(id); found != running_.end()) session = found->second;
  }
  if (session == nullptr) {
    return Error{.code = Code::kNotFound, .message = "There is no running stream with this id."};
  }
  session->Cancel();
  return OkStatus();
}

PartTicket MediaService::OpenPart(PartRequest request, PartCallback done) {
  if (!Ready()) {
    done(ShuttingDown());
    return 0;
  }
  if (request.path.starts_with(kLivePrefix)) {
    return live_segments_.Open(std::move(request), std::move(done));
  }
  return segments_.Open(std::move(request), std::move(done));
}

void MediaService::CancelPart(PartTicket ticket) {
  if ((ticket & LiveSegments::kTicketBit) != 0) return live_segments_.Cancel(ticket);
  segments_.Cancel(ticket);
}

}  // namespace gopmill
