// SPDX-License-Identifier: Apache-2.0
#include "media/picture_codings.h"

#include <algorithm>
#include <utility>

#include "media/first_picture.h"
#include "media/random_access.h"

namespace gopmill {

void PictureCodings::Begin(std::shared_ptr<const SourceInfo> described, const AVPacket* first) {
  const auto usual = HeaderOf(*described->video.parameters);
  const auto own = first != nullptr ? HeaderIn(*first) : std::span<const std::uint8_t>();
  const auto header = own.empty() ? usual : own;
  first_.assign(header.begin(), header.end());
  known_ = {described};
  now_ = std::move(described);
}

void PictureCodings::Reopened() {
  if (now_ == nullptr) return;
  const auto header = HeaderOf(*known_.front()->video.parameters);
  waiting_.assign(header.begin(), header.end());
}

void PictureCodings::Returned(const AVPacket& first) {
  const auto header = HeaderIn(first);
  waiting_ = header.empty() ? first_ : Header(header.begin(), header.end());
}

void PictureCodings::Read(const SourceInfo& described, AVPacket& picture) {
  if (const auto header = HeaderIn(picture); !header.empty()) {
    waiting_.assign(header.begin(), header.end());
  }
  if (waiting_.empty()) return;
  const std::span payload(picture.data, static_cast<std::size_t>(picture.size));
  const bool key = (picture.flags & AV_PKT_FLAG_KEY) != 0;
  if (ClassifyPacket(*described.video.parameters, payload, key) == RandomAccess::kNone) return;
  // Most files have one header, which needs no telling.
  const bool usual =
      known_.size() == 1 && std::ranges::equal(waiting_, HeaderOf(*described.video.parameters));
  if (!usual) SetHeader(picture, waiting_);
  waiting_.clear();
}

void PictureCodings::Take(const AVPacket& picture) {
  const auto header = HeaderIn(picture);
  if (header.empty() || std::ranges::equal(header, HeaderOf(*now_->video.parameters))) return;
  const auto found = std::ranges::find_if(known_, [&](const auto& coding) {
    return std::ranges::equal(header, HeaderOf(*coding->video.parameters));
  });
  if (found == known_.end() &&
      (known_.size() >= kMaxFileHeaders || known_bytes_ + header.size() > kMaxFileHeaderBytes)) {
    return;
  }
  auto after = CodingFrom(*now_, picture);
  if (after == nullptr) return;
  if (found != known_.end()) {
    now_ = *found;
    return;
  }
  auto described = std::make_shared<SourceInfo>(*after);
  DescribeFirstPicture(picture, described->video);
  known_bytes_ += header.size();
  known_.push_back(described);
  now_ = std::move(described);
}

}  // namespace gopmill
