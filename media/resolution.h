// SPDX-License-Identifier: Apache-2.0
//
// Between the two files that resolve a target: pictures (resolve_target.cc) and sound
// (resolve_sound.cc).
//
// Thread-safety: compatible (plain values).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "media/resolve_target.h"

namespace gopmill {

// The pieces of one resolution: each step reads the request and the source, and fills the result.
struct Resolution {
  const TargetRequest& request;
  const SourceInfo& source;
  ResolvedTarget result = {};

  Target& target() { return result.target; }
  void Report(const char* parameter, std::string asked, std::string given,
              std::string_view reason) {
    result.adjustments.push_back(
        {parameter, std::move(asked), std::move(given), std::string(reason)});
  }
};

// Codec, channels, sample rate and bit rate of each sound track. The target's container and codecs
// are chosen. kInvalidArgument where it is asked for what copied sound does not have, or a
// container for what it does not take.
Status ResolveSound(Resolution& r);

}  // namespace gopmill
