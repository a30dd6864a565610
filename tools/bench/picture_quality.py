# SPDX-License-Identifier: Apache-2.0
"""Quality of coded pictures against their source: per-frame measures by ffmpeg's filters, and the
Bjontegaard rate difference (G. Bjontegaard, VCEG-M33, 2001; with monotone piecewise cubics, as in
JCTVC-B055)."""

import json
import math
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

LOSSLESS_DB = 100.0  # what an identical frame counts as


@dataclass
class Source:
    """What coded pictures are held against."""
    inputs: list[str]  # input arguments of ffmpeg
    pixels: str  # format in which both are compared
    fps: str | None  # brought to this constant rate first; None: as they come


def stream_field(movie: Path, name: str) -> str:
    """Of the first video stream, as ffprobe calls it."""
    return subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", f"stream={name}",
         "-of", "default=nk=1:nw=1", str(movie)],
        capture_output=True, text=True, check=True).stdout.split()[0]


def key_frames_and_sizes(path: Path) -> tuple[list[int], list[int]]:
    """Indexes of key frames in output order, and the coded size of every frame."""
    shown = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries",
         "packet=pts,size,flags", "-of", "json", str(path)],
        capture_output=True, text=True, check=True).stdout
    packets = sorted(json.loads(shown)["packets"], key=lambda one: int(one["pts"]))
    keys = [index for index, one in enumerate(packets) if "K" in one["flags"]]
    return keys, [int(one["size"]) for one in packets]


def _run(ffmpeg: str, coded: Path, source: Source, measures: str, folder: Path) -> None:
    """Runs `measures` on [coded] and [source]."""
    # Frame by frame, whatever the containers' clocks say.
    same = f"settb=1/25,setpts=N,format={source.pixels}"
    constant = f"fps={source.fps}," if source.fps else ""
    graph = f"[0:v]{same}[coded];[1:v]{constant}{same}[source];{measures}"
    command = [ffmpeg, "-v", "error", "-nostdin", "-i", str(coded.resolve()), *source.inputs,
               "-filter_complex", graph, "-f", "null", "-"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"failed: {' '.join(command)}\n{done.stderr}")


def measure_frames(ffmpeg: str, coded: Path, source: Source, folder: Path) -> dict:
    """PSNR in dB and SSIM of each frame that both have."""
    _run(ffmpeg, coded, source, "[coded]split[c1][c2];[source]split[s1][s2];"
         "[c1][s1]psnr=shortest=1:stats_file=psnr.txt[p];"
         "[c2][s2]ssim=shortest=1:stats_file=ssim.txt[q];"
         "[p]nullsink;[q]copy", folder)
    psnr = [min(LOSSLESS_DB, float(value)) for value
            in re.findall(r"psnr_avg:(\S+)", (folder / "psnr.txt").read_text())]
    ssim = [float(value) for value in re.findall(r"All:(\S+)", (folder / "ssim.txt").read_text())]
    return {"psnr": psnr, "ssim": ssim}


def measure_vmaf(ffmpeg: str, coded: Path, source: Source, folder: Path) -> list[float]:
    """VMAF of each frame; needs an ffmpeg with libvmaf."""
    _run(ffmpeg, coded, source,
         "[coded][source]libvmaf=shortest=1:log_fmt=json:log_path=vmaf.json:n_threads=2", folder)
    log = json.loads((folder / "vmaf.json").read_text())
    return [frame["metrics"]["vmaf"] for frame in log["frames"]]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def worst(values: list[float], part: float = 0.05) -> float:
    """Mean of the worst frames."""
    return mean(sorted(values)[: max(1, round(len(values) * part))])


def dip(values: list[float], joins: list[int], within: int = 3) -> float:
    """By how much the frames from each join on fall below those right before it, mean; > 0 is a
    dip. The first frame of all is no join."""
    drops = [mean(values[join - within:join]) - mean(values[join:join + within])
             for join in joins if join >= within and join + within <= len(values)]
    return mean(drops) if drops else 0.0


def unit_rates(sizes: list[int], joins: list[int], fps: float) -> list[float]:
    """Bits per second from each join to the next."""
    ends = [*joins[1:], len(sizes)]
    return [8 * sum(sizes[a:b]) * fps / (b - a) for a, b in zip(joins, ends) if b > a]


def _slopes(x: list[float], y: list[float]) -> list[float]:
    """Of a monotone piecewise cubic through the points (F. N. Fritsch, J. Butland, 1984)."""
    h = [b - a for a, b in zip(x, x[1:])]
    d = [(b - a) / width for a, b, width in zip(y, y[1:], h)]
    inner = [0.0 if d[i] * d[i + 1] <= 0 else
             3 * (h[i] + h[i + 1]) / ((2 * h[i + 1] + h[i]) / d[i] + (h[i + 1] + 2 * h[i]) / d[i + 1])
             for i in range(len(d) - 1)]
    return [d[0], *inner, d[-1]]


def _integral(x: list[float], y: list[float], low: float, high: float, steps: int = 2000) -> float:
    slopes = _slopes(x, y)

    def value(at: float) -> float:
        i = max(k for k in range(len(x) - 1) if x[k] <= at or k == 0)
        h = x[i + 1] - x[i]
        t = (at - x[i]) / h
        return ((1 + 2 * t) * (1 - t) ** 2 * y[i] + t * (1 - t) ** 2 * h * slopes[i]
                + t * t * (3 - 2 * t) * y[i + 1] + t * t * (t - 1) * h * slopes[i + 1])

    width = (high - low) / steps
    return sum(value(low + (k + 0.5) * width) for k in range(steps)) * width


def bd_rate(rates: list[float], quality: list[float],
            base_rates: list[float], base_quality: list[float]) -> float:
    """Rate that is needed in the mean for equal quality, over that of the base, minus 1.

    Points in order of rate. Raises ValueError where quality does not rise with the rate or the
    curves do not overlap."""
    curves = []
    for bits, values in ((rates, quality), (base_rates, base_quality)):
        if any(b <= a for a, b in zip(values, values[1:])):
            raise ValueError("quality does not rise with the rate")
        curves.append((values, [math.log(rate) for rate in bits]))
    low = max(curve[0][0] for curve in curves)
    high = min(curve[0][-1] for curve in curves)
    if high <= low:
        raise ValueError("the curves do not overlap")
    ours, base = (_integral(values, logs, low, high) for values, logs in curves)
    return math.exp((ours - base) / (high - low)) - 1
