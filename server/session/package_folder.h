// SPDX-License-Identifier: Apache-2.0
//
// A folder of files that appears as a whole or not at all: they are written below a temporary name
// beside it, which becomes the folder's at the end. Whatever ends before that leaves nothing.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gopmill {

class PackageFolder {
 public:
  // `path`: does not exist, or is an empty folder.
  explicit PackageFolder(std::string path);
  ~PackageFolder();  // removes what was written unless it was published
  PackageFolder(const PackageFolder&) = delete;
  PackageFolder& operator=(const PackageFolder&) = delete;

  // Claims the temporary name. kInvalidArgument naming "output" where `path` is taken, kIo and
  // kResourceExhausted otherwise.
  Status Create();
  // `name`: relative, with folders of its own where it has slashes. New each time.
  Status Write(const std::string& name, std::string_view bytes);
  Status Publish();

  [[nodiscard]] std::int64_t files() const { return files_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  const std::string path_, temporary_;
  bool created_ = false, published_ = false;
  std::int64_t files_ = 0, bytes_ = 0;
};

}  // namespace gopmill
