// SPDX-License-Identifier: Apache-2.0
#include "media/coded_probe.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/contained.h"
#include "media/av_compat.h"
#include "media/av_error.h"
#include "media/decoder_table.h"
#include "media/measured_rate.h"
#include "media/probe.h"
#include "media/source.h"

namespace gopmill {
namespace {

using av::FromAv;

// Pictures that a frame rate is measured over if none is stated, and by which a stated one is
// doubted; for those that come slowly so long is enough to believe it.
constexpr std::size_t kMeasuredPictures = 12, kWitnesses = 6;
constexpr std::int64_t kWitnessNanos = 400'000'000;
// Many cameras state half their rate, counting fields as FFmpeg and GStreamer do not, or one that
// they were not set to. Half of their pictures would be lost. What is slower than it says loses
// none, and may be faster by day.
constexpr double kFaster = 4.0 / 3;

Result<av::CodecContext> OpenDecoder(const CodedTrack& track) {
  const AVCodec* codec = FindSourceDecoder(track.kind, track.codec);
  if (codec == nullptr) {
    return Error{.code = Code::kUnsupported,
                 .message = "A track of codec '" + track.codec + "' is not supported."};
  }
  av::CodecContext context(avcodec_alloc_context3(codec));
  GOPMILL_CHECK(context != nullptr);
  context->thread_count = 1;
  context->max_pixels = kMaxSourcePixels;  // what a sender says is checked after the first picture
  if (track.kind == TrackKind::kAudio) {
    context->sample_rate = track.sample_rate;
    av_channel_layout_default(&context->ch_layout, track.channels);
  } else {
    context->width = track.width;
    context->height = track.height;
  }
  context->extradata = av::NewExtradata(track.extradata);
  context->extradata_size = static_cast<int>(track.extradata.size());
  const int code = avcodec_open2(context.get(), codec, nullptr);
  if (code < 0) return av::AvError("The decoder of a track cannot be opened", code);
  return context;
}

std::shared_ptr<const AVCodecParameters> ParametersOf(const AVCodecContext& context) {
  av::CodecParameters parameters(avcodec_parameters_alloc());
  GOPMILL_CHECK(parameters != nullptr &&
                avcodec_parameters_from_context(parameters.get(), &context) >= 0);
  return std::shared_ptr<const AVCodecParameters>(std::move(parameters));
}

bool IsPlausible(Rational rate) {
  return rate.positive() && rate >= kLowestSourceFps && rate <= kHighestSourceFps;
}

// Clocks of RTP say no rate exactly. `fps` is plausible.
Rational Snap(double fps) {
  const auto* nearest = std::ranges::min_element(
      kUsualRates, {}, [&](Rational rate) { return std::abs(rate.ToDouble() - fps); });
  if (std::abs(nearest->ToDouble() / fps - 1) < 0.0008) return *nearest;
  return Rational{std::llround(fps * 1000), 1000}.Reduced();
}

}  // namespace

Result<VideoProbe> VideoProbe::Open(const CodedTrack& track) {
  GOPMILL_ASSIGN_OR_RETURN(auto decoder, OpenDecoder(track));
  return VideoProbe(track, std::move(decoder));
}

void VideoProbe::Push(const AVPacket& packet, std::int64_t pts_ns) {
  times_.push_back(pts_ns);
  if (decoded_) return;
  // What is damaged is repaired or reported by those who decode it for use.
  const av::Frame frame = av::NewFrame();
  int result = 0;
  const bool returned = ContainedCall([&] {
    static_cast<void>(avcodec_send_packet(decoder_.get(), &packet));
    result = avcodec_receive_frame(decoder_.get(), frame.get());
  });
  if (!returned) {
    static_cast<void>(decoder_.release());  // left behind as it is (base/contained.h)
    auto again = OpenDecoder(track_);
    GOPMILL_CHECK(again.ok());  // it was opened with the same before
    decoder_ = *std::move(again);
    return;
  }
  if (result < 0) return;
  decoded_ = true;
  interlaced_ = av::IsInterlaced(*frame);
}

Rational VideoProbe::StatedFps() const {
  for (const Rational rate : {track_.frame_rate, FromAv(decoder_->framerate)}) {
    if (IsPlausible(rate)) return rate.Reduced();
  }
  return {};
}

// Not valid where times do not tell.
Rational VideoProbe::MeasuredFps() const {
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> times = times_;
  std::ranges::sort(times);
  for (std::size_t i = 1; i < times.size(); ++i) steps.push_back(times[i] - times[i - 1]);
  if (steps.empty()) return {};
  // One picture that is missing at the start, or came late, shall not count.
  std::ranges::nth_element(steps, steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2));
  const std::int64_t step = steps[steps.size() / 2];
  // Senders may jump by any time: such a step is no rate.
  if (!IsPlausible({kNanos.den, step})) return {};
  return Snap(static_cast<double>(kNanos.den) / static_cast<double>(step));
}

