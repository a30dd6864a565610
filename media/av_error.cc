// SPDX-License-Identifier: Apache-2.0
#include "media/av_error.h"

extern "C" {
#include <libavutil/avutil.h>
#include <libavutil/error.h>
#include <libavutil/log.h>
#include <libavutil/mem.h>
#include <libavutil/rational.h>
}

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <string>

#include "base/contained.h"

namespace gopmill::av {
namespace {

Code CodeOf(int native) {
  switch (native) {
    case AVERROR_INVALIDDATA: return Code::kCorrupt;
    case AVERROR(ENOMEM):
    case AVERROR(ENOSPC):
    case AVERROR(EDQUOT):
    case AVERROR(EFBIG): return Code::kResourceExhausted;
    case AVERROR_EXIT: return Code::kCancelled;
    case AVERROR_DECODER_NOT_FOUND:
    case AVERROR_ENCODER_NOT_FOUND:
    case AVERROR_DEMUXER_NOT_FOUND:
    case AVERROR_MUXER_NOT_FOUND:
    case AVERROR_PATCHWELCOME: return Code::kUnsupported;
    case AVERROR(EIO):
    case AVERROR(EPIPE):
    case AVERROR(EACCES):
    case AVERROR_EOF: return Code::kIo;
    default: return Code::kInternal;
  }
}

// It is called whatever the level is set to. Nothing but av_assert0 says anything of this one.
void OnLog(void* /*object*/, int level, const char* /*format*/, va_list /*values*/) noexcept {
  if (level == AV_LOG_PANIC) AnnounceAssertion();
}

}  // namespace

Error AvError(std::string_view doing, int native) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> words{};
  av_strerror(native, words.data(), words.size());
  return Error{.code = CodeOf(native),
               .message = std::string(doing) + ": " + words.data() + ".",
               .native = native};
}

void SilenceFfmpeg() {
  av_log_set_level(AV_LOG_QUIET);
  av_log_set_callback(&OnLog);
  av_max_alloc(kMaxFfmpegBlock);
  // SVT-AV1 has a log of its own: errors only, unless somebody asks for more.
  constexpr int kKeep = 0;
  setenv("SVT_LOG", "1", kKeep);
}

std::string FfmpegVersion() { return av_version_info(); }

Rational FromAv(AVRational value) { return {value.num, value.den}; }

AVRational ToAv(Rational value) {
  return {static_cast<int>(value.num), static_cast<int>(value.den)};
}

Rational Within(Rational value, int most) {
  AVRational near{};
  av_reduce(&near.num, &near.den, value.num, value.den, most);
  if (near.num == 0) return {1, most};
  if (near.den == 0) return {most, 1};
  return FromAv(near);
}

Rational AspectFromAv(AVRational value) {
  constexpr int kMost = 0xFFFF;
  return value.num > 0 && value.den > 0 ? Within(FromAv(value), kMost) : Rational{1, 1};
}

}  // namespace gopmill::av
