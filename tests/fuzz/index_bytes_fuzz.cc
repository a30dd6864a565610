// SPDX-License-Identifier: Apache-2.0
//
// Kept indexes whose bytes are anything: none, or an index that is written as it was read.
#include <memory>
#include <string>
#include <string_view>

#include "media/index_bytes.h"
#include "tests/fuzz/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gopmill;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto info = std::make_shared<SourceInfo>();
  info->audio.emplace();
  const auto index = ParseIndexBytes(bytes, info);
  if (index == nullptr) return 0;
  const auto written = IndexBytes(*index);
  fuzz::Require(written.has_value());
  const auto again = ParseIndexBytes(*written, info);
  fuzz::Require(again != nullptr && again->video == index->video && again->audio == index->audio &&
                again->subtitles == index->subtitles && again->video_end == index->video_end &&
                again->left_out == index->left_out);
  return 0;
}
