// SPDX-License-Identifier: Apache-2.0
//
// What a damaged source cost the pictures that were made of it. Sums of units are those of streams.
//
// Thread-safety: compatible.
#pragma once

#include <cstdint>

namespace gopmill {

struct PictureDamage {
  std::int64_t concealed = 0;  // output frames made up because the source gave none
  std::int64_t patched = 0;    // that show a picture in which the decoder made up parts
  std::int64_t rejected = 0;   // source packets that the decoder did not take, preroll included

  PictureDamage& operator+=(const PictureDamage& other) {
    concealed += other.concealed;
    patched += other.patched;
    rejected += other.rejected;
    return *this;
  }
};

}  // namespace gopmill
