// SPDX-License-Identifier: Apache-2.0
#include "scheduler/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "scheduler/topology_hwloc.h"
#include "scheduler/topology_text.h"
#include "tests/unit/scheduler/virtual_pool.h"

// hwloc 2.9 loses the object it was reading (640 bytes) when an XML file ends in the middle of it.
extern "C" const char* __lsan_default_suppressions();  // NOLINT: the name is the sanitizer's
extern "C" const char* __lsan_default_suppressions() { return "leak:hwloc_alloc_setup_object"; }

namespace gopmill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

std::string WriteFile(const std::string& name, const std::string& text) {
  const fs::path file = fs::path(testing::TempDir()) / name;
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

// Four PUs on two packages, CPU numbers interleaved, the third one not allowed.
constexpr const char* kXml = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f"
      allowed_cpuset="0x0000000b" nodeset="0x00000001" complete_nodeset="0x00000001"
      allowed_nodeset="0x00000001" gp_index="1">
    <object type="NUMANode" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f"
        nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="8" local_memory="1024"/>
    <object type="Package" os_index="0" cpuset="0x00000005" complete_cpuset="0x00000005"
        nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2">
      <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001"
          nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="4"/>
      <object type="PU" os_index="2" cpuset="0x00000004" complete_cpuset="0x00000004"
          nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="5"/>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000a" complete_cpuset="0x0000000a"
        nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3">
      <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002"
          nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="6"/>
      <object type="PU" os_index="3" cpuset="0x00000008" complete_cpuset="0x00000008"
          nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="7"/>
    </object>
  </object>
</topology>
)";

TEST(SyntheticTest, BuildsTheTreeWithItsCaches) {
  const Topology topology = SyntheticTopology("pack:2 l3:1(size=33554432) l2:2 core:2 pu:2");
  EXPECT_EQ(topology.pu_count(), 16);
  EXPECT_EQ(topology.Count(NodeKind::kPackage), 2);
  EXPECT_EQ(topology.Count(NodeKind::kL3), 2);
  EXPECT_EQ(topology.Count(NodeKind::kL2), 4);
  EXPECT_EQ(topology.Count(NodeKind::kCore), 8);
  EXPECT_EQ(topology.ClosestCommon(0, 0), NodeKind::kPu);
  EXPECT_EQ(topology.ClosestCommon(0, 1), NodeKind::kCore);
  EXPECT_EQ(topology.ClosestCommon(0, 2), NodeKind::kL2);
  EXPECT_EQ(topology.ClosestCommon(0, 4), NodeKind::kL3);
  EXPECT_EQ(topology.ClosestCommon(0, 8), NodeKind::kMachine)
      << "one memory node over two packages is no closer than the machine";
}

TEST(SyntheticTest, MemoryNodesArePartsOfTheTree) {
  const Topology topology = SyntheticTopology("pack:2 numa:2 core:2 pu:1");
  EXPECT_EQ(topology.Count(NodeKind::kNuma), 4);
  EXPECT_EQ(topology.ClosestCommon(0, 1), NodeKind::kNuma);
  EXPECT_EQ(topology.ClosestCommon(0, 2), NodeKind::kPackage);
  EXPECT_EQ(topology.ClosestCommon(0, 4), NodeKind::kMachine);
}

TEST(SyntheticTest, ParentsComeFirstAndRangesNest) {
  const Topology topology = SyntheticTopology("pack:2 numa:2 l3:2 core:3 pu:2");
  for (std::size_t i = 0; i < topology.nodes().size(); ++i) {
    const TopologyNode& node = topology.nodes()[i];
    int below = 0;
    for (const int child : node.children) {
      EXPECT_GT(child, static_cast<int>(i));
      const TopologyNode& part = topology.nodes()[static_cast<std::size_t>(child)];
      EXPECT_EQ(part.first_pu, node.first_pu + below);
      below += part.pu_count;
    }
    if (!node.children.empty()) {
      EXPECT_EQ(below, node.pu_count);
    }
  }
}

