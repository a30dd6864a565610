# SPDX-License-Identifier: Apache-2.0
"""Constant quality and constant quantiser instead of a bit rate."""

from case import case

# Noise, so that the cap is met. The program's verifier judges the buffer, and so does the checker.
NOISE = {"size": "320x192", "frames": 240, "filters": "noise=alls=16:allf=t", "audio": None}
# x265 starves some pictures for the cap until their numbers cannot be read.
for codec, rate, wrong in (("h264", 800, 0), ("hevc", 500, 3)):
    case(f"{codec}-crf-capped", **NOISE, wrong=wrong, flags=f"--vcodec {codec} --crf 23 --maxrate {rate}k "
         f"--bufsize {rate}k --preset ultrafast --verify", props={"vbv": (rate * 1000, rate * 1000)})
# A bit rate with a cap on it: the buffer holds less than a second, and a quarter of one.
for codec, rate, cap, bufsize, wrong in (("h264", 600, 700, 500, 0), ("h264", 600, 660, 175, 0), ("hevc", 400, 450, 300, 3),
                                         ("mpeg4", 800, 900, 600, 0)):
    case(f"{codec}-rate-capped-{bufsize}k", **NOISE, wrong=wrong, flags=f"--vcodec {codec} --bitrate {rate}k --maxrate {cap}k "
         f"--bufsize {bufsize}k --preset ultrafast --verify", props={"vbv": (cap * 1000, bufsize * 1000)})
case("h264-constant-qp", frames=240, flags="--qp 30 --verify")
