# SPDX-License-Identifier: Apache-2.0
"""What a stream says of its pictures: shape, turn, fields, depth, colours, light."""

from case import case
from mutators import ffmpeg, twice
from mutators_headers import ivf_append, mp4_mirror
from mutators_joins import flv_join, mp4_join

X265 = "libx265 -preset ultrafast -x265-params log-level=0:pools=none:frame-threads=1:keyint=24"
MATRIX = "out_color_matrix="


def tags(primaries, transfer, matrix, colour_range="tv"):
    return (f"-color_primaries {primaries} -color_trc {transfer} -colorspace {matrix} "
            f"-color_range {colour_range}")


def shown(primaries, transfer, matrix, colour_range="tv"):
    return {"color_primaries": primaries, "color_transfer": transfer, "color_space": matrix,
            "color_range": colour_range}


X264 = "libx264 -preset ultrafast -g 24 -bf 2"

# ---- Shape and turn -------------------------------------------------------------------------

TURN = "-i IN -c copy -metadata:s:v:0 rotate={} OUT"
# The picture is turned before it is stored, so that it is upright for who obeys the matrix.
for turn, steps in ((90, "transpose=clock"), (180, "hflip,vflip"), (270, "transpose=cclock")):
    case(f"turned-{turn}", filters=steps, after=((ffmpeg, TURN.format(turn)),),
         props={"width": 160, "height": 96}, quick=turn == 90)
case("turned-90-mov", ext="mov", filters="transpose=clock", after=((ffmpeg, TURN.format(90)),),
     audio="pcm_s16le", props={"width": 160, "height": 96})
# What lies on its side without saying so is turned by request, beyond what the matrix says.
case("turned-by-request", filters="transpose=cclock", flags="--rotate 90",
     props={"width": 160, "height": 96, "display": 160 / 96})
case("turned-beyond-matrix", filters="transpose=clock,hflip,vflip", flags="--rotate 180",
     after=((ffmpeg, TURN.format(90)),), props={"width": 160, "height": 96})
case("mirrored", after=((mp4_mirror,),), filters="hflip", props={"width": 160, "height": 96})
case("aspect-16-11", filters="setsar=16/11", props={"display": 160 * 16 / 11 / 96}, quick=True)
case("aspect-anamorphic-ts", ext="ts", video="mpeg2video -g 12 -bf 2 -b:v 1M", audio="mp2", fps="25",
     size="192x144", filters="setdar=16/9", props={"display": 16 / 9})
case("aspect-tall", filters="setsar=10/11", props={"display": 160 * 10 / 11 / 96})
case("aspect-turned", filters="setsar=2/1,transpose=clock", after=((ffmpeg, TURN.format(90)),),
     props={"display": 160 / 96 * 2})
case("odd-size-vp9", video="libvpx-vp9 -deadline realtime -cpu-used 8 -g 24 -b:v 1M", ext="webm",
     audio="libopus", size="161x97", props={"even": True})
case("odd-size-mjpeg", video="mjpeg -q:v 3", audio="pcm_s16le", ext="avi", pixels="yuvj420p",
     size="163x99", props={"even": True})
case("odd-size-444", video=X264, pixels="yuv444p", size="161x97", props={"even": True}, quick=True)
case("odd-size-mpeg4", video="mpeg4 -g 24 -b:v 1M", ext="avi", audio="libmp3lame", size="165x101",
     shows="model")
case("tall-picture", size="96x160", props={"width": 96, "height": 160})
case("tiny-picture", size="32x32", video=X264 + " -qp 10", flags="--bitrate 500k")
case("wide-picture", size="640x32", flags="--bitrate 1M")
case("cropped-sps", size="162x98", props={"width": 162, "height": 98})
case("smaller-box", size="320x192", flags="--size 160x160", props={"width": 160, "height": 96})
case("stretched", size="320x192", flags="--size 160x160 --fit stretch",
     props={"width": 160, "height": 160})

# ---- Changes in mid-stream ------------------------------------------------------------------

CLOSED = "libx264 -preset ultrafast -g 24 -bf 0"
case("size-change-ts", ext="ts", fps="25", frames=50, video=CLOSED, audio=None,
     after=((twice, "-i IN -vf scale=320:192 -c:v libx264 -preset ultrafast -bf 0 -output_ts_offset 2 "
             "-muxdelay 0 OUT"),), shows=list(range(50)) * 2, quick=True,
     props={"width": 160, "height": 96})
