// SPDX-License-Identifier: Apache-2.0
#include "server/offline/verify.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>
#include <span>

#include "codec/audio_decoder.h"
#include "codec/encoder_info.h"
#include "codec/vbv.h"
#include "codec/video_decoder.h"
#include "media/source.h"

namespace gopmill {
namespace {

// Of single frames and samples; what is found at the end always has room.
constexpr std::size_t kMaxFindings = 20;
// Containers round to their tick; Matroska's is 1 ms.
constexpr double kTickSeconds = 0.0015;

class Findings {
 public:
  void Check(bool right, std::string finding) {
    if (!right && list_.size() < kMaxFindings) list_.push_back(std::move(finding));
  }
  void CheckAtEnd(bool right, std::string finding) {
    if (!right) list_.push_back(std::move(finding));
  }
  std::vector<std::string> Take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
};

// MPEG-TS puts an access unit delimiter in front of each picture. It is no part of what the buffer
// is declared for (ITU-T H.264 annex C: VCL units and filler).
std::int64_t DelimiterBytes(const AVPacket& packet, AVCodecID codec) {
  const std::span<const std::uint8_t> data(packet.data, static_cast<std::size_t>(packet.size));
  if (data.size() < 7 || data[0] != 0 || data[1] != 0 || data[2] != 0 || data[3] != 1) return 0;
  if (codec == AV_CODEC_ID_H264 && (data[4] & 0x1f) == 9) return 6;
  if (codec == AV_CODEC_ID_HEVC && (data[4] >> 1 & 0x3f) == 35) return 7;
  return 0;
}

class PictureVerifier {
 public:
  static Result<std::unique_ptr<PictureVerifier>> Open(const VideoInfo& video,
                                                       const VerifyTerms& terms,
                                                       Findings& findings) {
    GOPMILL_ASSIGN_OR_RETURN(auto decoder, VideoDecoder::Open(*video.parameters, video.time_base));
    return std::unique_ptr<PictureVerifier>(
        new PictureVerifier(video, terms, findings, std::move(decoder)));
  }

  // nullptr = the end.
  Status Push(const AVPacket* packet) {
    if (packet != nullptr) Inspect(*packet);
    GOPMILL_RETURN_IF_ERROR(decoder_->Send(packet));
    av::Frame frame = av::NewFrame();
    while (true) {
      GOPMILL_ASSIGN_OR_RETURN(const bool got, decoder_->Receive(*frame));
      if (!got) return OkStatus();
      OnFrame(*frame);
      patched_ += HasMadeUpParts(*frame) ? 1 : 0;
      av::Unref(*frame);
    }
  }

  void End() {
    findings_.CheckAtEnd(
        frames_ == terms_.frames,
        fmt::format("{} frames instead of the {} planned", frames_, terms_.frames));
    findings_.CheckAtEnd(decoder_->damaged() == 0,
                         fmt::format("{} coded pictures are damaged", decoder_->damaged()));
    findings_.CheckAtEnd(patched_ == 0, fmt::format("{} pictures are damaged in parts", patched_));
  }

 private:
  PictureVerifier(const VideoInfo& video, const VerifyTerms& terms, Findings& findings,
                  std::unique_ptr<VideoDecoder> decoder)
      : terms_(terms),
        findings_(findings),
        codec_(video.parameters->codec_id),
        tick_(video.time_base.ToDouble()),
        decoder_(std::move(decoder)) {
    if (terms.maxrate > 0) vbv_.emplace(terms.maxrate, terms.bufsize, terms.fps);
  }

  void Inspect(const AVPacket& packet) {
    if (vbv_) {
      findings_.Check(vbv_->Add(packet.size - DelimiterBytes(packet, codec_)),
                      fmt::format("coded picture {} is not in the buffer of maxrate and bufsize "
                                  "in time",
                                  packets_));
    }
    if ((packet.flags & AV_PKT_FLAG_KEY) != 0) {
      const std::uint64_t sets = InBandParameterSetHash(packet, codec_);
      if (!sets_) sets_ = sets;
      findings_.Check(*sets_ == sets,
                      fmt::format("coded picture {} has other parameter sets", packets_));
    }
    ++packets_;
  }

  void OnFrame(const AVFrame& frame) {
    const double time = static_cast<double>(frame.pts) * tick_;
    if (frames_ == 0) first_ = time;
    const double expected = first_ + static_cast<double>(frames_) / terms_.fps.ToDouble();
    findings_.Check(
        std::abs(time - expected) <= kTickSeconds,
        fmt::format("frame {} is shown at {:.4f} s instead of {:.4f} s", frames_, time, expected));
    // One gap is one finding.
    if (std::abs(time - expected) > kTickSeconds) first_ += time - expected;
    ++frames_;
  }

