// SPDX-License-Identifier: Apache-2.0
#include "server/live/fanout_reader.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/log.h"

namespace gopmill {

bool FanoutItem::begins_gop() const {
  return packet != nullptr && track == 0 && ((*packet)->flags & AV_PKT_FLAG_KEY) != 0;
}

std::size_t FanoutItem::bytes() const {
  return packet == nullptr ? 0 : static_cast<std::size_t>((*packet)->size);
}

FanoutReader::FanoutReader(StreamId id, std::unique_ptr<StreamSink> sink)
    : id_(id),
      sink_(std::move(sink)),
      sink_output_(*sink_, {}, stop_.get_token(), [this] { first_byte_ = SteadyNow() - came_; }) {
  stats_.id = id;
}

void FanoutReader::Open(std::shared_ptr<const FanoutHeader> header) {
  const MutexLock lock(mutex_);
  header_ = std::move(header);
}

void FanoutReader::ComesLate() {
  const MutexLock lock(mutex_);
  needs_key_ = true;
}

void FanoutReader::Put(const FanoutItem& item, const FanoutRoom& room) {
  {
    const MutexLock lock(mutex_);
    if (over_ || (needs_key_ && !item.begins_gop())) return;
    queue_.push_back({.item = item, .after_gap = std::exchange(needs_key_, false)});
    bytes_ += item.bytes();
    while (!queue_.empty() &&
           (bytes_ > room.bytes || item.made - queue_.front().item.made > room.wait)) {
      DropOldest();
    }
  }
  changed_.NotifyAll();
}

// Everything up to the next key picture, or all there is.
void FanoutReader::DropOldest() {
  ++stats_.dropped_gops;
  do {
    bytes_ -= queue_.front().item.bytes();
    queue_.pop_front();
  } while (!queue_.empty() && !queue_.front().item.begins_gop());
  if (queue_.empty()) {
    needs_key_ = true;
  } else {
    queue_.front().after_gap = true;
  }
}

void FanoutReader::End(const StreamEnd& end) {
  {
    const MutexLock lock(mutex_);
    if (!end_) end_ = end;
  }
  changed_.NotifyAll();
}

void FanoutReader::Cancel() noexcept {
  stop_.request_stop();
  End({.status = Cancelled(), .measures = {}});
  sink_->Cancel();
}

ReaderSnapshot FanoutReader::Snapshot() const {
  const MutexLock lock(mutex_);
  return stats_;
}

// Nothing at a good end.
Result<std::optional<FanoutReader::Queued>> FanoutReader::Next() {
  const MutexLock lock(mutex_);
  while (queue_.empty() && !end_) changed_.Wait(mutex_);
  const bool failed = end_ && !end_->status.ok();
  const bool at_once = failed && end_->status.error().code == Code::kCancelled;
  if (queue_.empty() || at_once) {
    if (failed) return end_->status.error();
    return std::optional<Queued>();
  }
  Queued next = std::move(queue_.front());
  queue_.pop_front();
  bytes_ -= next.item.bytes();
  return std::optional<Queued>(std::move(next));
}

Status FanoutReader::Deliver() {
  while (true) {
    GOPMILL_ASSIGN_OR_RETURN(const std::optional<Queued> next, Next());
    if (!next) break;
    GOPMILL_RETURN_IF_ERROR(Write(*next));
  }
  if (output_ == nullptr) {
    return Error{.code = Code::kUnavailable,
                 .message = "The live source has ended before its next key picture."};
  }
  GOPMILL_RETURN_IF_ERROR(output_->Finish());
  NoteOutput();
  return OkStatus();
}

Status FanoutReader::Write(const Queued& next) {
  switch (next.item.kind) {
    case FanoutItem::Kind::kPacket: GOPMILL_RETURN_IF_ERROR(WritePacket(next)); break;
    case FanoutItem::Kind::kEndFragment: GOPMILL_RETURN_IF_ERROR(output_->EndFragment()); break;
    case FanoutItem::Kind::kEndUnit: GOPMILL_RETURN_IF_ERROR(output_->EndUnit()); break;
  }
  NoteOutput();
  return OkStatus();
}

void FanoutReader::NoteOutput() {
  const MutexLock lock(mutex_);
  stats_.bytes_out = output_->bytes_written();
  stats_.frames_out = output_->packets_written(0);
}

Status FanoutReader::WritePacket(const Queued& next) {
  if (output_ == nullptr) {
    std::shared_ptr<const FanoutHeader> header;
    {
      const MutexLock lock(mutex_);
      header = header_;
    }
    clock_.emplace(header->tracks);
    sink_output_.SetStart(header->start);
    GOPMILL_ASSIGN_OR_RETURN(output_, sink_output_.Open(header->container, header->tracks));
  }
  // What was written so far ends where packets are missing.
  if (next.after_gap && output_->packets_written(0) > 0) {
    GOPMILL_RETURN_IF_ERROR(output_->EndUnit());
  }
  av::Packet packet = av::Ref(**next.item.packet);
  if (!clock_->Place(next.item.track, next.after_gap, *packet)) return OkStatus();
  return output_->Write(next.item.track, std::move(packet));
}

void FanoutReader::Run() {
  StreamEnd end{.status = Deliver(), .measures = {}};
  {
    const MutexLock lock(mutex_);
    over_ = true;
    queue_.clear();
    bytes_ = 0;
    if (end_) end.measures = end_->measures;
    const bool by_itself = !end_ || end_->status.ok();
    if (by_itself && !end.status.ok() && end.status.error().code != Code::kCancelled) {
      spdlog::warn("reader {}: {}", id_.value, end.status.error().ToString());
    }
    // The encode's but for what this reader got of it.
    end.measures["bytes"] = std::to_string(stats_.bytes_out);
    end.measures["frames"] = std::to_string(stats_.frames_out);
    end.measures.erase("first-byte-ms");
    if (output_ != nullptr) {
      end.measures["first-byte-ms"] = fmt::format("{:.1f}", ToMillis(first_byte_));
    }
    end.measures["dropped-gops"] = std::to_string(stats_.dropped_gops);
  }
  output_.reset();
  sink_->Finish(end);
}

}  // namespace gopmill
