// SPDX-License-Identifier: Apache-2.0
//
// Indexes, plans and open readers of the movies that were asked for in segments lately, by the
// identity of the file: one that was replaced is read anew.
//
// Bounded: kMaxShelvedPlans plans of kMaxPlanBytes together (with kMaxKeptScriptBytes of scripts
// that they draw) and names of files beside as many movies, and kMaxShelvedFiles indexes of
// kMaxIndexBytes together, whether the requests that they were read for got an answer or an error;
// the newest is kept whatever its size. Thread-safety: safe; two requests for a file that has not
// been read yet read it once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/thread_safety.h"
#include "media/segment_reader.h"
#include "server/files/library.h"
#include "server/files/script_shelf.h"
#include "server/segments/kept_indexes.h"
#include "server/segments/segmented_movie.h"
#include "server/segments/shelved_file.h"

namespace gopmill {

inline constexpr std::size_t kMaxShelvedPlans = 64;
inline constexpr std::size_t kMaxPlanBytes = std::size_t{256} << 20U;
// Those that cannot be read or planned have no bytes that would count.
inline constexpr std::size_t kMaxShelvedFiles = kMaxShelvedPlans;
inline constexpr std::size_t kMaxIndexBytes = std::size_t{256} << 20U;
// Sound tracks of a presentation beside the movie's own; each is an index of the file.
inline constexpr std::size_t kMaxOtherSounds = 15;

struct Shelved {
  std::string path;
  std::shared_ptr<ShelvedFile> file;
  std::shared_ptr<const SegmentedMovie> movie;
};

class MovieShelf {
 public:
  // How a file is read: IndexSource, but in tests.
  using Indexer = std::function<Result<std::shared_ptr<const SourceIndex>>(
      UniqueFd fd, const std::stop_token& stop, int audio_track,
      std::vector<SubtitleTrack> beside)>;

  MovieShelf(const Library& library, ScriptShelf& scripts, Indexer indexer = &IndexSource,
             KeptIndexes kept = KeptIndexes())
      : library_(library), scripts_(scripts), indexer_(std::move(indexer)), kept_(kept) {}

  // The plan of a movie for this request if it is known: no movie is read, only looked at.
  Result<std::optional<Shelved>> Known(const std::string& path, const RequestParams& params);
  // Whether a plan for this is made by reading the movie to its end: its index is neither known nor
  // kept, or there may be no script of the text that is to be drawn. Looks at it, reads nothing.
  bool ReadsWhole(const std::string& path, const TargetRequest& request);
  // Whether the index of a movie of Library::List, with its first sound, is on disk, so that no
  // start of the server reads the movie again. Reads nothing.
  [[nodiscard]] bool Keeps(const Library::Entry& listed) const;
  // The plan of a movie for this request. Reads the file if it is not known.
  Result<Shelved> Get(const std::string& path, const SegmentRequest& request,
                      const RequestParams& params, const std::stop_token& stop);
  // The presentations that have each of the movie's audio_choices as their sound: itself, the first
  // kMaxOtherSounds of the others, and nothing for the rest or those that cannot be played.
  Result<std::vector<Shelved>> Sounds(const Shelved& shelved, SegmentRequest request,
                                      const RequestParams& params, const std::stop_token& stop);
  // Whether all of them are known: then no movie is read for them.
  bool KnowsSounds(const Shelved& shelved, const RequestParams& params);
  // A reader of the file, kept or new. kNotFound when the library has another file there now.
  Result<std::unique_ptr<SegmentReader>> Reader(const Shelved& movie, const std::stop_token& stop);
  // Readers of one file that nobody needs any more. Whoever destroys them waits for its disk.
  struct Unused {
    std::string path;
    ShelvedFile::Readers readers;
  };
  // Those that nobody has used since `time`.
  std::vector<Unused> TakeIdle(TimePoint time);
  // Those of files that are not kept any more.
  std::vector<Unused> TakeUnshelved();
  // Keeps nothing of a movie in memory any more.
  void Forget(const std::string& path);

 private:
  using Files = std::list<std::shared_ptr<ShelvedFile>>;
  struct Opened {
    UniqueFd fd;
    Library::Entry movie;
    FileIdentity identity;
    std::vector<Library::Entry> subtitles;
  };
  // The names in a large folder take milliseconds to read, and each request asks for them.
  struct Beside {
    std::string movie, folder;  // path; Library::FolderStamp
    std::vector<std::string> subtitles;
  };
  struct Plan {
    std::string key;
    Shelved shelved;
  };
  // What is let go of, to be destroyed without the lock: it is large.
  struct Dropped {
    std::list<Plan> plans;
    Files files;
  };
  // Cues of the files that are good; others are told of in the log. kIo when reading one fails:
  // nothing may be kept of that, or its tracks would have other numbers the next time.
  Result<std::vector<SubtitleTrack>> ReadBeside(const std::string& path, const Opened& opened,
                                                const std::stop_token& stop) const;
  Result<Opened> Open(const std::string& path) const;  // the movie alone
  void LookBeside(const std::string& path, Opened& opened);
  void AddTexts(const std::vector<std::string>& paths, Opened& opened) const;
  std::vector<std::string> SubtitlesOf(const std::string& path);
  std::optional<Shelved> KnownAs(const std::string& key);
  static std::string LastingIdentity(const Opened& opened);
  static std::string KeyOf(const Opened& opened, const std::string& path,
                           const RequestParams& params);
  std::shared_ptr<ShelvedFile> File(const std::string& path, const FileIdentity& identity,
                                    int audio_track);
  void ToFront(const std::shared_ptr<ShelvedFile>& file, Dropped& dropped) GOPMILL_REQUIRES(mutex_);
  Result<std::shared_ptr<const SourceIndex>> IndexOf(const std::shared_ptr<ShelvedFile>& file,
                                                     Opened opened, const std::string& path,
                                                     const std::stop_token& stop);
  // From the disk, where an earlier process left it; else by reading the movie.
  Result<std::shared_ptr<const SourceIndex>> MakeIndex(const ShelvedFile& file, Opened opened,
                                                       const std::string& path,
                                                       const std::stop_token& stop);
  void Keep(Plan plan);
  void DropPlans(const std::function<bool(const Plan&)>& which, Dropped& dropped)
      GOPMILL_REQUIRES(mutex_);
  void DropLargePlans(Dropped& dropped) GOPMILL_REQUIRES(mutex_);
  void DropFile(Files::iterator at, Dropped& dropped) GOPMILL_REQUIRES(mutex_);

  const Library& library_;
  ScriptShelf& scripts_;
  const Indexer indexer_;
  KeptIndexes kept_;
  Mutex mutex_;                                          // guards all lists
  std::list<Beside> beside_ GOPMILL_GUARDED_BY(mutex_);  // as `plans_`
  std::list<Plan> plans_ GOPMILL_GUARDED_BY(mutex_);     // asked for last in front
  Files files_ GOPMILL_GUARDED_BY(mutex_);
  std::vector<Unused> unshelved_ GOPMILL_GUARDED_BY(mutex_);  // of files that are not kept any more
};

}  // namespace gopmill
