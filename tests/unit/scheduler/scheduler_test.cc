// SPDX-License-Identifier: Apache-2.0
//
// The facade with real threads. What policies and the dispatcher do is tested without threads in
// the other files of this folder; here it is about nothing being lost between them.
#include "scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/thread_safety.h"
#include "scheduler/policy_registry.h"
#include "scheduler/topology_hwloc.h"
#include "tests/unit/scheduler/virtual_pool.h"

namespace gopmill {
namespace {

// Collects reports; the test waits for as many as it expects.
class Reports {
 public:
  void Add(const JobReport& report) {
    const MutexLock lock(mutex_);
    reports_.push_back(report);
    changed_.NotifyAll();
  }
  std::vector<JobReport> WaitFor(std::size_t count) {
    const MutexLock lock(mutex_);
    while (reports_.size() < count) changed_.Wait(mutex_);
    return reports_;
  }
  std::size_t size() {
    const MutexLock lock(mutex_);
    return reports_.size();
  }

 private:
  Mutex mutex_;  // guards the list
  CondVar changed_;
  std::vector<JobReport> reports_ GOPMILL_GUARDED_BY(mutex_);
};

class TestJob final : public Job {
 public:
  TestJob(Reports& reports, std::function<JobOutcome()> run)
      : reports_(reports), run_(std::move(run)) {}
  JobOutcome Run(WorkerContext& /*worker*/) noexcept override { return run_(); }
  void OnReport(const JobReport& report) noexcept override { reports_.Add(report); }

 private:
  Reports& reports_;
  std::function<JobOutcome()> run_;
};

JobOutcome Done() { return JobOutcome::kDone; }

JobSpec Spec(std::uint64_t stream, std::int64_t index, std::size_t bytes = 1000) {
  return {
      .unit = {StreamId{stream}, UnitIndex{index}}, .stream_number = stream, .cost_bytes = bytes};
}

std::unique_ptr<Scheduler> MakeScheduler(const SchedulerOptions& options) {
  const Topology topology = DiscoverTopology({}).value();
  Result<std::unique_ptr<Scheduler>> made = Scheduler::Create(options, topology, {});
  GOPMILL_CHECK(made.ok());
  return std::move(made).value();
}

TEST(SchedulerTest, RunsAndReportsEveryJobUnderEveryPolicy) {
  for (const PolicyEntry& entry : Policies()) {
    for (const int workers : {1, 2, 8}) {
      SCOPED_TRACE(std::string(entry.name) + ", workers " + std::to_string(workers));
      Reports reports;
      const auto scheduler = MakeScheduler({.policy = std::string(entry.name), .workers = workers});
      ASSERT_EQ(scheduler->worker_count(), workers);
      std::vector<std::thread> submitters;
      for (std::uint64_t stream = 0; stream < 4; ++stream) {
        submitters.emplace_back([&, stream] {
          for (int index = 0; index < 50; ++index) {
            ASSERT_TRUE(
                scheduler->Submit(Spec(stream, index), std::make_unique<TestJob>(reports, Done))
                    .ok());
          }
        });
      }
      for (std::thread& submitter : submitters) submitter.join();
      const auto all = reports.WaitFor(200);
      std::map<UnitId, int> times;
      for (const JobReport& report : all) {
        EXPECT_EQ(++times[report.unit], 1);
        EXPECT_EQ(report.outcome, JobOutcome::kDone);
        EXPECT_LE(report.submitted, report.assigned);
        EXPECT_LE(report.assigned, report.started);
        EXPECT_LE(report.started, report.finished);
      }
      scheduler->Shutdown();
      const SchedulerStats stats = scheduler->Stats();
      EXPECT_EQ(stats.submitted, 200U);
      EXPECT_EQ(stats.assigned, 200U);
      EXPECT_EQ(stats.waiting_units, 0U);
      EXPECT_GE(stats.decisions, 200U);
      EXPECT_GT(stats.decision_time.count(), 0);
      std::uint64_t done = 0;
      for (const WorkerStats& worker : stats.workers) done += worker.jobs_done;
      EXPECT_EQ(done, 200U);
    }
  }
}

// Counters of Prometheus that go down are taken for a restart.
TEST(SchedulerTest, TheTimeOfAWorkerNeverGoesDown) {
  constexpr int kJobs = 2000;
  Reports reports;
  const auto scheduler = MakeScheduler({.workers = 1});
  for (int index = 0; index < kJobs; ++index) {
    ASSERT_TRUE(scheduler->Submit(Spec(1, index), std::make_unique<TestJob>(reports, Done)).ok());
  }
  Duration last{};
  while (reports.size() < kJobs) {
    const Duration busy = scheduler->Stats().workers[0].busy;
    ASSERT_GE(busy, last);
    last = busy;
  }
  scheduler->Shutdown();
  Duration inside{};
  for (const JobReport& report : reports.WaitFor(kJobs)) inside += report.finished - report.started;
  EXPECT_EQ(scheduler->Stats().workers[0].busy, inside);
}

TEST(SchedulerTest, TheNewestRunsOfAWorkerAreKept) {
  constexpr std::size_t kMore = 5;
  constexpr std::size_t kJobs = kRecentRuns + kMore;
  Reports reports;
  const auto scheduler = MakeScheduler({.workers = 1});
  EXPECT_TRUE(scheduler->StatsWithRuns().workers[0].recent.empty());
  for (std::size_t index = 0; index < kJobs; ++index) {
    ASSERT_TRUE(scheduler
                    ->Submit(Spec(1, static_cast<std::int64_t>(index)),
                             std::make_unique<TestJob>(reports, Done))
                    .ok());
    reports.WaitFor(index + 1);
    const std::size_t kept = scheduler->StatsWithRuns().workers[0].recent.size();
    EXPECT_EQ(kept, std::min(index + 1, kRecentRuns));
  }
  EXPECT_TRUE(scheduler->Stats().workers[0].recent.empty()) << "only where they are asked for";
  const std::vector<JobReport> told = reports.WaitFor(kJobs);
  const std::vector<WorkerRun> runs = scheduler->StatsWithRuns().workers[0].recent;
  ASSERT_EQ(runs.size(), kRecentRuns);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].unit, told[i + kMore].unit);
    EXPECT_EQ(runs[i].started, told[i + kMore].started);
    EXPECT_EQ(runs[i].finished, told[i + kMore].finished);
  }
}

