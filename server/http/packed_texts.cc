// SPDX-License-Identifier: Apache-2.0
#include "server/http/packed_texts.h"

#include <algorithm>
#include <utility>

#include "server/http/gzip.h"

namespace gopmill {

bool IsText(std::string_view content_type) {
  return content_type.starts_with("text/") || content_type.find("json") != std::string_view::npos ||
         content_type.find("svg") != std::string_view::npos ||
         content_type.find("mpegurl") != std::string_view::npos ||
         content_type.find("dash+xml") != std::string_view::npos;
}

bool PackedTexts::Packed::IsOf(const SharedBody& other) const {
  if (text.data() != other.bytes.data() || text.size() != other.bytes.size()) return false;
  return built_in ? other.owner == nullptr : owner.lock() == other.owner;
}

PackedTexts::Bytes PackedTexts::Known(const SharedBody& text) const {
  const MutexLock lock(mutex_);
  const auto found =
      std::ranges::find_if(texts_, [&](const Packed& packed) { return packed.IsOf(text); });
  return found == texts_.end() ? nullptr : found->bytes;
}

PackedTexts::Bytes PackedTexts::Of(const SharedBody& text, std::size_t most) {
  const std::size_t size = text.bytes.size();
  if (size < kMinGzipBytes || size > kMaxGzipBytes) return nullptr;
  if (Bytes known = Known(text)) return known;
  if (size > most) return nullptr;
  auto packed = Gzip(text.bytes);
  if (!packed) return nullptr;
  packed->shrink_to_fit();
  auto bytes = std::make_shared<const std::string>(*std::move(packed));
  const MutexLock lock(mutex_);
  ++made_;
  std::erase_if(texts_, [](const Packed& old) { return !old.built_in && old.owner.expired(); });
  texts_.push_front(
      {.owner = text.owner, .built_in = text.owner == nullptr, .text = text.bytes, .bytes = bytes});
  if (texts_.size() > kMaxPackedTexts) texts_.pop_back();
  return bytes;
}

std::size_t PackedTexts::made() const {
  const MutexLock lock(mutex_);
  return made_;
}

}  // namespace gopmill
