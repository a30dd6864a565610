#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Motion JPEG whose first picture alone has the quantiser tables (abbreviated format): whatever the number of workers, in HLS and
from any `start`, pictures are those of the movie, and the same bytes each time."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, Server, check, run_all, small_pictures, unlike  # noqa: E402

FPS, SECONDS = 25, 12
WHOLE, SHORT = "whole.avi", "short.avi"


def make(folder):
    """Of both movies the coefficients are the same; the tables of `short.avi` are made segments that mean nothing."""
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=s=176x144:r={FPS}:d={SECONDS}", "-c:v", "mjpeg",
                    "-q:v", "3", "-huffman", "default", "-y", str(Path(folder, WHOLE))], check=True)
    movie = Path(folder, WHOLE).read_bytes()
    first = movie.index(b"\xff\xdb") + 2
    rest = movie[first:]
    check(rest.count(b"\xff\xdb\x00\x43") >= FPS * SECONDS - 1, "each picture has tables")
    Path(folder, SHORT).write_bytes(movie[:first] + rest.replace(b"\xff\xdb\x00\x43", b"\xff\xed\x00\x43"))


def expect(what, made, wanted):
    check(len(made) == len(wanted), f"{what}: {len(made)} pictures of {len(wanted)}")
    worst = max(unlike(one, other) for one, other in zip(made, wanted))
    check(worst < 6, f"{what}: a picture is {worst:.1f} off")


def transcoded(folder, name, workers, *more):
    out = Path(folder, f"out-{workers}.mp4")
    subprocess.run([PROGRAM, "transcode", str(Path(folder, name)), str(out), "--workers", str(workers), "--crf", "16", "--preset",
                    "ultrafast", "--force", "--quiet", *more], check=True)
    return out


def any_workers_make_the_same(server):
    wanted = small_pictures(Path(server.folder, WHOLE))
    made = [transcoded(server.folder, SHORT, workers) for workers in (1, 2, 3)]
    for path in made:
        expect(path.name, small_pictures(path), wanted)
    check(len({path.read_bytes() for path in made}) == 1, "bytes depend on the workers")


def a_start_finds_the_tables(server):
    wanted = small_pictures(Path(server.folder, WHOLE))
    made = transcoded(server.folder, SHORT, 1, "--start", "7", "--duration", "2")
    expect("from 7 s", small_pictures(made), wanted[7 * FPS:9 * FPS])


def segments_stand_alone(server):
    base = f"/v1/hls/{SHORT}/"
    text = server.get(f"{base}v0.m3u8?bitrate=600k&preset=ultrafast")[1].decode()
    names = [re.search(r'MAP:URI="([^"]*)"', text)[1], *(line for line in text.splitlines() if line and not line.startswith("#"))]
    check(len(names) > 2, f"{len(names) - 1} segments")
    made = [server.get(base + name)[1] for name in reversed(names)]
    expect("segments", small_pictures(b"".join(reversed(made))), small_pictures(Path(server.folder, WHOLE)))


def main():
    with tempfile.TemporaryDirectory() as folder, Server(folder) as server:
        server.folder = folder
        make(folder)
        return run_all([any_workers_make_the_same, a_start_finds_the_tables, segments_stand_alone], server)


if __name__ == "__main__":
    sys.exit(main())
