# SPDX-License-Identifier: Apache-2.0
"""Where a movie's sound lies against its pictures, and how far it has moved in what was made of the movie.

Most movies have no marks that could be measured. So the sound itself is found again in the result, by the place where
the two are most alike.
"""

import json
import subprocess
from array import array
from operator import mul

RATE = 4000      # Hertz at which sound is compared: a quarter of a millisecond
REACH = 120      # samples that it may be off and still be found
STRETCH = 1.2    # seconds that are compared
QUIET = 100      # mean amplitude below which nothing can be found
ALLOWED = 0.003  # seconds that sound may move against the pictures
PACKET = 0.025   # of sound, and rounding: what the tracks may begin apart from where they did
EDGE = 0.05      # two of them: what they may end apart


def packet_times(path, kind):
    """The first time of a track's packets, and where the last one ends."""
    packets = json.loads(subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", f"{kind}:0", "-show_entries", "packet=pts_time,duration_time", "-of",
         "json", path], check=True, capture_output=True).stdout)["packets"]
    times = [(float(packet["pts_time"]), float(packet.get("duration_time", 0))) for packet in packets if "pts_time" in packet]
    return min(at for at, _ in times), max(at + length for at, length in times)


class MovieSound:
    """By the clock of the pictures: 0 is the first one, `seconds` the end of the last."""

    def __init__(self, path):
        first, end = packet_times(path, "v")
        self.seconds = end - first
        self.begin, self.end = (at - first for at in packet_times(path, "a"))
        # What players skip is skipped; silence stands for what is missing in front of the first picture.
        raw = subprocess.run(
            ["ffmpeg", "-v", "error", "-copyts", "-i", path, "-map", "a:0", "-af",
             f"asetpts=PTS-({first})/TB,aresample={RATE}:async=1:first_pts=0", "-ac", "1", "-f", "s16le", "-"],
            check=True, capture_output=True).stdout
        self.samples = array("h", raw[:len(raw) // 2 * 2])


def moved(source, result, at):
    """By how many seconds the source's sound of this time comes later in the result; None if it is silent."""
    begin = int(at * RATE)
    wanted = source.samples[begin:begin + int(STRETCH * RATE)]
    if sum(map(mul, wanted, wanted)) < len(wanted) * QUIET ** 2:
        return None
    alike = {off: sum(map(mul, wanted, result.samples[begin + off:begin + off + len(wanted)])) for off in range(-REACH, REACH + 1)}
    # Tones are alike in many places: the nearest of those that are nearly as good as the best, which falls between samples.
    good = 0.9 * max(alike.values())
    return min((off for off in alike if alike[off] >= good), key=abs) / RATE


def complaints(source, result):
    """Of a MovieSound and that of a result, which may be shorter."""
    last = result.seconds - STRETCH - 0.2
    places = {at: moved(source, result, at) for at in (min(0.3, last / 2), last)}
    found = [f"sound of {at:.1f} s is {off * 1000:+.1f} ms late" for at, off in places.items() if off and abs(off) > ALLOWED]
    if all(off is None for off in places.values()):
        found.append("nothing is heard")
    if abs(result.begin - source.begin) > PACKET:
        found.append(f"sound begins {result.begin:.3f} s behind the pictures, in the source {source.begin:.3f} s")
    if abs(result.end - result.seconds) > EDGE:
        found.append(f"sound ends {result.end - result.seconds:.3f} s behind the pictures")
    return found
