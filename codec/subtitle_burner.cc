// SPDX-License-Identifier: Apache-2.0
#include "codec/subtitle_burner.h"

extern "C" {
#include <libavutil/base64.h>
#include <libavutil/imgutils.h>
}

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace gopmill {
namespace {

constexpr const char* kFilter = "subtitles";
// What libass keeps of shapes and bitmaps, and fontconfig of fonts, for common scripts.
constexpr std::size_t kLibassBytes = std::size_t{6} << 20U;

// The filter opens a file; this one is its own name.
std::string DataUrl(const std::string& text) {
  std::string base64(AV_BASE64_SIZE(text.size()), '\0');
  const char* made = av_base64_encode(base64.data(), static_cast<int>(base64.size()),
                                      reinterpret_cast<const std::uint8_t*>(text.data()),
                                      static_cast<int>(text.size()));
  GOPMILL_CHECK(made != nullptr);
  base64.pop_back();  // the NUL
  return "data:text/plain;base64," + base64;
}

}  // namespace

BurnSpec MakeBurnSpec(std::shared_ptr<const SubtitleScript> script, const AVFrame& picture) {
  return {.script = std::move(script),
          .width = picture.width,
          .height = picture.height,
          .format = picture.format,
          .color_space = picture.colorspace,
          .color_range = picture.color_range};
}

Result<std::unique_ptr<SubtitleBurner>> SubtitleBurner::Open(const BurnSpec& spec) {
  if (avfilter_get_by_name(kFilter) == nullptr) {
    return Error{.code = Code::kUnsupported,
                 .message = "FFmpeg here has no filter that draws subtitles (libass).",
                 .parameter = "burn",
                 .accepted = "off"};
  }
  GOPMILL_ASSIGN_OR_RETURN(FilterChain chain, FilterChain::Begin({.width = spec.width,
                                                                  .height = spec.height,
                                                                  .format = spec.format,
                                                                  .color_space = spec.color_space,
                                                                  .color_range = spec.color_range,
                                                                  .time_base = kMicros}));
  const std::array<FilterChain::Option, 1> options{{{"filename", DataUrl(spec.script->text)}}};
  GOPMILL_RETURN_IF_ERROR(chain.AppendWith(kFilter, options));
  GOPMILL_RETURN_IF_ERROR(chain.Finish());
  return std::unique_ptr<SubtitleBurner>(new SubtitleBurner(spec, std::move(chain)));
}

Result<av::Frame> SubtitleBurner::Draw(const AVFrame& picture, std::int64_t us) {
  const av::Frame in = av::Ref(picture);
  // The filter takes whole milliseconds, rounded down behind an arithmetic that is not exact.
  in->pts = us - us % 1000 + 500;
  GOPMILL_RETURN_IF_ERROR(chain_.Feed(in.get()));
  av::Frame out = av::NewFrame();
  GOPMILL_ASSIGN_OR_RETURN(const bool got, chain_.Take(*out));
  if (!got || out->format != spec_.format || out->width != spec_.width) {
    return InternalError("Subtitles cannot be drawn in this pixel format.");
  }
  av_frame_copy_props(out.get(), &picture);
  return out;
}

std::size_t SubtitleBurner::footprint_bytes() const {
  const int picture = av_image_get_buffer_size(static_cast<AVPixelFormat>(spec_.format),
                                               spec_.width, spec_.height, 64);
  // The script as the filter's option, as packets and as libass has it.
  return kLibassBytes + 4 * spec_.script->text.size() +
         2 * static_cast<std::size_t>(std::max(picture, 0));
}

}  // namespace gopmill
