# SPDX-License-Identifier: Apache-2.0
"""Sound: codecs, layouts, and where it begins and ends."""

from case import case
from mutators import attach_cover, ffmpeg

case("sound-none", audio=None, quick=True)
for codec, ext, extra in (
        ("aac -b:a 128k", "mkv", ""), ("libmp3lame -b:a 128k", "mp4", ""), ("mp2 -b:a 192k", "mkv", ""),
        ("ac3 -b:a 192k", "ts", ""), ("eac3 -b:a 192k", "mkv", ""), ("libopus -b:a 96k", "mp4", ""),
        ("libopus -b:a 96k", "ts", ""), ("flac", "mkv", ""), ("alac", "mov", ""),
        ("pcm_s16le", "mkv", ""), ("pcm_s24le", "mov", ""), ("pcm_f32le", "mov", ""),
        ("dca -strict -2 -b:a 1500k", "mkv", ""), ("truehd -strict -2", "mkv", ""),
        ("pcm_mulaw", "avi", ""), ("pcm_alaw", "mov", ""), ("pcm_u8", "avi", ""),
        ("pcm_s8", "mov", ""), ("pcm_s24be", "mov", ""), ("pcm_s32le", "mkv", ""),
        ("pcm_s32be", "mov", ""), ("pcm_f32be", "mov", ""), ("pcm_f64le", "mkv", ""),
        ("pcm_bluray", "m2ts", "-mpegts_m2ts_mode 1")):
    name = codec.split()[0].removeprefix("lib")
    # AVI tells decoding times alone: stock ffmpeg is two frames late there.
    case(f"sound-{name}-{ext}", audio=codec, ext=ext, mux=extra, fps="25",
         offset=0 if ext == "avi" else None,
         quick=(name, ext) in {("ac3", "ts"), ("opus", "mp4"), ("mp3lame", "mp4")})
# Of old files and of phones: codec, container, sound, and by how many samples its encoder is late, which only AVI does not
# say.
PHONE = {"rate": 8000, "channels": 1}
for codec, ext, sound, late in (
        ("wmav1 -b:a 128k", "asf", {}, 0), ("wmav2 -b:a 128k", "asf", {"rate": 44100}, 0),
        ("wmav2 -b:a 128k", "avi", {}, 2048), ("wmav2 -b:a 128k", "mkv", {}, 0), ("mlp -strict -2", "mkv", {}, 0),
        ("wavpack", "mkv", {}, 0), ("tta", "mkv", {}, 0), ("adpcm_ms", "avi", {"rate": 22050}, 0),
        ("adpcm_ima_wav", "avi", {"rate": 44100}, 0), ("adpcm_ima_wav", "mkv", {}, 0),
        ("adpcm_ima_qt", "mov", {"rate": 44100}, 0), ("adpcm_swf", "flv", {"rate": 44100}, 0),
        ("nellymoser", "flv", {"rate": 44100, "channels": 1}, 0), ("g723_1 -b:a 6300", "avi", PHONE, 60),
        ("g726 -b:a 32k", "avi", PHONE, 0), ("libgsm_ms", "avi", PHONE, 0), ("libgsm", "mov", PHONE, 0),
        ("pcm_f64be", "mov", {}, 0)):
    name = codec.split()[0].removeprefix("lib")
    case(f"sound-{name}-{ext}", audio=codec, ext=ext, sound=sound, fps="25",
         offset=late / sound.get("rate", 48000) if ext == "avi" else None, quick=(name, ext) == ("adpcm_ima_wav", "avi"))
case("sound-aac_latm-ts", audio="aac -b:a 128k", ext="ts", fps="25", mux="-mpegts_flags latm", quick=True)
# ffmpeg's muxer leaves a hole of 10 ms behind the second packet: less than a jump (20 ms), so the sound
# is early until its times have been off for a second.
case("sound-pcm_dvd-vob", audio="pcm_dvd", ext="vob", fps="25", settles=1.1,
     video="mpeg2video -g 12 -bf 2 -b:v 1M")
