// SPDX-License-Identifier: Apache-2.0
//
// Per-worker reuse of codec contexts: filter graphs with their frame pools, pre-opened encoders
// prepared in idle time, and warm decoders (flushed) of codecs that keep nothing from run to run
// (ForgetsRuns). This is what stream locality buys.
//
// Guarantees: contexts give the same bytes warm or cold; the estimated memory of what is kept never
// exceeds the limit (least recently used goes first); nothing is shared between workers.
//
// Thread-safety: thread-affine to its worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "base/clock.h"
#include "base/status.h"
#include "codec/frame_filter.h"
#include "codec/video_decoder.h"
#include "codec/video_encoder.h"

namespace gopmill {

struct CacheStats {
  std::int64_t decoder_hits = 0, decoder_misses = 0;
  std::int64_t filter_hits = 0, filter_misses = 0;
  std::int64_t encoder_hits = 0, encoder_misses = 0;
  std::size_t bytes = 0;  // estimated memory held now
  Duration opening{};     // CPU time spent on opening decoders and filters
};

class ContextCache {
 public:
  explicit ContextCache(std::size_t limit_bytes);
  ~ContextCache();

  // A decoder for this source: a kept one (flushed) or a new one. Give it back when its run is
  // done; null is none. Decoders are matched by the identity of the source's parameters object.
  Result<std::unique_ptr<VideoDecoder>> TakeDecoder(const SourceInfo& source);
  void GiveDecoder(const SourceInfo& source, std::unique_ptr<VideoDecoder> decoder);

  Result<std::unique_ptr<FrameFilter>> TakeFilter(const FilterSpec& spec);
  void GiveFilter(std::unique_ptr<FrameFilter> filter);  // temporal filters are not kept

  // An encoder that has seen no frame: pre-opened or new. It is used up by its unit.
  // `frames` in its unit, 0 = not known.
  Result<std::unique_ptr<VideoEncoder>> TakeEncoder(const EncoderSpec& spec,
                                                    std::int64_t frames = 0);
  // Opens one encoder ahead for a spec used lately that has none waiting. Call when the worker has
  // nothing to do; returns false when there is nothing to prepare. Never evicts: what is warm is
  // worth more than what might be asked for. Encoders that need their unit's rate to open are not
  // prepared (OpensAhead), nor those that are slow or large while they wait (AV1, VP9).
  bool PrepareOne();

  [[nodiscard]] CacheStats Stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gopmill
