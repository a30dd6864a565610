#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cameras that are fetched from, as odd as they come."""

import os
import socket
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from mock_camera import CODECS, Camera  # noqa: E402
from served import Server, check, decode, read_in_thread, run_beside_each_other, run_on_rtsp, wait_until  # noqa: E402

QUERY = "width=160&bitrate=100k&preset=ultrafast&container=ts"


def read(server, name, seconds):
    result = {}
    read_in_thread(server, name, f"{QUERY}&duration={seconds}", result).join()
    return result


def hears_that_somebody_is_there(server, camera):
    """Its session ends 30 seconds after the last request."""
    result = read(server, "patient", 33)
    check(result["status"] == 200, f"a camera with a timeout: {result}")
    check(int(decode(result["body"])["video"]["nb_read_frames"]) == 33 * 30, "33 seconds of a camera")
    check(server.live("patient")["counts"]["publishers"] == 1, "its session ended meanwhile")
    check("GET_PARAMETER" in camera.methods, f"it heard {camera.methods}")


def may_refuse_to_be_asked(server, camera):
    result = read(server, "refusing", 26)
    check(result["status"] == 200 and server.live("refusing")["counts"]["publishers"] == 1, "a session that goes on")
    check(camera.methods.count("GET_PARAMETER") == 1, f"it heard {camera.methods}")
    check(any("live refusing: the peer takes no GET_PARAMETER (501)" in line for line in server.log), "not logged")


def refuses_tcp_and_is_not_waited_for(server):
    """Each attempt begins the patience of readers anew otherwise."""
    begin = time.monotonic()
    result = read(server, "udponly", 2)
    check(result["status"] == 503 and time.monotonic() - begin < 15, f"after {time.monotonic() - begin:.1f} s: {result}")
    lines = [line for line in server.log if "live udponly:" in line]
    check(lines and all("the camera refuses TCP (461): use rtspu://" in line for line in lines), f"the log: {lines}")
    check(server.live("udponly")["counts"].get("publishers", 0) == 0, "it counts as a publisher")


def refuses_the_password_and_is_asked_seldom(server, camera):
    result = read(server, "locked", 2)
    check(result["status"] == 503 and b"name or password are refused (401)" in result["body"], f"a wrong password: {result}")
    state = server.live("locked")
    check(state.get("pull") in ("waiting", "connecting") and state["last_error"].startswith("name or password"), f"/v1/live: {state}")
    # The first of an attempt has no password yet.
    check(camera.methods.count("DESCRIBE") <= 4, f"asked {camera.methods.count('DESCRIBE')} times in 5 seconds")
    check(server.metric('gopmill_pull_failures_total{name="locked"}') >= 1, "not counted")
    # Nobody reads it for ten seconds; who comes before the minute is over waits for the next attempt.
    wait_until(lambda: server.live("locked")["pull"] == "idle", 20, "it is not idle behind its reader")
    reader = read_in_thread(server, "locked", QUERY, {})
    wait_until(lambda: server.live("locked")["pull"] != "idle", 4, "it is read and idle")
    check(server.live("locked")["pull"] == "waiting", f"/v1/live: {server.live('locked')}")
    reader.join()
    lines = [line for line in server.log if "live locked:" in line]
    check(lines and not any("secret" in line or "stream" in line for line in lines), f"the log: {lines}")


def says_what_is_answered(server):
    result = read(server, "moved", 2)
    check(result["status"] == 503 and b"the peer answers Not Found (404)" in result["body"], f"a wrong path: {result}")


def says_why_there_is_no_connection(server):
    for name, words in (("off", b"connection refused"), ("mistyped", b"the name of the host ")):
        result = read(server, name, 2)
        check(result["status"] == 503 and words in result["body"], f"{name}: {result}")
        lines = [line for line in server.log if f"live {name}:" in line]
        check(lines and all(words.decode() in line and "secret" not in line for line in lines), f"the log: {lines}")


def sends_more_than_can_be_used(server):
    result = {}
    reader = read_in_thread(server, "rich", f"{QUERY}&duration=2", result)
    wait_until(lambda: "source" in server.live("rich"), 30, "a camera with G.726 and metadata is not fetched")
    state = server.live("rich")
    reader.join()
    check(result["status"] == 200 and "audio" not in decode(result["body"]), f"a camera with G.726 and metadata: {result['status']}")
    check(state.get("pull") in ("connecting", "playing") and state["attempts"] == 1 and "last_error" not in state, f"/v1/live: {state}")
    check(state["source"]["unusable_audio"] == ["G726-32"], f"/v1/live: {state['source']}")
    wait_until(lambda: [line for line in server.log if "live rich: left out" in line and "audio of G726-32" in line
                        and "application of VND.ONVIF.METADATA" in line], 5, "what is left out is not logged")


def counts_one_tick_a_picture(server):
    """So it states half of its rate."""
    result = read(server, "halved", 4)
    check(result["status"] == 200, f"a camera that states half its rate: {result}")
    check(int(decode(result["body"])["video"]["nb_read_frames"]) == 4 * 30, "pictures of a camera that states half its rate")


def test_cameras(server, cameras):
    run_beside_each_other((hears_that_somebody_is_there, server, cameras["patient"]),
                          (may_refuse_to_be_asked, server, cameras["refusing"]),
                          (refuses_tcp_and_is_not_waited_for, server),
                          (refuses_the_password_and_is_asked_seldom, server, cameras["locked"]),
                          (says_what_is_answered, server),
                          (says_why_there_is_no_connection, server),
                          (counts_one_tick_a_picture, server),
                          (sends_more_than_can_be_used, server))


def main():
    os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "5"
    cameras = {"patient": Camera(timeout=30),
               "refusing": Camera(refusals={"GET_PARAMETER": "501 Not Implemented"}),
               "udponly": Camera(refusals={"SETUP": "461 Unsupported Transport"}),
               "locked": Camera(refusals={"DESCRIBE": "401 Unauthorized"}),
               "moved": Camera(refusals={"DESCRIBE": "404 Not Found"}),
               "halved": Camera(ticks=30),
               "rich": Camera(CODECS["video"] + CODECS["g726"] + CODECS["metadata"])}
    flags = [part for name, camera in cameras.items() for part in ("--source", f"{name}={camera.url(user='admin:secret@')}")]
    # Nobody else gets the port, and nothing listens there.
    with tempfile.TemporaryDirectory() as folder, socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        for name, host in (("off", f"127.0.0.1:{held.getsockname()[1]}"), ("mistyped", "nohost.invalid")):
            flags += ["--source", f"{name}=rtsp://admin:secret@{host}/x"]
        return run_on_rtsp([test_cameras], Server(folder, *flags), cameras)


if __name__ == "__main__":
    sys.exit(main())
