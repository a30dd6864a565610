// SPDX-License-Identifier: Apache-2.0
#include "scheduler/thread_executor.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "base/thread_safety.h"
#include "scheduler/topology_hwloc.h"

namespace gopmill {
namespace {

class CountingListener final : public ExecutorListener {
 public:
  void OnFinished(const JobReport& report, std::unique_ptr<Job> job) override {
    const MutexLock lock(mutex_);
    reports_.push_back(report);
    if (job != nullptr) returned_.push_back(std::move(job));
    changed_.NotifyAll();
  }
  std::vector<JobReport> WaitFor(std::size_t count) {
    const MutexLock lock(mutex_);
    while (reports_.size() < count) changed_.Wait(mutex_);
    return reports_;
  }
  std::size_t returned() {
    const MutexLock lock(mutex_);
    return returned_.size();
  }

 private:
  Mutex mutex_;  // guards both lists
  CondVar changed_;
  std::vector<JobReport> reports_ GOPMILL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Job>> returned_ GOPMILL_GUARDED_BY(mutex_);
};

class FunctionJob final : public Job {
 public:
  FunctionJob(std::function<JobOutcome(WorkerContext&)> run, std::atomic<int>& reported)
      : run_(std::move(run)), reported_(reported) {}
  JobOutcome Run(WorkerContext& worker) noexcept override { return run_(worker); }
  void OnReport(const JobReport& /*report*/) noexcept override { ++reported_; }