TEST(SchedulerTest, TellsSinceWhenAUnitRuns) {
  Reports reports;
  std::latch begun(1), let_go(1);
  const auto scheduler = MakeScheduler({.workers = 1});
  EXPECT_FALSE(scheduler->Stats().workers[0].running_since.has_value());
  const auto wait = [&] {
    begun.count_down();
    let_go.wait();
    return JobOutcome::kDone;
  };
  ASSERT_TRUE(scheduler->Submit(Spec(1, 7), std::make_unique<TestJob>(reports, wait)).ok());
  begun.wait();
  const WorkerStats worker = scheduler->Stats().workers[0];
  let_go.count_down();
  EXPECT_EQ(worker.running, (UnitId{StreamId{1}, UnitIndex{7}}));
  EXPECT_EQ(worker.running_since, reports.WaitFor(1)[0].started);
}

TEST(SchedulerTest, WorkersArePinnedAndMayOutnumberPus) {
  const auto scheduler = MakeScheduler({.workers = 5});
  const SchedulerStats stats = scheduler->Stats();
  ASSERT_EQ(stats.workers.size(), 5U);
  for (const WorkerStats& worker : stats.workers) {
    EXPECT_TRUE(worker.pinned) << worker.pin_warning;
  }
}

TEST(SchedulerTest, PusThatDoNotExistAreAWarningInTheStatistics) {
  Reports reports;
  const Topology elsewhere = SyntheticTopology("pack:8 core:64 pu:1");
  auto made = Scheduler::Create({.workers = 512}, elsewhere, {});
  ASSERT_TRUE(made.ok());
  const std::unique_ptr<Scheduler> scheduler = std::move(made).value();
  EXPECT_FALSE(scheduler->Stats().workers.back().pin_warning.empty());
  ASSERT_TRUE(scheduler->Submit(Spec(1, 0), std::make_unique<TestJob>(reports, Done)).ok());
  EXPECT_EQ(reports.WaitFor(1)[0].outcome, JobOutcome::kDone);
}

TEST(SchedulerTest, RefusesWhatCannotWork) {
  const Topology topology = SyntheticTopology("core:2 pu:1");
  EXPECT_EQ(ErrorOf(Scheduler::Create({.policy = "best"}, topology, {})).accepted, PolicyNames());
  EXPECT_FALSE(Scheduler::Create({.workers = -1}, topology, {}).ok());
  EXPECT_FALSE(Scheduler::Create({.workers = 1'000'000}, topology, {}).ok());
  EXPECT_FALSE(Scheduler::Create({.run_queue_units = -2}, topology, {}).ok());

  Reports reports;
  const auto scheduler = MakeScheduler({});
  EXPECT_FALSE(scheduler->Submit(Spec(1, 0, 0), std::make_unique<TestJob>(reports, Done)).ok());
  EXPECT_FALSE(scheduler->Submit(Spec(1, 0), nullptr).ok());
  EXPECT_EQ(reports.size(), 0U);
}

