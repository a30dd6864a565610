// SPDX-License-Identifier: Apache-2.0
//
// Every setting of the server with its default. Plain values; names, ranges, environment variables
// and flags are in config/settings, which is where a new one is added too.
//
// Thread-safety: compatible (plain values).
#pragma once

#include <cstdint>
#include <string>

#include "base/shared_settings.h"

namespace gopmill {

struct ServerConfig {
  // Folder with the movies that may be asked for. Nothing outside of it is ever opened. `serve`
  // does not start without one.
  std::string library;

  struct Http {
    bool operator==(const Http&) const = default;
    std::string address = "127.0.0.1";    // IPv4 or IPv6 literal; other machines: 0.0.0.0 or ::
    std::int64_t port = 8080;             // 0..65535; 0 = any free one, printed at start
    std::string host_names;               // besides those of this machine, with blanks between
    std::int64_t max_connections = 1024;  // 1..100000
    std::int64_t header_timeout_seconds = 10;  // 1..3600: a request must be complete by then
    std::int64_t idle_timeout_seconds = 60;    // 1..86400: between requests of one connection
    std::int64_t stall_timeout_seconds = 60;   // 1..86400: a client that takes no byte is cut
    // 0..1 TiB of disk for uploads that cannot be read before they are whole; 0 = keep none
    std::int64_t spool_bytes = std::int64_t{4} << 30;
  } http;

  struct Rtsp {
    bool operator==(const Rtsp&) const = default;
    std::string address = "127.0.0.1";            // IPv4 or IPv6 literal
    std::int64_t port = 8554;                     // 0..65535; 0 = no RTSP
    std::int64_t max_sessions = 64;               // 1..10000 players and publishers
    std::int64_t session_timeout_seconds = 60;    // 5..3600 without a sign of life
    std::int64_t stall_timeout_seconds = 15;      // 1..3600: a client over TCP that takes no byte
    std::int64_t publisher_timeout_seconds = 10;  // 1..3600 without a picture of a publisher
  } rtsp;

  // Live streams that are brought by SRT and RTMP: one at a time each.
  struct Push {
    bool operator==(const Push&) const = default;
    std::string name;                   // live/NAME is what readers ask for
    std::string address = "127.0.0.1";  // IPv4 or IPv6 literal
    std::int64_t port = 0;              // 0..65535; 0 = off
    std::string passphrase = {};        // SRT: 10..79 bytes; empty = not encrypted
  };
  Push srt{.name = "srt"}, rtmp{.name = "rtmp"};

  struct Auth {
    bool operator==(const Auth&) const = default;
    std::string users;  // NAME:PASSWORD:ROLES with blanks between them; empty = everybody
  } auth;

  struct Scheduler {
    bool operator==(const Scheduler&) const = default;
    std::string policy{kDefaultPolicy};  // which worker gets which unit
    std::int64_t workers = 0;            // 0..kMaxWorkers; 0 = one per CPU this process may use
    std::string options;  // forms of its rules, NAME=VALUE,...; empty = the corrected ones
    std::string classes;  // service classes, NAME:WEIGHT[:...],...; empty = one
  } scheduler;

  struct Streams {
    bool operator==(const Streams&) const = default;
    std::int64_t max = 64;                     // 1..100000 at once; more are refused
    std::int64_t window_bytes = 32 << 20;      // 1 MiB..4 GiB: a stream's work in memory
    std::int64_t sink_buffer_bytes = 1 << 20;  // 64 KiB..1 GiB: bytes waiting for its client
    // 1..3600 that bytes of an upload or publisher are waited for until it is known what it is.
    std::int64_t opening_timeout_seconds = 60;
    std::int64_t promise_percent = 90;  // 0..100: of a class's cores for real-time streams; 0 = any
  } streams;

  // Live sources that are fetched from other RTSP servers: NAME=URL, with blanks between them.
  std::string sources;

  struct Live {
    bool operator==(const Live&) const = default;
    std::string second_publisher = "refuse";    // or replace: it takes the name over
    std::string pull = "on-demand";             // ParsePullSources
    std::string degradation = "on";             // or off: what a machine that does not keep up does
    std::int64_t reader_patience_seconds = 30;  // 1..86400 that readers wait for a publisher
    // Those that are there without a viewer: NAME?QUERY, with blanks between them.
    std::string presentations;
  } live;

  struct Segments {
    bool operator==(const Segments&) const = default;
    // Renditions of a master playlist whose request names none; those larger than the source are
    // left out.
    std::string ladder = "1920x1080:4500k,1280x720:2500k,854x480:1200k,640x360:700k,426x240:350k";
    std::int64_t milliseconds = 2000;                  // 500..20000: length of one segment
    std::string cache_folder = "auto";                 // auto = below the user's cache folder
    std::int64_t cache_bytes = std::int64_t{4} << 30;  // 0..1 TiB; 0 = keep none
    std::string index_ahead = "off";  // or on: movies are read before somebody asks for them
    // Of live sources.
    std::int64_t dvr_seconds = 60;         // 6..86400: how far back a playlist goes
    std::int64_t part_milliseconds = 200;  // 100..2000: parts of a segment (LL-HLS)
    std::int64_t live_bytes = 64 << 20;    // 1 MiB..64 GiB in memory, for each presentation
    std::int64_t live_idle_seconds = 30;   // 1..3600 without a request: its streams stop
  } segments;

  std::int64_t context_cache_bytes = 64 << 20;  // 0..4 GiB for each worker; 0 = keep none warm
  std::int64_t drain_timeout_seconds = 30;  // 0..86400: running streams may finish after SIGTERM

  struct Log {
    bool operator==(const Log&) const = default;
    std::string level = "info";   // trace, debug, info, warning, error, off
    std::string format = "text";  // text, json
  } log;

  bool operator==(const ServerConfig&) const = default;
};

}  // namespace gopmill
