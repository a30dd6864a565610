// SPDX-License-Identifier: Apache-2.0
//
// FFmpeg I/O over a descriptor that is already open. Reads give up when `stop` is asked for, and
// end where a transport stream that is to be cut goes on with other tracks (ProgramCutter).
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "media/av_ptr.h"
#include "media/box_claims.h"
#include "media/program_cutter.h"

namespace gopmill {

// What may be read of a source that cannot be sought in until its header is known: demuxers keep
// all that they find in it, attachments above all, until they are closed.
inline constexpr std::int64_t kMaxSourceHeaderBytes = std::int64_t{256} << 20U;

// Who sends a source this fast or faster, bytes a second, is given time to bring all of its header.
inline constexpr std::int64_t kSlowestOpening = std::int64_t{64} << 10U;

class FdIo {
 public:
  // Borrows fd. `cutter`: null = the bytes are not looked at. Of what is in it first.
  FdIo(int fd, std::stop_token stop, std::unique_ptr<ProgramCutter> cutter = nullptr);
  ~FdIo();
  FdIo(const FdIo&) = delete;
  FdIo& operator=(const FdIo&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] AVIOContext* context() { return context_; }
  [[nodiscard]] bool seekable() const { return seekable_; }
  [[nodiscard]] std::int64_t size() const { return size_; }  // bytes, 0 = unknown
  [[nodiscard]] bool failed() const { return failed_; }      // a read ended with an error
  // There is no more, and FFmpeg has looked at all there was.
  [[nodiscard]] bool all_read() const { return ended_ && context_->eof_reached != 0; }

  // Why a source that cannot be sought in is not read on: it is not that reading failed.
  enum class Refusal : std::uint8_t {
    kNone,
    kListsTooMuch,
    kStrayIndex,
    kCompressedHeader,
    kLongHeader,
    kTooSlow
  };
  [[nodiscard]] Refusal refusal() const { return refusal_; }
  // From now on what it reads is an MP4 whose packets are counted (BoxClaims): `seen` was read
  // already, from the first byte on.
  void CountPackets(std::span<const std::uint8_t> seen);
  // Its header has been read: kMaxSourceHeaderBytes no longer holds.
  void HeaderRead() { header_read_ = true; }
  // Of one that cannot be sought in: until Opened, bytes are waited for so long at most, and a
  // second for each kSlowestOpening that came.
  void LimitOpening(Duration waits) { opening_waits_ = waits; }
  // All that is read before its packets are asked for has been.
  void Opened();

  // ProgramCutter::Follow, where there is one.
  void Follow(std::vector<int> pids);
  // The cutter, if reading ended where other tracks begin; it has gone on to them. Else null.
  std::unique_ptr<ProgramCutter> TakeRest();

 private:
  static int OnRead(void* self, std::uint8_t* buffer, int size) noexcept;
  int ReadCut(std::span<std::uint8_t> buffer);
  [[nodiscard]] bool TooSlow() const;
  int ReadSome(std::span<std::uint8_t> buffer);
  void Count(std::span<const std::uint8_t> bytes);
  bool Passes(std::span<const std::uint8_t> bytes);
  static std::int64_t OnSeek(void* self, std::int64_t offset, int whence) noexcept;

  const int fd_;
  const std::stop_token stop_;
  std::unique_ptr<ProgramCutter> cutter_;
  bool seekable_ = false;
  bool failed_ = false, ended_ = false;
  std::int64_t size_ = 0;
  bool header_read_ = false;
  std::int64_t read_bytes_ = 0;            // of what cannot be sought in
  std::optional<Duration> opening_waits_;  // none: as long as it takes
  Duration waited_{};                      // for bytes
  std::optional<BoxClaims> claims_;
  Refusal refusal_ = Refusal::kNone;
  AVIOContext* context_ = nullptr;  // freed with its buffer, which FFmpeg may have replaced
};

}  // namespace gopmill
