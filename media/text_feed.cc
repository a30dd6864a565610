// SPDX-License-Identifier: Apache-2.0
#include "media/text_feed.h"

extern "C" {
#include <libavutil/mem.h>
}

#include <algorithm>
#include <cstring>
#include <memory>

#include "media/av_error.h"
#include "media/language.h"

namespace gopmill {
namespace {

constexpr std::int64_t kMicrosInMilli = 1000;

void SetHeader(AVCodecParameters& parameters, const std::string& header) {
  if (header.empty()) return;
  parameters.extradata =
      static_cast<std::uint8_t*>(av_mallocz(header.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  GOPMILL_CHECK(parameters.extradata != nullptr);
  std::memcpy(parameters.extradata, header.data(), header.size());
  parameters.extradata_size = static_cast<int>(header.size());
}

}  // namespace

MuxTrack TextFeed::Describe() const {
  av::CodecParameters parameters(avcodec_parameters_alloc());
  GOPMILL_CHECK(parameters != nullptr);
  parameters->codec_type = AVMEDIA_TYPE_SUBTITLE;
  parameters->codec_id = CodecOf(track_.form);
  SetHeader(*parameters, track_.header);
  MuxTrack described;
  described.kind = TrackKind::kText;
  described.parameters = std::move(parameters);
  described.time_base = kTextTimeBase;
  described.language = ContainerLanguage(track_.language);
  described.title = track_.title;
  described.is_default = track_.is_default;
  described.forced = track_.forced;
  return described;
}

av::Packet TextFeed::Next() {
  while (next_ < track_.cues.size()) {
    const SubtitleCue& cue = track_.cues[next_++];
    const std::int64_t start = std::max(cue.start_us, clip_.start_us);
    const std::int64_t end = std::min(cue.end_us, clip_.end_us);
    if (end <= start) continue;
    av::Packet packet = av::NewPacket();
    const int code = av_new_packet(packet.get(), static_cast<int>(cue.text.size()));
    GOPMILL_CHECK(code >= 0);
    std::memcpy(packet->data, cue.text.data(), cue.text.size());
    last_ms_ = std::max((start - clip_.start_us) / kMicrosInMilli, last_ms_ + 1);
    packet->pts = packet->dts = last_ms_;
    packet->duration =
        std::max<std::int64_t>(1, (end - clip_.start_us) / kMicrosInMilli - last_ms_);
    packet->flags |= AV_PKT_FLAG_KEY;
    return packet;
  }
  return nullptr;
}

}  // namespace gopmill
