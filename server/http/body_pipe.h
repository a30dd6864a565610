// SPDX-License-Identifier: Apache-2.0
//
// The bounded way of an upload from the event loop to the thread that reads it: a pipe of the
// kernel. The loop writes without blocking; what the pipe does not take waits here, and while
// something waits the connection is not read (full), so that a slow reader slows the client down
// and nothing grows. What waits is at most one piece given to Push.
//
// A reader that closes its end early (it has seen enough) is no error: the rest is dropped.
//
// Thread-safety: thread-affine to the loop; the read end may be used anywhere.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unique_fd.h"
#include "server/http/event_ptr.h"

namespace gopmill {

class BodyPipe {
 public:
  // `on_room` is called from the loop when a full pipe can take more. The read end goes to `reader`
  // (blocking). kUnavailable when the process has no descriptors left.
  static Result<std::unique_ptr<BodyPipe>> Open(event_base* base, std::function<void()> on_room,
                                                UniqueFd& reader);
  BodyPipe(const BodyPipe&) = delete;
  BodyPipe& operator=(const BodyPipe&) = delete;

  void Push(std::string_view bytes);
  // The body is complete: the reader sees its end once it has read what waits.
  void End();
  [[nodiscard]] bool full() const { return !waiting_.empty(); }

 private:
  BodyPipe(UniqueFd writer, std::function<void()> on_room);
  static void OnWritable(int fd, short what, void* self) noexcept;
  void Write();
  void Close();

  UniqueFd writer_;
  EventPtr writable_;
  const std::function<void()> on_room_;
  std::string waiting_;
  std::size_t written_ = 0;  // of waiting_
  bool ended_ = false;
};

}  // namespace gopmill
