// SPDX-License-Identifier: Apache-2.0
//
// How playlists call a source's tracks of sound and text.
//
// Thread-safety: compatible.
#pragma once

#include <initializer_list>
#include <set>
#include <string>

namespace gopmill {

// Names that differ (RFC 8216 section 4.3.4.1): the first wish that is not empty, with a number
// where another track has it; its quotes single ones.
class UniqueNames {
 public:
  std::string For(std::initializer_list<std::string> wishes);

 private:
  std::set<std::string> taken_;
};

// `language`: RFC 5646. Nothing where it is empty.
std::string LanguageAttribute(const std::string& language);  // of a playlist: ",LANGUAGE="en""
std::string LangAttribute(const std::string& language);      // of a manifest: " lang="en""

}  // namespace gopmill
