// SPDX-License-Identifier: Apache-2.0
#include "codec/captions.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/status.h"

namespace gopmill {
namespace {

constexpr std::size_t kTriplet = 3;

bool Valid(std::span<const std::uint8_t> triplet) { return (triplet[0] & 4) != 0; }
bool Is608(std::span<const std::uint8_t> triplet) { return (triplet[0] & 3) < 2; }

}  // namespace

bool MayHaveCaptions(int codec) {
  constexpr std::array kCodecs{AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_MPEG2VIDEO,
                               AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_AV1};
  return std::ranges::find(kCodecs, static_cast<AVCodecID>(codec)) != kCodecs.end();
}

Captions CaptionsOf(const AVFrame& frame) {
  const AVFrameSideData* found = av_frame_get_side_data(&frame, AV_FRAME_DATA_A53_CC);
  if (found == nullptr) return {};
  const std::span<const std::uint8_t> bytes(found->data, found->size);
  Captions valid;
  for (std::size_t at = 0; at + kTriplet <= bytes.size(); at += kTriplet) {
    const auto triplet = bytes.subspan(at, kTriplet);
    if (Valid(triplet)) valid.insert(valid.end(), triplet.begin(), triplet.end());
  }
  return valid;
}

void AttachCaptions(Captions captions, AVFrame& frame) {
  if (captions.empty()) return;
  constexpr std::size_t kMost = kMaxCaptionTriplets * kTriplet;
  if (captions.size() > kMost) {
    Captions first, rest;
    for (std::size_t at = 0; at < captions.size(); at += kTriplet) {
      const auto triplet = std::span(captions).subspan(at, kTriplet);
      Captions& part = Is608(triplet) ? first : rest;
      part.insert(part.end(), triplet.begin(), triplet.end());
    }
    first.insert(first.end(), rest.begin(), rest.end());
    first.resize(kMost);
    captions = std::move(first);
  }
  AVFrameSideData* data = av_frame_new_side_data(&frame, AV_FRAME_DATA_A53_CC, captions.size());
  GOPMILL_CHECK(data != nullptr);
  std::ranges::copy(captions, data->data);
}

}  // namespace gopmill