TEST(SyntheticTest, TakesUpTo4096Pus) {
  EXPECT_EQ(SyntheticTopology("pack:8 numa:4 l3:4 core:16 pu:2").pu_count(), 4096);
  for (const char* too_big : {"pack:8 numa:4 l3:4 core:16 pu:3", "pack:1000000 core:1000000 pu:9",
                              "4097", "64 64 2", "pack:99999999999999999999999 pu:2"}) {
    const auto topology = TopologyFromSynthetic(too_big);
    ASSERT_FALSE(topology.ok()) << too_big;
    EXPECT_EQ(ErrorOf(topology).code, Code::kInvalidArgument);
  }
}

// hwloc would make 16 million objects of some of these.
TEST(SyntheticTest, NoWayOfWritingACountEscapesTheLimit) {
  for (const char* text :
       {"core:0x1000 pu:0x1000", "core:0X10 pu:1", "0x1000 0x1000", "core:+4096 pu:+4096",
        "core:\t4096 pu:\n4096", "4096\n4096", "pack:2(size=1)4096 pu:2", "[numa]4096 2",
        "core(:4096 pu(:4096", "core [:4096 pu [:4096", "core):4096 pu):4096"}) {
    const auto topology = TopologyFromSynthetic(text);
    ASSERT_FALSE(topology.ok()) << text;
    EXPECT_EQ(ErrorOf(topology).code, Code::kInvalidArgument) << text;
  }
  EXPECT_THAT(ErrorOf(TopologyFromSynthetic("pack:2 core:0x10 pu:1")).ToString(),
              AllOf(HasSubstr("at character 13, \"0x10\""), HasSubstr("decimal count")));
  EXPECT_EQ(SyntheticTopology("pack:2 [numa(memory=99999)] l2:2(size=262144) pu:2").pu_count(), 8);
}

// hwloc would make sets of 512 MiB.
TEST(SyntheticTest, IndexesHaveALimit) {
  for (const char* text :
       {"pu:2(indexes=0,4000000000)", "pack:2(indexes=1048577,1) pu:2", "pu:2(indexes=0,-1)",
        "pu:2(indexes=0,0xffffffff)", "pu:2 (memory=1 indexes=0,99999999999999999999)",
        "pack:2 [numa(indexes=0,4000000000)] pu:2", "pu:2(indexes=4000000000*2)",
        "(indexes=9999999"}) {
    const auto topology = TopologyFromSynthetic(text);
    ASSERT_FALSE(topology.ok()) << text;
    EXPECT_EQ(ErrorOf(topology).code, Code::kInvalidArgument) << text;
    EXPECT_THAT(ErrorOf(topology).ToString(), HasSubstr("0 to 1048576")) << text;
  }
  EXPECT_THAT(ErrorOf(TopologyFromSynthetic("pu:2(indexes=0,4000000000)")).ToString(),
              HasSubstr("at character 16, \"4000000000)\""));
  const Topology given = SyntheticTopology("core:2 pu:2(indexes=3,1048576,1,0)");
  EXPECT_EQ(given.pu(3).os_index, 1048576);
  EXPECT_EQ(SyntheticTopology("core:2 pu:2(indexes=2*2:4*1)").pu_count(), 4);
  EXPECT_EQ(SyntheticTopology("pack:2 core:2 pu:2(indexes=pack:core)").pu_count(), 8);
  EXPECT_EQ(SyntheticTopology("l3:2 core:2 pu:2(indexes=l3cache:core)").pu_count(), 8);
}

// One for each part of the level before: 4,096 here, twice.
TEST(SyntheticTest, MemoryNodesHaveALimit) {
  const auto many = TopologyFromSynthetic("pack:4096 [numa][numa] pu:1");
  ASSERT_FALSE(many.ok());
  EXPECT_THAT(ErrorOf(many).ToString(), HasSubstr("more than 4096 memory nodes"));
  EXPECT_EQ(SyntheticTopology("pack:2 [numa] l3:2 [numa][numa] pu:2").pu_count(), 8);
}