case("size-change-raw", ext="h264", fps="25", frames=50, video=CLOSED, audio=None,
     after=((twice, "-i IN -vf scale=96:64 -c:v libx264 -preset ultrafast -bf 0 OUT"),),
     shows=list(range(50)) * 2, props={"width": 160, "height": 96})
# More samples, as wide as they are high no more: what is shown has the shape of before, so no bars.
case("shape-change-ts", ext="ts", fps="25", frames=50, video=CLOSED, audio=None,
     after=((twice, "-i IN -vf scale=160:160,setsar=5/3 -c:v libx264 -preset ultrafast -bf 0 "
             "-output_ts_offset 2 OUT"),), shows=list(range(50)) * 2)
# Of the same size, as a broadcaster's programmes of 4:3 and 16:9 are: bars in what comes later, so
# that numbers cannot be read there.
case("aspect-change-ts", ext="ts", fps="25", frames=50, video=CLOSED, audio=None, colours=0,
     after=((twice, "-i IN -vf setsar=4/3 -c:v libx264 -preset ultrafast -bf 0 "
             "-output_ts_offset 2 OUT"),), shows=list(range(50)) + [None] * 50, wrong=4, quick=True,
     props={"width": 160, "height": 96})
# The container's shape goes before the stream's, which FFmpeg tells with the pictures only.
case("aspect-ffv1", ext="mkv", fps="25", frames=25, video="ffv1 -level 3", audio=None, filters="setsar=4/3",
     after=((ffmpeg, "-i IN -c copy -aspect 10:3 OUT"),), props={"display": 10 / 3})
case("format-change-ts", ext="ts", fps="25", frames=50, video=CLOSED, audio=None,
     after=((twice, "-i IN -pix_fmt yuv422p10le -c:v libx264 -preset ultrafast -bf 0 "
             "-output_ts_offset 2 OUT"),), shows=list(range(50)) * 2)
# What comes later is converted to what the header says of the first pictures.
case("range-change-ts", ext="ts", fps="25", frames=50, video=CLOSED, audio=None, quick=True, colours=8,
     after=((twice, "-i IN -pix_fmt yuvj420p -c:v libx264 -preset ultrafast -bf 0 "
             "-output_ts_offset 2 OUT"),), shows=list(range(50)) * 2, props={"color_range": "tv"})
case("matrix-change-ts", ext="ts", fps="25", frames=50, audio=None, colours=12,
     video=CLOSED + " " + tags("smpte170m", "smpte170m", "smpte170m"), scale=MATRIX + "smpte170m",
     after=((twice, "-i IN -vf scale=in_color_matrix=smpte170m:out_color_matrix=bt709 "
             + tags("bt709", "bt709", "bt709") + " -c:v libx264 -preset ultrafast -bf 0 "
             "-output_ts_offset 2 OUT"),), shows=list(range(50)) * 2,
     props=shown("smpte170m", "smpte170m", "smpte170m"))
VP9 = "libvpx-vp9 -deadline realtime -cpu-used 8 -g 25 -b:v 1M"
case("size-change-vp9", ext="ivf", fps="25", frames=50, audio=None, video=VP9,
     after=((ivf_append, f"-i IN -vf scale=240:144 -c:v {VP9} OUT"),), shows=list(range(50)) * 2,
     props={"width": 160, "height": 96})

# Parameter sets that lie apart from the pictures: the demuxer tells of others once, where they begin.
JOINED = "-i IN -an -vf scale={} -c:v libx264 -preset ultrafast -g 24 -bf {} {} OUT"
SOUND_OF_BOTH = {"seconds": 4.0}
case("size-change-mp4", fps="25", frames=50, video=CLOSED, sound=SOUND_OF_BOTH, quick=True,
     after=((mp4_join, JOINED.format("320:192", 0, "")),), shows=list(range(50)) * 2,
     props={"width": 160, "height": 96})
case("size-change-mp4-bframes", fps="25", frames=50, sound=SOUND_OF_BOTH, video="libx264 -preset ultrafast -g 24 -bf 2",
     after=((mp4_join, JOINED.format("80:48", 2, "")),), shows=list(range(50)) * 2,
     props={"width": 160, "height": 96})
# Of the same size, with entropy coding that the first decoder does not expect.
case("sets-change-mp4", fps="25", frames=50, video=CLOSED, sound=SOUND_OF_BOTH,
     after=((mp4_join, JOINED.format("iw:ih", 0, "-coder 1")),), shows=list(range(50)) * 2)
case("part-size-change-mp4", fps="25", frames=50, video=CLOSED, sound=SOUND_OF_BOTH, flags="--start 2.6",
     after=((mp4_join, JOINED.format("320:192", 0, "")),), shows=list(range(15, 50)))
