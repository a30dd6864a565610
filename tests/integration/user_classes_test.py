#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Users with a service class: all that workers do for them is done in it, over HTTP, in segments, of uploads and by RTSP;
another class cannot be asked for, and the settings must have it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from access_test import basic  # noqa: E402
from served import PROGRAM, Server, check, make_stream, run_on_rtsp, wait_until  # noqa: E402

QUERY = "width=160&height=90&bitrate=100k&preset=ultrafast"
ANN, BOB, CAM = "ann:a:b", "bob:eyes", "cam:lens"  # gold, bulk, and whatever is asked for
USERS = f"{ANN}:read:gold {BOB}:read:bulk {CAM}:read+publish"
PART = f"/v1/hls/a.mkv/v0-0.m4s?{QUERY}&segment=1"


def get(server, path, user, method="GET", body=None):
    return server.get(path, method, basic(user), body)


def streams(server):
    return json.loads(get(server, "/v1/streams", CAM)[1])["streams"]


def class_of(server, number):
    return json.loads(get(server, f"/v1/streams/{number}", CAM)[1])["target"].get("class")


def served(server, name):
    """Seconds of workers in this class."""
    text = get(server, "/metrics", CAM)[1].decode()
    return float(text.split(f'gopmill_class_served_seconds_total{{class="{name}"}} ', 1)[1].split("\n", 1)[0])


def refused(server, path, user, accepted, method="GET", body=None):
    answer, text = get(server, path, user, method, body)
    check(answer.status == 400, f"{user} {method} {path}: {answer.status} {text[:300]}")
    problem = json.loads(text)
    check((problem["parameter"], problem["accepted"]) == ("class", accepted), f"{user} {path}: {problem}")


def streams_are_of_their_users_class(server):
    for user, query, expected in [(ANN, "", "gold"), (BOB, "", "bulk"), (BOB, "&class=bulk", "bulk"), (CAM, "", None),
                                  (CAM, "&class=bulk", "bulk")]:
        answer, body = get(server, f"/v1/transcode/a.mkv?{QUERY}{query}", user)
        check(answer.status == 200 and len(body) > 1000, f"{user}{query}: {answer.status}")
        check(class_of(server, answer.getheader("X-Gopmill-Stream")) == expected, f"{user}{query}: not of {expected}")
    movie = Path(server.folder, "a.mkv").read_bytes()
    answer, _ = get(server, f"/v1/transcode?{QUERY}&container=ts", BOB, "POST", movie)
    check(answer.status == 200 and class_of(server, answer.getheader("X-Gopmill-Stream")) == "bulk", "an upload")


def segments_are_too(server):
    gold, bulk = served(server, "gold"), served(server, "bulk")
    answer, _ = get(server, PART, BOB)
    check(answer.status == 200, f"a segment: {answer.status}")
    wait_until(lambda: served(server, "bulk") > bulk, 10, "a segment in the class of who asks")
    check(served(server, "gold") == gold, "a segment in another class")
    playlist = get(server, f"/v1/hls/a.mkv/v0.m3u8?{QUERY}&segment=1", BOB)[1].decode()
    check("class=bulk" in playlist, f"what a playlist leads to: {playlist[:500]}")


def no_other_can_be_asked_for(server):
    for path in ("/v1/transcode/a.mkv", "/v1/explain/a.mkv", "/v1/hls/a.mkv/master.m3u8", "/v1/hls/a.mkv/v0-0.m4s",
                 "/v1/dash/a.mkv/manifest.mpd"):
        refused(server, f"{path}?class=gold", BOB, "bulk")
        refused(server, f"{path}?class=none", ANN, "gold")
    refused(server, "/v1/explain?path=a.mkv&class=gold", BOB, "bulk")
    refused(server, "/v1/transcode?class=gold", BOB, "bulk", "POST", b"junk")
    answer, _ = get(server, "/v1/transcode/a.mkv?class=gold", BOB, "HEAD")
    check(answer.status == 400, f"HEAD: {answer.status}")
    for path in ("/v1/sources", "/v1/streams", "/v1/live", "/v1/workers", "/metrics", "/"):
        check(get(server, path, BOB)[0].status == 200, f"{path}, which takes no class")


def play(server, user, query, path="a.mkv", frames=30):
    return subprocess.Popen(["ffmpeg", "-nostdin", "-v", "error", "-rtsp_transport", "tcp", "-i",
                             f"rtsp://{user}@127.0.0.1:{server.rtsp_port}/{path}?{QUERY}{query}", "-an", "-frames:v", str(frames),
                             "-f", "null", "-"], stderr=subprocess.PIPE, text=True)


