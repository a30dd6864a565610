// SPDX-License-Identifier: Apache-2.0
#include "codec/encoder_settings.h"

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
}

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "codec/codec_level.h"
#include "codec/hdr_params.h"
#include "media/av_error.h"

namespace gopmill {
namespace {

// --- tables -----------------------------------------------------------------------------------

// Same order as enum Preset. x264 and x265 share their names; SVT-AV1, VP9 (cpu-used of the "good"
// deadline) and MPEG-4 have scales of their own. SVT-AV1 below 6 would use other tables of block
// sizes, which all its encoders in a process share (av1_gate.h).
struct PresetRow {
  const char* x26x;
  int x264_lookahead;
  int svt_av1;
  int vp9_cpu_used;
  int mpeg4_decision;  // how macroblock types are chosen
  int mpeg4_trellis;
};
constexpr std::array<PresetRow, 9> kPresets = {{
    {"ultrafast", 0, 12, 5, FF_MB_DECISION_SIMPLE, 0},
    {"superfast", 0, 11, 5, FF_MB_DECISION_SIMPLE, 0},
    {"veryfast", 10, 10, 5, FF_MB_DECISION_SIMPLE, 0},
    {"faster", 20, 9, 4, FF_MB_DECISION_BITS, 0},
    {"fast", 30, 8, 4, FF_MB_DECISION_RD, 0},
    {"medium", 40, 7, 3, FF_MB_DECISION_RD, 1},
    {"slow", 50, 6, 2, FF_MB_DECISION_RD, 2},
    {"slower", 60, 6, 1, FF_MB_DECISION_RD, 2},
    {"veryslow", 60, 6, 0, FF_MB_DECISION_RD, 2},
}};
const PresetRow& RowOf(Preset preset) { return kPresets.at(static_cast<std::size_t>(preset)); }

constexpr double kSteeringStart = 25;  // replaced before the first frame is coded
constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
constexpr int kNeverAgain = 1 << 20;  // frames between key frames: longer than any unit
// H.264's quantiser steps double every 6; MPEG-4's scale is linear and about 1 at step 12.
int Mpeg4Quality(double crf) {
  const double quantiser = std::clamp(0.85 * std::exp2((crf - 12) / 6), 1.0, 31.0);
  return static_cast<int>(std::lround(quantiser * FF_QP2LAMBDA));
}

const char* H264ProfileName(const EncoderSpec& spec) {
  switch (spec.profile) {
    case Profile::kBaseline: return "baseline";
    case Profile::kMain: return "main";
    case Profile::kHigh10: return "high10";
    case Profile::kAuto:
    case Profile::kHigh:
    case Profile::kMain10: break;
  }
  return "high";
}

// --- writing options --------------------------------------------------------------------------

// Collects the first failure, so that settings read as a plain list.
class Options {
 public:
  explicit Options(AVCodecContext& context) : context_(context) {}
  void Set(const char* name, const std::string& value) {
    Check(name, av_opt_set(context_.priv_data, name, value.c_str(), 0));
  }
  void Set(const char* name, const char* value) { Set(name, std::string(value)); }
  void Set(const char* name, int value) {
    Check(name, av_opt_set_int(context_.priv_data, name, value, 0));
  }
  void Set(const char* name, double value) {
    Check(name, av_opt_set_double(context_.priv_data, name, value, 0));
  }
  [[nodiscard]] Status status() const { return status_; }

