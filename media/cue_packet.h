// SPDX-License-Identifier: Apache-2.0
//
// A cue of text as a packet, so that it goes the way of a live source's other packets: its payload
// in the form that it was read in, times in microseconds, a duration of 0 where its end is not
// known.
//
// Thread-safety: safe (pure functions).
#pragma once

#include "media/av_ptr.h"
#include "media/subtitle_track.h"

namespace gopmill {

// `number`: of its track of text.
av::Packet MakeCuePacket(const SubtitleCue& cue, int number);
// On the clock that the packet's times are on.
SubtitleCue ReadCuePacket(const AVPacket& packet);

}  // namespace gopmill