def players_are_too(server):
    for user, query, expected in [(BOB, "", "bulk"), (CAM, "&class=gold", "gold")]:
        before = {s["id"] for s in streams(server)}
        player = play(server, user, query)
        errors = player.communicate(timeout=30)[1]
        check(player.returncode == 0, f"{user}{query}: {errors}")
        made = [s["id"] for s in streams(server) if s["id"] not in before]
        check(made and all(class_of(server, number) == expected for number in made), f"{user}{query}: {made} not of {expected}")
    answer = server.ask(f"DESCRIBE {server.url('a.mkv?class=gold')} RTSP/1.0\r\nCSeq: 1\r\nAuthorization: {basic(BOB)['Authorization']}\r\n\r\n")
    check(answer.startswith("RTSP/1.0 400 ") and "accepted: bulk" in answer, f"another class: {answer[:300]!r}")


def players_of_one_live_source_too(server):
    publisher = subprocess.Popen(["ffmpeg", "-nostdin", "-v", "error", "-re", "-stream_loop", "-1", "-i", os.path.join(server.folder, "a.mkv"), "-c", "copy",
                                  "-f", "rtsp", "-rtsp_transport", "tcp", f"rtsp://{CAM}@127.0.0.1:{server.rtsp_port}/live/cam"])
    try:
        wait_until(lambda: json.loads(get(server, "/v1/live", CAM)[1])["live"], 10, "a publisher without a class")
        before = {s["id"] for s in streams(server)}
        players = [play(server, user, "", "live/cam", 60) for user in (BOB, CAM)]
        for player in players:
            errors = player.communicate(timeout=30)[1]
            check(player.returncode == 0, f"a live player: {errors}")
        made = sorted(str(class_of(server, s["id"])) for s in streams(server) if s["id"] not in before)
        check(made == ["None", "bulk"], f"streams of the classes {made}")
    finally:
        publisher.kill()
        publisher.wait()


def a_reload_moves_users(server):
    def write(users):
        before = len(server.log)
        server.config.write_text(json.dumps({"auth": {"users": users}}), encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: any("reload" in line for line in server.log[before:]), 10, f"a reload with {users}")
        return "".join(server.log[before:])
    log = write(f"{BOB}:read:secret {CAM}:read+publish")
    check("refused" in log and "The class of bob is not there." in log and "secret" not in log, f"an unknown class: {log}")
    refused(server, "/v1/transcode/a.mkv?class=gold", BOB, "bulk")
    check("refused" not in write(f"{BOB}:read:gold {CAM}:read+publish"), "another class")
    refused(server, "/v1/transcode/a.mkv?class=bulk", BOB, "gold")
    player = play(server, BOB, "&class=gold")
    check(player.communicate(timeout=30)[1] == "" and player.returncode == 0, "RTSP of the new class")
    check("refused" not in write(f"{BOB}:read {CAM}:read+publish"), "no class")
    check(get(server, "/v1/explain/a.mkv?class=bulk", BOB)[0].status == 200, "whatever is asked for")


def wrong_settings_do_not_start(server):
    for users, flags, text in [("bob:eyes:read:none", (), "The class of bob is not there."),
                               ("bob:eyes:read:gold", ("--classes", "bulk:1"), "The class of bob is not there."),
                               ("bob:eyes:write:gold", (), "User 1 is not understood."), ("bob:read:gold", (), "User 1 is not understood.")]:
        done = subprocess.run([PROGRAM, "serve", "--library", server.folder, "--http-port", "0", "--rtsp-port", "0", *flags], check=False,
                              env=os.environ | {"GOPMILL_AUTH_USERS": users}, capture_output=True, text=True, timeout=20)
        check(done.returncode == 2 and text in done.stderr and "eyes" not in done.stderr, f"{users}: {done.returncode} {done.stderr}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_stream(folder, "a.mkv", 3)
        config = Path(folder, "config.json")
        config.write_text(json.dumps({"auth": {"users": USERS}}), encoding="utf-8")
        server = Server(folder, "--config", str(config), "--classes", "gold:3,bulk:1", "--segment-cache-bytes", "0", rtsp=True)
        server.folder, server.config = folder, config
        return run_on_rtsp([streams_are_of_their_users_class, segments_are_too, no_other_can_be_asked_for, players_are_too,
                            players_of_one_live_source_too, a_reload_moves_users, wrong_settings_do_not_start], server)


if __name__ == "__main__":
    sys.exit(main())
