// SPDX-License-Identifier: Apache-2.0
#include "server/offline/piece_order.h"

namespace gopmill {

void PieceOrder::Add(bool goes_on) {
  pieces_.push_back({.goes_on = goes_on});
  ++left_;
}

// The middle of the longest stretch that waits for a piece which is being made. Who begins there
// has to decode what is before once more, but then two can go on. Not of a short one: what it goes
// on with comes soon.
std::optional<std::size_t> PieceOrder::Split() const {
  constexpr std::size_t kLeast = 4;
  std::size_t begin = 0, end = 0;
  for (std::size_t at = 0, length = 0; at < pieces_.size(); ++at) {
    length = pieces_[at].goes_on && !pieces_[at].taken ? length + 1 : 0;
    if (length <= end - begin) continue;
    begin = at + 1 - length;
    end = at + 1;
  }
  if (end - begin < kLeast) return std::nullopt;
  return begin + (end - begin) / 2;
}

// Those that go on first: what they go on with holds memory. A stretch is split where there is
// nothing else for a worker to do.
std::optional<std::size_t> PieceOrder::Next(bool idle) {
  std::optional<std::size_t> next;
  for (; !next && !ready_.empty(); ready_.pop_front()) {
    if (!pieces_[ready_.front()].taken) next = ready_.front();
  }
  while (begun_ < pieces_.size() && (pieces_[begun_].taken || pieces_[begun_].goes_on)) ++begun_;
  if (!next && begun_ < pieces_.size()) next = begun_;
  if (!next && idle) next = Split();
  if (!next) return std::nullopt;
  pieces_[*next].taken = true;
  --left_;
  return next;
}

std::optional<std::size_t> PieceOrder::Made(std::size_t piece) {
  const std::size_t behind = piece + 1;
  if (behind >= pieces_.size() || !pieces_[behind].goes_on) return std::nullopt;
  if (pieces_[behind].taken) return behind;
  ready_.push_back(behind);
  return std::nullopt;
}

}  // namespace gopmill
