// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sim/topology_presets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/topology_hwloc.h"

namespace gopmill::sim {
namespace {

constexpr std::array kPresets = {
    TopologyPreset{"e5335", kXeonE5335Synthetic,
                   "two Xeon E5335: 2 sockets x 2 L2 x 2 cores, ratios 2, 4, 12"},
    TopologyPreset{"e5355", kXeonE5335Synthetic, "two Xeon E5355: built like the E5335"},
    TopologyPreset{"opteron-2350", kOpteron2350Synthetic,
                   "two Opteron 2350: 2 sockets x 4 cores on one L3, ratios 1.5, 3"},
    // The cores of the Niagara are L2 nodes here and its pipelines are cores: three levels.
    TopologyPreset{"niagara-2", "l3:1 l2:8 core:2 pu:4",
                   "Niagara 2: 8 cores x 2 pipelines x 4 threads"},
    TopologyPreset{"mesh-8x8", "core:64 pu:1",
                   "8 x 8 cores in a mesh, ratio 1 + 0.1 per hop; flat policies only"},
    TopologyPreset{"chiplet", "pack:2 l3:12 core:8 pu:1",
                   "a chiplet server: 2 sockets x 12 L3 x 8 cores"},
};

constexpr const char* kAcceptedTopology =
    "a name that gopmill simulate --list prints, pu:N, chiplet:N, hwloc synthetic notation like "
    "\"pack:2 l3:4 core:8 pu:1\", or a file ending in .xml; at most 4096 PUs";

CommRatios RatiosOf(std::string_view preset) {
  CommRatios ratios;
  if (preset == "e5335" || preset == "e5355") ratios.levels = XeonE5335Ratios();
  if (preset == "opteron-2350") ratios.levels = Opteron2350Ratios();
  if (preset == "niagara-2") {
    // Threads of one core share its L1; cores meet at the crossbar to the common L2.
    ratios.levels = {
        .pu = 1, .core = 1, .l2 = 1, .l3 = 1.5, .numa = 1.5, .package = 1.5, .machine = 1.5};
  }
  if (preset == "mesh-8x8") ratios.matrix = MeshRatios(64).value();
  return ratios;
}

// N of "prefix:N" when the text has that form.
std::optional<Result<int>> CountAfter(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  const std::string_view digits = text.substr(prefix.size());
  if (digits.find(' ') != std::string_view::npos) return std::nullopt;
  int count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || end != digits.data() + digits.size() || count < 1 ||
      count > kMaxPus) {
    return InvalidArgument("topology", fmt::format("\"{}\" is no number of PUs.", digits),
                           fmt::format("{}1 to {}{}", prefix, prefix, kMaxPus));
  }
  return count;
}

// Up to 8 cores share an L3, up to 16 L3 a package.
Result<std::string> ChipletSynthetic(int pus) {
  constexpr int kCoresPerL3 = 8;
  constexpr int kL3PerPackage = 16;
  if (pus <= kCoresPerL3) return fmt::format("l3:1 core:{} pu:1", pus);
  const int groups = pus / kCoresPerL3;
  const int packages = (groups + kL3PerPackage - 1) / kL3PerPackage;
  if (pus % kCoresPerL3 != 0 || groups % packages != 0) {
    return InvalidArgument("topology", fmt::format("{} PUs do not make equal chiplets.", pus),
                           "chiplet:N with N up to 8, or a power of two, or 8 times up to 16");
  }
  return fmt::format("pack:{} l3:{} core:{} pu:1", packages, groups / packages, kCoresPerL3);
}

Result<Topology> LoadTopology(const std::string& text) {
  if (text.ends_with(".xml")) return TopologyFromXmlFile(text);
  if (const auto* preset = std::ranges::find(kPresets, text, &TopologyPreset::name);
      preset != kPresets.end()) {
    return TopologyFromSynthetic(preset->synthetic);
  }
  if (const auto pus = CountAfter(text, "chiplet:")) {
    if (!pus->ok()) return pus->error();
    GOPMILL_ASSIGN_OR_RETURN(const std::string synthetic, ChipletSynthetic(**pus));
    return TopologyFromSynthetic(synthetic);
  }
  if (const auto pus = CountAfter(text, "pu:"); pus && !pus->ok()) return pus->error();
  return TopologyFromSynthetic(text);
}

}  // namespace

std::span<const TopologyPreset> TopologyPresets() { return kPresets; }

Result<Machine> LoadMachine(const std::string& text) {
  Result<Topology> topology = LoadTopology(text);
  if (!topology.ok()) {
    Error error = topology.error();
    if (error.parameter.empty()) error.parameter = "topology";
    error.accepted =
        error.accepted.empty() ? kAcceptedTopology : error.accepted + "; or " + kAcceptedTopology;
    return error.With("\"" + text.substr(0, 80) + "\"");
  }
  return Machine{text, std::move(topology).value(), RatiosOf(text)};
}

}  // namespace gopmill::sim
