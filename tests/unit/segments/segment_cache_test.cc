// SPDX-License-Identifier: Apache-2.0
#include "server/session/segment_cache.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace gopmill {
namespace {

namespace fs = std::filesystem;
using ::testing::Eq;
using ::testing::Optional;

std::string Key(char digit) { return std::string(64, digit); }

class SegmentCacheTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }
  const fs::path folder_ = ::testing::TempDir() + "gopmill_cache_" + std::to_string(getpid());
};

TEST_F(SegmentCacheTest, GivesBackWhatWasPut) {
  const auto cache = SegmentCache::Open(folder_, 1 << 20);
  EXPECT_FALSE(cache->Get(Key('a')));
  cache->Put(Key('a'), "bytes");
  EXPECT_THAT(cache->Get(Key('a')), Optional(Eq("bytes")));
  EXPECT_EQ(cache->stats().hits, 1U);
  EXPECT_EQ(cache->stats().misses, 1U);
}

TEST_F(SegmentCacheTest, WhatWasNotAskedForTheLongestGoesFirst) {
  const auto cache = SegmentCache::Open(folder_, 500);
  const std::string bytes(90, 'x');  // four fit, with their headers
  for (const char key : {'a', 'b', 'c', 'd'}) cache->Put(Key(key), bytes);
  EXPECT_TRUE(cache->Get(Key('a')));
  cache->Put(Key('e'), bytes);
  EXPECT_TRUE(cache->Get(Key('a')));
  EXPECT_FALSE(cache->Get(Key('b')));
  EXPECT_LE(cache->stats().bytes, 500);
  EXPECT_EQ(cache->stats().evicted, 1U);
}

TEST_F(SegmentCacheTest, OutlivesTheProcessAndShrinksToItsNewLimit) {
  {
    const auto cache = SegmentCache::Open(folder_, 1000);
    for (const char key : {'a', 'b', 'c', 'd'}) cache->Put(Key(key), std::string(200, key));
  }
  const auto cache = SegmentCache::Open(folder_, 500);
  EXPECT_EQ(cache->stats().files, 2);
  EXPECT_LE(cache->stats().bytes, 500);
}

TEST_F(SegmentCacheTest, DamageIsAMissAndGoesAway) {
  const auto cache = SegmentCache::Open(folder_, 1 << 20);
  for (const char key : {'a', 'b', 'c'}) cache->Put(Key(key), "some bytes");
  std::ofstream(folder_ / Key('a'), std::ios::binary | std::ios::app) << "more";
  fs::resize_file(folder_ / Key('b'), 20);
  std::fstream(folder_ / Key('c'), std::ios::binary | std::ios::in | std::ios::out).seekp(30)
      << "X";
  for (const char key : {'a', 'b', 'c'}) {
    EXPECT_FALSE(cache->Get(Key(key))) << key;
    EXPECT_FALSE(fs::exists(folder_ / Key(key))) << key;
  }
  EXPECT_EQ(cache->stats().failed, 3U);
  EXPECT_EQ(cache->stats().bytes, 0);
}

TEST_F(SegmentCacheTest, ALinkIsNotFollowed) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "secret") << "secret";
  fs::create_symlink(folder_ / "secret", folder_ / Key('a'));
  EXPECT_FALSE(SegmentCache::Open(folder_, 1 << 20)->Get(Key('a')));
}

TEST_F(SegmentCacheTest, AFolderThatCannotBeMadeIsOnlyAMiss) {
  std::ofstream(folder_.string()) << "a file";
  const auto cache = SegmentCache::Open(folder_ / "below", 1 << 20);
  cache->Put(Key('a'), "bytes");
  EXPECT_FALSE(cache->Get(Key('a')));
  EXPECT_EQ(cache->stats().failed, 1U);
}

TEST_F(SegmentCacheTest, KeepsNothingWhenTurnedOff) {
  for (const auto& cache : {SegmentCache::Open("", 1 << 20), SegmentCache::Open(folder_, 0)}) {
    cache->Put(Key('a'), "bytes");
    EXPECT_FALSE(cache->Get(Key('a')));
  }
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(SegmentCacheTest, OneSegmentDoesNotPushOutAllOthers) {
  const auto cache = SegmentCache::Open(folder_, 1000);
  cache->Put(Key('a'), "small");
  cache->Put(Key('b'), std::string(900, 'x'));
  EXPECT_TRUE(cache->Get(Key('a')));
  EXPECT_FALSE(cache->Get(Key('b')));
}

}  // namespace
}  // namespace gopmill
