// SPDX-License-Identifier: Apache-2.0
//
// One pass over one unit: decoded frames in order, through the scaler, into one encoder. A unit
// takes one pass, or several where its rate has to be judged (unit_rate.h). Open, then for each
// output frame of the unit Make and Encode, then Finish, or Leave if its GOP goes on.
//
// Thread-safety: thread-affine to the worker that runs the unit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "codec/subtitle_burner.h"
#include "codec/unit_rate.h"
#include "codec/unit_transcoder.h"

namespace gopmill {

class UnitPass {
 public:
  // All are borrowed for the life of the pass.
  UnitPass(const UnitTask& task, ContextCache& cache, UnitStats& stats, UnitOutput& output);
  ~UnitPass();  // gives the scaler back
  UnitPass(const UnitPass&) = delete;
  UnitPass& operator=(const UnitPass&) = delete;

  using PacketHandler = std::function<void(av::Packet)>;

  // `begun`: the GOP that the unit goes on with, or null.
  Status Open(const PassRate& rate, std::unique_ptr<OpenGop> begun);
  // With another encoder from the first frame on; what Make does goes on.
  Status BeginAgain(const PassRate& rate);
  Result<av::Frame> Make(const FrameSelector::Selected& selected, std::int64_t n);
  Status Encode(const AVFrame& frame, const PacketHandler& on_packet);
  Status Finish(const PacketHandler& on_packet);
  // Of the encoder's rate control, so far.
  [[nodiscard]] RateTrial trial() const { return gop_->encoder->trial(); }
  [[nodiscard]] RateLesson lesson() const { return gop_->encoder->lesson(); }
  // For the next piece.
  std::unique_ptr<OpenGop> Leave();
  // Of a picture that Make gives, > 0.
  static std::size_t FrameBytes(const EncoderSpec& spec);

 private:
  Status TakeEncoder(const PassRate& rate);
  void TakeRate(const PassRate& rate);
  void NoteEncoderCpu();
  // As far as they are known.
  [[nodiscard]] std::int64_t GopFrames() const {
    return spec_.gop_frames > 0 ? spec_.gop_frames : spec_.frame_count();
  }
  Result<av::Frame> Scale(const AVFrame& frame);
  [[nodiscard]] OutputColors Colors() const;
  Result<av::Frame> Black();
  // The picture of output frame n with the plan's subtitles, or the same where there are none.
  Result<av::Frame> WithSubtitles(const AVFrame& picture, std::int64_t n);
  Status Send(const AVFrame* frame, const PacketHandler& on_packet);
  Status Announce();
  void NoteParameterSets(const AVPacket& first);

  const UnitTask& task_;
  const UnitSpec& spec_;
  ContextCache& cache_;
  UnitStats& stats_;
  UnitOutput& output_;
  std::unique_ptr<FrameFilter> filter_;
  PictureArea area_;                        // of the source in the last picture that was scaled
  std::unique_ptr<SubtitleBurner> burner_;  // of this pass alone; opened when there is something
  PictureArea burner_area_;                 // that it was opened for
  std::unique_ptr<OpenGop> gop_;
  Duration encoder_cpu_{};  // of its own threads, before this pass
};

}  // namespace gopmill
