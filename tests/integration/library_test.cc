// SPDX-License-Identifier: Apache-2.0
//
// Nothing outside of the library can be opened, unless it is one's own folder.
#include "server/files/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace gopmill {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::Field;

// Root may read everything; so may no test of rights be root.
class WithoutRights {
 public:
  WithoutRights() { EXPECT_TRUE(geteuid() != 0 || seteuid(kNobody) == 0); }
  ~WithoutRights() { EXPECT_EQ(seteuid(getuid()), 0); }
  WithoutRights(const WithoutRights&) = delete;
  WithoutRights& operator=(const WithoutRights&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
};

class LibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/gopmill-library-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    top_ = name;
    fs::create_directories(top_ / "movies" / "sub");
    Write(top_ / "secret.mp4");
    Write(top_ / "movies" / "a.mp4");
    Write(top_ / "movies" / "sub" / "b b.MKV");
    Write(top_ / "movies" / "notes.txt");
    Write(top_ / "movies" / ".hidden.mp4");
    fs::create_directories(top_ / "movies" / ".trash");
    Write(top_ / "movies" / ".trash" / "c.mp4");
    Write(top_ / "movies" / "latin-\xe9.mp4");  // not UTF-8: no request can name it
    fs::create_symlink(top_ / "secret.mp4", top_ / "movies" / "out.mp4");
    fs::create_symlink("../secret.mp4", top_ / "movies" / "up.mp4");
    fs::create_symlink("a.mp4", top_ / "movies" / "in.mp4");
    fs::create_symlink(top_, top_ / "movies" / "top");
    ASSERT_EQ(mkfifo((top_ / "movies" / "pipe.mp4").c_str(), 0600), 0);
  }
  void TearDown() override {
    std::error_code ignored;  // of those that a test has taken rights from
    for (const char* folder : {"movies", "movies/sub"}) {
      fs::permissions(top_ / folder, fs::perms::owner_all, ignored);
    }
    fs::remove_all(top_);
  }

  static void Write(const fs::path& path) { std::ofstream(path) << "x"; }
  [[nodiscard]] Library Opened() const {
    auto library = Library::Open((top_ / "movies").string());
    EXPECT_TRUE(library.ok());
    return std::move(library).value();
  }
  static std::vector<Library::Entry> Listed(const Library& library) {
    auto entries = library.List();
    EXPECT_TRUE(entries.ok());
    return std::move(entries).value();
  }
  fs::path top_;
};

TEST_F(LibraryTest, OpensWhatIsInside) {
  const Library library = Opened();
  EXPECT_TRUE(library.OpenEntry("a.mp4").ok());
  EXPECT_TRUE(library.OpenEntry("sub/b b.MKV").ok());
  EXPECT_TRUE(library.OpenEntry("in.mp4").ok()) << "a symlink that stays inside";
}

TEST_F(LibraryTest, RefusesEverythingElseWithoutSayingWhy) {
  const Library library = Opened();
  for (const std::string path :
       {"../secret.mp4", "sub/../../secret.mp4", "/etc/passwd", "out.mp4", "up.mp4",
        "top/secret.mp4", "nothing.mp4", "", "sub", "pipe.mp4", "sub/./../../movies/../secret.mp4",
        ".hidden.mp4", ".trash/c.mp4", "sub/../.hidden.mp4"}) {
    const auto fd = library.OpenEntry(path);
    ASSERT_FALSE(fd.ok()) << path;
    EXPECT_EQ(fd.error().code, Code::kNotFound) << path;
    EXPECT_EQ(fd.error().message.find(top_.string()), std::string::npos);
  }
  EXPECT_FALSE(library.OpenEntry(std::string("a.mp4\0x", 7)).ok());
}

