// SPDX-License-Identifier: Apache-2.0
#include "codec/audio_segment.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "codec/audio_decoder.h"
#include "codec/audio_encoder.h"
#include "codec/audio_fifo.h"
#include "codec/audio_resampler.h"
#include "media/av_error.h"

namespace gopmill {
namespace {

// Packets that the encoder makes before a segment and behind it, which are dropped: its window and
// its psychoacoustic model look one or two packets back and ahead.
constexpr std::int64_t kLeadPackets = 4, kTrailPackets = 3;
// Sound decoded in front of what is encoded, in parts of a second: overlapping windows, bit
// reservoirs, filters. Opus asks for 80 ms (RFC 7845 section 4.6), which is the most.
constexpr std::int64_t kPrerollShare = 4;

// The first sample that is encoded for a segment: a packet border, or the start of the stream.
std::int64_t EncodeFrom(const AudioGrid& grid, std::int64_t first_packet) {
  return std::max<std::int64_t>(first_packet - kLeadPackets, 0) * grid.frame_size;
}

class Segment {
 public:
  Segment(const AudioSegmentTask& task, const std::stop_token& stop)
      : task_(task),
        stop_(stop),
        source_rate_(task.index->source->audio->sample_rate),
        start_(ToTicks(task.start, {1, source_rate_})),
        first_(task.grid.borders[static_cast<std::size_t>(task.number)]),
        end_(task.grid.borders[static_cast<std::size_t>(task.number) + 1]),
        from_(EncodeFrom(task.grid, first_)),
        fifo_(task.target.channels, task.grid.samples) {}

  Result<std::vector<av::Packet>> Run();

 private:
  Status Decode(const AVPacket* packet);
  Status TakeFrame(AVFrame& frame);
  Result<int> Align(AVFrame& frame);
  Status ResampleSilence(const AVFrame& like, int count);
  Status StartAt(std::int64_t output);
  Status Encode(bool end);
  Status Resample(const AVFrame* frame);
  [[nodiscard]] bool done() const {
    const bool behind = coded_ >= end_ + kTrailPackets;
    return stop_.stop_requested() || behind;
  }

