// SPDX-License-Identifier: Apache-2.0
//
// The decoded pictures of one live source, for all streams that show it, whatever their sizes,
// frame rates and GOPs: who is the first to need a picture decodes it, the others find it here.
//
// Taken part in GOP by GOP of the source, from one closed key picture to the next; where GOPs are
// open, or filters look over their borders, run by run, from one cut that all streams make
// (UnitSpec::cut_by_all) to the next, which are GOPs here as well. A GOP has one decoder, which
// moves from worker to worker: who needs a picture while another worker decodes waits for that one
// picture. A GOP is shared once several streams have met at one lately; who is alone decodes for
// itself, and nothing is kept. Where GOPs are single pictures (MJPEG) their decoder goes from one
// to the next, and so many more are remembered.
//
// Guarantee: a tap gives the pictures that a decoder of its own would give for the packets that it
// has been fed, in that order, with the times of its own packets; never one that a decoder could
// not have had yet, even if another stream is ahead.
//
// Bounded: beyond kSharedPictureBytes the oldest pictures go. Who still needed one is lost, decodes
// that run again for itself, and is let in again at the next GOP; after kMostLost in a row only
// when it has come by kPausedGops.
//
// Thread-safety: store and seat are safe; a tap belongs to the worker that has its run.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/status.h"
#include "base/thread_safety.h"
#include "codec/video_decoder.h"
#include "media/av_ptr.h"
#include "media/plan.h"
#include "media/source_info.h"

namespace gopmill {

// Of one source. So many stay whatever their size.
inline constexpr std::size_t kSharedPictureBytes = std::size_t{64} << 20U;
inline constexpr std::size_t kFewestShared = 8;
// Of the coded key pictures that GOPs are known by; at least so many GOPs stay whatever their size.
inline constexpr std::size_t kKnownKeyBytes = std::size_t{16} << 20U;
inline constexpr std::size_t kFewestKnown = 4;
inline constexpr int kMostLost = 3, kPausedGops = 30;

class PictureSeat;

// What a stream says of a key picture that it comes by.
struct KeyMet {
  // Where a run begins as it does for all: no picture before that time is needed, on its clock.
  std::optional<SourceTicks> needed = {};
  bool alone = false;  // the next picture is likely to be a key picture too
};

class PictureStore {
 public:
  explicit PictureStore(std::size_t limit_bytes = kSharedPictureBytes) : limit_(limit_bytes) {}
  // Of the pictures that are kept.
  [[nodiscard]] std::size_t bytes() const;
  // Of the key pictures that GOPs are known by.
  [[nodiscard]] std::size_t key_bytes() const;

 private:
  friend class PictureSeat;
  friend class PictureTap;
  struct Picture {
    std::shared_ptr<const av::Frame> frame = {};
    std::int64_t after = 0;   // packets that a decoder has had when it puts it out
    std::int64_t packet = 0;  // the one that it comes from
    SourceTicks off = 0;      // its time against that packet's
    std::int64_t by = 0;      // number of the tap whose turn it was
    std::size_t bytes = 0;
  };
  struct Gop {
    std::shared_ptr<const AVCodecParameters> coding;
    Rational time_base;
    int x264_build = -1;                     // VideoInfo
    av::Packet key;                          // held: no other packet can get its address
    std::optional<SourceTicks> needed = {};  // KeyMet
    std::int64_t weight = 0;                 // pictures that it counts for
    bool shared = false;
    std::set<const PictureSeat*> visitors;
    std::deque<av::Packet> packets;   // with the times of the stream that came first
    std::int64_t packets_gone = 0;    // in front of these
    std::int64_t sent = 0;            // to the decoder
    std::optional<std::int64_t> end;  // number of packets, once that is known
    std::deque<Picture> pictures;
    std::int64_t pictures_gone = 0;
    bool busy = false;  // somebody uses the decoder
    bool drained = false, forgotten = false;
    std::optional<Error> failed;
    std::unique_ptr<VideoDecoder> decoder;  // of the thread that has set busy
    std::int64_t damaged = 0;               // likewise

    [[nodiscard]] const av::Packet& PacketAt(std::int64_t number) const {
      return packets[static_cast<std::size_t>(number - packets_gone)];
    }
    [[nodiscard]] std::int64_t packet_count() const {
      return packets_gone + static_cast<std::int64_t>(packets.size());
    }
    [[nodiscard]] std::int64_t picture_count() const {
      return pictures_gone + static_cast<std::int64_t>(pictures.size());
    }
  };
  // Of single pictures, flushed.
  struct Spare {
    std::shared_ptr<const AVCodecParameters> coding;
    std::unique_ptr<VideoDecoder> decoder;
  };
  using Frames = std::vector<av::Frame>;
  std::shared_ptr<Gop> Find(const VideoInfo& video, const AVPacket& key, const KeyMet& met)
      GOPMILL_REQUIRES(mutex_);
  static bool Put(Gop& gop, std::int64_t number, const AVPacket& packet, SourceTicks shift);
  static Result<Frames> Decode(Gop& gop, const AVPacket* packet);
  static std::int64_t PacketOf(const Gop& gop, SourceTicks pts);
  void Keep(Gop& gop, Frames frames, bool drained, std::int64_t by) GOPMILL_REQUIRES(mutex_);
  [[nodiscard]] bool KnowsTooMany() const GOPMILL_REQUIRES(mutex_);
  void LendDecoder(Gop& gop) GOPMILL_REQUIRES(mutex_);
  void TakeBackDecoder(Gop& gop) GOPMILL_REQUIRES(mutex_);
  void DropOldest(Gop& gop) GOPMILL_REQUIRES(mutex_);
  void Forget(Gop& gop) GOPMILL_REQUIRES(mutex_);

