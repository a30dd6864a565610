// SPDX-License-Identifier: Apache-2.0
#include "server/cli/serve_checks.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/ip_address.h"
#include "config/users.h"
#include "scheduler/service_class.h"
#include "server/files/library.h"
#include "server/http/access.h"
#include "server/rtsp/puller.h"
#include "server/service/media_service.h"

namespace gopmill::cli {
namespace {

// Whether what listens for streams would let anybody publish, though there are users.
Status CheckPushAccess(PushProtocol protocol, const ServerConfig& config, const Users& users) {
  const PushAddress address = PushOptionsOf(protocol, config).address;
  const bool open = address.passphrase.empty() && !IsLoopback(address.address);
  if (address.port == 0 || users.empty() || !open) return OkStatus();
  const std::string name = PushProtocolName(protocol);
  return InvalidArgument(
      name + ".address", "There are users, and clients of " + name + " do not say who they are.",
      protocol == PushProtocol::kSrt ? "127.0.0.1, or a passphrase (srt.passphrase)" : "127.0.0.1");
}

// `of`: whose class it is. The class is not shown: what is mistyped may be a password.
Status CheckClassIsThere(const ServerConfig& config, const std::string& service_class,
                         const std::string& setting, const std::string& of) {
  if (service_class.empty()) return OkStatus();
  std::vector<ServiceClass> classes(1);
  if (!config.scheduler.classes.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(classes, ParseClasses(config.scheduler.classes));
  }
  if (std::ranges::find(classes, service_class, &ServiceClass::name) != classes.end()) {
    return OkStatus();
  }
  std::string names;
  for (const ServiceClass& one : classes) names += (names.empty() ? "" : ", ") + one.name;
  return InvalidArgument(setting, "The class of " + of + " is not there.",
                         names + "; others by scheduler.classes and a restart");
}

Status CheckUserClasses(const ServerConfig& config, const Users& users) {
  for (const User& user : users.all()) {
    GOPMILL_RETURN_IF_ERROR(CheckClassIsThere(config, user.service_class, "auth.users", user.name));
  }
  return OkStatus();
}

// A presentation reads its source: one that is fetched for its readers alone would either never
// begin or never end.
Status CheckPresentations(const ServerConfig& config, const std::vector<PullSource>& pulled) {
  GOPMILL_ASSIGN_OR_RETURN(const auto presentations, MediaService::PresentationsOf(config));
  for (const LiveRequest& one : presentations) {
    const std::string text = TextOfStanding(one);
    GOPMILL_RETURN_IF_ERROR(CheckClassIsThere(
        config, one.segments.target.service_class.value_or(""), "live.presentations", text));
    const auto source = std::ranges::find(pulled, one.source, &PullSource::name);
    if (source == pulled.end() || source->always) continue;
    return InvalidArgument("live.presentations",
                           "The source of " + text + " is fetched only while somebody reads it.",
                           "names that are not in sources, or that live.pull has always fetched");
  }
  return OkStatus();
}

}  // namespace

Status CheckLibrary(const ServerConfig& config) {
  if (config.library.empty()) {
    return InvalidArgument("library", "No library of movies is given.", "--library FOLDER");
  }
  GOPMILL_RETURN_IF_ERROR(Library::Open(config.library));
  return OkStatus();
}

PushOptions PushOptionsOf(PushProtocol protocol, const ServerConfig& config) {
  const ServerConfig::Push& settings = protocol == PushProtocol::kSrt ? config.srt : config.rtmp;
  return {.address = {.protocol = protocol,
                      .address = settings.address,
                      .port = static_cast<int>(settings.port),
                      .passphrase = settings.passphrase},
          .name = settings.name,
          .silence = std::chrono::seconds(config.rtsp.publisher_timeout_seconds)};
}

Status CheckSettings(const ServerConfig& config) {
  GOPMILL_RETURN_IF_ERROR(CheckIpAddress("http.address", config.http.address));
  GOPMILL_RETURN_IF_ERROR(ParseHostNames(config.http.host_names));
  GOPMILL_RETURN_IF_ERROR(CheckIpAddress("rtsp.address", config.rtsp.address));
  GOPMILL_ASSIGN_OR_RETURN(const Users users, Users::Parse(config.auth.users));
  GOPMILL_RETURN_IF_ERROR(CheckUserClasses(config, users));
  GOPMILL_ASSIGN_OR_RETURN(const auto pulled, ParsePullSources(config.sources, config.live.pull));
  GOPMILL_RETURN_IF_ERROR(CheckPresentations(config, pulled));
  GOPMILL_RETURN_IF_ERROR(CheckPushOptions(PushOptionsOf(PushProtocol::kSrt, config)));
  GOPMILL_RETURN_IF_ERROR(CheckPushOptions(PushOptionsOf(PushProtocol::kRtmp, config)));
  GOPMILL_RETURN_IF_ERROR(CheckPushAccess(PushProtocol::kSrt, config, users));
  GOPMILL_RETURN_IF_ERROR(CheckPushAccess(PushProtocol::kRtmp, config, users));
  return MediaService::Check(config);
}

}  // namespace gopmill::cli
