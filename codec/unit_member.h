// SPDX-License-Identifier: Apache-2.0
//
// One rendition of those that are made of one decode of a unit (unit_transcoder.h): its passes, and
// the frames that are kept so that another pass needs no other decode.
//
// BeginPass, then for each output frame Make and Encode, then EndPass. After it, a member that has
// not concluded() has its verdict asked whether the unit is to be decoded again.
//
// Thread-safety: thread-affine to the worker that runs the unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "codec/unit_pass.h"
#include "codec/unit_transcoder.h"
#include "codec/unit_verdict.h"

namespace gopmill {

// Of one rendition: two dozen pictures of 720p, or eight of 1080p, which is enough for short units
// only. Without them the source is decoded again where it has to be.
inline constexpr std::size_t kMaxKeptBytes = 32U << 20U, kMaxKeptOfLarge = 24U << 20U;

class UnitMember {
 public:
  // Both are borrowed.
  UnitMember(UnitRendition& wanted, ContextCache& cache);
  UnitMember(const UnitMember&) = delete;
  UnitMember& operator=(const UnitMember&) = delete;

  // Whether it goes on; once it does not, it never does again.
  bool goes_on();
  [[nodiscard]] const UnitSpec& spec() const { return rendition.task.input->spec; }
  // `again`: from the beginning of its GOP. What has left with the pieces before is dropped.
  Status BeginPass(bool again);
  // `place`: in the unit, from 0; in front of it where its GOP is made again.
  Result<av::Frame> Make(const FrameSelector::Selected& selected, std::int64_t place) {
    return pass_->Make(selected, spec().first_frame + place);
  }
  Status Encode(const AVFrame& frame);
  // Gives the scaler back.
  Status EndPass();
  // Whether its passes have been judged, and one was good: no other decode is needed.
  [[nodiscard]] bool concluded() const { return concluded_; }

  UnitRendition& rendition;
  UnitStats stats;
  UnitVerdict verdict;
  std::unique_ptr<OpenGop> gop;  // that goes on after the unit

 private:
  void Add(av::Packet packet);
  [[nodiscard]] std::int64_t FewestNeeded() const;
  void Keep(const AVFrame& frame);
  [[nodiscard]] bool HasAll() const {
    return static_cast<std::int64_t>(kept_.size()) == spec().frame_count();
  }
  Status EncodeAgain();
  Status Finish();

  ContextCache& cache_;
  std::optional<UnitPass> pass_;  // the one that runs
  std::vector<av::Frame> kept_;   // of its first frames, or of all
  bool concluded_ = false;
  std::int64_t skip_ = 0;  // packets
  const UnitPass::PacketHandler add_ = [this](av::Packet packet) { Add(std::move(packet)); };
};

}  // namespace gopmill
