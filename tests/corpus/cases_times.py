# SPDX-License-Identifier: Apache-2.0
"""Frame rates, timestamps and feeds."""

from case import case
from mutators import cut_head, ffmpeg, twice
from mutators_headers import mp4_edits, mp4_late_pictures, mp4_rename
from mutators_ts import ts_bend, ts_drop_stamps, ts_piece_in_front, ts_pieces, ts_shift

VIDEO_PID, AUDIO_PID = 0x100, 0x101
CLOSED = "libx264 -preset ultrafast -g 24 -bf 0"
BFRAMES = "libx264 -preset ultrafast -g 24 -bf 2"
SECONDS = "libx264 -preset ultrafast -g 25 -bf 0"
MKV_MS = "-fps_mode passthrough -enc_time_base 1:1000"

# ---- Rates ----------------------------------------------------------------------------------

# Matroska rounds to milliseconds: at equal rates no frame may be lost or doubled.
for label, rate in (("23.976", "24000/1001"), ("24", "24"), ("29.97", "30000/1001"), ("30", "30"),
                    ("59.94", "60000/1001")):
    case(f"rate-mkv-{label}", ext="mkv", fps=rate, frames=120, quick=label == "29.97")
case("rate-mkv-120", ext="mkv", fps="120", frames=240)
case("rate-mp4-120", ext="mp4", fps="120", frames=240, quick=True)
case("rate-flv-59.94", ext="flv", fps="60000/1001", frames=120)
case("rate-webm-50", ext="webm", video="libvpx -deadline realtime -cpu-used 8 -g 50 -b:v 1M",
     audio="libopus", fps="50", frames=100)
case("rate-mp4-12.5", fps="25/2", frames=30)
case("rate-mp4-1", fps="1", frames=6)
case("rate-ts-23.976", ext="ts", fps="24000/1001", frames=120)

for label, fps in (("24-to-30", "30"), ("24-to-60", "60"), ("24-to-12", "12"),
                   ("24-to-23.976", "24000/1001"), ("24-to-1", "1")):
    case(f"convert-{label}", frames=96, flags=f"--fps {fps}", shows="model",
         quick=label == "24-to-30")
case("convert-60-to-25", fps="60", frames=150, flags="--fps 25", shows="model", ext="mkv")
case("convert-29.97-to-25", fps="30000/1001", frames=120, flags="--fps 25", shows="model", ext="ts")

# ---- Variable rate, gaps, duplicates --------------------------------------------------------

case("vfr-mkv", ext="mkv", fps="25", frames=100, shows="model", video=CLOSED + " "
     + MKV_MS, filters="settb=1/1000,setpts=N*40+mod(N\\,3)*9", quick=True, cross=True)
case("vfr-mp4", fps="30", frames=90, shows="model", video=CLOSED + " " + MKV_MS,
     filters="settb=1/1000,setpts=floor(N*N/9)+N*22")
case("vfr-two-rates", ext="mkv", fps="30", frames=120, shows="model", video=CLOSED + " "
     + MKV_MS, filters="settb=1/1000,setpts=if(lt(N\\,60)\\,N*33\\,1980+(N-60)*42)")
case("gap-short", ext="mkv", fps="25", frames=75, shows="model", video=CLOSED + " "
     + MKV_MS, filters="settb=1/1000,setpts=N*40+gte(N\\,40)*1480")
case("gap-in-bframes", ext="mp4", fps="25", frames=75, shows="model",
     video="libx264 -preset ultrafast -g 24 -bf 2 " + MKV_MS,
     filters="settb=1/1000,setpts=N*40+gte(N\\,37)*2000")
# A jump beyond ten seconds is taken out: frames may not be doubled without end. But Matroska's clock
# does not jump: there a picture stands so long.
case("gap-closed", ext="ts", fps="25", frames=75, audio=None, video=CLOSED + " " + MKV_MS,
     filters="settb=1/1000,setpts=N*40+gte(N\\,40)*40000", report={"timestamps_repaired": 1})
case("gap-kept", ext="mkv", fps="25", frames=75, audio=None, shows="model", video=CLOSED + " " + MKV_MS,
     filters="settb=1/1000,setpts=N*40+gte(N\\,40)*25000")
case("gap-dropped-frames", ext="ts", fps="25", frames=100, shows="model",
     filters="select=not(between(mod(n\\,25)\\,20\\,23))", video=CLOSED + " -fps_mode passthrough")
