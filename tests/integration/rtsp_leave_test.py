#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""RTSP players that leave while they wait for a live source: nothing of them stays, and who waits beside them waits on."""

import os
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from live_test import Publisher  # noqa: E402
from rtsp_player import Player  # noqa: E402
from served import Server, check, make_stream, run_on_rtsp, wait_until  # noqa: E402

SMALL = "height=90&bitrate=100k&preset=ultrafast&width="
WIDTHS = (160, 176, 192, 208, 224)
PLAYERS = 100


def threads(server):
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


def ask(server, name, width):
    """A player that has asked and waits."""
    player = Player(server, f"live/{name}?{SMALL}{width}")
    player.socket.sendall(f"DESCRIBE {player.url} RTSP/1.0\r\nCSeq: 1\r\n\r\n".encode())
    return player


def players_that_do_not_wait(server, _):
    before = threads(server)
    players = [ask(server, "none", WIDTHS[number % len(WIDTHS)]) for number in range(PLAYERS)]
    wait_until(lambda: len(server.running()) == len(WIDTHS), 20, f"{len(WIDTHS)} streams wait")
    wait_until(lambda: threads(server) > before + PLAYERS / 2, 20, "the players wait")
    for player in players:
        player.socket.close()
    wait_until(lambda: not server.running(), 10, f"{len(server.running())} streams of players that have left")
    wait_until(lambda: threads(server) <= before + 2, 10, f"{threads(server)} threads, {before} before")


def one_of_two_that_wait(server, folder):
    """The one that leaves is the one that the other has been waiting for."""
    first = ask(server, "late", WIDTHS[0])
    wait_until(lambda: len(server.running()) == 1, 20, "the first waits")
    waiting = server.running()[0]["id"]
    second = ask(server, "late", WIDTHS[0])
    other = ask(server, "late", WIDTHS[1])
    wait_until(lambda: len(server.running()) == 2, 20, "the others have come")
    first.socket.close()
    wait_until(lambda: waiting not in [s["id"] for s in server.running()], 10, "the first has left")
    publisher = Publisher(server, "late", make_stream(folder, "late.ts", 30))
    for name, player in (("second", second), ("other", other)):
        with player:
            answer = player.next_item()
            check(answer.status == 200 and "m=video" in answer.body, f"the {name} player: {answer}")
    publisher.kill()


def main():
    os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "60"
    with tempfile.TemporaryDirectory() as folder:
        return run_on_rtsp([players_that_do_not_wait, one_of_two_that_wait], Server(rtsp=True), folder)


if __name__ == "__main__":
    sys.exit(main())
