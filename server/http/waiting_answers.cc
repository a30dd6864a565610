// SPDX-License-Identifier: Apache-2.0
#include "server/http/waiting_answers.h"

namespace gopmill {

WaitingAnswers::Held::Held(std::shared_ptr<WaitingAnswers> answers, SharedBody body)
    : answers_(body.owner == nullptr ? nullptr : std::move(answers)), body_(std::move(body)) {
  if (answers_ == nullptr) return;
  if (answers_->answers_[body_.owner.get()]++ == 0) answers_->bytes_ += body_.kept_bytes;
}

WaitingAnswers::Held::~Held() {
  if (answers_ == nullptr) return;
  const auto found = answers_->answers_.find(body_.owner.get());
  if (found == answers_->answers_.end() || --found->second > 0) return;
  answers_->answers_.erase(found);
  answers_->bytes_ -= body_.kept_bytes;
}

bool WaitingAnswers::HasRoom(const SharedBody& body) const {
  if (body.owner == nullptr || answers_.contains(body.owner.get())) return true;
  return bytes_ == 0 || bytes_ + body.kept_bytes <= limit_bytes_;
}

}  // namespace gopmill
