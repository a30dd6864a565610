// SPDX-License-Identifier: Apache-2.0
//
// What is told of the library's files without transcoding them: the list of movies with what they
// are, what a stream would be answered in its headers (for HEAD), and plans.
//
// All of it reads files, on the one thread of FileRequests, one request after the other. What a
// movie is found to be is kept as long as its file stays the same, in memory and on disk: probing
// one takes tens of milliseconds, and a library may have thousands.
//
// Thread-safety: safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/thread_safety.h"
#include "media/target.h"
#include "server/api/service.h"
#include "server/files/disk_cache.h"
#include "server/files/file_requests.h"
#include "server/files/library.h"
#include "server/live/live_hub.h"
#include "server/stream/engine.h"

namespace gopmill {

class FileReports {
 public:
  // What a request would become if it were a stream: its number, and the policy of the settings.
  struct Next {
    StreamId stream;
    std::string policy;
  };
  // All of them must outlive it. `kept`: where descriptions of movies outlive the process.
  FileReports(const Library& library, const Engine& engine, LiveHub& live, DiskCache& kept,
              std::function<Next()> next)
      : library_(library),
        engine_(engine),
        live_(live),
        kept_(kept),
        next_(std::move(next)),
        requests_(library) {}
  // kUnavailable where the machine has no more threads.
  Status Start() { return requests_.Start(); }
  // As FileRequests::Stop.
  void Stop() { requests_.Stop(); }
  [[nodiscard]] bool library_readable() const { return requests_.library_readable(); }

  // As Service has them.
  void Sources(std::stop_token left, const TextCallback& done);
  void CheckStream(const std::string& path, const RequestParams& params, std::stop_token left,
                   const JsonCallback& done);
  void Explain(const std::string& path, const RequestParams& params, std::stop_token left,
               const JsonCallback& done);

 private:
  Result<SharedText> SourcesJson();
  std::string EntryJson(const Library::Entry& entry);
  std::string Probe(const Library::Entry& entry);
  void ForgetProbesExcept(const std::vector<Library::Entry>& entries);
  Result<std::string> Check(const std::string& path, const TargetRequest& request,
                            const std::stop_token& stop);
  Result<std::string> CheckLive(const std::string& name, const TargetRequest& request);
  // Whether the movie, with so many text tracks of its own, has the one that is asked for.
  [[nodiscard]] Status CheckBurn(const std::string& path, const TargetRequest& request,
                                 std::size_t own) const;
  [[nodiscard]] Status CheckCoding(const std::shared_ptr<const SourceInfo>& source,
                                   const Target& target) const;
  Result<std::string> ExplainEntry(const std::string& path, const TargetRequest& request,
                                   const std::stop_token& stop);

  const Library& library_;
  const Engine& engine_;
  LiveHub& live_;
  DiskCache& kept_;
  const std::function<Next()> next_;

  // By path. Used by the thread of `requests_` alone.
  struct Probed {
    Library::Entry of;
    std::string json;
  };
  std::map<std::string, Probed> probes_;
  FileRequests requests_;  // last: its thread uses all above
};

}  // namespace gopmill
