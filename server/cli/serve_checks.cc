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

// The name is not shown: what is mistyped may be a password.
Status CheckUserClasses(const ServerConfig& config, const Users& users) {
  std::vector<ServiceClass> classes(1);
  if (!config.scheduler.classes.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(classes, ParseClasses(config.scheduler.classes));
  }
  for (const User& user : users.all()) {
    const bool known =
        user.service_class.empty() ||
        std::ranges::find(classes, user.service_class, &ServiceClass::name) != classes.end();
    if (!known) {
      std::string names;
      for (const ServiceClass& one : classes) names += (names.empty() ? "" : ", ") + one.name;
      return InvalidArgument("auth.users", "The class of " + user.name + " is not there.",
                             names + "; others by scheduler.classes and a restart");
    }
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
  GOPMILL_RETURN_IF_ERROR(ParsePullSources(config.sources));
  GOPMILL_RETURN_IF_ERROR(CheckPushOptions(PushOptionsOf(PushProtocol::kSrt, config)));
  GOPMILL_RETURN_IF_ERROR(CheckPushOptions(PushOptionsOf(PushProtocol::kRtmp, config)));
  GOPMILL_RETURN_IF_ERROR(CheckPushAccess(PushProtocol::kSrt, config, users));
  GOPMILL_RETURN_IF_ERROR(CheckPushAccess(PushProtocol::kRtmp, config, users));
  return MediaService::Check(config);
}

}  // namespace gopmill::cli
