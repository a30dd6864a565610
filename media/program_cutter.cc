// SPDX-License-Identifier: Apache-2.0
#include "media/program_cutter.h"

extern "C" {
#include <libavutil/crc.h>
}

#include <algorithm>
#include <array>
#include <utility>

namespace gopmill {
namespace {

constexpr std::uint8_t kSync = 0x47;
constexpr std::uint8_t kFill = 0xFF;  // behind the last section of a packet
constexpr int kListPid = 0;           // the program association table's
constexpr std::uint8_t kListTable = 0, kTracksTable = 2;
constexpr std::size_t kSectionHead = 8, kChecksum = 4;
// Programmes of one stream that are looked at.
constexpr std::size_t kMaxPrograms = 64;

int Word(std::span<const std::uint8_t> bytes, std::size_t at) {
  return bytes[at] << 8 | bytes[at + 1];
}

// 12 bits.
std::size_t LengthAt(std::span<const std::uint8_t> bytes, std::size_t at) {
  return static_cast<std::size_t>(Word(bytes, at) & 0xFFF);
}

bool ChecksumHolds(std::span<const std::uint8_t> section) {
  return av_crc(av_crc_get_table(AV_CRC_32_IEEE), UINT32_MAX, section.data(), section.size()) == 0;
}

// Descriptors that tell what a track of private data is: registration, teletext, subtitling, AC-3,
// E-AC-3, DTS, and the extension that AC-4 and others use.
bool TellsFormat(std::uint8_t tag) {
  constexpr std::array<std::uint8_t, 7> kTags{0x05, 0x56, 0x59, 0x6A, 0x7A, 0x7B, 0x7F};
  return std::ranges::find(kTags, tag) != kTags.end();
}

// The tags of those descriptors, and what a registration says.
std::string FormatOf(std::span<const std::uint8_t> descriptors) {
  std::string format;
  for (std::size_t at = 0; at + 2 <= descriptors.size();) {
    const std::uint8_t tag = descriptors[at];
    const std::size_t size =
        std::min<std::size_t>(descriptors[at + 1], descriptors.size() - at - 2);
    if (TellsFormat(tag)) format += static_cast<char>(tag);
    if (tag == 0x05) format.append(reinterpret_cast<const char*>(&descriptors[at + 2]), size);
    at += 2 + size;
  }
  return format;
}

// Types of pictures and sound (ISO/IEC 13818-1, table 2-34, and those of ATSC); private data where
// its descriptors say what it is.
bool IsMedia(std::uint8_t type, const std::string& format) {
  constexpr std::array<std::uint8_t, 18> kTypes{0x01, 0x02, 0x03, 0x04, 0x0F, 0x10,
                                                0x11, 0x1B, 0x1C, 0x20, 0x24, 0x33,
                                                0x42, 0x81, 0x82, 0x87, 0xD1, 0xEA};
  if (type == 0x06) return !format.empty();
  return std::ranges::find(kTypes, type) != kTypes.end();
}

}  // namespace

void ProgramCutter::Push(std::span<const std::uint8_t> bytes) {
  Forget();
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  Detect();
  Scan();
}

// What has been taken.
void ProgramCutter::Forget() {
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(passed_));
  scanned_ -= std::min(scanned_, passed_);
  cut_ -= std::min(cut_, passed_);
  for (auto& [pid, table] : tables_) table.begun -= std::min(table.begun, passed_);
  passed_ = 0;
}

// By the first three packets, which may follow the rest of one: who cuts into a stream need not cut
// between two, and FFmpeg finds them too.
void ProgramCutter::Detect() {
  if (form_ != Form::kUnknown) return;
  const auto synced = [&](std::size_t at) { return bytes_[at] == kSync; };
  for (std::size_t at = 0; at + 2 * kTsPacketBytes < bytes_.size(); ++at) {
    if (at == kTsPacketBytes) {
      form_ = Form::kOther;
      return;
    }
    if (!synced(at) || !synced(at + kTsPacketBytes) || !synced(at + 2 * kTsPacketBytes)) continue;
    form_ = Form::kTransportStream;
    scanned_ = at;
    return;
  }
}