TEST(SchedulerTest, RetriesAFailureOnAnotherWorker) {
  Reports reports;
  const auto scheduler = MakeScheduler({.workers = 2});
  auto runs = std::make_shared<std::atomic<int>>(0);
  const auto fail_once = [runs] {
    return runs->fetch_add(1) == 0 ? JobOutcome::kFailed : JobOutcome::kDone;
  };
  ASSERT_TRUE(scheduler->Submit(Spec(1, 0), std::make_unique<TestJob>(reports, fail_once)).ok());
  const JobReport report = reports.WaitFor(1)[0];
  EXPECT_EQ(report.outcome, JobOutcome::kDone);
  EXPECT_EQ(report.attempt, 1);
  EXPECT_NE(report.worker, report.home);
  EXPECT_EQ(scheduler->Stats().retries, 1U);
}

// One worker is kept busy, so that everything behind it is queued or waits.
struct BlockedScheduler {
  Reports reports;
  std::latch begun{1};
  std::latch go_on{1};
  std::unique_ptr<Scheduler> scheduler = MakeScheduler({.workers = 1});

  BlockedScheduler() {
    const auto block = [this] {
      begun.count_down();
      go_on.wait();
      return JobOutcome::kDone;
    };
    GOPMILL_CHECK(scheduler->Submit(Spec(1, 0), std::make_unique<TestJob>(reports, block)).ok());
    begun.wait();
    for (int index = 1; index < 6; ++index) {
      GOPMILL_CHECK(
          scheduler->Submit(Spec(1, index), std::make_unique<TestJob>(reports, Done)).ok());
    }
    GOPMILL_CHECK(scheduler->Submit(Spec(2, 0), std::make_unique<TestJob>(reports, Done)).ok());
  }
};

TEST(SchedulerTest, CancelReportsWhatHasNotBegunWhileTheRestRuns) {
  BlockedScheduler blocked;
  blocked.scheduler->Cancel(StreamId{1});
  const auto cancelled = blocked.reports.WaitFor(5);
  for (const JobReport& report : cancelled) {
    EXPECT_EQ(report.outcome, JobOutcome::kCancelled);
    EXPECT_EQ(report.unit.stream, StreamId{1});
  }
  const SchedulerStats stats = blocked.scheduler->Stats();
  EXPECT_EQ(stats.cancelled, 5U);
  EXPECT_EQ(stats.workers[0].running, (UnitId{StreamId{1}, UnitIndex{0}}));
  blocked.go_on.count_down();
  const auto all = blocked.reports.WaitFor(7);
  EXPECT_EQ(all[6].unit.stream, StreamId{2});
  EXPECT_EQ(all[6].outcome, JobOutcome::kDone);
}

// Changes take effect when the dispatcher comes to them.
void WaitForInService(const Scheduler& scheduler, std::ptrdiff_t workers) {
  const auto in_service = [&] {
    return std::ranges::count(scheduler.Stats().workers, true, &WorkerStats::in_service);
  };
  while (in_service() != workers) std::this_thread::yield();
}

TEST(SchedulerTest, WorkersOutOfServiceAreGivenNothingUnderAnyPolicy) {
  constexpr std::uint64_t kMany = 40;
  for (const PolicyEntry& entry : Policies()) {
    SCOPED_TRACE(std::string(entry.name));
    Reports reports;
    const auto scheduler = MakeScheduler({.policy = std::string(entry.name), .workers = 3});
    std::size_t submitted = 0;
    const auto run_all = [&](std::int64_t index) {
      for (std::uint64_t stream = 0; stream < kMany; ++stream, ++submitted) {
        ASSERT_TRUE(
            scheduler->Submit(Spec(stream, index), std::make_unique<TestJob>(reports, Done)).ok());
      }
      reports.WaitFor(submitted);
    };
    run_all(0);
    scheduler->SetInService(1);
    WaitForInService(*scheduler, 1);
    run_all(1);
    for (const JobReport& report : reports.WaitFor(submitted)) {
      EXPECT_EQ(report.outcome, JobOutcome::kDone);
      EXPECT_TRUE(report.unit.index.value != 1 || report.worker == WorkerId{0});
    }
    scheduler->SetInService(3);
    WaitForInService(*scheduler, 3);
    run_all(2);
  }
}

