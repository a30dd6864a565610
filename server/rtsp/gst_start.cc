// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/gst_start.h"

#include <gst/gst.h>

#include <string_view>

#include "base/log.h"

namespace gopmill {
namespace {

void OnLogged(const gchar* domain, GLogLevelFlags flags, const gchar* message,
              gpointer /*unused*/) noexcept {
  const std::string_view from = domain == nullptr ? "GLib" : domain;
  const bool about_a_client = from == "GStreamer-RTSP-Server";
  const bool bad = (flags & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING)) != 0;
  const auto level = bad && !about_a_client ? spdlog::level::warn : spdlog::level::debug;
  spdlog::log(level, "{}: {}", from, message == nullptr ? "" : message);
}

}  // namespace

void StartGStreamer() {
  g_log_set_default_handler(OnLogged, nullptr);
  gst_init(nullptr, nullptr);
}

}  // namespace gopmill
