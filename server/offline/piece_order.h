// SPDX-License-Identifier: Apache-2.0
//
// In which order the pieces of a package are made: those that go on with what the piece before was
// decoded with behind that one, all others as they come. Pure: it knows of each whether it may go
// on, and what has been made.
//
// Guarantees: each piece is given out once; one that goes on when the piece before has been made,
// or, where a worker has nothing else to do, from the middle of a row that waits.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace gopmill {

class PieceOrder {
 public:
  // One more piece; whether it may go on with the one before it (never the first).
  void Add(bool goes_on);
  // The next one to be made. `idle`: a worker has nothing to do. None where all that are left wait
  // for others.
  std::optional<std::size_t> Next(bool idle);
  // This one has been made. The piece behind it, if that was to go on with it and has been begun
  // without it: nobody goes on with what this one was decoded with.
  std::optional<std::size_t> Made(std::size_t piece);
  [[nodiscard]] std::size_t left() const { return left_; }  // not given out

 private:
  struct Piece {
    bool goes_on = false, taken = false;
  };
  [[nodiscard]] std::optional<std::size_t> Split() const;

  std::vector<Piece> pieces_;
  std::size_t begun_ = 0;          // all before it that do not go on have been taken
  std::deque<std::size_t> ready_;  // those that go on with one that has been made
  std::size_t left_ = 0;
};

}  // namespace gopmill
