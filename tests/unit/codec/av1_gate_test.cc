// SPDX-License-Identifier: Apache-2.0
#include "codec/av1_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace gopmill {
namespace {

TEST(Av1Gate, NobodyOpensWhileAnotherEncodesAndAllComeThrough) {
  constexpr int kThreads = 4, kUnits = 40, kRenditions = 2;
  Av1Gate gate;
  std::atomic<int> opening = 0, encoding = 0, wrong = 0, done = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int unit = 0; unit < kUnits; ++unit) {
        for (int r = 0; r < kRenditions; ++r) {
          gate.BeginOpening();
          wrong += ++opening != 1 || encoding > 0 ? 1 : 0;
          std::this_thread::yield();
          --opening;
          gate.EndOpening();
        }
        for (int r = 0; r < kRenditions; ++r) {
          gate.BeginEncoding();
          ++encoding;
          wrong += opening > 0 ? 1 : 0;
        }
        std::this_thread::yield();
        for (int r = 0; r < kRenditions; ++r) {
          --encoding;
          gate.EndEncoding();
        }
        ++done;
      }
    });
  }
  threads.clear();  // joins
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(done, kThreads * kUnits);
}

TEST(Av1Gate, OneClosesAtATime) {
  constexpr int kThreads = 4, kClosings = 200;
  Av1Gate gate;
  std::atomic<int> closing = 0, wrong = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kClosings; ++n) {
        gate.BeginClosing();
        wrong += ++closing != 1 ? 1 : 0;
        std::this_thread::yield();
        --closing;
        gate.EndClosing();
      }
    });
  }
  threads.clear();  // joins
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace gopmill
