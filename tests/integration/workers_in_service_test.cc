// SPDX-License-Identifier: Apache-2.0
//
// As many workers get units as the settings and the control group say now.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "server/service/media_service.h"
#include "tests/integration/end_sink.h"

namespace gopmill::test {
namespace {

std::vector<bool> InService(const MediaService& service) {
  std::vector<bool> in_service;
  const auto load = nlohmann::json::parse(service.Workers());
  for (const auto& worker : load["workers"]) {
    in_service.push_back(worker["in_service"].get<bool>());
  }
  return in_service;
}

// The dispatcher comes to it soon.
void ExpectInService(const MediaService& service, const std::vector<bool>& expected) {
  const TimePoint deadline = SteadyNow() + std::chrono::seconds(10);
  while (InService(service) != expected && SteadyNow() < deadline) std::this_thread::yield();
  EXPECT_EQ(InService(service), expected);
}

// The files of a control group.
class TestCgroup {
 public:
  TestCgroup() {
    std::string name = testing::TempDir() + "/cgroup-XXXXXX";
    GOPMILL_CHECK(mkdtemp(name.data()) != nullptr);
    top_ = name;
    std::filesystem::create_directories(top_ / "root/a");
    Write("membership", "0::/a");
  }
  ~TestCgroup() { std::filesystem::remove_all(top_); }
  TestCgroup(const TestCgroup&) = delete;
  TestCgroup& operator=(const TestCgroup&) = delete;

  // It allows so much CPU time from now on.
  [[nodiscard]] CgroupPaths With(const std::string& cpu_max) const {
    Write("root/a/cpu.max", cpu_max);
    return {.membership = top_ / "membership", .root = top_ / "root"};
  }

 private:
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream file(top_ / name);
    GOPMILL_CHECK(static_cast<bool>(file << text << std::endl));
  }
  std::filesystem::path top_;
};

// What is promised to live streams is less then, too.
double PromisedCores(const MediaService& service) {
  const std::string metrics = service.Metrics();
  const std::string name = "gopmill_class_promised_cores{class=\"default\"} ";
  const std::size_t at = metrics.find(name);
  return at == std::string::npos ? -1 : std::stod(metrics.substr(at + name.size()));
}

TEST(WorkersInService, AreAsManyAsTheQuotaAllows) {
  ServerConfig config;
  config.library = "movies/files";
  const auto service = MediaService::Create(config).value();
  const std::size_t cpus = InService(*service).size();
  if (cpus < 2) GTEST_SKIP() << "one CPU, or time for one";
  const TestCgroup cgroup;
  service->FitWorkers(cgroup.With("max 100000"));
  ExpectInService(*service, std::vector<bool>(cpus, true));
  const double promised = PromisedCores(*service);
  EXPECT_EQ(promised, static_cast<double>(cpus));

  service->FitWorkers(cgroup.With("90000 100000"));
  std::vector<bool> one(cpus, false);
  one[0] = true;
  ExpectInService(*service, one);
  EXPECT_EQ(PromisedCores(*service), 1.0);
  std::promise<StreamEnd> ended;
  ASSERT_TRUE(service->OpenStream("ref-talk.mpg", kSmall, std::make_unique<EndSink>(ended)).ok());
  EXPECT_EQ(ended.get_future().get().measures.at("frames"), "45");

  service->FitWorkers({.membership = "/does/not/exist", .root = "/"});  // nothing is known
  ExpectInService(*service, one);
  service->FitWorkers(cgroup.With("max 100000"));
  ExpectInService(*service, std::vector<bool>(cpus, true));
  EXPECT_EQ(PromisedCores(*service), promised);
}

TEST(WorkersInService, AReloadTakesNoMoreThanWereStarted) {
  ServerConfig config;
  config.library = "movies/files";
  config.scheduler.workers = 2;
  const auto service = MediaService::Create(config).value();
  config.scheduler.workers = 1;
  service->Reload(config);
  ExpectInService(*service, {true, false});
  service->FitWorkers(TestCgroup().With("max 100000"));  // the setting counts, not the quota
  ExpectInService(*service, {true, false});
  config.scheduler.workers = 5;
  service->Reload(config);
  ExpectInService(*service, {true, true});
}

}  // namespace
}  // namespace gopmill::test
