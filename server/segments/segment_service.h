// SPDX-License-Identifier: Apache-2.0
//
// Answers requests for the parts of segmented movies: playlists from the plan, segments from the
// cache or made when asked.
//
// Requests for the same segment share one transcode. It is cancelled when all who asked for it have
// left. Plans and indexes of the movies asked for lately are kept in memory, within kMaxIndexBytes.
//
// Threads: kAnswerThreads of its own look movies up and give what is at hand (playlists of known
// movies, segments that are in the cache), in one folder at the library's top kMaxLooksInFolder at
// once: a disk that hangs is mounted at one. kReadThreads read movies (index, packets), of one
// movie kMaxReadsOfMovie at once, to its end fewer (kMaxWholeReads): a movie on a slow disk keeps
// nobody else waiting, and one that is opened nobody who watches. They close what they have read
// from, within the same bounds, since that may wait for the disk too. Requests for a
// movie whose index is being read wait for it without a thread. One thread gives segments that were
// made to who waits, another writes them to the cache, whose disk may be slow, or hang as well.
// Workers of the engine make segments. Thread-safety: safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_safety.h"
#include "scheduler/scheduler.h"
#include "server/api/service.h"
#include "server/files/disk_cache.h"
#include "server/files/library.h"
#include "server/files/script_shelf.h"
#include "server/segments/making_table.h"
#include "server/segments/movie_shelf.h"
#include "server/segments/run_shelf.h"
#include "server/segments/segment_job.h"
#include "server/segments/segment_playlist.h"
#include "server/segments/segment_request.h"
#include "server/segments/segment_tasks.h"
#include "server/stream/unit_observer.h"

namespace gopmill {

// Requests that wait for a thread or for a movie's index; more are refused (kUnavailable).
inline constexpr std::size_t kMaxPartRequests = 512;
// Those of them that wait to be looked up in one folder at the library's top, or for movies of it.
inline constexpr std::size_t kMaxWaitingInFolder = 384;
// Those of them that wait for the index of one movie.
inline constexpr std::size_t kMaxWaitingForMovie = 256;

// Of segments that were made and wait for the disk of the cache; beyond, but for a single one, they
// are not kept. Who asks for one meanwhile gets it.
inline constexpr std::size_t kMaxKeepingBytes = std::size_t{64} << 20U;

// What takes longer to be cancelled is told to the log; what is not kept by then is not kept.
inline constexpr std::chrono::seconds kLongEnd(5);

struct SegmentStats {
  std::uint64_t playlists = 0, segments = 0;  // answered
  std::uint64_t made = 0, shared = 0;         // transcodes; requests that joined one
  std::uint64_t went_on = 0;                  // made with the run of the segment before
  std::uint64_t not_modified = 0, failed = 0, cancelled = 0;
  // Pictures made up, whole or in parts, of the segments that were made.
  std::uint64_t concealed = 0, patched = 0;
  std::int64_t making = 0;
  std::int64_t unanswered = 0;  // requests that nobody makes a segment for yet
  std::uint64_t run_bytes = 0;  // of decoders that wait for the next segment, about
  DiskCacheStats cache;
};

struct SegmentOptions {
  SegmentDefaults defaults;
  std::string cache_folder;  // empty: nothing is kept
  std::int64_t cache_bytes = 0;
  DiskCache* movies = nullptr;  // where their indexes outlive the process; null = nowhere
  MovieShelf::Indexer indexer = &IndexSource;
  std::int64_t making_bytes = kMaxMakingBytes;
  std::size_t keeping_bytes = kMaxKeepingBytes;
};

class SegmentService {
 public:
  // Library, scripts and scheduler must outlive it. `observer` (may be null) hears of each job, of
  // which a segment that is in the cache needs none.
  SegmentService(const Library& library, ScriptShelf& scripts, Scheduler& scheduler,
                 const SegmentOptions& options, std::shared_ptr<UnitObserver> observer = nullptr);
  // Begins to answer. kUnavailable where the machine has no more threads.
  Status Start();
  // Cancels what is being made and waits for it; what waits is answered with an error.
  ~SegmentService();
  SegmentService(const SegmentService&) = delete;
  SegmentService& operator=(const SegmentService&) = delete;

  PartTicket Open(PartRequest request, PartCallback done);
  // Makes a movie's master playlist, as Open does, for nobody but to have its indexes kept: no
  // request, of which anything would be counted.
  PartTicket OpenAhead(const std::string& path, PartCallback done);
  // As MovieShelf::Keeps.
  [[nodiscard]] bool KeepsIndex(const Library::Entry& listed) const { return shelf_.Keeps(listed); }
  // As MovieShelf::Forget.
  void Forget(const std::string& path) { shelf_.Forget(path); }
  void Cancel(PartTicket ticket);
  // Lets readers of movies that nobody has used since `time` be closed soon, by threads that read,
  // and drops runs that nobody has gone on with since. It does so by itself for what is idle for
  // kReaderIdle, and at once for readers of movies that are not kept any more.
  void CloseReaders(TimePoint time);
  [[nodiscard]] SegmentStats stats() const;