  const std::size_t limit_;
  mutable Mutex mutex_;  // guards all below and what the GOPs say; not held while decoding
  CondVar decoded_;
  std::deque<std::shared_ptr<Gop>> gops_ GOPMILL_GUARDED_BY(mutex_);
  std::int64_t known_weight_ GOPMILL_GUARDED_BY(mutex_) = 0;    // of these
  std::size_t known_bytes_ GOPMILL_GUARDED_BY(mutex_) = 0;      // of their keys
  std::int64_t begun_ GOPMILL_GUARDED_BY(mutex_) = 0;           // weights of GOPs
  std::optional<std::int64_t> met_ GOPMILL_GUARDED_BY(mutex_);  // begun_ when several last met
  std::vector<Spare> spares_ GOPMILL_GUARDED_BY(mutex_);
  int seats_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::int64_t taps_ GOPMILL_GUARDED_BY(mutex_) = 0;     // that there were
  std::size_t pictures_ GOPMILL_GUARDED_BY(mutex_) = 0;  // that are kept
  std::size_t bytes_ GOPMILL_GUARDED_BY(mutex_) = 0;     // of these
};

struct TapCounts {
  std::int64_t decoded = 0;  // pictures that came out of the decoder in its hands
  std::int64_t taken = 0;    // pictures that another one had decoded
  std::int64_t damaged = 0;  // packets that the decoder rejected in its hands
};

// What one run takes of one GOP.
class PictureTap {
 public:
  PictureTap(const PictureTap&) = delete;
  PictureTap& operator=(const PictureTap&) = delete;

  // The next packet in decode order, from the key picture on.
  void Feed(const AVPacket& packet);
  // The GOP ends here.
  void Close();
  // The next picture in display order; false = feed more, or over(). kUnavailable once lost.
  Result<bool> Next(AVFrame& frame);
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] bool lost() const { return lost_; }
  [[nodiscard]] const TapCounts& counts() const { return counts_; }

 private:
  friend class PictureSeat;
  using Gop = PictureStore::Gop;
  enum class Turn { kGoOn, kWait, kDecode };
  PictureTap(std::shared_ptr<PictureSeat> seat, std::shared_ptr<PictureStore> store,
             std::shared_ptr<Gop> gop, SourceTicks shift, std::int64_t number);
  void Lose();
  Status Fill();
  Turn Look() GOPMILL_REQUIRES(store_->mutex_);
  // Null at the end.
  av::Packet TakeTurn() GOPMILL_REQUIRES(store_->mutex_);
  void DecodeOne(const AVPacket* packet);

  const std::shared_ptr<PictureSeat> seat_;
  const std::shared_ptr<PictureStore> store_;
  const std::shared_ptr<Gop> gop_;
  const std::int64_t number_;      // among all taps of the store
  const SourceTicks shift_;        // from its clock to that of the GOP's packets
  std::deque<SourceTicks> times_;  // of its own packets, from number times_gone_ on
  std::int64_t times_gone_ = 0;
  std::int64_t fed_ = 0;   // packets
  std::int64_t next_ = 0;  // picture
  std::deque<PictureStore::Picture> in_hand_;
  bool closed_ = false, over_ = false, lost_ = false;
  TapCounts counts_;
};

// A stream's place at the store. To be made with make_shared.
class PictureSeat : public std::enable_shared_from_this<PictureSeat> {
 public:
  explicit PictureSeat(std::shared_ptr<PictureStore> store);
  ~PictureSeat();
  PictureSeat(const PictureSeat&) = delete;
  PictureSeat& operator=(const PictureSeat&) = delete;

  // At each closed key picture that a run comes by, or where a run begins as it does for all: a tap
  // of the GOP that begins there, or null where the run decodes it for itself.
  std::unique_ptr<PictureTap> Visit(const VideoInfo& video, const AVPacket& key,
                                    const KeyMet& met = {});

 private:
  friend class PictureTap;
  bool Pauses() GOPMILL_REQUIRES(store_->mutex_);

  const std::shared_ptr<PictureStore> store_;
  std::atomic<int> lost_ = 0;                          // in a row
  int paused_ GOPMILL_GUARDED_BY(store_->mutex_) = 0;  // GOPs come by since that was too often
};

}  // namespace gopmill
