// SPDX-License-Identifier: Apache-2.0
//
// A folder of files that are there together or not at all: they are written into a hidden folder
// inside of it, and moved up at the end, those that name the others last. Whatever ends before
// that leaves the folder as it was; what a killed process left is removed by the next one, but for
// what it had moved up already: then the folder is not empty, and is refused. Nothing that somebody
// else puts there meanwhile is replaced.
//
// The folder may be the working directory, a link to a folder or a mount point; it keeps its owner
// and mode. Two processes never write into one: the hidden folder is locked (flock).
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace gopmill {

inline constexpr const char* kIncompleteFolder = ".gopmill-incomplete";

class PackageFolder {
 public:
  // `path`: does not exist, or is an empty folder.
  explicit PackageFolder(std::string path);
  ~PackageFolder();  // removes what was written unless it was published
  PackageFolder(const PackageFolder&) = delete;
  PackageFolder& operator=(const PackageFolder&) = delete;

  // Claims it. kInvalidArgument naming "output" where `path` cannot be used or is taken, kIo and
  // kResourceExhausted otherwise.
  Status Create();
  // `name`: relative, with folders of its own where it has slashes. New each time.
  Status Write(const std::string& name, std::string_view bytes);
  // `last`: names of files that are moved up behind all others, in this order.
  Status Publish(const std::vector<std::string>& last);

  [[nodiscard]] std::int64_t files() const { return files_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  Status OpenFolder();
  Status CheckEmpty() const;
  Status Claim();
  Status MoveUp(const std::string& name);

  std::string path_;                // absolute once it is open
  bool made_ = false;               // by this object
  UniqueFd folder_, incomplete_;    // the second is locked
  std::vector<std::string> moved_;  // up, so far
  bool published_ = false;
  std::int64_t files_ = 0, bytes_ = 0;
};

}  // namespace gopmill
