// SPDX-License-Identifier: Apache-2.0
//
// How much CPU time the control groups around this process allow, as a number of CPUs: what
// `docker run --cpus 1.5` sets. Unlike a cpuset it does not show in the affinity mask.
//
//   cgroup v2: "<quota|max> <period>" in cpu.max of the group and of every group above it;
//   cgroup v1: cpu.cfs_quota_us (-1 = none) over cpu.cfs_period_us in the hierarchy that has the
//              controller `cpu`.
// The smallest of all groups on the way up to the root counts. Both versions are looked at, since a
// machine may mount both. Inside a container the path that /proc names may not exist below the
// mount, which then shows the container's own group at its root.
//
// Source: Linux Documentation/admin-guide/cgroup-v2.rst ("CPU") and scheduler/sched-bwc.rst.
// Thread-safety: safe (reads files only).
#pragma once

#include <filesystem>
#include <optional>

namespace gopmill {

// Where to look; tests point them at a tree of their own.
struct CgroupPaths {
  std::filesystem::path membership = "/proc/self/cgroup";
  std::filesystem::path root = "/sys/fs/cgroup";
};

// CPUs worth of time, > 0; nothing when there is no limit or nothing can be read.
std::optional<double> CgroupCpuQuota(const CgroupPaths& paths);

}  // namespace gopmill
