// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/http/fake_service.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace gopmill {
namespace {

constexpr std::chrono::seconds kPatience(10);

std::span<const std::uint8_t> Bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

StreamEnd Failed(Code code) {
  return {Error{.code = code, .message = "It failed.", .parameter = "width", .accepted = "2 to 4"},
          {}};
}

Code CodeFromName(std::string_view name) {
  for (const Code code : AllCodes()) {
    if (CodeName(code) == name) return code;
  }
  return Code::kInternal;
}

}  // namespace

std::vector<Code> AllCodes() {
  return {Code::kInvalidArgument, Code::kNotFound,          Code::kUnsupported,
          Code::kCorrupt,         Code::kResourceExhausted, Code::kUnavailable,
          Code::kCancelled,       Code::kDeadlineExceeded,  Code::kIo,
          Code::kInternal,        Code::kAlreadyExists};
}

FakeService::~FakeService() {
  Release();
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    for (auto& [id, entry] : streams_) {
      entry.cancelled = true;
      threads.push_back(std::move(entry.thread));
    }
    for (std::thread& helper : helpers_) threads.push_back(std::move(helper));
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads) thread.join();
}

Result<StreamId> FakeService::OpenStream(const std::string& path, const RequestParams& params,
                                         std::unique_ptr<StreamSink> sink) {
  for (const auto& [name, value] : params) {
    if (name == "bogus") return InvalidArgument(name, "There is no parameter 'bogus'.", "width");
  }
  MutexLock lock(mutex_);
  const StreamId id{next_id_++};
  streams_[id].thread = std::thread(
      [this, id, path, sink = std::move(sink)]() mutable { Run(id, path, std::move(sink)); });
  return id;
}

// Copies the body to the sink as it arrives.
Result<StreamId> FakeService::OpenUpload(UniqueFd body, const RequestParams& params,
                                         std::unique_ptr<StreamSink> sink) {
  std::size_t limit = SIZE_MAX;
  bool late = false;
  for (const auto& [name, value] : params) {
    if (name == "bogus") return InvalidArgument(name, "There is no parameter 'bogus'.", "width");
    if (name == "limit") limit = std::stoul(value);
    late = late || value == "late";
  }
  MutexLock lock(mutex_);
  const StreamId id{next_id_++};
  streams_[id].thread = std::thread(
      [this, id, body = std::move(body), sink = std::move(sink), limit, late]() mutable {
        StreamEnd end;
        if (late) end = Hold(id);
        if (end.status.ok()) end.status = Copy(std::move(body), limit, *sink);
        sink->Finish(end);
        sink.reset();
        MutexLock inner(mutex_);
        ++ended_;
        streams_[id].ended = true;
        changed_.NotifyAll();
      });
  return id;
}

Status FakeService::Publish(const std::string& name, const std::string& from, UniqueFd body,
                            JsonCallback done) {
  if (name == "taken") return Error{Code::kAlreadyExists, "Somebody publishes there already."};
  MutexLock lock(mutex_);
  publisher_ = from;
  helpers_.emplace_back([this, name, body = std::move(body), done = std::move(done)] {
    std::vector<std::uint8_t> buffer(4096);
    ssize_t got = 0;
    while ((got = read(body.get(), buffer.data(), buffer.size())) > 0) uploaded += got;
    if (name == "garbage") return done(Error{Code::kUnsupported, "This is no media."});
    done("{\"name\":\"" + name + "\"}");
  });
  return OkStatus();
}

std::string FakeService::publisher() {
  MutexLock lock(mutex_);
  return publisher_;
}

Status FakeService::PublishPackets(const std::string& /*name*/, const std::string& /*from*/,
                                   std::shared_ptr<PacketFeed> /*feed*/, Takeover /*takeover*/,
                                   JsonCallback /*done*/) {
  return Error{Code::kUnsupported, "HTTP does not publish packets."};
}

