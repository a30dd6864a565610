// SPDX-License-Identifier: Apache-2.0
//
// A set of CPUs wide enough for every number that the kernel may use. The cpu_set_t of the C
// library ends at 1,024: where the kernel's own masks are wider it refuses that one.
//
// Thread-safety: compatible.
#pragma once

#include <sched.h>

#include <cstddef>
#include <memory>
#include <optional>

namespace gopmill {

class CpuMask {
 public:
  // Kernels are built for at most 8,192 CPUs.
  static constexpr int kCpus = 8192;
  CpuMask() : set_(CPU_ALLOC(kCpus)) { CPU_ZERO_S(size(), set_.get()); }
  // Where the calling thread may run; empty where the kernel does not tell.
  static std::optional<CpuMask> OfThisThread() {
    CpuMask mask;
    if (sched_getaffinity(0, size(), mask.set_.get()) != 0) return std::nullopt;
    return mask;
  }
  // Lets the calling thread run there and nowhere else. False, with errno, where it may not.
  [[nodiscard]] bool Apply() const { return sched_setaffinity(0, size(), set_.get()) == 0; }

  // `cpu` is from 0 to kCpus - 1.
  void Add(int cpu) { CPU_SET_S(static_cast<std::size_t>(cpu), size(), set_.get()); }
  [[nodiscard]] bool Holds(int cpu) const {
    return cpu >= 0 && cpu < kCpus &&
           CPU_ISSET_S(static_cast<std::size_t>(cpu), size(), set_.get());
  }
  [[nodiscard]] int count() const { return CPU_COUNT_S(size(), set_.get()); }

 private:
  struct Free {
    void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
  };
  static std::size_t size() { return CPU_ALLOC_SIZE(kCpus); }
  std::unique_ptr<cpu_set_t, Free> set_;
};

}  // namespace gopmill
