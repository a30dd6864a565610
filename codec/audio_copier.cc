// SPDX-License-Identifier: Apache-2.0
#include "codec/audio_copier.h"

extern "C" {
#include <libavutil/mem.h>
}

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "media/av_error.h"

namespace gopmill {
namespace {

constexpr const char* kCopying = "The source's audio cannot be copied";
// Container times closer than this to the count of samples are rounding, not gaps.
constexpr Rational kJitter{2, 1000};
// Packets last, but for those of PCM and broken durations.
constexpr Rational kLongest{1, 4};

constexpr std::array kAacRates{96000, 88200, 64000, 48000, 44100, 32000, 24000,
                               22050, 16000, 12000, 11025, 8000,  7350};
constexpr int kProfileSbr = 4, kProfilePs = 28;

Error NotDescribed() {
  return {.code = Code::kUnsupported,
          .message = "This AAC track cannot be copied into this container.",
          .parameter = "acodec",
          .accepted = "aac, opus, none"};
}

// Whether a header that was taken off left the channels to a program config element, so that what
// DescribeAac made is wrong.
bool DescribesItself(const AVPacket& packet) {
  std::size_t size = 0;
  const std::uint8_t* config = av_packet_get_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
  return config != nullptr && size >= 2 && (config[1] >> 3 & 0xF) == 0;
}

// Whether AAC has a channel configuration for it: others are described by a program config element
// inside of the packets. A pair at the sides and one at the back are coded alike.
bool HasConfiguration(const AVChannelLayout& layout) {
  constexpr std::array kConfigured{
      AV_CH_LAYOUT_MONO,         AV_CH_LAYOUT_STEREO,           AV_CH_LAYOUT_SURROUND,
      AV_CH_LAYOUT_4POINT0,      AV_CH_LAYOUT_5POINT0,          AV_CH_LAYOUT_5POINT0_BACK,
      AV_CH_LAYOUT_5POINT1,      AV_CH_LAYOUT_5POINT1_BACK,     AV_CH_LAYOUT_7POINT1,
      AV_CH_LAYOUT_7POINT1_WIDE, AV_CH_LAYOUT_7POINT1_WIDE_BACK};
  const int channels = layout.nb_channels;
  if (layout.order == AV_CHANNEL_ORDER_UNSPEC) {  // then the packets tell
    return channels >= 1 && channels <= 8 && channels != 7;
  }
  return layout.order == AV_CHANNEL_ORDER_NATIVE &&
         std::ranges::find(kConfigured, layout.u.mask) != kConfigured.end();
}

// The two bytes that describe an AAC stream of which only packets with ADTS headers are known. SBR
// and PS stay implicit, as they are in ADTS: their core has half the rate.
Status DescribeAac(AVCodecParameters& parameters) {
  const bool sbr = parameters.profile == kProfileSbr || parameters.profile == kProfilePs;
  const int rate = sbr ? parameters.sample_rate / 2 : parameters.sample_rate;
  const auto* found = std::find(kAacRates.begin(), kAacRates.end(), rate);
  const int channels = parameters.profile == kProfilePs ? 1 : parameters.ch_layout.nb_channels;
  if (found == kAacRates.end() || !HasConfiguration(parameters.ch_layout)) {
    return NotDescribed();
  }
  const int type = sbr || parameters.profile < 0 ? 2 : parameters.profile + 1;
  const int rate_index = static_cast<int>(found - kAacRates.begin());
  const int configuration = channels == 8 ? 7 : channels;
  const int bits = type << 11 | rate_index << 7 | configuration << 3;
  const std::array config{static_cast<std::uint8_t>(bits >> 8),
                          static_cast<std::uint8_t>(bits & 0xFF)};
  parameters.extradata = av::NewExtradata(config);
  parameters.extradata_size = static_cast<int>(config.size());
  return OkStatus();
}

Result<AVBSFContext*> OpenHeaderFilter(const AVCodecParameters& parameters, Rational time_base) {
  const AVBitStreamFilter* filter = av_bsf_get_by_name("aac_adtstoasc");
  AVBSFContext* context = nullptr;
  int result = filter == nullptr ? AVERROR_BSF_NOT_FOUND : av_bsf_alloc(filter, &context);
  if (result >= 0) {
    context->time_base_in = av::ToAv(time_base);
    result = avcodec_parameters_copy(context->par_in, &parameters);
  }
  if (result >= 0) result = av_bsf_init(context);
  if (result >= 0) return context;
  av_bsf_free(&context);
  return av::AvError(kCopying, result);
}

}  // namespace

void FreeBitstreamFilter::operator()(AVBSFContext* context) const noexcept {
  av_bsf_free(&context);
}

Result<std::unique_ptr<AudioCopier>> AudioCopier::Open(const AudioInfo& audio, Rational start,
                                                       Rational end, bool global_header) {
  std::unique_ptr<AudioCopier> made(new AudioCopier);
  AVCodecParameters* parameters = avcodec_parameters_alloc();
  GOPMILL_CHECK(parameters != nullptr);
  made->parameters_.reset(parameters, [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  const int result = avcodec_parameters_copy(parameters, audio.parameters.get());
  if (result < 0) return av::AvError(kCopying, result);
  parameters->codec_tag = 0;
  made->source_ = audio.parameters;
  made->source_base_ = audio.time_base;
  made->time_base_ =
      parameters->sample_rate > 0 ? Rational{1, parameters->sample_rate} : audio.time_base;
  made->start_ = ToTicks(start, made->time_base_);
  if (end.valid()) made->end_ = ToTicks(end, made->time_base_) - made->start_;
  const bool adts = parameters->codec_id == AV_CODEC_ID_AAC && parameters->extradata_size == 0;
  if (adts && global_header) {
    GOPMILL_ASSIGN_OR_RETURN(AVBSFContext * filter, OpenHeaderFilter(*parameters, audio.time_base));
    made->headers_.reset(filter);
    GOPMILL_RETURN_IF_ERROR(DescribeAac(*parameters));
  }
  return made;
}

// A container describes its sound once. Headers in the packets tell for themselves.
Status AudioCopier::CheckSource(const AudioInfo& audio) const {
  const AVCodecParameters &before = *source_, &now = *audio.parameters;
  const auto header = [](const AVCodecParameters& p) {
    return std::span(p.extradata, static_cast<std::size_t>(p.extradata_size));
  };
  const bool same = before.codec_id == now.codec_id && before.sample_rate == now.sample_rate &&
                    before.ch_layout.nb_channels == now.ch_layout.nb_channels &&
                    std::ranges::equal(header(before), header(now));
  if (same) return OkStatus();
  return Error{.code = Code::kUnsupported,
               .message = std::string("The source's sound was ") +
                          avcodec_get_name(before.codec_id) + " and is " +
                          avcodec_get_name(now.codec_id) +
                          " of another description now, which a copy cannot go on with.",
               .parameter = "acodec",
               .accepted = "aac, opus, none; or the same request again"};
}

// Takes the ADTS header off; a packet without a proper one is left out.
Status AudioCopier::StripHeaders(AVPacket& packet, bool& keep) {
  if (headers_ == nullptr) return OkStatus();
  int result = av_bsf_send_packet(headers_.get(), &packet);
  if (result >= 0) result = av_bsf_receive_packet(headers_.get(), &packet);
  keep = result >= 0;
  if (result == AVERROR(ENOMEM)) return av::AvError(kCopying, result);
  if (!keep) {
    av_packet_unref(&packet);
    av_bsf_flush(headers_.get());
  } else {
    if (DescribesItself(packet)) return NotDescribed();
    av_packet_free_side_data(&packet);  // the description, which the container has already
  }
  return OkStatus();
}

// `nominal`: the packet's duration by its codec, or 0. The samples' count wins over the container's
// time while they agree within rounding. False for a packet in the place of others: one alone may
// have a wrong time, and packets of Vorbis may be late by one.
bool AudioCopier::Place(AVPacket& packet, std::int64_t nominal) {
  const bool timed = packet.pts != AV_NOPTS_VALUE;
  std::int64_t time =
      timed ? Rescale(packet.pts, source_base_, time_base_) - start_ : next_.value_or(0);
  const std::int64_t stated = Rescale(packet.duration, source_base_, time_base_);
  packet.duration = std::max<std::int64_t>(nominal > 0 ? nominal : stated, 1);
  longest_ = std::max(longest_, std::min(packet.duration, ToTicks(kLongest, time_base_)));
  if (next_) {
    const std::int64_t jitter = ToTicks(kJitter, time_base_);
    const std::int64_t behind = *next_ - time;
    behind_ = behind > (behind_ ? longest_ - jitter : longest_ + jitter);
    if (behind_) return false;
    if (behind >= -jitter) time = *next_;
  }
  packet.pts = packet.dts = time;
  return true;
}

Status AudioCopier::Push(const AVPacket& source, std::vector<av::Packet>& out) {
  if (av::IsHidden(source)) return OkStatus();
  av::Packet packet = av::Ref(source);
  bool keep = true;
  GOPMILL_RETURN_IF_ERROR(StripHeaders(*packet, keep));
  if (!keep) return OkStatus();
  std::int64_t nominal = 0;
  if (parameters_->sample_rate > 0) {
    nominal = av_get_audio_frame_duration2(const_cast<AVCodecParameters*>(parameters_.get()),
                                           packet->size);
  }
  if (!Place(*packet, nominal)) return OkStatus();
  if (packet->pts + packet->duration <= 0 && start_ > 0) return OkStatus();
  // TrueHD: nobody can begin here, and players would leave it out.
  if (!next_ && (packet->flags & AV_PKT_FLAG_KEY) == 0) return OkStatus();
  if (end_ && packet->pts >= *end_) return OkStatus();
  next_ = packet->pts + packet->duration;
  packet->pos = -1;
  out.push_back(std::move(packet));
  return OkStatus();
}

}  // namespace gopmill
