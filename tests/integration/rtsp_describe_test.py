#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One connection by RTSP that describes the same path again: with other parameters, while it plays what it described first, and
when a live source has ended and come back."""

import os
import re
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from live_test import Publisher  # noqa: E402
from rtsp_player import Player  # noqa: E402
from served import Server, check, make_stream, run_on_rtsp, wait_until  # noqa: E402

REST = "bitrate=100k&preset=ultrafast"
SIZES = ((160, 90), (320, 180), (480, 270), (640, 360))


def query(size):
    return f"width={size[0]}&height={size[1]}&{REST}"


def sizes(server):
    return sorted((s["target"]["width"], s["target"]["height"]) for s in server.running())


def describe(player, url, name):
    """SETUP of all tracks of what it is told of, in a session of its own."""
    player.url, player.session, player.controls, player.rates = url, None, [], []
    described, answers = player.set_up()
    check(described.status == 200 and [a.status for a in answers] == [200, 200], f"{name}: {described} {answers}")
    base = described.fields.get("content-base")
    check(base == url.split("?")[0] + "/", f"{name}: Content-Base {base} of {url}")
    # Channels that another session has are not given again.
    channels = [int(re.search(r"interleaved=(\d+)", a.fields["transport"])[1]) // 2 for a in answers]
    for channel in channels:
        player.packets[channel], player.reports[channel] = [], []
    return player.session, channels


def plays(player, described, url, name):
    player.session, channels = described
    answer = player.ask("PLAY", url)
    check(answer.status == 200, f"{name}: PLAY {answer}")
    check(player.read_until(lambda: all(len(player.packets[channel]) >= 10 for channel in channels)), f"{name}: packets")


def other_parameters(server, path):
    """Each DESCRIBE gets what it asks for, also on a connection that plays; each session stays its own."""
    with Player(server, path) as player:
        base, sessions = server.url(path) + "/", []
        for number, size in enumerate(SIZES):
            sessions.append(describe(player, server.url(f"{path}?{query(size)}"), f"{path} at {size}"))
            check(sizes(server) == list(SIZES[:number + 1]), f"{path}: streams of {sizes(server)} behind {SIZES[:number + 1]}")
        for session, size in zip(sessions, SIZES):
            plays(player, session, base, f"{path} at {size}")
            check(player.ask("PAUSE", base).status == 200, f"{path}: PAUSE at {size}")
            check(player.ask("TEARDOWN", base).status == 200, f"{path}: TEARDOWN at {size}")
            wait_until(lambda size=size: size not in sizes(server), 10, f"{path}: the stream at {size} is gone")


def by_the_url_of_the_question(server, path):
    """Who repeats the URL of its DESCRIBE, with its parameters, in place of the Content-Base: Media3 (ExoPlayer) does so for all
    but SETUP, others for that too."""
    with Player(server, path) as player:
        urls = [server.url(f"{path}?{query(size)}") for size in SIZES[:2]]
        sessions = [describe(player, url, url) for url in urls]
        for session, url in zip(sessions, urls):
            plays(player, session, url, url)
            check(player.ask("PAUSE", url).status == 200, f"PAUSE of {url}")
            check(player.ask("PLAY", url).status == 200, f"PLAY again of {url}")
        for session, url in zip(sessions, urls):
            player.session = session[0]
            check(player.ask("TEARDOWN", url).status == 200, f"TEARDOWN of {url}")
        wait_until(lambda: not server.running(), 10, f"{path}: the streams behind TEARDOWN")
    with Player(server, path) as player:
        check(player.ask("DESCRIBE", urls[0]).status == 200, f"DESCRIBE of {urls[0]}")
        answer = player.ask("SETUP", f"{urls[0]}/stream=0", Transport="RTP/AVP/TCP;unicast;interleaved=0-1")
        check(answer.status == 200, f"SETUP of {urls[0]}/stream=0: {answer}")
        check(sizes(server) == [SIZES[0]], f"{path}: streams of {sizes(server)} behind SETUP of what was described")


def describing_alone(server, path):
    """Who describes and sets nothing up holds what it described last."""
    with Player(server, path) as player:
        for size in (*SIZES, *SIZES):
            answer = player.ask("DESCRIBE", server.url(f"{path}?{query(size)}"))
            check(answer.status == 200, f"{path}: {answer}")
            wait_until(lambda size=size: sizes(server) == [size], 10, f"{path}: streams of {sizes(server)} behind {size}")
    wait_until(lambda: not server.running(), 10, f"{path}: the stream of a connection that is gone")


def of_a_movie(server, _):
    other_parameters(server, "sync-720p.mp4")
    by_the_url_of_the_question(server, "sync-720p.mp4")
    describing_alone(server, "sync-720p.mp4")


def of_a_live_source(server, folder):
    publisher = Publisher(server, "cam", make_stream(folder, "cam.ts", 60))
    other_parameters(server, "live/cam")
    by_the_url_of_the_question(server, "live/cam")
    describing_alone(server, "live/cam")
    publisher.kill()


def a_source_that_comes_back(server, folder):
    """Who looks from time to time whether it is there gets the one that is there."""
    url = server.url(f"live/back?{query(SIZES[0])}")
    movie = make_stream(folder, "back.ts", 60)
    with Player(server, "live/back") as player:
        for turn in range(3):
            publisher = Publisher(server, "back", movie)
            answer = player.ask("DESCRIBE", url)
            check(answer.status == 200 and re.search("m=video", answer.body), f"turn {turn}: {answer}")
            if turn == 2:
                plays(player, describe(player, url, "the last turn"), player.url, "the last turn")
            publisher.kill()
            wait_until(lambda: not server.running(), 20, f"turn {turn}: the stream ends behind its source")


def main():
    os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "5"
    with tempfile.TemporaryDirectory() as folder:
        server = Server(rtsp=True)
        return run_on_rtsp([of_a_movie, of_a_live_source, a_source_that_comes_back], server, folder)


if __name__ == "__main__":
    sys.exit(main())
