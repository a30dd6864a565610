// SPDX-License-Identifier: Apache-2.0
#include "tests/corpus/mutation.h"

#include <algorithm>

namespace gopmill {

std::size_t Below(Random& random, std::size_t limit) {
  return limit == 0 ? 0 : static_cast<std::size_t>(random() % limit);
}

namespace {

constexpr int kMaxChanges = 24;
constexpr std::size_t kMaxRange = 4096;

// Half of the changes hit the first kilobytes, where headers are.
std::size_t Place(Random& random, const std::vector<char>& data) {
  const std::size_t end =
      random() % 2 == 0 ? std::min<std::size_t>(data.size(), 4096) : data.size();
  return Below(random, end);
}

void Change(Random& random, std::vector<char>& data) {
  if (data.empty()) return;
  const std::size_t at = Place(random, data);
  const std::size_t length = std::min(1 + Below(random, kMaxRange), data.size() - at);
  const auto begin = data.begin() + static_cast<std::ptrdiff_t>(at);
  const auto end = begin + static_cast<std::ptrdiff_t>(length);
  switch (random() % 8) {
    case 0:
    case 1:
    case 2: *begin = static_cast<char>(random()); break;
    case 3: *begin = static_cast<char>(*begin ^ (1 << random() % 8)); break;
    case 4: std::fill(begin, end, static_cast<char>(random() % 2 == 0 ? 0 : 0xFF)); break;
    case 5: data.erase(begin, end); break;
    case 6: {
      const std::vector<char> copy(begin, end);
      data.insert(data.begin() + static_cast<std::ptrdiff_t>(Place(random, data)), copy.begin(),
                  copy.end());
      break;
    }
    default:
      for (std::size_t i = 0; i < std::min<std::size_t>(4, length); ++i) {
        begin[static_cast<std::ptrdiff_t>(i)] = static_cast<char>(i == 0 ? 0x7F : 0xFF);
      }
  }
}

}  // namespace

std::vector<char> Mutant(const std::vector<char>& movie, Random& random) {
  std::vector<char> data = movie;
  const auto changes = 1 + Below(random, kMaxChanges);
  for (std::size_t i = 0; i < changes; ++i) Change(random, data);
  if (random() % 8 == 0) data.resize(Below(random, data.size() + 1));
  return data;
}

}  // namespace gopmill
