// SPDX-License-Identifier: Apache-2.0
#include "codec/picture_burner.h"

#include <optional>
#include <utility>

#include "codec/bitmap_painter.h"
#include "codec/picture.h"
#include "media/av_error.h"

namespace gopmill {
namespace {

// Bitmaps of an event lie beside each other. Those behind so many samples for each pixel of the
// picture, some times all of it, are left out.
constexpr std::size_t kMostCovered = 6;

class PictureBurner final : public SubtitleBurner {
 public:
  PictureBurner(std::shared_ptr<const SubtitleScript> script, const OutputGrid& grid,
                const PictureArea& where)
      : script_(std::move(script)), grid_(grid) {
    const SubtitleBitmaps& bitmaps = *script_->bitmaps;
    canvas_ = {bitmaps.width, bitmaps.height};
    place_ = PlaceCanvas(canvas_, bitmaps.square, where);
    if (canvas_.width <= 0 || canvas_.height <= 0) canvas_ = where.source;
  }

  Result<av::Frame> Draw(const AVFrame& picture, std::int64_t n) override {
    GOPMILL_ASSIGN_OR_RETURN(av::Frame drawn,
                             NewPicture(picture.width, picture.height, picture.format));
    const int code = av_frame_copy(drawn.get(), &picture);
    if (code < 0) return av::AvError("A picture could not be copied", code);
    av_frame_copy_props(drawn.get(), &picture);
    for (const std::size_t cue : script_->CuesAt(grid_.SourceMicros(n) / 1000)) {
      Paint(cue, picture);
      Blend(painted_, *drawn);
    }
    return drawn;
  }

 private:
  // One is seen for many frames. Its bitmaps become one, so that no cue takes more memory than the
  // picture has samples; and what they cover together is bounded, so that none takes longer.
  void Paint(std::size_t cue, const AVFrame& picture) {
    if (painted_cue_ == cue) return;
    painted_ = {};
    const auto pixels =
        static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height);
    std::size_t samples = 0;
    for (const Bitmap& bitmap : script_->bitmaps->cues[cue].bitmaps) {
      const PaintedBitmap next = PaintBitmap(bitmap, canvas_, place_, picture);
      painted_ = Over(painted_, next);
      samples += SamplesIn(next);
      if (samples > kMostCovered * pixels) break;
    }
    painted_cue_ = cue;
  }

  std::shared_ptr<const SubtitleScript> script_;
  OutputGrid grid_;
  Size canvas_;
  Rectangle place_;
  std::optional<std::size_t> painted_cue_;  // that of `painted_`
  PaintedBitmap painted_;
};

}  // namespace

Result<std::unique_ptr<SubtitleBurner>> OpenPictureBurner(
    std::shared_ptr<const SubtitleScript> script, const OutputGrid& grid, const AVFrame& picture,
    const PictureArea& where) {
  if (!CanBePainted(picture.format)) {
    return Error{.code = Code::kUnsupported,
                 .message = "Subtitles cannot be drawn in this pixel format.",
                 .parameter = "burn",
                 .accepted = "off"};
  }
  return std::unique_ptr<SubtitleBurner>(
      std::make_unique<PictureBurner>(std::move(script), grid, where));
}

}  // namespace gopmill
