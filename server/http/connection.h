// SPDX-License-Identifier: Apache-2.0
//
// One client connection: reads requests one after the other (pipelined ones wait their turn),
// answers each before looking at the next, and bounds what the client can cost.
//
// States: kReading -> kWaiting (Service answers later) or kStreaming -> kReading again, or ->
// kFlushing (the last bytes are on their way) -> kLingering (our side is shut, the client may still
// read) -> kClosed.
//
// A client that leaves while its stream runs, or its part or plan is made, is noticed at once,
// because reading stays on: end of file or an error cancels each. Half a close (shutdown of the
// client's sending side) counts as leaving as well meanwhile: nothing tells the two apart without
// sending, and idle cores matter more. In the other states a half-closed client still gets its
// answers.
//
// A request whose body is wanted is answered while the body arrives: the rest of its input goes to
// a BodyPipe. While that is full the socket is not read, which is how backpressure reaches the
// client; whether the client has left is then asked of the kernel now and then. The kernel does not
// always know (a client may end behind bytes that are not read), so that a pause without any
// progress ends at a limit. Such a connection closes after its answer, since the answer may be
// complete before the body is.
//
// Thread-safety: thread-affine to the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "server/http/body_pipe.h"
#include "server/http/event_ptr.h"
#include "server/http/handlers.h"
#include "server/http/http_options.h"
#include "server/http/request_parser.h"
#include "server/http/response_fields.h"
#include "server/http/stream_response.h"
#include "server/http/waiting_answers.h"

struct evbuffer_cb_info;

namespace gopmill {

class HttpConnection;

// What all connections of a server share, and how they reach it. The methods run on the loop.
class ConnectionHost {
 public:
  using Task = std::function<void(HttpConnection&)>;
  // Runs a task on the loop if the connection still exists then. Safe on any thread, even after
  // the server has gone.
  using Poster = std::function<void(Task)>;

  virtual ~ConnectionHost() = default;
  virtual event_base* base() = 0;
  virtual const HttpLimits& limits() = 0;
  virtual const HandlerContext& context() = 0;
  virtual HttpMetrics& metrics() = 0;
  virtual Poster MakePoster(std::uint64_t connection) = 0;
  // Room for a body that is to wait for the client of this connection; others may lose theirs.
  // False if there is none.
  virtual bool MakeRoom(std::uint64_t connection, const SharedBody& body) = 0;
  virtual const std::shared_ptr<WaitingAnswers>& answers() = 0;
  // Where texts are put before they come to the loop, too.
  virtual const std::shared_ptr<PackedTexts>& packed() = 0;
  virtual void OnStreamBegan() = 0;
  // The last byte of a stream was handed to the kernel, or its connection closed.
  virtual void OnStreamOver() = 0;
  // The connection is closed; destroy it, but not now: it is on the call stack.
  virtual void Retire(std::uint64_t connection) = 0;
};

class HttpConnection {
 public:
  // Takes over the connected, non-blocking socket `fd`. Call Begin next.
  HttpConnection(ConnectionHost& host, std::uint64_t id, int fd);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  void Begin();
  // Between two requests, or before the first, with nothing left to send: may be closed any time.
  [[nodiscard]] bool idle() const;
  // Whether it has ever asked for anything; the request of a new one may be on its way.
  [[nodiscard]] bool has_asked() const { return exchange_ > 0; }
  [[nodiscard]] TimePoint idle_since() const { return idle_since_; }
  [[nodiscard]] bool streaming() const { return stream_counted_; }
  // Since when finished answers have been waiting for the client, if they are.
  [[nodiscard]] const std::optional<TimePoint>& answering_since() const { return answering_since_; }
  enum class How {
    kQuietly,  // what the kernel has still goes out
    kReset,    // the client gets a reset and the kernel's buffers are freed
  };
  // Ends the connection now, and with it a stream that runs.
  void Close(How how);
  // The same by a reset, with a line of the log that says why.
  void CutOff(std::string_view why);

