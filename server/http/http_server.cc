// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_server.h"

#include <event2/event.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ip_address.h"
#include "base/log.h"
#include "base/thread_safety.h"
#include "server/http/connection.h"
#include "server/http/event_loop.h"
#include "server/http/handlers.h"
#include "server/http/listener.h"
#include "server/http/problem.h"

namespace gopmill {
namespace {

// On loopback and without users it is the network that keeps others out, and a browser on this
// machine would let them in. Elsewhere where somebody has said which names are meant.
bool GuardsHost(const HttpOptions& options, const Users& users) {
  return !options.host_names.empty() || (IsLoopback(options.address) && users.empty());
}

// The whole answer to a connection for which there is no room; it is never looked at otherwise.
std::string RefusalText() {
  HttpResponse response =
      ProblemResponse(ProtocolProblem(503, "The server has no room for another connection."));
  response.fields.emplace_back("Content-Type", response.content_type);
  response.fields.emplace_back("Content-Length", std::to_string(response.body.size()));
  response.fields.emplace_back("Connection", "close");
  return FormatHead(response.status, response.fields) + response.body;
}

}  // namespace

// Everything below runs on the loop thread unless its comment says otherwise.
class HttpServer::Impl final : public ConnectionHost {
 public:
  Impl(const HttpOptions& options, Service& service)
      : options_(options),
        answers_(std::make_shared<WaitingAnswers>(options.limits.answer_bytes)),
        users_(options.users),
        context_{service, metrics_, users_, options_.host_names,
                 GuardsHost(options, options.users)} {}
  ~Impl() override { Stop(); }

  // Owner thread.
  Status Start() {
    if (options_.limits.stream_buffer_bytes < StreamChannel::kMinLimitBytes) {
      return InvalidArgument("stream_buffer_bytes", "The buffer of a stream is too small.",
                             "at least " + std::to_string(StreamChannel::kMinLimitBytes));
    }
    GOPMILL_ASSIGN_OR_RETURN(loop_, EventLoop::Create());
    Listener::Callbacks callbacks = {[this](int fd) { Accept(fd); },
                                     [this] {
                                       metrics_.AcceptFailed();
                                       return EvictIdle(options_.limits.newcomer_time);
                                     }};
    GOPMILL_ASSIGN_OR_RETURN(listener_,
                             Listener::Open(loop_->base(), options_, std::move(callbacks)));
    port_ = listener_->port();
    return loop_->Start();
  }

  // Owner thread.
  std::size_t Drain(Duration limit) {
    RunOnLoop([this] { context_.draining = true; });
    AwaitStreams(limit);
    std::size_t cut = 0;
    RunOnLoop([this, &cut] { cut = CutStreams(); });
    return cut;
  }

  // Owner thread.
  void SetUsers(Users users) {
    RunOnLoop([this, &users] {
      users_ = std::move(users);
      context_.own_names_only = GuardsHost(options_, users_);
    });
  }

  // Owner thread.
  void SetMaxConnections(std::size_t most) {
    RunOnLoop([this, most] { max_connections_ = most; });
  }

  // Owner thread. After the loop has ended, this thread is the only one left here.
  void Stop() {
    if (loop_ == nullptr) return;
    loop_->Stop();
    listener_.reset();
    while (!connections_.empty())
      connections_.begin()->second->Close(HttpConnection::How::kQuietly);
    retired_.clear();
    loop_.reset();
  }

  int port() const { return port_; }
  HttpStats stats() const { return metrics_.Snapshot(); }

  // ConnectionHost.
  event_base* base() override { return loop_->base(); }
  const HttpLimits& limits() override { return options_.limits; }
  const HandlerContext& context() override { return context_; }
  HttpMetrics& metrics() override { return metrics_; }

  Poster MakePoster(std::uint64_t connection) override {
    // Only the task touches `this`, and tasks run while the loop lives.
    return [this, mailbox = loop_->mailbox(), connection](Task task) {
      mailbox->Post([this, connection, task = std::move(task)] {
        const auto found = connections_.find(connection);
        if (found != connections_.end()) task(*found->second);
      });
    };
  }

  const std::shared_ptr<WaitingAnswers>& answers() override { return answers_; }
  const std::shared_ptr<PackedTexts>& packed() override { return packed_; }

  bool MakeRoom(std::uint64_t connection, const SharedBody& body) override {
    while (!answers_->HasRoom(body)) {
      HttpConnection* slowest = SlowestReader(connection);
      if (slowest == nullptr) return false;
      slowest->CutOff("too much waits for slow clients");
    }
    return true;
  }

