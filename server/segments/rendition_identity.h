// SPDX-License-Identifier: Apache-2.0
//
// By which names segments are cached: of pictures and of sound, without their numbers. Equal names
// stand for equal bytes: whatever these depend on is in the name, this program included. What they
// do not depend on is not, so that others who ask for the same find them.
//
// Every field of Target is either in a name or left out of it by a line of the source that names
// it: one that is added does not compile before somebody has decided (rendition_identity_test has
// one line for each as well).
//
// Thread-safety: safe (pure functions).
#pragma once

#include <cstdint>
#include <string>

#include "media/target.h"

namespace gopmill {

// What a rendition is made of, beside its target.
struct RenditionSource {
  std::string file;     // the movie and what is drawn into its pictures
  int audio_track = 0;  // that was asked for; 0 = the best
  double segment_seconds = 2;
};

// `frames`, `samples`: length of all segments together, since the last one ends with it.
std::string VideoIdentity(const Target& target, const RenditionSource& source, std::int64_t frames);
std::string AudioIdentity(const Target& target, const RenditionSource& source,
                          std::int64_t samples);

}  // namespace gopmill