 private:
  enum class Phase { kReading, kWaiting, kStreaming, kFlushing, kLingering, kClosed };
  enum class Timer { kNone, kHeader, kIdle, kService, kPart, kUpload, kPaused, kLinger };

  static void OnReadable(bufferevent* source, void* self) noexcept;
  static void OnWritten(bufferevent* source, void* self) noexcept;
  static void OnEvent(bufferevent* source, short what, void* self) noexcept;
  static void OnTimer(int fd, short what, void* self) noexcept;
  static void OnAnswerLate(int fd, short what, void* self) noexcept;
  static void OnInputChanged(evbuffer* buffer, const evbuffer_cb_info* change, void* self) noexcept;
  static void OnOutputChanged(evbuffer* buffer, const evbuffer_cb_info* change,
                              void* self) noexcept;

  [[nodiscard]] evbuffer* input() const;
  [[nodiscard]] evbuffer* output() const;
  void Arm(Timer timer);

  void ProcessInput();
  std::shared_ptr<PackedTexts> WantedPacked();  // null if the request wants nothing compressed
  bool FeedParser();                            // whether a whole request was read
  void RefuseBroken(const Problem& problem);
  void AskForBody(const HttpRequest& request);  // of a client that waits to be asked, once
  void Dispatch();
  void Respond(HttpResponse response);
  void SendBody(SharedBody body);
  void LimitAnswer(std::size_t bytes);
  void AnswerTaken();
  void StartDeferred(const DeferredReply& reply);
  void StartPart(PartReply reply);
  void LeaveWaiting();
  // Whether the client waits for what is made for it alone: its leaving has to be noticed.
  [[nodiscard]] bool awaits_work() const { return part_ != 0 || costly_; }
  void StartStream(const StreamReply& reply);
  Result<StreamId> OpenStream(const StreamReply& reply, std::unique_ptr<StreamSink> sink);
  void StartPublishing(const PublishReply& reply);
  void PumpStream();
  void EndStream();
  [[nodiscard]] Persistence StreamPersistence() const;
  // Uploads (connection_upload.cc).
  Result<UniqueFd> OpenBody();
  void PumpBody();
  void WatchBody();
  void OnPaused();
  void FailBody(const Problem& problem);
  void CloseBody();
  [[nodiscard]] bool uploading() const { return body_ != nullptr && body_open_; }

  [[nodiscard]] std::string About() const;  // the request and who asked, for the log
  void ClientLeft(How how);                 // Close, and a line of the log if that ends something
  void AwaitRequest();
  void NextRequest();  // after an answer: the next one, or the end of the connection
  void FlushAndClose();
  void Linger();
  void OnEndOfInput();

  ConnectionHost& host_;
  const std::uint64_t id_;
  const std::string peer_;
  BuffereventPtr bufferevent_;
  EventPtr timer_event_;
  EventPtr answer_event_;  // at answer_until_
  std::optional<TimePoint> answering_since_;
  TimePoint answer_until_;
  Timer timer_ = Timer::kNone;
  Phase phase_ = Phase::kReading;
  RequestParser parser_;
  HttpRequest request_;  // the one being answered
  RouteId route_ = RouteId::kUnknown;
  std::uint64_t exchange_ = 0;  // counts requests: late answers to earlier ones are dropped
  Persistence persistence_ = Persistence::kKeepAlive;
  PartTicket part_ = 0;  // asked for and not answered; 0 = none
  // Of the deferred reply that is waited for.
  std::stop_source left_{std::nostopstate};
  bool costly_ = false;
  std::unique_ptr<StreamResponse> stream_;
  bool stream_counted_ = false;     // a stream or part told to the host as begun, not yet as over
  std::unique_ptr<BodyPipe> body_;  // of an upload
  bool body_open_ = false;          // more of it is to come
  TimePoint moved_at_;          // when a byte of the body was passed on or one of its answer taken
  bool continue_sent_ = false;  // "100 Continue" for this request
  bool input_ended_ = false;
  TimePoint idle_since_ = SteadyNow();
};

}  // namespace gopmill
