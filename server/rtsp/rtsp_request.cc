// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/rtsp_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/percent_decoding.h"
#include "base/utf8.h"
#include "media/target_text.h"

namespace gopmill {
namespace {

// Nothing where an escape is broken or something is a control character.
std::optional<std::string> Decode(std::string_view text, Plus plus) {
  auto decoded = PercentDecoded(text, plus);
  if (decoded && std::ranges::any_of(*decoded, IsControlByte)) decoded.reset();
  return decoded;
}

Status AddParam(std::string_view pair, RequestParams& params) {
  const std::size_t equals = std::min(pair.find('='), pair.size());
  const auto name = Decode(pair.substr(0, equals), Plus::kBlank);
  const auto value = Decode(pair.substr(std::min(equals + 1, pair.size())), Plus::kBlank);
  if (!name || !value) return InvalidArgument("query", "The query has a broken escape.");
  const bool again = std::ranges::any_of(params, [&](const auto& p) { return p.first == *name; });
  if (again) return InvalidArgument(*name, "The parameter '" + *name + "' is given twice.");
  if (*name == "container") {
    return InvalidArgument(*name, "RTSP has no container.",
                           "the parameters of a transcode but this");
  }
  // The engine's own words for it recommend another container.
  if (*name == "vcodec" && *value == "av1") {
    return Error{.code = Code::kUnsupported,
                 .message = "RTSP does not carry av1 here: GStreamer has no payloader for it.",
                 .parameter = "vcodec",
                 .accepted = kPlayedVideo};
  }
  params.emplace_back(*name, *value);
  return OkStatus();
}

// Adds to the time that the parameter says. One that is no time is for others to refuse.
void AddMicros(std::string& value, std::int64_t micros) {
  const auto seconds = ParseSeconds(value);
  if (!seconds.ok()) return;
  const std::int64_t sum = std::max<std::int64_t>(ToTicks(*seconds, kMicros) + micros, 0);
  constexpr std::int64_t kMicrosPerSecond = 1'000'000;
  value = fmt::format("{}.{:06}", sum / kMicrosPerSecond, sum % kMicrosPerSecond);
}

}  // namespace

Result<RtspRequest> ParseRtspUrl(std::string_view path, std::string_view query) {
  if (path.size() + query.size() > kMaxRtspUrlBytes) {
    return InvalidArgument("url", "The URL is too long.", "up to 4096 bytes");
  }
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  RtspRequest request;
  const auto decoded = Decode(path, Plus::kLiteral);
  if (!decoded || decoded->empty()) {
    return InvalidArgument("path", "The path is empty or has a broken escape.",
                           "rtsp://host:port/movie.mp4?width=640");
  }
  request.path = *decoded;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (!pair.empty()) GOPMILL_RETURN_IF_ERROR(AddParam(pair, request.params));
  }
  return request;
}

std::string KeyOf(const RtspRequest& request) {
  RequestParams params = request.params;
  std::ranges::sort(params);
  std::string key = request.path;
  // No part of them has a control character.
  for (const auto& [name, value] : params) key.append("\n").append(name).append("=").append(value);
  return key;
}

RequestParams ParamsAt(RequestParams params, std::int64_t place_ns) {
  if (place_ns <= 0) return params;
  const std::int64_t place = Rescale(place_ns, kNanos, kMicros);
  if (std::ranges::none_of(params, [](const auto& p) { return p.first == "start"; })) {
    params.emplace_back("start", "0");
  }
  for (auto& [name, value] : params) {
    if (name == "start") AddMicros(value, place);
    if (name == "duration") AddMicros(value, -place);
  }
  return params;
}

std::string_view PacketContainer(const RequestParams& params) {
  const bool vp9 = std::ranges::any_of(
      params, [](const auto& p) { return p.first == "vcodec" && p.second == "vp9"; });
  return vp9 ? "mkv" : "ts";
}

int RtspStatusOf(Code code) {
  switch (code) {
    case Code::kInvalidArgument: return 400;
    case Code::kNotFound: return 404;
    case Code::kUnsupported:
    case Code::kCorrupt: return 415;
    case Code::kAlreadyExists: return 403;
    case Code::kDeadlineExceeded: return 504;
    case Code::kResourceExhausted:
    case Code::kUnavailable:
    case Code::kCancelled: return 503;
    case Code::kIo:
    case Code::kInternal: break;
  }
  return 500;
}

}  // namespace gopmill
