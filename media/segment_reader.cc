// SPDX-License-Identifier: Apache-2.0
#include "media/segment_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace gopmill {
namespace {

// How far in front of the wanted packet to seek: containers whose index is by another time, or that
// are searched by bisection, may land behind it. The last try is to open the file again and to read
// it from its start, which always works (raw streams know no other way).
constexpr std::int64_t kFromStart = INT64_MAX;
constexpr std::array<std::int64_t, 4> kBack{0, 1'000'000, 8'000'000, kFromStart};
// Packets of the index around the wanted one among which the first packet read is looked for.
constexpr std::int64_t kSearchBehind = 64;

Error Changed() {
  return Error{.code = Code::kIo, .message = "The source has changed while it was being read."};
}

}  // namespace

Result<std::unique_ptr<SegmentReader>> SegmentReader::Open(UniqueFd fd,
                                                           std::shared_ptr<const SourceIndex> index,
                                                           std::stop_token stop) {
  std::unique_ptr<SegmentReader> reader(
      new SegmentReader(std::move(fd), std::move(index), std::move(stop)));
  GOPMILL_RETURN_IF_ERROR(reader->OpenAtStart());
  return reader;
}

Status SegmentReader::OpenAtStart() {
  source_.reset();
  UniqueFd fd(fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!fd.valid() || lseek(fd.get(), 0, SEEK_SET) != 0) {
    return Error{.code = Code::kIo, .message = "The movie cannot be read."};
  }
  GOPMILL_ASSIGN_OR_RETURN(
      source_,
      Source::Open(std::move(fd), stop_, {.audio = {.first = index_->audio_track}, .rate = false}));
  return OkStatus();
}

Status SegmentReader::SeekNear(bool video, std::int64_t first, std::int64_t back_us) {
  if (back_us == kFromStart) return OpenAtStart();
  const auto n = static_cast<std::size_t>(first);
  const std::int64_t seek_us = video ? index_->video[n].seek_us : index_->audio[n].seek_us;
  const std::int64_t at = std::max<std::int64_t>(seek_us - source_->start_us() - back_us, 0);
  return source_->SeekBefore({at, 1'000'000});
}

Result<std::vector<av::Packet>> SegmentReader::ReadVideo(std::int64_t first, std::int64_t end) {
  return Read(true, first, end);
}

Result<std::vector<av::Packet>> SegmentReader::ReadAudio(std::int64_t first, std::int64_t end) {
  return Read(false, first, end);
}

Result<bool> SegmentReader::NextOf(bool video, AVPacket& packet) {
  while (true) {
    av_packet_unref(&packet);
    GOPMILL_ASSIGN_OR_RETURN(const auto state, source_->Read(packet));
    if (state == Source::ReadState::kEnd) return false;
    if ((state == Source::ReadState::kVideo) == video) return true;
  }
}

void SegmentReader::Place(bool video, std::int64_t number, AVPacket& packet) const {
  const auto n = static_cast<std::size_t>(number);
  if (video) {
    packet.pts = index_->video[n].packet_pts;
    packet.dts = index_->video[n].dts;
  } else {
    packet.pts = packet.dts = index_->audio[n].position;
    packet.duration = index_->audio[n].samples;
  }
}

// Nearest match at or before `near`, or a little behind it; -1 if there is none.
std::int64_t SegmentReader::NumberOf(bool video, std::uint64_t fingerprint,
                                     std::int64_t near) const {
  const auto at = [&](std::int64_t n) {
    const auto i = static_cast<std::size_t>(n);
    return video ? index_->video[i].fingerprint : index_->audio[i].fingerprint;
  };
  const auto count = static_cast<std::int64_t>(video ? index_->video.size() : index_->audio.size());
  for (std::int64_t n = near; n >= 0; --n) {
    if (at(n) == fingerprint) return n;
  }
  for (std::int64_t n = near + 1; n < std::min(count, near + kSearchBehind); ++n) {
    if (at(n) == fingerprint) return n;
  }
  return -1;
}

// Seeks and reads until a packet that the index knows. A landing behind `first` is none.
Result<SegmentReader::Landing> SegmentReader::LandAt(bool video, std::int64_t first,
                                                     std::int64_t back_us) {
  Landing landing{.packet = av::NewPacket()};
  if (const Status sought = SeekNear(video, first, back_us); !sought.ok()) {
    if (back_us == kFromStart) return sought.error();
    return landing;
  }
  // A bisection lands amid a packet: what it reads first is known to nobody.
  for (int skipped = 0; skipped < kSearchBehind; ++skipped) {
    GOPMILL_ASSIGN_OR_RETURN(const bool got, NextOf(video, *landing.packet));
    if (!got) break;
    landing.number = NumberOf(video, PacketFingerprint(*landing.packet), first);
    if (landing.number > first) break;
    if (landing.number >= 0) return landing;
  }
  landing.number = -1;
  return landing;
}

Result<std::vector<av::Packet>> SegmentReader::Read(bool video, std::int64_t first,
                                                    std::int64_t end) {
  std::vector<av::Packet> packets;
  if (first >= end) return packets;
  for (const std::int64_t back : kBack) {
    GOPMILL_ASSIGN_OR_RETURN(const bool found, TryRead(video, first, end, back, packets));
    if (found) return packets;
    packets.clear();
  }
  return Changed();
}

// False when what comes after the seek is not what the index has there.
Result<bool> SegmentReader::TryRead(bool video, std::int64_t first, std::int64_t end,
                                    std::int64_t back_us, std::vector<av::Packet>& packets) {
  GOPMILL_ASSIGN_OR_RETURN(Landing landing, LandAt(video, first, back_us));
  if (landing.number < 0) return false;
  for (std::int64_t number = landing.number; number < end; ++number) {
    av::Packet packet = std::exchange(landing.packet, nullptr);
    if (!packet) {
      packet = av::NewPacket();
      GOPMILL_ASSIGN_OR_RETURN(const bool got, NextOf(video, *packet));
      if (!got) return false;
    }
    if (number < first) continue;
    const auto n = static_cast<std::size_t>(number);
    const std::int32_t bytes = video ? index_->video[n].bytes : index_->audio[n].bytes;
    if (packet->size != bytes) return false;
    Place(video, number, *packet);
    packets.push_back(std::move(packet));
  }
  return true;
}

}  // namespace gopmill
