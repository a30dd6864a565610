#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fragmented movies with an index ('sidx'), as for DASH: all of them is read, from a file and from a pipe, also with junk behind."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from fragments_test import boxes  # noqa: E402
from served import PROGRAM, check, run_all  # noqa: E402

DASH = "+frag_keyframe+empty_moov+default_base_moof+dash"
FORMS = {"one-track.mp4": [DASH + "+global_sidx", "-map", "0:v"], "two-tracks.mp4": [DASH + "+global_sidx"],
         "each-fragment.mp4": [DASH], "each-fragment-one-track.mp4": [DASH, "-map", "0:v"]}
FRAMES = (150, 151)  # sound that begins earlier has the first picture shown twice


def make(folder):
    first = folder / "first.mkv"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25", "-f", "lavfi", "-i", "sine", "-t", "6",
                    "-c:v", "libx264", "-preset", "ultrafast", "-g", "50", "-c:a", "aac", first], check=True)
    for name, options in FORMS.items():
        subprocess.run(["ffmpeg", "-v", "error", "-i", first, "-c", "copy", "-movflags", *options, folder / name], check=True)


def names_at_the_top(path):
    data = path.read_bytes()
    return [name for name, _, _ in boxes(data, 0, len(data))]


def is_read(folder, path, pipe, *options):
    run = subprocess.run([PROGRAM, "transcode", "-" if pipe else path, folder / "out.mp4", "--force", "--width", "64", "--preset",
                          "ultrafast", "--json", "-", *options], input=path.read_bytes(), capture_output=True, check=False)
    name = f"{path.name} {'from a pipe' if pipe else ''} {options}: {run.stderr[-300:]}"
    check(run.returncode == 0, name)
    report = json.loads(run.stdout)
    check(not report["repairs"]["truncated"], name)
    return report["counts"]["frames_out"]


def all_of_it_is_read(folder):
    for name in FORMS:
        names = names_at_the_top(folder / name)
        check(b"sidx" in names and names.count(b"moof") == 3, f"{name}: {names}")
        for pipe in (False, True):
            frames = is_read(folder, folder / name, pipe)
            check(frames in FRAMES, f"{name}: {frames} frames, {pipe}")
        frames = is_read(folder, folder / name, False, "--start", "4.5")
        check(frames in (37, 38), f"{name}: {frames} frames from 4.5 seconds on")


def junk_behind_it_is_no_end_in_the_middle(folder):
    for name in FORMS:
        (folder / "junk.mp4").write_bytes((folder / name).read_bytes() + bytes(3) + b"\2" + b"junk" * 3)
        for pipe in (False, True):
            frames = is_read(folder, folder / "junk.mp4", pipe)
            check(frames in FRAMES, f"{name} and junk: {frames} frames, {pipe}")


def main():
    with tempfile.TemporaryDirectory() as name:
        make(Path(name))
        return run_all([all_of_it_is_read, junk_behind_it_is_no_end_in_the_middle], Path(name))


if __name__ == "__main__":
    sys.exit(main())
