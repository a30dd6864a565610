// SPDX-License-Identifier: Apache-2.0
#include "server/stream/track_roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "media/av_ptr.h"

namespace gopmill {
namespace {

using testing::HasSubstr;

constexpr const char* kMain =
    "      <Role schemeIdUri=\"urn:mpeg:dash:role:2011\" value=\"main\"/>\n";

TEST(TrackRoles, NothingIsSaidOfWhatIsThereForAll) {
  EXPECT_EQ(SoundCharacteristics(0), "");
  EXPECT_EQ(TextCharacteristics(0), "");
  EXPECT_EQ(TextRole(false, 0), "subtitle");
  EXPECT_EQ(TextRole(true, 0), "forced-subtitle");
  EXPECT_EQ(RoleElements("main", 0), kMain);
}

TEST(TrackRoles, ADescriptionOfThePicturesIsFound) {
  const int roles = AV_DISPOSITION_VISUAL_IMPAIRED;
  EXPECT_EQ(SoundCharacteristics(roles),
            ",CHARACTERISTICS=\"public.accessibility.describes-video\"");
  EXPECT_EQ(RoleElements("main", roles),
            "      <Accessibility schemeIdUri=\"urn:tva:metadata:cs:AudioPurposeCS:2007\" "
            "value=\"1\"/>\n" +
                std::string(kMain) +
                "      <Role schemeIdUri=\"urn:mpeg:dash:role:2011\" value=\"description\"/>\n");
}

TEST(TrackRoles, TextForTheHardOfHearingIsFound) {
  for (const int roles : {AV_DISPOSITION_HEARING_IMPAIRED, AV_DISPOSITION_CAPTIONS}) {
    EXPECT_EQ(TextCharacteristics(roles),
              ",CHARACTERISTICS=\"public.accessibility.transcribes-spoken-dialog,"
              "public.accessibility.describes-music-and-sound\"");
    EXPECT_EQ(TextRole(false, roles), "caption");
    EXPECT_THAT(RoleElements("caption", roles), HasSubstr("AudioPurposeCS:2007\" value=\"2\""));
  }
}

TEST(TrackRoles, ACommentaryHasItsRoleBesideTheFirst) {
  EXPECT_EQ(SoundCharacteristics(AV_DISPOSITION_COMMENT), "");
  EXPECT_EQ(RoleElements("main", AV_DISPOSITION_COMMENT | AV_DISPOSITION_DUB),
            std::string(kMain) +
                "      <Role schemeIdUri=\"urn:mpeg:dash:role:2011\" value=\"commentary\"/>\n"
                "      <Role schemeIdUri=\"urn:mpeg:dash:role:2011\" value=\"dub\"/>\n");
}

}  // namespace
}  // namespace gopmill
