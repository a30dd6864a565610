// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtsp_answer.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "server/rtsp/describe_path.h"
#include "server/rtsp/rtsp_auth.h"

namespace gopmill {
namespace {

constexpr const char* kProblemHeader = "X-Gopmill-Problem";

void SetCode(GstRTSPMessage& answer, GstRTSPStatusCode code) {
  auto& response = answer.type_data.response;
  response.code = code;
  g_free(response.reason);
  response.reason = g_strdup(gst_rtsp_status_as_text(code));
}

// The library takes the answer for that of an error, which has no session.
void CompletePause(ClientState& state, GstRTSPMessage& answer) GOPMILL_REQUIRES(state.mutex) {
  if (state.held.empty()) return;
  SetCode(answer, GST_RTSP_STS_OK);
  gst_rtsp_message_add_header(&answer, GST_RTSP_HDR_SESSION, state.held.c_str());
  state.held.clear();
}

// Of statuses that the library answers with by itself.
constexpr std::array<std::pair<GstRTSPStatusCode, std::string_view>, 5> kWords{
    {{GST_RTSP_STS_NOT_FOUND,
      "Nothing is there (accepted: for PLAY, PAUSE and TEARDOWN the Content-Base of the answer to "
      "DESCRIBE)."},
     {GST_RTSP_STS_SESSION_NOT_FOUND,
      "There is no such session; it has ended, or the Session field is missing."},
     {GST_RTSP_STS_METHOD_NOT_VALID_IN_THIS_STATE,
      "Not in this state (accepted: PLAY after SETUP, PAUSE while it plays)."},
     {GST_RTSP_STS_ONLY_AGGREGATE_OPERATION_ALLOWED,
      "This is done for all tracks together (accepted: the URL without a track)."},
     {GST_RTSP_STS_UNSUPPORTED_TRANSPORT,
      "No such transport (accepted: RTP/AVP;unicast;client_port=A-B or "
      "RTP/AVP/TCP;unicast;interleaved=A-B)."}}};

// "" where the status says it.
std::string_view WordsOf(GstRTSPMethod method, GstRTSPStatusCode status, bool full) {
  if (method == GST_RTSP_ANNOUNCE && status >= GST_RTSP_STS_BAD_REQUEST) {
    return "The announced streams are not understood (accepted: an SDP of RTP/AVP).";
  }
  if (method == GST_RTSP_SETUP && status == GST_RTSP_STS_SERVICE_UNAVAILABLE && full) {
    return "As many players and publishers are here as rtsp.max_sessions allows.";
  }
  const auto found = std::ranges::find(kWords, status, [](const auto& each) { return each.first; });
  return found == kWords.end() ? std::string_view() : found->second;
}

}  // namespace

void CompleteAnswer(ClientState& state, GstRTSPContext& context, GstRTSPMessage& answer,
                    bool full) {
  const MutexLock lock(state.mutex);
  CompletePause(state, answer);
  if (context.method == GST_RTSP_DESCRIBE) RestoreContentBase(answer);
  const auto& response = answer.type_data.response;
  const int status = std::exchange(state.status, 0);
  if (response.code >= GST_RTSP_STS_BAD_REQUEST && status != 0) {
    SetCode(answer, static_cast<GstRTSPStatusCode>(status));
  } else if (state.problem.empty()) {
    state.problem = WordsOf(context.method, response.code, full);
  }
  if (response.code == GST_RTSP_STS_UNAUTHORIZED) AskForUser(context);
  const std::string problem = std::exchange(state.problem, {});
  if (!problem.empty()) {
    gst_rtsp_message_add_header_by_name(&answer, kProblemHeader, problem.c_str());
  }
}

}  // namespace gopmill
