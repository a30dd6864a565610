// SPDX-License-Identifier: Apache-2.0
#include "scheduler/topology_hwloc.h"

#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/digits.h"
#include "scheduler/topology_xml.h"

namespace gopmill {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const noexcept { hwloc_topology_destroy(topology); }
};
struct FreeBitmap {
  void operator()(hwloc_bitmap_s* bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, DestroyTopology>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

constexpr std::uintmax_t kMaxXmlBytes = 64U << 20U;
// Far above any number that an operating system gives.
constexpr std::uint64_t kMaxIndex = 1U << 20U;

Error BadDescription(std::string message, std::string accepted) {
  return Error{.code = Code::kInvalidArgument,
               .message = std::move(message),
               .parameter = "topology",
               .accepted = std::move(accepted)};
}

Result<HwlocTopology> NewTopology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return InternalError("hwloc cannot be initialised.", errno);
  return HwlocTopology(raw);
}

struct Part {
  TopologyPath::Part part;
  int pus = 0;  // how many PUs it spans, to order parts from the outside in
};

void AddPart(std::vector<Part>& parts, NodeKind kind, hwloc_obj_t object) {
  if (object == nullptr) return;
  const bool cache = kind == NodeKind::kL3 || kind == NodeKind::kL2;
  const bool numbered = object->os_index != HWLOC_UNKNOWN_INDEX && !cache;
  parts.push_back({.part = {.kind = kind,
                            .key = static_cast<int>(object->logical_index),
                            .os_index = numbered ? static_cast<int>(object->os_index) : -1,
                            .cache_bytes = cache ? object->attr->cache.size : 0},
                   .pus = hwloc_bitmap_weight(object->cpuset)});
}

// The smallest memory node whose CPUs include the PU. Memory nodes are no ancestors of PUs in
// hwloc 2: they hang at the side, so their cpusets have to be asked.
hwloc_obj_t NumaNodeOf(hwloc_topology_t topology, hwloc_obj_t pu) {
  hwloc_obj_t best = nullptr;
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    if (hwloc_bitmap_isset(node->cpuset, pu->os_index) == 0) continue;
    if (best == nullptr || hwloc_bitmap_weight(node->cpuset) < hwloc_bitmap_weight(best->cpuset)) {
      best = node;
    }
  }
  return best;
}

TopologyPath PathOf(hwloc_topology_t topology, hwloc_obj_t pu) {
  const auto above = [&](hwloc_obj_type_t type) {
    return hwloc_get_ancestor_obj_by_type(topology, type, pu);
  };
  std::vector<Part> parts;
  AddPart(parts, NodeKind::kPackage, above(HWLOC_OBJ_PACKAGE));
  AddPart(parts, NodeKind::kNuma, NumaNodeOf(topology, pu));
  AddPart(parts, NodeKind::kL3, above(HWLOC_OBJ_L3CACHE));
  AddPart(parts, NodeKind::kL2, above(HWLOC_OBJ_L2CACHE));
  AddPart(parts, NodeKind::kCore, above(HWLOC_OBJ_CORE));
  // Biggest first; the order above where they are equal. The PU is the smallest of all.
  std::ranges::stable_sort(parts, std::ranges::greater{}, &Part::pus);
  AddPart(parts, NodeKind::kPu, pu);
  TopologyPath path;
  for (const Part& part : parts) path.parts.push_back(part.part);
  return path;
}

Result<Topology> Convert(hwloc_topology_t topology, hwloc_const_bitmap_t mask) {
  const hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(topology);
  std::vector<TopologyPath> paths;
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr) {
    if (allowed != nullptr && hwloc_bitmap_isset(allowed, pu->os_index) == 0) continue;
    if (mask != nullptr && hwloc_bitmap_isset(mask, pu->os_index) == 0) continue;
    if (paths.size() == static_cast<std::size_t>(kMaxPus)) {
      return BadDescription("The topology has too many PUs.", "at most " + std::to_string(kMaxPus));
    }
    paths.push_back(PathOf(topology, pu));
  }
  return Topology::FromPaths(paths);
}

