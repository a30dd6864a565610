// SPDX-License-Identifier: Apache-2.0
#include "config/settings.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/digits.h"
#include "base/ids.h"
#include "base/shared_settings.h"

namespace gopmill {
namespace {

constexpr std::int64_t kKiBytes = 1024;
constexpr std::int64_t kMiBytes = 1024 * kKiBytes;
constexpr std::int64_t kGiBytes = 1024 * kMiBytes;

constexpr std::string_view kPull[] = {"on-demand", "always"};
constexpr std::string_view kOnOff[] = {"on", "off"};
constexpr std::string_view kSecondPublisher[] = {"refuse", "replace"};
constexpr std::string_view kLogFormats[] = {"text", "json"};

constexpr Setting kSettings[] = {
    {.pointer = "/library",
     .flag = "--library",
     .accepted = "a folder",
     .meaning = "Folder with the movies that may be asked for",
     .text = [](ServerConfig& c) -> std::string& { return c.library; }},
    {.pointer = "/http/address",
     .flag = "--http-address",
     .accepted = "an IPv4 or IPv6 address",
     .meaning = "Address to listen on; 0.0.0.0 or :: lets other machines in",
     .text = [](ServerConfig& c) -> std::string& { return c.http.address; }},
    {.pointer = "/http/port",
     .flag = "--http-port",
     .accepted = "0 to 65535",
     .meaning = "Port to listen on; 0 takes a free one",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.http.port; },
     .low = 0,
     .high = 65535},
    {.pointer = "/http/host_names",
     .flag = "--host-name",
     .accepted = "names of hosts, with blanks between them",
     .meaning = "A name by which clients reach the server, as through a proxy; may be repeated",
     .text = [](ServerConfig& c) -> std::string& { return c.http.host_names; },
     .may_be_empty = true,
     .repeatable = true},
    {.pointer = "/http/max_connections",
     .flag = "",
     .accepted = "1 to 100000",
     .meaning = "Open connections at once",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.http.max_connections; },
     .low = 1,
     .high = 100'000},
    {.pointer = "/http/header_timeout_seconds",
     .flag = "",
     .accepted = "1 to 3600 seconds",
     .meaning = "Time in which a request must be complete",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.http.header_timeout_seconds; },
     .low = 1,
     .high = 3600},
    {.pointer = "/http/idle_timeout_seconds",
     .flag = "",
     .accepted = "1 to 86400 seconds",
     .meaning = "Time between two requests of one connection",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.http.idle_timeout_seconds; },
     .low = 1,
     .high = 86400},
    {.pointer = "/http/stall_timeout_seconds",
     .flag = "",
     .accepted = "1 to 86400 seconds",
     .meaning = "Time after which a client that takes no byte is cut",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.http.stall_timeout_seconds; },
     .low = 1,
     .high = 86400},
    {.pointer = "/http/spool_bytes",
     .flag = "",
     .accepted = "0 to 1024GiB",
     .meaning = "Disk space, in the folder of the segment cache, of uploads that cannot be read "
                "before they are whole (MP4 with its index behind); 0 keeps none",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.http.spool_bytes; },
     .low = 0,
     .high = 1024 * kGiBytes},
    {.pointer = "/rtsp/address",
     .flag = "--rtsp-address",
     .accepted = "an IPv4 or IPv6 address",
     .meaning = "Address to listen on for RTSP; 0.0.0.0 or :: lets other machines in",
     .text = [](ServerConfig& c) -> std::string& { return c.rtsp.address; }},
    {.pointer = "/rtsp/port",
     .flag = "--rtsp-port",
     .accepted = "0 to 65535",
     .meaning = "Port to listen on for RTSP; 0 turns it off",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.rtsp.port; },
     .low = 0,
     .high = 65535},
    {.pointer = "/rtsp/max_sessions",
     .flag = "",
     .accepted = "1 to 10000",
     .meaning = "RTSP players and publishers at once; more are refused",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.rtsp.max_sessions; },
     .low = 1,
     .high = 10'000},
    {.pointer = "/rtsp/session_timeout_seconds",
     .flag = "",
     .accepted = "5 to 3600 seconds",
     .meaning = "Time without a sign of life after which an RTSP session ends",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.rtsp.session_timeout_seconds; },
     .low = 5,
     .high = 3600},
    {.pointer = "/rtsp/stall_timeout_seconds",
     .flag = "",
     .accepted = "1 to 3600 seconds",
     .meaning = "Time after which an RTSP client over TCP that takes no byte is cut",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.rtsp.stall_timeout_seconds; },
     .low = 1,
     .high = 3600},
    {.pointer = "/rtsp/publisher_timeout_seconds",
     .flag = "",
     .accepted = "1 to 3600 seconds",
     .meaning = "Time without a packet after which a publisher (RTSP, SRT, RTMP) has left, or a "
                "camera is asked again",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.rtsp.publisher_timeout_seconds; },
     .low = 1,
     .high = 3600},
    {.pointer = "/srt/port",
     .flag = "--srt-port",
     .accepted = "0 to 65535",
     .meaning = "Port on which a live stream may be brought by SRT; 0 turns it off",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.srt.port; },
     .low = 0,
     .high = 65535},
    {.pointer = "/srt/address",
     .flag = "--srt-address",
     .accepted = "an IPv4 or IPv6 address",
     .meaning = "Address to listen on for SRT; 0.0.0.0 or :: lets other machines in",
     .text = [](ServerConfig& c) -> std::string& { return c.srt.address; }},
    {.pointer = "/srt/name",
     .flag = "--srt-name",
     .accepted = "letters, digits, '.', '_' and '-'",
     .meaning = "What comes by SRT is live/NAME",
     .text = [](ServerConfig& c) -> std::string& { return c.srt.name; }},
    {.pointer = "/srt/passphrase",
     .flag = "",
     .accepted = "10 to 79 bytes, or nothing",
     .meaning = "What SRT is encrypted with; clients without it are refused",
     .text = [](ServerConfig& c) -> std::string& { return c.srt.passphrase; },
     .may_be_empty = true,
     .secret = true},
    {.pointer = "/rtmp/port",
     .flag = "--rtmp-port",
     .accepted = "0 to 65535",
     .meaning = "Port on which a live stream may be brought by RTMP; 0 turns it off",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.rtmp.port; },
     .low = 0,
     .high = 65535},
    {.pointer = "/rtmp/address",
     .flag = "--rtmp-address",
     .accepted = "an IPv4 or IPv6 address",
     .meaning = "Address to listen on for RTMP; 0.0.0.0 or :: lets other machines in",
     .text = [](ServerConfig& c) -> std::string& { return c.rtmp.address; }},
    {.pointer = "/rtmp/name",
     .flag = "--rtmp-name",
     .accepted = "letters, digits, '.', '_' and '-'",
     .meaning = "What comes by RTMP is live/NAME",
     .text = [](ServerConfig& c) -> std::string& { return c.rtmp.name; }},
    {.pointer = "/auth/users",
     .flag = "",
     .accepted = "NAME:PASSWORD:ROLES[:CLASS], more with blanks between them",
     .meaning = "Who may read and publish, and of which service class it is; empty = everybody",
     .reloadable = true,
     .text = [](ServerConfig& c) -> std::string& { return c.auth.users; },
     .may_be_empty = true,
     .secret = true,
     .guards = true},
    {.pointer = "/scheduler/policy",
     .flag = "--scheduler",
     .accepted = "the name of a policy, like hearth",
     .meaning = "Which worker gets which unit",
     .text = [](ServerConfig& c) -> std::string& { return c.scheduler.policy; }},
    {.pointer = "/scheduler/workers",
     .flag = "--workers",
     .accepted = "0 to 4096",
     .meaning = "Worker threads; 0 = one per CPU this process may use. A reload takes no more "
                "than were started",
     .reloadable = true,
     .number = [](ServerConfig& c) -> std::int64_t& { return c.scheduler.workers; },
     .low = 0,
     .high = kMaxWorkers},
    {.pointer = "/scheduler/options",
     .flag = "--scheduler-options",
     .accepted = "NAME=VALUE,... as gopmill bench --list prints them",
     .meaning = "Forms of the scheduler's rules",
     .text = [](ServerConfig& c) -> std::string& { return c.scheduler.options; },
     .may_be_empty = true},
    {.pointer = "/scheduler/classes",
     .flag = "--classes",
     .accepted = "NAME:WEIGHT[:GUARANTEED[:MAX_WORKERS[:DEADLINE_MS]]],...",
     .meaning = "Service classes; a request's is that of its user, else class=NAME. MAX_WORKERS "
                "holds under ps-hrw and gps-hrw and while another class waits",
     .text = [](ServerConfig& c) -> std::string& { return c.scheduler.classes; },
     .may_be_empty = true},
    {.pointer = "/streams/max",
     .flag = "--max-streams",
     .accepted = "1 to 100000",
     .meaning = "Streams at once; more are refused",
     .reloadable = true,
     .number = [](ServerConfig& c) -> std::int64_t& { return c.streams.max; },
     .low = 1,
     .high = 100'000},
    {.pointer = "/streams/window_bytes",
     .flag = "",
     .accepted = "1MiB to 4GiB",
     .meaning = "Bytes of one stream's work in memory",
     .reloadable = true,
     .number = [](ServerConfig& c) -> std::int64_t& { return c.streams.window_bytes; },
     .low = kMiBytes,
     .high = 4 * kGiBytes},
    {.pointer = "/streams/sink_buffer_bytes",
     .flag = "",
     .accepted = "64KiB to 1GiB",
     .meaning = "Bytes of one stream that may wait for its client",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.streams.sink_buffer_bytes; },
     .low = 64 * kKiBytes,
     .high = kGiBytes},
    {.pointer = "/streams/opening_timeout_seconds",
     .flag = "",
     .accepted = "1 to 3600 seconds",
     .meaning = "How long the bytes of an upload or publisher are waited for until it is open",
     .reloadable = true,
     .number = [](ServerConfig& c) -> std::int64_t& { return c.streams.opening_timeout_seconds; },
     .low = 1,
     .high = 3600},
    {.pointer = "/streams/promise_percent",
     .flag = "--promise-percent",
     .accepted = "0 to 100 percent; 0 lets everybody in",
     .meaning = "Part of a class's cores that real-time streams are promised; more are refused",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.streams.promise_percent; },
     .low = 0,
     .high = 100},
    {.pointer = "/sources",
     .flag = "--source",
     .accepted = "NAME=rtsp://HOST/PATH, more with blanks between them",
     .meaning = "A live source fetched from another RTSP server, NAME=URL; may be repeated",
     .text = [](ServerConfig& c) -> std::string& { return c.sources; },
     .may_be_empty = true,
     .repeatable = true,
     .secret = true},
    {.pointer = "/live/pull",
     .flag = "--pull",
     .accepted = "on-demand or always",
     .meaning = "When sources are fetched: while somebody reads them, or always",
     .text = [](ServerConfig& c) -> std::string& { return c.live.pull; },
     .choices = kPull},
    {.pointer = "/live/second_publisher",
     .flag = "--second-publisher",
     .accepted = "refuse or replace",
     .meaning = "What becomes of a second publisher of a live source",
     .reloadable = true,
     .text = [](ServerConfig& c) -> std::string& { return c.live.second_publisher; },
     .choices = kSecondPublisher},
    {.pointer = "/live/degradation",
     .flag = "--degradation",
     .accepted = "on or off",
     .meaning = "Whether live streams give up quality when the machine does not keep up",
     .reloadable = true,
     .text = [](ServerConfig& c) -> std::string& { return c.live.degradation; },
     .choices = kOnOff},
    {.pointer = "/live/reader_patience_seconds",
     .flag = "",
     .accepted = "1 to 86400 seconds",
     .meaning = "How long readers of a live source wait for a publisher",
     .reloadable = true,
     .number = [](ServerConfig& c) -> std::int64_t& { return c.live.reader_patience_seconds; },
     .low = 1,
     .high = 86400},
    {.pointer = "/segments/ladder",
     .flag = "",
     .accepted = "WIDTHxHEIGHT:BITS, up to 12 with commas",
     .meaning = "Renditions of HLS and DASH when a request names none",
     .text = [](ServerConfig& c) -> std::string& { return c.segments.ladder; }},
    {.pointer = "/segments/milliseconds",
     .flag = "",
     .accepted = "500 to 20000",
     .meaning = "Length of a segment of HLS and DASH",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.segments.milliseconds; },
     .low = 500,
     .high = 20'000},
    {.pointer = "/segments/cache_folder",
     .flag = "--segment-cache",
     .accepted = "a folder, or auto",
     .meaning = "Where finished segments are kept; auto = below the user's cache folder",
     .text = [](ServerConfig& c) -> std::string& { return c.segments.cache_folder; }},
    {.pointer = "/segments/cache_bytes",
     .flag = "--segment-cache-bytes",
     .accepted = "0 to 1024GiB",
     .meaning = "Disk space of kept segments and of what was read of movies; 0 keeps none",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.segments.cache_bytes; },
     .low = 0,
     .high = 1024 * kGiBytes},
    {.pointer = "/segments/dvr_seconds",
     .flag = "--dvr-seconds",
     .accepted = "6 to 86400 seconds",
     .meaning = "How far back the playlists of a live source go",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.segments.dvr_seconds; },
     .low = 6,
     .high = 86400},
    {.pointer = "/segments/part_milliseconds",
     .flag = "--part-milliseconds",
     .accepted = "100 to 2000",
     .meaning = "Length of the parts of live segments (LL-HLS)",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.segments.part_milliseconds; },
     .low = 100,
     .high = 2000},
    {.pointer = "/segments/live_bytes",
     .flag = "",
     .accepted = "1MiB to 64GiB",
     .meaning = "Memory for the segments of one live presentation; the oldest go",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.segments.live_bytes; },
     .low = kMiBytes,
     .high = 64 * kGiBytes},
    {.pointer = "/segments/live_idle_seconds",
     .flag = "",
     .accepted = "1 to 3600 seconds",
     .meaning = "Time without a request after which a live presentation ends",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.segments.live_idle_seconds; },
     .low = 1,
     .high = 3600},
    {.pointer = "/context_cache_bytes",
     .flag = "",
     .accepted = "0 to 4GiB",
     .meaning = "Warm codec contexts of each worker",
     .number = [](ServerConfig& c) -> std::int64_t& { return c.context_cache_bytes; },
     .low = 0,
     .high = 4 * kGiBytes},
    {.pointer = "/drain_timeout_seconds",
     .flag = "--drain-timeout",
     .accepted = "0 to 86400 seconds",
     .meaning = "Time that running streams get to finish after SIGTERM",
     .reloadable = true,
     .number = [](ServerConfig& c) -> std::int64_t& { return c.drain_timeout_seconds; },
     .low = 0,
     .high = 86400},
    {.pointer = "/log/level",
     .flag = "--log-level",
     .accepted = kLogLevelsText,
     .meaning = "What is written to the log",
     .reloadable = true,
     .text = [](ServerConfig& c) -> std::string& { return c.log.level; },
     .choices = kLogLevels},
    {.pointer = "/log/format",
     .flag = "--log-format",
     .accepted = "text or json",
     .meaning = "Form of the log lines on stderr",
     .text = [](ServerConfig& c) -> std::string& { return c.log.format; },
     .choices = kLogFormats},
};