  void OnStreamBegan() override {
    metrics_.StreamStarted();
    MutexLock lock(mutex_);
    ++streams_;
  }

  void OnStreamOver() override {
    metrics_.StreamEnded();
    MutexLock lock(mutex_);
    --streams_;
    if (streams_ == 0) no_streams_.NotifyAll();
  }

  void Retire(std::uint64_t connection) override {
    auto node = connections_.extract(connection);
    if (node.empty()) return;
    retired_.push_back(std::move(node.mapped()));
    loop_->mailbox()->Post([this] { retired_.clear(); });
  }

 private:
  void Accept(int fd) {
    if (connections_.size() >= max_connections_ && !EvictIdle()) return Refuse(fd);
    const std::uint64_t id = next_id_++;
    auto connection = std::make_unique<HttpConnection>(*this, id, fd);
    connection->Begin();
    connections_.emplace(id, std::move(connection));
  }

  // Closes the connection that has been idle for the longest time. False if none is idle. One that
  // has not asked for anything yet has so long for that.
  bool EvictIdle(Duration newcomer = {}) {
    const TimePoint arrived_before = SteadyNow() - newcomer;
    HttpConnection* oldest = nullptr;
    for (const auto& [id, connection] : connections_) {
      const bool is_new = !connection->has_asked() && connection->idle_since() > arrived_before;
      if (!connection->idle() || is_new) continue;
      if (oldest == nullptr || connection->idle_since() < oldest->idle_since()) {
        oldest = connection.get();
      }
    }
    if (oldest == nullptr) return false;
    oldest->Close(HttpConnection::How::kQuietly);
    return true;
  }

  // The one, other than `asking`, that has taken longest over its answer; null if none has taken
  // longer than patience allows.
  HttpConnection* SlowestReader(std::uint64_t asking) {
    HttpConnection* slowest = nullptr;
    TimePoint earliest = SteadyNow() - options_.limits.answer_patience;
    for (const auto& [id, connection] : connections_) {
      const auto& since = connection->answering_since();
      if (id == asking || !since || *since > earliest) continue;
      slowest = connection.get();
      earliest = *since;
    }
    return slowest;
  }

  void Refuse(int fd) {
    metrics_.ConnectionRefused();
    const ssize_t sent = send(fd, refusal_.data(), refusal_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) spdlog::debug("http: a refused client did not take its answer");
    close(fd);
  }

  std::size_t CutStreams() {
    std::vector<HttpConnection*> streaming;
    for (const auto& [id, connection] : connections_) {
      if (connection->streaming()) streaming.push_back(connection.get());
    }
    for (HttpConnection* connection : streaming) connection->CutOff("the time to finish is over");
    return streaming.size();
  }

  // Owner thread.
  void RunOnLoop(const std::function<void()>& task) {
    std::promise<void> done;
    loop_->mailbox()->Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

  // Owner thread.
  void AwaitStreams(Duration limit) {
    const TimePoint deadline = SteadyNow() + limit;
    MutexLock lock(mutex_);
    for (TimePoint now = SteadyNow(); streams_ > 0 && now < deadline; now = SteadyNow()) {
      no_streams_.WaitFor(mutex_, deadline - now);
    }
  }

  const HttpOptions options_;
  const std::string refusal_ = RefusalText();
  const std::shared_ptr<WaitingAnswers> answers_;
  const std::shared_ptr<PackedTexts> packed_ = std::make_shared<PackedTexts>();
  HttpMetrics metrics_;
  Users users_;                                                    // loop thread only
  std::size_t max_connections_ = options_.limits.max_connections;  // loop thread only
  HandlerContext context_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<Listener> listener_;
  int port_ = 0;
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint64_t, std::unique_ptr<HttpConnection>> connections_;
  std::vector<std::unique_ptr<HttpConnection>> retired_;  // closed, destroyed at the next turn
  Mutex mutex_;                                           // guards streams_
  CondVar no_streams_;
  std::size_t streams_ GOPMILL_GUARDED_BY(mutex_) = 0;
};

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpOptions& options,
                                                      Service& service) {
  auto impl = std::make_unique<Impl>(options, service);
  GOPMILL_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;
int HttpServer::port() const { return impl_->port(); }
void HttpServer::SetUsers(Users users) { impl_->SetUsers(std::move(users)); }
void HttpServer::SetMaxConnections(std::size_t most) { impl_->SetMaxConnections(most); }
std::size_t HttpServer::Drain(Duration limit) { return impl_->Drain(limit); }
void HttpServer::Stop() { impl_->Stop(); }
HttpStats HttpServer::stats() const { return impl_->stats(); }

}  // namespace gopmill
