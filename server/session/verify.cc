// SPDX-License-Identifier: Apache-2.0
#include "server/session/verify.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cmath>

#include "codec/video_decoder.h"
#include "media/source.h"

namespace gopmill {
namespace {

constexpr std::size_t kMaxFindings = 20;

class Verifier {
 public:
  Verifier(const Source& source, Rational fps) : source_(source), fps_(fps) {}

  Status Decode(VideoDecoder& decoder, const AVPacket* packet) {
    GOPMILL_RETURN_IF_ERROR(decoder.Send(packet));
    av::Frame frame = av::NewFrame();
    while (true) {
      GOPMILL_ASSIGN_OR_RETURN(const bool got, decoder.Receive(*frame));
      if (!got) return OkStatus();
      OnFrame(*frame);
      av_frame_unref(frame.get());
    }
  }

  void Check(bool right, std::string finding) {
    if (!right && findings_.size() < kMaxFindings) findings_.push_back(std::move(finding));
  }

  [[nodiscard]] std::int64_t frames() const { return frames_; }
  std::vector<std::string> TakeFindings() { return std::move(findings_); }

 private:
  void OnFrame(const AVFrame& frame) {
    const double time = static_cast<double>(frame.pts) * source_.info()->video.time_base.ToDouble();
    if (frames_ == 0) first_ = time;
    const double expected = first_ + static_cast<double>(frames_) / fps_.ToDouble();
    // Containers round to their tick; Matroska's is 1 ms.
    Check(
        std::abs(time - expected) <= 0.0015,
        fmt::format("frame {} is shown at {:.4f} s instead of {:.4f} s", frames_, time, expected));
    ++frames_;
  }

  const Source& source_;
  const Rational fps_;
  std::int64_t frames_ = 0;
  double first_ = 0;
  std::vector<std::string> findings_;
};

}  // namespace

Result<std::vector<std::string>> VerifyFile(const std::string& path, std::int64_t frames,
                                            Rational fps, std::stop_token stop) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  GOPMILL_ASSIGN_OR_RETURN(auto source, Source::Open(std::move(fd), std::move(stop)));
  const VideoInfo& video = source->info()->video;
  GOPMILL_ASSIGN_OR_RETURN(auto decoder, VideoDecoder::Open(*video.parameters, video.time_base));
  Verifier verifier(*source, fps);
  while (true) {
    av::Packet packet = av::NewPacket();
    GOPMILL_ASSIGN_OR_RETURN(const auto state, source->Read(*packet));
    if (state == Source::ReadState::kAudio) continue;
    const bool end = state == Source::ReadState::kEnd;
    GOPMILL_RETURN_IF_ERROR(verifier.Decode(*decoder, end ? nullptr : packet.get()));
    if (end) break;
  }
  verifier.Check(verifier.frames() == frames,
                 fmt::format("{} frames instead of the {} planned", verifier.frames(), frames));
  verifier.Check(decoder->damaged() == 0,
                 fmt::format("{} coded pictures are damaged", decoder->damaged()));
  verifier.Check(!source->truncated(), "the file is truncated");
  return verifier.TakeFindings();
}

}  // namespace gopmill
