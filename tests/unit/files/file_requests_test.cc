// SPDX-License-Identifier: Apache-2.0
#include "server/files/file_requests.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <vector>

namespace gopmill {
namespace {

class FileRequestsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto library = Library::Open(testing::TempDir());
    ASSERT_TRUE(library.ok());
    library_.emplace(*std::move(library));
    requests_.emplace(*library_);
    ASSERT_TRUE(requests_->Start().ok());
  }

  // Has the thread at work until Release or until it is told to stop.
  void Hold() {
    std::promise<void> begun;
    requests_->Add(
        [&](const std::stop_token& stop) {
          const std::stop_callback stopped(stop, [this] { Release(); });
          begun.set_value();
          released_.get_future().wait();
        },
        {}, [](const Result<std::string>&) {});
    begun.get_future().wait();
  }
  void Release() {
    if (!was_released_.exchange(true)) released_.set_value();
  }
  // Counts requests that were worked on, and those that were answered with an error.
  void Add(std::stop_token left = {}) {
    requests_->Add([this](const std::stop_token&) { ++worked_; }, std::move(left),
                   [this](const Result<std::string>& answer) {
                     EXPECT_FALSE(answer.ok());
                     ++refused_;
                   });
  }

  std::optional<Library> library_;
  std::promise<void> released_;
  std::atomic<bool> was_released_ = false;
  std::atomic<int> worked_ = 0, refused_ = 0;
  std::optional<FileRequests> requests_;  // goes first
};

TEST_F(FileRequestsTest, WorksOnOneAfterTheOther) {
  std::vector<int> order;
  std::promise<void> last;
  for (int i = 0; i < 3; ++i) {
    requests_->Add(
        [&, i](const std::stop_token&) {
          order.push_back(i);
          if (i == 2) last.set_value();
        },
        {}, [](const Result<std::string>&) {});
  }
  last.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(requests_->library_readable());
}

TEST_F(FileRequestsTest, WhoHasLeftHasNoPlaceInFrontOfOthers) {
  Hold();
  std::stop_source left;
  for (std::size_t i = 0; i < kMaxFileRequests; ++i) Add(left.get_token());
  Add();
  EXPECT_EQ(refused_, 1);
  left.request_stop();
  Add();
  EXPECT_EQ(refused_, 1) << "there is room now";
  std::promise<void> last;
  requests_->Add([&](const std::stop_token&) { last.set_value(); }, {},
                 [](const Result<std::string>&) {});
  Release();
  last.get_future().wait();
  EXPECT_EQ(worked_, 1) << "of those who have not left";
}

// Each looks at the whole library, which may take seconds.
TEST_F(FileRequestsTest, AListingIsMadeForAllWhoWaitBehindOthers) {
  std::vector<std::string> order;
  std::promise<void> begun, go_on, last;
  const auto list = [&]() -> Result<SharedText> {
    order.emplace_back("list");
    if (order.size() == 1) {
      begun.set_value();
      go_on.get_future().wait();
    }
    return std::make_shared<const std::string>("movies");
  };
  std::vector<SharedText> listed;
  const auto ask = [&](std::stop_token left = {}) {
    requests_->AddListing(list, std::move(left), [&](const Result<SharedText>& answer) {
      listed.push_back(answer.value());
      if (listed.size() == 10) last.set_value();
    });
  };
  ask();
  begun.get_future().wait();
  for (int i = 0; i < 9; ++i) ask();
  requests_->Add([&](const std::stop_token&) { order.emplace_back("check"); }, {},
                 [](const Result<std::string>&) {});
  go_on.set_value();
  last.get_future().wait();
  EXPECT_EQ(order, (std::vector<std::string>{"list", "check", "list"}));
  EXPECT_NE(listed[0], listed[1]) << "it may have begun before the movie was there";
  EXPECT_EQ(listed[1], listed[9]);
}

TEST_F(FileRequestsTest, AListingDoesNotWaitForEver) {
  Hold();
  int worked = 0;
  for (int i = 0; i < kMaxAheadOfListing + 1; ++i) {
    requests_->Add([&](const std::stop_token&) { ++worked; }, {},
                   [](const Result<std::string>&) {});
  }
  std::promise<int> listed;
  requests_->AddListing([&]() -> Result<SharedText> { return SharedText(); }, {},
                        [&](const Result<SharedText>&) { listed.set_value(worked); });
  Release();
  EXPECT_EQ(listed.get_future().get(), kMaxAheadOfListing);
}

TEST_F(FileRequestsTest, AListingThatNobodyWaitsForIsNotMade) {
  Hold();
  std::stop_source left;
  std::atomic<int> made = 0;
  requests_->AddListing(
      [&]() -> Result<SharedText> {
        ++made;
        return SharedText();
      },
      left.get_token(), [](const Result<SharedText>&) {});
  left.request_stop();
  std::promise<void> last;
  for (int i = 0; i < kMaxAheadOfListing; ++i) Add();
  requests_->Add([&](const std::stop_token&) { last.set_value(); }, {},
                 [](const Result<std::string>&) {});
  Release();
  last.get_future().wait();
  EXPECT_EQ(worked_, kMaxAheadOfListing);
  EXPECT_EQ(made, 0);
}

TEST_F(FileRequestsTest, TheEndAnswersWhoWaits) {
  Hold();
  Add();
  requests_->Stop();  // also ends what is being worked on
  Add();
  EXPECT_TRUE(requests_->ending().stop_requested());
  requests_.reset();
  EXPECT_EQ(refused_, 2);
  EXPECT_EQ(worked_, 0);
}

}  // namespace
}  // namespace gopmill
