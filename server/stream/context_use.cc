// SPDX-License-Identifier: Apache-2.0
#include "server/stream/context_use.h"

#include "server/stream/unit_job.h"

namespace gopmill {

ContextUse::ContextUse(WorkerContext& worker)
    : worker_(worker),
      codecs_(*static_cast<WorkerCodecs*>(worker.local)),
      before_(codecs_.cache.Stats()) {}

ContextUse::~ContextUse() {
  const CacheStats after = codecs_.cache.Stats();
  // Encoders do not count: each unit uses one up, and idle time prepares them.
  worker_.cold =
      after.decoder_misses + after.filter_misses > before_.decoder_misses + before_.filter_misses;
  worker_.opening = after.opening - before_.opening;
  codecs_.published->Publish(after);
}

ContextCache& ContextUse::cache() const { return codecs_.cache; }

}  // namespace gopmill
