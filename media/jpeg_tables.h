// SPDX-License-Identifier: Apache-2.0
//
// Whether a JPEG picture of a movie brings the tables it is decoded with. Those of the abbreviated
// format (ITU-T T.81 B.5) have them from a picture before, though containers mark each as a key
// picture; decoded alone they are flat grey.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <span>

namespace gopmill {

// Whether the picture is known to lack its quantiser tables. Those without Huffman tables are taken
// to mean the usual ones, as cameras and AVI do. Lossless JPEG has no quantiser; of what is too
// damaged to tell, false.
bool JpegLacksTables(std::span<const std::uint8_t> payload);

}  // namespace gopmill
