// SPDX-License-Identifier: Apache-2.0
#include "server/http/body_pipe.h"

#include <event2/event.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/pipe.h"

namespace gopmill {

Result<std::unique_ptr<BodyPipe>> BodyPipe::Open(event_base* base, std::function<void()> on_room,
                                                 UniqueFd& reader) {
  GOPMILL_ASSIGN_OR_RETURN(Pipe ends, OpenUploadPipe(PipeReader::kWaits));
  reader = std::move(ends.reader);
  std::unique_ptr<BodyPipe> pipe(new BodyPipe(std::move(ends.writer), std::move(on_room)));
  pipe->writable_.reset(
      event_new(base, pipe->writer_.get(), EV_WRITE, &BodyPipe::OnWritable, pipe.get()));
  GOPMILL_CHECK(pipe->writable_ != nullptr);
  return pipe;
}

BodyPipe::BodyPipe(UniqueFd writer, std::function<void()> on_room)
    : writer_(std::move(writer)), on_room_(std::move(on_room)) {}

void BodyPipe::Push(std::string_view bytes) {
  if (!writer_.valid()) return;
  waiting_ += bytes;
  Write();
}

void BodyPipe::End() {
  ended_ = true;
  if (!full()) Close();
}

void BodyPipe::OnWritable(int /*fd*/, short /*what*/, void* pointer) noexcept {
  auto* self = static_cast<BodyPipe*>(pointer);
  const std::function<void()> on_room = self->on_room_;  // may destroy this pipe
  self->Write();
  if (!self->full()) on_room();
}

void BodyPipe::Write() {
  while (written_ < waiting_.size()) {
    const ssize_t put =
        write(writer_.get(), waiting_.data() + written_, waiting_.size() - written_);
    if (put > 0) {
      written_ += static_cast<std::size_t>(put);
    } else if (errno == EAGAIN) {
      event_add(writable_.get(), nullptr);
      return;
    } else if (errno != EINTR) {
      Close();  // EPIPE: the reader has seen enough
      break;
    }
  }
  waiting_.clear();
  written_ = 0;
  if (ended_) Close();
}

void BodyPipe::Close() {
  writable_.reset();  // before its descriptor
  writer_ = UniqueFd();
}

}  // namespace gopmill
