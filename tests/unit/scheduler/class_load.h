// SPDX-License-Identifier: Apache-2.0
//
// Three service classes with work on virtual workers: streams 0..29, ten for each class; class c
// has the streams with number % 3 == c. A class that was started has thirty units submitted and not
// yet done, so that with fewer workers some of them always wait.
//
// Thread-safety: compatible.
#pragma once

#include <array>
#include <string>

#include "tests/unit/scheduler/virtual_pool.h"

namespace gopmill {

// Seconds of worker time by class.
using Served = std::array<double, 3>;

inline PolicyOptions ClassOptions(const std::string& text) {
  PolicyOptions options;
  options.classes = ParseClasses(text).value();
  return options;
}

inline PolicyOptions Weighted() { return ClassOptions("gold:5,silver:3,bronze:1"); }

struct ClassLoad {
  explicit ClassLoad(const char* policy, const PolicyOptions& options = Weighted(),
                     const char* topology = "pack:2 core:4 pu:1")
      : ClassLoad({.topology = topology, .policy = policy, .options = options}) {}
  explicit ClassLoad(const VirtualPoolParams& params) : pool(params) {
    pool.complete_spec = [](JobSpec& spec) {
      spec.service_class = static_cast<std::uint16_t>(spec.unit.stream.value % 3);
    };
    pool.service_time = [](const Ticket& ticket) {
      const auto unit = ticket.report.unit;
      return std::chrono::milliseconds(
          10 + (unit.stream.value * 7 + static_cast<unsigned>(unit.index.value)) % 30);
    };
    pool.on_run = [this](const JobReport& report) {
      served[report.unit.stream.value % 3] += ToSeconds(report.finished - report.started);
      Refill(report.unit.stream.value);
    };
  }
  void Refill(std::uint64_t stream) {
    if (active[stream % 3]) pool.Submit(stream, next[stream]++, bytes[stream % 3]);
  }
  void Start(std::uint64_t c) {
    active[c] = true;
    for (std::uint64_t s = c; s < 30; s += 3) {
      for (int window = 0; window < 3; ++window) Refill(s);
    }
  }
  void Run(double seconds) {
    const TimePoint end = pool.now() + Duration(static_cast<std::int64_t>(seconds * 1e9));
    while (pool.now() < end && pool.FinishNext()) {
    }
  }
  Served ServedWithin(double seconds) {
    served = {};
    Run(seconds);
    return served;
  }

  VirtualPool pool;
  std::array<bool, 3> active = {};
  std::array<std::size_t, 3> bytes = {1000, 1000, 1000};
  std::array<std::int64_t, 30> next = {};
  Served served = {};
};

}  // namespace gopmill
