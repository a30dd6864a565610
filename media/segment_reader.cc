// SPDX-License-Identifier: Apache-2.0
#include "media/segment_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "media/coding_header.h"

namespace gopmill {
namespace {

// How far in front of the wanted packet to seek: containers whose index is by another time, or that
// are searched by bisection, may land behind it. The last try is to open the file again and to read
// it from its start, which always works (raw streams know no other way).
constexpr std::int64_t kFromStart = INT64_MAX;
constexpr std::array<std::int64_t, 4> kBack{0, 1'000'000, 8'000'000, kFromStart};
// Packets of the index behind the wanted one among which one that was read is looked for.
constexpr std::int64_t kSearchBehind = 512;
// Packets that are read for one whose place is known; of sound a container may have many in a
// chunk.
constexpr std::size_t kMostPictures = 64, kMostSounds = 512;
constexpr std::size_t kMostUnknown = 64;  // of them, that have another place than in the index
// Packets at most that FFmpeg gives one place in the file: of a block of Matroska, a page of Ogg.
constexpr std::int64_t kMostAtOnePlace = 256;

constexpr bool IsVideo(TrackKind kind) { return kind == TrackKind::kVideo; }

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
      Source::Open(std::move(fd), stop_,
                   {.audio = {.first = index_->audio_track}, .rate = false, .codings = false}));
  return OkStatus();
}

Status SegmentReader::SeekNear(TrackKind kind, std::int64_t first, std::int64_t back_us) {
  if (back_us == kFromStart) return OpenAtStart();
  const auto n = static_cast<std::size_t>(first);
  const std::int64_t seek_us = IsVideo(kind) ? index_->video[n].seek_us : index_->audio[n].seek_us;
  const std::int64_t at = std::max<std::int64_t>(seek_us - source_->start_us() - back_us, 0);
  return source_->SeekBefore({at, 1'000'000});
}

Result<std::vector<av::Packet>> SegmentReader::ReadVideo(std::int64_t first, std::int64_t end) {
  return Read(TrackKind::kVideo, first, end);
}

Result<std::vector<av::Packet>> SegmentReader::ReadAudio(std::int64_t first, std::int64_t end) {
  return Read(TrackKind::kAudio, first, end);
}

Result<bool> SegmentReader::NextOf(TrackKind kind, AVPacket& packet) {
  while (true) {
    av_packet_unref(&packet);
    GOPMILL_ASSIGN_OR_RETURN(const auto state, source_->Read(packet));
    if (state == Source::ReadState::kEnd) return false;
    if ((state == Source::ReadState::kVideo) == IsVideo(kind)) return true;
  }
}

// A header comes with the packets that the index says it begins with, whatever was read before.
void SegmentReader::Place(TrackKind kind, std::int64_t number, AVPacket& packet) const {
  const auto n = static_cast<std::size_t>(number);
  if (IsVideo(kind)) {
    const auto& coded = index_->CodedAt(number);
    const bool changes = number > 0 && coded != index_->CodedAt(number - 1);
    SetHeader(packet,
              changes ? HeaderOf(*coded->video.parameters) : std::span<const std::uint8_t>());
    packet.pts = index_->video[n].packet_pts;
    packet.dts = index_->video[n].dts;
  } else {
    packet.pts = packet.dts = index_->audio[n].position;
    packet.duration = index_->audio[n].samples;
  }
}

std::uint64_t SegmentReader::FingerprintAt(TrackKind kind, std::int64_t number) const {
  const auto n = static_cast<std::size_t>(number);
  return IsVideo(kind) ? index_->video[n].fingerprint : index_->audio[n].fingerprint;
}

// Nearest match at or before `near`, or a little behind it; -1 if there is none. Of several at one
// place the first: no seek lands between them, though silence may make them equal.
std::int64_t SegmentReader::NumberOf(TrackKind kind, std::uint64_t fingerprint,
                                     std::int64_t near) const {
  const auto count =
      static_cast<std::int64_t>(IsVideo(kind) ? index_->video.size() : index_->audio.size());
  std::int64_t nearest = near;
  while (nearest >= 0 && FingerprintAt(kind, nearest) != fingerprint) --nearest;
  if (nearest >= 0) {
    const std::int64_t least = std::max<std::int64_t>(0, nearest - kMostAtOnePlace);
    for (std::int64_t n = nearest - 1; n >= least; --n) {
      if (FingerprintAt(kind, n) == fingerprint) nearest = n;
    }
    return nearest;
  }
  for (std::int64_t n = near + 1; n < std::min(count, near + kSearchBehind); ++n) {
    if (FingerprintAt(kind, n) == fingerprint) return n;
  }
  return -1;
}

