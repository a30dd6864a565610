# SPDX-License-Identifier: Apache-2.0
"""Lost, cut and spoilt sources: the plan stays whole, and what is there is where it belongs."""

from case import case
from mutators import cut_bytes, flip_bytes
from mutators_headers import avi_claim, ivf_claim, mp4_claim
from mutators_ts import ts_junk, ts_lose, ts_repeat

VIDEO_PID, AUDIO_PID = 0x100, 0x101
SMALL = "libx264 -preset ultrafast -g 24 -bf 2 -qp 20"

# What is lost is the same each time, and so is what FFmpeg conceals: `wrong` is what was measured
# and two more.
case("lost-video-packets", ext="ts", frames=144, video=SMALL, wrong=6, colours=0, report={"damaged_video_packets": 2},
     after=((ts_lose, VIDEO_PID, 40, 60),), quick=True, cross=True)
case("lost-sound-packets", ext="ts", frames=144, after=((ts_lose, AUDIO_PID, 10, 40),))
case("lost-video-packets-mpeg2", ext="ts", frames=144, video="mpeg2video -g 12 -bf 2 -b:v 1M",
     audio="mp2", fps="25", wrong=4, colours=0, report={"damaged_video_packets": 2},
     after=((ts_lose, VIDEO_PID, 40, 60),))
case("lost-video-packets-hevc", ext="ts", frames=96, wrong=2, colours=0,
     video="libx265 -preset ultrafast -x265-params log-level=0:pools=none:frame-threads=1:keyint=24", report={"damaged_video_packets": 3},
     after=((ts_lose, VIDEO_PID, 20, 40),))
# FFmpeg's reader does not leave out the packet that came before: two pictures suffer.
case("repeated-packets", ext="ts", after=((ts_repeat, VIDEO_PID, 7),), wrong=3)
case("junk-between-packets", ext="ts", after=((ts_junk, 5),), wrong=8)
case("spoilt-ts", ext="ts", frames=96, wrong=48, colours=0, report={"frames_patched": 5},
     after=((flip_bytes, 7, 40),))
case("spoilt-mkv", ext="mkv", frames=96, wrong=41, colours=0, report={"frames_patched": 5, "damaged_video_packets": 1},
     after=((flip_bytes, 3, 40),))
case("spoilt-mpg", ext="mpg", frames=96, fps="25", video="mpeg2video -g 12 -bf 2 -b:v 1M", audio="mp2",
     wrong=10, colours=0, report={"frames_patched": 5},
     after=((flip_bytes, 5, 40),))
case("cut-ts", ext="ts", frames=96, shows="model", after=((cut_bytes, 0.6),))
case("cut-mkv", ext="mkv", frames=96, shows="model", after=((cut_bytes, 0.6),), quick=True)
case("cut-mpg", ext="mpg", frames=96, fps="25", video="mpeg2video -g 12 -bf 2 -b:v 1M", audio="mp2",
     shows="model", report={"frames_patched": 1},
     after=((cut_bytes, 0.6),))
case("cut-faststart", frames=96, mux="-movflags +faststart", shows="model", report={"damaged_video_packets": 1},
     after=((cut_bytes, 0.6),))
case("cut-avi", ext="avi", audio="libmp3lame", fps="25", frames=96, shows="model",
     video="mpeg4 -g 24 -b:v 1M", after=((cut_bytes, 0.6),))
case("cut-without-index", frames=96, after=((cut_bytes, 0.6),), error="damaged")

# ---- What is refused ------------------------------------------------------------------------

case("refused-encrypted", frames=48, error="encrypted", mux="-encryption_scheme cenc-aes-ctr"
     " -encryption_key 76a6c65c5ea762046bd749a2e632ccbb -encryption_kid a7e61c373e219033c21091fa607bf3b8")
case("refused-cinepak", video="cinepak", ext="mov", error="not supported", frames=12)
case("refused-svq1", video="svq1", ext="mov", error="not supported", frames=12)
# The palette comes with the first picture that is read, and the others would be black.
case("refused-palette-avi", video="rawvideo", pixels="pal8", audio=None, ext="avi", error="palette", frames=12, quick=True)
case("refused-palette-mov", video="rawvideo", pixels="pal8", audio=None, ext="mov", error="palette", frames=12)
case("refused-pipe-without-index", feed="pipe", error="moov", frames=48, size="640x384",
     video="libx264 -preset ultrafast -g 24 -qp 1", audio="pcm_s16le", ext="mov")
case("refused-huge-size", frames=12, audio=None, ext="m2v", video="mpeg2video -g 12 -b:v 1M",
     flags="--size 9000x9000", error="size", code=2)
# What a file claims of its pictures is held against the limits before anything is allocated for it.
case("refused-huge-avi", frames=12, audio=None, ext="avi", video="mjpeg -q:v 3", pixels="yuvj420p",
     after=((avi_claim, 65500, 65500),), error="frame size")
case("refused-huge-ivf", frames=12, audio=None, ext="ivf", error="frame size",
     video="libvpx -deadline realtime -cpu-used 8 -b:v 1M", after=((ivf_claim, 16383, 16383),))
# In MP4 the pictures themselves say it too, and they are right.
case("claimed-size-mp4", frames=48, after=((mp4_claim, 65535, 65535),),
     props={"width": 160, "height": 96})
case("refused-start-behind-end", frames=24, flags="--start 60", error="not within the source", code=2)
case("refused-webm-of-h264", frames=24, flags="--vcodec h264", container="webm", error="webm", code=2)
