#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Publishers whose key pictures are ten seconds apart, or anywhere: segments have the length that was asked for, and all renditions
the same ones."""

import re
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import live_check  # noqa: E402
from live_test import Publisher  # noqa: E402
from served import Server, check, make_stream, run_all, run_beside_each_other, wait_until  # noqa: E402

LADDER = "rungs=160x90:100k,96x54:60k&preset=ultrafast&segment=2"
X264 = ("-c:v", "libx264", "-preset", "ultrafast", "-sc_threshold", "0", "-bf", "2")
SOURCES = {"far": (*X264, "-g", "300"),
           "anywhere": (*X264, "-g", "300", "-force_key_frames", "0.3,0.5,2.9,3,7.1,7.2,12.4,13.9,14.1,19")}
SECONDS = 2.0
WATCHED = 16


def lengths(server, name, rendition):
    text = server.get(f"/v1/hls/live/{name}/v{rendition}.m3u8?{LADDER}")[1].decode()
    return [float(found) for found in re.findall(r"#EXTINF:([0-9.]+)", text)]


def segments_are_as_long_as_asked(server, name):
    publisher = Publisher(server, name, make_stream(server.folder, f"{name}.ts", 40, SOURCES[name]))
    wait_until(lambda: server.live(name).get("source"), 15, f"{name}: a publisher that is known")
    problems, facts = live_check.check(f"{server.base}/v1/hls/live/{name}/master.m3u8?{LADDER}", WATCHED)
    check(problems == [], f"{name}: {problems[:6]}")
    check(sorted(facts) == ["a0", "v0", "v1"], f"{name}: renditions {list(facts)}")
    of_each = [lengths(server, name, rendition) for rendition in range(2)]
    check(len(of_each[0]) >= 4, f"{name}: segments {of_each[0]}")
    check(of_each[0] == of_each[1][:len(of_each[0])], f"{name}: {of_each[0]} and {of_each[1]}")
    check(all(SECONDS / 2 <= seconds <= SECONDS * 1.5 for seconds in of_each[0]), f"{name}: segments of {of_each[0]} s")
    publisher.kill()


def main():
    with tempfile.TemporaryDirectory() as folder:
        with Server(folder, "--segment-cache-bytes", "0") as server:
            server.folder = folder
            run_beside_each_other(*((segments_are_as_long_as_asked, server, name) for name in SOURCES))
        return run_all([])


if __name__ == "__main__":
    sys.exit(main())
