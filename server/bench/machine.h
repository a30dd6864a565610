// SPDX-License-Identifier: Apache-2.0
//
// Where and with what something was measured.
//
// Thread-safety: safe.
#pragma once

#include <string>

namespace gopmill::bench {

struct Machine {
  std::string cpu;  // model name
  int cpus = 0;     // that this process may use
  std::string kernel;
  double load = 0;                        // load average of the last minute, before the first run
  std::string date;                       // UTC, ISO 8601
  std::string gopmill, ffmpeg, compiler;  // versions
};
Machine DescribeMachine();

}  // namespace gopmill::bench
