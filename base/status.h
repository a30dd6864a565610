// SPDX-License-Identifier: Apache-2.0
//
// Errors as values. A function that can fail returns `Status` (nothing on success) or `Result<T>`.
//
// Guarantees: both are [[nodiscard]], so an ignored failure is a compiler warning. Reading the
// value of a failed Result, or the error of a good one, is a bug of ours and aborts.
//
// Not errors: "try again", "end of stream", "queue full". Those are small enums at their call
// sites.
//
// Thread-safety: compatible (plain values).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace gopmill {

// What kind of failure it was. Callers branch on these few; the message is for people.
// The mapping to HTTP statuses and exit codes lives in one table each (server/http, server/cli).
enum class Code {
  kInvalidArgument,    // the caller asked for something that can never work
  kNotFound,           // no such movie, stream or file
  kAlreadyExists,      // another client has taken it
  kUnsupported,        // well-formed, but this build or this source cannot do it
  kCorrupt,            // the media is damaged beyond what can be repaired
  kResourceExhausted,  // a limit or the disk is full
  kUnavailable,        // not now: draining, over capacity
  kCancelled,          // the client left, or Ctrl-C
  kDeadlineExceeded,   // a time limit passed
  kIo,                 // reading or writing failed
  kInternal,           // our own mistake
};

// Stable lower-case name of a code ("invalid-argument"), used in JSON and logs.
std::string_view CodeName(Code code);

// One failure. `message` is a full sentence that can be shown to a client: it never holds a path of
// the server or a bare FFmpeg number. `parameter` names the request parameter at fault (else empty)
// and `accepted` says what would have been right (else empty).
struct Error {
  Code code = Code::kInternal;
  std::string message;
  std::string parameter = {};
  std::string accepted = {};
  int native = 0;  // the AVERROR or errno behind it, 0 when there is none; for logs only

  // The same error with "prefix: " in front of its message.
  [[nodiscard]] Error With(std::string_view prefix) const;
  // "message (parameter: x; accepted: y)", one line for terminals and logs.
  [[nodiscard]] std::string ToString() const;
};

namespace internal {
[[noreturn]] void AbortOnBadAccess(const char* what);
}

// A T or the reason why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & { return *Get<0>(state_, "value of a failed Result"); }
  [[nodiscard]] const T& value() const& { return *Get<0>(state_, "value of a failed Result"); }
  [[nodiscard]] T&& value() && { return std::move(*Get<0>(state_, "value of a failed Result")); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const { return *Get<1>(state_, "error of a good Result"); }

 private:
  // Never null: the compiler sees that the other way ends the process.
  template <std::size_t Index, class State>
  static auto* Get(State& state, const char* what) {
    auto* held = std::get_if<Index>(&state);
    if (held == nullptr) internal::AbortOnBadAccess(what);
    return held;
  }
  std::variant<T, Error> state_;
};

// Success, or the reason for failure.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const {
    if (ok()) internal::AbortOnBadAccess("error of a good Status");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

inline Status OkStatus() { return Status(); }

// Shorthands for the most frequent failures.
Error InvalidArgument(std::string parameter, std::string message, std::string accepted = {});
Error InternalError(std::string message, int native = 0);
// The caller asked for the end.
Error Cancelled();
// Whoever asks comes too late, and may find another server in its place.
Error ShuttingDown();

}  // namespace gopmill

// Leaves the enclosing function with the error of `expr` if it failed.
#define GOPMILL_RETURN_IF_ERROR(expr)                                             \
  do {                                                                            \
    if (const auto& gopmill_status = (expr); !gopmill_status.ok()) [[unlikely]] { \
      return gopmill_status.error();                                              \
    }                                                                             \
  } while (false)

#define GOPMILL_CONCAT_INNER(a, b) a##b
#define GOPMILL_CONCAT(a, b) GOPMILL_CONCAT_INNER(a, b)

// `lhs` gets the value of `expr`, or the enclosing function returns its error.
#define GOPMILL_ASSIGN_OR_RETURN(lhs, expr) \
  GOPMILL_ASSIGN_OR_RETURN_INNER(GOPMILL_CONCAT(gopmill_result_, __LINE__), lhs, expr)
#define GOPMILL_ASSIGN_OR_RETURN_INNER(result, lhs, expr) \
  auto result = (expr);                                   \
  if (!result.ok()) [[unlikely]] {                        \
    return result.error();                                \
  }                                                       \
  lhs = std::move(result).value()

// Always-on check of an invariant of our own; never for what a client sent.
#define GOPMILL_CHECK(condition)                                          \
  do {                                                                    \
    if (!(condition)) [[unlikely]] {                                      \
      ::gopmill::internal::AbortOnBadAccess("check failed: " #condition); \
    }                                                                     \
  } while (false)
