// SPDX-License-Identifier: Apache-2.0
//
// One file of the library as it was when it was opened: its index, and readers for who comes next.
//
// Thread-safety: safe; two who ask for an index that is not there yet read it once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread_safety.h"
#include "media/segment_reader.h"
#include "server/segments/segmented_movie.h"

namespace gopmill {

// Opened sources kept per file, and for how long; opening one takes tens of milliseconds. Each has
// two descriptors, and while one is open the disk of a movie that was deleted stays full.
inline constexpr std::size_t kKeptReaders = 3;
inline constexpr std::chrono::seconds kReaderIdle{30};
inline constexpr int kReaderDescriptors = 2;

class ShelvedFile {
 public:
  // Read from `path` with the sound track of this number (SourceOptions).
  ShelvedFile(std::string path, FileIdentity identity, int audio_track)
      : path_(std::move(path)), identity_(std::move(identity)), audio_track_(audio_track) {}

  // The index, made by `read` for the first who asks.
  Result<std::shared_ptr<const SourceIndex>> Index(
      const std::function<Result<std::shared_ptr<const SourceIndex>>()>& read);
  // A reader for one use; give it back afterwards unless it failed. Kept while the file is on the
  // shelf: one that is not has none, so that its last owner closes no file.
  std::unique_ptr<SegmentReader> TakeReader();
  void GiveReader(std::unique_ptr<SegmentReader> reader);
  using Readers = std::vector<std::unique_ptr<SegmentReader>>;
  // Those given back before `time`, to be closed by the caller.
  Readers TakeIdle(TimePoint time);
  void Shelve();
  Readers Unshelve();  // to be closed by the caller
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const FileIdentity& identity() const { return identity_; }
  [[nodiscard]] int audio_track() const { return audio_track_; }
  [[nodiscard]] std::size_t footprint_bytes() const;  // of the index; 0: it is not known

 private:
  const std::string path_;
  const FileIdentity identity_;
  const int audio_track_;
  Mutex reading_;  // held while the file is read; guards nothing else
  mutable Mutex mutex_;
  std::shared_ptr<const SourceIndex> index_ GOPMILL_GUARDED_BY(mutex_);
  std::size_t bytes_ GOPMILL_GUARDED_BY(mutex_) = 0;  // of it; counting them takes a while
  struct Idle {
    std::unique_ptr<SegmentReader> reader;
    TimePoint since = {};
  };
  std::vector<Idle> readers_ GOPMILL_GUARDED_BY(mutex_);
  bool shelved_ GOPMILL_GUARDED_BY(mutex_) = false;
};

}  // namespace gopmill
