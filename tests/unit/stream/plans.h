// SPDX-License-Identifier: Apache-2.0
//
// Plans as far as predictions of demand look at them.
#pragma once

extern "C" {
#include <libavcodec/codec_par.h>
}

#include <memory>

#include "media/plan.h"
#include "server/stream/demand_table.h"

namespace gopmill::test {

inline std::shared_ptr<AVCodecParameters> NewParameters() {
  return {avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); }};
}

// A source of `side` x `side` to a target of the same size, both at `fps`.
inline StreamPlan SquarePlan(int side, int fps, int source_side = 0) {
  auto source = std::make_shared<SourceInfo>();
  source->video.codec = "h264";
  source->video.width = source->video.height = source_side > 0 ? source_side : side;
  source->video.fps = Rational{fps, 1};
  source->video.parameters = NewParameters();
  StreamPlan plan;
  plan.source = std::move(source);
  plan.target.width = plan.target.height = side;
  plan.target.fps = Rational{fps, 1};
  plan.target.unit_seconds = 1;
  return plan;
}

// Of a unit of such a plan that took `all`, divided as is supposed where nothing is known.
inline UnitCost CostOf(Duration all, std::int64_t frames, Duration opening = {}) {
  const Duration making = FromSeconds(ToSeconds(all - opening) / (1 + kDecodeWeight));
  return {.making = making,
          .decoding = all - opening - making,
          .opening = opening,
          .own = all,
          .frames = frames};
}

}  // namespace gopmill::test
