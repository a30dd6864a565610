// SPDX-License-Identifier: Apache-2.0
//
// Reads one source from front to end and turns it into the pieces that the engine works on: units
// of video with the packets they need, and audio packets, in the order of the source. The plan is
// made here, packet by packet, so a pipe and a file are the same.
//
// Memory: packets are references to what the demuxer read; the ingest itself holds at most the
// packets of the unit being collected plus one GOP of preroll (limited to kMaxCollectedBytes).
//
// Thread-safety: thread-affine to the stream's ingest thread.
#pragma once

#include <deque>
#include <memory>
#include <stop_token>
#include <utility>
#include <variant>
#include <vector>

#include "base/adjustment.h"
#include "base/status.h"
#include "media/packet_meta.h"
#include "media/plan.h"
#include "media/random_access.h"
#include "media/source.h"
#include "media/timestamp_repair.h"
#include "media/unit_planner.h"

namespace gopmill {

// A source whose single unit would take more bytes than this, compressed and with kPacketOverhead,
// is refused.
inline constexpr std::size_t kMaxCollectedBytes = std::size_t{256} << 20U;

// One unit of work with its packets (decode order). A chained unit's packets follow those of the
// unit before. pts of packets are SourceTicks, AV_NOPTS_VALUE where unknown.
struct UnitInput {
  UnitSpec spec;
  std::vector<av::Packet> packets;
  std::vector<RandomAccess> access = {};  // of each packet
  // Of a segment: what its first packet is coded as.
  std::shared_ptr<const SourceInfo> coded = {};

  [[nodiscard]] std::size_t bytes() const;
};

// One audio packet, times in its track's time base after repair; stream_index is the track's number
// (SourceInfo::sound).
struct AudioInput {
  av::Packet packet;
};

// From here on units and sound are coded in another way: this is their plan. It differs from the
// one before in its source alone.
struct CodingChanged {
  std::shared_ptr<const StreamPlan> plan;
};

// The last item of every source.
struct EndOfSource {
  bool truncated = false;     // a read error or a damaged container ended it early
  std::int64_t repaired = 0;  // timestamps repaired
  // Pictures in front of the first that can be decoded on its own, and those that come behind it
  // and are to be shown before it, as where a source has its beginning twice: not decoded.
  std::int64_t left_out = 0;
  std::int64_t planned_frames = 0;
};

// What is wrong with a source that has ended without a picture.
[[nodiscard]] Error NoPicture(const SourceInfo& source);

class Ingest {
 public:
  // Decides the target from the request and the source, seeks to its start and reads ahead to the
  // first video packet, which fixes the output grid.
  static Result<std::unique_ptr<Ingest>> Open(UniqueFd source, const TargetRequest& request,
                                              std::stop_token stop);
  // `texts`: what the request wants of the movie's text, if anything.
  static Result<std::unique_ptr<Ingest>> Open(std::unique_ptr<PacketSource> source,
                                              const TargetRequest& request, PlanTexts texts = {});

  // Of the first packets (CodingChanged).
  [[nodiscard]] const std::shared_ptr<const StreamPlan>& plan() const { return plan_; }
  [[nodiscard]] const std::vector<Adjustment>& adjustments() const { return adjustments_; }
  // Where the output begins on the source's timeline, seconds.
  [[nodiscard]] Rational clip_start() const { return clip_start_; }
  // Where the request ends on the source's timeline, seconds; not valid = at the source's end.
  [[nodiscard]] Rational clip_end() const;

  // PacketSource::live.
  [[nodiscard]] bool live() const { return source_->live(); }

  // Before the first Next.
  void SetBudgets(UnitBudgets budgets) { planner_->SetBudgets(std::move(budgets)); }

  using Item = std::variant<UnitInput, AudioInput, CodingChanged, EndOfSource>;
  // The next piece. After EndOfSource, do not call again.
  Result<Item> Next();
  // As if the source had ended behind that many output frames, which Next has given out.
  [[nodiscard]] EndOfSource EndAfter(std::int64_t frames) const;

 private:
  Ingest(std::unique_ptr<PacketSource> source, TimestampRepair repair)
      : source_(std::move(source)), repair_(std::move(repair)) {}
  Status ReadToFirstVideo();
  void PlaceGrid(StreamPlan& plan);
  void MakePlan(const Target& target, PlanTexts texts);
  void NoteBegin(const AVPacket& picture);
  Status Read();
  void ChangeCoding(std::shared_ptr<const SourceInfo> coded, const AVPacket* picture);
  void ChangePictures(const AVPacket& picture, const StreamPlan& plan);
  void OnVideo(av::Packet packet);
  void OnAudio(av::Packet packet);
  void EndSoundsAt(std::int64_t picture);
  [[nodiscard]] bool audio_done() const;
  void OnEnd();
  void EmitUnits(const std::vector<UnitSpec>& units);
  void Forget();

  std::unique_ptr<PacketSource> source_;
  TimestampRepair repair_;
  std::shared_ptr<const StreamPlan> plan_;
  std::shared_ptr<const SourceInfo> coded_;  // as the packet read last was
  Rational clip_start_;
  std::vector<Adjustment> adjustments_;
  std::unique_ptr<PacketDescriber> describer_;
  std::unique_ptr<UnitPlanner> planner_;
  struct FirstVideo {
    av::Packet packet;
    std::shared_ptr<const SourceInfo> coded;
  };
  std::deque<FirstVideo> first_videos_;  // read by Open, not yet planned
  std::deque<av::Packet> packets_;       // video, numbered from packets_base_
  std::deque<RandomAccess> access_;      // of these
  std::int64_t packets_base_ = 0;
  std::int64_t delivered_ = 0;  // packets before this number went out with some unit
  std::size_t collected_bytes_ = 0;
  std::deque<av::Packet> early_audio_;  // read before the first video packet
  std::int64_t early_audio_bytes_ = 0;
  std::deque<Item> ready_;
  std::int64_t planned_frames_ = 0;
  std::int64_t begin_us_ = 0;   // first packet of the pictures, since the source's zero, as it came
  SourceTicks first_pts_ = 0;   // where the pictures begin; of those that are counted, as it came
  SourceTicks shown_from_ = 0;  // packets in no unit that are before this are left out
  std::int64_t left_out_ = 0;
  std::vector<bool> audio_over_;  // of each sound track that is used: its part has been read
  bool ended_ = false;
};

}  // namespace gopmill
