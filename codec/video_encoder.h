// SPDX-License-Identifier: Apache-2.0
//
// One encoder for one unit, or for the pieces of one GOP. An encoder is made for a stream
// (EncoderSpec) and told the unit's bit rate before its first frame.
//
// Guarantee: bytes depend only on the spec, the bit rate and the frames; never on threads, on what
// the encoder did before (it is used for one unit only) or, where the codec can promise it, on the
// CPU's instruction sets (`CpuIndependent`).
//
// Bit rates: x264 runs at constant rate factor and is steered frame by frame (codec/rate_control),
// so it can be opened ahead. The other encoders keep their own control; they cannot change the mean
// rate once open, so in kBitrate mode SetRate opens them, not Open.
//
// Thread-safety: thread-compatible; one worker at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "codec/library_threads.h"
#include "codec/rate_control.h"
#include "media/av_ptr.h"
#include "media/plan.h"

namespace gopmill {

// All that fixes an encoder's settings, derived from the plan alone (so equal on every machine).
struct EncoderSpec {
  VideoCodec codec = VideoCodec::kH264;
  Preset preset = Preset::kVeryfast;
  Profile profile = Profile::kAuto;
  int width = 0, height = 0;
  Rational fps;
  Rational sample_aspect{1, 1};
  int pixel_format = -1;  // AVPixelFormat
  RateMode rate_mode = RateMode::kBitrate;
  Quality quality = Quality::kNormal;
  // H.264: frames leave at once, or with B frames after two more (StreamPlan::low_delay).
  bool low_delay = false;
  bool b_frames = true;  // H.264 and HEVC: may be used
  bool faster = false;   // Effort::kFaster: less search, the same parameter sets
  // H.264: pictures coded at once, each on a thread of the encoder's own. Bytes depend on it, so
  // that it comes from the target, never from the machine. With more than one the encoder keeps no
  // VBV: what x264 does for it then depends on which thread is faster.
  int threads = 1;
  std::int64_t nominal_bps = 0;           // the stream's bit rate (kBitrate)
  std::int64_t maxrate = 0, bufsize = 0;  // bits/s, bits; 0 = no VBV
  std::int64_t level_bps = 0;             // the level is that of this rate; 0 = of the ones above
  double crf = 0;
  int qp = 0;
  bool global_header = true;  // parameter sets in extradata (MP4, Matroska) or in band (TS)
  // Colour description as AVColor* enum values, and HDR10 metadata when the source has it.
  int color_primaries = 2, color_trc = 2, color_space = 2, color_range = 0, chroma_location = 0;
  std::vector<std::uint8_t> mastering_display =
      {};                                        // AVMasteringDisplayMetadata bytes, empty = none
  std::vector<std::uint8_t> content_light = {};  // AVContentLightMetadata bytes, empty = none

  bool operator==(const EncoderSpec&) const = default;
};

// The spec of a stream's encoders. kUnsupported when this build has no such encoder;
// kInvalidArgument, naming the parameter, when the combination (profile, fps) is
// impossible for the codec.
Result<EncoderSpec> MakeEncoderSpec(const StreamPlan& plan);

// Its pictures have ten bits a sample; otherwise eight.
bool HasTenBits(const EncoderSpec& spec);

// The same with Effort::kFaster, where there is such a thing.
EncoderSpec WithLessSearch(const EncoderSpec& spec);

// The same with Effort::kHalfSize: half as wide and high, in even numbers, at the same bit rate.
// Nothing where the output cannot follow: its parameter sets are in the container's header, or its
// codec is not known to take other ones at a key frame in all players. Nothing either where the
// shorter side would be less than kLeastSide.
inline constexpr int kLeastSide = 90;  // pixels
std::optional<EncoderSpec> WithHalfSize(const EncoderSpec& spec, const StreamPlan& plan);

// The same with one thread, and with the encoder's own VBV.
EncoderSpec WithOneThread(const EncoderSpec& spec);

// Of a unit that somebody waits for: more than 1 for large pictures, where the rate can do without
// the encoder's VBV.
int ThreadsWorthwhile(const EncoderSpec& spec);

struct UnitSettings;  // codec/encoder_settings.h

class VideoEncoder {
 public:
  // Makes an encoder with one thread. kUnsupported if the build lacks it.
  // `frames` in the unit it is for, as far as they are known (0 = not): x264 looks less far ahead
  // in short units, and has to be opened again when SetRate names another number that matters.
  static Result<std::unique_ptr<VideoEncoder>> Open(const EncoderSpec& spec,
                                                    std::int64_t frames = 0);
  ~VideoEncoder();
  VideoEncoder(const VideoEncoder&) = delete;
  VideoEncoder& operator=(const VideoEncoder&) = delete;