// Of the command line.
TEST_F(LibraryTest, OnesOwnFolderHasWhatOneMayRead) {
  auto library = Library::Open((top_ / "movies").string(), /*own=*/true);
  ASSERT_TRUE(library.ok());
  fs::create_symlink("nowhere.srt", top_ / "movies" / "a.srt");
  fs::create_symlink(top_ / "secret.mp4", top_ / "movies" / "a.en.srt");
  for (const std::string path : {"a.mp4", "in.mp4", "out.mp4", "up.mp4", "top/secret.mp4",
                                 ".hidden.mp4", ".trash/c.mp4", "a.en.srt"}) {
    EXPECT_TRUE(library->OpenEntry(path).ok()) << path;
  }
  EXPECT_THAT(library->SubtitlesOf("a.mp4"), ElementsAre("a.en.srt", "a.srt"));
  const auto gone = library->OpenEntry("a.srt");
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, Code::kNotFound);
  EXPECT_EQ(gone.error().message, "'a.srt' cannot be opened: No such file or directory.");
  for (const std::string path : {"sub", "pipe.mp4"}) {
    EXPECT_EQ(library->OpenEntry(path).error().code, Code::kUnsupported) << path;
  }
}

// Which a player or a cache would remember.
TEST_F(LibraryTest, WithoutDescriptorsAMovieIsNotAMovieThatIsNotThere) {
  const Library library = Opened();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto fd = library.OpenEntry("a.mp4");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(fd.ok());
  EXPECT_EQ(fd.error().code, Code::kUnavailable);
}

TEST_F(LibraryTest, AMovieThatMayNotBeReadIsListedAndNotSaidToBeMissing) {
  const Library library = Opened();
  fs::permissions(top_, fs::perms::all);
  fs::permissions(top_ / "movies" / "a.mp4", fs::perms::none);
  const WithoutRights without;
  const auto fd = library.OpenEntry("a.mp4");
  ASSERT_FALSE(fd.ok());
  EXPECT_EQ(fd.error().code, Code::kIo);
  EXPECT_EQ(library.OpenEntry("nothing.mp4").error().code, Code::kNotFound);
  EXPECT_THAT(Listed(library), ElementsAre(Field(&Library::Entry::path, "a.mp4"),
                                           Field(&Library::Entry::path, "in.mp4"),
                                           Field(&Library::Entry::path, "sub/b b.MKV")));
}

TEST_F(LibraryTest, AFolderThatMayNotBeReadHidesNoOther) {
  const Library library = Opened();
  fs::permissions(top_, fs::perms::all);
  fs::create_directory(top_ / "movies" / "other");
  Write(top_ / "movies" / "other" / "c.mp4");
  fs::permissions(top_ / "movies" / "sub", fs::perms::none);
  const WithoutRights without;
  EXPECT_EQ(library.OpenEntry("sub/b b.MKV").error().code, Code::kIo);
  EXPECT_THAT(Listed(library), ElementsAre(Field(&Library::Entry::path, "a.mp4"),
                                           Field(&Library::Entry::path, "in.mp4"),
                                           Field(&Library::Entry::path, "other/c.mp4")));
}

TEST_F(LibraryTest, ALibraryThatMayNotBeReadIsNotAnEmptyOne) {
  const Library library = Opened();
  const std::string folder = (top_ / "movies").string();
  for (const fs::perms rights :
       {fs::perms::none, fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read}) {
    fs::permissions(top_, fs::perms::all);
    fs::permissions(folder, rights);
    const WithoutRights without;
    EXPECT_EQ(library.Check().error().code, Code::kUnavailable);
    EXPECT_EQ(library.List().error().code, Code::kUnavailable);
    const auto again = Library::Open(folder);
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().parameter, "library");
    EXPECT_NE(again.error().accepted.find("may list and enter"), std::string::npos);
  }
}

TEST_F(LibraryTest, AFolderThatGoesAndComesBackIsTheLibraryAgain) {
  const Library library = Opened();
  fs::rename(top_ / "movies", top_ / "gone");
  EXPECT_EQ(library.OpenEntry("a.mp4").error().code, Code::kUnavailable);
  EXPECT_EQ(library.List().error().code, Code::kUnavailable);
  fs::create_directory(top_ / "movies");
  Write(top_ / "movies" / "new.mp4");
  EXPECT_TRUE(library.Check().ok());
  EXPECT_TRUE(library.OpenEntry("new.mp4").ok());
  EXPECT_EQ(library.OpenEntry("a.mp4").error().code, Code::kNotFound);
  EXPECT_THAT(Listed(library), ElementsAre(Field(&Library::Entry::path, "new.mp4")));
}

