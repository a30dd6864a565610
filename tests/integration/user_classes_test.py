#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Users with a service class: all that workers do for them is done in it, over HTTP, in segments, of uploads and by RTSP;
another class cannot be asked for, and the settings must have it."""

import json
import os
import re
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
    wait_until(lambda: served(server, "bulk") > bulk, 20, "a segment in the class of who asks")
    check(served(server, "gold") == gold == 0, "a segment in another class")
    # A playlist is for users of any class.
    master = get(server, f"/v1/hls/a.mkv/master.m3u8?{QUERY}&segment=1", ANN)[1].decode()
    playlist_name = re.search(r"^v0\.m3u8\S*$", master, re.M)[0]
    playlist = get(server, f"/v1/hls/a.mkv/{playlist_name}", BOB)[1].decode()
    segment_name = re.search(r"^v0-1\.m4s\S*$", playlist, re.M)[0]
    check("class" not in playlist_name + segment_name, f"playlists name a class: {playlist_name} {segment_name}")
    for user, name in ((BOB, "bulk"), (ANN, "gold")):
        before = {each: served(server, each) for each in ("gold", "bulk")}
        for part in (segment_name, re.sub("v0-1.m4s", "t0-0.jpg", segment_name)):
            answer, _ = get(server, f"/v1/hls/a.mkv/{part}", user)
            check(answer.status == 200, f"{user} {part}: {answer.status}")
        wait_until(lambda: served(server, name) > before[name], 20, f"a segment in {name}")
        check(all(served(server, each) == before[each] for each in before if each != name), f"a segment of {user} in another class")


def live_segments_are_too(server):
    publisher = publish(server)
    try:
        for user, name in ((BOB, "bulk"), (ANN, "gold")):
            before = served(server, name)
            answer, body = get(server, f"/v1/hls/live/cam/v0.m3u8?{QUERY}", user)
            check(answer.status == 200 and b"class" not in body, f"{user}: {answer.status} {body[:300]}")
            wait_until(lambda: served(server, name) > before, 20, f"live segments in {name}")
        refused(server, f"/v1/hls/live/cam/v0.m3u8?{QUERY}&class=gold", BOB, "bulk")
    finally:
        publisher.kill()
        publisher.wait()
    wait_until(lambda: not is_published(server), 20, "a publisher that is gone")


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


def is_published(server):
    return any(source["publishing"] for source in json.loads(get(server, "/v1/live", CAM)[1])["live"])


def publish(server):
    publisher = subprocess.Popen(["ffmpeg", "-nostdin", "-v", "error", "-re", "-stream_loop", "-1", "-i", os.path.join(server.folder, "a.mkv"), "-c", "copy",
                                  "-f", "rtsp", "-rtsp_transport", "tcp", f"rtsp://{CAM}@127.0.0.1:{server.rtsp_port}/live/cam"])
    wait_until(lambda: is_published(server), 20, "a publisher without a class")
    return publisher


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
    publisher = publish(server)
    try:
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


def sets_up(server, user, query):
    """The answer to SETUP without DESCRIBE."""
    return server.ask(f"SETUP {server.url(f'a.mkv?{QUERY}{query}')}/stream=0 RTSP/1.0\r\nCSeq: 1\r\nAuthorization: {basic(user)['Authorization']}\r\n"
                      "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n\r\n")


def a_reload_moves_users(server):
    def plays_as(expected, query=""):
        before = {s["id"] for s in streams(server)}
        player = play(server, BOB, query)
        check(player.communicate(timeout=30)[1] == "" and player.returncode == 0, f"RTSP of {expected}")
        made = [class_of(server, s["id"]) for s in streams(server) if s["id"] not in before]
        check(made and set(made) == {expected}, f"RTSP of {made}, not {expected}")

    def write(users):
        before = len(server.log)
        server.config.write_text(json.dumps({"auth": {"users": users}}), encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: any("reload" in line for line in server.log[before:]), 20, f"a reload with {users}")
        return "".join(server.log[before:])
    log = write(f"{BOB}:read:secret {CAM}:read+publish")
    check("refused" in log and "The class of bob is not there." in log and "secret" not in log, f"an unknown class: {log}")
    refused(server, "/v1/transcode/a.mkv?class=gold", BOB, "bulk")
    check("refused" not in write(f"{BOB}:read:gold {CAM}:read+publish"), "another class")
    refused(server, "/v1/transcode/a.mkv?class=bulk", BOB, "gold")
    plays_as("gold")
    check(" 400 " in sets_up(server, BOB, "&class=bulk").split("\r\n", 1)[0], "SETUP of another class")
    check("refused" not in write(f"{BOB}:read {CAM}:read+publish"), "no class")
    check(get(server, "/v1/explain/a.mkv?class=bulk", BOB)[0].status == 200, "whatever is asked for")
    plays_as("bulk", "&class=bulk")


def wrong_settings_do_not_start(server):
    for users, flags, text in [("bob:eyes:read:none", (), "The class of bob is not there."),
                               ("bob:eyes:read:gold", ("--classes", "bulk:1"), "accepted: bulk; others by scheduler.classes"),
                               ("bob:eyes:read:go+ld", ("--classes", "go+ld:1"), "A class name is not"), ("bob:eyes:write:gold", (), "User 1 is not understood."), ("bob:read:gold", (), "User 1 is not understood.")]:
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
        return run_on_rtsp([segments_are_too, streams_are_of_their_users_class, live_segments_are_too, no_other_can_be_asked_for, players_are_too,
                            players_of_one_live_source_too, a_reload_moves_users, wrong_settings_do_not_start], server)


if __name__ == "__main__":
    sys.exit(main())
