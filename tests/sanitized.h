// SPDX-License-Identifier: Apache-2.0
//
// Whether the compiler puts the checks of a sanitizer in, which take memory and time of their own.
// g++ says so by macros, clang by features.
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GOPMILL_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GOPMILL_SANITIZED 1
#endif
#if !defined(GOPMILL_SANITIZED)
#define GOPMILL_SANITIZED 0
#endif