case("duplicate-times", ext="nut", fps="25", frames=60, shows="model", audio=None,
     video=CLOSED + " -bsf:v setts=pts='if(eq(mod(N\\,10)\\,5)\\,PTS-DURATION\\,PTS)'"
     ":dts='if(eq(mod(N\\,10)\\,5)\\,PTS-DURATION\\,PTS)'")

# ---- Broken and unusual times ---------------------------------------------------------------

case("ts-wrap", ext="ts", fps="25", frames=150, mux="-output_ts_offset 95441.5", quick=True, cross=True)
case("ts-wrap-at-start", ext="ts", fps="25", frames=75, mux="-output_ts_offset 95442.1")
case("ts-late-start", ext="ts", fps="25", mux="-output_ts_offset 3600")
# Pictures that are coded out of order are shown over a splice, too.
for label, video in (("", CLOSED), ("-bframes", BFRAMES)):
    case(f"ts-jump-forward{label}", ext="ts", fps="25", frames=150, video=video, offset=0, wrong=2,
         after=((ts_shift, 3600 * 90000, 2.0),))
    case(f"ts-jump-back{label}", ext="ts", fps="25", frames=150, mux="-output_ts_offset 5000",
         video=video, after=((ts_shift, -3600 * 90000, 2.0),), offset=0, quick=not label,
         report={"timestamps_repaired": 1})
    case(f"ts-two-recordings{label}", ext="ts", fps="25", frames=75, video=video, offset=0,
         after=((twice, "-i IN -c copy OUT"),), shows=list(range(75)) * 2, wrong=2)
case("ts-one-backward-stamp", ext="ts", fps="25", frames=75, video=CLOSED, wrong=1,
     after=((ts_bend, VIDEO_PID, 40, -3 * 3600),))
case("ts-one-wild-stamp", ext="ts", fps="25", frames=75, video=CLOSED, wrong=1, shows="all",
     after=((ts_bend, VIDEO_PID, 40, 3600 * 90000),))
case("ts-missing-stamps", ext="ts", fps="25", frames=75, video=CLOSED,
     after=((ts_drop_stamps, VIDEO_PID, 6),), quick=True)
case("ts-missing-stamps-bframes", ext="ts", fps="25", frames=75,
     after=((ts_drop_stamps, VIDEO_PID, 6),))
case("ts-missing-sound-stamps", ext="ts", fps="25", frames=75,
     after=((ts_drop_stamps, AUDIO_PID, 4),))
# A sender that tries again repeats a piece, and one that tries again too late has the next one in front of it.
case("ts-piece-again", ext="ts", fps="25", frames=100, video=SECONDS,
     after=((ts_pieces, VIDEO_PID, (0, 50), (25, 100)),))
case("ts-long-piece-again", ext="ts", fps="25", frames=100, video=SECONDS, audio=None,
     shows=[*range(75), *range(25, 100)],
     after=((ts_pieces, VIDEO_PID, (0, 75), (25, 100)),))
case("ts-pieces-swapped", ext="ts", fps="25", frames=100, video=SECONDS, audio=None,
     shows=[*range(24), *[24] * 26, *range(50, 75), *range(25, 49), *[49] * 26, *range(75, 100)],
     after=((ts_pieces, VIDEO_PID, (0, 25), (50, 75), (25, 50), (75, 100)),))
case("ts-cut-into", ext="ts", fps="25", frames=100, shows="model", after=((cut_head, 0.3),), wrong=1)
case("ts-piece-in-front", ext="ts", fps="25", frames=75, video=CLOSED, quick=True,
     after=((ts_piece_in_front, VIDEO_PID, 34, 4),), report={"frames_left_out": 2})
case("ts-piece-in-front-alone", ext="ts", fps="25", frames=75, video=CLOSED, audio=None,
     after=((ts_piece_in_front, VIDEO_PID, 34, 4),), report={"frames_left_out": 2})
case("ps-cut-into", ext="mpg", fps="25", frames=100, video="mpeg2video -g 12 -bf 2 -b:v 1M",
     audio="mp2", shows="model", after=((cut_head, 0.3),), wrong=3, missing=3)

case("start-offset-mp4", fps="25", inputs="-itsoffset 1.5", sound={"offset": 1.5})
case("start-offset-mkv", ext="mkv", fps="25", mux="-output_ts_offset 7")
case("start-negative-mkv", ext="mkv", fps="25", mux="-output_ts_offset -2 -avoid_negative_ts disabled",
     audio="pcm_s16le", video=CLOSED, offset=0)
