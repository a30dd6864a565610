// SPDX-License-Identifier: Apache-2.0
//
// What a simulation has to do: streams, their units, what each unit costs, and when it arrives. A
// workload is made once and given to every policy, so that policies are compared on the same work.
//
// Thread-safety: compatible (plain values).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "scheduler/service_class.h"

namespace gopmill::sim {

inline constexpr std::size_t kMaxUnits = 20'000'000;
inline constexpr int kMaxStreams = 1'000'000;

// How units get to the scheduler.
enum class Feed {
  kClosed,  // a number of streams at once, each with a window of units in flight, until all are
            // done
  kOpen,    // at the arrival times of the units, whatever the scheduler does
};

struct SimUnit {
  double arrival_ms = 0;  // open feed only
  double hot_ms = 0;      // with warm contexts and caches, on its home
  double open_ms = 0;     // on top of it when the contexts have to be opened
  double deadline_ms = std::numeric_limits<double>::infinity();
  std::uint32_t bytes = 1;
  std::uint32_t frames = 0;   // 0 = not known
  std::uint64_t context = 0;  // what codec contexts it needs
};

struct SimStream {
  StreamId id;
  std::uint64_t number = 0;  // JobSpec::stream_number: what sm and wired go by
  int service_class = 0;     // index into Workload::classes
  std::uint32_t first_unit = 0;
  std::uint32_t unit_count = 0;
  double begin_ms = 0;  // closed feed: when it comes; those at 0 begin at once, or wait for a place
};

struct Workload {
  std::string name;
  Feed feed = Feed::kClosed;
  int concurrent = 20;  // closed feed: streams at once
  int window = 0;       // closed feed: units of a stream in flight; 0 = UnitsOut(workers)
  std::vector<ServiceClass> classes = {ServiceClass{}};
  // Classes say when their units are due. Not in a recording: it has the deadlines that there were.
  bool due_by_class = true;
  std::vector<SimStream> streams;  // in order of arrival
  std::vector<SimUnit> units;      // stream by stream, in the order in which they are submitted
  // By unit: its place among those of its stream in the order in which they are sent. Empty: in
  // the order in which they are submitted.
  std::vector<std::uint32_t> places = {};

  [[nodiscard]] double HotMillis() const;
};

// Within which a unit of the stream is due because of its class; 0 = it does not say.
Duration ClassDeadline(const Workload& workload, const SimStream& stream);

// Units per second that keep `workers` busy for the share `load` if every context is warm.
double ArrivalsPerSecond(const Workload& workload, double load, int workers);

}  // namespace gopmill::sim
