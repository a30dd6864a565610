// SPDX-License-Identifier: Apache-2.0
#include "media/subtitle_bitmaps.h"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "media/av_error.h"
#include "media/subtitle_track.h"

namespace gopmill {
namespace {

constexpr std::array<AVCodecID, 4> kPictureCodecs{AV_CODEC_ID_HDMV_PGS_SUBTITLE,
                                                  AV_CODEC_ID_DVD_SUBTITLE,
                                                  AV_CODEC_ID_DVB_SUBTITLE, AV_CODEC_ID_XSUB};

bool IsSane(const AVSubtitleRect& rect) {
  const auto within = [](int side) { return side > 0 && side <= kMaxCanvasSide; };
  const auto near = [](int place) { return std::abs(std::int64_t{place}) <= kMaxCanvasSide; };
  return rect.type == SUBTITLE_BITMAP && within(rect.w) && within(rect.h) && near(rect.x) &&
         near(rect.y) && rect.data[0] != nullptr && rect.data[1] != nullptr &&
         rect.linesize[0] >= rect.w;
}

// FFmpeg's palettes always have room for 256 colours.
Bitmap BitmapOf(const AVSubtitleRect& rect) {
  Bitmap bitmap{.x = rect.x, .y = rect.y, .width = rect.w, .height = rect.h, .packed = {}};
  const auto* colors = reinterpret_cast<const std::uint32_t*>(rect.data[1]);
  const int count = std::clamp(rect.nb_colors, 0, 256);
  std::copy_n(colors, count > 0 ? count : 256, bitmap.palette.begin());
  std::vector<std::uint8_t> indices;
  indices.reserve(static_cast<std::size_t>(rect.w) * static_cast<std::size_t>(rect.h));
  for (int y = 0; y < rect.h; ++y) {
    const std::uint8_t* row = rect.data[0] + std::ptrdiff_t{y} * rect.linesize[0];
    indices.insert(indices.end(), row, row + rect.w);
  }
  bitmap.packed = Packed(indices);
  return bitmap;
}

std::size_t BytesOf(const std::vector<Bitmap>& bitmaps) {
  std::size_t bytes = 0;
  for (const Bitmap& bitmap : bitmaps) bytes += sizeof(Bitmap) + bitmap.packed.size();
  return bytes;
}

}  // namespace

std::string Packed(const std::vector<std::uint8_t>& indices) {
  uLongf size = compressBound(static_cast<uLong>(indices.size()));
  std::string packed(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(packed.data()), &size, indices.data(),
                             static_cast<uLong>(indices.size()), Z_BEST_SPEED);
  packed.resize(code == Z_OK ? size : 0);
  packed.shrink_to_fit();
  return packed;
}

std::vector<std::uint8_t> Unpacked(const Bitmap& bitmap) {
  std::vector<std::uint8_t> indices(static_cast<std::size_t>(bitmap.width) *
                                    static_cast<std::size_t>(bitmap.height));
  auto size = static_cast<uLongf>(indices.size());
  const int code =
      uncompress(indices.data(), &size, reinterpret_cast<const Bytef*>(bitmap.packed.data()),
                 static_cast<uLong>(bitmap.packed.size()));
  GOPMILL_CHECK(code == Z_OK && size == indices.size());
  return indices;
}

std::size_t SubtitleBitmaps::bytes() const {
  std::size_t bytes = 0;
  for (const PictureCue& cue : cues) bytes += sizeof(PictureCue) + BytesOf(cue.bitmaps);
  return bytes;
}

bool IsPictureCodec(AVCodecID codec) {
  return std::ranges::find(kPictureCodecs, codec) != kPictureCodecs.end();
}

Result<PictureReader> PictureReader::Open(const AVStream& stream, std::int64_t start_us) {
  PictureReader reader;
  reader.time_base_ = av::FromAv(stream.time_base);
  reader.start_us_ = start_us;
  GOPMILL_ASSIGN_OR_RETURN(reader.decoder_, OpenSubtitleDecoder(stream));
  return reader;
}

void PictureReader::Push(const AVPacket& packet, std::size_t closed) {
  av::Subtitle shown;
  int got = 0;
  AVPacket& mutable_packet = const_cast<AVPacket&>(packet);  // older FFmpeg; reads only
  const int read = avcodec_decode_subtitle2(decoder_.get(), shown.get(), &got, &mutable_packet);
  if (read >= 0 && got != 0) Add(*shown.get(), packet, closed);
}

void PictureReader::ForgetClosed() {
  for (Event& event : events_) event.closed = 0;
}

// Decoders of PGS put out an event when its last packet has come, with the time of its first.
void PictureReader::Add(const AVSubtitle& shown, const AVPacket& packet, std::size_t closed) {
  if (shown.pts == AV_NOPTS_VALUE || std::abs(shown.pts) > kFarthestMicros) return;
  if (events_.size() >= kMaxCues || bytes_ > kMaxBitmapBytes) return;
  const std::int64_t start = shown.pts - start_us_;
  Event event{.start_us = start + std::int64_t{shown.start_display_time} * 1000,
              .end_us = kNoEnd,
              .closed = closed,
              .bitmaps = {}};
  const bool ends = shown.end_display_time > shown.start_display_time &&
                    shown.end_display_time != std::numeric_limits<std::uint32_t>::max();
  if (ends) {
    event.end_us = start + std::int64_t{shown.end_display_time} * 1000;
  } else if (packet.duration > 0) {
    const std::int64_t duration = Rescale(packet.duration, time_base_, kMicros);
    if (duration <= kFarthestMicros) event.end_us = event.start_us + duration;
  }
  std::int64_t pixels = 0;
  for (unsigned i = 0; i < shown.num_rects && event.bitmaps.size() < kMaxBitmaps; ++i) {
    const AVSubtitleRect& rect = *shown.rects[i];
    if (!IsSane(rect)) continue;
    pixels += std::int64_t{rect.w} * rect.h;
    if (pixels > kMaxBitmapPixels) break;
    Bitmap bitmap = BitmapOf(rect);
    if (!bitmap.packed.empty()) event.bitmaps.push_back(std::move(bitmap));
  }
  bytes_ += sizeof(Event) + BytesOf(event.bitmaps);
  events_.push_back(std::move(event));
}

std::shared_ptr<const SubtitleBitmaps> PictureReader::Finish(const ClosedJumps& jumps) {
  auto bitmaps = std::make_shared<SubtitleBitmaps>();
  const bool sane = decoder_->width > 0 && decoder_->width <= kMaxCanvasSide &&
                    decoder_->height > 0 && decoder_->height <= kMaxCanvasSide;
  if (sane) {
    bitmaps->width = decoder_->width;
    bitmaps->height = decoder_->height;
  }
  bitmaps->square = decoder_->codec_id == AV_CODEC_ID_HDMV_PGS_SUBTITLE;
  for (Event& event : events_) {
    event.start_us = WithoutJumps(jumps, event.start_us, event.closed);
    if (event.end_us != kNoEnd) event.end_us = WithoutJumps(jumps, event.end_us, event.closed);
  }
  std::ranges::stable_sort(events_, {}, &Event::start_us);
  for (std::size_t i = 0; i < events_.size(); ++i) {
    Event& event = events_[i];
    std::int64_t end = event.end_us;
    if (i + 1 < events_.size()) {
      const std::int64_t next = events_[i + 1].start_us;
      end = end == kNoEnd ? next : std::min(end, next);
    } else if (end == kNoEnd) {
      end = event.start_us + kCueMicros;
    }
    if (event.bitmaps.empty() || end / 1000 <= event.start_us / 1000) continue;
    bitmaps->cues.push_back(
        {.start_us = event.start_us, .end_us = end, .bitmaps = std::move(event.bitmaps)});
  }
  events_.clear();
  return bitmaps;
}

}  // namespace gopmill
