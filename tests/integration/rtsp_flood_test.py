#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Packets in the connection of a player, or of a publisher that does not record: they cost nothing. What ends with them goes on:
reports keep a session, a publisher that was refused plays."""

import os
import struct
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from rtsp_player import Player  # noqa: E402
from rtsp_publish_test import SDP  # noqa: E402
from served import Server, check, make_stream, run_on_rtsp, wait_until  # noqa: E402

MOVIE = "m.mkv?width=160&preset=ultrafast"
RECORD = "RTP/AVP/TCP;unicast;interleaved={};mode=record"
FLOOD, MOST_KIB = 150 << 20, 50 << 10
SESSION_SECONDS = 5


def packet(channel, body):
    return b"$" + bytes([channel]) + len(body).to_bytes(2, "big") + body


RTP = struct.pack(">BBHII", 0x80, 0x60, 0, 0, 0x1234) + bytes(60000)


def report(ssrc=7):
    """An empty one of a receiver, and its name."""
    return struct.pack(">BBHI", 0x80, 201, 1, ssrc) + struct.pack(">BBHIBB", 0x81, 202, 3, ssrc, 1, 4) + b"test\0\0"


def floods(server, player, channel, body, name):
    """What it sends is read and forgotten; the connection is still good then."""
    before, piece = server.resident_kib(), packet(channel, body)
    pieces = piece * max(1, (1 << 20) // len(piece))
    player.socket.settimeout(60)
    for _ in range(FLOOD // len(pieces)):
        player.socket.sendall(pieces)
    answer = player.ask("OPTIONS")
    check(answer.status == 200, f"{name}: {answer}")
    grown = server.resident_kib() - before
    print(f"{name}: {grown} KiB", flush=True)
    check(grown < MOST_KIB, f"{name}: {FLOOD >> 20} MiB let the server grow by {grown >> 10} MiB")


def announce(player, sdp=SDP):
    player.sequence += 1
    head = f"ANNOUNCE {player.url} RTSP/1.0\r\nCSeq: {player.sequence}\r\nContent-Type: application/sdp\r\nContent-Length: {len(sdp)}\r\n\r\n"
    player.socket.sendall((head + sdp).encode())
    return player.next_item()


def publisher(server, name, channels="0-1"):
    player = Player(server, f"live/{name}")
    player.packets, player.reports = {0: []}, {0: []}
    check(announce(player).status == 200, f"{name} announces")
    answer = player.ask("SETUP", player.url + "/streamid=0", Transport=RECORD.format(channels))
    check(answer.status == 200, f"{name}: {answer}")
    return player


def of_a_player(server):
    with Player(server, MOVIE) as player:
        player.set_up([0])
        floods(server, player, 0, RTP, "RTP of a player")
        floods(server, player, 1, report() + bytes(60000), "reports of a player that does not play")
        player.ask("PLAY")
        player.read_until(lambda: len(player.packets[0]) > 5)
        player.ask("PAUSE")
        floods(server, player, 0, RTP, "RTP of a player that has played")
    with Player(server, MOVIE) as player:
        described, _ = player.set_up([])
        check(described.status == 200, f"DESCRIBE: {described}")
        answer = player.ask("SETUP", player.controls[0], Transport="RTP/AVP/TCP;unicast;interleaved=4-4")
        check(answer.status == 200, f"SETUP of one channel: {answer}")
        floods(server, player, 4, RTP, "RTP on a channel that is both")


def of_a_publisher_that_does_not_record(server):
    with publisher(server, "early") as player:
        floods(server, player, 0, RTP, "RTP in front of RECORD")
        floods(server, player, 1, report() + bytes(60000), "reports in front of RECORD")
    wait_until(lambda: not server.live("early")["publishing"], 15, "it has gone")


def a_publisher_does_not_pause(server):
    """What it sent meanwhile would have to be kept."""
    with publisher(server, "steady") as player:
        check(player.ask("RECORD", Range="npt=0-").status == 200, "RECORD")
        answer = player.ask("PAUSE")
        check(answer.status == 455 and "publisher" in answer.fields.get("x-gopmill-problem", ""), f"PAUSE: {answer}")
        check(server.live("steady")["publishing"], "it publishes no more")
        check(player.ask("TEARDOWN").status == 200, "TEARDOWN")
    wait_until(lambda: not server.live("steady")["publishing"], 15, "it has gone")


def another_connection_does_not_end_a_publisher(server):
    """The library would take no more of its packets, and forget those that come. No URL leads there but that of who has announced it.
    (Its session goes with a connection that named it.)"""
    with publisher(server, "mine") as player, Player(server, "live/mine") as other:
        check(player.ask("RECORD", Range="npt=0-").status == 200, "RECORD")
        other.session = player.session
        for path in "live/mine", "publish/live/mine", "publish?/live/mine", "publish%3F/live/mine":
            answer = other.ask("TEARDOWN", server.url(path))
            check(answer.status == 404, f"TEARDOWN of {path}: {answer}")
        check(server.live("mine")["publishing"], "it publishes no more")
        answer = player.ask("TEARDOWN")
        check(answer.status == 200, f"TEARDOWN: {answer}")
    wait_until(lambda: not server.live("mine")["publishing"], 15, "it has gone")


def who_was_not_let_publish_may_play(server):
    with Player(server, "nothing") as player:
        check(announce(player).status == 400, "a place where nothing can be published")
        player.url = server.url(MOVIE)
        described, answers = player.set_up()
        check(described.status == 200 and all(answer.status == 200 for answer in answers), f"behind it: {described}, {answers}")
        check(player.ask("PLAY").status == 200, "PLAY")
        check(player.read_until(lambda: len(player.packets[0]) > 5), "no packets")


def who_has_published_may_play(server):
    with publisher(server, "first") as player:
        check(player.ask("RECORD", Range="npt=0-").status == 200, "RECORD")
        check(player.ask("TEARDOWN").status == 200, "TEARDOWN")
        player.url, player.session = server.url(MOVIE), None
        described, answers = player.set_up([0])
        check(described.status == 200 and answers[0].status == 200, f"behind it: {described}, {answers}")
        floods(server, player, 0, RTP, "RTP on what was the channel of a publisher")


def reports_keep_a_session(server):
    with Player(server, MOVIE) as player:
        player.set_up([0])
        check(player.ask("PLAY").status == 200, "PLAY")
        end = time.monotonic() + 3 * SESSION_SECONDS
        while time.monotonic() < end:
            player.socket.sendall(packet(1, report()))
            count = len(player.packets[0])
            check(player.read_until(lambda count=count: len(player.packets[0]) > count + 30), "cut, or its stream is over")
        check(player.ask("PAUSE").status == 200, "the session has ended")


def main():
    os.environ["GOPMILL_RTSP_PUBLISHER_TIMEOUT_SECONDS"] = "30"
    os.environ["GOPMILL_RTSP_SESSION_TIMEOUT_SECONDS"] = str(SESSION_SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        make_stream(folder, "m.mkv", 40)
        return run_on_rtsp([of_a_player, of_a_publisher_that_does_not_record, a_publisher_does_not_pause,
                            another_connection_does_not_end_a_publisher, who_was_not_let_publish_may_play,
                            who_has_published_may_play, reports_keep_a_session], Server(folder, rtsp=True))


if __name__ == "__main__":
    sys.exit(main())
