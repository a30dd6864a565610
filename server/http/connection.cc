// SPDX-License-Identifier: Apache-2.0
#include "server/http/connection.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/peer_name.h"
#include "server/http/access.h"
#include "server/http/problem.h"
#include "server/http/response_fields.h"

namespace gopmill {
namespace {

// How far a client may send ahead of the answers. Reaching it while a stream runs or a part or plan
// is made would hide the client's leaving (reading stops), so the connection is cut then.
constexpr std::size_t kMaxInputBytes = 64 * kKiB;
// How often it is asked whether a client has left that is not read from.
constexpr std::chrono::milliseconds kPausedInterval(200);
// Bytes the kernel may hold unsent for one connection, beside our own buffer.
constexpr int kUnsentBytes = 128 * 1024;
// A client that has vanished without a word is noticed after two minutes also while nothing is sent
// to it, as when a movie is measured first: silence before the kernel asks, between its questions,
// and how many of them.
constexpr int kQuietSeconds = 60, kAskSeconds = 15, kQuestions = 4;

void TuneSocket(int fd) {
  const int on = 1;
  // Failures are harmless: these only trade latency, memory and time.
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes, sizeof kUnsentBytes);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kQuietSeconds, sizeof kQuietSeconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kAskSeconds, sizeof kAskSeconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kQuestions, sizeof kQuestions);
}

// On the thread that has made a text, so that the loop need not. Null if it is not wanted.
using Packs = std::shared_ptr<PackedTexts>;

void PackEarly(const Packs& packs, const std::shared_ptr<const std::string>& text) {
  if (packs == nullptr || text == nullptr) return;
  packs->Of(SharedBody{.owner = text, .bytes = *text, .kept_bytes = text->capacity()});
}

HttpConnection* Self(void* pointer) { return static_cast<HttpConnection*>(pointer); }

}  // namespace

HttpConnection::HttpConnection(ConnectionHost& host, std::uint64_t id, int fd)
    : host_(host),
      id_(id),
      peer_(PeerName(fd)),
      bufferevent_(bufferevent_socket_new(host.base(), fd, BEV_OPT_CLOSE_ON_FREE)),
      timer_event_(event_new(host.base(), -1, 0, &HttpConnection::OnTimer, this)),
      answer_event_(event_new(host.base(), -1, 0, &HttpConnection::OnAnswerLate, this)),
      parser_(host.limits(), &UseOfBody) {
  GOPMILL_CHECK(bufferevent_ != nullptr && timer_event_ != nullptr && answer_event_ != nullptr);
  TuneSocket(fd);
  host_.metrics().ConnectionOpened();
}

HttpConnection::~HttpConnection() { Close(How::kQuietly); }

void HttpConnection::Begin() {
  bufferevent* source = bufferevent_.get();
  bufferevent_setcb(source, &OnReadable, &OnWritten, &OnEvent, this);
  bufferevent_setwatermark(source, EV_READ, 0, kMaxInputBytes);
  const timeval stall = ToTimeval(host_.limits().write_stall_timeout);
  bufferevent_set_timeouts(source, nullptr, &stall);
  evbuffer_add_cb(input(), &OnInputChanged, this);
  evbuffer_add_cb(output(), &OnOutputChanged, this);
  bufferevent_enable(source, EV_READ | EV_WRITE);
  Arm(Timer::kHeader);
}

bool HttpConnection::idle() const {
  return phase_ == Phase::kReading && !parser_.mid_message() && evbuffer_get_length(input()) == 0 &&
         evbuffer_get_length(output()) == 0;
}

