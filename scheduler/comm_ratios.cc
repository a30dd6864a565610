// SPDX-License-Identifier: Apache-2.0
#include "scheduler/comm_ratios.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>

namespace gopmill {
namespace {

Status ValidateLevels(const LevelRatios& r) {
  const std::array<double, 7> inside_out = {r.pu, r.core, r.l2, r.l3, r.numa, r.package, r.machine};
  double closer = 1.0;
  for (const double ratio : inside_out) {
    if (!std::isfinite(ratio) || ratio < closer) {
      return InvalidArgument("ratios",
                             "A communication ratio is below 1 or below that of a closer level.",
                             "1 <= pu <= core <= l2 <= l3 <= numa <= package <= machine");
    }
    closer = ratio;
  }
  return OkStatus();
}

Status ValidateMatrix(const std::vector<double>& matrix, int workers) {
  const auto n = static_cast<std::size_t>(workers);
  if (workers > kMaxMatrixWorkers || matrix.size() != n * n) {
    return InvalidArgument(
        "ratios", "The matrix of ratios does not fit the workers.",
        std::to_string(workers) + " x " + std::to_string(workers) + " values, at most 256 x 256");
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double ratio = matrix[i * n + j];
      const bool good = std::isfinite(ratio) && ratio >= 1.0 && (i != j || ratio <= 1.0) &&
                        std::abs(ratio - matrix[j * n + i]) <= 1e-9 * ratio;
      if (!good) {
        return InvalidArgument("ratios",
                               "Row " + std::to_string(i) + ", column " + std::to_string(j) +
                                   " of the matrix of ratios is wrong.",
                               "finite values >= 1, equal across the diagonal, which is 1");
      }
    }
  }
  return OkStatus();
}

}  // namespace

double LevelRatios::At(NodeKind closest_common) const {
  switch (closest_common) {
    case NodeKind::kPu: return pu;
    case NodeKind::kCore: return core;
    case NodeKind::kL2: return l2;
    case NodeKind::kL3: return l3;
    case NodeKind::kNuma: return numa;
    case NodeKind::kPackage: return package;
    case NodeKind::kMachine: return machine;
  }
  return machine;
}

LevelRatios XeonE5335Ratios() {
  return {.pu = 1, .core = 1, .l2 = 2, .l3 = 4, .numa = 4, .package = 4, .machine = 12};
}

LevelRatios Opteron2350Ratios() {
  return {.pu = 1, .core = 1, .l2 = 1.5, .l3 = 1.5, .numa = 1.5, .package = 1.5, .machine = 3};
}

Result<std::vector<double>> MeshRatios(int workers) {
  const int side = static_cast<int>(std::lround(std::sqrt(std::max(0, workers))));
  if (workers < 1 || workers > kMaxMatrixWorkers || side * side != workers) {
    return InvalidArgument("ratios", "A mesh needs a square number of workers.",
                           "1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225 or 256");
  }
  constexpr double kPerHop = 0.1;
  std::vector<double> matrix;
  for (int i = 0; i < workers; ++i) {
    for (int j = 0; j < workers; ++j) {
      const int hops = std::abs(i / side - j / side) + std::abs(i % side - j % side);
      matrix.push_back(1 + kPerHop * hops);
    }
  }
  return matrix;
}

Status ValidateRatios(const CommRatios& ratios, int workers) {
  GOPMILL_RETURN_IF_ERROR(ValidateLevels(ratios.levels));
  return ratios.matrix.empty() ? OkStatus() : ValidateMatrix(ratios.matrix, workers);
}

Status RefuseMatrix(std::string_view policy, const CommRatios& ratios) {
  if (ratios.matrix.empty()) return OkStatus();
  return InvalidArgument(
      "ratios", std::string(policy) + " takes one communication ratio per level, not a matrix.",
      "ratios per level, or the policy ca-ahrw");
}

}  // namespace gopmill
