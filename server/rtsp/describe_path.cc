// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/describe_path.h"

#include <string_view>

namespace gopmill {
namespace {

constexpr std::string_view kAgain = kAgainMount;

bool HasMedia(GstRTSPSession& session, const std::string& path) {
  int matched = 0;
  return gst_rtsp_session_get_media(&session, path.c_str(), &matched) != nullptr;
}

std::string PlainPath(const GstRTSPUrl& url) {
  constexpr std::string_view kTrack = "/stream=";
  std::string path = url.abspath;
  const std::string_view query = url.query == nullptr ? "" : url.query;
  const std::size_t track = query.rfind(kTrack);
  if (track == std::string_view::npos) return path;
  const std::string_view number = query.substr(track + kTrack.size());
  const bool is_number = number.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? path.append(query.substr(track)) : path;
}

// Whether it is what was described under another name, or one of its tracks.
bool IsBelow(std::string_view path, std::string_view described) {
  if (!described.starts_with(kAgain) || !path.starts_with(described)) return false;
  return path.size() == described.size() || path[described.size()] == '/';
}

}  // namespace

std::string DescribePath(ClientState& state, const std::string& path) {
  const MutexLock lock(state.mutex);
  return state.described == path ? kAgainMount + path : path;
}

std::string TakeDescribePath(ClientState& state, const std::string& path) {
  std::string taken = DescribePath(state, path);
  const MutexLock lock(state.mutex);
  state.described = taken;
  return taken;
}

std::string PlayerPath(ClientState& state, GstRTSPSession* session, const GstRTSPUrl& url) {
  std::string path = PlainPath(url);
  std::string again = kAgainMount + path;
  if (session != nullptr && HasMedia(*session, path)) return path;
  if (session != nullptr && HasMedia(*session, again)) return again;
  const MutexLock lock(state.mutex);
  return IsBelow(again, state.described) ? again : path;
}

void RestoreContentBase(GstRTSPMessage& answer) {
  char* field = nullptr;
  if (gst_rtsp_message_get_header(&answer, GST_RTSP_HDR_CONTENT_BASE, &field, 0) != GST_RTSP_OK) {
    return;
  }
  std::string base = field;
  const std::size_t at = base.find(kAgain);
  if (at == std::string::npos) return;
  base.erase(at, kAgain.size());
  gst_rtsp_message_remove_header(&answer, GST_RTSP_HDR_CONTENT_BASE, -1);
  gst_rtsp_message_add_header(&answer, GST_RTSP_HDR_CONTENT_BASE, base.c_str());
}

}  // namespace gopmill