  const VerifyTerms& terms_;
  Findings& findings_;
  const AVCodecID codec_;
  const double tick_;
  const std::unique_ptr<VideoDecoder> decoder_;
  std::optional<VbvLedger> vbv_;
  std::optional<std::uint64_t> sets_;
  std::int64_t packets_ = 0, frames_ = 0, patched_ = 0;
  double first_ = 0;
};

class SoundVerifier {
 public:
  static Result<std::unique_ptr<SoundVerifier>> Open(const AudioInfo& audio,
                                                     const VerifyTerms& terms, Findings& findings) {
    std::unique_ptr<SoundVerifier> made(new SoundVerifier(findings, terms.audio_copied));
    made->tick_ = audio.time_base.ToDouble();
    auto decoder = AudioDecoder::Open(*audio.parameters, audio.time_base);
    // Copied sound may be of a kind that no decoder here takes.
    if (!decoder.ok() && !terms.audio_copied) return decoder.error();
    if (decoder.ok()) made->decoder_ = std::move(decoder).value();
    return made;
  }

  // nullptr = the end.
  void Push(const AVPacket* packet) {
    if (packet != nullptr) ++packets_;
    if (!decoder_) return;
    static_cast<void>(decoder_->Send(packet));
    while (decoder_->Receive(*frame_)) {
      if (!copied_) OnFrame(*frame_);
      av::Unref(*frame_);
    }
  }

  [[nodiscard]] std::int64_t packets() const { return packets_; }
  void End() {
    const std::int64_t damaged = decoder_ ? decoder_->damaged() : 0;
    // Copied sound may have damage, gaps and times of its source.
    const std::int64_t allowed = copied_ ? packets_ / 2 : 0;
    findings_.CheckAtEnd(damaged <= allowed,
                         fmt::format("{} packets of sound are damaged", damaged));
  }

 private:
  SoundVerifier(Findings& findings, bool copied) : findings_(findings), copied_(copied) {}

  // The count of samples is the clock that the file's times are held against.
  void OnFrame(const AVFrame& frame) {
    const double time = static_cast<double>(frame.pts) * tick_;
    if (samples_ == 0) first_ = time;
    const double expected =
        first_ + static_cast<double>(samples_) / static_cast<double>(frame.sample_rate);
    findings_.Check(std::abs(time - expected) <= kTickSeconds,
                    fmt::format("sample {} is heard at {:.4f} s instead of {:.4f} s", samples_,
                                time, expected));
    // One gap is one finding.
    if (std::abs(time - expected) > kTickSeconds) first_ += time - expected;
    samples_ += frame.nb_samples;
  }

  Findings& findings_;
  const bool copied_;
  double tick_ = 0, first_ = 0;
  std::unique_ptr<AudioDecoder> decoder_;  // none: only counted
  av::Frame frame_ = av::NewFrame();
  std::int64_t packets_ = 0, samples_ = 0;
};

}  // namespace

Result<std::vector<std::string>> VerifyFile(const std::string& path, const VerifyTerms& terms,
                                            std::stop_token stop) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  GOPMILL_ASSIGN_OR_RETURN(auto source,
                           Source::Open(std::move(fd), std::move(stop), {.audio = {.all = true}}));
  Findings findings;
  GOPMILL_ASSIGN_OR_RETURN(const auto pictures,
                           PictureVerifier::Open(source->info()->video, terms, findings));
  std::vector<std::unique_ptr<SoundVerifier>> sounds;
  for (std::size_t i = 0; i < source->info()->sounds(); ++i) {
    GOPMILL_ASSIGN_OR_RETURN(sounds.emplace_back(),
                             SoundVerifier::Open(source->info()->sound(i), terms, findings));
  }
  while (true) {
    av::Packet packet = av::NewPacket();
    GOPMILL_ASSIGN_OR_RETURN(const auto state, source->Read(*packet));
    if (state == Source::ReadState::kEnd) break;
    if (state == Source::ReadState::kAudio) {
      sounds[static_cast<std::size_t>(packet->stream_index)]->Push(packet.get());
    } else {
      GOPMILL_RETURN_IF_ERROR(pictures->Push(packet.get()));
    }
  }
  for (const auto& sound : sounds) sound->Push(nullptr);
  GOPMILL_RETURN_IF_ERROR(pictures->Push(nullptr));
  pictures->End();
  std::int64_t packets = 0;
  for (const auto& sound : sounds) {
    sound->End();
    packets += sound->packets();
  }
  findings.CheckAtEnd(
      packets == terms.audio_packets,
      fmt::format("{} packets of sound instead of the {} sent", packets, terms.audio_packets));
  findings.CheckAtEnd(!source->truncated(), "the file is truncated");
  return findings.Take();
}

}  // namespace gopmill
