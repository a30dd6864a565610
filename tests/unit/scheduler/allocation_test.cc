// SPDX-License-Identifier: Apache-2.0
//
// Decisions do not allocate, and neither does the dispatcher around them once it has seen as many
// units as it will. Counts calls of operator new of the whole test program, per thread.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>

#include "scheduler/dispatcher.h"
#include "scheduler/policy_registry.h"
#include "scheduler/worker_layout.h"
#include "tests/unit/scheduler/virtual_pool.h"

namespace {
thread_local std::uint64_t allocations = 0;

void* CountedAllocation(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
}  // namespace

// All the forms the library uses, so that each block is freed by the family that made it.
void* operator new(std::size_t size) { return CountedAllocation(size); }
void* operator new[](std::size_t size) { return CountedAllocation(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  ++allocations;
  const auto align = static_cast<std::size_t>(alignment);
  // aligned_alloc wants a multiple of the alignment.
  if (void* memory = std::aligned_alloc(align, (size + align) / align * align)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace gopmill {
namespace {

class AllocationTest : public testing::TestWithParam<std::string> {};
std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : Policies()) names.emplace_back(entry.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Policies, AllocationTest, testing::ValuesIn(Names()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

struct Harness {
  explicit Harness(const std::string& policy_name) {
    const Topology topology = SyntheticTopology("pack:2 l3:2 core:2 pu:2");
    auto state =
        std::make_unique<PoolState>(topology, LayOutWorkers(topology, 16), PoolState::Params{});
    policy = MakePolicy(policy_name, {}, *state).value();
    pool = std::move(state);
  }
  std::unique_ptr<PoolState> pool;
  std::unique_ptr<Policy> policy;
};

TEST_P(AllocationTest, ADecisionDoesNotAllocate) {
  Harness harness(GetParam());
  PoolState& pool = *harness.pool;
  ActionList actions;
  std::vector<UnitRef> heads;
  for (std::uint64_t stream = 0; stream < 40; ++stream) {
    heads.push_back(pool.Add({.unit = {StreamId{stream}, {}}, .cost_bytes = 1000}, nullptr));
    pool.SetHome(heads.back(), harness.policy->Home(StreamId{stream}, pool));
  }
  const std::uint64_t before = allocations;
  for (const UnitRef head : heads) {
    actions.Clear();
    harness.policy->On(Arrived{head}, pool, {}, actions);
    if (actions.actions().empty()) continue;
    if (const auto* assign = std::get_if<Assign>(&actions.actions()[0])) {
      pool.Assign(assign->unit, assign->worker, {});
    }
    actions.Clear();
    harness.policy->On(WorkerFree{WorkerId{3}}, pool, {}, actions);
    harness.policy->Home(StreamId{7}, pool);
  }
  EXPECT_EQ(allocations, before);
}

TEST_P(AllocationTest, TheDispatcherDoesNotAllocateInTheSteadyState) {
  Harness harness(GetParam());
  Dispatcher dispatcher(std::move(harness.pool), std::move(harness.policy), nullptr);
  std::vector<DispatcherAction> actions;
  actions.reserve(1024);
  std::vector<JobReport> running;
  running.reserve(1024);
  std::int64_t index = 0;
  const auto submit_round = [&] {
    for (std::uint64_t stream = 0; stream < 40; ++stream) {
      dispatcher.Step(JobArrived{.spec = {.unit = {StreamId{stream}, UnitIndex{index}},
                                          .stream_number = stream,
                                          .cost_bytes = 1000,
                                          // Half of the streams share four contexts.
                                          .context = stream < 20 ? 0 : 1 + stream % 4},
                                 .job = nullptr,
                                 .submitted = {}},
                      {}, actions);
    }
    ++index;
  };
  const auto finish = [&](std::size_t units) {
    for (std::size_t done = 0; done < units; ++done) {
      for (const DispatcherAction& action : actions) {
        if (const auto* start = std::get_if<StartAction>(&action)) {
          running.push_back(start->ticket.report);
        }
      }
      actions.clear();
      const JobReport report = running.front();
      running.erase(running.begin());
      dispatcher.Step(JobFinished{report, nullptr}, {}, actions);
    }
  };
  for (int warm_up = 0; warm_up < 3; ++warm_up) submit_round();
  finish(30);
  submit_round();
  for (int warm_up = 0; warm_up < 20; ++warm_up) {
    finish(40);
    submit_round();
  }
  const std::uint64_t before = allocations;
  for (int round = 0; round < 20; ++round) {
    finish(40);
    submit_round();
  }
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace gopmill
