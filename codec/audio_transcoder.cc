// SPDX-License-Identifier: Apache-2.0
#include "codec/audio_transcoder.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "codec/audio_copier.h"
#include "codec/audio_decoder.h"
#include "codec/audio_encoder.h"
#include "codec/audio_fifo.h"
#include "codec/audio_resampler.h"
#include "media/audio_timeline.h"

namespace gopmill {
namespace {

// The longest gap that is filled with silence when the source's length is not known, seconds.
constexpr Rational kLongestGap{3600, 1};
// Silence is made and encoded in pieces of this size, samples.
constexpr std::int64_t kSilencePiece = 48'000;

std::optional<std::int64_t> Limit(const AudioClip& clip, int rate) {
  if (!clip.end.valid()) return std::nullopt;
  return std::max<std::int64_t>(ToTicks(clip.end, {1, rate}) - ToTicks(clip.start, {1, rate}), 0);
}

std::shared_ptr<const AVCodecParameters> ParametersOf(const AVCodecContext& context) {
  AVCodecParameters* parameters = avcodec_parameters_alloc();
  GOPMILL_CHECK(parameters != nullptr);
  std::shared_ptr<const AVCodecParameters> owner(
      parameters, [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  GOPMILL_CHECK(avcodec_parameters_from_context(parameters, &context) >= 0);
  return owner;
}

}  // namespace

// Either a copier, or the chain decoder -> timeline -> resampler -> fifo -> encoder.
struct AudioTranscoder::Impl {
  std::unique_ptr<AudioCopier> copier;

  std::stop_token stop;
  Rational source_base;
  int rate = 0;
  std::uint64_t layout = 0;  // of what comes out
  std::int64_t start = 0;    // of the clip, output samples on the source's timeline
  std::shared_ptr<const AVCodecParameters> parameters;
  std::unique_ptr<AudioDecoder> decoder;
  std::int64_t damaged_before = 0;  // packets, of decoders that are gone
  std::optional<AudioTimeline> timeline;
  std::unique_ptr<AudioResampler> resampler;
  std::optional<AudioFifo> fifo;
  std::unique_ptr<AudioEncoder> encoder;
  std::int64_t unusable = 0;  // frames whose form cannot be resampled
  std::int64_t filled = 0;    // samples of silence
  av::Frame frame = av::NewFrame();

  Status OpenChain(const StreamPlan& plan, const AudioClip& clip, bool global_header,
                   std::size_t sound);
  Status Decode(const AVPacket* packet, std::vector<av::Packet>& out);
  Status TakeFrame(std::vector<av::Packet>& out);
  Status StartAt(std::int64_t pts, std::vector<av::Packet>& out);
  Status GoTo(std::int64_t position, std::vector<av::Packet>& out);
  Status Resample(const AVFrame* input, std::vector<av::Packet>& out);
};

Status AudioTranscoder::Impl::OpenChain(const StreamPlan& plan, const AudioClip& clip,
                                        bool global_header, std::size_t sound) {
  const AudioInfo& audio = plan.source->sound(sound);
  const SoundTarget target = plan.target.sound(sound);
  source_base = audio.time_base;
  rate = target.sample_rate;
  layout = target.layout;
  start = ToTicks(clip.start, {1, rate});
  GOPMILL_ASSIGN_OR_RETURN(decoder, AudioDecoder::Open(*audio.parameters, audio.time_base));
  GOPMILL_ASSIGN_OR_RETURN(encoder, AudioEncoder::Open(plan.target.acodec, target, global_header));
  parameters = ParametersOf(encoder->context());
  const Rational& length = plan.source->duration;
  timeline.emplace(audio.time_base, length.positive() ? length : kLongestGap,
                   audio.codec == "vorbis");
  fifo.emplace(target.channels, Limit(clip, rate));
  return OkStatus();
}

Status AudioTranscoder::Impl::Decode(const AVPacket* packet, std::vector<av::Packet>& out) {
  if (fifo->full()) return OkStatus();  // the clip's end: the rest is not wanted
  const std::int64_t damaged = decoder->damaged();
  static_cast<void>(decoder->Send(packet));
  while (decoder->Receive(*frame)) {
    const Status taken = TakeFrame(out);
    av_frame_unref(frame.get());
    GOPMILL_RETURN_IF_ERROR(taken);
  }
  if (decoder->damaged() != damaged) timeline->NoteLoss();
  return OkStatus();
}

Status AudioTranscoder::Impl::TakeFrame(std::vector<av::Packet>& out) {
  std::optional<std::int64_t> pts;
  if (frame->pts != AV_NOPTS_VALUE) pts = frame->pts;
  const std::int64_t time = pts.value_or(timeline->expected());
  const bool carries_on = timeline->CarriesOn(pts, frame->nb_samples, frame->sample_rate);
  if (!carries_on || resampler == nullptr || !resampler->Accepts(*frame)) {
    GOPMILL_RETURN_IF_ERROR(StartAt(time, out));
    auto opened = AudioResampler::Open(*frame, rate, layout);
    if (!opened.ok()) {  // a damaged source may call itself anything: silence
      ++unusable;
      resampler.reset();
      // What it claims to last is silence, unless that is absurd.
      return SoundRateUsable(frame->sample_rate) ? StartAt(timeline->expected(), out) : OkStatus();
    }
    resampler = *std::move(opened);
  }
  return Resample(frame.get(), out);
}

Status AudioTranscoder::Impl::StartAt(std::int64_t pts, std::vector<av::Packet>& out) {
  return GoTo(Rescale(pts, source_base, {1, rate}) - start, out);
}

// Ends what was being resampled and goes to a place of the output clock, samples, over silence if
// there is a gap.
Status AudioTranscoder::Impl::GoTo(std::int64_t position, std::vector<av::Packet>& out) {
  if (resampler != nullptr) GOPMILL_RETURN_IF_ERROR(Resample(nullptr, out));
  std::int64_t missing = fifo->Seek(position);
  filled += missing;
  while (missing > 0) {
    if (stop.stop_requested()) return Cancelled();
    const std::int64_t piece = std::min(missing, kSilencePiece);
    fifo->AppendSilence(piece);
    GOPMILL_RETURN_IF_ERROR(encoder->Encode(*fifo, false, out));
    missing -= piece;
  }
  return OkStatus();
}

Status AudioTranscoder::Impl::Resample(const AVFrame* input, std::vector<av::Packet>& out) {
  return resampler->Convert(input, [&](const float* const* planes, std::int64_t count) -> Status {
    if (stop.stop_requested()) return Cancelled();
    fifo->Append(planes, count);
    return encoder->Encode(*fifo, false, out);
  });
}

AudioTranscoder::AudioTranscoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AudioTranscoder::~AudioTranscoder() = default;

Result<std::unique_ptr<AudioTranscoder>> AudioTranscoder::Open(const StreamPlan& plan,
                                                               const AudioClip& clip,
                                                               bool global_header,
                                                               std::size_t sound,
                                                               std::stop_token stop) {
  if (sound >= plan.source->sounds() || plan.target.acodec == AudioCodec::kNone) {
    return InternalError("There is no audio to transcode.");
  }
  auto impl = std::make_unique<Impl>();
  impl->stop = std::move(stop);
  if (plan.target.acodec == AudioCodec::kCopy) {
    GOPMILL_ASSIGN_OR_RETURN(impl->copier, AudioCopier::Open(plan.source->sound(sound), clip.start,
                                                             clip.end, global_header));
  } else {
    GOPMILL_RETURN_IF_ERROR(impl->OpenChain(plan, clip, global_header, sound));
  }
  return std::unique_ptr<AudioTranscoder>(new AudioTranscoder(std::move(impl)));
}

Status AudioTranscoder::Push(const AVPacket* packet, std::vector<av::Packet>& out) {
  if (impl_->copier != nullptr) {
    return packet == nullptr ? OkStatus() : impl_->copier->Push(*packet, out);
  }
  GOPMILL_RETURN_IF_ERROR(impl_->Decode(packet, out));
  if (packet != nullptr) return OkStatus();
  if (impl_->resampler != nullptr) GOPMILL_RETURN_IF_ERROR(impl_->Resample(nullptr, out));
  return impl_->encoder->Encode(*impl_->fifo, true, out);
}

Status AudioTranscoder::ChangeSource(const AudioInfo& audio, std::vector<av::Packet>& out) {
  Impl& impl = *impl_;
  if (impl.copier != nullptr) return impl.copier->CheckSource(audio);
  GOPMILL_ASSIGN_OR_RETURN(auto next, AudioDecoder::Open(*audio.parameters, audio.time_base));
  GOPMILL_RETURN_IF_ERROR(impl.Decode(nullptr, out));
  impl.damaged_before += impl.decoder->damaged();
  impl.decoder = std::move(next);
  impl.timeline->NoteLoss();
  return OkStatus();
}

Status AudioTranscoder::FillTo(double seconds, bool begin, std::vector<av::Packet>& out) {
  Impl& impl = *impl_;
  if (impl.copier != nullptr || impl.fifo->full()) return OkStatus();
  if (!begin && !impl.fifo->started()) return OkStatus();
  GOPMILL_RETURN_IF_ERROR(impl.GoTo(std::llround(seconds * impl.rate), out));
  impl.resampler.reset();  // what comes next starts at its own time
  return OkStatus();
}

std::shared_ptr<const AVCodecParameters> AudioTranscoder::parameters() const {
  return impl_->copier != nullptr ? impl_->copier->parameters() : impl_->parameters;
}

Rational AudioTranscoder::time_base() const {
  return impl_->copier != nullptr ? impl_->copier->time_base() : Rational{1, impl_->rate};
}

std::int64_t AudioTranscoder::damaged() const {
  if (impl_->decoder == nullptr) return 0;
  return impl_->damaged_before + impl_->decoder->damaged() + impl_->unusable;
}

double AudioTranscoder::filled_seconds() const {
  return impl_->rate > 0 ? static_cast<double>(impl_->filled) / impl_->rate : 0;
}

bool AudioCpuIndependent(std::string_view source_codec, AudioCodec target) {
  if (target == AudioCodec::kCopy) return true;
  return target == AudioCodec::kAac && AudioDecoderCpuIndependent(source_codec);
}

}  // namespace gopmill
