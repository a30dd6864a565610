// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/puller.h"

#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "server/rtsp/gst_start.h"
#include "server/rtsp/pull_pauses.h"
#include "server/rtsp/pull_session.h"
#include "server/rtsp/track_caps.h"

namespace gopmill {
namespace {

// How late it is noticed that somebody wants a source, or that one has failed.
constexpr std::chrono::milliseconds kTick{100};
// A source goes on for this long behind its last reader: the next one has it at once.
constexpr std::chrono::seconds kLinger{10};

}  // namespace

class RtspPuller::Impl {
 public:
  Impl(const PullOptions& options, Service& service) : options_(options), service_(service) {
    for (const PullSource& source : options_.sources) {
      pulls_.push_back({.source = source, .pauses = PullPauses(options_.silence)});
      service_.SetPull(source.name, pulls_.back().state);
    }
  }
  Status Start() {
    GOPMILL_ASSIGN_OR_RETURN(thread_,
                             StartThread([this](const std::stop_token& stop) { Run(stop); }));
    return OkStatus();
  }
  ~Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

 private:
  struct Pull {  // of the thread
    PullSource source;
    std::shared_ptr<PullSession> session = nullptr;
    TimePoint wanted_until = {}, next_try = {};
    PullPauses pauses;
    PullState state = {};
    std::string left_out = {};  // of its streams, as the log says
  };

  void Run(const std::stop_token& stop) {
    do {
      for (Pull& pull : pulls_) Step(pull, SteadyNow());
    } while (SleepUntil(SteadyNow() + kTick, stop));
    for (Pull& pull : pulls_) End(pull);
  }

  void Step(Pull& pull, TimePoint now) {
    if (pull.source.always || service_.LiveWanted(pull.source.name)) {
      pull.wanted_until = now + kLinger;
    }
    const bool wanted = now < pull.wanted_until;
    if (pull.session == nullptr) {
      if (!wanted) return Enter(pull, PullPhase::kIdle);
      if (now < pull.next_try) return Enter(pull, PullPhase::kWaiting);
      Begin(pull);
    } else if (const auto failure = pull.session->failure()) {
      End(pull);
      WaitBehind(pull, *failure, now);
    } else if (!wanted) {
      End(pull);
    } else if (pull.session->published()) {
      pull.pauses.OnReceived(now);
      Enter(pull, PullPhase::kPlaying);
      TellWhatIsLeftOut(pull);
    }
  }

  // Once, not each time that it is fetched.
  static void TellWhatIsLeftOut(Pull& pull) {
    std::string left_out = pull.session->left_out();
    if (left_out == pull.left_out) return;
    pull.left_out = std::move(left_out);
    if (pull.left_out.empty()) return;
    spdlog::warn("live {}: left out, as it cannot be used: {}", pull.source.name, pull.left_out);
  }

  void Begin(Pull& pull) {
    pull.pauses.OnAttempt();
    ++pull.state.attempts;
    Enter(pull, PullPhase::kConnecting);
    pull.session = PullSession::Start(pull.source, options_.silence, service_);
  }

  void WaitBehind(Pull& pull, const PullFailure& failure, TimePoint now) {
    pull.next_try = now + pull.pauses.OnFailure(now, failure.refused);
    ++pull.state.failures;
    pull.state.last_error = failure.text;
    Enter(pull, PullPhase::kWaiting);
  }

  void Enter(Pull& pull, PullPhase phase) {
    if (pull.state.phase == phase) return;
    pull.state.phase = phase;
    pull.state.since = WallNow();
    service_.SetPull(pull.source.name, pull.state);
  }

  static void End(Pull& pull) {
    if (pull.session != nullptr) pull.session->Stop();
    pull.session.reset();
  }

  const PullOptions options_;
  Service& service_;
  std::vector<Pull> pulls_;
  std::jthread thread_;  // goes first: all above is its own
};

Result<std::unique_ptr<RtspPuller>> RtspPuller::Start(const PullOptions& options,
                                                      Service& service) {
  StartGStreamer();
  if (const std::string missing = MissingElements(); !missing.empty()) {
    return Error{.code = Code::kUnsupported,
                 .message = "RTSP lacks elements of GStreamer: " + missing + ".",
                 .parameter = "sources"};
  }
  auto impl = std::make_unique<Impl>(options, service);
  GOPMILL_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<RtspPuller>(new RtspPuller(std::move(impl)));
}

RtspPuller::RtspPuller(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RtspPuller::~RtspPuller() = default;

}  // namespace gopmill