constexpr std::string_view kSyntheticForm =
    "hwloc synthetic notation, like \"pack:2 l3:2 core:4 pu:2\"";

// The token that begins at `begin` is the one.
Error MalformedAt(std::string_view text, std::size_t begin, std::string_view accepted) {
  const std::size_t end = std::min(text.find(' ', begin), text.size());
  const std::string token(text.substr(begin, std::min<std::size_t>(end - begin, 40)));
  return BadDescription("The description of the topology is malformed at character " +
                            std::to_string(begin + 1) + ", \"" + token + "\".",
                        std::string(accepted));
}

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Reads the digits at `at` and goes behind them. What is above the limit stays just above it.
std::uint64_t ReadCount(std::string_view text, std::size_t& at, std::uint64_t limit) {
  std::uint64_t count = 0;
  for (; at < text.size() && IsDigit(text[at]); ++at) {
    count = std::min(count * 10 + static_cast<std::uint64_t>(text[at] - '0'), limit + 1);
  }
  return count;
}

bool IsWordCharacter(char c) { return IsLetter(c) || IsDigit(c); }

// hwloc makes sets of these numbers, as long as the greatest of them, and reads a negative one as
// one near 2^32. There are names of levels as well, such as "l3".
Status CheckIndexes(std::string_view text) {
  constexpr std::string_view kName = "indexes=";
  for (std::size_t at = text.find(kName); at != std::string_view::npos; at = text.find(kName, at)) {
    at += kName.size();
    const std::size_t end = std::min(text.find_first_of(" )", at), text.size());
    while (at < end) {
      const std::size_t begin = at;
      const bool is_name = IsLetter(text[at]);
      const bool is_count = text[at] != '-' && ReadCount(text, at, kMaxIndex) <= kMaxIndex;
      while (is_name && at < end && IsWordCharacter(text[at])) ++at;
      if (!is_count || (!is_name && at < end && at > begin && IsLetter(text[at]))) {
        return MalformedAt(text, begin, "indexes of 0 to 1048576");
      }
      if (at == begin) ++at;
    }
  }
  return OkStatus();
}

// hwloc allocates what a description asks for before anyone can look at the result, so the number
// of PUs is worked out first: the product of all counts. Read as hwloc does: memory is in "[]", a
// node of it for each part of the level before; a name goes up to the next colon, blanks and a sign
// may come between that and the count, and what is in "()" behind it is about the same level. But
// hwloc takes "0x10" for 16.
Status CheckSynthetic(std::string_view text) {
  constexpr std::size_t kMaxLength = 4096;
  if (text.size() > kMaxLength) {
    return BadDescription("The description of the topology is too long.", "4096 characters");
  }
  GOPMILL_RETURN_IF_ERROR(CheckIndexes(text));
  std::uint64_t product = 1;
  std::uint64_t memory_nodes = 0;
  std::size_t at = 0;
  const auto go_behind = [&](char c) { at = std::min(text.find(c, at), text.size() - 1) + 1; };
  while (at < text.size()) {
    const char c = text[at];
    if (IsDigit(c)) {
      const std::size_t begin = at;
      product *= std::max<std::uint64_t>(ReadCount(text, at, kMaxPus), 1);
      if (at < text.size() && IsLetter(text[at])) {
        return MalformedAt(text, begin, "a decimal count, as in \"core:4\"");
      }
      if (product > kMaxPus) {
        const std::string most = std::to_string(kMaxPus);
        return BadDescription("The description has more than " + most + " PUs.", "at most " + most);
      }
    } else if (c == '[') {
      memory_nodes += product;
      if (memory_nodes > kMaxPus) {
        const std::string most = std::to_string(kMaxPus);
        return BadDescription("The description has more than " + most + " memory nodes.",
                              "at most " + most);
      }
      go_behind(']');
    } else if (c == '(') {
      go_behind(')');
    } else if (c == ' ' || c == '\n') {
      ++at;
    } else {
      go_behind(':');
      at = std::min(text.find_first_not_of(" \t\n\v\f\r+-", at), text.size());
    }
  }
  return OkStatus();
}

