# SPDX-License-Identifier: Apache-2.0
"""Every codec and container that is taken, and every kind of group of pictures."""

from case import case
from mutators import cut_head, ffmpeg
from mutators_headers import h264_from_second_key, mpeg_open_flags

X264 = "libx264 -preset ultrafast"
X265 = "libx265 -preset ultrafast -x265-params log-level=0:pools=none:frame-threads=1"
MPEG = "-g 12 -bf 2 -b:v 1M -sc_threshold 1000000000"
STEREO = {"rate": 44100, "channels": 2}
DV = {"size": "720x576", "fps": "25", "frames": 30, "audio": "pcm_s16le", "flags": "--size 180x144"}

# ---- MPEG-1, MPEG-2, MPEG-4 -----------------------------------------------------------------

case("mpeg1-ps-open", video=f"mpeg1video {MPEG}", audio="mp2 -b:a 128k", ext="mpg", fps="25",
     after=((mpeg_open_flags,),), quick=True)
case("mpeg1-ps-closed", video=f"mpeg1video {MPEG} -flags cgop", audio="mp2", ext="mpg", fps="25")
case("mpeg1-raw", video=f"mpeg1video {MPEG}", audio=None, ext="m1v", fps="25")
case("mpeg2-vob-open", video=f"mpeg2video {MPEG}", audio="ac3 -b:a 192k", ext="vob", fps="25")
case("mpeg2-ts-open", video=f"mpeg2video {MPEG}", audio="mp2 -b:a 128k", ext="ts", fps="30000/1001",
     frames=300, cross=True)
case("mpeg2-ts-closed", video=f"mpeg2video {MPEG} -flags cgop", audio="mp2", ext="ts", fps="25")
case("mpeg2-mxf", video="mpeg2video -g 12 -bf 2 -b:v 2M", audio="pcm_s16le", ext="mxf", fps="25")
case("mpeg2-mkv", video=f"mpeg2video {MPEG}", audio="ac3", ext="mkv", fps="24000/1001")
case("mpeg2-raw", video=f"mpeg2video {MPEG}", audio=None, ext="m2v", fps="25")
case("mpeg4-avi", video="mpeg4 -g 24 -b:v 1M", audio="libmp3lame -b:a 128k", ext="avi", sound=STEREO,
     shows="model")
case("mpeg4-avi-bframes", video="mpeg4 -g 24 -bf 2 -b:v 1M", audio="ac3", ext="avi", quick=True,
     offset=256 / 48000)
case("mpeg4-mp4-bframes", video="mpeg4 -g 24 -bf 2 -b:v 1M", ext="mp4")
case("mpeg4-raw", video="mpeg4 -g 24 -b:v 1M", audio=None, ext="m4v", fps="25")
case("mpeg4-asf", video="mpeg4 -g 24 -b:v 1M", audio="libmp3lame -b:a 128k", ext="asf", fps="25")
case("mpeg4-xvid", video="libxvid -g 24 -b:v 1M", audio="libmp3lame -b:a 128k", ext="avi", fps="25",
     shows="model")

# ---- Windows Media 7 and 8, DivX 3, H.263 and Sorenson ---------------------------------------

for codec, exts in (("msmpeg4v2", "avi asf mkv"), ("msmpeg4", "avi asf mkv"), ("wmv1", "avi asf mkv"),
                    ("wmv2", "avi asf mkv"), ("flv", "avi flv mkv"), ("h263", "avi 3gp mov mkv"),
                    ("h263p", "avi")):
    size = "176x144" if codec == "h263" else "160x96"
    for ext in exts.split():
        case(f"{codec}-{ext}", video=f"{codec} -g 24 -b:v 1M", ext=ext, fps="25", size=size,
             audio="aac" if ext in ("3gp", "mov") else "libmp3lame", quick=ext == "avi" and codec in ("h263", "msmpeg4"),
             shows="model" if ext == "avi" else "all")
