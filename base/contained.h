// SPDX-License-Identifier: Apache-2.0
//
// Calls into a C library that checks its own state with assertions. Decoders are given what anybody
// sends, and FFmpeg's have assertions that damaged pictures can reach; one of them must not end all
// the others' streams.
//
// Only an abort() that the library has announced is caught: it says which assertion failed before
// it calls it (av_assert0). Whatever else aborts ends the process as ever: the allocator at a heap
// that is damaged, a check of ours.
//
// What is called has to be C alone: it is left by a long jump, so no destructor of ours may lie in
// between, and what it worked on is in no known state. It must be left behind as it is, never to be
// used or freed. What the library calls back into us is Uncontained.
//
// Thread-safety: safe; a call concerns its own thread only.
#pragma once

namespace gopmill {

// Objects that may be left behind in the life of a process. What fails beyond ends it, as it would
// without all this: a new process is better than one without memory.
inline constexpr int kMaxLeftBehind = 64;

// From now on announced assertions in calls of Contained are caught. Process-wide; call it once,
// before there are threads.
void ContainAssertions();

// The library is about to abort() on this thread, at an assertion of its own.
void AnnounceAssertion() noexcept;

// Calls `work(data)`. False if it failed an assertion and did not return.
bool Contained(void (*work)(void*), void* data) noexcept;

// The same of a lambda that holds references.
template <class Work>
bool ContainedCall(const Work& work) noexcept {
  return Contained([](void* call) { (*static_cast<const Work*>(call))(); },
                   const_cast<Work*>(&work));
}

// While it exists nothing on this thread is caught.
class Uncontained {
 public:
  Uncontained() noexcept;
  ~Uncontained();
  Uncontained(const Uncontained&) = delete;
  Uncontained& operator=(const Uncontained&) = delete;

 private:
  void* const place_;
};

// How often an assertion was caught.
int LeftBehind();

}  // namespace gopmill
