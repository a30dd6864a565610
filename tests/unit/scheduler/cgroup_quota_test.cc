// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cgroup_quota.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace gopmill {
namespace {

namespace fs = std::filesystem;

class CgroupQuotaTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    top_ = fs::path(testing::TempDir()) / (std::string("cgroup-") + test->name());
    fs::remove_all(top_);
    fs::create_directories(top_ / "root");
  }
  void TearDown() override { fs::remove_all(top_); }

  void Membership(const std::string& lines) { Write(top_ / "membership", lines); }
  void File(const std::string& path, const std::string& text) { Write(top_ / "root" / path, text); }
  std::optional<double> Quota() const {
    return CgroupCpuQuota({.membership = top_ / "membership", .root = top_ / "root"});
  }

 private:
  static void Write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  fs::path top_;
};

TEST_F(CgroupQuotaTest, NothingReadableMeansNoLimit) { EXPECT_EQ(Quota(), std::nullopt); }

TEST_F(CgroupQuotaTest, VersionTwoReadsCpuMax) {
  Membership("0::/a/b\n");
  File("a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(Quota(), 1.5);
}

TEST_F(CgroupQuotaTest, VersionTwoMaxIsNoLimit) {
  Membership("0::/a\n");
  File("a/cpu.max", "max 100000\n");
  EXPECT_EQ(Quota(), std::nullopt);
}

TEST_F(CgroupQuotaTest, TheSmallestGroupOnTheWayUpCounts) {
  Membership("0::/a/b/c\n");
  File("a/cpu.max", "200000 100000\n");
  File("a/b/cpu.max", "max 100000\n");
  File("a/b/c/cpu.max", "800000 100000\n");
  EXPECT_EQ(Quota(), 2.0);
}

TEST_F(CgroupQuotaTest, AContainerThatSeesOnlyItsOwnGroupReadsTheRoot) {
  Membership("0::/docker/0123456789abcdef\n");
  File("cpu.max", "50000 100000\n");
  EXPECT_EQ(Quota(), 0.5);
}

TEST_F(CgroupQuotaTest, APathThatLeavesTheMountReadsTheRoot) {
  Membership("0::/../sibling\n");
  File("cpu.max", "300000 100000\n");
  EXPECT_EQ(Quota(), 3.0);
}

TEST_F(CgroupQuotaTest, VersionOneReadsQuotaOverPeriod) {
  Membership("12:cpuset:/x\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/x\n");
  File("cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "250000\n");
  File("cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  File("cpuset/x/cpu.cfs_quota_us", "1000\n");
  File("cpuset/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), 2.5);
}

TEST_F(CgroupQuotaTest, VersionOneMinusOneIsNoLimitButTheGroupAboveCounts) {
  Membership("4:cpu:/pod/container\n");
  File("cpu/pod/container/cpu.cfs_quota_us", "-1\n");
  File("cpu/pod/container/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), std::nullopt);
  File("cpu/pod/cpu.cfs_quota_us", "400000\n");
  File("cpu/pod/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), 4.0);
}

TEST_F(CgroupQuotaTest, VersionOneOfAContainerReadsTheRootOfTheController) {
  Membership("4:cpu,cpuacct:/docker/abc\n");
  File("cpu,cpuacct/cpu.cfs_quota_us", "100000\n");
  File("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), 1.0);
}

TEST_F(CgroupQuotaTest, OnAMachineWithBothTheSmallerOneCounts) {
  Membership("4:cpu,cpuacct:/a\n0::/b\n");
  File("cpu,cpuacct/a/cpu.cfs_quota_us", "300000\n");
  File("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  File("unified/b/cpu.max", "200000 100000\n");
  EXPECT_EQ(Quota(), 2.0);
}

TEST_F(CgroupQuotaTest, GarbageIsNoLimit) {
  for (const char* text : {"", "\n", "abc def\n", "100000\n", "-5 100000\n", "100000 0\n",
                           "nan 100000\n", "inf 1\n", "0 100000\n"}) {
    Membership("0::/a\nno colons here\n:\n::\n:::::\n");
    File("a/cpu.max", text);
    EXPECT_EQ(Quota(), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace gopmill
