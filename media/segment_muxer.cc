// SPDX-License-Identifier: Apache-2.0
#include "media/segment_muxer.h"

extern "C" {
#include <libavutil/opt.h>
}

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "media/av_error.h"
#include "media/mux_options.h"
#include "media/mux_sink.h"
#include "media/mux_times.h"
#include "media/ts_packet.h"

namespace gopmill {
namespace {

// Segment type box (ISO/IEC 14496-12 8.16.2): a media segment of the base media file format and a
// CMAF segment.
constexpr std::array<std::uint8_t, 20> kSegmentType{0,   0,   0, 20, 's', 't', 'y', 'p', 'm', 's',
                                                    'd', 'h', 0, 0,  0,   0,   'c', 'm', 'f', 's'};

constexpr std::int64_t kInit = -1;  // in place of a segment's number

// A segment begins with PAT and PMT (RFC 8216, 3.2); FFmpeg's muxer puts its description of
// services in front of them, which nobody needs.
std::string WithoutServices(const std::string& segment) {
  constexpr int kServices = 0x11;  // PID of the SDT
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(segment.data()), segment.size());
  std::string kept;
  kept.reserve(segment.size());
  for (std::size_t at = 0; at + kTsPacketBytes <= segment.size(); at += kTsPacketBytes) {
    if (TsPidAt(bytes, at + 1) != kServices) kept.append(segment, at, kTsPacketBytes);
  }
  return kept;
}

// FFmpeg's file type box (ISO/IEC 14496-12 4.3), at the front, with the brand of a CMAF header
// behind its others. Nothing in a header says where anything lies.
std::string WithCmafBrand(std::string header) {
  constexpr std::string_view kBrand = "cmfc";
  const auto size = static_cast<std::uint8_t>(header[3]);  // a few brands: less than 256
  header[3] = static_cast<char>(size + kBrand.size());
  return header.insert(size, kBrand);
}

class SegmentMuxer {
 public:
  Status Open(Container container, const MuxTrack& track, const char* flags, std::int64_t number) {
    container_ = container;
    GOPMILL_ASSIGN_OR_RETURN(context_, NewOutputFormat(container));
    context_->avoid_negative_ts = 0;  // one clock for all segments: nobody shifts a single one
    GOPMILL_RETURN_IF_ERROR(AddStream(*context_, container, track));
    GOPMILL_ASSIGN_OR_RETURN(sink_, MuxSink::ToCallback([this](auto bytes) {
                               bytes_.append(reinterpret_cast<const char*>(bytes.data()),
                                             bytes.size());
                               return OkStatus();
                             }));
    context_->pb = sink_->context();
    AVDictionary* options = nullptr;
    if (container == Container::kMp4) {
      av_dict_set(&options, "movflags", flags, 0);
      av_dict_set_int(&options, "fragment_index", std::max<std::int64_t>(number, 0) + 1, 0);
      // Each fragment says its place on the track's clock; only the init segment shifts that.
      if (number >= 0) av_dict_set_int(&options, "use_editlist", 0, 0);
    } else {
      av_dict_set(&options, "mpegts_flags", "initial_discontinuity", 0);
    }
    const int result = avformat_write_header(context_.get(), &options);
    const bool leftover = av_dict_count(options) != 0;
    av_dict_free(&options);
    if (result < 0) return MuxError("The container cannot hold this track", result);
    if (leftover) return InternalError("The container does not know one of its options.");
    times_.time_base = track.time_base;
    times_.stream_base = av::FromAv(context_->streams[0]->time_base);
    return OkStatus();
  }
  void Forget() {
    sink_->Flush();
    bytes_.clear();
  }
  Status Write(av::Packet packet) {
    PlaceOnClock(times_, *packet);
    packet->stream_index = 0;
    return Check(av_write_frame(context_.get(), packet.get()));
  }
  Status Flush() {
    GOPMILL_RETURN_IF_ERROR(Check(av_write_frame(context_.get(), nullptr)));
    sink_->Flush();
    return OkStatus();
  }
  std::string Take() {
    sink_->Flush();
    return container_ == Container::kMp4 ? std::move(bytes_) : WithoutServices(bytes_);
  }

 private:
  static Status Check(int result) {
    if (result < 0) return MuxError("The container refused a packet", result);
    return OkStatus();
  }

  Container container_ = Container::kMp4;
  std::string bytes_;
  std::unique_ptr<MuxSink> sink_;  // outlives the context
  OutputFormat context_;
  MuxTimes times_;
};

}  // namespace

// The moov of a delayed start knows the track's edit list, and is all that the first flush writes.
// Its packet is only there to say when the track begins.
Result<std::string> MakeInitSegment(const MuxTrack& track, std::int64_t lead) {
  SegmentMuxer muxer;
  GOPMILL_RETURN_IF_ERROR(
      muxer.Open(Container::kMp4, track, "frag_custom+delay_moov+default_base_moof", kInit));
  av::Packet packet = av::NewPacket(std::array<std::uint8_t, 16>{});
  packet->dts = -lead;
  packet->pts = track.kind == TrackKind::kVideo ? 0 : -lead;
  packet->duration = 1;
  packet->flags = AV_PKT_FLAG_KEY;
  GOPMILL_RETURN_IF_ERROR(muxer.Write(std::move(packet)));
  GOPMILL_RETURN_IF_ERROR(muxer.Flush());
  return WithCmafBrand(muxer.Take());
}

Result<std::string> MakeSegment(Container container, const MuxTrack& track, std::int64_t lead,
                                std::int64_t number, std::vector<av::Packet> packets) {
  if (packets.empty()) return InternalError("A segment without packets was asked for.");
  SegmentMuxer muxer;
  GOPMILL_RETURN_IF_ERROR(muxer.Open(
      container, track, "frag_custom+empty_moov+default_base_moof+frag_discont", number));
  const bool mp4 = container == Container::kMp4;
  std::string segment;
  if (mp4) {
    muxer.Forget();  // the header: it is the init segment's business
    segment.assign(kSegmentType.begin(), kSegmentType.end());
  }
  for (av::Packet& packet : packets) {
    if (mp4) packet->pts += lead;
    if (mp4) packet->dts += lead;
    GOPMILL_RETURN_IF_ERROR(muxer.Write(std::move(packet)));
  }
  GOPMILL_RETURN_IF_ERROR(muxer.Flush());
  segment += muxer.Take();
  return segment;
}

Result<std::string> MakeChunk(const MuxTrack& track, std::int64_t lead, std::int64_t sequence,
                              bool first, std::vector<av::Packet> packets) {
  GOPMILL_ASSIGN_OR_RETURN(std::string chunk,
                           MakeSegment(Container::kMp4, track, lead, sequence, std::move(packets)));
  if (!first) chunk.erase(0, kSegmentType.size());
  return chunk;
}

}  // namespace gopmill
