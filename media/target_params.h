// SPDX-License-Identifier: Apache-2.0
//
// The parameters of a request, from text: checked one at a time into a TargetRequest. The same
// names serve the command line (`--bitrate 600k`), HTTP (`?bitrate=600k`) and RTSP. What a value
// means together with others and with the source is not looked at here: ResolveTarget does that.
//
// The list of all of them is also what help texts, error messages and the OpenAPI document are made
// of or checked against: a parameter that is not in it does not exist.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "media/target.h"

namespace gopmill {

// Sets one parameter from text. Unknown names, malformed values and values out of range are
// kInvalidArgument with `parameter` and `accepted` filled in. "size" (WxH) sets both sides,
// and excludes the two.
Status SetParam(TargetRequest& request, std::string_view name, std::string_view value);

struct ParamDoc {
  std::string_view name;
  std::string_view accepted;  // for people: "16 to 8192 pixels"
  std::string_view meaning;
};
// Every parameter SetParam knows, for help texts, error messages and the OpenAPI document.
std::span<const ParamDoc> TargetParams();

}  // namespace gopmill
