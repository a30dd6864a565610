// SPDX-License-Identifier: Apache-2.0
#include "server/files/disk_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "media/source.h"

namespace gopmill {
namespace {

namespace fs = std::filesystem;
using ::testing::Eq;
using ::testing::Pointee;
using std::string_literals::operator""s;

std::string Key(char digit) { return std::string(64, digit); }

std::shared_ptr<const std::string> Bytes(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

// Those of the keys that are there.
std::string KeptOf(DiskCache& cache, const std::string& keys) {
  std::string kept;
  for (const char key : keys) kept += cache.Get(Key(key)) ? std::string(1, key) : "";
  return kept;
}

class DiskCacheTest : public ::testing::Test {
 protected:
  // The folder is a disk of its own that holds no more than `size`, for this call alone. False
  // where nobody may mount one.
  bool OnADiskOf(const std::string& size, const std::function<void(DiskCache&)>& work) {
    fs::create_directories(folder_);
    bool mounted = false;
    std::thread([&] {  // what it mounts nobody else sees
      mounted = unshare(CLONE_FS | CLONE_NEWNS) == 0 &&
                mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                mount("none", folder_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
      if (mounted) work(*DiskCache::Open(folder_, 1 << 20));
    })
        .join();
    return mounted;
  }
  void TearDown() override { fs::remove_all(folder_); }
  const fs::path folder_ = ::testing::TempDir() + "gopmill_cache_" + std::to_string(getpid());
};

TEST_F(DiskCacheTest, GivesBackWhatWasPut) {
  const auto cache = DiskCache::Open(folder_, 1 << 20);
  EXPECT_FALSE(cache->Get(Key('a')));
  cache->Put(Key('a'), Bytes("bytes"));
  EXPECT_THAT(cache->Get(Key('a')), Pointee(Eq("bytes")));
  EXPECT_EQ(cache->stats().hits, 1U);
  EXPECT_EQ(cache->stats().misses, 1U);
}

TEST_F(DiskCacheTest, WhatWasNotAskedForTheLongestGoesFirst) {
  const auto cache = DiskCache::Open(folder_, 500);
  const std::string bytes(90, 'x');  // four fit, with their headers
  for (const char key : {'a', 'b', 'c', 'd'}) cache->Put(Key(key), Bytes(bytes));
  EXPECT_TRUE(cache->Get(Key('a')));
  cache->Put(Key('e'), Bytes(bytes));
  EXPECT_TRUE(cache->Get(Key('a')));
  EXPECT_FALSE(cache->Get(Key('b')));
  EXPECT_LE(cache->stats().bytes, 500);
  EXPECT_EQ(cache->stats().evicted, 1U);
}

TEST_F(DiskCacheTest, OutlivesTheProcessAndShrinksToItsNewLimit) {
  {
    const auto cache = DiskCache::Open(folder_, 1000);
    for (const char key : {'a', 'b', 'c', 'd'}) cache->Put(Key(key), Bytes(std::string(200, key)));
  }
  const auto cache = DiskCache::Open(folder_, 500);
  EXPECT_EQ(cache->stats().files, 2);
  EXPECT_LE(cache->stats().bytes, 500);
}

TEST_F(DiskCacheTest, DamageIsAMissAndGoesAway) {
  const auto cache = DiskCache::Open(folder_, 1 << 20);
  for (const char key : {'a', 'b', 'c'}) cache->Put(Key(key), Bytes("some bytes"));
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

TEST_F(DiskCacheTest, WhatCannotBeOpenedNowIsThereLater) {
  const auto cache = DiskCache::Open(folder_, 1 << 20);
  cache->Put(Key('a'), Bytes("some bytes"));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto missed = cache->Get(Key('a'));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(missed);
  EXPECT_THAT(cache->Get(Key('a')), Pointee(Eq("some bytes")));
}

TEST_F(DiskCacheTest, WhatSomebodyHasRemovedIsForgotten) {
  const auto cache = DiskCache::Open(folder_, 1 << 20);
  cache->Put(Key('a'), Bytes("some bytes"));
  fs::remove(folder_ / Key('a'));
  EXPECT_FALSE(cache->Get(Key('a')));
  EXPECT_EQ(cache->stats().bytes, 0);
  cache->Put(Key('a'), Bytes("others"));
  EXPECT_THAT(cache->Get(Key('a')), Pointee(Eq("others")));
}

TEST_F(DiskCacheTest, ALinkIsNotFollowed) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "secret") << "secret";
  fs::create_symlink(folder_ / "secret", folder_ / Key('a'));
  EXPECT_FALSE(DiskCache::Open(folder_, 1 << 20)->Get(Key('a')));
}

TEST_F(DiskCacheTest, WhatNeverOpensIsReplaced) {
  const auto cache = DiskCache::Open(folder_, 1 << 20);
  cache->Put(Key('a'), Bytes("segment"));
  std::ofstream(folder_ / "other") << "other";
  fs::remove(folder_ / Key('a'));
  fs::create_symlink(folder_ / "other", folder_ / Key('a'));
  EXPECT_FALSE(cache->Get(Key('a')));
  cache->Put(Key('a'), Bytes("segment"));
  EXPECT_THAT(cache->Get(Key('a')), Pointee(Eq("segment")));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ / Key('a'))));
}

TEST_F(DiskCacheTest, WhatIsDroppedCanBeReplaced) {
  const auto cache = DiskCache::Open(folder_, 1 << 20);
  cache->Put(Key('a'), Bytes("not what it should be"));
  cache->Drop(Key('a'));
  EXPECT_FALSE(cache->Get(Key('a')));
  EXPECT_EQ(cache->stats().failed, 1U);
  EXPECT_EQ(cache->stats().bytes, 0);
  cache->Put(Key('a'), Bytes("better"));
  EXPECT_THAT(cache->Get(Key('a')), Pointee(Eq("better")));
}

