// SPDX-License-Identifier: Apache-2.0
#include "media/source_packets.h"

#include <utility>
#include <vector>

#include "base/contained.h"
#include "media/av_error.h"
#include "media/open_format.h"

namespace gopmill {

std::optional<int> SoundOf(const SourceInfo& info, int stream) {
  for (std::size_t i = 0; i < info.sounds(); ++i) {
    if (info.sound(i).stream_index == stream) return static_cast<int>(i);
  }
  return std::nullopt;
}

void SourcePackets::Begin(const AVFormatContext& format, const SourceInfo& info, bool live,
                          bool lacks_pts) {
  has_clock_ = !live && !lacks_pts && (format.iformat->flags & AVFMT_TS_DISCONT) == 0;
  if (!live) order_.Begin(*format.iformat, info.video.stream_index, *info.video.parameters);
}

void SourcePackets::Restart(const AVFormatContext& format, const SourceInfo& info) {
  order_.Clear();
  steps_.reset();
  if (!has_clock_) return;
  std::vector<LongSteps::Track> tracks;
  for (unsigned i = 0; i < format.nb_streams; ++i) {
    const int index = static_cast<int>(i);
    const bool video = index == info.video.stream_index;
    tracks.push_back({.time_base = av::FromAv(format.streams[i]->time_base),
                      .counts = video || SoundOf(info, index),
                      .pictures = video,
                      .reorders = video && info.video.has_b_frames});
  }
  steps_.emplace(tracks);
}

Result<int> SourcePackets::Read(av::InputFormat& format, const std::stop_token& stop,
                                AVPacket& packet) {
  const auto read = [&](AVPacket& next) { return ReadOn(format, stop, next); };
  return steps_ ? steps_->Next(read, packet) : read(packet);
}

Result<int> SourcePackets::ReadOn(av::InputFormat& format, const std::stop_token& stop,
                                  AVPacket& packet) {
  while (true) {
    GOPMILL_ASSIGN_OR_RETURN(const int code,
                             order_.on() ? ReadOrdered(format, packet) : ReadOne(format, packet));
    if (stop.stop_requested()) return Cancelled();
    if (code != AVERROR(EAGAIN)) return code;
  }
}

Result<int> SourcePackets::ReadOne(av::InputFormat& format, AVPacket& packet) {
  int code = 0;
  if (format && ContainedCall([&] { code = av_read_frame(format.get(), &packet); })) return code;
  static_cast<void>(format.release());
  return LeftBehindError();
}

Result<int> SourcePackets::ReadOrdered(av::InputFormat& format, AVPacket& packet) {
  while (true) {
    const int told = order_.Pop(packet);
    if (told != AVERROR(EAGAIN)) return told;
    av::Packet next = av::NewPacket();
    GOPMILL_ASSIGN_OR_RETURN(const int code, ReadOne(format, *next));
    if (code == AVERROR(EAGAIN)) return code;
    if (code < 0) {
      order_.Finish(code);
    } else {
      order_.Push(std::move(next));
    }
  }
}

}  // namespace gopmill
