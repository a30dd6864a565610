// SPDX-License-Identifier: Apache-2.0
//
// The byte sink under a muxer: either a callback (streamed, never seeks) or a file (seeks).
//
// Guarantee: after the first failure nothing more is handed on, and that first failure is what
// `error()` reports, word for word as the callback gave it.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"
#include "media/av_compat.h"

namespace gopmill {

class MuxSink {
 public:
  using Output = std::function<Status(std::span<const std::uint8_t>)>;

  static Result<std::unique_ptr<MuxSink>> ToCallback(Output output);
  // Creates or truncates the file. The name is taken literally, whatever characters it holds.
  static Result<std::unique_ptr<MuxSink>> ToFile(const std::string& path);
  ~MuxSink();

  [[nodiscard]] AVIOContext* context() const { return context_; }
  // What FFmpeg calls the file; the MP4 muxer opens it again to move the moov to the front.
  [[nodiscard]] const std::string& url() const { return url_; }
  // Hands on what is buffered.
  void Flush();
  // Flushes and closes; a file's last bytes may fail here.
  Status Close();
  // The callback's first failure, if it failed.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  // Bytes handed to the callback, or the size of the file.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  MuxSink() = default;
  static int OnWrite(void* self, av::AvioWriteByte* data, int size) noexcept;

  Output output_;
  std::string url_;  // empty for a callback
  AVIOContext* context_ = nullptr;
  std::optional<Error> error_;
  std::int64_t bytes_ = 0;
};

// The failure of a libavformat write: a full disk is named as such.
Error MuxError(std::string_view doing, int native);

}  // namespace gopmill
