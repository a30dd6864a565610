// SPDX-License-Identifier: Apache-2.0
//
// A Service whose streams do what their path says, each on a thread of its own, as the real ones
// do. Paths:
//   small.mp4         two writes, then OK with measures
//   adjusted.mp4      like small.mp4, with an adjustment
//   endless.mp4       writes until the sink refuses
//   held.mp4          one write, then waits for Release() or a cancel
//   silent.mp4        waits before Start for a cancel; so does live/silent.mp4
//   broken.mp4        one write, then fails
//   dropped.mp4       destroys its sink without Finish
//   error/<code>      fails before Start with that code ("error/not-found")
// A publisher named "taken" is refused; others are read to their end.
// An upload is answered by its own bytes; a parameter "limit" ends it after that many bytes, and
// "reading" set to "late" lets it begin to read at Release().
// Parts (OpenPart) do what their movie says: held.mp4 is never answered, error/<code> fails, any
// other is ten digits with the tag "digits", or a playlist if the name ends with .m3u8. A parameter
// "bogus" is refused at once. The plan (Explain) of held.mp4 is never made either. Those of a movie
// big/... are long, and all its answers share them. Thread-safety: safe.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/thread_safety.h"
#include "server/api/service.h"

namespace gopmill {

class FakeService : public Service {
 public:
  FakeService() = default;
  ~FakeService() override;  // waits for all streams; the server must have stopped

  Result<StreamId> OpenStream(const std::string& path, const RequestParams& params,
                              std::unique_ptr<StreamSink> sink) override;
  Result<StreamId> ReplaceStream(StreamId before, const std::string& path,
                                 const RequestParams& params, const SinkMaker& make_sink) override {
    static_cast<void>(CancelStream(before));
    return OpenStream(path, params, make_sink());
  }
  Result<StreamId> OpenUpload(UniqueFd body, const RequestParams& params,
                              std::unique_ptr<StreamSink> sink) override;
  Status Publish(const std::string& name, const std::string& from, UniqueFd body,
                 JsonCallback done) override;
  Status PublishPackets(const std::string& name, const std::string& from,
                        std::shared_ptr<PacketFeed> feed, Takeover takeover,
                        JsonCallback done) override;
  Status CheckPublish(const std::string& /*name*/, Takeover /*takeover*/) const override {
    return OkStatus();
  }
  std::string LiveSources() const override { return "{\"live\":[]}"; }
  bool LiveWanted(const std::string& /*name*/) const override { return false; }
  void SetPull(const std::string& /*name*/, PullState /*state*/) override {}
  void CheckStream(const std::string& path, const RequestParams& params, std::stop_token left,
                   JsonCallback done) override;
  Status CancelStream(StreamId id) override;
  PartTicket OpenPart(PartRequest request, PartCallback done) override;
  void CancelPart(PartTicket ticket) override;
  void Sources(std::stop_token left, TextCallback done) override;
  void Explain(const std::string& path, const RequestParams& params, std::stop_token left,
               JsonCallback done) override;
  std::string Streams() const override;
  Result<std::string> Stream(StreamId id) const override;
  Result<std::string> Seams(StreamId id) const override;
  Result<std::string> Trace(StreamId id) const override;
  std::string Workers() const override { return R"({"workers":[]})"; }
  std::string Metrics() const override;
  bool Ready() const override { return ready.load(); }
  bool LibraryReadable() const override { return library_readable.load(); }

  std::string publisher();  // the last one, as it was named
  // Lets every held.mp4 finish.
  void Release();
  // Waits until `count` parts and plans were given up; false after ten seconds.
  bool AwaitLeft(int count);
  std::vector<PartTicket> parts_left();  // those that were given up; tickets begin at 1
  // Waits until `count` streams were cancelled; false after ten seconds.
  bool AwaitCancels(int count);
  // Waits until `count` streams have ended on their threads; false after ten seconds.
  bool AwaitEnded(int count);
  // Waits until the sink took nothing from any stream for `quiet`: every writer is blocked.
  void AwaitBlocked(Duration quiet);

  // The bytes of a movie big/..., which this and all answers that are on their way share.
  std::shared_ptr<const std::string> BigPart(const std::string& path);
  static constexpr std::size_t kBigPartBytes = std::size_t{1} << 20;

  std::atomic<bool> ready = true;
  std::atomic<bool> library_readable = true;
  std::atomic<bool> answer_sources = true;      // false: Sources never calls back
  std::atomic<std::int64_t> bytes_written = 0;  // taken by the sinks of endless.mp4
  std::atomic<std::int64_t> uploaded = 0;       // bytes read of all uploads
  std::atomic<int> last_write_code = -1;        // of the last write that failed

 private:
  struct Entry {
    std::thread thread;
    bool cancelled = false;
    bool ended = false;
  };
  void Run(StreamId id, const std::string& path, std::unique_ptr<StreamSink> sink);
  StreamEnd Play(StreamId id, const std::string& path, StreamSink& sink);
  StreamEnd PlayEndless(StreamSink& sink);
  StreamEnd Hold(StreamId id);
  Status Copy(UniqueFd body, std::size_t limit, StreamSink& sink);

  mutable Mutex mutex_;  // guards everything below
  CondVar changed_;
  std::map<std::string, std::shared_ptr<const std::string>> big_parts_ GOPMILL_GUARDED_BY(mutex_);
  std::map<StreamId, Entry> streams_ GOPMILL_GUARDED_BY(mutex_);
  std::vector<std::thread> helpers_ GOPMILL_GUARDED_BY(mutex_);
  std::string publisher_ GOPMILL_GUARDED_BY(mutex_);
  bool released_ GOPMILL_GUARDED_BY(mutex_) = false;
  int cancels_ GOPMILL_GUARDED_BY(mutex_) = 0;
  int left_ GOPMILL_GUARDED_BY(mutex_) = 0;
  // Each of a plan that is never answered.
  using LeftCallback = std::stop_callback<std::function<void()>>;
  std::vector<std::unique_ptr<LeftCallback>> waiting_plans_ GOPMILL_GUARDED_BY(mutex_);
  std::vector<PartTicket> parts_left_ GOPMILL_GUARDED_BY(mutex_);
  PartTicket next_part_ GOPMILL_GUARDED_BY(mutex_) = 1;
  int ended_ GOPMILL_GUARDED_BY(mutex_) = 0;
  std::uint64_t next_id_ GOPMILL_GUARDED_BY(mutex_) = 1;
};

// Every code there is.
std::vector<Code> AllCodes();

}  // namespace gopmill
