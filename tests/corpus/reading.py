# SPDX-License-Identifier: Apache-2.0
"""Decodes a movie with stock ffmpeg and reads its markers back."""

import array
import os
import subprocess
import tempfile
from fractions import Fraction

import markers


class Reading:
    """What stock ffmpeg shows of a movie. Times are seconds, exact where the container's are."""

    def __init__(self):
        self.times = []      # of each frame
        self.numbers = []    # of each frame; None = unreadable
        self.tick = None     # of the container's clock, seconds
        self.grids = []      # its 5x4 RGB blocks
        self.has_sound = False
        self.chirps = []     # when they start
        self.words = ""      # what ffmpeg had to say


def _records(path):
    """The tick, and (pts in seconds, bytes) of each line of a framecrc file."""
    base, found = None, []
    with open(path, encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("#tb 0:"):
                base = Fraction(line.split(":")[1].strip())
            elif not line.startswith("#") and "," in line:
                fields = [field.strip() for field in line.split(",")]
                found.append((int(fields[2]) * base, int(fields[4])))
    return base, found


def _place(raw, records):
    """Samples in one row by their times; holes are silent. Small steps are rounding, not holes."""
    start = records[0][0]
    row, at = array.array("h"), 0
    for time, size in records:
        piece = raw[at // 2:(at + size) // 2]
        at += size
        wanted = round((time - start) * markers.READ_RATE)
        if abs(wanted - len(row)) > 16:
            if wanted > len(row):
                row.extend(array.array("h", bytes(2 * (wanted - len(row)))))
            else:
                del row[max(wanted, 0):]
        row.extend(piece)
    return row, float(start)


def read(path, audio=True, options=()):
    """Reads a movie; `options` go in front of its name."""
    reading = Reading()
    with tempfile.TemporaryDirectory() as folder:
        name = {key: os.path.join(folder, key) for key in ("grid", "when", "pcm", "heard")}
        picture = f"scale={markers.COLUMNS}:{markers.ROWS}:flags=area,format=rgb24"
        command = ["ffmpeg", "-v", "error", "-y", "-threads", "1", "-copyts", *options, "-i", path,
                   "-map", "0:V:0", "-fps_mode", "passthrough", "-enc_time_base", "-1", "-vf", picture,
                   "-f", "rawvideo", name["grid"],
                   "-map", "0:V:0", "-fps_mode", "passthrough", "-enc_time_base", "-1", "-vf", picture,
                   "-f", "framecrc", name["when"]]
        if audio:
            mono = ["-ac", "1", "-ar", str(markers.READ_RATE), "-c:a", "pcm_s16le"]
            command += ["-map", "0:a:0?", *mono, "-f", "s16le", name["pcm"],
                        "-map", "0:a:0?", *mono, "-f", "framecrc", name["heard"]]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120,
                              stdin=subprocess.DEVNULL)
        reading.words = done.stderr
        _take(reading, name)
    return reading


def _take(reading, name):
    def content(key):
        if not os.path.exists(name[key]):
            return b""
        with open(name[key], "rb") as file:
            return file.read()

    grids = content("grid")
    reading.grids = [grids[i:i + markers.FRAME_BYTES]
                     for i in range(0, len(grids), markers.FRAME_BYTES)]
    reading.numbers = [markers.read_number(grid) for grid in reading.grids]
    if os.path.exists(name["when"]):
        reading.tick, records = _records(name["when"])
        reading.times = [time for time, _ in records]
    raw = array.array("h", content("pcm"))
    if len(raw) > 0:
        samples, start = _place(raw, _records(name["heard"])[1])
        reading.has_sound = True
        reading.chirps = [start + at for at in markers.find_chirps(samples)]
