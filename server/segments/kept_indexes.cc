// SPDX-License-Identifier: Apache-2.0
#include "server/segments/kept_indexes.h"

#include <fmt/format.h>

#include <utility>

#include "media/digest.h"
#include "media/index_bytes.h"
#include "server/stream/build_identity.h"

namespace gopmill {
namespace {

std::string KeyOf(const std::string& identity, int audio_track) {
  return Sha256Hex(fmt::format("index|{}|{}|{}", BuildIdentity(), audio_track, identity));
}

}  // namespace

std::shared_ptr<const SourceIndex> KeptIndexes::Find(const std::string& identity, int audio_track,
                                                     UniqueFd fd, const std::stop_token& stop) {
  if (disk_ == nullptr) return nullptr;
  const auto bytes = disk_->Get(KeyOf(identity, audio_track));
  if (bytes == nullptr) return nullptr;
  auto index = IndexFromBytes(std::move(fd), stop, audio_track, *bytes);
  if (index.ok()) return std::move(index).value();
  if (index.error().code == Code::kCorrupt) disk_->Drop(KeyOf(identity, audio_track));
  return nullptr;
}

bool KeptIndexes::Has(const std::string& identity, int audio_track) const {
  return disk_ != nullptr && disk_->Has(KeyOf(identity, audio_track));
}

void KeptIndexes::Keep(const std::string& identity, int audio_track, const SourceIndex& index) {
  const std::size_t packets = index.video.size() + index.audio.size();
  if (disk_ == nullptr || !disk_->Takes(packets * kLeastPacketBytes)) return;
  if (auto bytes = IndexBytes(index)) {
    disk_->Put(KeyOf(identity, audio_track),
               std::make_shared<const std::string>(*std::move(bytes)));
  }
}

}  // namespace gopmill
