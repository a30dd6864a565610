#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Senders that nobody has announced: thousands of SSRCs in the packets and reports of one track. What they cost stays bounded, and
those who have a track go on."""

import os
import re
import struct
import sys
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from mock_camera import FPS  # noqa: E402
from rtsp_odd_publisher_test import VIDEO, Sender, h264, published, read  # noqa: E402
from served import Server, check, decode, run_on_rtsp  # noqa: E402

SSRCS = 3000


def threads_of(server):
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"^Threads:\s+(\d+)", status, re.M)[1])


def sender_report(ssrc):
    return struct.pack(">BBHIQIII", 0x80, 200, 6, ssrc, 0, 0, 0, 0)


def packet_of(ssrc, number):
    return struct.pack(">BBHII", 0x80, 96 | 0x80, number, number, ssrc) + b"\x41\x9a" + bytes(50)


def flood(publisher, pause):
    """Two packets of each make a sender of it. `pause` after some, for a socket that holds so many."""
    for number in range(SSRCS):
        for twice in range(2):
            publisher.send(packet_of(100_000 + number, twice))
        if number % 50 == 0:
            time.sleep(pause)
    for number in range(SSRCS):
        publisher.send(sender_report(200_000 + number), 1)
        if number % 50 == 0:
            time.sleep(0.025)  # of reports no more than some kilobytes a second are taken


def names_without_end(server):
    """Each sender would get a jitter buffer with threads of its own, and a process that gets none is ended by GLib."""
    for udp in False, True:
        name, beside = f"flood{int(udp)}", f"beside{int(udp)}"
        reader, result = read(server, beside, 6)
        with published(server, beside, [VIDEO]) as neighbour:
            sending = threading.Thread(target=Sender(neighbour, h264()).send, args=(7 * FPS,))
            sending.start()
            with published(server, name, [VIDEO], udp) as publisher:
                Sender(publisher, h264()).send(FPS)
                before = threads_of(server)
                flood(publisher, 0.01 if udp else 0)
                check(" 200 " in publisher.ask("OPTIONS", publisher.url)[:20], f"{name}: an answer behind the flood")
                most = threads_of(server)
                check(most <= before + 20, f"{name}: {SSRCS} SSRCs make {most} threads of {before}")
                publisher.ask("TEARDOWN", publisher.url)
            sending.join()
        reader.join()
        frames = int(decode(result["body"])["video"]["nb_read_frames"])
        check(abs(frames - 6 * FPS) <= 2, f"{beside}: {frames} pictures of 6 s beside a flood")


def main():
    os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "5"
    os.environ["GOPMILL_RTSP_PUBLISHER_TIMEOUT_SECONDS"] = "4"
    return run_on_rtsp([names_without_end], Server(rtsp=True))


if __name__ == "__main__":
    sys.exit(main())
