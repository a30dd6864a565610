// SPDX-License-Identifier: Apache-2.0
//
// Units that bring their packets in any order of units, some of them twice, as retries do. What
// leaves must be every packet once, in order, each unit's last one marked.
#include <map>
#include <vector>

#include "media/reorderer.h"
#include "tests/fuzz/bytes.h"

namespace {

using namespace gopmill;
using fuzz::Bytes;
using fuzz::Require;

constexpr int kUnits = 12;

struct Unit {
  std::int64_t planned = 1, brought = 0;
  bool ended = false;
};

class Exit {
 public:
  explicit Exit(const std::vector<Unit>& units) : units_(units) {}
  void Take(std::vector<Reorderer::Released>& out) {
    for (const Reorderer::Released& each : out) {
      Require(each.unit.value == unit_ && each.packet->pts == place_);
      Require(each.last_of_unit == (place_ + 1 == units_[static_cast<std::size_t>(unit_)].planned));
      ++place_;
      if (each.last_of_unit) {
        ++unit_;
        place_ = 0;
      }
    }
    out.clear();
  }
  [[nodiscard]] std::int64_t unit() const { return unit_; }

 private:
  const std::vector<Unit>& units_;
  std::int64_t unit_ = 0, place_ = 0;
};

void Bring(Reorderer& reorderer, std::int64_t unit, std::int64_t place,
           std::vector<Reorderer::Released>& out) {
  av::Packet packet = av::NewPacket();
  packet->pts = place;
  Require(av_new_packet(packet.get(), static_cast<int>(place % 7)) == 0);
  packet->pts = place;
  Require(reorderer.OnPacket(UnitIndex{unit}, place, std::move(packet), out).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  std::vector<Unit> units(kUnits);
  for (Unit& unit : units) unit.planned = 1 + in.Byte() % 9;
  Reorderer reorderer;
  Exit exit(units);
  std::vector<Reorderer::Released> out;
  const auto step = [&](std::int64_t number, bool again) {
    Unit& unit = units[static_cast<std::size_t>(number)];
    if (again && unit.brought > 0) {
      Bring(reorderer, number, in.Below(unit.brought), out);
    } else if (unit.brought < unit.planned) {
      Bring(reorderer, number, unit.brought++, out);
    } else if (!unit.ended || again) {
      unit.ended = true;
      Require(reorderer.OnUnitEnd(UnitIndex{number}, unit.planned, out).ok());
    }
    exit.Take(out);
  };
  while (!in.empty()) {
    const std::uint8_t op = in.Byte();
    step(op % kUnits, op >= 0xC0);
  }
  for (std::int64_t number = 0; number < kUnits; ++number) {
    while (!units[static_cast<std::size_t>(number)].ended) step(number, false);
  }
  Require(exit.unit() == kUnits && reorderer.bytes() == 0);
  return 0;
}
