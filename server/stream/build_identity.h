// SPDX-License-Identifier: Apache-2.0
//
// Which program this is, down to the encoders it has loaded: what it makes may differ from what
// another one made. Thread-safety: safe.
#pragma once

#include <string>

namespace gopmill {

// A hexadecimal digest of the build ids (ELF notes) of the program and all libraries that it has
// when this is called first: the same in every process of the same installation if that is at its
// start, before anything loads more of them (plugins of GStreamer, converters of iconv).
const std::string& BuildIdentity();

// Of the release, like "0.1.0".
std::string BuildVersion();

}  // namespace gopmill
