// SPDX-License-Identifier: Apache-2.0
//
// Names of languages as containers and as playlists have them.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>

namespace gopmill {

// What a container says ("eng", ISO 639-2) in the shortest form (RFC 5646: "en"); empty for what
// cannot be a language.
std::string LanguageTag(const std::string& language);
// The other way, without a region: "pt-BR" is "por". What is not known stays as it is.
std::string ContainerLanguage(const std::string& language);

}  // namespace gopmill
