// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/client_listener.h"

#include <utility>

#include "base/log.h"
#include "server/rtsp/means.h"

namespace gopmill {
namespace {

constexpr guint kListenRetryMilliseconds = 50;

}  // namespace

bool ClientListener::Start(GMainContext* loop) {
  loop_ = loop;
  GError* error = nullptr;  // the library looks into it unasked
  socket_ = gst::Adopt(gst_rtsp_server_create_socket(&server_, nullptr, &error));
  g_clear_error(&error);
  if (socket_ == nullptr) return false;
  Watch();
  return true;
}

int ClientListener::port() const {
  const auto address = gst::Adopt(g_socket_get_local_address(socket_.get(), nullptr));
  if (address == nullptr || !G_IS_INET_SOCKET_ADDRESS(address.get())) return 0;
  return g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(address.get()));
}

void ClientListener::Stop() {
  Attach(nullptr);
  socket_.reset();
}

void ClientListener::Watch() {
  GSource* source = g_socket_create_source(socket_.get(), G_IO_IN, nullptr);
  g_source_set_callback(source, G_SOURCE_FUNC(&OnReadable), this, nullptr);
  Attach(source);
}

void ClientListener::Retry() {
  GSource* source = g_timeout_source_new(kListenRetryMilliseconds);
  g_source_set_callback(source, &OnRetry, this, nullptr);
  Attach(source);
}

// In place of the one before; takes it over.
void ClientListener::Attach(GSource* source) {
  if (source_ != nullptr) {
    g_source_destroy(source_);
    g_source_unref(source_);
  }
  source_ = source;
  if (source != nullptr) g_source_attach(source, loop_);
}

ClientListener::Coming ClientListener::Ask() {
  if (const Status means = CheckMeans(); !means.ok()) {
    if (warnings_.Allows())
      spdlog::warn("rtsp: connections have to wait: {}", means.error().message);
    return Coming::kLater;
  }
  return may_come_();
}

gboolean ClientListener::OnReadable(GSocket* socket, GIOCondition condition,
                                    gpointer pointer) noexcept {
  auto* self = static_cast<ClientListener*>(pointer);
  switch (self->Ask()) {
    case Coming::kNow: return gst_rtsp_server_io_func(socket, condition, &self->server_);
    case Coming::kNever: {
      const auto closed = gst::Adopt(g_socket_accept(socket, nullptr, nullptr));
      return G_SOURCE_CONTINUE;
    }
    case Coming::kLater: break;
  }
  self->Retry();
  return G_SOURCE_REMOVE;
}

gboolean ClientListener::OnRetry(gpointer pointer) noexcept {
  auto* self = static_cast<ClientListener*>(pointer);
  if (self->Ask() == Coming::kLater) return G_SOURCE_CONTINUE;
  self->Watch();
  return G_SOURCE_REMOVE;
}

}  // namespace gopmill
