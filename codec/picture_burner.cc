// SPDX-License-Identifier: Apache-2.0
#include "codec/picture_burner.h"

#include <optional>
#include <utility>
#include <vector>

#include "codec/bitmap_painter.h"
#include "codec/picture.h"
#include "media/av_error.h"

namespace gopmill {
namespace {

class PictureBurner final : public SubtitleBurner {
 public:
  PictureBurner(std::shared_ptr<const SubtitleScript> script, const OutputGrid& grid,
                const PictureArea& where)
      : script_(std::move(script)), grid_(grid) {
    const SubtitlePictures& pictures = *script_->pictures;
    canvas_ = {pictures.width, pictures.height};
    place_ = PlaceCanvas(canvas_, pictures.square, where);
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
      for (const PaintedBitmap& bitmap : painted_) Blend(bitmap, *drawn);
    }
    return drawn;
  }

 private:
  // One is seen for many frames.
  void Paint(std::size_t cue, const AVFrame& picture) {
    if (painted_cue_ == cue) return;
    painted_.clear();
    for (const Bitmap& bitmap : script_->pictures->cues[cue].bitmaps) {
      painted_.push_back(PaintBitmap(bitmap, canvas_, place_, picture));
    }
    painted_cue_ = cue;
  }

  std::shared_ptr<const SubtitleScript> script_;
  OutputGrid grid_;
  Size canvas_;
  Rectangle place_;
  std::optional<std::size_t> painted_cue_;  // that of `painted_`
  std::vector<PaintedBitmap> painted_;
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
