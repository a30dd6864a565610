#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The server's own ladder (`segments.ladder`), which a request that names no rendition gets: of a movie and of a live source,
by HLS and DASH, without what is larger than the source."""

import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from hls_check import DASH, attributes  # noqa: E402
from live_test import Publisher  # noqa: E402
from served import Server, check, make_stream, run_all, wait_until  # noqa: E402

LADDER = "640x360:600k,320x180:150k,160x90:60k"
WANTED = {"320x180": 150_000, "160x90": 60_000}  # of a source of 320x180


def size_of(data):
    out = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=width,height", "-of", "csv=p=0:s=x", "-"],
                         input=data, capture_output=True, check=True).stdout.decode()
    return out.split()[0].strip("x")


def newest_segment(server, path, playlist):
    text = server.get(f"/v1/hls/{path}/{playlist}")[1].decode()
    init = re.search(r'EXT-X-MAP:URI="([^"]+)"', text)[1]
    media = [line for line in text.splitlines() if line and not line.startswith("#")][-1]
    return b"".join(server.get(f"/v1/hls/{path}/{uri}")[1] for uri in (init, media))


def has_the_ladder(server, path):
    answer, body = server.get(f"/v1/hls/{path}/master.m3u8")
    check(answer.status == 200, f"{path}: {answer.status} {body[:200]}")
    lines = body.decode().splitlines()
    listed = [(attributes(line), uri) for line, uri in zip(lines, lines[1:]) if line.startswith("#EXT-X-STREAM-INF:")]
    check([says["RESOLUTION"] for says, _ in listed] == list(WANTED), f"{path}: {listed}")
    for says, uri in listed:
        seen = size_of(newest_segment(server, path, uri))
        check(seen == says["RESOLUTION"], f"{path}: {seen} pictures in {says}")
        check(int(says["AVERAGE-BANDWIDTH"]) > WANTED[says["RESOLUTION"]], f"{path}: {says}, with sound")
    root = ET.fromstring(server.get(f"/v1/dash/{path}/manifest.mpd")[1])
    rungs = [f"{r.get('width')}x{r.get('height')}" for r in root.iter(DASH + "Representation") if r.get("id").startswith("v")]
    check(rungs == list(WANTED), f"{path}: {rungs} in the manifest")


def of_a_movie(server):
    has_the_ladder(server, "cam.ts")


def of_a_live_source(server):
    publisher = Publisher(server, "cam", str(Path(server.folder, "cam.ts")))
    wait_until(lambda: server.live("cam").get("source"), 10, "a publisher that is known")
    server.get("/v1/hls/live/cam/master.m3u8")
    wait_until(lambda: b"v0-0.m4s" in server.get("/v1/hls/live/cam/v0.m3u8")[1], 20, "a segment")
    has_the_ladder(server, "live/cam")
    check(len(server.running()) == 2, f"{len(server.running())} streams for two renditions")
    publisher.kill()


def main():
    os.environ["GOPMILL_SEGMENTS_LADDER"] = LADDER
    with tempfile.TemporaryDirectory() as folder:
        make_stream(folder, "cam.ts", 20)
        with Server(folder, "--segment-cache-bytes", "0") as server:
            server.folder = folder
            return run_all([of_a_movie, of_a_live_source], server)


if __name__ == "__main__":
    sys.exit(main())
