#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A live source whose clock runs fast: its presentation is dated anew, and the rules hold over that."""

import re
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import live_check  # noqa: E402
from live_test import Publisher  # noqa: E402
from served import Server, check, make_stream, run_all, wait_until  # noqa: E402

QUERY = "rungs=160x90:80k&preset=ultrafast&segment=1"


def a_fast_clock_is_followed(server):
    publisher = Publisher(server, "fast", make_stream(server.folder, "a.ts", 60), pace=("-readrate", "1.2"))
    wait_until(lambda: server.live("fast").get("source"), 20, "a publisher that is known")
    problems, _ = live_check.check(f"{server.base}/v1/hls/live/fast/master.m3u8?{QUERY}", 32)
    check(problems == [], f"rules: {problems[:6]}")
    counts = server.live("fast")["counts"]
    check(-8000 < counts["clock_drift_ms"] < -2000 and counts["dropped_gops"] == 0, f"counted: {counts}")
    playlist = server.get(f"/v1/hls/live/fast/v0.m3u8?{QUERY}")[1].decode()
    tags = playlist.count("#EXT-X-DISCONTINUITY\n") + int(re.search(r"DISCONTINUITY-SEQUENCE:(\d+)", playlist)[1])
    check(tags == 1, f"{tags} discontinuities")
    publisher.kill()


def main():
    with tempfile.TemporaryDirectory() as folder:
        with Server(folder, "--segment-cache-bytes", "0") as server:
            server.folder = folder
            return run_all([a_fast_clock_is_followed], server)


if __name__ == "__main__":
    sys.exit(main())
