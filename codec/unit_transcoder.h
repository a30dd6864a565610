// SPDX-License-Identifier: Apache-2.0
//
// The heart: one unit in, its coded packets out, on the calling thread. decode -> deinterlace ->
// select by the grid -> scale -> encode. Touches nothing shared, but for AV1 (av1_gate.h).
//
// Chained units. Within a run the decoder is handed on. A unit that has a successor decodes ahead
// of its encoder (up to `decode_ahead_bytes` of scaled frames) and hands its run on as soon as its
// last frame is decoded, so that the next unit can start on another worker while this one still
// encodes. The bytes are the same whether or not anybody waits.
//
// Pieces. A unit that is a piece of a GOP (UnitSpec::gop_offset) goes on with the encoder of the
// one before, and hands it on with the run. What the encoder holds back leaves with a later piece,
// so the packets of a piece are not those of its frames; those of all pieces together are.
//
// Guarantees: exactly one packet for each frame of a GOP, pts = output frame numbers, dts ascending
// with the encoder's constant reorder delay, the first packet a key frame. Stops within one frame
// when its `stop` is asked for.
//
// Thread-safety: thread-compatible; all state is in the arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "codec/context_cache.h"
#include "codec/frame_selector.h"
#include "codec/picture_damage.h"
#include "codec/vbv.h"
#include "codec/video_encoder.h"
#include "media/ingest.h"
#include "media/plan.h"

namespace gopmill {

// Compressed packets of a run kept so that a chained unit can be worked on again (a retry, a VBV
// correction). A run beyond that cannot be repeated: its units get one attempt.
inline constexpr std::size_t kMaxRunHistoryBytes = std::size_t{32} << 20U;
// Their number: each unit copies the list.
inline constexpr std::size_t kMaxRunHistoryUnits = 1024;

// The units of a run so far, oldest first: what it takes to decode the run again.
struct RunHistory {
  std::vector<std::shared_ptr<const UnitInput>> units;
  std::size_t bytes = 0;  // with kPacketOverhead
  bool complete = true;   // false once the limit was passed: units is empty then
};

// What a GOP hands from piece to piece.
struct OpenGop {
  std::unique_ptr<VideoEncoder> encoder;
  av::Frame last;            // scaled, of the output frame before
  bool outdated = false;     // a newer picture has been selected since
  std::int64_t packets = 0;  // that have left the encoder
  std::uint64_t parameter_hash = 0;
  std::optional<VbvModel> vbv;  // of a piecewise one with a cap
};

// What a run hands from unit to unit.
struct RunState {
  std::unique_ptr<FrameSelector> selector;
  std::size_t fed = 0;  // packets of the next unit's input that the selector has been fed already
  std::shared_ptr<const RunHistory> history = {};
  std::unique_ptr<OpenGop> gop = {};  // null between two GOPs
  std::int64_t gop_packets = 0;       // of the GOP, that left with the pieces so far
};

struct UnitStats {
  // Time on the worker's thread, preemption included; of decoding aside that on its own thread,
  // which passes at the same time as the others.
  Duration decode{}, filter{}, encode{};
  // CPU time that the worker's thread does not have: of decoding aside, and of the encoder's own
  // threads.
  Duration aside_cpu{};
  SelectionCounts selection;
  std::int64_t frames = 0;   // encoded
  std::int64_t packets = 0;  // given out; of a piece not those of its frames
  // Pictures decoded that another unit or pass has decoded too: in front of the unit, and of each
  // pass but the first.
  std::int64_t decoded_again = 0;
  PictureDamage damage;
  bool flawless_run = true;        // up to its last frame (FrameSelector::flawless)
  std::int64_t bytes = 0;          // coded
  int renditions = 1;              // made of the same decode
  bool decoded_elsewhere = false;  // by another rendition or stream of the same source, all of it
  bool cancelled = false;          // asked to stop meanwhile: there is nothing else
  int encodes = 1;                 // passes over the unit (more than one: VBV or rate corrections)
  bool aimed_otherwise = false;    // in one of them, than it was asked to
  bool vbv_violated = false;       // after the last pass
  std::uint64_t parameter_hash = 0;
  RateLesson lesson;  // of encoders that are steered
};

// Receives what a unit produces, on the worker's thread.
class UnitOutput {
 public:
  virtual ~UnitOutput() = default;
  // Before the first packet: what the muxer must know of the coded stream.
  virtual void OnEncoder(std::shared_ptr<const AVCodecParameters> parameters) = 0;
  virtual void OnPacket(av::Packet packet) = 0;
  virtual void OnRunReady(std::unique_ptr<RunState> state) = 0;
  // Pictures that the unit shares with other streams are gone (UnitTask::pictures): it fails, and
  // can be made without them.
  virtual void OnPicturesLost() {}
};

struct UnitTask {
  std::shared_ptr<const StreamPlan> plan;
  std::shared_ptr<const EncoderSpec> encoder;
  std::shared_ptr<const UnitInput> input;
  // A chained unit's run as the unit before left it. Without a selector (a retry, or who had it has
  // left) the run is decoded again from its history; without the GOP that it goes on with, so is
  // that encoded. A unit that is not chained has all its packets, and may go on with a selector,
  // too, that has been fed some of them.
  RunState run;
  std::size_t decode_ahead_bytes = 0;  // 0 = decode and encode frame by frame
  bool decode_aside = false;  // on a thread of its own (decode_aside.h), where it is not ahead
  std::optional<RateAim> aim = {};  // of StreamRate; nothing = the unit's own budget
  int frame_step = 1;               // FrameStep of its effort; the encoder knows of the rest
  // Of a live source: its place among those who show the same pictures; may be null.
  std::shared_ptr<PictureSeat> pictures = {};
};

// One of several renditions of the same source.
struct UnitRendition {
  UnitTask task;
  std::stop_token stop;
  UnitOutput* output = nullptr;
};

// Works on one unit: TranscodeTogether with one rendition. On failure nothing but packets already
// given to `output` has happened. kCancelled when `stop` was asked for.
Result<UnitStats> TranscodeUnit(UnitTask task, ContextCache& cache, const std::stop_token& stop,
                                UnitOutput& output);

// Whether two tasks show the same pictures of the same packets, and depend on no others, so that
// one decoder serves both. Their frames and packets may be counted from other places of a live
// source, and their runs and GOPs may have begun at other ones.
bool ShowTheSame(const UnitTask& a, const UnitTask& b);

// The same unit in several renditions, which ShowTheSame, by one decode: each output gets the very
// packets that TranscodeUnit would give it. The run is that of the first, and is handed on to the
// first; the others hand on its history. One that is asked to stop is left out from then on, and
// the next one is the first; kCancelled when all are. They fail together. Each has its share of the
// decoding time; only the first counts decoded frames.
Result<std::vector<UnitStats>> TranscodeTogether(std::span<UnitRendition> renditions,
                                                 ContextCache& cache);

}  // namespace gopmill
