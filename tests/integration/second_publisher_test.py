#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`live.second_publisher` = `replace`: whoever comes takes the name over, by HTTP or RTSP from either; the one before is told
so, and a reader goes on without a gap."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from live_test import Publisher  # noqa: E402
from rtsp_odd_publisher_test import VIDEO  # noqa: E402
from rtsp_publish_test import publish  # noqa: E402
from rtsp_wild_test import Publisher as WildPublisher  # noqa: E402
from served import Server, check, decode, make_stream, read_in_thread, run_beside_each_other, run_on_rtsp, wait_until  # noqa: E402

QUERY = "width=160&bitrate=100k&preset=ultrafast&container=ts"
KINDS = ("http", "rtsp")


class ByHttp(Publisher):
    def is_cut(self, name):
        """It is told why (docs/API.md, "Errors")."""
        status, body = self.finish()
        problem = json.loads(body)
        check(status == 409 and problem["type"] == "urn:gopmill:problem:already-exists", f"{name}: the first one got {status} {body}")

    def leave(self):
        self.kill()


class ByRtsp:
    def __init__(self, server, name, path):
        self.process = publish(server, name, path)

    def is_cut(self, name):
        """Its connection is closed, which ffmpeg takes for a fault."""
        try:
            _, errors = self.process.communicate(timeout=20)
            check(self.process.returncode != 0 or errors, f"{name}: the first one has noticed nothing")
        except subprocess.TimeoutExpired:
            check(False, f"{name}: the first one goes on")

    def leave(self):
        self.process.kill()
        self.process.communicate()


PUBLISHERS = dict(zip(KINDS, (ByHttp, ByRtsp)))


def takes_over(server, movie, first, second):
    name, result = f"{first}-{second}", {}
    reader = read_in_thread(server, name, f"{QUERY}&duration=3", result)
    before = PUBLISHERS[first](server, name, movie)
    wait_until(lambda: server.live(name)["counts"].get("packets", 0) > 60, 20, f"{name}: packets of the first publisher")
    after = PUBLISHERS[second](server, name, movie)
    before.is_cut(name)
    reader.join()
    check(result["status"] == 200 and int(decode(result["body"])["video"]["nb_read_frames"]) == 90,
          f"{name}: three seconds of two publishers: {result['status']}")
    live = server.live(name)
    check(live["publishing"] and live["counts"]["publishers"] == 2, f"{name}: {live}")
    after.leave()
    wait_until(lambda: not server.live(name)["publishing"], 10, f"{name}: the second one has left and has the name")


def either_kind(server):
    movie = make_stream(server.folder, "cam.mkv", 20)
    run_beside_each_other(*((takes_over, server, movie, first, second) for first in KINDS for second in KINDS))


def an_announcement_takes_nothing_over(server):
    """Who never sends cuts nobody off."""
    movie, result = make_stream(server.folder, "whole.mkv", 6), {}
    reader = read_in_thread(server, "kept", f"{QUERY}&duration=4", result)
    publisher = publish(server, "kept", movie)
    wait_until(lambda: server.live("kept")["counts"].get("packets", 0) > 60, 20, "packets of the publisher")
    with WildPublisher(server, "kept") as other:
        check(" 200 " in other.announce([VIDEO])[:20] and other.set_up(1), "the other one may announce")
        _, errors = publisher.communicate(timeout=30)
        check(publisher.returncode == 0 and not errors, f"the publisher was cut: {errors[:200]}")
    reader.join()
    check(int(decode(result["body"])["video"]["nb_read_frames"]) == 120, "not four seconds of the one publisher")
    check(server.live("kept")["counts"].get("publishers", 1) == 1, "the other one has published")


def main():
    os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "10"
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, "--second-publisher", "replace", rtsp=True)
        server.folder = folder
        return run_on_rtsp([either_kind, an_announcement_takes_nothing_over], server)


if __name__ == "__main__":
    sys.exit(main())
