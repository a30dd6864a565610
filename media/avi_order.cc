// SPDX-License-Identifier: Apache-2.0
#include "media/avi_order.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "media/nal_units.h"

namespace gopmill {
namespace {

using nal::AfterStartCode;
using nal::Bytes;

// Start codes of ISO/IEC 14496-2 table 6-3.
constexpr std::uint8_t kUserData = 0xB2, kVop = 0xB6;

Bytes BytesOf(const AVPacket& packet) {
  return {packet.data, static_cast<std::size_t>(std::max(packet.size, 0))};
}

// DivX and XviD write "DivX", numbers, and a "p" where the bitstream is packed.
bool SaysPacked(Bytes data) {
  constexpr std::string_view kName = "DivX";
  constexpr std::size_t kLongestText = 64;
  for (auto at = AfterStartCode(data, 0); at && *at < data.size(); at = AfterStartCode(data, *at)) {
    if (data[*at] == kVop) return false;  // the picture itself
    if (data[*at] != kUserData) continue;
    const Bytes rest = data.subspan(*at + 1);
    std::string_view text(reinterpret_cast<const char*>(rest.data()),
                          std::min(rest.size(), kLongestText));
    if (!text.starts_with(kName)) continue;
    text = text.substr(0, text.find('\0'));
    if (text.ends_with('p')) return true;
  }
  return false;
}

// vop_coding_type, the two bits behind the start code; of what is no picture it is none.
enum class VopType { kI, kP, kB, kSprite, kNone };

VopType VopTypeOf(Bytes data) {
  for (auto at = AfterStartCode(data, 0); at && *at + 1 < data.size();
       at = AfterStartCode(data, *at)) {
    if (data[*at] == kVop) return static_cast<VopType>(data[*at + 1] >> 6U);
  }
  return VopType::kNone;
}

// Null where this FFmpeg has it not.
AVBSFContext* NewUnpacker() {
  const AVBitStreamFilter* filter = av_bsf_get_by_name("mpeg4_unpack_bframes");
  AVBSFContext* context = nullptr;
  if (filter == nullptr || av_bsf_alloc(filter, &context) < 0) return nullptr;
  context->par_in->codec_type = AVMEDIA_TYPE_VIDEO;
  context->par_in->codec_id = AV_CODEC_ID_MPEG4;
  if (av_bsf_init(context) < 0) av_bsf_free(&context);
  return context;
}

}  // namespace

void AviOrder::Begin(const AVInputFormat& container, int track,
                     const AVCodecParameters& parameters) {
  const Bytes header(parameters.extradata,
                     static_cast<std::size_t>(std::max(parameters.extradata_size, 0)));
  on_ = std::string_view(container.name) == "avi" && parameters.codec_id == AV_CODEC_ID_MPEG4 &&
        parameters.video_delay == 1;
  track_ = track;
  if (on_ && SaysPacked(header)) {
    unpacker_.reset(NewUnpacker());
    on_ = unpacker_ != nullptr;
  }
  Clear();
}

// AVI counts its pictures by ticks: one is a frame.
void AviOrder::TellTime(std::int64_t next_dts) {
  waiting_->pts = next_dts - 1;
  --waiting_->dts;
  waiting_ = nullptr;
  known_ = packets_.size();
}

// The second picture of a packet takes the place of the next packet, and that one, unless nothing
// is in it, that of the one behind. False where nothing is left.
bool AviOrder::Unpack(AVPacket& packet) {
  int code = av_bsf_send_packet(unpacker_.get(), &packet);
  if (code >= 0) code = av_bsf_receive_packet(unpacker_.get(), &packet);
  return code >= 0;
}

void AviOrder::Push(av::Packet packet) {
  const bool of_pictures = packet->stream_index == track_;
  if (of_pictures && packet->size > 0 && unpacker_ && !Unpack(*packet)) return;
  packets_.push_back(std::move(packet));
  AVPacket& newest = *packets_.back();
  bytes_ += newest.size;
  const bool picture = of_pictures && newest.dts != AV_NOPTS_VALUE;
  if (picture && !std::exchange(begun_, true)) on_ = on_ && !SaysPacked(BytesOf(newest));
  if (picture && on_) {
    const VopType type = VopTypeOf(BytesOf(newest));
    last_dts_ = newest.dts;
    // Of one that took another's place the container's mark is the other's.
    if (unpacker_ && type != VopType::kI) newest.flags &= ~AV_PKT_FLAG_KEY;
    if (unpacker_ && type == VopType::kI) newest.flags |= AV_PKT_FLAG_KEY;
    if (type == VopType::kB) {
      newest.pts = --newest.dts;
    } else {
      if (waiting_ != nullptr) TellTime(last_dts_);
      waiting_ = &newest;
      known_ = packets_.size() - 1;
    }
  }
  const bool too_many = packets_.size() > kMaxOrderedPackets || bytes_ > kMaxOrderedBytes;
  if (waiting_ != nullptr && too_many) TellTime(waiting_->dts + 1);
  if (waiting_ == nullptr) known_ = packets_.size();
}

void AviOrder::Finish(int code) {
  ended_ = code;
  if (waiting_ != nullptr) TellTime(last_dts_ + 1);
}

int AviOrder::Pop(AVPacket& packet) {
  if (known_ == 0) return packets_.empty() && ended_ < 0 ? ended_ : AVERROR(EAGAIN);
  --known_;
  bytes_ -= packets_.front()->size;
  av_packet_move_ref(&packet, packets_.front().get());
  packets_.pop_front();
  return 0;
}

void AviOrder::Clear() {
  if (unpacker_) av_bsf_flush(unpacker_.get());
  packets_.clear();
  waiting_ = nullptr;
  known_ = 0;
  bytes_ = 0;
  ended_ = 0;
}

}  // namespace gopmill