TEST(SyntheticTest, GarbageIsAClearError) {
  for (const char* garbage :
       {"", " ", "hello", "pack:", "pack:0 pu:1", "pack:-1 pu:2", "pu:2 pack:2", "pack:2 (",
        "core:2 pu:2 pu:2", "\x01\x02\x03", "l3:2(size=) pu:1"}) {
    const auto topology = TopologyFromSynthetic(garbage);
    if (topology.ok()) {
      // hwloc reads an empty description as one PU in some versions; anything small is fine.
      EXPECT_LE(topology.value().pu_count(), 4) << garbage;
    } else {
      EXPECT_EQ(ErrorOf(topology).code, Code::kInvalidArgument) << garbage;
    }
  }
  EXPECT_FALSE(TopologyFromSynthetic("hello").ok());
  EXPECT_FALSE(TopologyFromSynthetic(std::string(100'000, '1')).ok());
}

TEST(SyntheticTest, AnErrorNamesThePlace) {
  const auto message = [](const char* text) {
    return ErrorOf(TopologyFromSynthetic(text)).ToString();
  };
  EXPECT_THAT(message("pack:2 core:x pu:2"), HasSubstr("at character 8, \"core:x\""));
  EXPECT_THAT(message("pack:2  l3:0 pu:1"), HasSubstr("at character 9, \"l3:0\""));
  EXPECT_THAT(message("pack:2 pu:2 core:2"), HasSubstr("at character 13, \"core:2\""));
  EXPECT_THAT(message("hello"), HasSubstr("at character 1, \"hello\""));
  EXPECT_THAT(message("pack:2 core:4"), HasSubstr("ends without its PUs"));
  EXPECT_THAT(message("pack:2 core:4"), HasSubstr("pack:2 l3:2 core:4 pu:2"));
}

TEST(SyntheticTest, RandomTextNeverCrashes) {
  std::mt19937 random(17);
  const std::string letters = "packnumalcorepu:0123456789 ()[]=size,-";
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (unsigned n = static_cast<unsigned>(random() % 24); n > 0; --n) {
      text += letters[random() % letters.size()];
    }
    const auto topology = TopologyFromSynthetic(text);
    if (topology.ok()) {
      EXPECT_LE(topology.value().pu_count(), kMaxPus);
    }
  }
}

TEST(XmlTest, ReadsAnExportAndLeavesForbiddenPusOut) {
  const auto topology = TopologyFromXmlFile(WriteFile("machine.xml", kXml));
  ASSERT_TRUE(topology.ok()) << ErrorOf(topology).ToString();
  EXPECT_EQ(topology.value().pu_count(), 3);
  EXPECT_EQ(AllowedCpusText(topology.value()), "0-1,3");
}

TEST(XmlTest, AMissingFileIsNotFound) {
  EXPECT_EQ(ErrorOf(TopologyFromXmlFile("/nonexistent/machine.xml")).code, Code::kNotFound);
  EXPECT_FALSE(TopologyFromXmlFile(testing::TempDir()).ok()) << "a folder";
}

TEST(XmlTest, GarbageIsAClearError) {
  const std::string xml = kXml;
  const std::string cases[] = {
      "",
      "not xml at all",
      std::string(4096, '\0'),
      "<topology",
      "<topology/>",
      "<topology version=\"2.0\"></topology>",
      "<topology version=\"99.0\"><object type=\"Machine\"/></topology>",
      xml.substr(0, xml.size() / 2),
      xml.substr(0, 300),
  };
  for (const std::string& text : cases) {
    const auto topology = TopologyFromXmlFile(WriteFile("garbage.xml", text));
    ASSERT_FALSE(topology.ok()) << text.substr(0, 60);
    EXPECT_EQ(ErrorOf(topology).code, Code::kInvalidArgument);
    EXPECT_FALSE(ErrorOf(topology).accepted.empty());
  }
}

TEST(XmlTest, AnErrorNamesLineAndColumn) {
  const auto message = [](const std::string& text) {
    return ErrorOf(TopologyFromXmlFile(WriteFile("broken.xml", text))).ToString();
  };
  EXPECT_THAT(message("<?xml version=\"1.0\"?>\n<topology>\n <object>\n</topology>\n"),
              HasSubstr("line 4, column 3: mismatched tag"));
  EXPECT_THAT(message("<topology>\n<object"), HasSubstr("line 2, column 1: unclosed token"));
  EXPECT_THAT(message("<html>\n</html>\n"), HasSubstr("line 1, column 7: the outermost element"));
  EXPECT_THAT(message("hello"), HasSubstr("line 1, column 1: syntax error"));
  EXPECT_THAT(message("<topology>\n <object type=\"PU\" os_index=\"4294967295\"/></topology>"),
              HasSubstr("line 2, column 43: the os_index of a PU or memory node is not"));
  std::string deep;
  for (int i = 0; i < 64; ++i) deep += "<object type=\"Group\">\n";
  EXPECT_THAT(message("<topology>\n" + deep),
              HasSubstr("line 65, column 22: more than 64 elements are inside each other"));
  EXPECT_THAT(message("<topology version=\"99.0\"><object type=\"Machine\"/></topology>"),
              HasSubstr("hwloc cannot read a machine from it"));
}

TEST(XmlTest, DepthAndEntitiesCostNothing) {
  std::string deep = "<topology>";
  for (int i = 0; i < 200'000; ++i) deep += "<a>";
  EXPECT_FALSE(TopologyFromXmlFile(WriteFile("deep.xml", deep)).ok());
  std::string bomb = "<!DOCTYPE topology [<!ENTITY e0 \"gopgopgop\">";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "&e" + std::to_string(i - 1) + ";";
    bomb += "<!ENTITY e" + std::to_string(i) + " \"" + before + before + before + "\">";
  }
  EXPECT_FALSE(
      TopologyFromXmlFile(WriteFile("bomb.xml", bomb + "]><topology>&e39;</topology>")).ok());
}

// Well-formed, so it is for hwloc to judge.
TEST(XmlTest, AttributesThatMakeNoMachineNeverCrash) {
  std::mt19937 random(17);
  constexpr const char* kValues[] = {"",   "0",  "-1",   "0x0",        "0xffffffffffffffffffff",
                                     "PU", "L3", "Core", "4294967296", "0x0000000f",
                                     "x"};
  int machines = 0;
  for (int i = 0; i < 400; ++i) {
    std::string xml = kXml;
    for (unsigned n = 1 + static_cast<unsigned>(random() % 3); n > 0; --n) {
      // An attribute of an object; those of the XML declaration and the version stay.
      std::size_t at = xml.find("=\"", xml.find("<object") + random() % (xml.size() / 2));
      if (at == std::string::npos) continue;
      at += 2;
      xml.replace(at, xml.find('"', at) - at, kValues[random() % std::size(kValues)]);
    }
    const auto topology = TopologyFromXmlFile(WriteFile("mutated.xml", xml));
    if (topology.ok()) {
      ++machines;
      EXPECT_GE(topology.value().pu_count(), 1);
      EXPECT_LE(topology.value().pu_count(), kMaxPus);
    } else {
      EXPECT_EQ(ErrorOf(topology).code, Code::kInvalidArgument) << xml;
      EXPECT_FALSE(ErrorOf(topology).accepted.empty()) << xml;
    }
  }
  EXPECT_GT(machines, 0);
  EXPECT_LT(machines, 400);
}

TEST(XmlTest, WellFormedXmlThatIsNoMachineIsAClearError) {
  const std::string pu = "<object type=\"PU\" os_index=\"0\"/>";
  const std::string cases[] = {
      "<topology><object/></topology>",
      "<topology version=\"2.0\">" + pu + "</topology>",
      "<topology version=\"2.0\"><object type=\"Machine\"/></topology>",
      "<topology version=\"2.0\"><object type=\"Machine\">" + pu + pu + "</object></topology>",
      "<topology version=\"2.0\"><object type=\"Nonsense\" os_index=\"x\"/></topology>",
      "<topology version=\"2.0\"><page/><object type=\"PU\"><object type=\"Machine\"/></object>"
      "</topology>",
      "<topology version=\"2.0\"><object type=\"Machine\" cpuset=\"0x0\"/></topology>",
  };
  for (const std::string& text : cases) {
    const auto topology = TopologyFromXmlFile(WriteFile("no_machine.xml", text));
    ASSERT_FALSE(topology.ok()) << text;
    EXPECT_EQ(ErrorOf(topology).code, Code::kInvalidArgument) << text;
    EXPECT_FALSE(ErrorOf(topology).accepted.empty()) << text;
  }
}

TEST(FromPathsTest, RefusesWhatIsNoMachine) {
  const TopologyPath::Part pu{.kind = NodeKind::kPu, .key = 1, .os_index = 1};
  const TopologyPath::Part core{.kind = NodeKind::kCore, .key = 1, .os_index = 1};
  EXPECT_FALSE(Topology::FromPaths({}).ok());
  EXPECT_FALSE(Topology::FromPaths(std::vector<TopologyPath>{{}}).ok());
  EXPECT_FALSE(Topology::FromPaths(std::vector<TopologyPath>{{{pu, core}}}).ok());
  EXPECT_FALSE(Topology::FromPaths(std::vector<TopologyPath>{{{pu}}, {{core, pu}}}).ok());
}

TEST(DiscoverTest, KeepsToTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const auto all = DiscoverTopology({});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all.value().pu_count(), CPU_COUNT(&before));

  const int last = all.value().pu(all.value().pu_count() - 1).os_index;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(last), &only);
  ASSERT_EQ(sched_setaffinity(0, sizeof only, &only), 0);
  const auto one = DiscoverTopology({});
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one.value().pu_count(), 1);
  EXPECT_EQ(one.value().pu(0).os_index, last);
}

