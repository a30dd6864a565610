// SPDX-License-Identifier: Apache-2.0
//
// Calls into a C library that checks its own state with assertions. Decoders are given what anybody
// sends, and FFmpeg's have assertions that damaged pictures can reach; one of them must not end all
// the others' streams.
//
// What is called has to be C alone: it is left by a long jump, so no destructor of ours may lie in
// between, and what it worked on is in no known state. It must be left behind as it is, never to be
// used or freed.
//
// Thread-safety: safe; a call concerns its own thread only.
#pragma once

namespace gopmill {

// Objects that may be left behind in the life of a process. What fails beyond ends it, as it would
// without all this: a new process is better than one without memory.
inline constexpr int kMaxLeftBehind = 64;

// From now on assertions in calls of Contained are caught; elsewhere they end the process as ever.
// Process-wide; call it once, before there are threads.
void ContainAssertions();

// Calls `work(data)`. False if it failed an assertion (abort()) and did not return.
bool Contained(void (*work)(void*), void* data) noexcept;

// The same of a lambda that holds references.
template <class Work>
bool ContainedCall(const Work& work) noexcept {
  return Contained([](void* call) { (*static_cast<const Work*>(call))(); },
                   const_cast<Work*>(&work));
}

// How often that has happened.
int LeftBehind();

}  // namespace gopmill