// digits[KiB|MiB|GiB]; nothing else.
std::optional<std::int64_t> ParseNumber(std::string_view text) {
  std::int64_t scale = 1;
  for (const auto& [suffix, factor] : {std::pair<std::string_view, std::int64_t>{"KiB", kKiBytes},
                                       {"MiB", kMiBytes},
                                       {"GiB", kGiBytes}}) {
    if (text.ends_with(suffix)) {
      scale = factor;
      text.remove_suffix(suffix.size());
      break;
    }
  }
  const auto value = ParseDigits(text);
  if (!value || (*value > (std::int64_t{1} << 32) && scale > 1)) return std::nullopt;
  return *value * scale;
}

bool SetWord(const Setting& setting, std::string_view value, ServerConfig& config) {
  const auto& choices = setting.choices;
  const bool accepted =
      choices.empty()
          ? (setting.may_be_empty || !value.empty()) && value.find('\0') == std::string_view::npos
          : std::find(choices.begin(), choices.end(), value) != choices.end();
  if (accepted) setting.text(config) = std::string(value);
  return accepted;
}

template <class Field>
const Setting* Find(Field Setting::*field, std::string_view wanted) {
  for (const Setting& setting : kSettings) {
    if (setting.*field == wanted && !wanted.empty()) return &setting;
  }
  return nullptr;
}

}  // namespace

