// SPDX-License-Identifier: Apache-2.0
//
// A package's folder belongs to one run, and what others put there stays theirs.
#include "server/files/package_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace gopmill::test {
namespace {

class PackageFolderTest : public testing::Test {
 protected:
  PackageFolderTest() { std::filesystem::create_directory(path); }
  ~PackageFolderTest() override { std::filesystem::remove_all(path); }
  void Put(const std::string& name, const std::string& text) const {
    std::ofstream(path / name) << text;
  }
  [[nodiscard]] std::string Text(const std::string& name) const {
    std::ifstream file(path / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] bool HidesSomething() const {
    return std::filesystem::exists(path / kIncompleteFolder);
  }

  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("gopmill-folder-" + std::to_string(getpid()));
};

TEST_F(PackageFolderTest, IsThereAsAWhole) {
  PackageFolder folder(path.string());
  ASSERT_TRUE(folder.Create().ok());
  ASSERT_TRUE(folder.Write("a/1.m4s", "segment").ok());
  ASSERT_TRUE(folder.Write("master.m3u8", "list").ok());
  EXPECT_FALSE(std::filesystem::exists(path / "a"));
  ASSERT_TRUE(folder.Publish({"master.m3u8"}).ok());
  EXPECT_EQ(Text("a/1.m4s"), "segment");
  EXPECT_EQ(Text("master.m3u8"), "list");
  EXPECT_FALSE(HidesSomething());
}

TEST_F(PackageFolderTest, WhatSomebodyElseMadeMeanwhileStays) {
  {
    PackageFolder folder(path.string());
    ASSERT_TRUE(folder.Create().ok());
    ASSERT_TRUE(folder.Write("master.m3u8", "list").ok());
    Put("master.m3u8", "mine");
    const Status status = folder.Publish({"master.m3u8"});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::kInvalidArgument);
  }
  EXPECT_EQ(Text("master.m3u8"), "mine");
  EXPECT_FALSE(HidesSomething());
}

TEST_F(PackageFolderTest, ASecondRunIsRefusedBeforeAndAfterTheFirstHasPublished) {
  PackageFolder first(path.string());
  ASSERT_TRUE(first.Create().ok());
  EXPECT_FALSE(PackageFolder(path.string()).Create().ok());
  ASSERT_TRUE(first.Write("master.m3u8", "list").ok());
  ASSERT_TRUE(first.Publish({"master.m3u8"}).ok());
  EXPECT_FALSE(PackageFolder(path.string()).Create().ok());
  EXPECT_EQ(Text("master.m3u8"), "list");
}

TEST_F(PackageFolderTest, WhatAKilledRunLeftIsReplacedAndAFileOfThatNameIsNot) {
  std::filesystem::create_directory(path / kIncompleteFolder);
  Put(std::string(kIncompleteFolder) + "/old.m4s", "old");
  std::optional<PackageFolder> folder(path.string());
  ASSERT_TRUE(folder->Create().ok());
  EXPECT_FALSE(std::filesystem::exists(path / kIncompleteFolder / "old.m4s"));
  folder.reset();
  Put(kIncompleteFolder, "a file");
  const Status status = PackageFolder(path.string()).Create();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("is no folder"), std::string::npos)
      << status.error().message;
  EXPECT_EQ(Text(kIncompleteFolder), "a file");
}

TEST_F(PackageFolderTest, TheRootOfADiskIsEmptyButForWhatTheDiskKeepsThere) {
  std::filesystem::create_directory(path / "lost+found");
  PackageFolder folder(path.string());
  ASSERT_TRUE(folder.Create().ok());
  ASSERT_TRUE(folder.Write("master.m3u8", "list").ok());
  EXPECT_TRUE(folder.Publish({"master.m3u8"}).ok());
  EXPECT_EQ(Text("master.m3u8"), "list");
}

TEST_F(PackageFolderTest, AFolderThatIsRenamedMeanwhileIsTheSameFolder) {
  const std::filesystem::path elsewhere = path.string() + "-elsewhere";
  for (const bool publishes : {false, true}) {
    {
      PackageFolder folder(path.string());
      ASSERT_TRUE(folder.Create().ok());
      ASSERT_TRUE(folder.Write("master.m3u8", "list").ok());
      std::filesystem::rename(path, elsewhere);
      std::filesystem::create_directory(path);
      Put("master.m3u8", "mine");
      const bool published = publishes && folder.Publish({"master.m3u8"}).ok();
      EXPECT_EQ(published, publishes);
    }
    EXPECT_EQ(Text("master.m3u8"), "mine");
    EXPECT_EQ(std::filesystem::exists(elsewhere / "master.m3u8"), publishes);
    EXPECT_FALSE(std::filesystem::exists(elsewhere / kIncompleteFolder));
    std::filesystem::remove_all(path);
    std::filesystem::rename(elsewhere, path);
  }
}

}  // namespace
}  // namespace gopmill::test