# Times begin with the sound, by what its encoder adds in front: half a picture and more.
case("part-wmv2-asf", video="wmv2 -g 24 -b:v 1M", audio="wmav2", ext="asf", fps="25", frames=120,
     flags="--start 2 --duration 1", shows=list(range(49, 74)), quick=True)
case("part-h263-mkv", video="h263 -g 24 -b:v 1M", audio="libmp3lame", ext="mkv", fps="25", frames=120, size="176x144",
     flags="--start 2 --duration 1", shows=list(range(49, 74)))
case("part-msmpeg4-avi", video="msmpeg4 -g 24 -b:v 1M", audio="pcm_s16le", ext="avi", fps="25", frames=120,
     flags="--start 2 --duration 1", shows=list(range(50, 75)))
case("part-flv-flv", video="flv -g 24 -b:v 1M", audio="nellymoser", ext="flv", fps="25", frames=120,
     sound={"rate": 44100, "channels": 1}, flags="--start 2 --duration 1", shows=list(range(50, 75)))

# ---- H.264 ----------------------------------------------------------------------------------

case("h264-mp4", quick=True, cross=True, frames=96)
case("h264-mov", ext="mov", audio="pcm_s16be")
case("h264-mkv", ext="mkv", audio="libvorbis")
case("h264-ts", ext="ts", quick=True)
case("h264-flv", ext="flv", fps="25")
case("h264-avi", ext="avi", audio="libmp3lame", fps="25", video=f"{X264} -g 24 -bf 0", shows="model")
case("h264-avi-bframes", ext="avi", audio="libmp3lame", fps="25", offset=1105 / 48000)
case("h264-nut", ext="nut", audio="pcm_s16le")
case("h264-3gp", ext="3gp", audio="aac -b:a 64k", sound={"channels": 1})
case("h264-asf", ext="asf", audio="libmp3lame", fps="25", video=f"{X264} -g 24 -bf 0")
case("h264-mxf", ext="mxf", audio="pcm_s16le", fps="25",
     video=f"{X264} -profile:v high422 -g 1 -bf 0", pixels="yuv422p")
case("h264-raw", ext="h264", audio=None, fps="25")
case("h264-raw-closed", ext="h264", audio=None, fps="25", video=f"{X264} -g 12 -bf 0")
case("h264-fragmented", mux="-movflags frag_keyframe+delay_moov+default_base_moof", quick=True)
case("h264-fragmented-empty-moov", mux="-movflags frag_keyframe+empty_moov+default_base_moof")
case("h264-cmaf", mux="-movflags cmaf+frag_keyframe+delay_moov")
case("h264-faststart", mux="-movflags +faststart")
case("h264-annexb-mkv", ext="mkv", after=((ffmpeg, "-i IN -c copy -bsf:v h264_mp4toannexb OUT"),))
case("h264-slices", video=f"{X264} -g 24 -slices 4")
case("h264-cabac-8x8", video="libx264 -preset medium -g 48 -bf 3")
case("h264-b-pyramid", video="libx264 -preset veryfast -g 48 -bf 5 -refs 4 -b_strategy 0 "
     "-x264-params b-pyramid=normal", frames=120, quick=True)
case("h264-one-idr", video=f"{X264} -g 1000 -sc_threshold 0 -bf 2", frames=144, quick=True, cross=True)
case("h264-intra", video=f"{X264} -g 1 -bf 0")
case("h264-long-groups", video=f"{X264} -g 240 -sc_threshold 0 -bf 2", frames=264, ext="mkv")
case("h264-short-groups", video=f"{X264} -g 2 -bf 0", frames=48)
case("h264-uneven-groups", frames=144, video=f"{X264} -g 500 -sc_threshold 0 -bf 2 "
     "-force_key_frames 0.2,0.25,1.7,1.75,1.8,4.1")
case("h264-open-groups", frames=288, quick=True, cross=True, ext="mkv",
     video="libx264 -preset veryfast -g 24 -bf 3 -b_strategy 0 -x264-params open-gop=1:scenecut=0")