void ProgramCutter::Scan() {
  if (form_ != Form::kTransportStream) return;
  while (!changed_ && scanned_ + kTsPacketBytes <= bytes_.size()) {
    if (bytes_[scanned_] != kSync) {  // some were lost
      ++scanned_;
      continue;
    }
    OnPacket(scanned_);
    scanned_ += kTsPacketBytes;
  }
}

void ProgramCutter::OnPacket(std::size_t at) {
  const Packet packet(&bytes_[at], kTsPacketBytes);
  const int pid = TsPidAt(packet, 1);
  if (pid != kListPid && !tables_.contains(pid)) return;
  const bool damaged = (packet[1] & 0x80U) != 0, starts = (packet[1] & 0x40U) != 0;
  const bool has_payload = (packet[3] & 0x10U) != 0, has_fields = (packet[3] & 0x20U) != 0;
  std::size_t begin = 4;
  if (has_fields) begin += 1U + packet[4];
  if (damaged || !has_payload || begin >= kTsPacketBytes) return;
  OnSectionBytes(pid, packet.subspan(begin), at, starts);
}

// Sections are put together of payloads. Where one begins a section, it says behind how many bytes
// of the section before.
void ProgramCutter::OnSectionBytes(int pid, Packet payload, std::size_t at, bool starts) {
  Table& table = tables_[pid];
  if (starts) {
    const std::size_t before = payload[0];
    if (1 + before >= payload.size()) return;
    if (!table.partial.empty()) Continue(pid, payload.subspan(1, before));
    payload = payload.subspan(1 + before);
    table.partial.clear();
    table.begun = at;
  } else if (table.partial.empty()) {
    return;
  }
  Continue(pid, payload);
}

// Ends the section that has begun, and those that follow it at once: the rest of a packet is either
// another one or filled with ones.
void ProgramCutter::Continue(int pid, Packet bytes) {
  std::vector<std::uint8_t>& partial = tables_[pid].partial;
  partial.insert(partial.end(), bytes.begin(), bytes.end());
  while (!changed_ && partial.size() >= 3 && partial[0] != kFill) {
    const std::size_t size = 3 + LengthAt(partial, 1);
    if (partial.size() < size) return;
    OnSection(pid, Packet(partial).first(size), tables_[pid].begun);
    partial.erase(partial.begin(), partial.begin() + static_cast<std::ptrdiff_t>(size));
  }
  if (changed_ || partial.empty() || partial[0] == kFill) partial.clear();
}

void ProgramCutter::OnSection(int pid, Packet section, std::size_t at) {
  const bool current = section.size() >= kSectionHead + kChecksum && (section[5] & 1U) != 0;
  if (!current || !ChecksumHolds(section)) return;
  const Packet body = section.first(section.size() - kChecksum);
  if (pid == kListPid && section[0] == kListTable) OnPrograms(body, at);
  if (pid != kListPid && section[0] == kTracksTable) OnTracks(pid, body, at);
}

void ProgramCutter::OnPrograms(Packet section, std::size_t at) {
  Listed listed;
  for (std::size_t place = kSectionHead; place + 4 <= section.size(); place += 4) {
    const int number = Word(section, place);
    const bool is_network = number == 0;
    if (!is_network) listed.emplace_back(TsPidAt(section, place + 2), number);
  }
  for (const auto& [pid, number] : listed) {
    if (Program* program = ProgramOf(pid, number)) program->listed = true;
  }
  const bool is_whole = section[6] == 0 && section[7] == 0;  // no more sections
  list_packet_.clear();
  if (is_whole && HasLeft(listed)) {
    Cut(at);  // what follows begins with the list
  } else if (at + kTsPacketBytes <= bytes_.size() && at == scanned_) {
    const auto packet = bytes_.begin() + static_cast<std::ptrdiff_t>(at);
    list_packet_.assign(packet, packet + kTsPacketBytes);
  }
}

