// SPDX-License-Identifier: Apache-2.0
#include "codec/script_burner.h"

extern "C" {
#include <libavutil/base64.h>
}

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codec/filter_chain.h"

namespace gopmill {
namespace {

constexpr const char* kFilter = "subtitles";
// Frames that are drawn unseen at most. Cues whose places hang together over more of them are rare.
constexpr std::size_t kMaxCatchUp = 128;

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

// FFmpeg before 7.1 draws in the limited range where the format does not say otherwise.
int FormatDrawnIn(const AVFrame& picture) {
  const bool full = picture.format == AV_PIX_FMT_YUV420P && picture.color_range == AVCOL_RANGE_JPEG;
  return full ? AV_PIX_FMT_YUVJ420P : picture.format;
}

class ScriptBurner final : public SubtitleBurner {
 public:
  ScriptBurner(std::shared_ptr<const SubtitleScript> script, const OutputGrid& grid,
               FilterChain chain)
      : script_(std::move(script)), grid_(grid), chain_(std::move(chain)) {}
  Result<av::Frame> Draw(const AVFrame& picture, std::int64_t n) override;

 private:
  Result<av::Frame> DrawAt(const AVFrame& picture, std::int64_t us);
  Status CatchUp(const AVFrame& picture, std::int64_t n);
  [[nodiscard]] std::vector<std::int64_t> FramesBefore(std::int64_t n) const;

  std::shared_ptr<const SubtitleScript> script_;
  OutputGrid grid_;
  FilterChain chain_;
  bool begun_ = false;
};

// The frames before n at which those cues appeared that are seen at n, and those that were seen
// when these appeared, and so on: what their places depend on.
std::vector<std::int64_t> ScriptBurner::FramesBefore(std::int64_t n) const {
  std::set<std::size_t> known;
  std::set<std::int64_t> frames;
  std::vector<std::size_t> open = script_->CuesAt(grid_.SourceMicros(n) / 1000);
  while (!open.empty() && frames.size() < kMaxCatchUp) {
    const std::size_t cue = open.back();
    open.pop_back();
    if (!known.insert(cue).second) continue;
    const std::int64_t frame = grid_.FirstFrameAt(script_->cues[cue].start_ms);
    if (frame >= n || !frames.insert(frame).second) continue;
    const std::vector<std::size_t> seen = script_->CuesAt(grid_.SourceMicros(frame) / 1000);
    open.insert(open.end(), seen.begin(), seen.end());
  }
  return {frames.begin(), frames.end()};
}

Status ScriptBurner::CatchUp(const AVFrame& picture, std::int64_t n) {
  for (const std::int64_t frame : FramesBefore(n)) {
    GOPMILL_RETURN_IF_ERROR(DrawAt(picture, grid_.SourceMicros(frame)));
  }
  return OkStatus();
}

Result<av::Frame> ScriptBurner::DrawAt(const AVFrame& picture, std::int64_t us) {
  const av::Frame in = av::Ref(picture);
  // The filter takes whole milliseconds, rounded down behind an arithmetic that is not exact.
  in->pts = us - us % 1000 + 500;
  in->format = FormatDrawnIn(picture);
  GOPMILL_RETURN_IF_ERROR(chain_.Feed(in.get()));
  av::Frame out = av::NewFrame();
  GOPMILL_ASSIGN_OR_RETURN(const bool got, chain_.Take(*out));
  if (!got || out->format != in->format || out->width != picture.width) {
    return InternalError("Subtitles cannot be drawn in this pixel format.");
  }
  out->format = picture.format;
  av_frame_copy_props(out.get(), &picture);
  return out;
}

Result<av::Frame> ScriptBurner::Draw(const AVFrame& picture, std::int64_t n) {
  if (!std::exchange(begun_, true)) GOPMILL_RETURN_IF_ERROR(CatchUp(picture, n));
  return DrawAt(picture, grid_.SourceMicros(n));
}

}  // namespace

Result<std::unique_ptr<SubtitleBurner>> OpenScriptBurner(
    std::shared_ptr<const SubtitleScript> script, const OutputGrid& grid, const AVFrame& picture) {
  if (avfilter_get_by_name(kFilter) == nullptr) {
    return Error{.code = Code::kUnsupported,
                 .message = "FFmpeg here has no filter that draws subtitles (libass).",
                 .parameter = "burn",
                 .accepted = "off"};
  }
  GOPMILL_ASSIGN_OR_RETURN(FilterChain chain,
                           FilterChain::Begin({.width = picture.width,
                                               .height = picture.height,
                                               .format = FormatDrawnIn(picture),
                                               .color_space = picture.colorspace,
                                               .color_range = picture.color_range,
                                               .time_base = kMicros}));
  const std::array<FilterChain::Option, 1> options{{{"filename", DataUrl(script->text)}}};
  GOPMILL_RETURN_IF_ERROR(chain.AppendWith(kFilter, options));
  GOPMILL_RETURN_IF_ERROR(chain.Finish());
  return std::unique_ptr<SubtitleBurner>(
      std::make_unique<ScriptBurner>(std::move(script), grid, std::move(chain)));
}

}  // namespace gopmill