case("h264-open-groups-ts", frames=264, ext="ts",
     video="libx264 -preset veryfast -g 24 -bf 3 -b_strategy 0 -x264-params open-gop=1:scenecut=0")
# Two pictures that need the GOP before: a raw stream has no times by which the plan could know, so the
# last picture is shown for them too.
case("h264-no-idr", frames=72, audio=None, fps="25", shows=list(range(24, 72)) + [71, 71],
     video="libx264 -preset veryfast -g 24 -bf 2 -b_strategy 0 -x264-params open-gop=1:scenecut=0",
     ext="h264", after=((h264_from_second_key,),))
case("h264-intra-refresh", frames=96, ext="ts",
     video=f"{X264} -g 24 -x264-params intra-refresh=1")
case("h264-one-frame", frames=1, audio=None)
case("h264-two-frames", frames=2, audio=None)
case("h264-key-frame-only-first-second", frames=60, video=f"{X264} -g 1000 -sc_threshold 0 "
     "-force_key_frames 0,0.5,1")

# ---- HEVC -----------------------------------------------------------------------------------

case("hevc-mp4", video=f"{X265}:keyint=24:open-gop=0:bframes=3 -tag:v hvc1", quick=True)
case("hevc-hev1", video=f"{X265}:keyint=24:open-gop=0 -tag:v hev1")
case("hevc-mkv-open", video=f"{X265}:keyint=24:min-keyint=24:open-gop=1:bframes=4:b-adapt=0",
     ext="mkv", frames=264, quick=True, cross=True)
case("hevc-ts-open", video=f"{X265}:keyint=24:min-keyint=24:open-gop=1:bframes=4:b-adapt=0",
     ext="ts", frames=264)
# It begins with leading pictures of which nothing before them is there.
case("hevc-ts-open-cut-into", video=f"{X265}:keyint=24:min-keyint=24:open-gop=1:bframes=4:b-adapt=0",
     ext="ts", frames=264, audio=None, shows=[*range(96, 264)], after=((cut_head, 0.3),))
case("hevc-one-idr", video=f"{X265}:keyint=1000:scenecut=0", frames=120)
case("hevc-intra", video=f"{X265}:keyint=1")
case("hevc-raw", video=f"{X265}:keyint=24:open-gop=0:bframes=0", ext="hevc", audio=None, fps="25")
case("hevc-raw-bframes", video=f"{X265}:keyint=24:bframes=3", ext="hevc", audio=None, fps="25")

# ---- The others -----------------------------------------------------------------------------

case("vp8-webm", video="libvpx -deadline realtime -cpu-used 8 -g 24 -b:v 1M", audio="libopus",
     ext="webm", quick=True)
case("vp8-altref", video="libvpx -deadline good -cpu-used 5 -auto-alt-ref 1 -lag-in-frames 16 -g 48 "
     "-b:v 1M", audio="libvorbis", ext="webm")
case("vp8-ivf", video="libvpx -deadline realtime -cpu-used 8 -g 24 -b:v 1M", audio=None, ext="ivf")
case("vp9-webm", video="libvpx-vp9 -deadline realtime -cpu-used 8 -g 24 -b:v 1M", audio="libopus",
     ext="webm")
case("vp9-altref", video="libvpx-vp9 -deadline good -cpu-used 5 -auto-alt-ref 1 -lag-in-frames 16 "
     "-g 48 -b:v 1M", audio="libopus", ext="webm", quick=True)
case("vp9-mp4", video="libvpx-vp9 -deadline realtime -cpu-used 8 -g 24 -b:v 1M", ext="mp4")
case("vp9-ivf", video="libvpx-vp9 -deadline realtime -cpu-used 8 -g 24 -b:v 1M", audio=None, ext="ivf")
case("av1-mp4", video="libsvtav1 -preset 12 -g 24 -svtav1-params lp=1", ext="mp4", frames=48)
case("av1-webm", video="libsvtav1 -preset 12 -g 24 -svtav1-params lp=1", audio="libopus", ext="webm",
     frames=48, quick=True)
