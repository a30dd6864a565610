// SPDX-License-Identifier: Apache-2.0
//
// Indexes of movies on disk, by the identity of their files: a movie is read to its end once, not
// once after each start of the server. Those of another build of the program are not found.
//
// Nothing here is an error to its caller: what cannot be read or taken back is not there.
//
// Thread-safety: safe; both calls read or write the disk.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "base/unique_fd.h"
#include "media/source_index.h"
#include "server/files/disk_cache.h"

namespace gopmill {

class KeptIndexes {
 public:
  // Null: nothing is kept.
  explicit KeptIndexes(DiskCache* disk = nullptr) : disk_(disk) {}

  // `identity` of the movie and of the texts beside it; `fd` of the movie. Null when there is none.
  std::shared_ptr<const SourceIndex> Find(const std::string& identity, int audio_track, UniqueFd fd,
                                          const std::stop_token& stop);
  // Whether there is one, which may yet turn out to be of no use. Reads nothing.
  [[nodiscard]] bool Has(const std::string& identity, int audio_track) const;
  void Keep(const std::string& identity, int audio_track, const SourceIndex& index);

 private:
  DiskCache* disk_;
};

}  // namespace gopmill
