// SPDX-License-Identifier: Apache-2.0
//
// Chrome trace events, for chrome://tracing and ui.perfetto.dev. Format: "Trace Event Format",
// Google, 2016 (JSON object format; "X" complete, "b"/"e" nestable async, "s"/"t"/"f" flow, "M"
// metadata events).
//
// Events become text one by one: a tree of all of them would take far more memory and time.
//
// Thread-safety: compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "server/stream/unit_log.h"

namespace gopmill {

// The whole trace of these events.
std::string TraceText(std::string_view events);

// One process of a trace, in which each lane is a thread.
class TraceEventWriter {
 public:
  // Appends to `events`. Times are counted from `begin`.
  TraceEventWriter(std::size_t process, TimePoint begin, std::string& events);

  // Names may hold anything.
  void NameProcess(std::string_view name);
  void NameLane(std::size_t lane, std::string_view name);

  // `name` and `args` are parts of JSON as they stand; `args` may be empty.
  void Slice(std::size_t lane, std::string_view category, std::string_view name, TimePoint from,
             TimePoint to, std::string_view args);
  // A unit's run; with what its pictures took if it had any.
  void Run(std::size_t lane, const LoggedUnit& unit, bool stages);
  // Its way from submitted to released, with its waits inside, on a track of its stream, `name`.
  void Track(const LoggedUnit& unit, std::string_view name);

  // An arrow has one begin and one end, and steps between; each lies in the slice that begins then.
  enum class Arrow : char { kBegin = 's', kStep = 't', kEnd = 'f' };
  void Flow(Arrow part, std::uint64_t id, std::size_t lane, TimePoint at);

 private:
  void Begin();
  void Meta(std::string_view what, std::uint64_t thread, std::string_view name);
  void Async(char phase, const std::string& id, std::string_view name, TimePoint at);
  [[nodiscard]] std::uint64_t ThreadOf(std::size_t lane) const { return process_ + 1 + lane; }
  [[nodiscard]] double At(TimePoint time) const;

  const std::uint64_t process_;
  const TimePoint begin_;
  std::string& events_;
};

}  // namespace gopmill
