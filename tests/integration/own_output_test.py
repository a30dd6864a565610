#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sources that are fetched from the server itself: one that is its own source, two that are each other's. There are no pictures
in the round, and who asks for them hears of it; nothing grows, and others get what they ask for."""

import os
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import Server, check, free_port, make_stream, read_in_thread, run_all, wait_until  # noqa: E402

QUERY = "width=160&bitrate=100k&preset=ultrafast"
PATIENCE = 5
# Each is fetched from the one that stands behind it.
ROUND = {"self": "self", "there": "back", "back": "there"}
ROUNDS = 3


def start(folder, *flags):
    """The server has to be told its own port."""
    port = free_port()
    for name, of in ROUND.items():
        flags += ("--source", f"{name}=rtsp://127.0.0.1:{port}/live/{of}?{QUERY}")
    return Server(folder, *flags, rtsp=port)


def threads_of(server):
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


def attempts_at(server, name):
    return len([line for line in server.log if f"warning live {name}: rtsp://" in line])


def is_left(server, before):
    """What a round has left behind it: threads beyond those that come once and stay, and streams."""
    wait_until(lambda: not server.running(), 20, "a stream of nothing goes on")
    wait_until(lambda: threads_of(server) < before + 8, 20, f"{threads_of(server)} threads, {before} before")


def who_asks_hears_of_it(folder):
    """Again and again: what one time leaves, the next one adds to."""
    with start(folder) as server:
        check(server.port is not None, f"no server: {server.log}")
        before = threads_of(server)
        for time_round in range(ROUNDS):
            results = {name: {} for name in ROUND}
            readers = [read_in_thread(server, name, f"{QUERY}&container=ts", result) for name, result in results.items()]
            beside = server.get(f"/v1/transcode/a.mkv?{QUERY}&container=ts&duration=1")[0].status
            check(beside == 200, f"a movie beside them: {beside}")
            for reader in readers:
                reader.join()
            for name, result in results.items():
                check(result["status"] == 503, f"{name}, {time_round}: {result['status']} {result['body'][:200]}")
            is_left(server, before)
        for name in ROUND:
            check(1 <= attempts_at(server, name) <= 3 * ROUNDS, f"{attempts_at(server, name)} attempts at {name}")


def nobody_asks(folder):
    """Sources that are always fetched: each waits for the others, and so do the streams of each for pictures."""
    with start(folder, "--pull", "always") as server:
        check(server.port is not None, f"no server: {server.log}")
        before = threads_of(server)
        wait_until(lambda: all(attempts_at(server, name) for name in ROUND), 4 * PATIENCE, "sources that are always fetched")
        time.sleep(2 * PATIENCE)  # nothing may grow meanwhile; each attempt lasts as long as readers have patience
        check(threads_of(server) < before + 40, f"{threads_of(server)} threads, {before} before")
        check(len(server.running()) <= 2 * len(ROUND), f"{len(server.running())} streams of nothing")
        for name in ROUND:
            check(attempts_at(server, name) <= 8, f"{attempts_at(server, name)} attempts at {name}")


def main():
    os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = str(PATIENCE)
    with tempfile.TemporaryDirectory() as folder:
        make_stream(folder, "a.mkv", 2)
        with Server(folder, rtsp=True) as server:
            if server.port is None:
                print("".join(server.log))
                return 77 if "not built" in "".join(server.log) else 1
        return run_all([who_asks_hears_of_it, nobody_asks], folder)


if __name__ == "__main__":
    sys.exit(main())
