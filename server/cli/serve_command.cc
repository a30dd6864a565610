// SPDX-License-Identifier: Apache-2.0
//
// The server's life: settings, log, engine, HTTP; then wait for signals. The end, in order: no new
// streams, running ones get their time, HTTP stops, the engine stops.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <sstream>

#include "base/ip_address.h"
#include "base/log.h"
#include "config/config_loader.h"
#include "config/reload.h"
#include "config/users.h"
#include "scheduler/policy_registry.h"
#include "scheduler/service_class.h"
#include "server/bench/machine.h"
#include "server/bench/trace_recorder.h"
#include "server/cli/commands.h"
#include "server/cli/exit_codes.h"
#include "server/cli/job_setup.h"
#include "server/cli/open_files.h"
#include "server/cli/serve_checks.h"
#include "server/cli/serve_signals.h"
#include "server/cli/signals.h"
#include "server/cli/systemd_notifier.h"
#include "server/cli/text_output.h"
#include "server/http/access.h"
#include "server/http/http_server.h"
#include "server/live/push_listener.h"
#include "server/rtsp/puller.h"
#include "server/rtsp/rtsp_server.h"
#include "server/service/media_service.h"
#include "server/stream/build_identity.h"
#include "server/stream/engine.h"

namespace gopmill::cli {
namespace {

std::chrono::seconds DrainOf(const ServerConfig& config) {
  return std::chrono::seconds(config.drain_timeout_seconds);
}

ConfigSources SourcesOf(const ServeArgs& args) {
  return {.file = args.config_file, .environment = ProcessEnvironment, .flags = args.flags};
}

// For a start.
Status CheckAll(const ServerConfig& config) {
  GOPMILL_RETURN_IF_ERROR(CheckLibrary(config));
  return CheckSettings(config);
}

// As many files as there may be; with fewer than the settings may need, fewer connections, as far
// as that goes.
std::size_t RoomForConnections(const ServerConfig& config) {
  const std::int64_t files = RaiseOpenFileLimit();
  const std::int64_t connections = ConnectionsWithin(files, config);
  if (files < OpenFilesFor(config)) {
    spdlog::warn(
        "only {} files may be open: at most {} connections; the settings may need {} "
        "(ulimit -Hn)",
        files, connections, OpenFilesFor(config));
  }
  return static_cast<std::size_t>(connections);
}

HttpOptions HttpOptionsOf(const ServerConfig& config, const Users& users) {
  HttpOptions options;
  options.address = config.http.address;
  options.port = static_cast<int>(config.http.port);
  options.users = users;
  options.host_names = ParseHostNames(config.http.host_names).value();  // CheckSettings saw it
  options.limits.max_connections = RoomForConnections(config);
  options.limits.stream_buffer_bytes = static_cast<std::size_t>(config.streams.sink_buffer_bytes);
  options.limits.header_timeout = std::chrono::seconds(config.http.header_timeout_seconds);
  options.limits.idle_timeout = std::chrono::seconds(config.http.idle_timeout_seconds);
  options.limits.write_stall_timeout = std::chrono::seconds(config.http.stall_timeout_seconds);
  return options;
}

// The RTSP server, or null where it is off. The default port is not worth failing for: another
// server may have it, or this build no RTSP. A port that was asked for is.
Result<std::unique_ptr<RtspServer>> StartRtsp(const LoadedConfig& loaded, const Users& users,
                                              Service& service) {
  const ServerConfig::Rtsp& settings = loaded.config.rtsp;
  if (settings.port == 0) return std::unique_ptr<RtspServer>();
  RtspOptions options;
  options.address = settings.address;
  options.port = static_cast<int>(settings.port);
  options.max_sessions = static_cast<int>(settings.max_sessions);
  options.session_timeout = std::chrono::seconds(settings.session_timeout_seconds);
  options.users = users;
  options.stall_timeout = std::chrono::seconds(settings.stall_timeout_seconds);
  options.publisher_timeout = std::chrono::seconds(settings.publisher_timeout_seconds);
  auto server = RtspServer::Start(options, service);
  if (server.ok()) {
    WriteStderr("listening on " + UrlOf("rtsp", settings.address, (*server)->port()) + "\n");
    return server;
  }
  if (loaded.origins.contains("/rtsp/port")) return server.error();
  spdlog::warn("no RTSP: {}", server.error().message);
  return std::unique_ptr<RtspServer>();
}

// What fetches the sources from elsewhere, or null if there are none.
Result<std::unique_ptr<RtspPuller>> StartPuller(const ServerConfig& config, Service& service) {
  PullOptions options;
  GOPMILL_ASSIGN_OR_RETURN(options.sources, ParsePullSources(config.sources, config.live.pull));
  if (options.sources.empty()) return std::unique_ptr<RtspPuller>();
  options.silence = std::chrono::seconds(config.rtsp.publisher_timeout_seconds);
  return RtspPuller::Start(options, service);
}

// What takes streams by SRT or RTMP, or null where it is off.
Result<std::unique_ptr<PushListener>> StartPush(PushProtocol protocol, const ServerConfig& config,
                                                Service& service) {
  const PushOptions options = PushOptionsOf(protocol, config);
  const PushAddress& address = options.address;
  if (address.port == 0) return std::unique_ptr<PushListener>();
  auto listener = PushListener::Start(options, service);
  if (listener.ok()) WriteStderr("listening on " + PushUrl(address) + "\n");
  return listener;
}

// What runs, and with which settings.
struct Running {
  MediaService& service;
  HttpServer& http;
  RtspServer* rtsp;  // or null
  SystemdNotifier& systemd;
  ServerConfig config;
  std::string listening;  // where, for people
};

// The same URLs as on stderr. Of a start: a reload changes none of them.
std::string ListeningOn(const ServerConfig& config, const HttpServer& http,
                        const RtspServer* rtsp) {
  std::string text = "Listening on " + UrlOf("http", config.http.address, http.port());
  if (rtsp != nullptr) text += ", " + UrlOf("rtsp", config.rtsp.address, rtsp->port());
  for (const PushProtocol protocol : {PushProtocol::kSrt, PushProtocol::kRtmp}) {
    const PushAddress address = PushOptionsOf(protocol, config).address;
    if (address.port != 0) text += ", " + PushUrl(address);
  }
  return text;
}

// None that the next start would refuse, and such that go with what stays until then. The library
// that is in use is not looked at: its disk may be away for a while, and whoever looks at a dead
// one does not come back.
Result<Reloaded> LoadAgain(const ServeArgs& args, const ServerConfig& running) {
  GOPMILL_ASSIGN_OR_RETURN(const LoadedConfig loaded, LoadConfig(SourcesOf(args)));
  if (loaded.config.library != running.library) {
    GOPMILL_RETURN_IF_ERROR(CheckLibrary(loaded.config));
  }
  GOPMILL_RETURN_IF_ERROR(CheckSettings(loaded.config));
  Reloaded reloaded = Reload(running, loaded.config);
  GOPMILL_RETURN_IF_ERROR(CheckSettings(reloaded.config));
  return reloaded;
}

// One line of the log for each problem.
void LogRefusal(const Error& error) {
  std::istringstream lines(error.ToString());
  for (std::string line; std::getline(lines, line);) {
    spdlog::error("reload refused, nothing changed: {}", line);
  }
}

void SetUsers(Running& running) {
  const Users users = Users::Parse(running.config.auth.users).value();  // CheckSettings saw it
  running.http.SetUsers(users);
  if (running.rtsp != nullptr) running.rtsp->SetUsers(users);
}

// Reads the settings again; what cannot change while running is said. False if they were refused.
bool ReloadSettings(const ServeArgs& args, SignalQueue& queue, Running& running) {
  const auto reloaded = LoadAgain(args, running.config);
  if (!reloaded.ok()) {
    LogRefusal(reloaded.error());
    return false;
  }
  const bool other_users = reloaded->config.auth != running.config.auth;
  const bool other_streams = reloaded->config.streams.max != running.config.streams.max;
  running.config = reloaded->config;
  running.service.Reload(running.config);
  queue.SetDrain(DrainOf(running.config));
  if (other_users) SetUsers(running);
  if (other_streams) running.http.SetMaxConnections(RoomForConnections(running.config));
  if (const Status level = SetLogLevel(running.config.log.level); !level.ok()) {
    spdlog::error("reload: {}", level.error().message);
  }
  if (reloaded->changes.empty()) spdlog::info("reload: no setting changed");
  for (const ConfigChange& change : reloaded->changes) {
    spdlog::log(change.applied ? spdlog::level::info : spdlog::level::warn, "reload: {}",
                change.ToString());
  }
  return true;
}

void OnReload(const ServeArgs& args, SignalQueue& queue, Running& running) {
  running.systemd.Reloading();
  const bool taken = ReloadSettings(args, queue, running);
  running.systemd.Ready(taken ? running.listening
                              : running.listening + "; a reload was refused, the log says why");
}

// Until the first signal that asks for the end.
void WaitForEnd(const ServeArgs& args, SignalQueue& queue, Terminal& terminal, Running& running) {
  constexpr Duration kBetweenLooks = std::chrono::seconds(10);
  while (true) {
    const std::optional<int> signal = queue.Pop(kBetweenLooks);
    if (!signal) {
      terminal.Look();
      running.systemd.SendAgain();
      GiveBackFreeMemory();
      running.service.FitWorkers();
    } else if (*signal == SIGHUP && !terminal.Gone()) {
      OnReload(args, queue, running);
    } else {
      return;
    }
  }
}

// Of a start: what has begun by then, and may have been asked already, has to end.
int FailStart(const Error& error) {
  SetAlarm(kEndPatience);
  return Fail("serve", error);
}

using Recorder = std::shared_ptr<bench::TraceRecorder>;

// Null unless a recording was asked for.
Result<Recorder> MakeRecorder(const ServeArgs& args, const ServerConfig& config) {
  if (args.record.empty()) return Recorder();
  std::vector<ServiceClass> classes;
  if (!config.scheduler.classes.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(classes, ParseClasses(config.scheduler.classes));
  }
  const bench::Machine machine = bench::DescribeMachine();
  return bench::TraceRecorder::Create(
      args.record,
      {.machine = fmt::format("{}, {} CPUs", machine.cpu, machine.cpus), .unit = "as requested"},
      std::move(classes));
}

// Weights that nothing holds would be believed.
void WarnOfClasses(const ServerConfig::Scheduler& config) {
  const auto classes = ParseClasses(config.classes);
  const std::string others = ThoseByClassBut(config.policy);
  if (!classes.ok() || classes->size() < 2 || others.empty()) return;
  spdlog::warn("the scheduler {} divides no time by the weights of service classes; these do: {}",
               config.policy, others);
}

// What running streams get, and what is left of the process behind them until its alarm; and some.
void TellOfTheEnd(Running& running) {
  constexpr std::chrono::seconds kSome(5);
  const std::chrono::seconds drain = DrainOf(running.config);
  running.systemd.Stopping(drain + kEndPatience + kSome,
                           fmt::format("Draining for at most {} s, HTTP streams that run: {}",
                                       drain.count(), running.http.stats().streams));
}

// From the first stream to the last.
int ServeStreams(const ServeArgs& args, const LoadedConfig& loaded, SignalQueue& queue,
                 Terminal& terminal, const Recorder& recorder, SystemdNotifier& systemd) {
  const ServerConfig& config = loaded.config;
  const auto users = Users::Parse(config.auth.users);
  if (!users.ok()) return Fail("serve", users.error());
  auto service = MediaService::Create(config, recorder);
  if (!service.ok()) return Fail("serve", service.error());
  WarnOfClasses(config.scheduler);
  auto server = HttpServer::Start(HttpOptionsOf(config, *users), **service);
  if (!server.ok()) return FailStart(server.error());

  auto rtsp = StartRtsp(loaded, *users, **service);
  if (!rtsp.ok()) return FailStart(rtsp.error());
  auto puller = StartPuller(config, **service);
  if (!puller.ok()) return FailStart(puller.error());

  auto srt = StartPush(PushProtocol::kSrt, config, **service);
  if (!srt.ok()) return FailStart(srt.error());
  auto rtmp = StartPush(PushProtocol::kRtmp, config, **service);
  if (!rtmp.ok()) return FailStart(rtmp.error());

  WriteStderr("listening on " + UrlOf("http", config.http.address, (*server)->port()) + "\n");
  Running running{**service, **server, rtsp->get(),
                  systemd,   config,   ListeningOn(config, **server, rtsp->get())};
  systemd.Ready(running.listening);
  WaitForEnd(args, queue, terminal, running);

  const std::chrono::seconds drain = DrainOf(running.config);
  spdlog::info("draining for at most {} s", drain.count());
  queue.EndBegins();  // the drain waits for the loop, however long that takes
  (*service)->StartDraining();
  TellOfTheEnd(running);
  const std::size_t cut = (*server)->Drain(drain);
  if (cut > 0) spdlog::warn("{} streams were cut", cut);
  SetAlarm(kEndPatience);
  srt->reset();
  rtmp->reset();
  puller->reset();
  rtsp->reset();
  (*server)->Stop();
  return kOk;
}

int Serve(const ServeArgs& args, const LoadedConfig& loaded) {
  Terminal terminal;  // as it was before anything could be told of it
  SystemdNotifier systemd;
  SignalQueue queue(terminal, DrainOf(loaded.config));
  auto signals = SignalWatcher::Start({SIGINT, SIGTERM, SIGHUP, SIGALRM},
                                      [&queue](int signal) { queue.Push(signal); });
  if (!signals.ok()) return Fail("serve", signals.error());
  const auto recorder = MakeRecorder(args, loaded.config);
  if (!recorder.ok()) return Fail("serve", recorder.error());
  const int code = ServeStreams(args, loaded, queue, terminal, *recorder, systemd);
  // The service is gone: nothing more can come.
  const Status recorded = *recorder ? (*recorder)->Close() : OkStatus();
  if (recorded.ok()) return code;
  PrintError("serve", args.record, recorded.error());
  return kFailed;
}

// What a start would refuse is said, too; but a library may be given later.
int PrintChecked(const LoadedConfig& loaded) {
  if (const int written = Answer("serve", PrintConfig(loaded)); written != kOk) return written;
  const bool all = !loaded.config.library.empty();
  const Status checked = all ? CheckAll(loaded.config) : CheckSettings(loaded.config);
  return checked.ok() ? kOk : Fail("serve", checked.error());
}

}  // namespace

int RunServe(const ServeArgs& args) {
  HoldHangUp();
  BuildIdentity();  // keys of the segment cache; must not depend on what is loaded from here on
  const auto loaded = LoadConfig(SourcesOf(args));
  if (!loaded.ok()) {
    WriteStderr("gopmill serve: the settings are wrong:\n" + loaded.error().message + "\n");
    return kUsage;
  }
  const ServerConfig& config = loaded->config;
  if (args.print_config) return PrintChecked(*loaded);
  const LogFormat format = config.log.format == "json" ? LogFormat::kJson : LogFormat::kText;
  if (const Status log = InitLogging(config.log.level, format); !log.ok()) {
    return Fail("serve", log.error());
  }
  if (const Status all = CheckAll(config); !all.ok()) return Fail("serve", all.error());
  return Serve(args, *loaded);
}

}  // namespace gopmill::cli
