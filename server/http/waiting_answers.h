// SPDX-License-Identifier: Apache-2.0
//
// What the bodies of finished answers that wait for their clients keep in memory, all connections
// of a server together. Bytes that several answers share count once.
//
// Thread-safety: thread-affine to the loop.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

#include "server/http/http_message.h"

namespace gopmill {

class WaitingAnswers {
 public:
  explicit WaitingAnswers(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // A body counts as long as this exists. `answers` null: it does not count.
  class Held {
   public:
    Held(std::shared_ptr<WaitingAnswers> answers, SharedBody body);
    ~Held();
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    const std::shared_ptr<WaitingAnswers> answers_;
    const SharedBody body_;
  };

  // Whether this one may wait too; a body that is too large for the limit may do so alone.
  [[nodiscard]] bool HasRoom(const SharedBody& body) const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  const std::size_t limit_bytes_;
  std::size_t bytes_ = 0;
  std::unordered_map<const void*, std::size_t> answers_;  // of each owner, how many
};

}  // namespace gopmill
