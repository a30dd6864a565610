// SPDX-License-Identifier: Apache-2.0
//
// What the ingest reads: the packets of one video and the chosen audio tracks, in decode order. A
// file or pipe (media/source), or a reader of a live source (server/live/live_source).
//
// Thread-safety: thread-compatible; owned by the stream's ingest thread.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/rational.h"
#include "base/status.h"
#include "media/av_ptr.h"
#include "media/source_info.h"

namespace gopmill {

// How a packet of a live source came.
struct Arrival {
  WallTime wall = {};      // when
  bool after_gap = false;  // what was before it is missing, or its publisher's clock has jumped
  bool cut_here = false;   // streams that may cut their runs at any key picture do it at this one
  std::int64_t publisher = 0;  // who sent it: a number of each, ascending
};

// Where a reader of a live source begins, on a clock that all its readers share. Ticks of the
// video's time base.
struct LiveJoin {
  std::int64_t anchor = 0;  // a picture that the grids of all readers lie at
  std::int64_t begin = 0;   // decoding time of the first packet that this one reads
  std::int64_t packet = 0;  // its number, among the pictures of the source
};

class PacketSource {
 public:
  virtual ~PacketSource() = default;

  [[nodiscard]] virtual const std::shared_ptr<const SourceInfo>& info() const = 0;
  // The container gives no usable presentation times (raw streams, most AVI with B-frames).
  [[nodiscard]] virtual bool counted_pts() const = 0;
  // The source's own zero: start of its earliest track, of those that go with its pictures;
  // microseconds of container time. The same whichever sound is selected.
  [[nodiscard]] virtual std::int64_t start_us() const = 0;
  // It arrives as it is made: units are short and cut as soon as they can be.
  [[nodiscard]] virtual bool live() const { return false; }
  // What the packet read last is coded as: info(), or once its coding has changed, or another
  // publisher of a live source has come, another one with the same tracks of sound, in the same
  // order, and the same time bases. Of a file it changes with pictures alone.
  [[nodiscard]] virtual const std::shared_ptr<const SourceInfo>& coded() const { return info(); }
  // How the packet read last came; null where nothing is live.
  [[nodiscard]] virtual const Arrival* arrival() const { return nullptr; }
  // Null where the clock begins at zero with this reader.
  [[nodiscard]] virtual const LiveJoin* join() const { return nullptr; }

  // Moves to a key frame from which all pictures from `seconds` after the zero on can be decoded
  // whole: where they recover slowly, one or two groups before. kUnsupported on a pipe.
  virtual Status SeekBefore(Rational seconds) = 0;

  enum class ReadState { kVideo, kAudio, kText, kEnd };
  // Reads the next packet of the video or an audio track; of these, its stream_index is the number
  // of the track (SourceInfo::sound). A live source may also have cues of text, for who asked for
  // them (MakeCuePacket); their stream_index is the number of the track of text. A read error after
  // the start is the end of the source, and `truncated` tells of it.
  virtual Result<ReadState> Read(AVPacket& packet) = 0;
  // After kEnd: what the same publisher goes on with, on other tracks and with another clock; null
  // if that was all. This source must not be read any more.
  virtual Result<std::unique_ptr<PacketSource>> Successor() {
    return std::unique_ptr<PacketSource>();
  }
  [[nodiscard]] virtual bool truncated() const = 0;
  // Pictures in front of the first that can be decoded on its own, which were not handed out: of
  // the whole source, not of one that was sought in.
  [[nodiscard]] virtual std::int64_t skipped() const { return 0; }
  // Packets of the network that never came so far, as far as its protocol tells.
  [[nodiscard]] virtual std::int64_t lost() const { return 0; }
};

}  // namespace gopmill
