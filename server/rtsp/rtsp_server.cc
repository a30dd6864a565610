// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtsp_server.h"

#include <gst/rtsp-server/rtsp-server.h>

#include <algorithm>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/log_limit.h"
#include "base/thread.h"
#include "base/thread_safety.h"
#include "server/api/live_name.h"
#include "server/rtsp/client_count.h"
#include "server/rtsp/client_listener.h"
#include "server/rtsp/client_requests.h"
#include "server/rtsp/client_state.h"
#include "server/rtsp/client_sweep.h"
#include "server/rtsp/client_threads.h"
#include "server/rtsp/describe_path.h"
#include "server/rtsp/gst_ptr.h"
#include "server/rtsp/gst_start.h"
#include "server/rtsp/interleaved_data.h"
#include "server/rtsp/means.h"
#include "server/rtsp/mount_table.h"
#include "server/rtsp/movie_factory.h"
#include "server/rtsp/movie_media.h"
#include "server/rtsp/playback.h"
#include "server/rtsp/publishing.h"
#include "server/rtsp/rtsp_answer.h"
#include "server/rtsp/rtsp_auth.h"
#include "server/rtsp/rtsp_request.h"
#include "server/rtsp/shared_media.h"
#include "server/rtsp/track_caps.h"

namespace gopmill {
namespace {

// Threads that answer requests: one for each connection, since a DESCRIBE waits for the first
// packet of its stream, and what a publisher sends is read on its client's thread.
constexpr int kClientThreads = -1;
constexpr int kListenBacklog = 128;
// How long Stop waits for clients to be closed on their own threads until it cuts their
// connections, and without a word.
constexpr std::chrono::seconds kCutPatience(3);
constexpr std::chrono::seconds kClosePatience(10);
constexpr guint kMaxBody = 64 << 10;  // of a request: an SDP, parameters

}  // namespace

// Client threads, but for MayCome, OnConnected and Run (the loop) and Start, Stop and CloseAll (the
// owner). OnClosed runs on a client's thread or, at the end, on the owner's.
class RtspServer::Impl {
 public:
  Impl(const RtspOptions& options, Service& service) : options_(options), service_(service) {}
  ~Impl() { Stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status Start();                     // owner thread
  void SetUsers(const Users& users);  // owner thread
  void Stop();                        // owner thread
  [[nodiscard]] int port() const { return port_; }

 private:
  [[nodiscard]] ClientListener::Coming MayCome();
  static void OnConnected(GstRTSPServer* server, GstRTSPClient* client, gpointer self) noexcept;
  static GstRTSPStatusCode OnDescribe(GstRTSPClient* client, GstRTSPContext* context,
                                      gpointer self) noexcept;
  [[nodiscard]] bool IsFull() const;  // no session is left
  static void OnAnswer(GstRTSPClient* client, GstRTSPContext* context, GstRTSPMessage* message,
                       gpointer self) noexcept;
  static void OnSession(GstRTSPClient* client, GstRTSPSession* session, gpointer self) noexcept;
  static void OnClosed(GstRTSPClient* client, gpointer self) noexcept;
  Status Describe(GstRTSPClient& client, const GstRTSPUrl& url);
  void AskForUsers(const Users& users);  // the loop, or before it runs
  void CloseAll();                       // when the loop has ended; waits for all clients
  void ForgetSessions(ClientState& state);
  void Run(const std::stop_token& stop) noexcept;

  const RtspOptions options_;
  Service& service_;
  UserTable users_;
  GMainContext* context_ = nullptr;
  gst::Object<GstRTSPServer> server_;
  gst::Object<GstRTSPSessionPool> sessions_;
  gst::Object<GstRTSPMediaFactory> movies_;
  gst::Object<GstRTSPMediaFactory> live_;  // one media, and so one encode, for all who ask alike
  std::unique_ptr<Publishing> publishing_;
  MountTable mounted_;
  std::optional<ClientListener> listener_;
  std::optional<ClientSweep> sweep_;
  std::stop_source stopping_;
  LogLimit full_warnings_{std::chrono::minutes(1)};
  ClientCount clients_;
  int port_ = 0;
  std::jthread thread_;
};

Status RtspServer::Impl::Start() {
  StartGStreamer();
  if (const std::string missing = MissingElements(); !missing.empty()) {
    return Error{.code = Code::kUnsupported,
                 .message = "RTSP lacks elements of GStreamer: " + missing + ".",
                 .parameter = "rtsp-port"};
  }
  server_ = gst::Adopt(gst_rtsp_server_new());
  gst_rtsp_server_set_address(server_.get(), options_.address.c_str());
  gst_rtsp_server_set_service(server_.get(), std::to_string(options_.port).c_str());
  gst_rtsp_server_set_backlog(server_.get(), kListenBacklog);
  gst_rtsp_server_set_content_length_limit(server_.get(), kMaxBody);
  sessions_ = gst::Adopt(gst_rtsp_server_get_session_pool(server_.get()));
  gst_rtsp_session_pool_set_max_sessions(sessions_.get(),
                                         static_cast<guint>(options_.max_sessions));
  gst_rtsp_server_set_thread_pool(server_.get(), MakeClientThreads(kClientThreads).get());
  movies_ = MakeMovieFactory(service_, options_.max_sessions);
  live_ = MakeMovieFactory(service_, options_.max_sessions);
  gst_rtsp_media_factory_set_shared(live_.get(), TRUE);
  publishing_ = Publishing::Make(service_, options_.publisher_timeout);
  gst_rtsp_server_set_mount_points(server_.get(), publishing_->mounts());
  if (!options_.users.empty()) AskForUsers(options_.users);
  g_signal_connect(server_.get(), "client-connected", G_CALLBACK(&OnConnected), this);

  context_ = g_main_context_new();
  listener_.emplace(*server_, [this] { return MayCome(); });
  if (!listener_->Start(context_)) {
    return Error{.code = Code::kUnavailable,
                 .message = "RTSP cannot listen on " + options_.address + " port " +
                            std::to_string(options_.port) + ".",
                 .parameter = "rtsp-port",
                 .accepted = "a free port and an address of this machine, or 0 for no RTSP"};
  }
  port_ = listener_->port();
  sweep_.emplace(*server_, options_.idle_timeout, options_.stall_timeout);
  sweep_->Start(context_);
  GOPMILL_ASSIGN_OR_RETURN(thread_,
                           StartThread([this](const std::stop_token& stop) { Run(stop); }));
  return OkStatus();
}

// Clients that came before there were any users are asked for one now, too.
void RtspServer::Impl::AskForUsers(const Users& users) {
  users_.Set(users);
  gst_rtsp_server_set_auth(server_.get(), users_.auth());
  const auto ask = [](GstRTSPServer*, GstRTSPClient* client, gpointer auth) noexcept {
    gst_rtsp_client_set_auth(client, static_cast<GstRTSPAuth*>(auth));
    return GST_RTSP_FILTER_KEEP;
  };
  g_list_free(gst_rtsp_server_client_filter(server_.get(), ask, users_.auth()));
}

// On the loop, where clients come: none slips in between with what the server had before.
void RtspServer::Impl::SetUsers(const Users& users) {
  struct Task {
    Impl& self;
    const Users& users;
    std::promise<void> done;
  } task{*this, users, {}};
  const auto run = [](gpointer data) noexcept -> gboolean {
    auto& asked = *static_cast<Task*>(data);
    asked.self.AskForUsers(asked.users);
    asked.done.set_value();
    return G_SOURCE_REMOVE;
  };
  g_main_context_invoke(context_, run, &task);
  task.done.get_future().wait();
}

// No GMainLoop: one that is told to quit before it runs forgets it. A wakeup is kept.
void RtspServer::Impl::Run(const std::stop_token& stop) noexcept {
  g_main_context_push_thread_default(context_);
  while (!stop.stop_requested()) g_main_context_iteration(context_, TRUE);
  g_main_context_pop_thread_default(context_);
}

void RtspServer::Impl::Stop() {
  if (context_ == nullptr) return;
  thread_.request_stop();
  g_main_context_wakeup(context_);
  if (thread_.joinable()) thread_.join();
  listener_.reset();  // nobody comes any more
  if (server_ != nullptr) CloseAll();
  sweep_.reset();
  movies_.reset();
  live_.reset();
  sessions_.reset();
  server_.reset();
  publishing_.reset();
  while (g_main_context_iteration(context_, FALSE) != 0) {
  }
  g_main_context_unref(context_);
  context_ = nullptr;
}

void RtspServer::Impl::CloseAll() {
  const auto close = [](GstRTSPServer*, GstRTSPClient* client, gpointer) noexcept {
    const ClientState* state = StateOf(client);
    if (state != nullptr && HasSession(*client)) {
      spdlog::info("rtsp: {}: closed, the server ends", state->peer);
    }
    return CloseSoon(client) ? GST_RTSP_FILTER_KEEP : GST_RTSP_FILTER_REMOVE;
  };
  const auto cut = [](GstRTSPServer*, GstRTSPClient* client, gpointer) noexcept {
    CloseSoon(client);
    return GST_RTSP_FILTER_KEEP;
  };
  const auto remove_session = [](GstRTSPSessionPool*, GstRTSPSession*, gpointer) noexcept {
    return GST_RTSP_FILTER_REMOVE;
  };
  const auto remove = [](GstRTSPServer*, GstRTSPClient*, gpointer) noexcept {
    return GST_RTSP_FILTER_REMOVE;
  };
  stopping_.request_stop();
  g_list_free(gst_rtsp_server_client_filter(server_.get(), close, nullptr));
  if (!clients_.AwaitNone(kCutPatience)) {
    g_list_free(gst_rtsp_server_client_filter(server_.get(), cut, nullptr));
  }
  if (!clients_.AwaitNone(kClosePatience - kCutPatience)) {
    spdlog::warn("rtsp: {} clients do not end yet", clients_.here());
  }
  // Their threads are inside the library, which comes back to what is destroyed behind this.
  clients_.AwaitNone();
  g_list_free(gst_rtsp_server_client_filter(server_.get(), remove, nullptr));
  g_list_free(gst_rtsp_session_pool_filter(sessions_.get(), remove_session, nullptr));
}

// On the loop. Who is silent goes for who comes, or else a client could keep out all others by
// connecting again and again.
ClientListener::Coming RtspServer::Impl::MayCome() {
  using Coming = ClientListener::Coming;
  const int connected = clients_.here();
  if (connected < options_.max_sessions + kSpareConnections) return Coming::kNow;
  const bool somebody_goes = sweep_->MakeRoom();
  if (connected < options_.max_sessions + kMaxSpareConnections) return Coming::kNow;
  if (somebody_goes) return Coming::kLater;
  if (full_warnings_.Allows()) {
    spdlog::warn("rtsp: {} are connected, more are sent away", connected);
  }
  return Coming::kNever;
}

void RtspServer::Impl::OnConnected(GstRTSPServer* /*server*/, GstRTSPClient* client,
                                   gpointer self) noexcept {
  auto& impl = *static_cast<Impl*>(self);
  AttachState(client, impl.stopping_.get_token(), impl.clients_.Enter());
  g_signal_connect(client, "pre-describe-request", G_CALLBACK(&OnDescribe), self);
  FollowRequests(client);
  g_signal_connect(client, "send-message", G_CALLBACK(&OnAnswer), self);
  g_signal_connect(client, "new-session", G_CALLBACK(&OnSession), self);
  g_signal_connect(client, "closed", G_CALLBACK(&OnClosed), self);
}

void RtspServer::Impl::OnSession(GstRTSPClient* client, GstRTSPSession* session,
                                 gpointer self) noexcept {
  const auto timeout = std::chrono::duration_cast<std::chrono::seconds>(
      static_cast<Impl*>(self)->options_.session_timeout);
  gst_rtsp_session_set_timeout(session, static_cast<guint>(timeout.count()));
  ClientState* state = StateOf(client);
  GstRTSPSessionPool* pool = static_cast<Impl*>(self)->sessions_.get();
  const MutexLock lock(state->mutex);
  std::erase_if(state->sessions, [pool](const std::string& id) {  // those that ended by TEARDOWN
    return gst::Adopt(gst_rtsp_session_pool_find(pool, id.c_str())) == nullptr;
  });
  state->sessions.emplace_back(gst_rtsp_session_get_sessionid(session));
}

// The library takes a client's sessions from the client when its connection goes; in the pool, and
// in the limit, they stay until they time out.
void RtspServer::Impl::ForgetSessions(ClientState& state) {
  std::vector<std::string> ended;
  {
    const MutexLock lock(state.mutex);
    ended.swap(state.sessions);
  }
  for (const std::string& id : ended) {
    const auto session = gst::Adopt(gst_rtsp_session_pool_find(sessions_.get(), id.c_str()));
    if (session != nullptr) gst_rtsp_session_pool_remove(sessions_.get(), session.get());
  }
}

// The stream is opened here, because an error can still be told here.
GstRTSPStatusCode RtspServer::Impl::OnDescribe(GstRTSPClient* client, GstRTSPContext* context,
                                               gpointer self) noexcept {
  ClientState& state = *StateOf(client);
  NoteRequest(state);
  if (const auto user = CheckRole(*context, Role::kRead); user != GST_RTSP_STS_OK) {
    SetRefused(state, user);
    return user;
  }
  const Status status = static_cast<Impl*>(self)->Describe(*client, *context->uri);
  if (status.ok()) return GST_RTSP_STS_OK;
  const Error& error = status.error();
  if (error.code == Code::kInternal) spdlog::error("rtsp: {}", error.ToString());
  SetProblem(state, error);
  return static_cast<GstRTSPStatusCode>(RtspStatusOf(error.code));
}

// What takes long is done here, on a thread that is the client's own, and not where the library
// makes the media, which it does for one client at a time.
Status RtspServer::Impl::Describe(GstRTSPClient& client, const GstRTSPUrl& url) {
  GOPMILL_ASSIGN_OR_RETURN(const RtspRequest request, PlayRequestOf(url));
  GOPMILL_RETURN_IF_ERROR(CheckMeans());
  ClientState* state = StateOf(&client);
  const bool live = request.path.starts_with(kLivePrefix);
  MediaClaim claim{.make = true, .hold = nullptr};
  if (live) {
    GOPMILL_RETURN_IF_ERROR(
        CheckLiveName(std::string_view(request.path).substr(kLivePrefix.size())));
    GOPMILL_ASSIGN_OR_RETURN(claim, ClaimMedia(*live_, UrlKey(url), state->leave.get_token()));
  }
  std::shared_ptr<Playback> playback;
  if (claim.make) {
    GOPMILL_ASSIGN_OR_RETURN(playback, Playback::Open(service_, request, state->leave.get_token()));
  }
  const auto mounts = gst::Adopt(gst_rtsp_server_get_mount_points(server_.get()));
  mounted_.Mount(*mounts, DescribePath(*state, url.abspath), live ? *live_ : *movies_);
  const MutexLock lock(state->mutex);
  state->opened_url = UrlKey(url);
  std::swap(state->opened, playback);
  std::swap(state->claim, claim.hold);
  return OkStatus();
}

bool RtspServer::Impl::IsFull() const {
  return gst_rtsp_session_pool_get_n_sessions(sessions_.get()) >=
         gst_rtsp_session_pool_get_max_sessions(sessions_.get());
}

void RtspServer::Impl::OnAnswer(GstRTSPClient* client, GstRTSPContext* context,
                                GstRTSPMessage* message, gpointer self) noexcept {
  if (message->type != GST_RTSP_MESSAGE_RESPONSE) return;
  ClientState* state = StateOf(client);
  const bool done = message->type_data.response.code == GST_RTSP_STS_OK;
  if (done) NoteChannels(*context);
  if (done && context->method == GST_RTSP_PLAY && context->media != nullptr &&
      gst_rtsp_media_is_shared(context->media) != FALSE) {
    LetAllPlay(*context->media);
  }
  const std::shared_ptr<void> described = TakeClaim(*state);
  CompleteAnswer(*state, *context, *message, static_cast<Impl*>(self)->IsFull());
  const MutexLock lock(state->mutex);
  state->heard = SteadyNow();
  state->answering = false;
}

// A client whose connection is gone does not come back: its sessions end now, not at their timeout.
void RtspServer::Impl::OnClosed(GstRTSPClient* client, gpointer self) noexcept {
  ClientState* state = StateOf(client);
  {
    const MutexLock lock(state->mutex);
    if (std::exchange(state->closed, true)) return;
  }
  Publishing::Finish(*state);
  const auto remove = [](GstRTSPClient*, GstRTSPSession*, gpointer) noexcept {
    return GST_RTSP_FILTER_REMOVE;
  };
  g_list_free(gst_rtsp_client_session_filter(client, remove, nullptr));
  static_cast<Impl*>(self)->ForgetSessions(*state);
  std::shared_ptr<Playback> unused;
  const std::shared_ptr<void> claim = TakeClaim(*state);
  const MutexLock lock(state->mutex);
  std::swap(state->opened, unused);
  state->socket = UniqueFd();
}

bool RtspServer::Built() { return true; }

Result<std::unique_ptr<RtspServer>> RtspServer::Start(const RtspOptions& options,
                                                      Service& service) {
  auto impl = std::make_unique<Impl>(options, service);
  GOPMILL_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<RtspServer>(new RtspServer(std::move(impl)));
}

RtspServer::RtspServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RtspServer::~RtspServer() = default;
int RtspServer::port() const { return impl_->port(); }
void RtspServer::SetUsers(const Users& users) { impl_->SetUsers(users); }
void RtspServer::Stop() { impl_->Stop(); }

}  // namespace gopmill
