// SPDX-License-Identifier: Apache-2.0
//
// The decoded pictures of a run, with their times: by a decoder of its own, or of a live source
// that several streams show out of their store (picture_store.h), GOP by GOP. A run may go from one
// to the other at each closed key picture, where nothing depends on what was before; where there is
// none, it is decoded in one of the two ways from its begin to its end. Where the pictures of a
// file begin to be coded in another way (coding_header.h), its own decoder is another one from
// there on.
//
// Thread-safety: thread-compatible; moves between workers with its run.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "codec/captions.h"
#include "codec/context_cache.h"
#include "codec/picture_store.h"
#include "codec/video_decoder.h"
#include "media/ingest.h"
#include "media/plan.h"

namespace gopmill {

class RunPictures {
 public:
  // `first_number`: of the first packet that will be fed, for sources whose pictures are counted.
  RunPictures(std::shared_ptr<const StreamPlan> plan, std::int64_t first_number)
      : plan_(std::move(plan)),
        coded_(plan_->source),
        single_pictures_(DecodesSinglePictures(*plan_->source->video.parameters)),
        may_have_captions_(MayHaveCaptions(plan_->source->video.parameters->codec_id)),
        counted_(first_number) {}

  // Before anything is fed: with this decoder.
  void BeginWith(std::unique_ptr<VideoDecoder> decoder);
  // Appends packets in decode order, for its own decoder; `last`: the run ends with them.
  void Feed(std::vector<av::Packet> packets, bool last);
  // Appends the packets of a unit from the one at `place` on, which are decoded as `seat` says;
  // null = by its own decoder, which comes from the cache.
  Status Feed(const UnitInput& unit, std::size_t place, ContextCache& cache, PictureSeat* seat);

  // The next picture; false = none left among the packets fed.
  Result<bool> Next(AVFrame& frame);
  // There will be no more, whatever is fed.
  [[nodiscard]] bool over() const;
  // Pictures that it needs are gone: the run has to be decoded again.
  [[nodiscard]] bool lost() const;
  // So far; `taken` as for TapCounts.
  [[nodiscard]] TapCounts counts() const;
  // So far no packet was rejected, and no picture has parts that were made up.
  [[nodiscard]] bool flawless() const { return !made_up_ && counts().damaged == 0; }
  // There are closed captions in what has been fed.
  [[nodiscard]] bool fed_captions() const { return fed_captions_; }
  // Of its decoders, and of packets that wait for them, about.
  [[nodiscard]] std::size_t footprint_bytes() const;
  // Its own decoder, once the run is over; may be null.
  std::unique_ptr<VideoDecoder> TakeDecoder();

 private:
  // What is decoded in one way.
  struct Leg {
    std::unique_ptr<PictureTap> tap;
    std::unique_ptr<VideoDecoder> decoder;    // in place of a tap
    std::shared_ptr<const SourceInfo> coded;  // where it has to be opened yet
    std::deque<av::Packet> unread;            // for it
    bool fed = false, drain_sent = false;
    std::int64_t decoded = 0;  // by its own decoder

    void Feed(av::Packet packet);
    void Close();
    Result<bool> Next(AVFrame& frame);
    [[nodiscard]] bool over() const { return tap ? tap->over() : drain_sent; }
    [[nodiscard]] TapCounts counts() const;
  };
  Status PassBy(const UnitInput& unit, std::size_t place, ContextCache& cache, PictureSeat& seat);
  [[nodiscard]] std::optional<SourceTicks> NeededOf(const UnitSpec& spec) const;
  Status BeginOwn(ContextCache& cache);
  void FeedLast(av::Packet packet);
  void Time(const Leg& leg, AVFrame& frame);

  std::shared_ptr<const StreamPlan> plan_;
  std::shared_ptr<const SourceInfo> coded_;  // what is fed
  std::deque<Leg> legs_;                     // the last one is fed, the first one read
  bool fed_ = false;                         // the run ends with what has been fed
  const bool single_pictures_;               // DecodesSinglePictures
  bool closed_before_ = false;               // the packet before is a closed key picture
  TapCounts before_;                         // of legs that are over
  bool made_up_ = false;                     // HasMadeUpParts of a picture so far
  const bool may_have_captions_;             // its codec
  bool fed_captions_ = false;
  std::int64_t counted_;             // pictures numbered so far (counted_pts)
  std::optional<SourceTicks> last_;  // time of the last picture
};

}  // namespace gopmill
