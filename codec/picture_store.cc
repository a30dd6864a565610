// SPDX-License-Identifier: Apache-2.0
#include "codec/picture_store.h"

#include <algorithm>
#include <utility>

namespace gopmill {
namespace {

// What a GOP counts for, if not for a single picture.
constexpr std::int64_t kGopWeight = 64;
// GOPs that can still be come by.
constexpr std::int64_t kKnownWeight = 4 * kGopWeight;
// A GOP is shared if several met at one of so many before it.
constexpr std::int64_t kRemembered = 4 * kGopWeight;
// Decoders of single pictures that nobody uses: as many as workers are likely to want at once.
constexpr std::size_t kMostSpares = 4;
// Packets kept behind the oldest picture: more than any decoder reorders.
constexpr std::int64_t kHeldPackets = 64;

std::size_t BytesOf(const AVFrame& frame) {
  std::size_t bytes = 0;
  for (const AVBufferRef* buffer : frame.buf) bytes += buffer != nullptr ? buffer->size : 0;
  return bytes;
}

}  // namespace

std::size_t PictureStore::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

std::size_t PictureStore::key_bytes() const {
  const MutexLock lock(mutex_);
  return known_bytes_;
}

std::shared_ptr<PictureStore::Gop> PictureStore::Find(const VideoInfo& video, const AVPacket& key,
                                                      const KeyMet& met) {
  const auto found = std::ranges::find_if(gops_, [&](const auto& gop) {
    return gop->key->data == key.data && gop->coding == video.parameters &&
           gop->needed.has_value() == met.needed.has_value();
  });
  if (found != gops_.end()) return *found;
  auto gop = std::make_shared<Gop>();
  gop->coding = video.parameters;
  gop->time_base = video.time_base;
  gop->x264_build = video.x264_build;
  gop->key = av::Ref(key);
  gop->needed = met.needed;
  gop->weight = met.alone ? 1 : kGopWeight;
  gop->shared = met_ && begun_ - *met_ < kRemembered;
  begun_ += gop->weight;
  known_weight_ += gop->weight;
  known_bytes_ += static_cast<std::size_t>(key.size);
  gops_.push_back(gop);
  for (; KnowsTooMany(); gops_.pop_front()) {
    known_weight_ -= gops_.front()->weight;
    known_bytes_ -= static_cast<std::size_t>(gops_.front()->key->size);
    Forget(*gops_.front());
  }
  return gop;
}

bool PictureStore::KnowsTooMany() const {
  if (known_weight_ > kKnownWeight) return true;
  return known_bytes_ > kKnownKeyBytes && gops_.size() > kFewestKnown;
}

// False where the packet is not the one of that number.
bool PictureStore::Put(Gop& gop, std::int64_t number, const AVPacket& packet, SourceTicks shift) {
  if (packet.pts == AV_NOPTS_VALUE || gop.forgotten) return false;
  if (number < gop.packets_gone || (gop.end && number >= *gop.end)) return false;
  if (number < gop.packet_count()) {
    return gop.PacketAt(number)->data == packet.data;
  }
  av::Packet placed = av::Ref(packet);
  placed->pts += shift;
  if (placed->dts != AV_NOPTS_VALUE) placed->dts += shift;
  gop.packets.push_back(std::move(placed));
  return true;
}

// By who has set busy.
Result<PictureStore::Frames> PictureStore::Decode(Gop& gop, const AVPacket* packet) {
  if (!gop.decoder) {
    GOPMILL_ASSIGN_OR_RETURN(gop.decoder,
                             VideoDecoder::Open(*gop.coding, gop.time_base, gop.x264_build));
  }
  GOPMILL_RETURN_IF_ERROR(gop.decoder->Send(packet));
  Frames frames;
  while (true) {
    av::Frame frame = av::NewFrame();
    GOPMILL_ASSIGN_OR_RETURN(const bool got, gop.decoder->Receive(*frame));
    if (!got) break;
    if (frame->pts != AV_NOPTS_VALUE) frames.push_back(std::move(frame));
  }
  gop.damaged = gop.decoder->damaged();
  return frames;
}

void PictureStore::LendDecoder(Gop& gop) {
  if (gop.decoder) return;
  const auto spare = std::ranges::find(spares_, gop.coding, &Spare::coding);
  if (spare == spares_.end()) return;
  gop.decoder = std::move(spare->decoder);
  spares_.erase(spare);
}

// It goes with the last picture.
void PictureStore::TakeBackDecoder(Gop& gop) {
  auto decoder = std::move(gop.decoder);
  if (!decoder || seats_ == 0 || !DecodesSinglePictures(*gop.coding)) return;
  decoder->Flush();
  std::erase_if(spares_, [&](const Spare& spare) { return spare.coding != gop.coding; });
  if (spares_.size() < kMostSpares) spares_.push_back({gop.coding, std::move(decoder)});
}

// The last packet that was sent with this time, or where none has it the newest. Only of those that
// taps still know the time of: a decoder that goes by decoding times may hit upon any time.
std::int64_t PictureStore::PacketOf(const Gop& gop, SourceTicks pts) {
  const std::int64_t oldest = std::max(gop.packets_gone, gop.sent - kHeldPackets);
  for (std::int64_t n = gop.sent; n > oldest; --n) {
    if (gop.PacketAt(n - 1)->pts == pts) return n - 1;
  }
  return gop.sent - 1;
}

// What a drain brings can only be had by who knows that the GOP ends.
void PictureStore::Keep(Gop& gop, Frames frames, bool drained, std::int64_t by) {
  gop.drained = drained;
  if (!drained) ++gop.sent;
  if (gop.forgotten) return;
  for (av::Frame& frame : frames) {
    if (gop.needed && frame->pts < *gop.needed) continue;
    Picture picture{.after = gop.sent + (drained ? 1 : 0),
                    .packet = PacketOf(gop, frame->pts),
                    .by = by,
                    .bytes = BytesOf(*frame)};
    picture.off = frame->pts - gop.PacketAt(picture.packet)->pts;
    picture.frame = std::make_shared<const av::Frame>(std::move(frame));
    bytes_ += picture.bytes;
    ++pictures_;
    gop.pictures.push_back(std::move(picture));
  }
  for (const auto& oldest : gops_) {
    while (bytes_ > limit_ && pictures_ > kFewestShared && !oldest->pictures.empty()) {
      DropOldest(*oldest);
    }
  }
}

void PictureStore::DropOldest(Gop& gop) {
  bytes_ -= gop.pictures.front().bytes;
  --pictures_;
  const std::int64_t from = gop.pictures.front().packet - kHeldPackets;
  gop.pictures.pop_front();
  ++gop.pictures_gone;
  for (; gop.packets_gone < from; ++gop.packets_gone) gop.packets.pop_front();
}

void PictureStore::Forget(Gop& gop) {
  while (!gop.pictures.empty()) DropOldest(gop);
  gop.packets.clear();
  gop.forgotten = true;
}

PictureTap::PictureTap(std::shared_ptr<PictureSeat> seat, std::shared_ptr<PictureStore> store,
                       std::shared_ptr<Gop> gop, SourceTicks shift, std::int64_t number)
    : seat_(std::move(seat)),
      store_(std::move(store)),
      gop_(std::move(gop)),
      number_(number),
      shift_(shift) {}

void PictureTap::Lose() {
  if (!std::exchange(lost_, true)) ++seat_->lost_;
}

void PictureTap::Feed(const AVPacket& packet) {
  const MutexLock lock(store_->mutex_);
  times_.push_back(packet.pts);
  if (!lost_ && !PictureStore::Put(*gop_, fed_++, packet, shift_)) Lose();
}

// Who comes to another end than the others has other packets, or is the first of them at an end
// that is none for all.
void PictureTap::Close() {
  if (std::exchange(closed_, true)) return;
  const MutexLock lock(store_->mutex_);
  if (!gop_->end && gop_->packet_count() == fed_) gop_->end = fed_;
  if (gop_->end != fed_) Lose();
}

// Takes all that it may have into its hands: they cannot be lost any more.
PictureTap::Turn PictureTap::Look() {
  Gop& gop = *gop_;
  if (gop.forgotten || next_ < gop.pictures_gone) Lose();
  if (lost_) return Turn::kGoOn;
  for (; next_ < gop.picture_count(); ++next_) {
    const auto& picture = gop.pictures[static_cast<std::size_t>(next_ - gop.pictures_gone)];
    if (!closed_ && picture.after > fed_) return Turn::kGoOn;
    if (picture.by != number_) ++counts_.taken;
    in_hand_.push_back(picture);
  }
  if (!in_hand_.empty() || gop.failed) return Turn::kGoOn;
  over_ = gop.drained;
  if (over_ || (!closed_ && gop.sent >= fed_)) return Turn::kGoOn;
  return gop.busy ? Turn::kWait : Turn::kDecode;
}

av::Packet PictureTap::TakeTurn() {
  gop_->busy = true;
  store_->LendDecoder(*gop_);
  return gop_->sent < fed_ ? av::Ref(*gop_->PacketAt(gop_->sent)) : nullptr;
}

void PictureTap::DecodeOne(const AVPacket* packet) {
  const std::int64_t damaged = gop_->damaged;
  auto frames = PictureStore::Decode(*gop_, packet);
  counts_.damaged += gop_->damaged - damaged;
  {
    const MutexLock lock(store_->mutex_);
    gop_->busy = false;
    if (packet == nullptr) store_->TakeBackDecoder(*gop_);
    if (frames.ok()) {
      counts_.decoded += static_cast<std::int64_t>(frames->size());
      store_->Keep(*gop_, *std::move(frames), packet == nullptr, number_);
    } else {
      gop_->failed = frames.error();
    }
  }
  store_->decoded_.NotifyAll();
}

Status PictureTap::Fill() {
  while (true) {
    av::Packet packet;
    {
      const MutexLock lock(store_->mutex_);
      Turn turn = Look();
      while (turn == Turn::kWait) {
        store_->decoded_.Wait(store_->mutex_);
        turn = Look();
      }
      if (turn == Turn::kGoOn) {
        if (lost_) break;
        return gop_->failed && in_hand_.empty() ? Status(*gop_->failed) : OkStatus();
      }
      packet = TakeTurn();
    }
    DecodeOne(packet.get());
  }
  return Error{.code = Code::kUnavailable,
               .message = "The pictures that the unit shares with others are gone."};
}

Result<bool> PictureTap::Next(AVFrame& frame) {
  if (in_hand_.empty()) GOPMILL_RETURN_IF_ERROR(Fill());
  if (in_hand_.empty()) {
    if (over_) seat_->lost_ = 0;
    return false;
  }
  const PictureStore::Picture picture = std::move(in_hand_.front());
  in_hand_.pop_front();
  av::Ref(**picture.frame, frame);
  frame.pts = times_[static_cast<std::size_t>(picture.packet - times_gone_)] + picture.off;
  for (; times_gone_ < picture.packet - kHeldPackets; ++times_gone_) times_.pop_front();
  return true;
}

PictureSeat::PictureSeat(std::shared_ptr<PictureStore> store) : store_(std::move(store)) {
  const MutexLock lock(store_->mutex_);
  ++store_->seats_;
}

PictureSeat::~PictureSeat() {
  const MutexLock lock(store_->mutex_);
  if (--store_->seats_ > 0) return;
  for (const auto& gop : store_->gops_) store_->Forget(*gop);
  store_->gops_.clear();
  store_->known_weight_ = 0;
  store_->known_bytes_ = 0;
  store_->spares_.clear();
}

bool PictureSeat::Pauses() {
  if (lost_ < kMostLost) return false;
  if (++paused_ < kPausedGops) return true;
  paused_ = 0;
  lost_ = kMostLost - 1;
  return false;
}

std::unique_ptr<PictureTap> PictureSeat::Visit(const VideoInfo& video, const AVPacket& key,
                                               const KeyMet& met) {
  if (key.pts == AV_NOPTS_VALUE) return nullptr;
  const MutexLock lock(store_->mutex_);
  if (Pauses()) return nullptr;
  const auto gop = store_->Find(video, key, met);
  gop->visitors.insert(this);
  if (gop->visitors.size() > 1) store_->met_ = store_->begun_;
  const bool whole = gop->pictures_gone == 0 && !gop->forgotten && !gop->failed;
  if (!gop->shared || !whole) return nullptr;
  return std::unique_ptr<PictureTap>(
      new PictureTap(shared_from_this(), store_, gop, gop->key->pts - key.pts, ++store_->taps_));
}

}  // namespace gopmill
