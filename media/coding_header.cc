// SPDX-License-Identifier: Apache-2.0
#include "media/coding_header.h"

#include <algorithm>
#include <cstring>

#include "media/decoder_table.h"
#include "media/random_access.h"

namespace gopmill {
namespace {

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

// A damaged header would end what goes on without it.
bool IsTaken(const AVCodecParameters& parameters) {
  return OpenPictureDecoder(parameters) != nullptr;
}

}  // namespace

std::span<const std::uint8_t> HeaderIn(const AVPacket& packet) {
  std::size_t size = 0;
  const std::uint8_t* data = av_packet_get_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
  if (data == nullptr || size > kMaxCodingHeaderBytes) return {};
  return {data, size};
}

void SetHeader(AVPacket& packet, std::span<const std::uint8_t> header) {
  for (int i = 0; i < packet.side_data_elems; ++i) {
    if (packet.side_data[i].type != AV_PKT_DATA_NEW_EXTRADATA) continue;
    av_freep(static_cast<void*>(&packet.side_data[i].data));
    packet.side_data[i] = packet.side_data[--packet.side_data_elems];
    break;  // there is one of each type at most
  }
  if (header.empty()) return;
  std::uint8_t* data = av_packet_new_side_data(&packet, AV_PKT_DATA_NEW_EXTRADATA, header.size());
  GOPMILL_CHECK(data != nullptr);
  std::ranges::copy(header, data);
}

std::span<const std::uint8_t> HeaderOf(const AVCodecParameters& parameters) {
  return {parameters.extradata, static_cast<std::size_t>(parameters.extradata_size)};
}

std::shared_ptr<const SourceInfo> WithNewHeader(const SourceInfo& before, bool video,
                                                std::size_t sound, const AVPacket& packet) {
  const std::span<const std::uint8_t> header = HeaderIn(packet);
  if (header.empty()) return nullptr;
  const AVCodecParameters* parameters =
      video ? before.video.parameters.get() : before.sound(sound).parameters.get();
  if (parameters == nullptr || std::ranges::equal(header, HeaderOf(*parameters))) return nullptr;
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

std::shared_ptr<const SourceInfo> CodingFrom(const SourceInfo& before, const AVPacket& picture) {
  auto after = WithNewHeader(before, true, 0, picture);
  if (after == nullptr) return nullptr;
  const AVCodecParameters& parameters = *after->video.parameters;
  const std::span payload(picture.data, static_cast<std::size_t>(picture.size));
  const bool key = (picture.flags & AV_PKT_FLAG_KEY) != 0;
  if (ClassifyPacket(parameters, payload, key) == RandomAccess::kNone) return nullptr;
  return IsTaken(parameters) ? after : nullptr;
}

}  // namespace gopmill
