// SPDX-License-Identifier: Apache-2.0
//
// What playlists and manifests say of what a track is for (StreamRoles): a description of the
// pictures, a commentary, text that tells sounds too. Players find such tracks for who has asked
// for them in the settings of a system, and leave them alone for others.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <string>
#include <string_view>

namespace gopmill {

// Of EXT-X-MEDIA (RFC 8216 section 4.3.4.1): ",CHARACTERISTICS="..."", or nothing.
std::string SoundCharacteristics(int roles);
std::string TextCharacteristics(int roles);

// What the scheme of ISO/IEC 23009-1 calls a track of text above all.
std::string_view TextRole(bool forced, int roles);
// Elements of an AdaptationSet, in the order of its schema: Accessibility (by the scheme of DVB,
// ETSI TS 103 285), then Role: `first`, and what else the track is.
std::string RoleElements(std::string_view first, int roles);

}  // namespace gopmill
