#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Movies that go on with other parameter sets, in containers that keep them apart from the pictures: segments and stills of what comes
behind the change show what they should, whatever was read before."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "corpus"))
import build  # noqa: E402
import cases  # noqa: E402
import markers  # noqa: E402
import reading  # noqa: E402
from served import Server, check, run_all  # noqa: E402

MOVIES = ("size-change-mp4", "size-change-mp4-bframes", "size-change-flv")
SECOND_BEGINS, SHOWN = 2.0, list(range(50)) * 2
QUERY = "bitrate=400k&preset=ultrafast&segment="


def make_movies(folder):
    for name in MOVIES:
        [case] = [case for case in cases.CASES if case.name == name]
        path, _ = build.make(case, str(folder))
        shutil.copy(path, folder / f"{name}.{case.ext}")
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def players_see_every_picture(server, movies):
    """Where a segment ends with the first part, and where one has some of both."""
    for movie in movies:
        for length in ("2", "1.5"):
            url = f"{server.base}/v1/hls/{movie}/master.m3u8?{QUERY}{length}"
            seen = reading.read(url)
            wrong = [(n, want, got) for n, (want, got) in enumerate(zip(SHOWN, seen.numbers)) if want != got]
            check(len(seen.numbers) == len(SHOWN) and not wrong,
                  f"{movie}, {length} s: {len(seen.numbers)} pictures, wrong (place, wanted, got): {wrong[:5]} {seen.words[:200]}")
            check(len(seen.chirps) == 8, f"{movie}: {len(seen.chirps)} chirps")


def segments_do_not_depend_on_what_was_read_before(server, movies):
    def digests(other, movie, order):
        path = f"/v1/hls/{movie}/v0-{{}}.m4s?{QUERY}1.5"
        return {k: hashlib.sha256(other.get(path.format(k))[1]).hexdigest() for k in order}

    with Server(server.library, "--workers", "1", "--segment-cache-bytes", "0", "--scheduler", "fifo") as other:
        for movie in movies:
            forwards = digests(server, movie, (0, 1, 2))
            check(len(set(forwards.values())) == 3, f"{movie}: {forwards}")
            for order in ((2, 1, 0), (1, 2, 0), (2, 2, 1)):
                again = digests(other, movie, order)
                check(all(forwards[k] == again[k] for k in order), f"{movie}: other bytes in the order {order}")


def stills_show_their_times(server, movies):
    for movie in movies:
        for seconds, number in ((1, 25), (SECOND_BEGINS, 0), (SECOND_BEGINS + 1.6, 40)):
            answer, data = server.get(f"/v1/hls/{movie}/p0-{round(1000 * seconds)}.jpg?{QUERY}2")
            check(answer.status == 200, f"{movie} at {seconds} s: {answer.status} {data[:100]}")
            grid = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", "-", "-vf", f"scale={markers.COLUMNS}:{markers.ROWS}:flags=area,"
                                   "format=rgb24", "-f", "rawvideo", "-"], input=data, capture_output=True, check=True).stdout
            check(markers.read_number(grid) == number, f"{movie} at {seconds} s: shows {markers.read_number(grid)} instead of {number}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        movies = make_movies(folder)
        with Server(folder, "--workers", "2", "--segment-cache-bytes", "0") as server:
            server.library = folder
            return run_all([players_see_every_picture, segments_do_not_depend_on_what_was_read_before, stills_show_their_times],
                           server, movies)


if __name__ == "__main__":
    sys.exit(main())