  // The unit's own bit rate, with what earlier units have taught for encoders that are steered, and
  // its number of frames (0 = unknown; the rate is then met less well); kBitrate mode only; before
  // the first frame. Without this call the rate is the spec's nominal one. A failure to open is
  // reported by Send.
  void SetRate(const RateAim& aim, std::int64_t frames);
  // In place of SetRate, for encoders that are steered by CRF (SteeredByCrf): one constant rate
  // factor for the whole unit, and the lookahead of the preset.
  void SetConstantQuality(double crf, std::int64_t frames);
  // Feeds one frame whose pts counts output frames (time base 1/fps). The first frame becomes an
  // IDR (key frame), none after it does. nullptr = no more frames: drain with Receive.
  Status Send(const AVFrame* frame);
  // Takes the next coded packet; false = none now (feed more, or after the drain: the end). pts are
  // output frame numbers; dts are rewritten by the caller.
  Result<bool> Receive(AVPacket& packet);

  // Codec parameters for the muxer (extradata when global_header); identical for equal specs,
  // whatever the unit's bit rate. Opens the codec at the nominal rate if nothing has yet.
  [[nodiscard]] const AVCodecContext& context();
  // Whether the codec could be opened, after context() or Send.
  [[nodiscard]] const Status& opened() const { return opened_; }
  // Frames by which decoding order runs ahead of display order, constant for a spec.
  [[nodiscard]] int reorder_delay();
  // What it was opened with; see UnitLookahead.
  [[nodiscard]] int lookahead() const { return lookahead_; }
  // Of an encoder that is steered (RateControl).
  [[nodiscard]] RateLesson lesson() const { return control_ ? control_->lesson() : RateLesson{}; }
  [[nodiscard]] RateTrial trial() const { return control_ ? control_->trial() : RateTrial::kGood; }
  // CPU time of threads of the library's own so far, which the caller's clock does not have.
  [[nodiscard]] Duration own_threads_cpu() const { return closed_cpu_ + threads_.Cpu(); }
  // Rough memory footprint while encoding, bytes.
  [[nodiscard]] std::size_t footprint_bytes() const;

 private:
  explicit VideoEncoder(EncoderSpec spec) : spec_(std::move(spec)) {}
  Status OpenCodec(const UnitSettings& unit);
  void CloseCodec();
  void PassGate();
  void OpenIfNot();
  Status Feed();

  EncoderSpec spec_;
  int lookahead_ = 0;         // the codec was opened with
  av::CodecContext context_;  // null until the codec is opened
  LibraryThreads threads_;    // of the codec
  Duration closed_cpu_{};     // of those of codecs that were opened before
  Status opened_;             // what opening it gave
  std::optional<RateControl> control_;
  bool constant_quality_ = false;
  std::deque<av::Frame> held_;  // in front of the codec
  bool passed_gate_ = false;    // av1_gate.h
  bool fed_frame_ = false, draining_ = false, fed_end_ = false, received_ = false;
};

// The encoder's parameters as a muxer wants them.
Result<std::shared_ptr<const AVCodecParameters>> EncoderParameters(VideoEncoder& encoder);

// Whether pictures are larger than 1600x900: what waits of them for an encoder is most of what a
// unit takes, so fewer wait (UnitLookahead, kMaxKeptOfLarge).
bool IsLarge(const EncoderSpec& spec);
// Frames that the encoder of a unit of so many frames looks ahead; kPresetLookahead = as its preset
// does.
int UnitLookahead(const EncoderSpec& spec, std::int64_t frames);
// Frames at least that such an encoder takes before the first comes out.
std::int64_t FramesAhead(const EncoderSpec& spec, std::int64_t frames);

// Whether an encoder of this spec can be opened before its unit's bit rate is known.
bool OpensAhead(const EncoderSpec& spec);

// False for codecs whose bytes may differ between CPU models (the same-bytes promise then holds
// between equal CPUs only).
bool CpuIndependent(VideoCodec codec);

}  // namespace gopmill
