// SPDX-License-Identifier: Apache-2.0
#include "media/held_packets.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/rational.h"
#include "media/random_access.h"

namespace gopmill {
namespace {

RandomAccess AccessOf(const AVPacket& packet, const VideoInfo& video) {
  return ClassifyPacket(*video.parameters, {packet.data, static_cast<std::size_t>(packet.size)},
                        (packet.flags & AV_PKT_FLAG_KEY) != 0);
}

}  // namespace

bool HasCaptionData(const AVPacket& picture) {
  static constexpr std::string_view kCaptionData = "GA94\x03";
  const std::string_view bytes(reinterpret_cast<const char*>(picture.data),
                               static_cast<std::size_t>(picture.size));
  return bytes.find(kCaptionData) != std::string_view::npos;
}

bool IsRandomAccess(const AVPacket& packet, const VideoInfo& video) {
  return AccessOf(packet, video) != RandomAccess::kNone;
}

void HeldPackets::Clear() {
  held_.clear();
  payload_ = 0;
}

void HeldPackets::Add(Kind kind, av::Packet packet) {
  payload_ += packet->size;
  held_.push_back({kind, std::move(packet)});
}

std::int64_t HeldPackets::DropPictures() {
  const auto drops = [this](const Held& h) {
    if (h.kind != Kind::kVideo) return false;
    payload_ -= h.packet->size;
    return true;
  };
  return static_cast<std::int64_t>(std::erase_if(held_, drops));
}

void HeldPackets::ForEach(const std::function<void(Kind, const AVPacket&)>& see) const {
  for (const Held& held : held_) see(held.kind, *held.packet);
}

HeldPackets::Kind HeldPackets::Take(AVPacket& packet) {
  const Kind kind = held_.front().kind;
  payload_ -= held_.front().packet->size;
  av_packet_move_ref(&packet, held_.front().packet.get());
  held_.pop_front();
  return kind;
}

const AVPacket* HeldPackets::FirstPicture() const {
  const auto first = std::ranges::find(held_, Kind::kVideo, &Held::kind);
  return first == held_.end() ? nullptr : first->packet.get();
}

std::optional<std::int64_t> HeldPackets::FirstTime(const VideoInfo& video) const {
  const AVPacket* first = FirstPicture();
  if (first == nullptr) return std::nullopt;
  const std::int64_t time = first->pts != AV_NOPTS_VALUE ? first->pts : first->dts;
  if (time == AV_NOPTS_VALUE) return std::nullopt;
  return Rescale(time, video.time_base, kMicros);
}

bool HeldPackets::BeginsBehind(std::int64_t at_us, const VideoInfo& video) const {
  const AVPacket* first = FirstPicture();
  // What is hidden lies anywhere; it may belong to a later part of an edit list.
  if (first == nullptr || av::IsHidden(*first)) return true;
  return FirstTime(video).value_or(at_us) > at_us;
}

bool HeldPackets::BeginsSlowly(const VideoInfo& video) const {
  return AccessOf(*FirstPicture(), video) == RandomAccess::kRecovery;
}

bool HeldPackets::HasCaptions() const {
  return std::ranges::any_of(
      held_, [](const Held& h) { return h.kind == Kind::kVideo && HasCaptionData(*h.packet); });
}

bool HeldPackets::HasEncrypted() const {
  return std::ranges::any_of(held_, [](const Held& h) {
    return av_packet_get_side_data(h.packet.get(), AV_PKT_DATA_ENCRYPTION_INFO, nullptr) != nullptr;
  });
}

}  // namespace gopmill
