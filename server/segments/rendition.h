// SPDX-License-Identifier: Apache-2.0
//
// The renditions of one presentation (HLS, DASH): what each is made to. For movies and live sources
// alike; presentation_rows.h has what playlists say of them. Pure.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "media/codec_string.h"
#include "media/muxer.h"
#include "media/source_info.h"
#include "server/segments/segment_request.h"

namespace gopmill {

// What all renditions have.
struct SegmentTrack {
  MuxTrack mux;
  std::string init;       // init segment (CMAF), also where segments are transport streams
  std::string codecs;     // RFC 6381
  DynamicRange range;     // of pictures
  int channels = 0;       // of sound: ChannelConfigurationOf
  std::int64_t lead = 0;  // by which its decode times start before time 0, ticks of mux.time_base
  int timescale = 0;      // of the CMAF track, ticks per second
  std::int64_t peak_bps = 0, average_bps = 0;  // with the container's share
  std::string identity;                        // all that its segments depend on, but their number
};

// Fills in init, codecs, range, channels and timescale from mux and lead.
Status Describe(SegmentTrack& track);

// What manifests say of the closed captions in a presentation's pictures. Only H.264's encoder
// writes them; whether there are some is known for those that begin with the source.
enum class CaptionsState { kUnknown, kNone, kCarried };
CaptionsState CaptionsStateOf(const VideoInfo& source, VideoCodec codec);

// A track of text.
struct SubtitleRendition {
  std::string name;      // unique among them
  std::string language;  // RFC 5646; empty = unknown
  bool is_default = false, forced = false;
  int roles = 0;          // StreamRoles
  std::size_t track = 0;  // of the source
};

// How a presentation is cut, as far as targets depend on it.
struct RenditionCut {
  double unit_seconds = 2;    // from key frame to key frame
  double buffer_seconds = 2;  // of the buffer model behind the highest rate
};

struct RenditionTarget {
  TargetRequest wanted;  // resolves to `target`
  Target target;
};

// One for each rung, or the one that is asked for. The server's own ladder is cut to what the
// source can fill, and turned where the picture is tall; what a client names is made.
Result<std::vector<RenditionTarget>> ResolveRenditions(const SegmentRequest& request,
                                                       const RenditionCut& cut,
                                                       const SourceInfo& source);

// Which has the fewest pixels; at least one is there.
std::size_t SmallestOf(const std::vector<RenditionTarget>& renditions);

// What a container adds to the coded bits.
struct ContainerLoad {
  Container container = Container::kMp4;
  double packets_per_second = 0;
  double fragments_per_second = 0.5;  // `moof` or padding
};
std::int64_t WithOverhead(double bps, const ContainerLoad& load);

// How much one segment's sound may be above the mean rate.
inline constexpr double kAudioPeak = 1.25;

}  // namespace gopmill
