// SPDX-License-Identifier: Apache-2.0
//
// A file descriptor that closes itself. Thread-safety: compatible.
#pragma once

#include <utility>

namespace gopmill {

class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd();
  [[nodiscard]] int get() const { return fd_; }
  // The caller closes it.
  [[nodiscard]] int Release() { return std::exchange(fd_, -1); }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

}  // namespace gopmill