case("edit-list-cut", fps="25", frames=100, shows="model",
     after=((ffmpeg, "-ss 0.52 -i IN -c copy OUT"),), quick=True)
case("edit-list-cut-long-group", fps="25", frames=125, shows="model",
     video="libx264 -preset ultrafast -g 250 -bf 3", after=((ffmpeg, "-ss 1.6 -i IN -c copy OUT"),))
# As a trim leaves them, and a cut in the middle; at places where packets of sound begin, and where
# FFmpeg has the times right (it counts them by decoding order).
PARTS, LATER = ((0, 1.92), (3.2, 5.12)), ((0, 1.92), (4.48, 5.76))
case("edit-list-end", fps="25", frames=100, shows=[*range(48)], after=((mp4_edits, (0, 1.92)),))
case("edit-list-parts", fps="25", frames=150, video=CLOSED, quick=True,
     shows=[*range(48), *range(80, 128)], after=((mp4_edits, *PARTS),))
case("edit-list-parts-bframes", fps="25", frames=150, video="libx264 -preset ultrafast -g 250 -bf 2",
     shows=[*range(48), *range(112, 144)], after=((mp4_edits, *LATER),))
case("edit-list-parts-pcm", ext="mov", fps="25", frames=150, audio="pcm_s16le",
     video="libx264 -preset ultrafast -g 40 -bf 2", shows=[*range(16, 48), *range(80, 128)],
     after=((mp4_edits, (0.64, 1.92), (3.2, 5.12)),))
case("edit-list-late", fps="25", frames=150, video="libx264 -preset ultrafast -g 75 -bf 2",
     shows=[*range(16, 80)], offset=-0.64, sound={"seconds": 3.2}, after=((mp4_late_pictures, 0.64, 3.2),))
case("edit-list-swapped", fps="25", frames=150, video=CLOSED, shows=[*range(80, 128), *range(48)],
     after=((mp4_edits, *reversed(PARTS)),))
case("edit-list-parts-start", fps="25", frames=150, video=CLOSED, flags="--start 2.4 --duration 1",
     shows=[*range(92, 117)], after=((mp4_edits, *PARTS),))
case("edit-list-parts-copy", fps="25", frames=150, video=CLOSED, flags="--acodec copy",
     shows=[*range(48), *range(80, 128)], after=((mp4_edits, *PARTS),))
case("edit-list-empty", fps="25", inputs="-itsoffset 0.8", sound={"offset": 0})
case("edit-list-renamed", fps="25", after=((mp4_rename, "moov/trak/edts", "free"),))
case("negative-cts", mux="-movflags negative_cts_offsets")
case("mp4-time-scale-odd", mux="-video_track_timescale 12345")
case("mp4-time-scale-coarse", fps="25", mux="-video_track_timescale 25", video=CLOSED)

# ---- Parts ----------------------------------------------------------------------------------

case("part-middle", frames=120, flags="--start 1.5 --duration 2", shows=list(range(36, 84)))
case("part-to-end", frames=120, ext="ts", flags="--start 3.03", shows=list(range(72, 120)))
case("part-open-groups", frames=120, ext="mkv", flags="--start 2.53", shows=list(range(60, 120)),
     video="libx264 -preset veryfast -g 24 -bf 3 -x264-params open-gop=1")
case("part-avi-bframes", frames=120, ext="avi", fps="25", audio="libmp3lame", offset=1105 / 48000,
     flags="--start 2 --duration 1", shows=list(range(50, 75)))
case("part-ts-long-groups", frames=264, ext="ts", flags="--start 9.03", shows=list(range(216, 264)),
     video="libx264 -preset ultrafast -g 250 -sc_threshold 0 -bf 2")

# ---- Feeds ----------------------------------------------------------------------------------

case("pipe-ts", ext="ts", feed="pipe", frames=96)
case("pipe-mkv", ext="mkv", feed="pipe", frames=96, quick=True)
case("pipe-mpg", ext="mpg", feed="pipe", video="mpeg2video -g 12 -bf 2 -b:v 1M", audio="mp2", fps="25")
case("pipe-fragmented", feed="pipe", mux="-movflags frag_keyframe+delay_moov+default_base_moof")
case("pipe-faststart", feed="pipe", mux="-movflags +faststart")
# A third is there at the start; so much must come.
case("growing-ts", ext="ts", feed="grow", frames=480, missing=320, flags="--unit 0.5",
     video="libx264 -preset ultrafast -g 24 -bf 2 -qp 10")
