// SPDX-License-Identifier: Apache-2.0
//
// A source's track of subtitles that are pictures: PGS of Blu-ray discs, those of DVDs, DVB and
// XSUB. Each event shows bitmaps with palettes on a canvas, and takes away what was shown before.
//
// Bitmaps are kept compressed: a film has some thousand of them, of up to a megapixel.
//
// Thread-safety: compatible; what has been read is const and safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/rational.h"
#include "base/status.h"
#include "media/av_ptr.h"
#include "media/closed_jumps.h"

namespace gopmill {

// Of one track, compressed; events beyond are left out.
inline constexpr std::size_t kMaxBitmapBytes = std::size_t{48} << 20U;
// Of one event, and all their pixels; what a canvas and a bitmap measure at most on each side.
inline constexpr std::size_t kMaxBitmaps = 64;
inline constexpr std::int64_t kMaxBitmapPixels = std::int64_t{1} << 24U;
inline constexpr int kMaxCanvasSide = 8192;

// A rectangle of the canvas, pixels; it may reach over its border.
struct Bitmap {
  int x = 0, y = 0, width = 0, height = 0;
  std::array<std::uint32_t, 256> palette{};  // 0xAARRGGBB, colours not multiplied by alpha
  std::string packed;                        // `width` * `height` indices by rows, see Packed
};

// Indices as a bitmap has them: zlib (RFC 1950). Empty if there is no memory for it.
std::string Packed(const std::vector<std::uint8_t>& indices);
// Those of a bitmap that was packed so.
std::vector<std::uint8_t> Unpacked(const Bitmap& bitmap);

struct PictureCue {
  std::int64_t start_us = 0, end_us = 0;  // since the source's zero; a millisecond at least
  std::vector<Bitmap> bitmaps;            // at least one; later ones lie over earlier ones
};

struct SubtitleBitmaps {
  int width = 0, height = 0;     // of the canvas; 0: that of the source's pictures
  bool square = false;           // pixels of the canvas are square; else as those of the source
  std::vector<PictureCue> cues;  // by start, none over another
  [[nodiscard]] std::size_t bytes() const;
};

bool IsPictureCodec(AVCodecID codec);

// Turns packets into cues.
class PictureReader {
 public:
  // `start_us`: the source's zero on the container's clock. kUnsupported without a decoder.
  static Result<PictureReader> Open(const AVStream& stream, std::int64_t start_us);

  // What a damaged packet shows is left out. `closed`: jumps that had been when it was read.
  void Push(const AVPacket& packet, std::size_t closed = 0);
  // So far there have been none.
  void ForgetClosed();
  // All packets have been pushed, and these are the jumps.
  std::shared_ptr<const SubtitleBitmaps> Finish(const ClosedJumps& jumps = {});
  [[nodiscard]] std::size_t bytes() const { return bytes_; }  // of cues so far

 private:
  // What is shown from a time on; nothing, where it only ends what was there.
  struct Event {
    std::int64_t start_us = 0, end_us = 0;  // end may be kNoEnd
    std::size_t closed = 0;                 // jumps
    std::vector<Bitmap> bitmaps;
  };
  PictureReader() = default;
  void Add(const AVSubtitle& shown, const AVPacket& packet, std::size_t closed);

  av::CodecContext decoder_;
  Rational time_base_;
  std::int64_t start_us_ = 0;
  std::size_t bytes_ = 0;
  std::vector<Event> events_;
};

}  // namespace gopmill