std::span<const Setting> Settings() { return kSettings; }

const Setting* FindSettingByPointer(std::string_view pointer) {
  return Find(&Setting::pointer, pointer);
}

const Setting* FindSettingByFlag(std::string_view flag) { return Find(&Setting::flag, flag); }

std::string EnvironmentName(const Setting& setting) {
  std::string name = "GOPMILL";
  for (const char c : setting.pointer) {
    name += c == '/' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

bool SetNumber(const Setting& setting, std::int64_t value, ServerConfig& config) {
  if (setting.number == nullptr || value < setting.low || value > setting.high) return false;
  setting.number(config) = value;
  return true;
}

bool SetText(const Setting& setting, std::string_view value, ServerConfig& config) {
  if (setting.text != nullptr) return SetWord(setting, value, config);
  const auto number = ParseNumber(value);
  return number && SetNumber(setting, *number, config);
}

std::string GetText(const Setting& setting, const ServerConfig& config) {
  ServerConfig copy = config;  // the accessors give references that can be written to
  return setting.text != nullptr ? setting.text(copy) : std::to_string(setting.number(copy));
}

std::string ShownText(const Setting& setting, const ServerConfig& config) {
  std::string text = GetText(setting, config);
  return setting.secret && !text.empty() ? "(not shown)" : text;
}

void CopySetting(const Setting& setting, const ServerConfig& from, ServerConfig& to) {
  ServerConfig copy = from;
  if (setting.text != nullptr) {
    setting.text(to) = setting.text(copy);
  } else {
    setting.number(to) = setting.number(copy);
  }
}

}  // namespace gopmill
