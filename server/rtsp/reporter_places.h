// SPDX-License-Identifier: Apache-2.0
//
// Who may come anew to a session that has places for so many who report: none from a network that
// has kMostOfNetwork already. Else one who makes names up would take the places of all. Pure.
//
// Thread-safety: thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"

namespace gopmill {

class ReporterPlaces {
 public:
  static constexpr std::size_t kMostOfNetwork = 256;
  using IsKnown = std::function<bool(std::uint32_t reporter)>;

  // Whether `reporter`, whom the session does not know, may come. Who came is there, also before
  // the session knows it, until a look finds that `is_known` is false. `network` is any name.
  bool Take(const std::string& network, std::uint32_t reporter, const IsKnown& is_known,
            TimePoint now);
  [[nodiscard]] std::size_t networks() const { return networks_.size(); }

 private:
  struct Network {
    std::vector<std::uint32_t> reporters;
    TimePoint looked = TimePoint::min();  // for those that have been forgotten
  };
  void ForgetNetworks(const IsKnown& is_known);

  std::unordered_map<std::string, Network> networks_;
  std::size_t most_networks_ = 2 * kMostOfNetwork;  // that are kept without a look
};

}  // namespace gopmill