void HttpConnection::Close(How how) {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  LeaveWaiting();
  EndStream();
  CloseBody();
  timer_event_.reset();
  answer_event_.reset();
  answering_since_.reset();
  if (how == How::kReset) {
    const linger reset{.l_onoff = 1, .l_linger = 0};
    setsockopt(bufferevent_getfd(bufferevent_.get()), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
  evbuffer_remove_cb(input(), &OnInputChanged, this);
  evbuffer_remove_cb(output(), &OnOutputChanged, this);
  // What waits is let go of at once: libevent frees the rest a turn of the loop later.
  evbuffer_unfreeze(output(), 1);
  evbuffer_drain(output(), evbuffer_get_length(output()));
  bufferevent_.reset();
  if (std::exchange(stream_counted_, false)) host_.OnStreamOver();
  host_.metrics().ConnectionClosed();
  host_.Retire(id_);
}

std::string HttpConnection::About() const {
  constexpr std::size_t kShown = 200;  // of a target, which may have 8 KiB
  if (request_.target.empty()) return "a broken request of " + peer_;
  const std::string id = stream_ ? fmt::format("stream {}, ", stream_->id().value) : "";
  return fmt::format("{}{} of {}", id, request_.target.substr(0, kShown),
                     WhoAsks(request_, host_.context().users));
}

void HttpConnection::CutOff(std::string_view why) {
  spdlog::info("http: {}: cut off, {}", About(), why);
  Close(How::kReset);
}

void HttpConnection::ClientLeft(How how) {
  const bool running = stream_ != nullptr || awaits_work() || uploading();
  if (running) spdlog::debug("http: {}: the client has left", About());
  Close(how);
}

// Callbacks of libevent.

void HttpConnection::OnReadable(bufferevent* /*source*/, void* pointer) noexcept {
  HttpConnection* self = Self(pointer);
  const std::size_t length = evbuffer_get_length(self->input());
  if (self->phase_ == Phase::kReading) {
    self->ProcessInput();
  } else if (self->uploading()) {
    self->PumpBody();
  } else if ((self->phase_ == Phase::kStreaming || self->awaits_work()) &&
             length >= kMaxInputBytes) {
    self->Close(How::kReset);
  } else if (self->phase_ == Phase::kLingering) {
    evbuffer_drain(self->input(), length);  // the kernel may still have some of the answer
  }
}

void HttpConnection::OnWritten(bufferevent* /*source*/, void* pointer) noexcept {
  HttpConnection* self = Self(pointer);
  self->AnswerTaken();
  const bool answered = self->stream_ == nullptr && self->part_ == 0;
  if (answered && std::exchange(self->stream_counted_, false)) {
    self->host_.OnStreamOver();
  }
  if (self->phase_ == Phase::kFlushing) return self->Linger();
  // Pipelined requests may have been left unread while too many answers were waiting.
  if (self->phase_ == Phase::kReading) self->ProcessInput();
  // libevent also calls this once before anything was sent.
  if (self->idle() && self->timer_ == Timer::kNone) self->Arm(Timer::kIdle);
}

void HttpConnection::OnEvent(bufferevent* /*source*/, short what, void* pointer) noexcept {
  HttpConnection* self = Self(pointer);
  if ((what & BEV_EVENT_EOF) != 0) {
    self->OnEndOfInput();
  } else if ((what & BEV_EVENT_TIMEOUT) != 0) {
    const double seconds = ToSeconds(self->host_.limits().write_stall_timeout);
    self->CutOff(fmt::format("no byte was taken for {:.0f} s", seconds));
  } else if ((what & BEV_EVENT_ERROR) != 0) {
    self->ClientLeft(How::kReset);
  }
}

void HttpConnection::OnTimer(int /*fd*/, short /*what*/, void* pointer) noexcept {
  HttpConnection* self = Self(pointer);
  const Timer timer = std::exchange(self->timer_, Timer::kNone);
  const bool began = evbuffer_get_length(self->input()) > 0 || self->parser_.mid_message();
  if (timer == Timer::kHeader && began) {
    self->RefuseBroken(ProtocolProblem(408, "The request did not arrive in time."));
  } else if (timer == Timer::kUpload) {
    self->FailBody(ProtocolProblem(408, "The body stopped arriving."));
  } else if (timer == Timer::kPaused) {
    self->OnPaused();
  } else if (timer == Timer::kService || timer == Timer::kPart) {
    ++self->exchange_;
    self->LeaveWaiting();
    self->Respond(ErrorResponse({Code::kDeadlineExceeded, "The answer took too long to make."}));
    self->NextRequest();
  } else {
    self->Close(How::kQuietly);
  }
}

void HttpConnection::OnInputChanged(evbuffer* /*buffer*/, const evbuffer_cb_info* change,
                                    void* pointer) noexcept {
  if (change->n_added > 0) Self(pointer)->host_.metrics().Received(change->n_added);
}

void HttpConnection::OnOutputChanged(evbuffer* buffer, const evbuffer_cb_info* change,
                                     void* pointer) noexcept {
  HttpConnection* self = Self(pointer);
  if (change->n_deleted == 0) return;
  self->moved_at_ = SteadyNow();
  self->host_.metrics().Sent(change->n_deleted);
  if (self->stream_ != nullptr) {
    self->stream_->channel().SetInOutput(evbuffer_get_length(buffer));
  }
}

evbuffer* HttpConnection::input() const { return bufferevent_get_input(bufferevent_.get()); }
evbuffer* HttpConnection::output() const { return bufferevent_get_output(bufferevent_.get()); }

// Timers that run are left alone when armed again for the same purpose: a client that sends one
// byte now and then gains no time.
void HttpConnection::Arm(Timer timer) {
  if (timer_ == timer) return;
  timer_ = timer;
  event_del(timer_event_.get());
  const HttpLimits& limits = host_.limits();
  Duration after{};
  switch (timer) {
    case Timer::kNone: return;
    case Timer::kHeader: after = limits.header_timeout; break;
    case Timer::kIdle: after = limits.idle_timeout; break;
    case Timer::kService: after = limits.service_timeout; break;
    case Timer::kPart: after = limits.part_timeout; break;
    case Timer::kUpload: after = limits.upload_stall_timeout; break;
    case Timer::kPaused: after = kPausedInterval; break;
    case Timer::kLinger: after = limits.linger_timeout; break;
  }
  if (timer == Timer::kIdle) idle_since_ = SteadyNow();
  const timeval delay = ToTimeval(after);
  event_add(timer_event_.get(), &delay);
}

// Requests.

std::shared_ptr<PackedTexts> HttpConnection::WantedPacked() {
  const bool wanted = request_.method != "HEAD" && AcceptsGzip(request_);
  return wanted ? host_.packed() : nullptr;
}

void HttpConnection::ProcessInput() {
  while (phase_ == Phase::kReading) {
    if (evbuffer_get_length(output()) > host_.limits().pipeline_output_bytes) {
      return Arm(Timer::kNone);  // OnWritten goes on; the stall timeout watches meanwhile
    }
    if (!FeedParser()) break;
    Dispatch();
  }
  if (phase_ == Phase::kReading && input_ended_) FlushAndClose();
}

bool HttpConnection::FeedParser() {
  const std::size_t length = evbuffer_get_length(input());
  if (length == 0) return false;
  Arm(Timer::kHeader);
  const unsigned char* bytes = evbuffer_pullup(input(), -1);
  const std::size_t used = parser_.Feed({bytes, length});
  evbuffer_drain(input(), used);
  switch (parser_.state()) {
    case RequestParser::State::kHead: return false;
    case RequestParser::State::kDone: return true;
    case RequestParser::State::kFailed: break;
    case RequestParser::State::kBody:
      if (parser_.keeps_body()) return true;
      AskForBody(parser_.request());
      return false;
  }
  RefuseBroken(parser_.problem());
  return false;
}

// What came is no request, so nothing behind it is one either.
void HttpConnection::RefuseBroken(const Problem& problem) {
  request_ = {};
  route_ = RouteId::kUnknown;
  persistence_ = Persistence::kClose;
  Respond(ProblemResponse(problem));
}

void HttpConnection::AskForBody(const HttpRequest& request) {
  if (!request.AsksToContinue() || std::exchange(continue_sent_, true)) return;
  evbuffer_add_printf(output(), "HTTP/1.1 100 Continue\r\n\r\n");
}

void HttpConnection::Dispatch() {
  request_ = parser_.request();
  request_.peer = peer_;
  body_open_ = parser_.state() == RequestParser::State::kBody;
  if (!body_open_) parser_.Reset();
  continue_sent_ = false;
  ++exchange_;
  Arm(Timer::kNone);
  const bool keep = request_.keep_alive && !body_open_ && !host_.context().draining;
  persistence_ = keep ? Persistence::kKeepAlive : Persistence::kClose;
  HandledRequest handled = Handle(request_, host_.context());
  route_ = handled.route;
  if (auto* response = std::get_if<HttpResponse>(&handled.reply)) {
    Respond(std::move(*response));
  } else if (auto* deferred = std::get_if<DeferredReply>(&handled.reply)) {
    StartDeferred(*deferred);
  } else if (auto* part = std::get_if<PartReply>(&handled.reply)) {
    StartPart(std::move(*part));
  } else if (auto* publish = std::get_if<PublishReply>(&handled.reply)) {
    StartPublishing(*publish);
  } else {
    StartStream(std::get<StreamReply>(handled.reply));
  }
}

void HttpConnection::StartDeferred(const DeferredReply& reply) {
  if (reply.costly && input_ended_) return FlushAndClose();  // has left already, as with a stream
  phase_ = Phase::kWaiting;
  Arm(Timer::kService);
  left_ = std::stop_source();
  costly_ = reply.costly;
  reply.start(left_.get_token(),
              [post = host_.MakePoster(id_), exchange = exchange_, packs = WantedPacked(),
               finish = reply.finish](Result<SharedText> result) {
                if (result.ok()) PackEarly(packs, *result);
                post([exchange, finish, result = std::move(result)](HttpConnection& self) {
                  if (self.phase_ != Phase::kWaiting || self.exchange_ != exchange) return;
                  self.costly_ = false;
                  self.Respond(finish(result));
                  self.NextRequest();
                });
              });
}

void HttpConnection::StartPart(PartReply reply) {
  if (input_ended_) return FlushAndClose();  // has left already, as with a stream
  phase_ = Phase::kWaiting;
  Arm(Timer::kPart);
  if (!std::exchange(stream_counted_, true)) host_.OnStreamBegan();
  part_ = host_.context().service.OpenPart(
      std::move(reply.part), [post = host_.MakePoster(id_), exchange = exchange_,
                              packs = WantedPacked()](Result<MediaPart> part) {
        if (part.ok() && IsText(part->content_type)) PackEarly(packs, part->bytes);
        post([exchange, part = std::move(part)](HttpConnection& self) {
          if (self.phase_ != Phase::kWaiting || self.exchange_ != exchange) return;
          self.part_ = 0;
          self.Respond(PartResponse(self.request_, part, self.host_.context().users));
          self.NextRequest();
        });
      });
}

// Nobody waits for the answer any more: what is made for this client alone stops.
void HttpConnection::LeaveWaiting() {
  costly_ = false;
  left_.request_stop();
  if (part_ != 0) host_.context().service.CancelPart(std::exchange(part_, 0));
}

// After an answer. While it leaves, the limits on how it is taken rule: OnWritten goes on.
void HttpConnection::AwaitRequest() {
  if (evbuffer_get_length(input()) > 0) return Arm(Timer::kHeader);
  Arm(idle() ? Timer::kIdle : Timer::kNone);
}

void HttpConnection::NextRequest() {
  if (phase_ == Phase::kReading) ProcessInput();
}

// The end.

void HttpConnection::FlushAndClose() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kFlushing;
  Arm(Timer::kNone);
  if (evbuffer_get_length(output()) == 0) Linger();
}

void HttpConnection::Linger() {
  if (input_ended_) return Close(How::kQuietly);
  phase_ = Phase::kLingering;
  shutdown(bufferevent_getfd(bufferevent_.get()), SHUT_WR);
  evbuffer_drain(input(), evbuffer_get_length(input()));
  Arm(Timer::kLinger);
}

void HttpConnection::OnEndOfInput() {
  input_ended_ = true;
  const bool over = phase_ == Phase::kStreaming || phase_ == Phase::kLingering || uploading();
  if (over || (phase_ == Phase::kWaiting && awaits_work())) return ClientLeft(How::kQuietly);
  if (phase_ == Phase::kReading) ProcessInput();
}

}  // namespace gopmill