case("av1-obu", video="libsvtav1 -preset 12 -g 24 -svtav1-params lp=1", audio=None, ext="obu", fps="25",
     frames=48)
case("av1-aom", video="libaom-av1 -usage realtime -cpu-used 8 -g 24 -b:v 1M", audio="libopus",
     ext="mkv", frames=48)
case("mjpeg-avi", video="mjpeg -q:v 3", audio="pcm_s16le", ext="avi", pixels="yuvj420p")
case("mjpeg-mov", video="mjpeg -q:v 3", audio="pcm_s16le", ext="mov", pixels="yuvj422p")
case("mjpeg-raw", video="mjpeg -q:v 3", audio=None, ext="mjpeg", fps="25", pixels="yuvj420p")
case("mjpeg-raw-wide", video="mjpeg -q:v 5", audio=None, ext="mjpeg", fps="25", pixels="yuvj420p", size="640x360",
     frames=48, quick=True)
case("prores-mov", video="prores_ks -profile:v 2", audio="pcm_s24le", ext="mov", pixels="yuv422p10le",
     quick=True)
case("prores-4444", video="prores_ks -profile:v 4", audio="pcm_s16le", ext="mov",
     pixels="yuv444p10le", frames=36)
case("dnxhd-mov", video="dnxhd -profile:v dnxhr_sq", audio="pcm_s24le", ext="mov", pixels="yuv422p", size="320x180", frames=36)
case("dnxhd-mxf", video="dnxhd -b:v 36M", audio="pcm_s16le", ext="mxf", pixels="yuv422p", size="1920x1080", fps="25", frames=12,
     flags="--size 320x180")
case("cineform-mov", video="cfhd -quality film3+", audio="pcm_s16le", ext="mov", pixels="yuv422p10le", frames=36)
case("ffv1-mkv", video="ffv1 -level 3 -g 1", audio="flac", ext="mkv", quick=True)
case("ffv1-groups-avi", video="ffv1 -level 1 -g 12", audio="pcm_s16le", ext="avi", pixels="yuv444p", frames=36)
case("ffv1-groups-pipe", feed="pipe", video="ffv1 -level 1 -g 12", audio="pcm_s16le", ext="avi", frames=120, flags="--unit 1")
case("huffyuv-avi", video="huffyuv", audio="pcm_s16le", ext="avi", pixels="yuv422p", frames=36)
case("huffyuv-rgb-avi", video="huffyuv", audio="pcm_s16le", ext="avi", pixels="rgb24", frames=36,
     props={"color_space": "bt709"})
case("ffvhuff-mkv", video="ffvhuff", audio="pcm_s16le", ext="mkv", pixels="yuv420p", frames=36)
case("utvideo-avi", video="utvideo", audio="pcm_s16le", ext="avi", pixels="yuv420p", frames=36)
case("utvideo-rgb-mov", video="utvideo", audio="pcm_s16le", ext="mov", pixels="gbrp", frames=36,
     props={"color_space": "bt709"})
case("dv-pal-avi", video="dvvideo", ext="avi", pixels="yuv420p", **DV)
case("dv-raw", video="dvvideo", ext="dv", pixels="yuv420p", **DV)
case("dv-ntsc-mov", video="dvvideo", ext="mov", pixels="yuv411p", size="720x480", fps="30000/1001",
     frames=30, audio="pcm_s16le", flags="--size 180x120")
case("theora-ogg", video="libtheora -g 24 -b:v 1M", audio="libvorbis", ext="ogg", fps="25", quick=True)
case("theora-mkv", video="libtheora -g 24 -b:v 1M", audio="libopus", ext="mkv", fps="25")
case("raw-y4m", video="wrapped_avframe", audio=None, ext="y4m", frames=48)
case("raw-nut", video="rawvideo", audio="pcm_s16le", ext="nut", frames=36)
