// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cgroup_quota.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace gopmill {
namespace {

namespace fs = std::filesystem;
using Quota = std::optional<double>;

Quota Smaller(Quota a, Quota b) {
  if (!a) return b;
  if (!b) return a;
  return std::min(*a, *b);
}

std::string FirstLine(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

Quota Ratio(double quota_us, double period_us) {
  if (!(quota_us > 0) || !(period_us > 0) || !std::isfinite(quota_us / period_us)) {
    return std::nullopt;
  }
  return quota_us / period_us;
}

// "max 100000" does not read as a number: no limit.
Quota QuotaV2(const fs::path& group) {
  std::istringstream line(FirstLine(group / "cpu.max"));
  double quota = 0;
  double period = 0;
  if (!(line >> quota >> period)) return std::nullopt;
  return Ratio(quota, period);
}

Quota QuotaV1(const fs::path& group) {
  std::istringstream quota_line(FirstLine(group / "cpu.cfs_quota_us"));
  std::istringstream period_line(FirstLine(group / "cpu.cfs_period_us"));
  double quota = 0;
  double period = 0;
  if (!(quota_line >> quota) || !(period_line >> period)) return std::nullopt;
  return Ratio(quota, period);
}

// The smallest quota of `root`/`path` and all groups above it, `root` included.
template <class ReadGroup>
Quota SmallestUpwards(const fs::path& root, std::string_view path, ReadGroup read) {
  fs::path relative = fs::path(path).relative_path();
  std::error_code ignored;
  // A group outside the mount ("/../x"), or one that it does not show: only its root is ours.
  const bool leaves_root = std::ranges::find(relative, fs::path("..")) != relative.end();
  if (leaves_root || !fs::is_directory(root / relative, ignored)) relative.clear();
  Quota smallest = read(root);
  for (fs::path group = root; const fs::path& part : relative) {
    group /= part;
    smallest = Smaller(smallest, read(group));
  }
  return smallest;
}

// A line of the membership file: "<hierarchy>:<controllers>:<path>"; v2 is "0::<path>".
struct Membership {
  std::string_view controllers;
  std::string_view path;
};

std::optional<Membership> ParseMembership(std::string_view line) {
  const std::size_t first = line.find(':');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = line.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  return Membership{line.substr(first + 1, second - first - 1), line.substr(second + 1)};
}

bool HasCpuController(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "cpu") return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

std::optional<double> CgroupCpuQuota(const CgroupPaths& paths) {
  std::ifstream membership(paths.membership);
  Quota smallest;
  for (std::string line; std::getline(membership, line);) {
    const std::optional<Membership> entry = ParseMembership(line);
    if (!entry) continue;
    if (entry->controllers.empty()) {
      // Mounted alone, or beside v1 hierarchies under "unified".
      smallest = Smaller(smallest, SmallestUpwards(paths.root, entry->path, QuotaV2));
      smallest = Smaller(smallest, SmallestUpwards(paths.root / "unified", entry->path, QuotaV2));
    } else if (HasCpuController(entry->controllers)) {
      // The mount is named after the controllers, with a link for each one alone.
      smallest =
          Smaller(smallest, SmallestUpwards(paths.root / entry->controllers, entry->path, QuotaV1));
      smallest = Smaller(smallest, SmallestUpwards(paths.root / "cpu", entry->path, QuotaV1));
    }
  }
  return smallest;
}

}  // namespace gopmill