TEST_F(DiskCacheTest, WhatIsNoFileOfOursIsNotWaitedFor) {
  fs::create_directories(folder_);
  ASSERT_EQ(mkfifo((folder_ / Key('a')).c_str(), 0600), 0);
  const auto cache = DiskCache::Open(folder_, 1 << 20);
  EXPECT_FALSE(cache->Get(Key('a')));
  EXPECT_FALSE(fs::exists(folder_ / Key('a')));
}

TEST_F(DiskCacheTest, WhatIsLargerThanAllOfItGoes) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / Key('a'));
  fs::resize_file(folder_ / Key('a'), std::uintmax_t{1} << 40U);
  const auto cache = DiskCache::Open(folder_, 1 << 20);
  EXPECT_EQ(cache->stats().files, 0);
  EXPECT_FALSE(fs::exists(folder_ / Key('a')));
}

TEST_F(DiskCacheTest, AFolderThatCannotBeMadeIsOnlyAMiss) {
  std::ofstream(folder_.string()) << "a file";
  const auto cache = DiskCache::Open(folder_ / "below", 1 << 20);
  cache->Put(Key('a'), Bytes("bytes"));
  EXPECT_FALSE(cache->Get(Key('a')));
  EXPECT_EQ(cache->stats().failed, 1U);
}

TEST_F(DiskCacheTest, ADiskThatIsSmallerThanTheLimitHoldsTheNewest) {
  DiskCacheStats stats;
  std::string kept;
  const bool mounted = OnADiskOf("64k", [&](DiskCache& cache) {
    for (const char key : "abcdef"s) cache.Put(Key(key), Bytes(std::string(20'000, key)));
    kept = KeptOf(cache, "abcdef");
    stats = cache.stats();
  });
  if (!mounted) GTEST_SKIP() << "no right to mount";
  EXPECT_EQ(kept, "def") << "of 20 KiB each";
  EXPECT_EQ(stats.stored, 6U);
  EXPECT_EQ(stats.evicted, 3U);
  EXPECT_EQ(stats.failed, 0U);
  EXPECT_EQ(stats.files, 3);
}

TEST_F(DiskCacheTest, NothingGoesInVainWhereOthersFillTheDisk) {
  DiskCacheStats stats;
  std::string kept;
  const bool mounted = OnADiskOf("128k", [&](DiskCache& cache) {
    for (const char key : "abc"s) cache.Put(Key(key), Bytes(std::string(3'000, key)));
    std::ofstream(folder_ / "others", std::ios::binary) << std::string(200'000, 'x');
    cache.Put(Key('d'), Bytes(std::string(60'000, 'd')));
    kept = KeptOf(cache, "abcd");
    stats = cache.stats();
  });
  if (!mounted) GTEST_SKIP() << "no right to mount";
  EXPECT_EQ(kept, "abc");
  EXPECT_EQ(stats.evicted, 0U);
  EXPECT_EQ(stats.failed, 1U);
}

TEST_F(DiskCacheTest, KeepsNothingWhenTurnedOff) {
  for (const auto& cache : {DiskCache::Open("", 1 << 20), DiskCache::Open(folder_, 0)}) {
    cache->Put(Key('a'), Bytes("bytes"));
    EXPECT_FALSE(cache->Get(Key('a')));
  }
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(DiskCacheTest, OneSegmentDoesNotPushOutAllOthers) {
  const auto cache = DiskCache::Open(folder_, 1000);
  cache->Put(Key('a'), Bytes("small"));
  cache->Put(Key('b'), Bytes(std::string(900, 'x')));
  EXPECT_TRUE(cache->Get(Key('a')));
  EXPECT_FALSE(cache->Get(Key('b')));
}

// As in containers, where all have the same process id.
TEST_F(DiskCacheTest, WhatOthersWriteIsLeftAlone) {
  fs::create_directories(folder_);
  std::vector<fs::path> theirs;
  for (int i = 0; i < 4; ++i) {
    theirs.push_back(folder_ / (".new-" + std::to_string(getpid()) + "-" + std::to_string(i)));
    std::ofstream(theirs.back()) << "half";
  }
  const UniqueFd writing(open(theirs[1].c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(flock(writing.get(), LOCK_EX | LOCK_NB), 0);
  const auto cache = DiskCache::Open(folder_, 1 << 20);
  EXPECT_FALSE(fs::exists(theirs[0])) << "left by one that has ended, however lately";
  ASSERT_TRUE(fs::exists(theirs[1])) << "being written";
  std::ofstream(theirs[0]) << "half";  // another begins
  for (const char key : {'a', 'b', 'c'}) cache->Put(Key(key), Bytes("bytes"));
  EXPECT_EQ(cache->stats().stored, 3U);
  EXPECT_EQ(cache->stats().failed, 0U);
  EXPECT_TRUE(fs::exists(theirs[0]) && fs::exists(theirs[1]));
  EXPECT_THAT(cache->Get(Key('a')), Pointee(Eq("bytes")));
}

TEST_F(DiskCacheTest, AllWhoHaveASegmentAtOnceShareIt) {
  const auto cache = DiskCache::Open(folder_, 1 << 20);
  auto made = Bytes("bytes");
  cache->Put(Key('a'), made);
  EXPECT_EQ(cache->Get(Key('a')), made);
  made.reset();
  const auto read = cache->Get(Key('a')), again = cache->Get(Key('a'));
  EXPECT_THAT(read, Pointee(Eq("bytes")));
  EXPECT_EQ(again, read);
  EXPECT_EQ(cache->stats().hits, 3U);
}

}  // namespace
}  // namespace gopmill
