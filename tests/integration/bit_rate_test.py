#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The mean bit rate of 40 s of pictures that need it is within 5 % of what was asked for, with each video codec."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, check, run_all  # noqa: E402

SECONDS, FPS = 40, 15
# Rates at which small pictures show that they lack bits: what codecs could leave over is no miss.
RATES = {"h264": 80_000, "hevc": 60_000, "av1": 60_000, "vp9": 60_000, "mpeg4": 120_000}
MOVIES = ["ref-talk.mpg", "ref-animation.mpg"]


def picture_bytes(path):
    """One number for each coded picture."""
    packets = json.loads(subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=size", "-of", "json", path],
        check=True, capture_output=True).stdout)["packets"]
    return [int(packet["size"]) for packet in packets]


def mean_rate(movie, codec, asked, output):
    subprocess.run([PROGRAM, "transcode", f"movies/files/{movie}", output, "--force", "--quiet", "--size", "128x96",
                    "--fit", "stretch", "--fps", str(FPS), "--duration", str(SECONDS), "--acodec", "none",
                    "--preset", "ultrafast", "--vcodec", codec, "--bitrate", str(asked)], check=True)
    sizes = picture_bytes(output)
    check(len(sizes) >= SECONDS * FPS, f"{movie}, {codec}: {len(sizes)} pictures")
    return 8 * sum(sizes) * FPS / len(sizes)


def every_codec_has_the_rate_asked_for():
    with tempfile.TemporaryDirectory() as folder:
        for movie in MOVIES:
            for codec, asked in RATES.items():
                off = mean_rate(movie, codec, asked, os.path.join(folder, "out.mkv")) / asked - 1
                print(f"{movie}, {codec}: {100 * off:+.1f} %", flush=True)
                check(abs(off) <= 0.05, f"{movie}, {codec}: {100 * off:+.1f} % off the rate asked for")


if __name__ == "__main__":
    sys.exit(run_all([every_codec_has_the_rate_asked_for]))
