#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Players of one live source by RTSP, packet by packet: who comes later, pauses, asks for another place. What they share is
one stream, so what one does must not be seen by another."""

import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from live_test import Publisher  # noqa: E402
from rtsp_player import Player, rtp_info  # noqa: E402
from rtsp_protocol_test import behind, nothing_is_missing, reports_agree  # noqa: E402
from served import Server, check, make_stream, run_on_rtsp, wait_until  # noqa: E402

LIVE = "live/cam?width=160&height=90&bitrate=100k&preset=ultrafast&fps=30"


def play(player, **fields):
    answer = player.ask("PLAY", **fields)
    check(answer.status == 200 and answer.fields.get("range") == "npt=now-", f"PLAY of a live source: {answer}")
    told = rtp_info(answer)
    check(len(told) == 2, f"RTP-Info: {answer}")
    return told


def read_more(player, packets):
    """So many packets more of each track."""
    wanted = {track: len(seen) + packets for track, seen in player.packets.items()}
    player.read_until(lambda: all(len(player.packets[track]) >= count for track, count in wanted.items()))


def lead(player):
    """How far the newest of some pictures was ahead of the wall clock, seconds from any begin: less, and they come later."""
    player.ask("OPTIONS")  # reads what has come before
    best = []
    for _ in range(20):
        seen = len(player.packets[0])
        player.read_until(lambda seen=seen: len(player.packets[0]) > seen)
        best.append(behind(player.packets[0][-1].time, player.packets[0][0].time) / player.rates[0] - time.monotonic())
    return max(best)


def begins_where_it_was_told(player, told, since, name):
    """The library names the packet that it sent last before the answer; what is behind it is the player's."""
    for track, (number, rtp_time) in enumerate(told):
        first = player.packets[track][since[track]]
        late = behind(first.time, rtp_time) / player.rates[track]
        check(0 <= behind(first.number, number, 16) <= 30, f"{name}, track {track}: begins with {first}, told {number}")
        check(0 <= late < 0.3, f"{name}, track {track}: begins {late:.3f} s behind what it was told")


def comes_later(first, second):
    """It begins with what is sent now, and its tracks are as much together as those of who was there before."""
    first.set_up()
    told = [play(first)]
    read_more(first, 30)
    second.set_up()
    told.append(play(second, Range="npt=now-"))
    read_more(second, 10)
    begins_where_it_was_told(second, told[1], (0, 0), "who comes later")
    players = (first, second)
    while not all(all(player.reports.values()) for player in players):
        for player in players:
            read_more(player, 1)
    for player, info in zip(players, told):
        reports_agree(player, info)


def another_place_is_now(first, second):
    """There is no seeking: the answer says `npt=now-`, and the packets go on as they were."""
    for text in "npt=5-", "npt=500-", "npt=0-3", "npt=now-":
        play(first, Range=text)
        read_more(first, 10)
    refused = first.ask("PLAY", Range="clock=19961108T142300Z-")
    check(refused.status == 457 and "npt=now-" in refused.fields.get("x-gopmill-problem", ""), f"a time of day: {refused}")
    read_more(first, 10)
    second.ask("OPTIONS")  # reads what has come
    for player in first, second:
        for track, packets in player.packets.items():
            nothing_is_missing(packets, f"track {track} beside PLAY of another place")


def one_pauses(first, second):
    """It gets nothing, another misses nothing; then it goes on with what is live, not with what it has missed."""
    before = lead(second)
    check(second.ask("PAUSE").status == 200, "PAUSE")
    paused = {track: len(packets) for track, packets in second.packets.items()}
    read_more(first, 45)
    second.ask("OPTIONS")
    came = {track: len(packets) - paused[track] for track, packets in second.packets.items()}
    check(max(came.values()) <= 2, f"packets of a paused player: {came}")
    for track, packets in first.packets.items():
        nothing_is_missing(packets, f"track {track} beside a paused player")
    goes_on(second, before, "who paused")


def goes_on(player, before, name):
    since = [len(packets) for packets in player.packets.values()]
    told = play(player)
    read_more(player, 20)
    begins_where_it_was_told(player, told, since, name)
    check(abs(lead(player) - before) < 0.2, f"{name}: pictures come {before - lead(player):.3f} s later than before")
    for track, packets in player.packets.items():
        nothing_is_missing(packets[since[track]:], f"track {track} of {name}")


def all_pause(server, *players):
    """The source goes on meanwhile; each of them comes back to what is live."""
    leads = [lead(player) for player in players]
    for player in players:
        check(player.ask("PAUSE").status == 200, "PAUSE")
    made = server.running()[0]["counts"]["frames_out"]
    wait_until(lambda: server.running()[0]["counts"]["frames_out"] > made + 30, 10, "the stream stands still beside paused players")
    for player, before in zip(players, leads):
        goes_on(player, before, f"who paused as all {len(players)} did")


def players_of_a_live_source(server, folder):
    publisher = Publisher(server, "cam", make_stream(folder, "cam.ts", 60))
    with Player(server, LIVE) as first, Player(server, LIVE) as second:
        comes_later(first, second)
        check(len(server.running()) == 1, f"{len(server.running())} streams for two equal players")
        another_place_is_now(first, second)
        one_pauses(first, second)
        all_pause(server, first, second)
        check(first.ask("TEARDOWN").status == 200, "TEARDOWN")
        read_more(second, 20)
        all_pause(server, second)
    wait_until(lambda: not server.running(), 10, "players have left and their stream goes on")
    publisher.kill()


def main():
    with tempfile.TemporaryDirectory() as folder:
        return run_on_rtsp([players_of_a_live_source], Server(folder, rtsp=True), folder)


if __name__ == "__main__":
    sys.exit(main())
