// SPDX-License-Identifier: Apache-2.0
#include "media/output_size.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gopmill {
namespace {

constexpr const char* kEvenReason = "4:2:0 video needs even sizes";
constexpr const char* kAspectReason =
    "fit=fit keeps the aspect ratio; fit=pad, crop or stretch gives the size asked for";
constexpr const char* kLimitReason = "sizes are limited to 16 to 8192 pixels";

int EvenDown(int side) { return side - side % 2; }

// The even number nearest to side * num / den, within the limits of a side.
int ScaledEven(std::int64_t side, std::int64_t num, std::int64_t den) {
  const std::int64_t even = 2 * Rescale(side, {num, den}, {2, 1});
  return static_cast<int>(std::clamp<std::int64_t>(even, kMinSide, kMaxSide));
}

// width : height of the picture as a fraction that cannot be zero.
Rational AspectOf(const DisplaySize& display) {
  return Rational{display.width.num * display.height.den, display.width.den * display.height.num}
      .Reduced();
}

struct Box {
  int width, height;
};

Box FromWidth(int width, Rational aspect) {
  return {width, ScaledEven(width, aspect.den, aspect.num)};
}
Box FromHeight(int height, Rational aspect) {
  return {ScaledEven(height, aspect.num, aspect.den), height};
}

// The largest box of this aspect ratio inside `outer`, whose sides are even.
Box Inside(Box outer, Rational aspect) {
  const bool limited_by_width = aspect >= Rational{outer.width, outer.height};
  return limited_by_width ? FromWidth(outer.width, aspect) : FromHeight(outer.height, aspect);
}

// The source's own size, shrunk when a side is beyond the limit.
Box FromSource(const DisplaySize& display) {
  const Rational limit{kMaxSide, 1};
  if (display.width > limit || display.height > limit) {
    return Inside({kMaxSide, kMaxSide}, AspectOf(display));
  }
  return {ScaledEven(1, display.width.num, display.width.den),
          ScaledEven(1, display.height.num, display.height.den)};
}

Box Choose(const TargetRequest& request, const DisplaySize& display) {
  const Rational aspect = AspectOf(display);
  if (request.width && request.height) {
    const Box box{EvenDown(*request.width), EvenDown(*request.height)};
    return request.fit.value_or(Fit::kFit) == Fit::kFit ? Inside(box, aspect) : box;
  }
  // One side only: the other follows, unless it would leave the limits.
  if (request.width) return Inside({EvenDown(*request.width), kMaxSide}, aspect);
  if (request.height) return Inside({kMaxSide, EvenDown(*request.height)}, aspect);
  return FromSource(display);
}

void Report(const char* parameter, std::optional<int> asked, int given, bool both_asked,
            OutputSize& size) {
  if (!asked || *asked == given) return;
  const char* reason = kLimitReason;
  if (EvenDown(*asked) == given) {
    reason = kEvenReason;
  } else if (both_asked) {
    reason = kAspectReason;
  }
  size.adjustments.push_back({parameter, std::to_string(*asked), std::to_string(given), reason});
}

// A source whose own size cannot be kept is reported too, although nobody asked for a size.
void ReportSource(const DisplaySize& display, OutputSize& size) {
  const auto report = [&size](const char* parameter, Rational shown, int given) {
    // Pixels that are not square make sides that are no whole numbers.
    if (shown > Rational{given - 1, 1} && shown < Rational{given + 1, 1}) return;
    const std::int64_t side = Rescale(1, shown, {1, 1});
    const bool rounded = side - given <= 1 && given - side <= 1;
    size.adjustments.push_back({parameter, std::to_string(side), std::to_string(given),
                                rounded ? kEvenReason : kLimitReason});
  };
  report("width", display.width, size.width);
  report("height", display.height, size.height);
}

}  // namespace

DisplaySize DisplaySizeOf(const VideoInfo& video, int rotate) {
  const Rational sar = video.sample_aspect.positive() ? video.sample_aspect : Rational{1, 1};
  DisplaySize size{Rational{video.width * sar.num, sar.den}.Reduced(), Rational{video.height, 1}};
  if ((video.rotation + rotate) % 180 != 0) std::swap(size.width, size.height);
  return size;
}

OutputSize ChooseOutputSize(const TargetRequest& request, const VideoInfo& video) {
  const DisplaySize display = DisplaySizeOf(video, request.rotate.value_or(0));
  const Box box = Choose(request, display);
  OutputSize size{box.width, box.height, {}};
  if (!request.width && !request.height) {
    ReportSource(display, size);
    return size;
  }
  const bool both = request.width && request.height;
  Report("width", request.width, box.width, both, size);
  Report("height", request.height, box.height, both, size);
  return size;
}

}  // namespace gopmill