Status FakeService::Copy(UniqueFd body, std::size_t limit, StreamSink& sink) {
  std::vector<std::uint8_t> buffer(4096);
  bool started = false;
  while (limit > 0) {
    const ssize_t got = read(body.get(), buffer.data(), std::min(buffer.size(), limit));
    if (got <= 0) break;
    limit -= static_cast<std::size_t>(got);
    uploaded += got;
    if (!std::exchange(started, true)) {
      if (Status status = sink.Start({.content_type = "video/mp4", .adjustments = {}}); !status)
        return status;
    }
    if (Status status = sink.Write({buffer.data(), static_cast<std::size_t>(got)}); !status) {
      return status;
    }
  }
  return started ? OkStatus() : Error{Code::kUnsupported, "The source is empty."};
}

void FakeService::Run(StreamId id, const std::string& path, std::unique_ptr<StreamSink> sink) {
  if (path != "dropped.mp4") {
    const StreamEnd end = Play(id, path, *sink);
    sink->Finish(end);
  }
  sink.reset();
  MutexLock lock(mutex_);
  ++ended_;
  streams_[id].ended = true;
  changed_.NotifyAll();
}

StreamEnd FakeService::Play(StreamId id, const std::string& path, StreamSink& sink) {
  if (path.starts_with("error/")) return Failed(CodeFromName(path.substr(6)));
  if (path == "silent.mp4" || path == "live/silent.mp4") return Hold(id);
  StreamStart start{.content_type = "video/mp4", .adjustments = {}, .plan_ms = 12.34};
  if (path == "adjusted.mp4") {
    start.adjustments = {{"width", "641", "640", "4:2:0 video needs \"even\" sizes"}};
  }
  if (Status status = sink.Start(start); !status) return {status, {}};
  if (path == "endless.mp4") return PlayEndless(sink);
  if (Status status = sink.Write(Bytes("hello ")); !status) return {status, {}};
  if (path == "broken.mp4") return Failed(Code::kCorrupt);
  if (path == "held.mp4") return Hold(id);
  if (Status status = sink.Write(Bytes("world")); !status) return {status, {}};
  return {OkStatus(), {{"bytes", "11"}, {"frames", "3"}, {"jitter-ms", "0.25"}}};
}

StreamEnd FakeService::PlayEndless(StreamSink& sink) {
  const std::vector<std::uint8_t> block(200'000, 'x');
  while (true) {
    if (Status status = sink.Write(block); !status) {
      last_write_code = static_cast<int>(status.error().code);
      return {status, {}};
    }
    bytes_written += static_cast<std::int64_t>(block.size());
  }
}

StreamEnd FakeService::Hold(StreamId id) {
  MutexLock lock(mutex_);
  while (!released_ && !streams_[id].cancelled) changed_.Wait(mutex_);
  if (streams_[id].cancelled) return {Error{Code::kCancelled, "The stream was stopped."}, {}};
  return {OkStatus(), {{"bytes", "6"}}};
}

void FakeService::CheckStream(const std::string& path, const RequestParams& /*params*/,
                              std::stop_token /*left*/, JsonCallback done) {
  MutexLock lock(mutex_);
  helpers_.emplace_back([path, done = std::move(done)] {
    if (path.starts_with("error/")) {
      done(Failed(CodeFromName(path.substr(6))).status.error());
    } else {
      done(std::string("video/mp4"));
    }
  });
}

PartTicket FakeService::OpenPart(PartRequest request, PartCallback done) {
  MutexLock lock(mutex_);
  if (request.path == "held.mp4") return next_part_++;
  helpers_.emplace_back([this, request = std::move(request), done = std::move(done)] {
    if (request.path.starts_with("error/")) {
      return done(Failed(CodeFromName(request.path.substr(6))).status.error());
    }
    const bool playlist = request.name.ends_with(".m3u8");
    MediaPart part{.content_type = playlist ? "application/vnd.apple.mpegurl" : "video/mp4",
                   .etag = "\"digits\"",
                   .bytes = std::make_shared<const std::string>("0123456789"),
                   .not_modified = request.if_none_match == "\"digits\"",
                   .max_age_seconds = playlist ? 0 : 60};
    if (request.path.starts_with("big/")) part.bytes = BigPart(request.path);
    done(std::move(part));
  });
  return next_part_++;
}

std::shared_ptr<const std::string> FakeService::BigPart(const std::string& path) {
  MutexLock lock(mutex_);
  auto& bytes = big_parts_[path];
  if (!bytes) bytes = std::make_shared<const std::string>(kBigPartBytes, 'x');
  return bytes;
}

void FakeService::CancelPart(PartTicket ticket) {
  MutexLock lock(mutex_);
  parts_left_.push_back(ticket);
  ++left_;
  changed_.NotifyAll();
}

std::vector<PartTicket> FakeService::parts_left() {
  MutexLock lock(mutex_);
  return parts_left_;
}

bool FakeService::AwaitLeft(int count) {
  MutexLock lock(mutex_);
  while (left_ < count) {
    if (!changed_.WaitFor(mutex_, kPatience)) return false;
  }
  return true;
}

Status FakeService::CancelStream(StreamId id) {
  MutexLock lock(mutex_);
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second.ended) {
    return Error{Code::kNotFound, "There is no such stream."};
  }
  found->second.cancelled = true;
  ++cancels_;
  changed_.NotifyAll();
  return OkStatus();
}

