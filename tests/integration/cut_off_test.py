#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A source that was cut off, a copy or a download that broke, is told from a whole one: from a file and from a pipe."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, check, run_all  # noqa: E402

FASTSTART, FRAGMENTS = ["-movflags", "+faststart"], ["-movflags", "frag_keyframe+empty_moov"]
FORMS = {"whole.mp4": FASTSTART, "moov-last.mp4": [], "fragments.mp4": FRAGMENTS, "two.mp4": [*FASTSTART, "-map", "0:a"], "one.mkv": [], "two.mkv": ["-map", "0:a"],
         "video.webm": ["-c:v", "libvpx", "-deadline", "realtime", "-c:a", "libopus"], "form.flv": [],
         "form.avi": ["-c:v", "mpeg4", "-c:a", "libmp3lame"]}
# What a file says of its length comes first in these.
BY_PIPE = {"whole.mp4", "two.mp4", "one.mkv", "video.webm"}


def make(folder):
    first = folder / "first.mkv"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=25", "-f", "lavfi", "-i", "sine", "-t", "6",
                    "-c:v", "libx264", "-preset", "ultrafast", "-g", "50", "-c:a", "aac", first], check=True)
    for name, options in FORMS.items():
        subprocess.run(["ffmpeg", "-v", "error", "-i", first, "-map", "0:v", "-map", "0:a", "-c", "copy", *options, folder / name],
                       check=True)


def truncated(folder, path, pipe=False):
    run = subprocess.run([PROGRAM, "transcode", "-" if pipe else path, folder / "out.mp4", "--force", "--width", "64", "--preset",
                          "ultrafast", "--json", "-"], input=path.read_bytes(), capture_output=True, check=False)
    report = json.loads(run.stdout)["repairs"]["truncated"] if run.returncode == 0 else None
    told = b"ends early" in run.stderr
    check(told == report, f"{path.name}: {run.returncode} {report} {run.stderr[-300:]}")
    return report


def cut_off_sources_are_told(folder):
    for name in FORMS:
        whole, cut = folder / name, folder / f"cut-{name}"
        check(not truncated(folder, whole), f"{name} is whole")
        if name == "moov-last.mp4":  # what is cut off is its index
            continue
        data = whole.read_bytes()
        cut.write_bytes(data[:len(data) * 6 // 10])
        check(truncated(folder, cut), f"{name} is cut off")
        check(not truncated(folder, whole, pipe=True), f"{name} is whole, from a pipe")
        check(name not in BY_PIPE or truncated(folder, cut, pipe=True), f"{name} is cut off, from a pipe")


def an_unknown_length_is_no_cut(folder):
    data = bytearray((folder / "fragments.mp4").read_bytes())
    for box, place in ((b"mvhd", 20), (b"tkhd", 24), (b"mdhd", 20)):  # of version 0, behind the name
        at = data.find(box)
        while at >= 0:
            data[at + place:at + place + 4] = b"\xff" * 4
            at = data.find(box, at + 4)
    (folder / "unknown.mp4").write_bytes(data)
    check(not truncated(folder, folder / "unknown.mp4"), "a length of all ones is an unknown one")


def what_lies_behind_a_movie_is_no_cut(folder):
    for name, rest in (("zeros.mp4", bytes(100)), ("word.mp4", b"ab"), ("tag.mp4", b"TAGA long title" + bytes(112))):
        (folder / name).write_bytes((folder / "whole.mp4").read_bytes() + rest)
        check(not truncated(folder, folder / name), f"{name} is whole")


def an_index_at_the_end_is_told(folder):
    """It is whole, and nothing of it can be read before its last bytes have come."""
    run = subprocess.run([PROGRAM, "transcode", "-", folder / "out.mp4", "--force"], input=(folder / "moov-last.mp4").read_bytes(),
                         capture_output=True, check=False)
    check(run.returncode != 0 and b"(moov) comes last" in run.stderr and b"faststart" in run.stderr, f"{run.stderr}")


def its_text_is_drawn(folder):
    text, cut = folder / "text.srt", folder / "cut-text.mkv"
    text.write_text("1\n00:00:03,000 --> 00:00:04,000\nLate\n", encoding="utf-8")
    subprocess.run(["ffmpeg", "-v", "error", "-i", folder / "one.mkv", "-i", text, "-c", "copy", folder / "text.mkv"], check=True)
    check(not truncated(folder, folder / "text.mkv"), "a movie whose text begins late is whole")
    data = (folder / "text.mkv").read_bytes()
    cut.write_bytes(data[:len(data) * 9 // 10])
    run = subprocess.run([PROGRAM, "transcode", cut, folder / "out.mp4", "--force", "--burn", "1"], capture_output=True, text=True,
                         check=False)
    check(run.returncode == 0 and "ends early" in run.stderr, f"a cut movie with its text: {run.stderr}")


def a_segmented_one_says_so(folder):
    run = subprocess.run([PROGRAM, "package", folder / "cut-one.mkv", folder / "pack", "--rungs", "64x36:50k", "--json", "-"],
                         capture_output=True, text=True, check=False)
    check(run.returncode == 0 and json.loads(run.stdout)["truncated"], f"package: {run.stdout[:300]} {run.stderr[:300]}")


def main():
    with tempfile.TemporaryDirectory() as name:
        make(Path(name))
        return run_all([cut_off_sources_are_told, an_unknown_length_is_no_cut, what_lies_behind_a_movie_is_no_cut,
                        an_index_at_the_end_is_told, its_text_is_drawn, a_segmented_one_says_so], Path(name))


if __name__ == "__main__":
    sys.exit(main())
