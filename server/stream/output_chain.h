// SPDX-License-Identifier: Apache-2.0
//
// The way out of one stream: reorderer -> interleaver -> muxer (or what takes packets) -> sink.
// Packets go through as soon as their order is certain; nothing here waits but the sink.
//
// Thread-safety: thread-affine to the stream's egress thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/status.h"
#include "media/interleaver.h"
#include "media/muxer.h"
#include "media/plan.h"
#include "media/reorderer.h"
#include "media/text_feed.h"
#include "server/stream/mailbox.h"
#include "server/stream/parameter_set_table.h"
#include "server/stream/seam_ledger.h"

namespace gopmill {

class OutputChain {
 public:
  // Makes the end of the chain once all tracks are known: a muxer into `container`, or what takes
  // coded packets.
  using OutputOpener = std::function<Result<std::unique_ptr<PacketOutput>>(
      Container container, std::span<const MuxTrack> tracks)>;
  // `release` is called when a unit has left the reorderer whole, in order.
  // Each join goes to `on_seam` once the unit behind it has been written.
  OutputChain(OutputOpener open, std::function<void(UnitIndex)> release,
              SeamLedger::OnSeam on_seam);

  void SetPlan(const PlanReady& plan);
  void OnPlanned(const UnitSpec& unit);
  Status OnEncoder(std::shared_ptr<const AVCodecParameters> parameters);
  Status OnPacket(PacketCoded coded);
  // `size`: of the pictures that were ordered. All units of one size must have the same parameter
  // sets.
  Status OnUnitEnd(UnitIndex unit, const UnitStats& stats, Size size);
  // `window_sound`: HeldBytes of it that came with the units in the window.
  Status OnAudio(AudioCoded audio, std::size_t window_sound);
  // The source has been read up to `seconds` of the output clock: sound before that minus the slack
  // of the container's interleaving has been seen.
  Status OnRead(double seconds);
  Status OnAudioEnd();
  Status OnVideoEnd();
  // Writes the rest. Fails unless exactly `frames` pictures were muxed.
  Status Finish(std::int64_t frames);

  [[nodiscard]] std::int64_t frames_muxed() const { return frames_muxed_; }
  [[nodiscard]] std::int64_t bytes_out() const { return muxer_ ? muxer_->bytes_written() : 0; }
  [[nodiscard]] const Reorderer& reorderer() const { return reorderer_; }
  [[nodiscard]] SeamTotals seams() const { return seams_ ? seams_->totals() : SeamTotals{}; }

 private:
  Status Forward(std::vector<Reorderer::Released> released);
  [[nodiscard]] std::size_t MostSoundAhead() const;
  Status Drain();
  Status MuxVideo(av::Packet packet);
  // The track's next packet into the interleaver, or its end.
  void FeedText(std::size_t text);
  [[nodiscard]] MuxTrack Describe(std::size_t sound) const;
  void NoteEnd(const AVPacket& packet, Rational time_base);
  [[nodiscard]] bool IsBehindTheEnd(const AVPacket& text) const;

  const OutputOpener open_;
  const std::function<void(UnitIndex)> release_;
  const SeamLedger::OnSeam on_seam_;
  std::optional<SeamLedger> seams_;  // with the plan
  std::shared_ptr<const StreamPlan> plan_;
  std::shared_ptr<const EncoderSpec> encoder_;
  std::vector<CodedSound> sounds_;  // tracks behind the video
  Rational video_time_base_;
  std::vector<TextFeed> texts_;
  std::size_t first_text_ = 0;  // the number of their first track
  std::int64_t end_ms_ = 0;     // of the pictures and sound that were written
  Reorderer reorderer_;
  std::unique_ptr<Interleaver> interleaver_;
  std::unique_ptr<PacketOutput> muxer_;
  ParameterSetTable parameter_sets_;
  std::set<UnitIndex> within_gop_;  // units in the window that end no GOP
  std::int64_t frames_muxed_ = 0;
  std::int64_t last_flush_frame_ = 0;
};

}  // namespace gopmill