TEST_F(LibraryTest, ListsMoviesOnly) {
  for (const char* name : {"new\nline.mp4", "tab\t.mp4", "back\\slash.mp4", "latin\xE9.mp4"}) {
    Write(top_ / "movies" / name);
  }
  fs::create_directory(top_ / "movies" / "a\nfolder");
  Write(top_ / "movies" / "a\nfolder" / "b.mp4");
  EXPECT_THAT(Listed(Opened()), ElementsAre(Field(&Library::Entry::path, "a.mp4"),
                                            Field(&Library::Entry::path, "in.mp4"),
                                            Field(&Library::Entry::path, "sub/b b.MKV")));
}

TEST_F(LibraryTest, FindsTheSubtitlesBesideAMovie) {
  for (const char* name : {"a.srt", "a.en.vtt", "a.part.srt", "ab.srt", "a.txt", "a.part.de.srt"}) {
    Write(top_ / "movies" / name);
  }
  Write(top_ / "movies" / "sub" / "b b.ASS");
  Write(top_ / "movies" / "a.part.mkv");
  fs::create_symlink(top_ / "secret.mp4", top_ / "movies" / "a.out.srt");
  const Library library = Opened();
  const auto paths = [&](const std::string& movie) {
    std::vector<std::string> found;
    for (const std::string& path : library.SubtitlesOf(movie)) {
      if (library.Find(path)) found.push_back(path);  // not the one that leads out
    }
    return found;
  };
  EXPECT_THAT(paths("a.mp4"), ElementsAre("a.en.vtt", "a.srt")) << "not those of a.part.mkv";
  EXPECT_THAT(paths("a.part.mkv"), ElementsAre("a.part.de.srt", "a.part.srt"));
  EXPECT_THAT(paths("sub/b b.MKV"), ElementsAre("sub/b b.ASS"));
  EXPECT_THAT(paths("../a.mp4"), ElementsAre());
  EXPECT_THAT(paths("none/a.mp4"), ElementsAre());
  const auto listed = Listed(library);
  const auto one = std::ranges::find(listed, "a.part.mkv", &Library::Entry::path);
  ASSERT_NE(one, listed.end());
  EXPECT_THAT(one->subtitles, ElementsAre("a.part.de.srt", "a.part.srt"));
}

TEST_F(LibraryTest, StampsAFolderByItsNames) {
  const fs::path folder = top_ / "movies";
  const Library library = Opened();
  EXPECT_EQ(library.FolderStamp("a.mp4"), "") << "it has just been filled";
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(folder, old);
  const std::string before = library.FolderStamp("a.mp4");
  EXPECT_NE(before, "");
  EXPECT_EQ(library.FolderStamp("in.mp4"), before);
  fs::last_write_time(folder, old + std::chrono::milliseconds(1));
  EXPECT_NE(library.FolderStamp("a.mp4"), before);
  EXPECT_EQ(library.FolderStamp("none/a.mp4"), "");
  EXPECT_EQ(library.FolderStamp("../secret.mp4"), "");
}

TEST_F(LibraryTest, ReadsNoMoreSubtitlesThanItSays) {
  for (int i = 0; i < 50; ++i) Write(top_ / "movies" / ("a." + std::to_string(i) + ".srt"));
  EXPECT_EQ(Opened().SubtitlesOf("a.mp4").size(), kMaxSubtitleFiles);
}

TEST_F(LibraryTest, RefusesAFolderThatIsNone) {
  EXPECT_FALSE(Library::Open((top_ / "secret.mp4").string()).ok());
  EXPECT_FALSE(Library::Open((top_ / "nothing").string()).ok());
}

}  // namespace
}  // namespace gopmill