 private:
  void Check(const char* name, int native) {
    if (native >= 0 || !status_.ok()) return;
    status_ = av::AvError(fmt::format("The encoder does not take the option {}", name), native);
  }
  AVCodecContext& context_;
  Status status_;
};

// Less of what costs time and is not written into parameter sets. The offset is what x264 itself
// adds for the psychovisual decisions, which a search this quick leaves out.
std::string FasterX264(Preset preset) {
  return fmt::format(
      ":me=dia:subme=1:trellis=0:partitions=none:mixed-refs=0:b-adapt=0:rc-lookahead=0:mbtree=0"
      ":direct=spatial:chroma-qp-offset={}",
      preset >= Preset::kFast ? -2 : 0);
}

// A frame is coded when two more have come: what waits longer for a choice is delay.
constexpr const char* kLowDelayX264 = ":rc-lookahead=0:mbtree=0:force-cfr=1";
constexpr const char* kTwoBFrames = ":bframes=2:b-adapt=0:b-pyramid=none";

// --- one function per encoder -----------------------------------------------------------------

void ApplyX264(const EncoderSpec& spec, int lookahead, AVCodecContext& context, Options& options) {
  options.Set("preset", RowOf(spec.preset).x26x);
  options.Set("profile", H264ProfileName(spec));
  options.Set("a53cc", 1);  // those that the selection of frames gave them
  if (spec.rate_mode == RateMode::kCrf) options.Set("crf", spec.crf);
  if (spec.rate_mode == RateMode::kQp) options.Set("qp", spec.qp);
  if (SteeredByCrf(spec)) {
    context.bit_rate = 0;
    options.Set("crf", kSteeringStart);
  }
  if (lookahead != kPresetLookahead) options.Set("rc-lookahead", lookahead);
  context.level = H264Level(spec);
  // Scene cuts keep their I pictures, but none is far enough from the first to become an IDR.
  std::string params = fmt::format(
      "threads={}:lookahead-threads=1:sync-lookahead=0:sliced-threads=0:stitchable=1"
      ":cpu-independent=1:keyint=infinite:min-keyint=536870912",
      spec.threads);
  if (spec.faster) params += FasterX264(spec.preset);
  if (spec.low_delay) params += kLowDelayX264;
  // These parameters overrule those of preset and profile.
  if (!spec.b_frames || !HasBFrames(spec.codec, spec.preset, spec.profile)) {
    params += ":bframes=0";
  } else if (spec.low_delay) {
    params += kTwoBFrames;
  }
  if (spec.profile == Profile::kHigh10) {
    params += HdrParams(spec, kX264Hdr);
  }
  options.Set("x264-params", params);
}

// A unit as one stretch of constant rate: the encoder may draw on the whole unit's bits.
std::int64_t UnitBits(const EncoderSpec& spec, const UnitSettings& unit) {
  const double seconds = unit.frames > 0 ? static_cast<double>(unit.frames) / spec.fps.ToDouble()
                                         : kDefaultUnitSeconds;
  return static_cast<std::int64_t>(static_cast<double>(unit.bps) * seconds);
}

void ApplyX265(const EncoderSpec& spec, const UnitSettings& unit, AVCodecContext& context,
               Options& options) {
  options.Set("preset", RowOf(spec.preset).x26x);
  options.Set("profile", HasTenBits(spec) ? "main10" : "main");
  if (spec.rate_mode == RateMode::kCrf) options.Set("crf", spec.crf);
  if (spec.rate_mode == RateMode::kQp) options.Set("qp", spec.qp);
  std::string params =
      "pools=none:frame-threads=1:wpp=0:pmode=0:pme=0:lookahead-slices=0:open-gop=0:info=0"
      ":log-level=none:hash=0:high-tier=0";
  params += fmt::format(":keyint={0}:min-keyint={0}", kNeverAgain);
  if (spec.rate_mode == RateMode::kBitrate) {
    params += fmt::format(":level-idc={}", HevcLevel(spec));
  }
  if (spec.maxrate > 0) {
    params += ":vbv-init=0.5";
  } else if (spec.rate_mode == RateMode::kBitrate) {
    // Its average bit rate comes out 16 to 25 % low over 2 s; constant rate over the unit does not.
    context.rc_max_rate = unit.bps;
    context.rc_buffer_size =
        static_cast<int>(std::min<std::int64_t>(UnitBits(spec, unit), kMaxInt));
    params += ":vbv-init=0.925";
  }
  if (!spec.b_frames) params += ":bframes=0";
  params += HdrParams(spec, kX265Hdr);
  options.Set("x265-params", params);
}

void ApplySvtAv1(const EncoderSpec& spec, AVCodecContext& context, Options& options) {
  options.Set("preset", RowOf(spec.preset).svt_av1);
  if (spec.rate_mode == RateMode::kCrf) {
    options.Set("crf", static_cast<int>(std::lround(spec.crf)));
  }
  if (spec.rate_mode == RateMode::kQp) options.Set("qp", spec.qp);
  // This encoder caps the rate in CRF mode only.
  if (spec.rate_mode != RateMode::kCrf) context.rc_max_rate = context.rc_buffer_size = 0;
  // Units may aim at more than the stream's rate, and a cap may lie above what it takes.
  context.bit_rate = std::min(context.bit_rate, kMaxAv1Bitrate);
  context.rc_max_rate = std::min(context.rc_max_rate, kMaxAv1Bitrate);
  options.Set("svtav1-params", "lp=1:pin=0:scd=0" + HdrParams(spec, kSvtAv1Hdr));
}

void ApplyVp9(const EncoderSpec& spec, const UnitSettings& unit, AVCodecContext& context,
              Options& options) {
  options.Set("deadline", "good");
  options.Set("cpu-used", RowOf(spec.preset).vp9_cpu_used);
  options.Set("row-mt", 0);
  options.Set("lag-in-frames", 16);
  options.Set("auto-alt-ref", 1);
  options.Set("tile-columns", 0);
  if (spec.rate_mode == RateMode::kBitrate) {
    // Constant rate: its one-pass variable rate came out 11 to 23 % high over 2 s.
    context.rc_max_rate = context.rc_min_rate = context.bit_rate;
    context.rc_buffer_size =
        static_cast<int>(std::min<std::int64_t>(UnitBits(spec, unit), kMaxInt));
    // Full, whatever the stream's buffer is: it would save what it takes to fill it.
    context.rc_initial_buffer_occupancy = 0;
  }
  if (spec.rate_mode == RateMode::kCrf) {
    options.Set("crf", static_cast<int>(std::lround(spec.crf)));
    context.bit_rate = spec.maxrate;  // 0 = constant quality, else the cap of constrained quality
  }
  if (spec.rate_mode == RateMode::kQp) {
    options.Set("crf", spec.qp);
    context.qmin = context.qmax = spec.qp;
  }
}

void ApplyMpeg4(const EncoderSpec& spec, AVCodecContext& context, Options& options) {
  const PresetRow& preset = RowOf(spec.preset);
  context.mb_decision = preset.mpeg4_decision;
  context.trellis = preset.mpeg4_trellis;
  context.dct_algo = FF_DCT_INT;  // the default rounds differently from CPU to CPU
  context.max_b_frames = 0;
  context.qmin = 1;
  context.qmax = 31;
  options.Set("sc_threshold", 1'000'000'000);
  // Without this, key frames come every 600 frames at least.
  context.strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
  context.bit_rate = 0;  // constant or steered quantiser
  context.flags |= AV_CODEC_FLAG_QSCALE;
  context.global_quality =
      spec.rate_mode == RateMode::kQp ? spec.qp * FF_QP2LAMBDA : Mpeg4Quality(spec.crf);
}

void ApplyCommon(const EncoderSpec& spec, std::int64_t bps, AVCodecContext& context) {
  context.width = spec.width;
  context.height = spec.height;
  context.pix_fmt = static_cast<AVPixelFormat>(spec.pixel_format);
  context.time_base = av::ToAv(spec.fps.Inverse());
  context.framerate = av::ToAv(spec.fps);
  context.sample_aspect_ratio = av::ToAv(spec.sample_aspect);
  context.gop_size = kNeverAgain;
  context.keyint_min = kNeverAgain;
  context.thread_count = 1;
  context.flags |= static_cast<int>(AV_CODEC_FLAG_CLOSED_GOP | AV_CODEC_FLAG_BITEXACT);
  if (spec.global_header) context.flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  context.err_recognition |= AV_EF_EXPLODE;  // a wrong parameter is an error, not a warning
  context.color_primaries = static_cast<AVColorPrimaries>(spec.color_primaries);
  context.color_trc = static_cast<AVColorTransferCharacteristic>(spec.color_trc);
  context.colorspace = static_cast<AVColorSpace>(spec.color_space);
  context.color_range = static_cast<AVColorRange>(spec.color_range);
  context.chroma_sample_location = static_cast<AVChromaLocation>(spec.chroma_location);
  context.bit_rate = 0;
  if (spec.rate_mode == RateMode::kBitrate) {
    context.bit_rate = spec.maxrate > 0 ? std::min(bps, spec.maxrate) : bps;
  }
  if (spec.maxrate > 0 && spec.threads == 1) {
    const std::int64_t buffer = spec.bufsize > 0 ? spec.bufsize : spec.maxrate;
    context.rc_max_rate = spec.maxrate;
    context.rc_buffer_size = static_cast<int>(std::min(buffer, kMaxInt));
    // Encoders start with a full buffer; over many short units that would exceed the cap.
    context.rc_initial_buffer_occupancy = context.rc_buffer_size / 2;
  }
}

}  // namespace

const AVCodec* FindEncoder(VideoCodec codec) {
  switch (codec) {
    case VideoCodec::kH264: return avcodec_find_encoder_by_name("libx264");
    case VideoCodec::kHevc: return avcodec_find_encoder_by_name("libx265");
    case VideoCodec::kAv1: return avcodec_find_encoder_by_name("libsvtav1");
    case VideoCodec::kVp9: return avcodec_find_encoder_by_name("libvpx-vp9");
    case VideoCodec::kMpeg4: return avcodec_find_encoder_by_name("mpeg4");
  }
  return nullptr;
}

bool CpuIndependent(VideoCodec codec) {
  // libvpx cannot be told to do without its vector code, so for VP9 nothing could be proved.
  return codec != VideoCodec::kVp9;
}

bool SteeredByCrf(const EncoderSpec& spec) {
  return spec.rate_mode == RateMode::kBitrate &&
         (spec.codec == VideoCodec::kH264 || spec.codec == VideoCodec::kMpeg4);
}

Status SetCrf(AVCodecContext& context, double crf) {
  if (context.codec_id == AV_CODEC_ID_MPEG4) {
    context.global_quality = Mpeg4Quality(crf);
    return OkStatus();
  }
  Options options(context);
  options.Set("crf", crf);
  return options.status();
}

int PresetLookahead(Preset preset) { return RowOf(preset).x264_lookahead; }

Status ApplySettings(const EncoderSpec& spec, const UnitSettings& unit, AVCodecContext& context) {
  ApplyCommon(spec, unit.bps, context);
  Options options(context);
  switch (spec.codec) {
    case VideoCodec::kH264: ApplyX264(spec, unit.lookahead, context, options); break;
    case VideoCodec::kHevc: ApplyX265(spec, unit, context, options); break;
    case VideoCodec::kAv1: ApplySvtAv1(spec, context, options); break;
    case VideoCodec::kVp9: ApplyVp9(spec, unit, context, options); break;
    case VideoCodec::kMpeg4: ApplyMpeg4(spec, context, options); break;
  }
  return options.status();
}

}  // namespace gopmill