case("size-change-flv", ext="flv", fps="25", frames=50, video=CLOSED, sound=SOUND_OF_BOTH, quick=True,
     after=((flv_join, JOINED.format("320:192", 0, ""), 2),), shows=list(range(50)) * 2,
     props={"width": 160, "height": 96})

# ---- Fields ---------------------------------------------------------------------------------

# Fields of 50 pictures a second; each output picture must be the first field of its frame.
FIELDS = {"fps": "50", "frames": 120, "shows": list(range(0, 120, 2)), "size": "160x128",
          "props": {"field_order": "progressive"}, "colours": 0}
case("interlaced-mpeg2-top", ext="ts", audio="mp2", filters="tinterlace=interleave_top",
     video="mpeg2video -g 12 -bf 2 -b:v 4M -flags +ildct+ilme -top 1", **FIELDS, quick=True)
case("interlaced-mpeg2-bottom", ext="ts", audio="mp2", filters="tinterlace=interleave_bottom",
     video="mpeg2video -g 12 -bf 2 -b:v 4M -flags +ildct+ilme -top 0", **FIELDS)
case("interlaced-h264-top", ext="ts", filters="tinterlace=interleave_top",
     video=X264 + " -qp 12 -flags +ildct+ilme -x264-params tff=1", **FIELDS)
case("interlaced-h264-bottom", filters="tinterlace=interleave_bottom",
     video=X264 + " -qp 12 -flags +ildct+ilme -x264-params bff=1", **FIELDS, quick=True)
case("interlaced-dv", ext="avi", audio="pcm_s16le", filters="tinterlace=interleave_bottom", video="dvvideo",
     **FIELDS | {"size": "720x576"})
case("interlaced-not-said", filters="tinterlace=interleave_top", video=X264 + " -qp 12",
     flags="--deinterlace on", **FIELDS)
case("interlaced-open-groups", ext="ts", audio=None, fps="50", frames=600, size="160x128", colours=0,
     shows=list(range(0, 600, 2)), filters="tinterlace=interleave_top", props={},
     video="mpeg2video -g 12 -bf 2 -b:v 4M -flags +ildct+ilme -top 1")

# ---- Denoising in time ----------------------------------------------------------------------

# Long enough for cuts, each with preroll.
case("degrain-closed", frames=480, flags="--degrain light", quick=True,
     video=X264 + " -bf 3")
case("degrain-open-groups", frames=480, flags="--degrain medium", ext="ts", audio=None,
     video="mpeg2video -g 12 -bf 2 -b:v 4M")
case("degrain-intra-only", frames=480, flags="--degrain strong", ext="avi", audio=None,
     video="mjpeg -q:v 3")
case("degrain-interlaced", ext="ts", audio=None, fps="50", frames=600, size="160x128", colours=0,
     shows=list(range(0, 600, 2)), filters="tinterlace=interleave_top", props={}, flags="--degrain light",
     video="mpeg2video -g 12 -bf 2 -b:v 4M -flags +ildct+ilme -top 1")

# ---- Depth, sampling, range -----------------------------------------------------------------

EIGHT = {"pix_fmt": "yuv420p"}
case("10-bit-hevc", video=X265, pixels="yuv420p10le", props=EIGHT, quick=True)
case("10-bit-hevc-kept", video=X265, pixels="yuv420p10le", flags="--vcodec hevc --preset ultrafast",
     props={"pix_fmt": "yuv420p10le"})
case("10-bit-h264", video=X264, pixels="yuv420p10le", ext="mkv", props=EIGHT)
case("10-bit-h264-kept", video=X264, pixels="yuv420p10le", flags="--profile high10",
     props={"pix_fmt": "yuv420p10le"})
case("10-bit-vp9", video="libvpx-vp9 -deadline realtime -cpu-used 8 -g 24 -b:v 1M", ext="webm",
     audio="libopus", pixels="yuv420p10le", props=EIGHT)
case("10-bit-av1-kept", video="libsvtav1 -preset 12 -g 24 -svtav1-params lp=1", pixels="yuv420p10le",
     frames=36, flags="--vcodec av1", container="mp4", props={"pix_fmt": "yuv420p10le"})