// Blocks the worker that runs it until that one is let go.
class BlockingJob final : public Job {
 public:
  struct Latches {
    std::latch begun{2};
    std::latch go_on[2] = {std::latch{1}, std::latch{1}};  // by worker
  };
  BlockingJob(Reports& reports, Latches& latches) : reports_(reports), latches_(latches) {}
  JobOutcome Run(WorkerContext& worker) noexcept override {
    latches_.begun.count_down();
    latches_.go_on[worker.id.value].wait();
    return JobOutcome::kDone;
  }
  void OnReport(const JobReport& report) noexcept override { reports_.Add(report); }

 private:
  Reports& reports_;
  Latches& latches_;
};

TEST(SchedulerTest, AWorkerThatGoesOutOfServiceHandsBackWhatItHasNotBegun) {
  Reports reports;
  BlockingJob::Latches latches;
  // It binds streams to workers by their numbers, early.
  const auto scheduler = MakeScheduler({.policy = "sm", .workers = 2});
  for (std::uint64_t stream = 0; stream < 2; ++stream) {
    ASSERT_TRUE(
        scheduler->Submit(Spec(stream, 0), std::make_unique<BlockingJob>(reports, latches)).ok());
  }
  latches.begun.wait();
  for (std::uint64_t stream = 2; stream < 6; ++stream) {
    ASSERT_TRUE(scheduler->Submit(Spec(stream, 0), std::make_unique<TestJob>(reports, Done)).ok());
  }
  EXPECT_EQ(scheduler->Stats().workers[1].queued_units, 1);
  scheduler->SetInService(1);
  WaitForInService(*scheduler, 1);
  while (scheduler->Stats().workers[1].queued_units > 0) std::this_thread::yield();
  latches.go_on[0].count_down();
  for (const JobReport& report : reports.WaitFor(5)) EXPECT_EQ(report.worker, WorkerId{0});
  latches.go_on[1].count_down();
  EXPECT_EQ(reports.WaitFor(6)[5].worker, WorkerId{1});
}

TEST(SchedulerTest, ShutdownCancelsTheQueueWaitsForTheRunningJobAndClosesTheGate) {
  BlockedScheduler blocked;
  std::thread closer([&] { blocked.scheduler->Shutdown(); });
  EXPECT_EQ(blocked.reports.WaitFor(6).size(), 6U) << "before the running job ends";
  const Status late =
      blocked.scheduler->Submit(Spec(3, 0), std::make_unique<TestJob>(blocked.reports, Done));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, Code::kUnavailable);
  blocked.go_on.count_down();
  closer.join();
  blocked.scheduler->Shutdown();
  EXPECT_EQ(blocked.reports.size(), 7U);
  EXPECT_EQ(blocked.scheduler->Stats().workers.size(), 1U) << "statistics outlive the threads";
}

// Its report runs on the dispatcher's thread, which delivers those of jobs that never ran.
class OnDispatcherThread final : public Job {
 public:
  explicit OnDispatcherThread(std::function<void()> then) : then_(std::move(then)) {}
  JobOutcome Run(WorkerContext& /*worker*/) noexcept override { return JobOutcome::kDone; }
  void OnReport(const JobReport& /*report*/) noexcept override { then_(); }

 private:
  std::function<void()> then_;
};

// The dispatcher's thread waits inside a report, so that events pile up; `sm` sends streams 0 and 2
// to worker 0, which is busy, and stream 1 to worker 1.
struct PiledUp {
  static constexpr int kMany = 600;  // more than any thread handles at a time
  Reports reports;
  std::latch busy{1}, inside{1}, go_on{1}, let_go{1};
  std::unique_ptr<Scheduler> scheduler = MakeScheduler({.policy = "sm", .workers = 2});

  PiledUp() {
    const auto block = [this] {
      busy.count_down();
      let_go.wait();
      return JobOutcome::kDone;
    };
    Submit(Spec(0, 0), std::make_unique<TestJob>(reports, block));
    busy.wait();
    Submit(Spec(2, 0), std::make_unique<OnDispatcherThread>([this] {
             inside.count_down();
             go_on.wait();
           }));
    scheduler->Cancel(StreamId{2});
    inside.wait();
    EventsOfNobody();
  }
  void Submit(const JobSpec& spec, std::unique_ptr<Job> job) const {
    GOPMILL_CHECK(scheduler->Submit(spec, std::move(job)).ok());
  }
  void EventsOfNobody() const {
    for (int i = 0; i < kMany; ++i) scheduler->Cancel(StreamId{77});
  }
  [[nodiscard]] std::uint64_t submitted() const { return scheduler->Stats().submitted; }
};

