// SPDX-License-Identifier: Apache-2.0
#include "server/http/gzip.h"

#include <zlib.h>

namespace gopmill {

std::optional<std::string> Gzip(std::string_view text) {
  constexpr int kGzipWindow = 15 + 16;  // 32 KiB window, gzip instead of zlib framing
  constexpr int kMemoryLevel = 8;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return std::nullopt;
  }
  std::string packed(deflateBound(&stream, text.size()), '\0');
  std::string input(text);  // zlib 1.2 wants a non-const pointer
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return std::nullopt;
  return packed;
}

}  // namespace gopmill
