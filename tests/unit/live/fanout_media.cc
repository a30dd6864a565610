// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/live/fanout_media.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gopmill::testing {
namespace {

std::shared_ptr<const AVCodecParameters> Parameters(AVMediaType type, AVCodecID codec,
                                                    int sample_rate = 0) {
  AVCodecParameters* parameters = avcodec_parameters_alloc();
  parameters->codec_type = type;
  parameters->codec_id = codec;
  parameters->sample_rate = sample_rate;
  return {parameters, [](AVCodecParameters* p) { avcodec_parameters_free(&p); }};
}

}  // namespace

std::vector<MuxTrack> PicturesAndSound() {
  MuxTrack pictures, sound;
  pictures.parameters = Parameters(AVMEDIA_TYPE_VIDEO, AV_CODEC_ID_MPEG2VIDEO);
  pictures.time_base = {1, 25};
  pictures.frame_rate = {25, 1};
  sound.kind = TrackKind::kAudio;
  sound.parameters = Parameters(AVMEDIA_TYPE_AUDIO, AV_CODEC_ID_MP2, 48'000);
  sound.time_base = {1, 48'000};
  return {pictures, sound};
}

std::shared_ptr<const FanoutHeader> Header() {
  return std::make_shared<const FanoutHeader>(
      FanoutHeader{.start = {}, .container = Container::kTs, .tracks = PicturesAndSound()});
}

av::Packet Picture(std::int64_t pts, bool key, int bytes) {
  av::Packet packet = av::NewPacket();
  EXPECT_EQ(av_new_packet(packet.get(), bytes), 0);
  std::fill_n(packet->data, bytes, std::uint8_t{0});
  packet->pts = packet->dts = pts;
  packet->duration = 1;
  if (key) packet->flags |= AV_PKT_FLAG_KEY;
  return packet;
}

FanoutItem PictureItem(std::int64_t pts, bool key, int bytes, TimePoint made) {
  FanoutItem item;
  item.packet = std::make_shared<const av::Packet>(Picture(pts, key, bytes));
  item.made = made;
  return item;
}

void Received::Hold() {
  const MutexLock lock(mutex_);
  held_ = true;
}

void Received::Free() {
  const MutexLock lock(mutex_);
  held_ = false;
  changed_.NotifyAll();
}

void Received::AwaitWrite() {
  const MutexLock lock(mutex_);
  while (writes_ == 0) changed_.Wait(mutex_);
}

std::optional<StreamEnd> Received::end() const {
  const MutexLock lock(mutex_);
  return end_;
}

StreamEnd Received::AwaitEnd() {
  const MutexLock lock(mutex_);
  while (!end_) changed_.Wait(mutex_);
  return *end_;
}

bool Received::started() const {
  const MutexLock lock(mutex_);
  return started_;
}

std::size_t Received::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

Status ReceivingSink::Start(const StreamStart& /*start*/) {
  const MutexLock lock(received_->mutex_);
  received_->started_ = true;
  return OkStatus();
}

Status ReceivingSink::Write(std::span<const std::uint8_t> bytes) {
  Received& r = *received_;
  const MutexLock lock(r.mutex_);
  ++r.writes_;
  r.changed_.NotifyAll();
  while (r.held_ && !r.cancelled_) r.changed_.Wait(r.mutex_);
  if (r.cancelled_) return Cancelled();
  r.bytes_ += bytes.size();
  return OkStatus();
}

void ReceivingSink::Finish(const StreamEnd& end) {
  const MutexLock lock(received_->mutex_);
  EXPECT_FALSE(received_->end_) << "finished twice";
  received_->end_ = end;
  received_->changed_.NotifyAll();
}

void ReceivingSink::Cancel() noexcept {
  const MutexLock lock(received_->mutex_);
  received_->cancelled_ = true;
  received_->changed_.NotifyAll();
}

}  // namespace gopmill::testing