Status CheckXmlFile(const std::filesystem::path& file) {
  std::error_code failure;
  const std::uintmax_t bytes = std::filesystem::file_size(file, failure);
  if (failure) {
    return Error{.code = Code::kNotFound,
                 .message = "The topology file cannot be read: " + failure.message() + ".",
                 .parameter = "topology"};
  }
  if (bytes > kMaxXmlBytes) {
    return BadDescription("The topology file is too big.", "an hwloc XML file of at most 64 MiB");
  }
  return CheckTopologyXml(file);
}

// hwloc does not say what it stumbled over. It reads from left to right, so the first token with
// which the description can no longer be finished (by PUs, which come last) is the one.
bool Readable(const std::string& description) {
  const auto topology = NewTopology();
  return topology.ok() &&
         hwloc_topology_set_synthetic(topology.value().get(), description.c_str()) == 0;
}

Error MalformedSynthetic(const std::string& text) {
  std::size_t begin = 0;
  while ((begin = text.find_first_not_of(' ', begin)) != std::string::npos) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string head = text.substr(0, end);
    if (!Readable(head) && !Readable(head + " pu:1")) {
      return MalformedAt(text, begin, kSyntheticForm);
    }
    begin = end;
  }
  return BadDescription("The description of the topology ends without its PUs.",
                        std::string(kSyntheticForm));
}

}  // namespace

Result<Topology> DiscoverTopology(const DiscoverOptions& options) {
  GOPMILL_ASSIGN_OR_RETURN(const HwlocTopology topology, NewTopology());
  if (hwloc_topology_load(topology.get()) != 0) {
    return InternalError("The topology of this machine cannot be found out.", errno);
  }
  Bitmap mask;
  if (options.respect_affinity) {
    mask.reset(hwloc_bitmap_alloc());
    if (mask == nullptr ||
        hwloc_get_cpubind(topology.get(), mask.get(), HWLOC_CPUBIND_THREAD) != 0) {
      mask.reset();
    }
  }
  return Convert(topology.get(), mask.get());
}

Result<Topology> TopologyFromSynthetic(std::string_view description) {
  GOPMILL_RETURN_IF_ERROR(CheckSynthetic(description));
  GOPMILL_ASSIGN_OR_RETURN(const HwlocTopology topology, NewTopology());
  const std::string text(description);
  if (hwloc_topology_set_synthetic(topology.get(), text.c_str()) != 0) {
    return MalformedSynthetic(text);
  }
  if (hwloc_topology_load(topology.get()) != 0) {
    return InternalError("hwloc cannot make the topology that is described.", errno);
  }
  return Convert(topology.get(), nullptr);
}

Result<Topology> TopologyFromXmlFile(const std::filesystem::path& file) {
  GOPMILL_RETURN_IF_ERROR(CheckXmlFile(file));
  GOPMILL_ASSIGN_OR_RETURN(const HwlocTopology topology, NewTopology());
  // hwloc 2.9 crashes over a file that allows none of its PUs when it is to take them out itself;
  // Convert leaves them out anyway.
  if (hwloc_topology_set_flags(topology.get(), HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
      hwloc_topology_set_xml(topology.get(), file.c_str()) != 0 ||
      hwloc_topology_load(topology.get()) != 0) {
    return BadDescription("The file is XML, but hwloc cannot read a machine from it.",
                          "a file written by lstopo x.xml");
  }
  Result<Topology> converted = Convert(topology.get(), nullptr);
  if (converted.ok()) return converted;
  return BadDescription(converted.error().message, "a file written by lstopo x.xml");
}

}  // namespace gopmill
