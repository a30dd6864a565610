#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fragmented MP4 with an index in front (sidx), as on-demand DASH and CMAF are, of which FFmpeg reads one fragment at first: its
bit rate, its length by an index with a clock of its own, and fragments that list half a million pictures."""

import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, check, run_all, sanitized  # noqa: E402

SECONDS = 12
PICTURES = 500_000


def make(path, *options):
    flags = "+frag_keyframe+empty_moov+default_base_moof+dash+global_sidx"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25", "-f", "lavfi", "-i", "sine=r=48000",
                    "-t", str(SECONDS), "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-c:a", "aac", *options,
                    "-movflags", flags, path], check=True)


def explain(*arguments, **options):
    run = subprocess.run([PROGRAM, "explain", *arguments, "--json", "-"], capture_output=True, check=False, **options)
    check(run.returncode == 0, f"{arguments}: {run.stderr[-300:]}")
    return json.loads(run.stdout)


def payload(path, kind):
    """Mean bit rate of a track by its packets."""
    shown = subprocess.run(["ffprobe", "-v", "error", "-select_streams", kind, "-show_entries", "packet=size", "-of", "csv=p=0", path],
                           check=True, capture_output=True, text=True).stdout
    return 8 * sum(int(line.strip(",")) for line in shown.split()) / SECONDS


def near(measured, wanted, part, text):
    check(abs(measured / wanted - 1) < part, f"{text}: {measured:.0f}, not about {wanted:.0f}")


def rates(folder):
    for name, options in (("video.mp4", ["-an"]), ("both.mp4", [])):
        movie = folder / name
        make(movie, "-y", *options)
        pictures = payload(movie, "v")
        plan = explain(movie)
        near(plan["source"]["video"]["bitrate"], pictures, 0.15, f"{name}: bit rate of the pictures")
        near(plan["target"]["bitrate"], pictures, 0.15, f"{name}: bit rate of the output")
        if not options:
            near(plan["source"]["audio"]["bitrate"], payload(movie, "a"), 0.15, f"{name}: bit rate of the sound")
        piped = explain("-", input=movie.read_bytes())
        near(piped["source"]["video"]["bitrate"], pictures, 0.3, f"{name} from a pipe: bit rate of the pictures")


def boxes(data, at, end):
    """Names, and where their contents are."""
    while at + 8 <= end:
        size, name = struct.unpack_from(">I4s", data, at)
        yield name, at + 8, at + size
        at += size


def set_clock(data, clock):
    """Of all indexes, which state the same times as before."""
    data = bytearray(data)
    for at in (at for name, at, _ in boxes(data, 0, len(data)) if name == b"sidx"):
        form, rows = (">Q", at + 32) if data[at] > 0 else (">I", at + 24)
        before = struct.unpack_from(">I", data, at + 8)[0]
        struct.pack_into(">I", data, at + 8, clock)
        lengths = [(form, at + 12)] + [(">I", rows + 12 * i + 4) for i in range(struct.unpack_from(">H", data, rows - 2)[0])]
        for kind, place in lengths:
            struct.pack_into(kind, data, place, round(struct.unpack_from(kind, data, place)[0] * clock / before))
    return bytes(data)


def clocks_of_their_own(folder):
    for name, options in (("video.mp4", ["-an"]), ("both.mp4", [])):
        movie, output = folder / name, folder / "out.mp4"
        make(movie, "-y", *options)
        for clock in (1000, 1_000_000):
            other = folder / f"{clock}-{name}"
            other.write_bytes(set_clock(movie.read_bytes(), clock))
            length = explain(other)["source"]["duration_s"]
            check(abs(length - SECONDS) < 0.1, f"{other.name}: {length} s")
            for start in (0, 10):
                run = subprocess.run([PROGRAM, "transcode", other, output, "--force", "--width", "64", "--preset", "ultrafast",
                                      "--start", str(start), "--json", "-"], capture_output=True, check=False)
                report = json.loads(run.stdout) if run.returncode == 0 else None
                right = report and abs(report["counts"]["frames_out"] - (SECONDS - start) * 25) <= 1 and not report["repairs"]["truncated"]
                check(right, f"{other.name} from {start} s: {run.stderr[-300:]}")


def begin_at(data, seconds):
    """As of what was cut out of a live stream: all times are so much later."""
    data, clocks = bytearray(data), {}

    def later(form, at, clock):
        struct.pack_into(form, data, at, struct.unpack_from(form, data, at)[0] + seconds * clock)

    for name, at, end in boxes(data, 0, len(data)):
        if name == b"sidx":
            track, clock = struct.unpack_from(">2I", data, at + 4)
            clocks[track] = clock
            later(*((">Q", at + 12) if data[at] > 0 else (">I", at + 12)), clock)
        for _, inner, inner_end in (b for b in boxes(data, at, end) if name == b"moof" and b[0] == b"traf"):
            track = 0
            for kind, place, _ in boxes(data, inner, inner_end):
                if kind == b"tfhd":
                    track = struct.unpack_from(">I", data, place + 4)[0]
                if kind == b"tfdt":
                    later(">Q" if data[place] > 0 else ">I", place + 4, clocks[track])
    return bytes(data)


def beginnings_of_their_own(folder):
    for name, options in (("video.mp4", ["-an"]), ("both.mp4", [])):
        movie, late = folder / name, folder / f"late-{name}"
        make(movie, "-y", *options)
        late.write_bytes(begin_at(movie.read_bytes(), 3600))
        plan, wanted = explain(late), explain(movie)
        check(abs(plan["source"]["duration_s"] - SECONDS) < 0.1, f"{late.name}: {plan['source']['duration_s']} s")
        near(plan["source"]["video"]["bitrate"], wanted["source"]["video"]["bitrate"], 0.1, f"{late.name}: bit rate of the pictures")
        near(plan["target"]["bitrate"], wanted["target"]["bitrate"], 0.1, f"{late.name}: bit rate of the output")
        run = subprocess.run([PROGRAM, "transcode", late, folder / "out.mp4", "--force", "--width", "64", "--preset", "ultrafast",
                              "--start", "10", "--json", "-"], capture_output=True, check=False)
        frames = json.loads(run.stdout)["counts"]["frames_out"] if run.returncode == 0 else 0
        check(abs(frames - (SECONDS - 10) * 25) <= 1, f"{late.name} from 10 s: {frames} frames, {run.stderr[-300:]}")


def late_by_an_edit_list(folder):
    """Shown six seconds late, which is no part of the length that the index states."""
    movie, late = folder / "video.mp4", folder / "edited.mp4"
    make(movie, "-y", "-an")
    subprocess.run(["ffmpeg", "-y", "-v", "error", "-itsoffset", "6", "-i", movie, "-c", "copy", "-movflags",
                    "+frag_keyframe+delay_moov+default_base_moof+global_sidx", late], check=True)
    length = explain(late)["source"]["duration_s"]
    check(length >= SECONDS - 0.1, f"{late.name}: {length} s")


def box(name, content):
    return struct.pack(">I", len(content) + 8) + name + content


def half_a_million_pictures(folder):
    """Of one byte each, which all lie in the same ten thousand bytes; 21 KB in all."""
    path = folder / "many.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x48:r=25", "-t", "1", "-c:v", "libx264", "-preset", "ultrafast",
                    "-bf", "0", "-movflags", "+frag_keyframe+empty_moov+default_base_moof", path], check=True)
    data = path.read_bytes()
    data = data[:data.rindex(b"mfra") - 4]
    each = 10_000
    size = 16 + 8 + 28 + 20 + 20 * (PICTURES // each) + 8
    head = box(b"tfhd", struct.pack(">5I", 0x20038, 1, 1, 1, 0x1010000)) + box(b"tfdt", struct.pack(">IQ", 1 << 24, 12_800))
    runs = box(b"trun", struct.pack(">3I", 1, each, size + 8)) * (PICTURES // each)
    moof = box(b"moof", box(b"mfhd", struct.pack(">2I", 0, 9)) + box(b"traf", head + runs))
    check(len(moof) == size, f"a fragment of {len(moof)} bytes, not {size}")
    path.write_bytes(data + moof + box(b"mdat", bytes(each)))
    words = [PROGRAM, "transcode", str(path), str(folder / "out.mp4"), "--force", "--quiet", "--preset", "ultrafast"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        told = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0 and f"{PICTURES} packets" in told, f"half a million pictures: {process.returncode}, {told}")
    peak = usage.ru_maxrss // 1024
    print(f"half a million pictures: {peak} MiB, {usage.ru_utime:.1f} s", flush=True)
    check(peak < 220 or sanitized(), f"half a million pictures took {peak} MiB")


def main():
    with tempfile.TemporaryDirectory() as folder:
        return run_all([rates, clocks_of_their_own, beginnings_of_their_own, late_by_an_edit_list, half_a_million_pictures], Path(folder))


if __name__ == "__main__":
    sys.exit(main())