case("12-bit-hevc", video=X265, pixels="yuv420p12le", props=EIGHT)
case("sampling-422", video=X264, pixels="yuv422p", props=EIGHT)
case("sampling-422-10", video=X264, pixels="yuv422p10le", ext="mov", audio="pcm_s16le", props=EIGHT)
case("sampling-444", video=X264, pixels="yuv444p", props=EIGHT)
case("sampling-444-hevc", video=X265, pixels="yuv444p10le", props=EIGHT)
case("sampling-440", video="mjpeg -q:v 3", audio="pcm_s16le", ext="avi", pixels="yuvj440p")
case("rgb-h264", video="libx264rgb -preset ultrafast -g 24", pixels="rgb24", ext="mkv", props=EIGHT)
case("grey-h264", video="libx264 -preset ultrafast -g 24", pixels="gray", colours=0,
     props={"color_range": "pc"})
FULL = "out_range=full"
case("full-range-h264", video=X264 + " " + tags("bt709", "bt709", "bt709", "pc"), pixels="yuv420p",
     scale=FULL + ":" + MATRIX + "bt709", quick=True, props=shown("bt709", "bt709", "bt709", "pc"))
case("full-range-yuvj", video=X264, pixels="yuvj420p", props={"color_range": "pc"})
case("full-range-hevc", video=X265 + ":range=full", pixels="yuv420p", scale=FULL)
case("full-range-mjpeg-to-ts", video="mjpeg -q:v 3", audio="pcm_s16le", ext="mov", pixels="yuvj422p",
     container="ts")

# ---- Colours and light ----------------------------------------------------------------------

for label, values, matrix in (
        ("601-525", ("smpte170m", "smpte170m", "smpte170m"), "smpte170m"),
        ("601-625", ("bt470bg", "gamma28", "bt470bg"), "bt601"),
        ("709", ("bt709", "bt709", "bt709"), "bt709"),
        ("2020", ("bt2020", "bt2020-10", "bt2020nc"), "bt2020")):
    case(f"colours-{label}", video=X264 + " " + tags(*values), scale=MATRIX + matrix,
         props=shown(*(name.replace("gamma28", "bt470bg") for name in values)), quick=label == "709")
case("colours-709-ts", ext="ts", video=X264 + " " + tags("bt709", "bt709", "bt709"),
     scale=MATRIX + "bt709", props=shown("bt709", "bt709", "bt709"))
case("colours-709-webm", ext="webm", audio="libopus", scale=MATRIX + "bt709",
     video="libvpx-vp9 -deadline realtime -cpu-used 8 -g 24 -b:v 1M " + tags("bt709", "bt709", "bt709"),
     container="webm", props=shown("bt709", "bt709", "bt709"), frames=36)
case("colours-720-untagged", size="320x192", video=X264)
HDR = (":hdr10=1:repeat-headers=1:colorprim=bt2020:transfer={}:colormatrix=bt2020nc:"
       "master-display='G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)':"
       "max-cll='1000,400'")
PQ = shown("bt2020", "smpte2084", "bt2020nc")
case("hdr10-to-hevc", video=X265 + HDR.format("smpte2084"), pixels="yuv420p10le",
     flags="--vcodec hevc --preset ultrafast", scale=MATRIX + "bt2020", frames=48, container="mp4",
     props={**PQ, "pix_fmt": "yuv420p10le", "light": (1000, 400), "mastering": True}, quick=True)
case("hdr10-to-hevc-mkv", video=X265 + HDR.format("smpte2084"), pixels="yuv420p10le", ext="mkv",
     flags="--vcodec hevc --preset ultrafast", scale=MATRIX + "bt2020", frames=48, container="mkv",
     props={**PQ, "light": (1000, 400), "mastering": True})
# In eight bits the colours become those of SDR: what they become is tested with the filter.
case("hdr10-to-h264", video=X265 + HDR.format("smpte2084"), pixels="yuv420p10le",
     scale=MATRIX + "bt2020", frames=48, colours=0,
     props={**shown("bt709", "bt709", "bt709"), "pix_fmt": "yuv420p", "light": (None, None), "mastering": False})
case("hdr10-to-av1", video=X265 + HDR.format("smpte2084"), pixels="yuv420p10le", flags="--vcodec av1",
     scale=MATRIX + "bt2020", frames=36, container="mp4",
     props={**PQ, "light": (1000, 400), "mastering": True})
case("hlg-to-h264", video=X265 + HDR.format("arib-std-b67"), pixels="yuv420p10le",
     scale=MATRIX + "bt2020", frames=48, colours=0,
     props={**shown("bt709", "bt709", "bt709"), "pix_fmt": "yuv420p", "light": (None, None), "mastering": False})
case("hlg-to-hevc", video=X265 + HDR.format("arib-std-b67"), pixels="yuv420p10le",
     flags="--vcodec hevc --preset ultrafast", scale=MATRIX + "bt2020", frames=48,
     props=shown("bt2020", "arib-std-b67", "bt2020nc"))
