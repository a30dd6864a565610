// SPDX-License-Identifier: Apache-2.0
//
// A request that is served with another value than the one asked for is never silent: each such
// value is reported as an Adjustment (response header, JSON, a line on the terminal).
//
// Thread-safety: compatible (plain values).
#pragma once

#include <string>

namespace gopmill {

struct Adjustment {
  std::string parameter;  // "width"
  std::string asked;      // "641"
  std::string given;      // "640"
  std::string reason;     // "4:2:0 video needs even sizes"
};

}  // namespace gopmill
