// SPDX-License-Identifier: Apache-2.0
#include "server/live/fanout_table.h"

#include <utility>

#include "base/thread.h"

namespace gopmill {
namespace {

void Add(const ReaderSnapshot& reader, FanoutStats& stats) {
  stats.dropped_gops += reader.dropped_gops;
  stats.bytes += reader.bytes_out;
}

}  // namespace

FanoutTable::~FanoutTable() { Stop(); }

Status FanoutTable::Join(const std::string& key, StreamId id, std::unique_ptr<StreamSink> sink,
                         const Opener& open) {
  std::optional<StreamId> unread;
  // Goes without the lock: a sink that ends calls into those who serve its client.
  const auto reader = std::make_shared<FanoutReader>(id, std::move(sink));
  const auto join = [&]() -> Status {
    const MutexLock lock(mutex_);
    if (stopping_) return ShuttingDown();
    GOPMILL_ASSIGN_OR_RETURN(const Encode encode, Find(key, reader, open));
    return Start(Seat{.key = key, .encode = encode, .reader = reader, .thread = {}}, unread);
  };
  const Status status = join();
  if (unread) hooks_.cancel(*unread);
  return status;
}

// The encode that the reader has joined.
Result<FanoutTable::Encode> FanoutTable::Find(const std::string& key,
                                              const std::shared_ptr<FanoutReader>& reader,
                                              const Opener& open) {
  const auto found = encodes_.find(key);
  if (found != encodes_.end() && found->second.fanout->Join(reader)) return found->second;
  const auto fanout = std::make_shared<LiveFanout>();
  fanout->Join(reader);
  GOPMILL_ASSIGN_OR_RETURN(const StreamId id, open(fanout->MakeSink()));
  encodes_[key] = Encode{.id = id, .fanout = fanout};
  encode_count_ = encodes_.size();
  return encodes_[key];
}

// `unread`: set if it fails and leaves an encode behind that nobody reads.
Status FanoutTable::Start(Seat seat, std::optional<StreamId>& unread) {
  const auto reader = seat.reader;
  ++readers_;
  auto thread = StartThread([this, reader] {
    reader->Run();
    OnEnded(reader->id());
  });
  if (!thread.ok()) {
    unread = LeaveLocked(seat);
    return thread.error();
  }
  seat.thread = *std::move(thread);
  encode_of_[reader->id()] = seat.encode.id;
  if (encode_of_.size() > kKnownReaders) encode_of_.erase(encode_of_.begin());
  seats_.emplace(reader->id(), std::move(seat));
  return OkStatus();
}

bool FanoutTable::Leave(StreamId id) {
  std::shared_ptr<FanoutReader> reader;
  std::optional<StreamId> unread;
  {
    const MutexLock lock(mutex_);
    const auto seat = seats_.find(id);
    if (seat == seats_.end() || seat->second.left) return false;
    reader = seat->second.reader;
    unread = LeaveLocked(seat->second);
  }
  reader->Cancel();
  if (unread) hooks_.cancel(*unread);
  return true;
}

// The last act of a reader's thread.
void FanoutTable::OnEnded(StreamId id) {
  std::shared_ptr<FanoutReader> reader;  // let go of without the lock
  std::optional<StreamId> unread;
  {
    const MutexLock lock(mutex_);
    Seat& seat = seats_.at(id);
    unread = LeaveLocked(seat);
    Add(seat.reader->Snapshot(), before_);
    reader = std::move(seat.reader);
  }
  if (unread) hooks_.cancel(*unread);
  hooks_.on_left();
}

// The encode, if it was its last reader and it is to be stopped.
std::optional<StreamId> FanoutTable::LeaveLocked(Seat& seat) {
  if (std::exchange(seat.left, true)) return std::nullopt;
  --readers_;
  if (!seat.encode.fanout->Leave(*seat.reader)) return std::nullopt;
  const auto encode = encodes_.find(seat.key);
  if (encode != encodes_.end() && encode->second.id == seat.encode.id) encodes_.erase(encode);
  encode_count_ = encodes_.size();
  return seat.encode.fanout->over() ? std::optional<StreamId>() : seat.encode.id;
}

void FanoutTable::JoinEnded() {
  std::vector<std::jthread> ended;  // joined without the lock
  const MutexLock lock(mutex_);
  for (auto seat = seats_.begin(); seat != seats_.end();) {
    if (seat->second.reader == nullptr) {
      ended.push_back(std::move(seat->second.thread));
      seat = seats_.erase(seat);
    } else {
      ++seat;
    }
  }
}

std::optional<StreamId> FanoutTable::EncodeOf(StreamId reader) const {
  const MutexLock lock(mutex_);
  if (const auto seat = seats_.find(reader); seat != seats_.end()) return seat->second.encode.id;
  const auto kept = encode_of_.find(reader);
  return kept == encode_of_.end() ? std::optional<StreamId>() : kept->second;
}

std::map<StreamId, std::vector<ReaderSnapshot>> FanoutTable::Readers() const {
  const MutexLock lock(mutex_);
  std::map<StreamId, std::vector<ReaderSnapshot>> readers;
  for (const auto& [id, seat] : seats_) {
    auto& list = readers[seat.encode.id];
    if (!seat.left) list.push_back(seat.reader->Snapshot());
  }
  return readers;
}

FanoutStats FanoutTable::stats() const {
  const MutexLock lock(mutex_);
  FanoutStats stats = before_;
  stats.readers = readers_;
  for (const auto& [id, seat] : seats_) {
    if (seat.reader != nullptr) Add(seat.reader->Snapshot(), stats);
  }
  return stats;
}

void FanoutTable::Stop() {
  std::vector<std::shared_ptr<FanoutReader>> readers;
  std::vector<std::jthread> threads;  // joined without the lock
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    for (auto& [id, seat] : seats_) {
      if (seat.reader != nullptr) readers.push_back(seat.reader);
      threads.push_back(std::move(seat.thread));
    }
  }
  for (const auto& reader : readers) reader->Cancel();
}

}  // namespace gopmill
