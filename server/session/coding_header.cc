// SPDX-License-Identifier: Apache-2.0
#include "server/session/coding_header.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace gopmill {
namespace {

std::span<const std::uint8_t> HeaderIn(const AVPacket& packet) {
  std::size_t size = 0;
  const std::uint8_t* data = av_packet_get_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
  if (data == nullptr || size > kMaxHeaderBytes) return {};
  return {data, size};
}

std::shared_ptr<const AVCodecParameters> WithHeader(const AVCodecParameters& before,
                                                    std::span<const std::uint8_t> header) {
  AVCodecParameters* copy = avcodec_parameters_alloc();
  GOPMILL_CHECK(copy != nullptr);
  std::shared_ptr<const AVCodecParameters> owner(
      copy, [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  GOPMILL_CHECK(avcodec_parameters_copy(copy, &before) >= 0);
  av_freep(static_cast<void*>(&copy->extradata));
  copy->extradata =
      static_cast<std::uint8_t*>(av_mallocz(header.size() + AV_INPUT_BUFFER_PADDING_SIZE));
  GOPMILL_CHECK(copy->extradata != nullptr);
  std::memcpy(copy->extradata, header.data(), header.size());
  copy->extradata_size = static_cast<int>(header.size());
  return owner;
}

bool HasHeader(const AVCodecParameters& parameters, std::span<const std::uint8_t> header) {
  return std::ranges::equal(
      header, std::span(parameters.extradata, static_cast<std::size_t>(parameters.extradata_size)));
}

}  // namespace

std::shared_ptr<const SourceInfo> WithNewHeader(const SourceInfo& before, bool video,
                                                std::size_t sound, const AVPacket& packet) {
  const std::span<const std::uint8_t> header = HeaderIn(packet);
  if (header.empty()) return nullptr;
  const AVCodecParameters* parameters =
      video ? before.video.parameters.get() : before.sound(sound).parameters.get();
  if (parameters == nullptr || HasHeader(*parameters, header)) return nullptr;
  auto after = std::make_shared<SourceInfo>(before);
  auto changed = WithHeader(*parameters, header);
  if (video) {
    after->video.parameters = std::move(changed);
  } else if (sound == 0) {
    after->audio->parameters = std::move(changed);
  } else {
    after->more_audio[sound - 1].parameters = std::move(changed);
  }
  return after;
}

}  // namespace gopmill
