// SPDX-License-Identifier: Apache-2.0
#include "server/cli/text_output.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace gopmill::cli {
namespace {

TEST(ReadableJson, ValuesThenTables) {
  const std::string text = ReadableJson(R"({"policy": "h-cahrw", "workers": 2, "seconds": 1.5,
      "units": [{"unit": 0, "frames": 48, "cut": "closed"}, {"unit": 10, "frames": 5}],
      "target": {"width": 640, "sizes": [1, 2]}, "none": null, "empty": []})");
  EXPECT_EQ(text,
            "policy   h-cahrw\n"
            "workers  2\n"
            "seconds  1.5\n"
            "none     -\n"
            "empty\n"
            "units:\n"
            "  unit  frames  cut\n"
            "     0      48  closed\n"
            "    10       5\n"
            "target:\n"
            "  width  640\n"
            "  sizes  1, 2\n");
}

TEST(ReadableJson, LeavesOtherTextAlone) {
  EXPECT_EQ(ReadableJson("not json"), "not json\n");
  EXPECT_EQ(ReadableJson("{}"), "");
}

TEST(FailureReport, IsJsonWhateverTheMessageHolds) {
  Error error = InvalidArgument("size", "bad \"value\" \xff", "16 to 8192");
  const auto parsed = nlohmann::json::parse(FailureJson(error), nullptr, false);
  ASSERT_TRUE(parsed.is_object());
  EXPECT_EQ(parsed["error"]["code"], "invalid-argument");
  EXPECT_EQ(parsed["error"]["parameter"], "size");
}

TEST(Reports, GoToAFileOrSayWhyNot) {
  const std::string file = ::testing::TempDir() + "gopmill_report.json";
  ASSERT_TRUE(WriteReport(file, "{}").ok());
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(text.str(), "{}\n");
  std::filesystem::remove(file);
  EXPECT_FALSE(WriteReport("/nonexistent/report.json", "{}").ok());
}

TEST(Reports, TakeThePlaceOfNothing) {
  std::string made = ::testing::TempDir() + "gopmill_reports_XXXXXX";
  ASSERT_NE(mkdtemp(made.data()), nullptr);
  const std::string folder = made + "/";
  const std::string there = folder + "gopmill_source.mp4";
  std::ofstream(there) << "a movie";
  const auto refused = [](const std::vector<ReportFile>& files, std::vector<std::string> taken) {
    const Status status = CheckReports(files, std::move(taken));
    return status.ok() ? "" : status.error().parameter;
  };
  EXPECT_EQ(refused({{"json", folder + "./gopmill_source.mp4"}}, {there}), "json");
  EXPECT_EQ(refused({{"json", folder + "new"}}, {folder + "./new"}), "json") << "not there yet";
  const std::string link = folder + "gopmill_link";
  std::filesystem::create_symlink("gopmill_not_yet", link);
  EXPECT_EQ(refused({{"json", link}}, {folder + "gopmill_not_yet"}), "json");
  std::filesystem::remove(link);
  EXPECT_EQ(refused({{"json", folder + "new"}, {"csv", folder + "new"}}, {}), "csv");
  EXPECT_EQ(refused({{"json", "/nonexistent/new"}}, {}), "json");
  EXPECT_EQ(refused({{"json", "-"}, {"csv", ""}, {"html", folder + "b"}}, {"-", "", there}), "");
  std::filesystem::remove_all(made);
}

TEST(Reports, LieOutsideOfAFolder) {
  namespace fs = std::filesystem;
  const fs::path top = fs::path(::testing::TempDir()) / "gopmill_outside";
  fs::remove_all(top);
  fs::create_directories(top / "out" / "deep");
  fs::create_directory_symlink("out", top / "link");
  fs::create_symlink("out/not_yet.json", top / "leads_in.json");
  const auto refused = [&](const std::string& report, const std::string& folder) {
    const Status status = CheckOutside({"json", report}, folder);
    return !status.ok() && status.error().parameter == "json";
  };
  const std::string t = top.string() + "/";
  for (const char* folder : {"out", "out/", "out//", "./out/.", "link", "link/", "out/deep/.."}) {
    for (const char* report : {"out/x", "out/deep/x", "link/x", "out/deep/../x", "leads_in.json"}) {
      EXPECT_TRUE(refused(t + report, t + folder)) << report << " in " << folder;
    }
    for (const char* report : {"x", "out.json", "outer", "out/../x", "link/../x"}) {
      EXPECT_FALSE(refused(t + report, t + folder)) << report << " in " << folder;
    }
    EXPECT_FALSE(refused("-", t + folder));
    EXPECT_FALSE(refused("", t + folder));
  }
  EXPECT_TRUE(refused(t + "new", t + "new/")) << "neither is there yet";
  EXPECT_FALSE(refused(t + "new.json", t + "new"));
  EXPECT_FALSE(refused(t + "x", "")) << "refused otherwise";
  const fs::path before = fs::current_path();
  fs::current_path(top / "out");
  EXPECT_TRUE(refused("x", "."));
  EXPECT_TRUE(refused("x", ".."));
  EXPECT_FALSE(refused("../x", "."));
  fs::current_path(before);
  fs::remove_all(top);
}

}  // namespace
}  // namespace gopmill::cli
