// SPDX-License-Identifier: Apache-2.0
//
// Disks that fail or hang, for tests: read(), fstat(), close() and rename() of the whole program
// ask here first.
//
// Thread-safety: safe; one of each at a time.
#pragma once

#include <cstdint>
#include <string>

namespace gopmill::test {

// While it lives, reading any file fails (EIO) from this byte of it on.
class FailingDisk {
 public:
  explicit FailingDisk(std::int64_t first_bad_byte);
  ~FailingDisk();
  FailingDisk(const FailingDisk&) = delete;
  FailingDisk& operator=(const FailingDisk&) = delete;
};

// While it lives, whoever looks at this file, or at one of those that lie in this folder, or closes
// it waits, and who gives another its name there.
class HungDisk {
 public:
  explicit HungDisk(const std::string& path);
  ~HungDisk();  // lets all go on
  HungDisk(const HungDisk&) = delete;
  HungDisk& operator=(const HungDisk&) = delete;

  // Waits until so many wait at once; false after ten seconds.
  static bool AwaitWaiting(int count);
};

}  // namespace gopmill::test
