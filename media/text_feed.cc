// SPDX-License-Identifier: Apache-2.0
#include "media/text_feed.h"

#include <algorithm>
#include <span>
#include <string>

#include "media/language.h"

namespace gopmill {
namespace {

std::span<const std::uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::int64_t ToMillis(std::int64_t us) { return Rescale(us, kMicros, kTextTimeBase, Round::kDown); }

}  // namespace

MuxTrack TextFeed::Describe() const {
  av::CodecParameters parameters(avcodec_parameters_alloc());
  GOPMILL_CHECK(parameters != nullptr);
  parameters->codec_type = AVMEDIA_TYPE_SUBTITLE;
  parameters->codec_id = CodecOf(track_.form);
  parameters->extradata = av::NewExtradata(Bytes(track_.header));
  parameters->extradata_size = static_cast<int>(track_.header.size());
  MuxTrack described;
  described.kind = TrackKind::kText;
  described.parameters = std::move(parameters);
  described.time_base = kTextTimeBase;
  described.language = ContainerLanguage(track_.language);
  described.title = track_.title;
  described.is_default = track_.is_default;
  described.forced = track_.forced;
  described.roles = track_.roles;
  return described;
}

av::Packet TextFeed::Next() {
  while (next_ < track_.cues.size()) {
    const SubtitleCue& cue = track_.cues[next_++];
    const std::int64_t start = std::max(cue.start_us, clip_.start_us);
    const std::int64_t end = std::min(cue.end_us, clip_.end_us);
    if (end <= start) continue;
    av::Packet packet = av::NewPacket(Bytes(cue.text));
    last_ms_ = std::max(ToMillis(start - clip_.start_us), last_ms_ + 1);
    packet->pts = packet->dts = last_ms_;
    packet->duration = std::max<std::int64_t>(1, ToMillis(end - clip_.start_us) - last_ms_);
    packet->flags |= AV_PKT_FLAG_KEY;
    return packet;
  }
  return nullptr;
}

}  // namespace gopmill