TEST(SchedulerTest, WhoSubmitsDoesNotHandleAllThatHasPiledUp) {
  PiledUp piled_up;
  piled_up.Submit(Spec(1, 0), std::make_unique<TestJob>(piled_up.reports, Done));
  EXPECT_EQ(piled_up.submitted(), 2U) << "it handled 600 events of others and its own";
  piled_up.go_on.count_down();
  EXPECT_EQ(piled_up.reports.WaitFor(1)[0].outcome, JobOutcome::kDone);
  piled_up.let_go.count_down();
}

TEST(SchedulerTest, WorkersAreWokenAndCancelsReportedWhileEventsKeepComing) {
  PiledUp piled_up;
  std::latch begun(1), reported(1);
  std::uint64_t submitted_then = 0;
  const auto begin = [&] {
    begun.count_down();
    return JobOutcome::kDone;
  };
  piled_up.Submit(Spec(2, 1), std::make_unique<OnDispatcherThread>([&] {
                    begun.wait();  // the worker has been woken
                    submitted_then = piled_up.submitted();
                    reported.count_down();
                  }));
  piled_up.Submit(Spec(1, 0), std::make_unique<TestJob>(piled_up.reports, begin));
  piled_up.scheduler->Cancel(StreamId{2});
  piled_up.EventsOfNobody();
  piled_up.Submit(Spec(1, 1), std::make_unique<TestJob>(piled_up.reports, Done));
  piled_up.go_on.count_down();
  reported.wait();
  EXPECT_EQ(submitted_then, 4U) << "all events were handled first, the last job's too";
  EXPECT_EQ(piled_up.reports.WaitFor(2).size(), 2U) << "nothing is lost";
  piled_up.let_go.count_down();
}

TEST(SchedulerTest, JobsMaySubmitAndCancelFromTheirReports) {
  struct Chain final : Job {
    Chain(Scheduler& s, Reports& r, int i) : scheduler(s), reports(r), index(i) {}
    JobOutcome Run(WorkerContext& /*worker*/) noexcept override { return JobOutcome::kDone; }
    void OnReport(const JobReport& report) noexcept override {
      if (index < 100) {
        const Status submitted = scheduler.Submit(
            Spec(1, index + 1), std::make_unique<Chain>(scheduler, reports, index + 1));
        GOPMILL_CHECK(submitted.ok());
      }
      scheduler.Cancel(StreamId{77});
      reports.Add(report);
    }
    Scheduler& scheduler;
    Reports& reports;
    int index;
  };
  Reports reports;
  const auto scheduler = MakeScheduler({.workers = 2});
  ASSERT_TRUE(scheduler->Submit(Spec(1, 0), std::make_unique<Chain>(*scheduler, reports, 0)).ok());
  EXPECT_EQ(reports.WaitFor(101).size(), 101U);
}

// Submitters, cancellers, readers of statistics and failing jobs, all at once, and the end in the
// middle of it.
TEST(SchedulerTest, NothingIsLostInACrowd) {
  for (const char* policy : {"h-cahrw", "fifo"}) {
    Reports reports;
    std::atomic<std::size_t> accepted = 0;
    {
      const auto scheduler = MakeScheduler({.policy = policy, .workers = 4});
      std::vector<std::thread> crowd;
      for (std::uint64_t stream = 0; stream < 4; ++stream) {
        crowd.emplace_back([&, stream] {
          for (int index = 0; index < 500; ++index) {
            const auto run = [index] {
              return index % 5 == 0 ? JobOutcome::kFailed : JobOutcome::kDone;
            };
            if (scheduler->Submit(Spec(stream, index), std::make_unique<TestJob>(reports, run))
                    .ok()) {
              ++accepted;
            }
            if (index % 100 == 99) scheduler->Cancel(StreamId{stream});
            if (index % 50 == 0) {
              EXPECT_EQ(scheduler->Stats().workers.size(), 4U);
            }
            if (stream == 3 && index == 400) scheduler->Shutdown();
          }
        });
      }
      for (std::thread& thread : crowd) thread.join();
    }
    EXPECT_EQ(reports.size(), accepted.load());
  }
}

}  // namespace
}  // namespace gopmill