 private:
  std::function<JobOutcome(WorkerContext&)> run_;
  std::atomic<int>& reported_;
};

Ticket TicketFor(std::unique_ptr<Job> job, std::int64_t index, bool may_retry = false) {
  Ticket ticket;
  ticket.job = std::move(job);
  ticket.report.unit = {StreamId{1}, UnitIndex{index}};
  ticket.report.worker = WorkerId{0};
  ticket.may_retry = may_retry;
  return ticket;
}

void Start(Executor& executor, Ticket ticket) {
  executor.Start(WorkerId{0}, std::move(ticket));
  executor.Wake(WorkerId{0});
}

int FirstAllowedPu() { return DiscoverTopology({}).value().pu(0).os_index; }

TEST(ThreadExecutorTest, WorkersRunOnTheirPuAndNowhereElse) {
  const int pu = FirstAllowedPu();
  CountingListener listener;
  ThreadExecutor executor({.pu_os_indices = {pu}, .pin = true, .make_local = {}});
  ASSERT_TRUE(executor.Launch(listener).ok());
  ASSERT_EQ(executor.Placements().size(), 1U);
  EXPECT_EQ(executor.Placements()[0].pu_os_index, pu);
  EXPECT_TRUE(executor.Placements()[0].pinned) << executor.Placements()[0].warning;
  std::atomic<int> reported = 0;
  cpu_set_t mask;
  const auto look = [&](WorkerContext&) {
    return sched_getaffinity(0, sizeof mask, &mask) == 0 ? JobOutcome::kDone : JobOutcome::kFailed;
  };
  Start(executor, TicketFor(std::make_unique<FunctionJob>(look, reported), 0));
  listener.WaitFor(1);
  executor.Stop();
  EXPECT_EQ(CPU_COUNT(&mask), 1);
  EXPECT_TRUE(CPU_ISSET(static_cast<std::size_t>(pu), &mask));
  EXPECT_EQ(reported, 1);
}

// Its threads start with the mask of the one that makes them.
TEST(ThreadExecutorTest, AJobWithThreadsMayUseThePusOfAllWorkers) {
  const Topology topology = DiscoverTopology({}).value();
  if (topology.pu_count() < 2) GTEST_SKIP() << "one PU";
  class Spreading final : public Job {
   public:
    Spreading(bool spreads, std::atomic<int>& cpus) : spreads_(spreads), cpus_(cpus) {}
    JobOutcome Run(WorkerContext& /*worker*/) noexcept override {
      cpu_set_t mask;
      if (sched_getaffinity(0, sizeof mask, &mask) == 0) cpus_ = CPU_COUNT(&mask);
      return JobOutcome::kDone;
    }
    void OnReport(const JobReport& /*report*/) noexcept override {}
    [[nodiscard]] bool spreads() const override { return spreads_; }

   private:
    const bool spreads_;
    std::atomic<int>& cpus_;
  };
  CountingListener listener;
  ThreadExecutor executor({.pu_os_indices = {topology.pu(0).os_index, topology.pu(1).os_index},
                           .pin = true,
                           .make_local = {}});
  ASSERT_TRUE(executor.Launch(listener).ok());
  std::atomic<int> spread = 0, pinned = 0;
  Start(executor, TicketFor(std::make_unique<Spreading>(true, spread), 0));
  Start(executor, TicketFor(std::make_unique<Spreading>(false, pinned), 1));
  listener.WaitFor(2);
  EXPECT_EQ(spread, 2);
  EXPECT_EQ(pinned, 1);
}

TEST(ThreadExecutorTest, APinThatFailsIsAWarning) {
  CountingListener listener;
  ThreadExecutor executor({.pu_os_indices = {8000, 100'000}, .pin = true, .make_local = {}});
  ASSERT_TRUE(executor.Launch(listener).ok());
  for (const WorkerPlacement& placement : executor.Placements()) {
    EXPECT_FALSE(placement.pinned);
    EXPECT_FALSE(placement.warning.empty());
  }
}

TEST(ThreadExecutorTest, WithoutPinningThereIsNothingToWarnOf) {
  CountingListener listener;
  ThreadExecutor executor({.pu_os_indices = {0}, .pin = false, .make_local = {}});
  ASSERT_TRUE(executor.Launch(listener).ok());
  EXPECT_FALSE(executor.Placements()[0].pinned);
  EXPECT_TRUE(executor.Placements()[0].warning.empty());
}

TEST(ThreadExecutorTest, WorkerStateIsMadeUsedAndDestroyedOnTheWorkersThread) {
  static std::thread::id made;
  static std::thread::id destroyed;
  struct Local final : WorkerLocal {
    ~Local() override { destroyed = std::this_thread::get_id(); }
  };
  CountingListener listener;
  std::atomic<int> reported = 0;
  std::thread::id used;
  {
    ThreadExecutor executor({.pu_os_indices = {0}, .pin = false, .make_local = [](WorkerId) {
                               made = std::this_thread::get_id();
                               return std::make_unique<Local>();
                             }});
    ASSERT_TRUE(executor.Launch(listener).ok());
    const auto look = [&](WorkerContext& worker) {
      used = std::this_thread::get_id();
      return worker.local != nullptr ? JobOutcome::kDone : JobOutcome::kFailed;
    };
    Start(executor, TicketFor(std::make_unique<FunctionJob>(look, reported), 0));
    EXPECT_EQ(listener.WaitFor(1)[0].outcome, JobOutcome::kDone);
  }
  EXPECT_EQ(made, used);
  EXPECT_EQ(made, destroyed);
  EXPECT_NE(made, std::this_thread::get_id());
}

TEST(ThreadExecutorTest, RunsInOrderAndRecallsOnlyWhatHasNotBegun) {
  CountingListener listener;
  ThreadExecutor executor({.pu_os_indices = {0}, .pin = false, .make_local = {}});
  ASSERT_TRUE(executor.Launch(listener).ok());
  std::atomic<int> reported = 0;
  std::latch begun(1);
  std::latch go_on(1);
  const auto wait = [&](WorkerContext&) {
    begun.count_down();
    go_on.wait();
    return JobOutcome::kDone;
  };
  const auto quick = [](WorkerContext&) { return JobOutcome::kDone; };
  Start(executor, TicketFor(std::make_unique<FunctionJob>(wait, reported), 0));
  for (int i = 1; i < 4; ++i) {
    Start(executor, TicketFor(std::make_unique<FunctionJob>(quick, reported), i));
  }
  begun.wait();
  EXPECT_FALSE(executor.TryRecall(WorkerId{0}, {StreamId{1}, UnitIndex{0}}));
  EXPECT_TRUE(executor.TryRecall(WorkerId{0}, {StreamId{1}, UnitIndex{2}}));
  EXPECT_FALSE(executor.TryRecall(WorkerId{0}, {StreamId{1}, UnitIndex{2}}));
  go_on.count_down();
  const std::vector<JobReport> reports = listener.WaitFor(3);
  executor.Stop();
  EXPECT_EQ(reports[0].unit.index.value, 0);
  EXPECT_EQ(reports[1].unit.index.value, 1);
  EXPECT_EQ(reports[2].unit.index.value, 3);
  EXPECT_EQ(reported, 3);
}

TEST(ThreadExecutorTest, AFailureComesBackUnreportedOnlyIfItMayBeRetried) {
  CountingListener listener;
  ThreadExecutor executor({.pu_os_indices = {0}, .pin = false, .make_local = {}});
  ASSERT_TRUE(executor.Launch(listener).ok());
  std::atomic<int> reported = 0;
  const auto fail = [](WorkerContext&) { return JobOutcome::kFailed; };
  Start(executor, TicketFor(std::make_unique<FunctionJob>(fail, reported), 0, true));
  Start(executor, TicketFor(std::make_unique<FunctionJob>(fail, reported), 1, false));
  listener.WaitFor(2);
  executor.Stop();
  EXPECT_EQ(listener.returned(), 1U);
  EXPECT_EQ(reported, 1);
}

TEST(ThreadExecutorTest, MeasuresTimeAndCpuTimeOfARun) {
  CountingListener listener;
  ThreadExecutor executor({.pu_os_indices = {0}, .pin = false, .make_local = {}});
  ASSERT_TRUE(executor.Launch(listener).ok());
  std::atomic<int> reported = 0;
  const auto spin = [](WorkerContext&) {
    const Duration start = ThreadCpuNow();
    while (ThreadCpuNow() - start < std::chrono::milliseconds(2)) {
    }
    return JobOutcome::kDone;
  };
  Start(executor, TicketFor(std::make_unique<FunctionJob>(spin, reported), 0));
  const JobReport report = listener.WaitFor(1)[0];
  executor.Stop();  // a job reports before it ends
  EXPECT_GE(report.cpu, std::chrono::milliseconds(2));
  EXPECT_GE(report.finished - report.started, report.cpu);
}

}  // namespace
}  // namespace gopmill