// Of the packets in front of the last one, which is number `last`, keeps those in a row with it.
void SegmentReader::KeepRow(TrackKind kind, std::int64_t last, Landing& landing) const {
  landing.number = last;
  std::size_t kept = 1;
  while (kept < landing.packets.size() && landing.number > 0) {
    const AVPacket& before = *landing.packets[landing.packets.size() - 1 - kept];
    if (!HasPayloadOf(FingerprintAt(kind, landing.number - 1), before)) break;
    --landing.number;
    ++kept;
  }
  landing.packets.erase(landing.packets.begin(),
                        landing.packets.end() - static_cast<std::ptrdiff_t>(kept));
}

// Seeks and reads until a packet that the index knows by its place in the file. Where sound is cut
// out of chunks, only the first packet of a chunk has one, and others may be equal, as silence is:
// their numbers follow from the next that has one. A landing behind `first` is none.
Result<SegmentReader::Landing> SegmentReader::LandAt(TrackKind kind, std::int64_t first,
                                                     std::int64_t back_us) {
  Landing landing;
  if (const Status sought = SeekNear(kind, first, back_us); !sought.ok()) {
    if (back_us == kFromStart) return sought.error();
    return landing;
  }
  if (back_us == kFromStart) {  // as the index was made
    landing.number = 0;
    return landing;
  }
  const std::size_t most = IsVideo(kind) ? kMostPictures : kMostSounds;
  std::size_t unknown = 0;
  for (std::size_t read = 0; read < most; ++read) {
    av::Packet& packet = landing.packets.emplace_back(av::NewPacket());
    GOPMILL_ASSIGN_OR_RETURN(const bool got, NextOf(kind, *packet));
    if (!got) break;
    if (packet->pos < 0) continue;
    const std::int64_t number = NumberOf(kind, PacketFingerprint(*packet), first);
    if (number < 0) {  // a bisection lands amid a packet: what is read first is known to nobody
      landing.packets.clear();
      if (++unknown == kMostUnknown) break;  // each is looked for in all of the index
      continue;
    }
    KeepRow(kind, number, landing);
    if (landing.number <= first) return landing;
    break;
  }
  return Landing();
}

Result<std::vector<av::Packet>> SegmentReader::Read(TrackKind kind, std::int64_t first,
                                                    std::int64_t end) {
  std::vector<av::Packet> packets;
  if (first >= end) return packets;
  for (const std::int64_t back : kBack) {
    GOPMILL_ASSIGN_OR_RETURN(const bool found, TryRead(kind, first, end, back, packets));
    if (found) return packets;
    packets.clear();
  }
  return Changed();
}

// False when what comes after the seek is not what the index has there.
Result<bool> SegmentReader::TryRead(TrackKind kind, std::int64_t first, std::int64_t end,
                                    std::int64_t back_us, std::vector<av::Packet>& packets) {
  GOPMILL_ASSIGN_OR_RETURN(Landing landing, LandAt(kind, first, back_us));
  if (landing.number < 0) return false;
  for (std::int64_t number = landing.number; number < end; ++number) {
    av::Packet packet;
    if (!landing.packets.empty()) {
      packet = std::move(landing.packets.front());
      landing.packets.pop_front();
    } else {
      packet = av::NewPacket();
      GOPMILL_ASSIGN_OR_RETURN(const bool got, NextOf(kind, *packet));
      if (!got) return false;
    }
    const bool sought = back_us != kFromStart;
    if (sought && !HasPayloadOf(FingerprintAt(kind, number), *packet)) return false;
    if (number < first) continue;
    const auto n = static_cast<std::size_t>(number);
    const std::int32_t bytes = IsVideo(kind) ? index_->video[n].bytes : index_->audio[n].bytes;
    if (packet->size != bytes) return false;
    Place(kind, number, *packet);
    packets.push_back(std::move(packet));
  }
  return true;
}

}  // namespace gopmill