case("sound-44100", sound={"rate": 44100}, quick=True)
case("sound-22050-mono", sound={"rate": 22050, "channels": 1}, audio="pcm_s16le", ext="mov")
case("sound-96000", sound={"rate": 96000}, audio="flac", ext="mkv")
case("sound-mono", sound={"channels": 1})
case("sound-2.1", sound={"channels": 3}, audio="pcm_s16le", ext="mkv")
case("sound-quad", sound={"channels": 4}, audio="flac", ext="mkv")
case("sound-5.1", sound={"channels": 6}, audio="ac3 -b:a 384k", ext="mkv", quick=True)
case("sound-5.1-kept", sound={"channels": 6}, audio="aac -b:a 384k", flags="--channels 6",
     container="mp4", props={"channels": 6})
for layout, channels, codec in (("5.0", 5, "ac3 -b:a 384k"), ("6.1", 7, "flac")):
    case(f"sound-{layout}", sound={"channels": channels}, audio=codec, ext="mkv")
    case(f"sound-{layout}-kept", sound={"channels": channels}, audio=codec, ext="mkv", flags=f"--channels {channels}",
         container="mp4", props={"channels": channels})
case("sound-7.1", sound={"channels": 8}, audio="pcm_s16le", ext="mkv")
case("sound-7.1-kept", sound={"channels": 8}, audio="flac", ext="mkv", flags="--channels 8",
     container="mp4", props={"channels": 8})
case("sound-late", sound={"offset": 1.2, "seconds": 1.5}, frames=96, quick=True)
case("sound-late-ts", sound={"offset": 1.2, "seconds": 1.5}, frames=96, ext="ts")
case("sound-early", inputs="-itsoffset 0.7", sound={"seconds": 3.2})
case("sound-early-mkv", inputs="-itsoffset 0.7", sound={"seconds": 3.2}, ext="mkv")
case("sound-ends-early", sound={"seconds": 1.5}, frames=120)
case("sound-longer", sound={"seconds": 5.0}, frames=48, quick=True)
case("sound-very-short", sound={"seconds": 0.31}, frames=96)
case("sound-gap", frames=96, ext="mkv", audio="pcm_s16le",
     mux="-af 'aselect=not(between(t\\,1.3\\,2.2))'", quick=True)
case("sound-gap-ts", frames=96, ext="ts", audio="ac3", mux="-af 'aselect=not(between(t\\,1.3\\,2.2))'")
case("sound-several-tracks", sound={"tracks": 3}, mux="-metadata:s:a:1 language=deu")
case("sound-copied", flags="--acodec copy", container="mp4", frames=96, quick=True)
case("sound-copied-ts", flags="--acodec copy", container="ts", ext="ts", frames=96)
# Of TrueHD only some packets can be begun at.
case("sound-copied-truehd-part", flags="--acodec copy --start 1.5 --duration 2 --verify", container="mkv",
     audio="truehd -strict -2", ext="mkv", frames=96, shows=[*range(36, 84)])
case("sound-copied-mkv", flags="--acodec copy", container="mkv", audio="libopus", ext="mkv", frames=96)
case("sound-to-opus", flags="--acodec opus", container="mkv", frames=96)
case("sound-to-webm", flags="--size 80x48", container="webm", frames=48)
case("sound-he-aac-like-low-rate", audio="aac -b:a 32k", sound={"channels": 1, "rate": 24000})
case("cover-art", frames=48, after=((ffmpeg, "-i IN -f lavfi -i testsrc=s=64x64:d=1 -map 0 -map 1 "
     "-frames:v:1 1 -c copy -c:v:1 png -disposition:v:1 attached_pic OUT"),), quick=True)
case("cover-art-mkv", frames=48, ext="mkv", after=((attach_cover,),))
