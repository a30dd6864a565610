// SPDX-License-Identifier: Apache-2.0
//
// A libavfilter graph without branches: Begin, Append each filter, Finish, then Feed and Take.
//
// Thread-safety: thread-compatible.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/rational.h"
#include "base/status.h"
#include "media/av_ptr.h"

namespace gopmill {

// Flags of swscale with which its bytes are the same on every CPU.
inline constexpr std::string_view kExactScaling = "bicubic+accurate_rnd+bitexact";

class FilterChain {
 public:
  // What its frames are; one of another size or format is refused.
  struct Input {
    int width = 0, height = 0, format = -1;
    Rational sample_aspect{1, 1};
    int color_space = 2, color_range = 0;
    Rational time_base{1, 90'000};
  };
  static Result<FilterChain> Begin(const Input& input);

  // Options as FFmpeg writes them; may be null.
  Status Append(const char* filter, const char* options);
  // Options by name, whose values need no escapes.
  using Option = std::pair<const char*, std::string>;
  Status AppendWith(const char* filter, std::span<const Option> options);
  Status Finish();

  // nullptr ends it, once.
  Status Feed(const AVFrame* in);
  // False: it needs more first. Times come out in the time base of the input.
  Result<bool> Take(AVFrame& out);

 private:
  FilterChain(const Input& input, av::FilterGraph graph)
      : input_(input), graph_(std::move(graph)) {}
  Status AppendSource();
  Status Link(AVFilterContext* next, const char* filter);

  Input input_;
  av::FilterGraph graph_;
  bool ended_ = false;
  AVFilterContext* source_ = nullptr;  // owned by graph_
  AVFilterContext* last_ = nullptr;    // owned by graph_; the sink when the graph is complete
};

}  // namespace gopmill