Rational VideoProbe::Fps() const {
  const Rational stated = StatedFps(), measured = MeasuredFps();
  const bool doubted = stated.positive() && measured.positive() && times_.size() >= kWitnesses &&
                       measured.ToDouble() > kFaster * stated.ToDouble();
  if (stated.positive() && !doubted) return stated;
  return measured.positive() ? measured : Rational{25, 1};
}

// Pictures that were sent ahead of one that is shown before them.
int VideoProbe::SeenDelay() const {
  std::ptrdiff_t delay = 0;
  for (auto time = times_.begin(); time != times_.end(); ++time) {
    delay = std::max(delay, std::count_if(times_.begin(), time,
                                          [&](std::int64_t before) { return before > *time; }));
  }
  return static_cast<int>(delay);
}

bool VideoProbe::ready() const {
  if (!usable()) return decoded_ && times_.size() >= kMeasuredPictures;
  if (settled_) return true;
  const auto [first, last] = std::ranges::minmax(times_);
  return times_.size() >= kWitnesses || last - first >= kWitnessNanos;
}

Result<VideoInfo> VideoProbe::Info() const {
  if (!decoded_ || decoder_->width <= 0 || decoder_->height <= 0) {
    return Error{.code = Code::kCorrupt, .message = "No picture could be decoded from the start."};
  }
  auto parameters = ParametersOf(*decoder_);
  GOPMILL_RETURN_IF_ERROR(CheckVideo(*parameters));
  const int delay = std::max(decoder_->has_b_frames, SeenDelay());
  if (delay != parameters->video_delay) {
    av::CodecParameters copy(avcodec_parameters_alloc());
    GOPMILL_CHECK(copy != nullptr && avcodec_parameters_copy(copy.get(), parameters.get()) >= 0);
    copy->video_delay = delay;
    parameters = std::shared_ptr<const AVCodecParameters>(std::move(copy));
  }
  return VideoInfo{.stream_index = 0,
                   .codec = track_.codec,
                   .width = decoder_->width,
                   .height = decoder_->height,
                   .sample_aspect = av::AspectFromAv(decoder_->sample_aspect_ratio),
                   .time_base = kCodedVideoBase,
                   .fps = Fps(),
                   .bit_depth = BitDepthOf(decoder_->pix_fmt),
                   .interlaced = interlaced_,
                   .has_b_frames = delay > 0,
                   .mastering_display = {},
                   .content_light = {},
                   .parameters = std::move(parameters)};
}

Result<AudioInfo> ProbeAudio(const CodedTrack& track, const AVPacket& first) {
  GOPMILL_ASSIGN_OR_RETURN(auto decoder, OpenDecoder(track));
  const av::Frame frame = av::NewFrame();
  const bool returned = ContainedCall([&] {
    if (avcodec_send_packet(decoder.get(), &first) < 0) return;
    static_cast<void>(avcodec_receive_frame(decoder.get(), frame.get()));
  });
  if (!returned) {
    static_cast<void>(decoder.release());
    return Error{.code = Code::kCorrupt, .message = "FFmpeg's decoder failed at the sound."};
  }
  auto parameters = ParametersOf(*decoder);
  const int rate = parameters->sample_rate, channels = parameters->ch_layout.nb_channels;
  if (!SoundRateUsable(rate) || channels <= 0) {
    return Error{.code = Code::kCorrupt, .message = "The sound does not state a usable rate."};
  }
  return AudioInfo{.stream_index = 1,
                   .codec = track.codec,
                   .sample_rate = rate,
                   .channels = channels,
                   .time_base = {1, rate},
                   .parameters = std::move(parameters)};
}

}  // namespace gopmill
