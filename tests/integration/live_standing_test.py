#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Presentations of live sources that are made without a viewer (live.presentations): they begin and end with their
publishers, viewers share them, what the machine has no room for is tried again, and a reload adds and removes them."""

import json
import os
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from live_test import Publisher  # noqa: E402
from served import Server, check, make_stream, run_all, wait_until  # noqa: E402

IDLE, PATIENCE = 1, 4
os.environ.update(GOPMILL_SEGMENTS_LIVE_IDLE_SECONDS=str(IDLE), GOPMILL_LIVE_READER_PATIENCE_SECONDS=str(PATIENCE),
                  GOPMILL_SEGMENTS_CACHE_BYTES="0")
ONE = "width=160&bitrate=80k&preset=ultrafast&segment=1"
REORDERED = "segment=1&preset=ultrafast&bitrate=80k&width=160"


def presentations(server):
    return server.metric("gopmill_live_presentations"), server.metric("gopmill_live_presentations_total")


def wait_for_pictures(server, count):
    wait_until(lambda: any(s["counts"]["frames_out"] >= count for s in server.running()), 60, f"{count} pictures of a presentation")


def playlist_of(server, name):
    answer, body = server.get(f"/v1/hls/live/{name}/v0.m3u8?{REORDERED}")
    check(answer.status == 200, f"{answer.status} {body[:200]}")
    return body.decode()


def it_is_there_before_its_viewer(folder, movie):
    with Server(folder, "--presentation", f"cam?{ONE}") as server:
        check(presentations(server) == (0, 0), "without a publisher there is none")
        publisher = Publisher(server, "cam", movie)
        wait_for_pictures(server, 30 * (IDLE + 6))
        check(presentations(server) == (1, 1) and server.live("cam")["readers"] == 1, "one, that nobody has asked for")
        listed = playlist_of(server, "cam")
        check("MEDIA-SEQUENCE:0\n" in listed and listed.count("#EXTINF") >= IDLE + 4, f"what was made before: {listed}")
        first = re.search(r"^(v0-0\.m4s\S+)$", listed, re.M)[1]
        answer, body = server.get(f"/v1/hls/live/cam/{first}")
        check(answer.status == 200 and len(body) > 1000, f"the first segment: {answer.status}")
        check(presentations(server) == (1, 1) and len(server.running()) == 1, "the viewer has another one")
        publisher = returns(server, publisher, movie)
        listed = playlist_of(server, "cam")
        check(listed.count("#EXT-X-DISCONTINUITY\n") == 1 and presentations(server) == (1, 1), f"over a return: {listed}")
        publisher.kill()
        # Its streams end, and then nothing of it is kept.
        wait_until(lambda: presentations(server) == (0, 1) and not server.running(), PATIENCE + IDLE + 10, "the end with its publisher")
        check(server.live("cam")["readers"] == 0, "a source without a publisher is read")
        publisher = Publisher(server, "cam", movie)
        wait_until(lambda: presentations(server) == (1, 2), 30, "another publisher begins another one")
        wait_for_pictures(server, 30)
        check("EXT-X-DISCONTINUITY\n" not in playlist_of(server, "cam"), "that begins anew")
        publisher.kill()
        log = server.end()
        check("presented" not in log, f"nothing has failed: {log}")


def returns(server, publisher, movie):
    publisher.kill()
    wait_until(lambda: not server.live("cam")["publishing"], 10, "a killed publisher is still there")
    made = max(s["counts"]["frames_out"] for s in server.running())
    publisher = Publisher(server, "cam", movie)
    wait_for_pictures(server, made + 60)
    return publisher


def what_has_no_room_is_tried_again(folder, movie):
    with Server(folder, "--presentation", f"one?{ONE}", "--presentation", f"two?{ONE}", "--max-streams", "1") as server:
        first = Publisher(server, "one", movie)
        wait_for_pictures(server, 1)
        second = Publisher(server, "two", movie)
        told = lambda: [line for line in server.log if "live/two?" in line]
        wait_until(told, 30, "a line about what has no room")
        check("tried again: All 1 streams" in told()[0], f"{told()}")
        # Attempts are ten seconds apart: behind two more there would be more lines.
        time.sleep(22)
        check(len(told()) == 1, f"{told()}")
        first.kill()
        wait_until(lambda: len(told()) == 2, 60, "a line about what has room again")
        check("is presented now" in told()[1] and [s["source"] for s in server.running()] == ["live/two"], f"{told()}")
        second.kill()


def a_reload_adds_and_removes(folder, movie):
    config = os.path.join(folder, "config.json")

    def settings(presentations):
        Path(config).write_text(json.dumps({"live": {"presentations": presentations}}), encoding="utf-8")

    settings(f"cam?{ONE}")
    with Server(folder, "--config", config) as server:
        publishers = [Publisher(server, name, movie) for name in ("cam", "gate")]

        def made(*names):
            return sorted(s["source"] for s in server.running()) == [f"live/{name}" for name in names]

        wait_until(lambda: made("cam"), 30, "the one that is set")
        wait_for_pictures(server, 30)
        for text, names in ((f"cam?{REORDERED} gate?{ONE}", ("cam", "gate")), (f"gate?{ONE}", ("gate",)), ("", ())):
            settings(text)
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda names=names: made(*names), 30, f"after a reload: {text}")
        check(server.metric("gopmill_live_presentations_total") == 2, "what stays was begun anew")
        before = len(server.log)
        settings("cam?width=many")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: any("reload refused" in line and "Presentation 1, width" in line for line in server.log[before:]), 10, "a refusal")
        for publisher in publishers:
            publisher.kill()


def main():
    with tempfile.TemporaryDirectory() as folder:
        movie = make_stream(folder, "movie.ts", 150)  # longer than any test
        return run_all([it_is_there_before_its_viewer, what_has_no_room_is_tried_again, a_reload_adds_and_removes], folder, movie)


if __name__ == "__main__":
    sys.exit(main())
