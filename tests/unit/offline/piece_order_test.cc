// SPDX-License-Identifier: Apache-2.0
#include "server/offline/piece_order.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace gopmill {
namespace {

using ::testing::Each;
using ::testing::Optional;

// A letter for each piece: one that begins, one that goes on with the piece before it.
PieceOrder Order(std::string_view pieces) {
  PieceOrder order;
  for (const char piece : pieces) order.Add(piece == 'g');
  return order;
}

TEST(PieceOrder, BeginsAllThatCanWhileTheOthersWait) {
  PieceOrder order = Order("bgggbgb");
  EXPECT_THAT(order.Next(true), Optional(0U));
  EXPECT_THAT(order.Next(true), Optional(4U));
  EXPECT_THAT(order.Next(true), Optional(6U));
  EXPECT_EQ(order.Next(true), std::nullopt) << "rows of three and one are not split";
  EXPECT_EQ(order.left(), 4U);
}

TEST(PieceOrder, GoesOnBeforeItBeginsOthers) {
  PieceOrder order = Order("bggbb");
  EXPECT_THAT(order.Next(true), Optional(0U));
  EXPECT_EQ(order.Made(0), std::nullopt);
  EXPECT_THAT(order.Next(true), Optional(1U)) << "its decoder holds memory";
  EXPECT_THAT(order.Next(true), Optional(3U));
  EXPECT_EQ(order.Made(3), std::nullopt) << "nothing goes on with it";
  EXPECT_EQ(order.Made(1), std::nullopt);
  EXPECT_THAT(order.Next(true), Optional(2U));
  EXPECT_THAT(order.Next(true), Optional(4U));
  EXPECT_EQ(order.left(), 0U);
}

TEST(PieceOrder, SplitsTheMiddleOfTheLongestRowForAnIdleWorker) {
  PieceOrder order = Order("bggggbggggggggg");
  EXPECT_THAT(order.Next(false), Optional(0U));
  EXPECT_THAT(order.Next(false), Optional(5U));
  EXPECT_EQ(order.Next(false), std::nullopt) << "all workers have something to do";
  EXPECT_THAT(order.Next(true), Optional(10U)) << "of 6 to 14";
  EXPECT_THAT(order.Next(true), Optional(3U)) << "of 1 to 4, the first of those with four";
  EXPECT_THAT(order.Next(true), Optional(8U)) << "of 6 to 9";
  EXPECT_THAT(order.Next(true), Optional(13U)) << "of 11 to 14";
  EXPECT_EQ(order.Next(true), std::nullopt) << "no row of four waits any more";
}

TEST(PieceOrder, TellsOfWhatNobodyGoesOnWith) {
  PieceOrder order = Order("bgggg");
  EXPECT_THAT(order.Next(true), Optional(0U));
  EXPECT_THAT(order.Next(true), Optional(3U));
  EXPECT_EQ(order.Made(0), std::nullopt);
  EXPECT_THAT(order.Next(true), Optional(1U));
  EXPECT_EQ(order.Made(1), std::nullopt);
  EXPECT_THAT(order.Next(true), Optional(2U));
  EXPECT_THAT(order.Made(2), Optional(3U)) << "which began by itself";
  EXPECT_EQ(order.Made(3), std::nullopt);
  EXPECT_THAT(order.Next(true), Optional(4U));
  EXPECT_EQ(order.Made(4), std::nullopt) << "the last one";
}

// A row of which the first waiting piece may go on, but has not been taken yet, may be split there.
TEST(PieceOrder, GivesOutOnceWhatIsReadyAndSplit) {
  PieceOrder order = Order("bgggg");
  EXPECT_THAT(order.Next(true), Optional(0U));
  EXPECT_THAT(order.Next(true), Optional(3U));
  EXPECT_EQ(order.Made(3), std::nullopt);
  EXPECT_THAT(order.Next(true), Optional(4U));
  EXPECT_EQ(order.Next(true), std::nullopt);
  EXPECT_EQ(order.Made(0), std::nullopt);
  EXPECT_THAT(order.Next(true), Optional(1U));
  EXPECT_EQ(order.Next(true), std::nullopt) << "2 waits for 1";
}

// Some workers, which end what they do in any order.
class Workers {
 public:
  Workers(std::string_view pieces, std::size_t count)
      : pieces_(pieces),
        order_(Order(pieces)),
        given_(pieces.size()),
        made_(pieces.size()),
        count_(count) {}

  void Run(std::mt19937& random) {
    while (order_.left() > 0 || !out_.empty()) {
      const bool idle = out_.size() < count_;
      const auto next = out_.size() < 3 * count_ ? order_.Next(idle) : std::nullopt;
      if (next) {
        Give(*next, idle);
        continue;
      }
      ASSERT_FALSE(out_.empty()) << order_.left() << " of " << pieces_ << " are left";
      std::shuffle(out_.begin(), out_.end(), random);
      made_[out_.back()] = 1;
      order_.Made(out_.back());
      out_.pop_back();
    }
    EXPECT_THAT(given_, Each(1)) << pieces_;
  }
  [[nodiscard]] int split() const { return split_; }

 private:
  void Give(std::size_t piece, bool idle) {
    ++given_[piece];
    out_.push_back(piece);
    if (pieces_[piece] == 'b' || made_[piece - 1] != 0) return;
    ++split_;
    EXPECT_TRUE(idle) << pieces_ << ' ' << piece;
  }

  const std::string_view pieces_;
  PieceOrder order_;
  std::vector<int> given_, made_;
  std::vector<std::size_t> out_;
  const std::size_t count_;
  int split_ = 0;
};

TEST(PieceOrder, GivesOutEachPieceOnceWhateverEndsFirst) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::string pieces = "b";
    while (pieces.size() < 40) pieces += random() % 8 == 0 ? 'b' : 'g';
    for (const std::size_t workers : {1U, 2U, 5U}) {
      Workers some(pieces, workers);
      some.Run(random);
      EXPECT_TRUE(workers > 1 || some.split() == 0) << pieces;
    }
  }
  Workers many(std::string_view("bggggggggggggggg"), 4);
  many.Run(random);
  EXPECT_GT(many.split(), 0);
}

}  // namespace
}  // namespace gopmill