void FakeService::Sources(std::stop_token /*left*/, TextCallback done) {
  if (!answer_sources) return;
  MutexLock lock(mutex_);
  helpers_.emplace_back([done = std::move(done)] {
    std::string body = "{\"sources\":[";
    for (int i = 0; i < 100; ++i) {
      body.append(i == 0 ? "" : ",").append("{\"path\":\"movie" + std::to_string(i) + ".mp4\"}");
    }
    done(std::make_shared<const std::string>(body + "]}"));
  });
}

void FakeService::Explain(const std::string& path, const RequestParams& params,
                          std::stop_token left, JsonCallback done) {
  if (path == "held.mp4") {
    auto waiting = std::make_unique<LeftCallback>(left, [this] {
      const MutexLock lock(mutex_);
      ++left_;
      changed_.NotifyAll();
    });
    const MutexLock lock(mutex_);
    waiting_plans_.push_back(std::move(waiting));
    return;
  }
  std::string body = "{\"path\":\"" + path + "\",\"parameters\":" + std::to_string(params.size());
  done(body + "}");
}

std::string FakeService::Streams() const { return "{\"streams\":[]}"; }

Result<std::string> FakeService::Stream(StreamId id) const {
  MutexLock lock(mutex_);
  if (!streams_.contains(id)) return Error{Code::kNotFound, "There is no such stream."};
  return "{\"id\":" + std::to_string(id.value) + "}";
}

Result<std::string> FakeService::Seams(StreamId id) const {
  MutexLock lock(mutex_);
  if (!streams_.contains(id)) return Error{Code::kNotFound, "There is no such stream."};
  return std::string(R"({"seams":[]})");
}

Result<std::string> FakeService::Trace(StreamId id) const {
  MutexLock lock(mutex_);
  if (!streams_.contains(id)) return Error{Code::kNotFound, "There is no such stream."};
  return std::string(R"({"traceEvents":[]})");
}

std::string FakeService::Metrics() const {
  return "# TYPE gopmill_engine_up gauge\ngopmill_engine_up 1\n";
}

void FakeService::Release() {
  MutexLock lock(mutex_);
  released_ = true;
  changed_.NotifyAll();
}

bool FakeService::AwaitCancels(int count) {
  MutexLock lock(mutex_);
  while (cancels_ < count) {
    if (!changed_.WaitFor(mutex_, kPatience)) return false;
  }
  return true;
}

bool FakeService::AwaitEnded(int count) {
  MutexLock lock(mutex_);
  while (ended_ < count) {
    if (!changed_.WaitFor(mutex_, kPatience)) return false;
  }
  return true;
}

void FakeService::AwaitBlocked(Duration quiet) {
  TimePoint last_change = SteadyNow();
  std::int64_t last = bytes_written;
  while (SteadyNow() - last_change < quiet) {
    std::this_thread::yield();
    if (const std::int64_t now = bytes_written; now != last) {
      last = now;
      last_change = SteadyNow();
    }
  }
}

}  // namespace gopmill
