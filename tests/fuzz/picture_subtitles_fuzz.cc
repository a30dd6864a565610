// SPDX-License-Identifier: Apache-2.0
//
// A track of subtitles that are pictures, from any bytes: the first says which codec; then packets,
// each with a length, a step of time and a duration. Cues come in order, none over another, with
// bitmaps of sane sizes; they can be drawn on pictures of any shape.
#include <algorithm>
#include <array>
#include <vector>

#include "codec/bitmap_painter.h"
#include "codec/picture.h"
#include "media/subtitle_script.h"
#include "tests/fuzz/bytes.h"

namespace {

using namespace gopmill;
using fuzz::Require;

constexpr std::array<AVCodecID, 4> kCodecs{AV_CODEC_ID_HDMV_PGS_SUBTITLE, AV_CODEC_ID_DVD_SUBTITLE,
                                           AV_CODEC_ID_DVB_SUBTITLE, AV_CODEC_ID_XSUB};
constexpr std::int64_t kMaxDrawn = 1 << 18U;  // pixels: larger bitmaps take too long for a fuzzer

struct FormatOwner {
  AVFormatContext* format = avformat_alloc_context();
  ~FormatOwner() { avformat_free_context(format); }
};

SubtitleTrack Read(fuzz::Bytes& bytes) {
  const FormatOwner owner;
  AVStream* stream = avformat_new_stream(owner.format, nullptr);
  stream->codecpar->codec_type = AVMEDIA_TYPE_SUBTITLE;
  stream->codecpar->codec_id = kCodecs.at(bytes.Byte() % kCodecs.size());
  stream->time_base = {1, 1000};
  SubtitleTrack track;
  track.of_pictures = true;
  auto reader = PictureReader::Open(*stream, 0);
  if (!reader.ok()) return track;
  std::int64_t now = 0;
  while (!bytes.empty()) {
    const auto size = static_cast<int>(bytes.Number(2));
    now += bytes.Number(2) - 256;
    const std::int64_t duration = bytes.Byte();
    const av::Packet packet = av::NewPacket();
    Require(av_new_packet(packet.get(), size) == 0);
    for (int i = 0; i < size; ++i) packet->data[i] = bytes.Byte();
    packet->pts = packet->dts = now;
    packet->duration = duration;
    reader->Push(*packet);
  }
  track.bitmaps = reader->Finish();
  return track;
}

void Draw(const Bitmap& bitmap, const SubtitleBitmaps& bitmaps, const PictureArea& where,
          int format) {
  const Size canvas{bitmaps.width, bitmaps.height};
  const Rectangle place = PlaceCanvas(canvas, bitmaps.square, where);
  Require(place.width > 0 && place.height > 0);
  auto picture = NewPicture(50, 38, format);
  Require(picture.ok());
  PaintBlack(**picture, AVCOL_RANGE_MPEG);
  const Size drawn = canvas.width > 0 && canvas.height > 0 ? canvas : where.source;
  Blend(PaintBitmap(bitmap, drawn, place, **picture), **picture);
}

void CheckCue(const PictureCue& cue, const SubtitleBitmaps& bitmaps) {
  Require(cue.end_us > cue.start_us && !cue.bitmaps.empty() && cue.bitmaps.size() <= kMaxBitmaps);
  for (const Bitmap& bitmap : cue.bitmaps) {
    Require(bitmap.width > 0 && bitmap.width <= kMaxCanvasSide);
    Require(bitmap.height > 0 && bitmap.height <= kMaxCanvasSide);
    const std::int64_t pixels = std::int64_t{bitmap.width} * bitmap.height;
    Require(pixels <= kMaxBitmapPixels);
    if (pixels > kMaxDrawn) continue;
    Draw(bitmap, bitmaps, {.area = {0, 0, 50, 38}, .source = {50, 38}}, AV_PIX_FMT_YUV420P);
    Draw(bitmap, bitmaps, {.area = {0, 6, 50, 26}, .source = {720, 576}}, AV_PIX_FMT_YUV420P10);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  av_log_set_level(AV_LOG_QUIET);
  fuzz::Bytes bytes(data, size);
  const SubtitleTrack track = Read(bytes);
  if (!track.bitmaps) return 0;
  std::int64_t end = INT64_MIN;
  for (const PictureCue& cue : track.bitmaps->cues) {
    Require(cue.start_us >= end);
    end = cue.end_us;
    CheckCue(cue, *track.bitmaps);
  }
  const auto script = MakeScript(track);
  Require(script->cues.size() == track.bitmaps->cues.size());
  for (const SubtitleScript::Span& span : script->shown) Require(span.end_ms > span.start_ms);
  return 0;
}