// Null where there are too many.
ProgramCutter::Program* ProgramCutter::ProgramOf(int pid, int number) {
  std::size_t programs = 0;
  for (const auto& [other, table] : tables_) programs += table.programs.size();
  const auto table = tables_.find(pid);
  const bool is_new = table == tables_.end() || !table->second.programs.contains(number);
  if (is_new && programs >= kMaxPrograms) return nullptr;
  return &tables_[pid].programs[number];
}

// One that is read. Where no list ever had its number, its PID alone says whether it is there.
bool ProgramCutter::HasLeft(const Listed& listed) const {
  for (const auto& [pid, table] : tables_) {
    const bool is_pid_listed =
        std::ranges::find(listed, pid, &Listed::value_type::first) != listed.end();
    for (const auto& [number, program] : table.programs) {
      const bool is_listed = std::ranges::find(listed, std::pair(pid, number)) != listed.end();
      const bool is_there = is_listed || (is_pid_listed && !program.listed);
      if (!is_there && IsRead(program.tracks)) return true;
    }
  }
  return false;
}

void ProgramCutter::Cut(std::size_t at) {
  changed_ = true;
  cut_ = std::max(at, passed_);
}

void ProgramCutter::OnTracks(int pid, Packet section, std::size_t at) {
  if (section.size() < kSectionHead + 4) return;
  Tracks tracks;
  std::size_t place = kSectionHead + 4 + LengthAt(section, kSectionHead + 2);
  while (place + 5 <= section.size()) {
    const std::size_t size = std::min(LengthAt(section, place + 3), section.size() - place - 5);
    const std::uint8_t type = section[place];
    const std::string format = FormatOf(section.subspan(place + 5, size));
    if (IsMedia(type, format))
      tracks[TsPidAt(section, place + 1)] = static_cast<char>(type) + format;
    place += 5 + size;
  }
  Program* const program = ProgramOf(pid, Word(section, 3));
  if (program == nullptr) return;
  if (program->known && Differs(program->tracks, tracks)) {
    Cut(at);
    return;
  }
  program->tracks = std::move(tracks);
  program->known = true;
}

bool ProgramCutter::IsRead(const Tracks& tracks) const {
  return std::ranges::any_of(followed_, [&](int pid) { return tracks.contains(pid); });
}

// Of the programme whose tracks are read; other ones may do as they like.
bool ProgramCutter::Differs(const Tracks& before, const Tracks& now) const {
  if (!IsRead(before)) return false;
  const auto left = [&](int pid) {
    const auto was = before.find(pid);
    const auto is = now.find(pid);
    return was != before.end() && (is == now.end() || is->second != was->second);
  };
  const auto came = [&](const auto& track) { return !before.contains(track.first); };
  return std::ranges::any_of(followed_, left) || std::ranges::any_of(now, came);
}

// Where a table begins that is incomplete and may turn out to be another one.
std::size_t ProgramCutter::HeldFrom() const {
  std::size_t from = scanned_;
  for (const auto& [pid, table] : tables_) {
    if (!table.partial.empty()) from = std::min(from, table.begun);
  }
  return scanned_ - from > kMaxTableBytes ? scanned_ : from;
}

std::size_t ProgramCutter::Take(std::span<std::uint8_t> out) {
  std::size_t end = bytes_.size();
  if (changed_) {
    end = cut_;
  } else if (!ended_ && form_ != Form::kOther) {
    end = form_ == Form::kTransportStream ? HeldFrom() : 0;
  }
  if (end <= passed_) return 0;
  const std::size_t count = std::min(out.size(), end - passed_);
  const auto first = bytes_.begin() + static_cast<std::ptrdiff_t>(passed_);
  std::copy_n(first, count, out.begin());
  passed_ += count;
  return count;
}

void ProgramCutter::GoOn() {
  std::vector<std::uint8_t> rest = std::exchange(list_packet_, {});
  rest.insert(rest.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(cut_), bytes_.end());
  const bool ended = ended_;
  *this = ProgramCutter();
  ended_ = ended;
  Push(rest);
}

}  // namespace gopmill
