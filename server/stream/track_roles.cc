// SPDX-License-Identifier: Apache-2.0
#include "server/stream/track_roles.h"

#include <fmt/format.h>

#include <utility>

#include "media/av_ptr.h"

namespace gopmill {
namespace {

constexpr int kDescribes = AV_DISPOSITION_VISUAL_IMPAIRED | AV_DISPOSITION_DESCRIPTIONS;
constexpr int kTellsSounds = AV_DISPOSITION_HEARING_IMPAIRED | AV_DISPOSITION_CAPTIONS;

std::string Characteristics(std::string_view list) {
  return fmt::format(",CHARACTERISTICS=\"{}\"", list);
}

std::string Accessibility(int purpose) {
  return fmt::format(
      "      <Accessibility schemeIdUri=\"urn:tva:metadata:cs:AudioPurposeCS:2007\" "
      "value=\"{}\"/>\n",
      purpose);
}

std::string RoleElement(std::string_view role) {
  return fmt::format("      <Role schemeIdUri=\"urn:mpeg:dash:role:2011\" value=\"{}\"/>\n", role);
}

}  // namespace

std::string SoundCharacteristics(int roles) {
  if ((roles & kDescribes) == 0) return {};
  return Characteristics("public.accessibility.describes-video");
}

std::string TextCharacteristics(int roles) {
  if ((roles & kTellsSounds) == 0) return {};
  return Characteristics(
      "public.accessibility.transcribes-spoken-dialog,"
      "public.accessibility.describes-music-and-sound");
}

std::string_view TextRole(bool forced, int roles) {
  if (forced) return "forced-subtitle";
  return (roles & kTellsSounds) != 0 ? "caption" : "subtitle";
}

std::string RoleElements(std::string_view first, int roles) {
  std::string text;
  if ((roles & kDescribes) != 0) text += Accessibility(1);
  if ((roles & kTellsSounds) != 0) text += Accessibility(2);
  text += RoleElement(first);
  for (const auto& [flags, role] :
       {std::pair(kDescribes, "description"), std::pair(AV_DISPOSITION_COMMENT, "commentary"),
        std::pair(AV_DISPOSITION_DUB, "dub")}) {
    if ((roles & flags) != 0) text += RoleElement(role);
  }
  return text;
}

}  // namespace gopmill
