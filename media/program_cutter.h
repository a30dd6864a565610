// SPDX-License-Identifier: Apache-2.0
//
// Where an MPEG transport stream goes on with other tracks: a broadcaster's next programme, an
// encoder that was set up anew. FFmpeg's demuxer takes a track for what its packet identifier (PID)
// was when it was opened, and tracks that come later are not probed; so the stream is cut in front
// of the table that names others (ISO/IEC 13818-1, 2.4.4), and what follows is opened like another
// stream.
//
// Other tracks: one that is read has left the table or is of another type, or pictures, sound or
// text have come that were not there. The tables of several programmes may share a PID. Tables that
// fail their checksum count for nothing. What is no transport stream of packets of 188 bytes passes
// as it is; one may begin inside a packet.
//
// Memory: what was pushed and not taken, at most kMaxTableBytes of it because of a table that is
// incomplete; and 4 KiB for each of 65 PIDs and 64 programmes.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "media/ts_packet.h"

namespace gopmill {

// What may be held back for the rest of a table that has begun.
inline constexpr std::size_t kMaxTableBytes = std::size_t{64} << 10U;

class ProgramCutter {
 public:
  void Push(std::span<const std::uint8_t> bytes);
  // The source has ended: what is incomplete may be taken too.
  void End() { ended_ = true; }
  // Moves what may be passed on to `out`; returns how much that is. 0: push more, or changed().
  std::size_t Take(std::span<std::uint8_t> out);

  // The PIDs of the tracks that are read. Before, nothing is cut.
  void Follow(std::vector<int> pids) { followed_ = std::move(pids); }
  // All of this programme has been taken; the bytes of another one wait.
  [[nodiscard]] bool changed() const { return changed_ && passed_ == cut_; }
  // Goes on with that one, its tables first, and follows nothing yet.
  void GoOn();

 private:
  using Packet = std::span<const std::uint8_t>;
  using Tracks = std::map<int, std::string>;  // by PID: what it is, in bytes of its table
  struct Program {
    Tracks tracks;
    bool known = false;   // its table has come
    bool listed = false;  // by the list of programmes, at some time
  };
  struct Table {                        // of one PID
    std::map<int, Program> programs;    // by their numbers
    std::vector<std::uint8_t> partial;  // of a section
    std::size_t begun = 0;              // where that begins, in bytes_
  };
  using Listed = std::vector<std::pair<int, int>>;  // programmes: PID of the table, number
  enum class Form { kUnknown, kTransportStream, kOther };

  void Forget();
  void Detect();
  void Scan();
  void OnPacket(std::size_t at);
  void OnSectionBytes(int pid, Packet payload, std::size_t at, bool starts);
  void Continue(int pid, Packet bytes);
  void OnSection(int pid, Packet section, std::size_t at);
  void OnPrograms(Packet section, std::size_t at);
  void OnTracks(int pid, Packet section, std::size_t at);
  void Cut(std::size_t at);
  Program* ProgramOf(int pid, int number);
  [[nodiscard]] bool HasLeft(const Listed& listed) const;
  [[nodiscard]] bool IsRead(const Tracks& tracks) const;
  [[nodiscard]] bool Differs(const Tracks& before, const Tracks& now) const;
  [[nodiscard]] std::size_t HeldFrom() const;

  Form form_ = Form::kUnknown;
  std::vector<std::uint8_t> bytes_;
  std::size_t passed_ = 0;   // taken, of bytes_
  std::size_t scanned_ = 0;  // of bytes_
  std::size_t cut_ = 0;      // where another programme begins, if changed_
  bool changed_ = false, ended_ = false;
  std::vector<int> followed_;
  std::map<int, Table> tables_;            // by PID of the table; 0 = the list of programmes
  std::vector<std::uint8_t> list_packet_;  // that the list came in last, if one was enough
};

}  // namespace gopmill