 private:
  struct Waiting {  // one request
    PartTicket ticket = 0;
    PartRequest request;
    PartCallback done;
    std::uint16_t service_class = 0;  // index into the scheduler's classes
    bool ahead = false;               // nobody's: not counted
  };

  struct Ask {  // what a request says
    PartName name;
    SegmentRequest parsed;
  };
  PartTicket Admit(Waiting waiting);
  SegmentTask AnswerTask(const Waiting& waiting);
  void RunTasks(TaskPool pool);
  [[nodiscard]] bool Over() const GOPMILL_REQUIRES(mutex_);
  bool ClosesNow(TaskPool pool) GOPMILL_REQUIRES(mutex_);
  void AddTask(TaskPool pool, SegmentTask task);
  void Close(std::vector<MovieShelf::Unused> files);
  void Answer(Waiting waiting);
  // Whether nobody reads what `key` names: who asks has to, and to Unpark those who came meanwhile.
  // Else the request waits for that, or has been answered.
  bool IsFirst(const std::string& key, Waiting& waiting);
  std::vector<Waiting> Unpark(const std::string& key);
  void ReadMovie(Waiting waiting, const Ask& ask);
  void ReadFirst(const std::string& key, const Waiting& waiting, const Ask& ask);
  void AnswerFrom(const Shelved& movie, Waiting waiting, const Ask& ask);
  void AnswerManifest(const Shelved& movie, Waiting waiting, const Ask& ask);
  void ReadSounds(const std::string& key, const Shelved& movie, const Waiting& waiting,
                  const Ask& ask);
  Result<std::vector<SoundOf>> SoundsOf(const Shelved& movie, const Waiting& waiting,
                                        const Ask& ask);
  void AnswerText(const Shelved& movie, const Waiting& waiting, const Ask& ask,
                  const std::vector<SoundOf>& sounds = {});
  void ReplyText(const Waiting& waiting, const Ask& ask, Result<MediaPart> part);
  void AnswerSegment(const Shelved& movie, const PartName& name, bool versioned, Waiting waiting);
  [[nodiscard]] std::size_t WaitingIn(const std::string& folder) const GOPMILL_REQUIRES(mutex_);
  // Puts the request to those who wait for the segment of this key.
  Result<MakingTable::Joined> Join(const std::string& key, const Waiting& waiting, MediaPart part);
  void StartMaking(const Shelved& movie, const PartName& name, const std::string& key,
                   const std::shared_ptr<Making>& making);
  Result<SegmentWork> ReadWork(const Shelved& movie, const PartName& name);
  Status Submit(SegmentWork work, const std::string& key, const std::shared_ptr<Making>& making);
  JobSpec NewJob(const SegmentWork& work, std::uint16_t service_class) GOPMILL_REQUIRES(mutex_);
  using Bytes = std::shared_ptr<const std::string>;
  void OnMade(Result<MadeSegments> made, const std::string& key,
              const std::shared_ptr<Making>& making);
  void Finish(const std::string& key, const std::shared_ptr<Making>& making,
              const Result<Bytes>& bytes);
  // Lets a segment be written to the cache, from where Kept has it at once.
  void Keep(const std::string& key, const Bytes& bytes) GOPMILL_REQUIRES(mutex_);
  void WriteKept(const std::string& key, const Bytes& bytes);
  Bytes Kept(const std::string& key);  // null if it is not there
  [[nodiscard]] bool Left(PartTicket ticket);
  void Reply(const Waiting& waiting, Result<MediaPart> part);

  const SegmentDefaults defaults_;
  Scheduler& scheduler_;
  MovieShelf shelf_;
  RunShelf runs_;
  const std::unique_ptr<DiskCache> cache_;
  const std::size_t most_keeping_;
  const std::shared_ptr<UnitObserver> observer_;

  mutable Mutex mutex_;  // guards everything below
  CondVar changed_;
  SegmentTasks tasks_ GOPMILL_GUARDED_BY(mutex_);
  // Requests for a movie that is being read, by what is read of it: its path and the sound track of
  // the index, or the file and that it is all of them.
  std::map<std::string, std::vector<Waiting>> parked_ GOPMILL_GUARDED_BY(mutex_);
  std::map<std::string, Bytes> keeping_ GOPMILL_GUARDED_BY(mutex_);  // by key: not written yet
  std::size_t keeping_bytes_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::map<PartTicket, bool> open_ GOPMILL_GUARDED_BY(mutex_);  // not answered; true: has left
  MakingTable making_ GOPMILL_GUARDED_BY(mutex_);
  PartTicket next_ticket_ GOPMILL_GUARDED_BY(mutex_) = 1;
  std::int64_t next_unit_ GOPMILL_GUARDED_BY(mutex_) = 0;
  bool stopping_ GOPMILL_GUARDED_BY(mutex_) = false;
  TimePoint late_ GOPMILL_GUARDED_BY(mutex_) = TimePoint::max();              // kLongEnd after that
  TimePoint closing_ GOPMILL_GUARDED_BY(mutex_) = SteadyNow() + kReaderIdle;  // idle readers, next
  SegmentStats stats_ GOPMILL_GUARDED_BY(mutex_);

  std::stop_source reading_;  // ends what reads files
  std::vector<std::jthread> threads_;
};

}  // namespace gopmill
