// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/reporter_places.h"

#include <algorithm>
#include <chrono>

namespace gopmill {
namespace {

// A look at each of a network that is full takes longer than a report takes to send.
constexpr std::chrono::seconds kLookInterval(1);

void Forget(std::vector<std::uint32_t>& reporters, const ReporterPlaces::IsKnown& is_known) {
  std::erase_if(reporters, [&](std::uint32_t reporter) { return !is_known(reporter); });
}

}  // namespace

bool ReporterPlaces::Take(const std::string& network, std::uint32_t reporter,
                          const IsKnown& is_known, TimePoint now) {
  ForgetNetworks(is_known);
  Network& places = networks_[network];
  if (std::ranges::find(places.reporters, reporter) != places.reporters.end()) return true;
  if (places.reporters.size() >= kMostOfNetwork) {
    if (places.looked != TimePoint::min() && now - places.looked < kLookInterval) return false;
    places.looked = now;
    Forget(places.reporters, is_known);
  }
  if (places.reporters.size() >= kMostOfNetwork) return false;
  places.reporters.push_back(reporter);
  return true;
}

// Those of whom nobody is left. Twice as many as are left then may come until the next look.
void ReporterPlaces::ForgetNetworks(const IsKnown& is_known) {
  if (networks_.size() < most_networks_) return;
  for (auto& [name, network] : networks_) Forget(network.reporters, is_known);
  std::erase_if(networks_, [](const auto& entry) { return entry.second.reporters.empty(); });
  most_networks_ = std::max(2 * kMostOfNetwork, 2 * networks_.size());
}

}  // namespace gopmill
