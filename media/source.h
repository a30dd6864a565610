// SPDX-License-Identifier: Apache-2.0
//
// One opened source: a file or pipe read through our own I/O, demuxed and probed. FFmpeg never
// opens anything by name: it gets an already opened descriptor, an allow-list of containers and
// codecs and no protocols, so that a playlist or a reference inside a file leads nowhere.
//
// Thread-safety: thread-compatible; owned by the stream's ingest thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "media/av_ptr.h"
#include "media/closed_jumps.h"
#include "media/packet_source.h"
#include "media/source_info.h"
#include "media/target.h"

namespace gopmill {

// Limits on what a source may be; beyond them it is refused with a message that names the limit.
inline constexpr int kMaxSourceSide = 16384;  // pixels
inline constexpr std::int64_t kMaxSourcePixels = 8192LL * 8192;
inline constexpr unsigned kMaxSourceStreams = 256;
// Tracks of text of a live source; more are not read.
inline constexpr std::size_t kMaxLiveTexts = 16;
inline constexpr std::int64_t kProbeBytes = 5'000'000;

struct SourceOptions {
  // Read the tracks of text on the way: those of a live source, kMaxLiveTexts at most, as packets
  // (kText), others to be taken at the end.
  std::optional<TextUse> texts = {};
  int text_track = 0;      // only this one of them, from 1; 0 = all
  AudioTracks audio = {};  // which sound tracks are read
  bool live = false;       // of a publisher, who may come back (SoundReading)
  bool rate = true;        // where the container's is doubted, look for that of the pictures
  // How long the bytes of a pipe are waited for until it is open (FdIo::LimitOpening). None: as
  // long as it takes.
  std::optional<Duration> opening_waits = {};
  bool codings = true;  // follow them (coded()); not those of a live source
};

// Opens the file of a source; may block.
using SourceOpener = std::function<Result<UniqueFd>()>;

class Source : public PacketSource {
 public:
  // Takes the descriptor. Fails with kUnsupported (not a media file we read, no video track, codec
  // not on the list), kCorrupt, kIo (of the file nothing is known: reading it failed), or
  // kCancelled when `stop` was asked for, or kDeadlineExceeded (opening_waits).
  static Result<std::unique_ptr<Source>> Open(UniqueFd fd, std::stop_token stop,
                                              const SourceOptions& options = {});
  ~Source() override;
  // A live transport stream that goes on with other tracks ends there.
  Result<std::unique_ptr<PacketSource>> Successor() override;

  [[nodiscard]] const std::shared_ptr<const SourceInfo>& info() const override;
  // Of the picture read last. Not known after a seek in FLV: as it is described, or was before.
  [[nodiscard]] const std::shared_ptr<const SourceInfo>& coded() const override;
  [[nodiscard]] bool counted_pts() const override;
  [[nodiscard]] std::int64_t start_us() const override;
  Status SeekBefore(Rational seconds) override;
  Result<ReadState> Read(AVPacket& packet) override;
  [[nodiscard]] bool truncated() const override;
  [[nodiscard]] std::int64_t skipped() const override;
  // truncated(), but not where all that is there was read and only its container says there was
  // more.
  [[nodiscard]] bool damaged() const;
  // A read of the descriptor failed: the disk or the network, not the file, and the next may not.
  [[nodiscard]] bool read_failed() const;
  // Of what has been read so far, once. A track that FFmpeg cannot read has no cues. Their times
  // are those of the pictures with jumps closed.
  std::vector<SubtitleTrack> TakeSubtitles();
  // These, where texts are read.
  [[nodiscard]] ClosedJumps jumps() const;

 private:
  struct Impl;
  explicit Source(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gopmill
