// SPDX-License-Identifier: Apache-2.0
//
// What a front end (HTTP, RTSP) can ask of gopmill. Front ends hold no engine types: they
// pass request parameters as text and get bytes, JSON text or an Error back. Tests of a front end
// implement this interface with a fake.
//
// Nothing here blocks: work that reads files runs on a thread of the service and answers by
// callback. Callbacks may run on any thread and must not block. Thread-safety: safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "server/api/pull_state.h"
#include "server/api/stream_sink.h"

namespace gopmill {

class PacketFeed;

// Request parameters in the order given, decoded ("width" -> "640").
using RequestParams = std::vector<std::pair<std::string, std::string>>;
using JsonCallback = std::function<void(Result<std::string>)>;
// Text that several get.
using SharedText = std::shared_ptr<const std::string>;
using TextCallback = std::function<void(Result<SharedText>)>;

// What a publisher of a name does to one that has it: what the settings say
// (`live.second_publisher`), or nothing, where nobody decided to publish just now.
enum class Takeover { kAsSet, kNever };

// One part of a segmented movie (HLS, DASH): a playlist, a manifest, a segment.
struct PartRequest {
  std::string path;           // of the library entry
  std::string name;           // of the part: "master.m3u8", "v0-17.m4s"
  RequestParams params;       // shared by all parts of one presentation
  std::string if_none_match;  // the field of HTTP, empty = none
  // Of who asks; empty: as the parameters say. Not one of them, so that no playlist names it.
  std::string service_class = {};
};
struct MediaPart {
  std::string content_type;
  std::string etag;  // quoted; equal bytes, equal tag
  std::shared_ptr<const std::string> bytes;
  bool not_modified = false;  // the client has it already: no bytes
  int max_age_seconds = 0;    // how long it may be used without asking again; 0 = not at all
};
using PartCallback = std::function<void(Result<MediaPart>)>;
using PartTicket = std::uint64_t;

class Service {
 public:
  virtual ~Service() = default;

  // Starts a stream of library entry `path` ("dir/movie.mp4", decoded, relative). Parameters are
  // checked before it returns (unknown name or bad value -> kInvalidArgument naming it). The file
  // is opened later, on a thread of the stream; its errors arrive through sink->Finish.
  virtual Result<StreamId> OpenStream(const std::string& path, const RequestParams& params,
                                      std::unique_ptr<StreamSink> sink) = 0;
  // Stops a stream and starts another for the same client, which takes its place: there is room for
  // it though the one before has not ended yet. `make_sink` is called once the place is taken.
  using SinkMaker = std::function<std::unique_ptr<StreamSink>()>;
  virtual Result<StreamId> ReplaceStream(StreamId before, const std::string& path,
                                         const RequestParams& params,
                                         const SinkMaker& make_sink) = 0;
  // Like OpenStream, with the source read from a descriptor, in the order of its bytes, while they
  // arrive: the read end of a pipe whose other end the front end fills. It is closed as soon as no
  // more of it is needed, which may be before its end.
  virtual Result<StreamId> OpenUpload(UniqueFd body, const RequestParams& params,
                                      std::unique_ptr<StreamSink> sink) = 0;
  // Reads a live source from a descriptor (as above) until its end: `name` can then be asked for as
  // "live/NAME". `from` says for the log who publishes. kAlreadyExists while it has another
  // publisher, unless the settings say that a new one takes over. The callback comes at the end,
  // with what was received, or what was wrong with it.
  virtual Status Publish(const std::string& name, const std::string& from, UniqueFd body,
                         JsonCallback done) = 0;
  // The same for a front end that has taken the protocol apart: coded packets by a PacketFeed.
  virtual Status PublishPackets(const std::string& name, const std::string& from,
                                std::shared_ptr<PacketFeed> feed, Takeover takeover,
                                JsonCallback done) = 0;
  // Why the next PublishPackets of that name would be refused, as things stand; takes nothing.
  virtual Status CheckPublish(const std::string& name, Takeover takeover) const = 0;
  virtual std::string LiveSources() const = 0;
  // Whether anybody reads the live source of that name, or waits for a publisher of it.
  virtual bool LiveWanted(const std::string& name) const = 0;
  // Shown to clients as the state of fetching the live source of that name.
  virtual void SetPull(const std::string& name, PullState state) = 0;
  // What OpenStream would answer in its headers, without transcoding (for HEAD): on success the
  // callback gets the content type. `left`: see Sources.
  virtual void CheckStream(const std::string& path, const RequestParams& params,
                           std::stop_token left, JsonCallback done) = 0;
  // Stops a stream: queued units go at once, running ones at the next frame. kNotFound if unknown.
  virtual Status CancelStream(StreamId id) = 0;

  // Gets a part, made now if it has to be. The callback may be called before this returns.
  virtual PartTicket OpenPart(PartRequest request, PartCallback done) = 0;
  // The client has left: the callback may still come, with kCancelled or not at all. Unknown
  // tickets are ignored.
  virtual void CancelPart(PartTicket ticket) = 0;

  // The library with probe data, the same text for all who ask at once. `left` is stopped when
  // nobody waits for the answer any more: what has not begun is left out, and what would be kept
  // for nobody ends. The callback may still come then, or not at all.
  virtual void Sources(std::stop_token left, TextCallback done) = 0;
  // The plan, without doing it.
  virtual void Explain(const std::string& path, const RequestParams& params, std::stop_token left,
                       JsonCallback done) = 0;
  virtual std::string Streams() const = 0;                    // all, running and recently ended
  virtual Result<std::string> Stream(StreamId id) const = 0;  // one stream
  // The seam certificate of a stream, running or recently ended; kNotFound if unknown.
  virtual Result<std::string> Seams(StreamId id) const = 0;
  // Where its units ran and waited, as a trace for ui.perfetto.dev; kNotFound if unknown.
  virtual Result<std::string> Trace(StreamId id) const = 0;
  virtual std::string Workers() const = 0;   // the machine with its load
  virtual std::string Metrics() const = 0;   // Prometheus text exposition of the engine's metrics
  virtual bool Ready() const = 0;            // false while starting and once draining
  virtual bool LibraryReadable() const = 0;  // as far as is known
};

}  // namespace gopmill