  const AudioSegmentTask& task_;
  const std::stop_token& stop_;
  const int source_rate_;
  const std::int64_t start_;               // of the clip, source samples
  const std::int64_t first_, end_, from_;  // packets [first, end); first sample encoded
  std::unique_ptr<AudioDecoder> decoder_;
  std::unique_ptr<AudioEncoder> encoder_;
  std::unique_ptr<AudioResampler> resampler_;
  AudioFifo fifo_;
  std::int64_t expected_ = 0;  // source sample that carries on
  std::int64_t coded_ = 0;     // packets of the grid so far
  std::vector<av::Packet> packets_;
};

// Sound begins where the grid says, over silence where the source has none yet.
Status Segment::StartAt(std::int64_t output) {
  if (resampler_ != nullptr) GOPMILL_RETURN_IF_ERROR(Resample(nullptr));
  resampler_.reset();
  constexpr std::int64_t kPiece = 48'000;
  std::int64_t missing = fifo_.Seek(output);
  while (missing > 0 && !done()) {
    const std::int64_t piece = std::min(missing, kPiece);
    fifo_.AppendSilence(piece);
    missing -= piece;
    GOPMILL_RETURN_IF_ERROR(Encode(false));
  }
  return OkStatus();
}

Status Segment::Encode(bool end) {
  std::vector<av::Packet> made;
  GOPMILL_RETURN_IF_ERROR(encoder_->Encode(fifo_, end, made));
  for (av::Packet& packet : made) {
    // The encoder's own priming in front of a later segment has a place on the grid as well.
    coded_ = (packet->pts + task_.grid.priming) / task_.grid.frame_size;
    if (coded_ >= first_ && coded_ < end_) packets_.push_back(std::move(packet));
    ++coded_;
  }
  return OkStatus();
}

Status Segment::Resample(const AVFrame* frame) {
  return resampler_->Convert(frame, [this](const float* const* planes, std::int64_t count) {
    if (done()) return OkStatus();  // nothing more is wanted
    fifo_.Append(planes, count);
    return Encode(false);
  });
}

// Samples of every channel fewer in front.
void CutFront(AVFrame& frame, std::int64_t cut) {
  const bool planar = av_sample_fmt_is_planar(static_cast<AVSampleFormat>(frame.format)) != 0;
  const int channels = frame.ch_layout.nb_channels;
  const auto bytes =
      static_cast<std::size_t>(av_get_bytes_per_sample(static_cast<AVSampleFormat>(frame.format)));
  const std::size_t skip =
      static_cast<std::size_t>(cut) * bytes * static_cast<std::size_t>(planar ? 1 : channels);
  for (int i = 0; i < (planar ? channels : 1); ++i) frame.extended_data[i] += skip;
  frame.nb_samples -= static_cast<int>(cut);
}

// Resampling starts where a source sample and an output sample fall together, so that both sides of
// a join sample the same curve at the same places. Where sound begins in what is encoded, that is
// in front of it: by so many samples of silence.
Result<int> Segment::Align(AVFrame& frame) {
  const int rate = frame.sample_rate;
  const std::int64_t step = rate / std::gcd(rate, task_.grid.rate);
  const std::int64_t at = Rescale(frame.pts - start_, {1, source_rate_}, {1, rate});
  const std::int64_t cut = (step - at % step) % step;
  const bool first = !resampler_ && fifo_.size() == 0 && at > 0;
  const auto place = [&](std::int64_t sample) {
    return Rescale(sample, {1, rate}, {1, task_.grid.rate});
  };
  if (first && place(at + cut) > from_) {
    GOPMILL_RETURN_IF_ERROR(StartAt(place(at - at % step)));
    return static_cast<int>(at % step);
  }
  const bool hidden = first && cut < frame.nb_samples;
  if (hidden) CutFront(frame, cut);
  GOPMILL_RETURN_IF_ERROR(StartAt(place(hidden ? at + cut : at)));
  return 0;
}

Status Segment::ResampleSilence(const AVFrame& like, int count) {
  const av::Frame silence = av::NewFrame();
  silence->format = like.format;
  silence->sample_rate = like.sample_rate;
  silence->nb_samples = count;
  GOPMILL_CHECK(av_channel_layout_copy(&silence->ch_layout, &like.ch_layout) >= 0);
  if (const int ret = av_frame_get_buffer(silence.get(), 0); ret < 0) {
    return av::AvError("There is no memory for silence", ret);
  }
  av_samples_set_silence(silence->extended_data, 0, count, like.ch_layout.nb_channels,
                         static_cast<AVSampleFormat>(like.format));
  return Resample(silence.get());
}

Status Segment::TakeFrame(AVFrame& frame) {
  if (frame.pts == AV_NOPTS_VALUE) frame.pts = expected_;
  const std::int64_t end =
      frame.pts + Rescale(frame.nb_samples, {1, frame.sample_rate}, {1, source_rate_});
  if (!resampler_ || frame.pts != expected_ || !resampler_->Accepts(frame)) {
    GOPMILL_ASSIGN_OR_RETURN(const int silence, Align(frame));
    auto opened = AudioResampler::Open(frame, task_.grid.rate, task_.target.layout);
    resampler_ = opened.ok() ? *std::move(opened) : nullptr;
    if (resampler_ && silence > 0) GOPMILL_RETURN_IF_ERROR(ResampleSilence(frame, silence));
  }
  expected_ = end;
  return resampler_ ? Resample(&frame) : OkStatus();  // a form that nothing can play: silence
}

Status Segment::Decode(const AVPacket* packet) {
  static_cast<void>(decoder_->Send(packet));  // what is damaged becomes silence
  av::Frame frame = av::NewFrame();
  while (decoder_->Receive(*frame)) {
    GOPMILL_RETURN_IF_ERROR(TakeFrame(*frame));
    frame = av::NewFrame();
  }
  return OkStatus();
}

Result<std::vector<av::Packet>> Segment::Run() {
  const AudioInfo& audio = *task_.index->source->audio;
  GOPMILL_ASSIGN_OR_RETURN(decoder_, AudioDecoder::Open(*audio.parameters, {1, source_rate_}));
  GOPMILL_ASSIGN_OR_RETURN(encoder_,
                           AudioEncoder::Open(task_.target.acodec, task_.target.sound(0), true));
  // The grid begins here; sound before it is decoded and cut, a gap becomes silence.
  fifo_.Seek(from_);
  for (const av::Packet& packet : task_.packets) {
    if (done()) break;
    GOPMILL_RETURN_IF_ERROR(Decode(packet.get()));
  }
  if (!done()) GOPMILL_RETURN_IF_ERROR(Decode(nullptr));
  if (!done()) GOPMILL_RETURN_IF_ERROR(StartAt(task_.grid.samples));
  if (stop_.stop_requested()) return Cancelled();
  if (coded_ < end_) GOPMILL_RETURN_IF_ERROR(Encode(true));
  if (static_cast<std::int64_t>(packets_.size()) != end_ - first_) {
    return InternalError("The audio encoder made " + std::to_string(packets_.size()) +
                         " packets of " + std::to_string(end_ - first_) + ".");
  }
  return std::move(packets_);
}

}  // namespace

Result<AudioCoding> ProbeAudioCoding(const Target& target) {
  GOPMILL_ASSIGN_OR_RETURN(const auto encoder,
                           AudioEncoder::Open(target.acodec, target.sound(0), true));
  const AVCodecContext& context = encoder->context();
  AVCodecParameters* parameters = avcodec_parameters_alloc();
  GOPMILL_CHECK(parameters != nullptr &&
                avcodec_parameters_from_context(parameters, &context) >= 0);
  return AudioCoding{
      .rate = context.sample_rate,
      .frame_size = context.frame_size,
      .priming = context.initial_padding,
      .parameters = {parameters, [](AVCodecParameters* p) { avcodec_parameters_free(&p); }}};
}

std::int64_t AudioLength(const SourceIndex& index, Rational start, Rational duration, int rate) {
  if (index.audio.empty()) return 0;
  const int source_rate = index.source->audio->sample_rate;
  std::int64_t end = 0;
  for (const SourceIndex::Audio& packet : index.audio) {
    end = std::max(end, packet.position + packet.samples);
  }
  const std::int64_t length = Rescale(end, {1, source_rate}, {1, rate}) - ToTicks(start, {1, rate});
  const std::int64_t most = duration.valid() ? ToTicks(duration, {1, rate}) : length;
  return std::max<std::int64_t>(std::min(length, most), 0);
}

PacketRange AudioPackets(const SourceIndex& index, const AudioGrid& grid, Rational start,
                         std::int64_t number) {
  const int source_rate = index.source->audio->sample_rate;
  const Rational sample{1, grid.rate}, source_sample{1, source_rate};
  const auto k = static_cast<std::size_t>(number);
  const std::int64_t clip = ToTicks(start, {1, source_rate});
  const std::int64_t from = clip +
                            Rescale(EncodeFrom(grid, grid.borders[k]), sample, source_sample) -
                            source_rate / kPrerollShare;
  const std::int64_t until =
      clip +
      Rescale((grid.borders[k + 1] + kTrailPackets + 2) * grid.frame_size, sample, source_sample);
  PacketRange range{.first = -1};
  for (std::size_t n = 0; n < index.audio.size(); ++n) {
    const SourceIndex::Audio& packet = index.audio[n];
    if (packet.position + packet.samples <= from || packet.position >= until) continue;
    if (range.first < 0) range.first = static_cast<std::int64_t>(n);
    range.end = static_cast<std::int64_t>(n) + 1;
  }
  range.first = std::max<std::int64_t>(range.first, 0);
  for (std::int64_t n = range.first; n < range.end; ++n) {
    range.bytes += index.audio[static_cast<std::size_t>(n)].bytes;
  }
  return range;
}

Result<std::vector<av::Packet>> EncodeAudioSegment(const AudioSegmentTask& task,
                                                   const std::stop_token& stop) {
  return Segment(task, stop).Run();
}

}  // namespace gopmill
