// SPDX-License-Identifier: Apache-2.0
//
// Everest on small cases worked out by hand. Two classes with half of four workers each and 55 ms
// of time; units take 10 ms, so the limit of two workers is 2 * (floor(55 / 10) - 1) = 8.
#include "scheduler/everest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/scheduler/class_load.h"

namespace gopmill {
namespace {

using std::chrono::milliseconds;

// Streams with odd numbers are of class b.
struct TwoClasses : VirtualPool {
  explicit TwoClasses(const char* policy) : VirtualPool(ParamsOf(policy)) {
    complete_spec = [](JobSpec& spec) {
      spec.service_class = static_cast<std::uint16_t>(spec.unit.stream.value % 2);
    };
  }
  static VirtualPoolParams ParamsOf(const char* policy) {
    return {.topology = "core:4 pu:1",
            .policy = policy,
            .options = ClassOptions("a:1:0:0:55,b:1:0:0:55")};
  }
  // How long its units take.
  void Learn(std::uint64_t stream) {
    Submit(stream, 0);
    FinishAll();
  }
};

TEST(EverestTest, AClassGetsAnotherWorkerWhenMoreWaitThanTheLimit) {
  TwoClasses pool("everest");
  pool.Learn(0);
  for (std::uint64_t i = 1; i <= 10; ++i) pool.Submit(2 * i, 0);
  EXPECT_EQ(pool.busy_workers(), 2) << "eight wait: within the limit";
  pool.Submit(22, 0);
  EXPECT_EQ(pool.busy_workers(), 3);
  EXPECT_GE(pool.WorkerOf(6, 0), 0) << "the oldest";
  EXPECT_EQ(pool.WorkerOf(22, 0), -1) << "the youngest";
}

// b's seven short units came together at the begin, so that its workers count as needed until the
// window has slid past them. No unit arrives then: it is the end of a's units that takes them.
TEST(EverestTest, AWorkerThatIsGivenAwayWhileItIsIdleBeginsAtOnce) {
  TwoClasses pool("everest");
  pool.Learn(0);
  pool.Learn(1);
  pool.service_time = [](const Ticket& ticket) {
    return milliseconds(ticket.report.unit.stream.value % 2 == 0 ? 10 : 1);
  };
  for (std::uint64_t i = 1; i <= 7; ++i) pool.Submit(2 * i + 1, 0);
  for (std::uint64_t i = 1; i <= 20; ++i) pool.Submit(2 * i, 0);
  const TimePoint begin = pool.now();
  pool.FinishUntil(begin + milliseconds(9));
  EXPECT_LT(pool.busy_workers(), 4);
  EXPECT_GT(pool.pool().waiting_units(), 12U) << "beyond the limit of three workers";
  pool.FinishUntil(begin + milliseconds(10));
  EXPECT_EQ(pool.busy_workers(), 4);
}

// Any class with units takes a free worker, and keeps none when it has no more.
TEST(EverestTest, TheEagerFormTakesAFreeWorkerForTheFirstUnitThatWaits) {
  TwoClasses pool("everest-ae");
  pool.Learn(0);
  for (std::uint64_t i = 1; i <= 3; ++i) pool.Submit(2 * i, 0);
  EXPECT_EQ(pool.busy_workers(), 3);
  pool.Submit(8, 0);
  pool.FinishAll();
  for (std::uint64_t i = 1; i <= 4; ++i) pool.Submit(2 * i + 1, 0);
  EXPECT_EQ(pool.busy_workers(), 4);
}

// Whom the workers serve where units of both classes wait.
std::vector<int> OwnersOf(Everest& rule) {
  VirtualPool busy(TwoClasses::ParamsOf("fifo"));
  busy.complete_spec = [](JobSpec& spec) {
    spec.service_class = static_cast<std::uint16_t>(spec.unit.stream.value % 2);
  };
  for (std::uint64_t stream = 0; stream < 20; ++stream) busy.Submit(stream, 0);
  std::vector<int> owners;
  for (std::int32_t w = 0; w < 4; ++w) {
    owners.push_back(rule.ClassFor(WorkerId{w}, busy.pool(), busy.now()));
  }
  return owners;
}

// All four are idle and asked, one begins. The workers are dealt out in turn: a, b, a, b.
TEST(EverestTest, OneUnitTakesOneWorker) {
  Everest* rule = nullptr;
  VirtualPoolParams params = TwoClasses::ParamsOf("everest-ae");
  params.make_policy = [&](const PoolState& pool) {
    auto made = std::make_unique<Everest>(Everest::Form::kAe, pool);
    rule = made.get();
    return MakeClassPolicy(params.options, std::move(made));
  };
  VirtualPool pool(params);
  pool.complete_spec = [](JobSpec& spec) { spec.service_class = 1; };
  pool.Submit(1, 0);
  EXPECT_EQ(pool.WorkerOf(1, 0), 0);
  EXPECT_THAT(OwnersOf(*rule), testing::ElementsAre(1, 1, 0, 1));
}

}  // namespace
}  // namespace gopmill
