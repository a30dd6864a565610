#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Senders that nobody has announced: thousands of SSRCs in the packets and reports of one track. What they cost stays bounded, and
those who have a track go on."""

import os
import re
import socket
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from mock_camera import FPS, Camera  # noqa: E402
from rtsp_odd_publisher_test import QUERY, VIDEO, Sender, h264, published, read  # noqa: E402
from rtsp_player import Player  # noqa: E402
from served import Server, check, decode, read_in_thread, run_on_rtsp, wait_until  # noqa: E402

SSRCS = 3000
MOVIE = "sync-720p.mp4?width=160&height=90&bitrate=100k&preset=ultrafast&fps=30"
LIVE = "live/shared?width=160&height=90&bitrate=100k&preset=ultrafast"


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


def two_sockets():
    """Of UDP, with ports beside each other."""
    while True:
        near = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        near[0].bind(("127.0.0.1", 0))
        try:
            near[1].bind(("127.0.0.1", near[0].getsockname()[1] + 1))
            return near
        except (OSError, OverflowError):
            for each in near:
                each.close()


class UdpPlayer(Player):
    """The first track, by UDP."""

    def set_up_first(self):
        self.near = two_sockets()
        port = self.near[0].getsockname()[1]
        described = self.ask("DESCRIBE", Accept="application/sdp")
        self.url = described.fields["content-base"]
        answer = self.ask("SETUP", self.url.rstrip("/") + "/stream=0", Transport=f"RTP/AVP;unicast;client_port={port}-{port + 1}")
        found = re.search(r"server_port=\d+-(\d+).*ssrc=([0-9A-F]+)", answer.fields.get("transport", ""))
        check(found is not None, f"SETUP by UDP: {answer}")
        self.far, self.ssrc = ("127.0.0.1", int(found[1])), int(found[2], 16)

    def report(self, packet):
        self.near[1].sendto(packet, self.far)

    def __exit__(self, *_):
        super().__exit__()
        for near in self.near:
            near.close()


def receiver_report(ssrc):
    return struct.pack(">BBHI", 0x80, 201, 1, ssrc)


def players_report_in_many_names(server):
    """Of each, a session keeps some kilobytes, for longer the more there are, and of a sender's report more."""
    with Player(server, MOVIE) as player:
        player.set_up()
        check(player.ask("PLAY", Range="npt=0-").status == 200, "PLAY")
        before = server.resident_kib()
        for second in range(15):  # in which the server takes 64 KiB
            end = time.monotonic() + 1
            for number in range(2000):
                report = sender_report(2000 * second + number)
                player.socket.sendall(b"$\1" + len(report).to_bytes(2, "big") + report)
            player.read_until(lambda end=end: time.monotonic() > end)
        grown = server.resident_kib() - before
        check(grown < 25 * 1024, f"reports of 30,000 senders cost {grown} KiB")
        check(player.ask("GET_PARAMETER").status == 200, "an answer behind reports")
        player.ask("TEARDOWN")


def a_peer_reports_in_many_names(_):
    """One that is fetched from, over TCP; by UDP anybody could."""
    camera, seconds = Camera(strangers=70), 12
    with tempfile.TemporaryDirectory() as folder, Server(folder, "--source", f"peer={camera.url()}", rtsp=True) as server:
        result = {}
        reader = read_in_thread(server, "peer", f"{QUERY}&duration={seconds}", result)
        wait_until(lambda: server.live("peer")["counts"].get("packets", 0) > 2 * FPS, 20, "its pictures")
        before = server.resident_kib()
        reader.join()
        grown = server.resident_kib() - before
        check(grown < 20 * 1024, f"reports of {70 * FPS} senders a second cost {grown} KiB")
        check(server.live("peer")["counts"]["publishers"] == 1, "it is fetched once")
        frames = int(decode(result["body"])["video"]["nb_read_frames"])
        check(frames == seconds * FPS, f"{frames} pictures of {seconds} s")


def one_player_does_not_end_another(server):
    """By a report under the server's own SSRC, which would be taken for a collision: the server leaves that SSRC."""
    with published(server, "shared", [VIDEO]) as publisher:
        sending = threading.Thread(target=Sender(publisher, h264()).send, args=(12 * FPS,))
        sending.start()
        with UdpPlayer(server, LIVE) as wild, Player(server, LIVE) as other:
            wild.set_up_first()
            other.set_up()
            for player in wild, other:
                check(player.ask("PLAY").status == 200, "PLAY")
            for kind in receiver_report, sender_report:
                wild.report(kind(wild.ssrc))
            other.read_until(lambda: len(other.packets[0]) > 5 * FPS)
            check(not other.byes, "another player was told that the stream has ended")
        sending.join()


def reports_of_a_player_keep_it(_):
    """They are all that it says; somebody else reports in many names before."""
    os.environ["GOPMILL_RTSP_SESSION_TIMEOUT_SECONDS"] = "5"
    seconds = 5 + 5 + 3  # the library waits for five more
    with Server(rtsp=True) as server, published(server, "shared", [VIDEO]) as publisher:
        sender, enough = Sender(publisher, h264()), threading.Event()

        def send():
            while not enough.is_set():
                sender.send(FPS)

        sending = threading.Thread(target=send)
        sending.start()
        with UdpPlayer(server, LIVE) as player, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as liar:
            player.set_up_first()
            check(player.ask("PLAY").status == 200, "PLAY")
            liar.bind(("127.0.0.2", 0))
            for number in range(5000):
                liar.sendto(receiver_report(10_000 + number), player.far)
                if number % 50 == 0:
                    time.sleep(0.01)
            for _ in range(seconds):
                player.report(receiver_report(7))
                time.sleep(1)
            player.near[0].setblocking(False)
            packets_of(player)  # that have come so far
            wait_until(lambda: packets_of(player) > 0, 2, "its session has ended")
        enough.set()
        sending.join()
    del os.environ["GOPMILL_RTSP_SESSION_TIMEOUT_SECONDS"]


def packets_of(player):
    """How many of RTP have come since the last look."""
    count = 0
    try:
        while player.near[0].recv(2000):
            count += 1
    except BlockingIOError:
        return count


def main():
    os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "5"
    os.environ["GOPMILL_RTSP_PUBLISHER_TIMEOUT_SECONDS"] = "4"
    return run_on_rtsp([names_without_end, players_report_in_many_names, a_peer_reports_in_many_names, one_player_does_not_end_another,
                        reports_of_a_player_keep_it], Server(rtsp=True))


if __name__ == "__main__":
    sys.exit(main())