TEST(TextTest, DrawsTheTree) {
  EXPECT_EQ(TopologyTreeText(SyntheticTopology("pack:2 l2:1(size=4194304) core:1 pu:2")),
            "machine, 4 PUs\n"
            "+- NUMA node 0\n"
            "   +- package 0\n"
            "   |  +- L2, 4 MiB\n"
            "   |     +- core 0\n"
            "   |        +- PU 0\n"
            "   |        +- PU 1\n"
            "   +- package 1\n"
            "      +- L2, 4 MiB\n"
            "         +- core 1\n"
            "            +- PU 2\n"
            "            +- PU 3\n");
}

TEST(TextTest, ShowsTheRatiosAsAMatrixOrByLevel) {
  EXPECT_EQ(CommRatiosText(SyntheticTopology("pack:2 core:2 pu:1"), XeonE5335Ratios()),
            "  CPU     0     1     2     3\n"
            "    0  1.00  4.00 12.00 12.00\n"
            "    1  4.00  1.00 12.00 12.00\n"
            "    2 12.00 12.00  1.00  4.00\n"
            "    3 12.00 12.00  4.00  1.00\n");
  EXPECT_EQ(CommRatiosText(SyntheticTopology("pack:2 core:32 pu:1"), XeonE5335Ratios()),
            "same core       1.00\n"
            "same NUMA node  4.00\n"
            "same package    4.00\n"
            "same machine    12.00\n");
}

}  // namespace
}  // namespace gopmill
