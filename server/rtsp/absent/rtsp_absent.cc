// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the RTSP front end where GStreamer is missing at build time.
#include "server/rtsp/puller.h"
#include "server/rtsp/rtsp_server.h"

namespace gopmill {

class RtspServer::Impl {};

bool RtspServer::Built() { return false; }
Result<std::unique_ptr<RtspServer>> RtspServer::Start(const RtspOptions& /*options*/,
                                                      Service& /*service*/) {
  return Error{.code = Code::kUnsupported,
               .message = "RTSP is not built into this gopmill.",
               .parameter = "rtsp-port",
               .accepted = "0, or a build with libgstrtspserver-1.0-dev"};
}
RtspServer::RtspServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RtspServer::~RtspServer() = default;
int RtspServer::port() const { return 0; }
void RtspServer::SetUsers(const Users& /*users*/) {}
void RtspServer::Stop() {}

class RtspPuller::Impl {};

Result<std::unique_ptr<RtspPuller>> RtspPuller::Start(const PullOptions& /*options*/,
                                                      Service& /*service*/) {
  return Error{.code = Code::kUnsupported,
               .message = "RTSP is not built into this gopmill.",
               .parameter = "sources"};
}
RtspPuller::RtspPuller(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RtspPuller::~RtspPuller() = default;

}  // namespace gopmill
