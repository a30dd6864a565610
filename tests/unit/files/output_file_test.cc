// SPDX-License-Identifier: Apache-2.0
#include "server/files/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "base/unique_fd.h"

namespace gopmill {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "gopmill_outputXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string At(const std::string& name) const { return folder_ / name; }
  void Put(const std::string& name, const std::string& text) const {
    std::ofstream(At(name)) << text;
  }
  [[nodiscard]] std::string Read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(At(name)).rdbuf();
    return text.str();
  }
  [[nodiscard]] std::size_t Files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  // Makes "new" under that name.
  [[nodiscard]] Status Make(const std::string& name, bool force) const {
    GOPMILL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Choose(At(name), force));
    GOPMILL_RETURN_IF_ERROR(file.Create(-1));
    std::ofstream(file.temporary()) << "new";
    return file.Publish();
  }

  fs::path folder_;
};

TEST_F(OutputFileTest, HasItsNameWhenItIsWhole) {
  {
    auto file = OutputFile::Choose(At("a.mp4"), false);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Create(-1).ok());
    EXPECT_FALSE(fs::exists(At("a.mp4")));
    EXPECT_TRUE(fs::exists(file->temporary()));
  }
  EXPECT_EQ(Files(), 0U);  // nothing was published
  ASSERT_TRUE(Make("a.mp4", false).ok());
  EXPECT_EQ(Read("a.mp4"), "new");
  EXPECT_EQ(Files(), 1U);
}

TEST_F(OutputFileTest, TwoAtOnceDoNotMeet) {
  auto first = OutputFile::Choose(At("a.mp4"), false);
  auto second = OutputFile::Choose(At("a.mp4"), false);
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE(first->Create(-1).ok());
  ASSERT_TRUE(second->Create(-1).ok());
  std::ofstream(first->temporary()) << "first";
  std::ofstream(second->temporary()) << "second";
  ASSERT_TRUE(first->Publish().ok());
  const Status late = second->Publish();
  ASSERT_FALSE(late.ok());
  // What took an hour to make is not thrown away.
  EXPECT_NE(late.error().message.find(second->temporary()), std::string::npos);
  EXPECT_TRUE(fs::exists(second->temporary()));
  EXPECT_EQ(Read("a.mp4"), "first");
}

TEST_F(OutputFileTest, RemovesOnlyWhatItMade) {
  auto file = OutputFile::Choose(At("a.mp4"), false);
  ASSERT_TRUE(file.ok());
  const std::string name = file->temporary();
  std::ofstream(name) << "somebody else's";
  {
    OutputFile moved = std::move(file).value();
    EXPECT_FALSE(moved.Create(-1).ok());
  }
  EXPECT_TRUE(fs::exists(name));
}

TEST_F(OutputFileTest, FollowsLinks) {
  fs::create_directory(folder_ / "far");
  fs::create_symlink("far/real.mp4", At("link.mp4"));
  ASSERT_TRUE(Make("link.mp4", false).ok());
  EXPECT_TRUE(fs::is_symlink(At("link.mp4")));
  EXPECT_EQ(Read("far/real.mp4"), "new");
  EXPECT_FALSE(Make("link.mp4", false).ok());  // exists
  Put("far/real.mp4", "old");
  ASSERT_TRUE(Make("link.mp4", true).ok());
  EXPECT_TRUE(fs::is_symlink(At("link.mp4")));
  EXPECT_EQ(Read("far/real.mp4"), "new");
  fs::create_symlink("round.mp4", At("round.mp4"));
  EXPECT_FALSE(Make("round.mp4", true).ok());
}

TEST_F(OutputFileTest, ReplacesNoDescriptorPipeOrFolder) {
  Put("stdout", "what the shell opened");
  const UniqueFd fd(open(At("stdout").c_str(), O_WRONLY));
  const auto refused = [](const std::string& path) {
    const auto file = OutputFile::Choose(path, true);
    return !file.ok() && file.error().parameter == "output";
  };
  EXPECT_TRUE(refused("/dev/fd/" + std::to_string(fd.get())));
  EXPECT_TRUE(refused("/proc/self/fd/" + std::to_string(fd.get())));
  ASSERT_EQ(mkfifo(At("fifo").c_str(), 0600), 0);
  EXPECT_TRUE(refused(At("fifo")));
  EXPECT_TRUE(refused(folder_));
  EXPECT_TRUE(refused("/dev/null"));
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused(At("new/")));
}

TEST_F(OutputFileTest, DoesNotReplaceItsSource) {
  Put("a.mp4", "a movie");
  const UniqueFd source(open(At("a.mp4").c_str(), O_RDONLY));
  auto file = OutputFile::Choose(At("a.mp4"), true);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->Create(source.get()).ok());
  EXPECT_EQ(Files(), 1U);
}

TEST_F(OutputFileTest, HandsOnPermissions) {
  const auto mode = [&](const std::string& name) {
    struct stat status {};
    EXPECT_EQ(stat(At(name).c_str(), &status), 0);
    return status.st_mode & 07777U;
  };
  const mode_t before = umask(002);
  EXPECT_TRUE(Make("new.mp4", false).ok());
  umask(before);
  EXPECT_EQ(mode("new.mp4"), 0664U);
  Put("private.mp4", "old");
  ASSERT_EQ(chmod(At("private.mp4").c_str(), 0600), 0);
  ASSERT_TRUE(Make("private.mp4", true).ok());
  EXPECT_EQ(mode("private.mp4"), 0600U);
  ASSERT_EQ(chmod(At("private.mp4").c_str(), 0444), 0);
  ASSERT_TRUE(Make("private.mp4", true).ok());
  EXPECT_EQ(Read("private.mp4"), "new");
  EXPECT_EQ(mode("private.mp4"), 0444U);
}

TEST_F(OutputFileTest, TakesNamesAsLongAsTheFileSystem) {
  std::string name;
  while (name.size() < 250) name += "\u00e9";
  ASSERT_TRUE(Make(name + ".mp4", false).ok());
  EXPECT_EQ(Read(name + ".mp4"), "new");
}

}  // namespace
}  // namespace gopmill
