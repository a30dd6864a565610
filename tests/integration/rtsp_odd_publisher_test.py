#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Publishers by RTSP with habits that some cameras, relays and networks have: packets from another port and nothing but packets,
packets that no network carries whole, no ports of their own, a clock that is set back, sound that never comes to an end. Readers
see one stream of pictures."""

import os
import re
import socket
import struct
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from mock_camera import FPS, fragments, pictures  # noqa: E402
from rtsp_recorded import Publisher, Recorded, stamp_of  # noqa: E402
from served import Server, check, decode, read_in_thread, run_on_rtsp, wait_until  # noqa: E402

QUERY = "width=160&bitrate=100k&preset=ultrafast&container=ts"
VIDEO = ["m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000", "a=fmtp:96 packetization-mode=1"]
LATM = ["m=audio 0 RTP/AVP 97", "a=rtpmap:97 MP4A-LATM/16000", "a=fmtp:97 cpresent=0;config=40002810"]
PCMU = ["m=audio 0 RTP/AVP 0"]
SESSION_SECONDS = 5


def h264():
    return [fragments(units) for units in pictures(2 * FPS)]


def coded(recorded):
    """Its pictures as payloads, each with whether it is the last."""
    by_stamp = {}
    for packet in recorded.packets:
        by_stamp.setdefault(stamp_of(packet), []).append((packet[1] >= 0x80, packet[12:]))
    return list(by_stamp.values())


class Sender:
    """Pictures at their pace, again and again; `number` is that of the next."""

    def __init__(self, publisher, coded_pictures):
        self.publisher, self.pictures, self.number, self.sequence = publisher, coded_pictures, 0, 0
        self.begin, self.ssrc = time.monotonic(), 7

    def send(self, count, shift=0):
        for _ in range(count):
            stamp = (self.number * 90000 // FPS + shift) % 2**32
            for last, payload in self.pictures[self.number % len(self.pictures)]:
                self.sequence = (self.sequence + 1) % 2**16
                head = struct.pack(">BBHII", 0x80, 96 | (0x80 if last else 0), self.sequence, stamp, self.ssrc)
                self.publisher.send(head + payload)
            self.number += 1
            time.sleep(max(0, self.begin + self.number / FPS - time.monotonic()))


def published(server, name, medias, udp=False):
    publisher = Publisher(server, name)
    check(publisher.begin(medias, udp), f"{name} may publish")
    return publisher


def read(server, name, seconds):
    result = {}
    reader = read_in_thread(server, name, f"{QUERY}&duration={seconds}", result)
    wait_until(lambda: server.live(name)["readers"] == 1, 10, f"{name}: a reader that waits")
    return reader, result


def nothing_but_packets(server, _):
    """By UDP, from a port that it has not told of, without a report or a request: its session lasts as long as it sends."""
    seconds = 2 * SESSION_SECONDS + 3  # the library waits for five more
    reader, result = read(server, "quiet", seconds)
    with published(server, "quiet", [VIDEO], udp=True) as publisher:
        Sender(publisher, h264()).send((seconds + 1) * FPS)
        live = server.live("quiet")
        check(live["publishing"] and live["counts"]["publishers"] == 1, f"it was cut while it sent: {live}")
        check(" 200 " in publisher.ask("TEARDOWN", publisher.url)[:20], "its session is there")
    reader.join()
    frames = int(decode(result["body"])["video"]["nb_read_frames"])
    check(abs(frames - seconds * FPS) <= 2, f"{frames} pictures of {seconds} s")


def whole_units(units):
    """One packet for each NAL unit, whatever its size; beside a key picture one that fills 50 kB."""
    filler = [b"\x0c" + b"\xff" * 50_000 + b"\x80"] if len(units) > 1 else []
    return [(unit is units[-1], unit) for unit in [*units[:-1], *filler, units[-1]]]


def packets_that_are_too_large(server, _):
    """For a network, which takes a datagram apart, and for who reads 1500 bytes of each."""
    large = [whole_units(units) for units in pictures(2 * FPS)]
    for udp in True, False:
        name = f"large{int(udp)}"
        reader, result = read(server, name, 2)
        with published(server, name, [VIDEO], udp) as publisher:
            Sender(publisher, large).send(3 * FPS)
            counts = server.live(name)["counts"]
            publisher.ask("TEARDOWN", publisher.url)
        reader.join()
        check(counts["packets_lost"] == 0 and counts["bytes"] > 2 * 50_000, f"{name}: {counts}")
        check(int(decode(result["body"])["video"]["nb_read_frames"]) == 2 * FPS, f"{name}: not two seconds")


def ports_of_zero(server, _):
    """GStreamer's client says so where it only sends. It is not refused, and nothing is sent to that port."""
    reader, result = read(server, "zero", 2)
    with Publisher(server, "zero") as publisher:
        check(" 200 " in publisher.announce([VIDEO])[:20], "it may publish")
        answer = publisher.ask("SETUP", f"{publisher.url}/streamid=0", "Transport: RTP/AVP/UDP;unicast;client_port=0-0;mode=RECORD\r\n")
        ports = re.search(r"server_port=(\d+)-", answer)
        check(ports is not None and publisher.record(), f"it is refused: {answer[:200]!r}")
        publisher.targets[0] = int(ports[1])
        Sender(publisher, h264()).send(3 * FPS)
        publisher.ask("TEARDOWN", publisher.url)
    reader.join()
    check(int(decode(result["body"])["video"]["nb_read_frames"]) == 2 * FPS, "not two seconds")


def one_that_leaves_is_forgotten(server, _):
    """Its connection stays, its packets do not."""
    with published(server, "left", [VIDEO], udp=True) as publisher:
        Sender(publisher, h264()).send(FPS)
        wait_until(lambda: not server.live("left")["publishing"], 15, "a publisher that has left")
        check(publisher.socket.recv(1) == b"", "its connection ends")


def a_clock_that_is_set_back(server, folder):
    """An hour, and minutes later again; the sequence goes on. VP8 has no parser that makes up times."""
    vp8 = Recorded(folder, "VP8")
    medias = [f"m=video 0 RTP/AVP {vp8.payload}", *vp8.lines[1:]]
    check(vp8.payload == 96, f"payload type {vp8.payload}")
    for udp in False, True:
        name = f"back{int(udp)}"
        reader, result = read(server, name, 5)
        with published(server, name, [medias], udp) as publisher:
            sender, shift = Sender(publisher, coded(vp8)), 0
            for back in 0, 3600, 300:
                shift -= back * 90000
                sender.send(2 * FPS, shift)
            publisher.ask("TEARDOWN", publisher.url)
        reader.join()
        frames = int(decode(result["body"])["video"]["nb_read_frames"])
        check(abs(frames - 5 * FPS) <= 2, f"{name}: {frames} pictures of 5 s")


def sound_without_end(server, _):
    """Nothing of it is ever whole: the pictures go on without it."""
    reader, result = read(server, "endless", 4)
    with published(server, "endless", [VIDEO, LATM]) as publisher:
        sender, before = Sender(publisher, h264()), server.resident_kib()
        for number in range(5 * FPS):
            for part in range(10):
                head = struct.pack(">BBHII", 0x80, 97, (10 * number + part) % 2**16, number * 16000 // FPS, 8)
                publisher.send(head + bytes(60000), 2)
            sender.send(1)
        grown = server.resident_kib() - before
        publisher.ask("TEARDOWN", publisher.url)
    reader.join()
    check(grown < 100 * 1024, f"it takes {grown} KiB")
    frames = int(decode(result["body"])["video"]["nb_read_frames"])
    check(abs(frames - 4 * FPS) <= 2, f"{frames} pictures of 4 s")


def an_encoder_that_begins_anew(server, _):
    """Under another SSRC, while its sound goes on: it is cut, and the pictures go on when it comes again."""
    for udp in False, True:
        name = f"anew{int(udp)}"
        reader, result = read(server, name, 4)
        with published(server, name, [VIDEO, PCMU], udp) as publisher:
            sender, begin = Sender(publisher, h264()), time.monotonic()
            for number in range(30 * FPS):
                head = struct.pack(">BBHII", 0x80, 0, number, number * 8000 // FPS, 8)
                sender.ssrc = 7 if number < 2 * FPS else 9
                try:
                    publisher.send(head + bytes([0xff]) * (8000 // FPS), 2)
                    sender.send(1)
                except OSError:
                    break  # cut
                if number > 2 * FPS and not server.live(name)["publishing"]:
                    break
            took = time.monotonic() - begin
            check(took < 2 + 4 + 6, f"{name}: after {took:.1f} s nobody has noticed that its pictures have stopped")
        wait_until(lambda name=name: not server.live(name)["publishing"], 10, f"{name}: its name is free")
        with published(server, name, [VIDEO, PCMU], udp) as publisher:
            Sender(publisher, h264()).send(4 * FPS)
            publisher.ask("TEARDOWN", publisher.url)
        reader.join()
        frames = int(decode(result["body"])["video"]["nb_read_frames"])
        check(abs(frames - 4 * FPS) <= 3, f"{name}: {frames} pictures of 4 s")


def sender_report(ssrc):
    return struct.pack(">BBHIQIII", 0x80, 200, 6, ssrc, 0, 0, 0, 0)


def one_sender_after_the_other(server, _):
    """On one connection, each with a clock of its own: once one has said that it leaves (BYE) the next one is heard."""
    for udp in False, True:
        name = f"next{int(udp)}"
        reader, result = read(server, name, 5)
        with published(server, name, [VIDEO], udp) as publisher:
            sender = Sender(publisher, h264())
            for sender.ssrc, shift in (7, 0), (9, 2**30), (11, 5000):
                sender.send(2 * FPS, shift)
                publisher.send(sender_report(sender.ssrc) + struct.pack(">BBHI", 0x81, 203, 1, sender.ssrc), 1)
                time.sleep(0.1)  # packets may overtake reports
            live = server.live(name)
            check(live["publishing"] and live["counts"]["publishers"] == 1, f"{name}: it was cut while it sent: {live}")
            publisher.ask("TEARDOWN", publisher.url)
        reader.join()
        frames = int(decode(result["body"])["video"]["nb_read_frames"])
        check(abs(frames - 5 * FPS) <= 2, f"{name}: {frames} pictures of 5 s")


def reports_in_another_name(server, _):
    """Before its packets, and then again: it is heard."""
    for udp in False, True:
        name = f"alias{int(udp)}"
        reader, result = read(server, name, 2)
        with published(server, name, [VIDEO], udp) as publisher:
            publisher.send(sender_report(4711), 1)
            time.sleep(0.3)  # it is no race
            sender = Sender(publisher, h264())
            for _ in range(3):
                sender.send(FPS)
                publisher.send(sender_report(4711), 1)
            publisher.ask("TEARDOWN", publisher.url)
        reader.join()
        frames = int(decode(result["body"])["video"]["nb_read_frames"])
        check(abs(frames - 2 * FPS) <= 2, f"{name}: {frames} pictures of 2 s")


def a_stranger_s_packets(server, _):
    """From another socket, to the port of one who publishes: they go nowhere."""
    reader, result = read(server, "strange", 4)
    with published(server, "strange", [VIDEO], udp=True) as publisher:
        sender = Sender(publisher, h264())
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for number in range(10):
                sender.send(FPS // 2)
                packet = struct.pack(">BBHII", 0x80, 96, number, 3000 * number, 4711) + b"\x41\x9a" + bytes(50)
                stranger.sendto(packet, ("127.0.0.1", publisher.targets[0]))
        publisher.ask("TEARDOWN", publisher.url)
    reader.join()
    frames = int(decode(result["body"])["video"]["nb_read_frames"])
    check(abs(frames - 4 * FPS) <= 2, f"{frames} pictures of 4 s beside a stranger's")


def main():
    os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "5"
    os.environ["GOPMILL_RTSP_PUBLISHER_TIMEOUT_SECONDS"] = "4"
    os.environ["GOPMILL_RTSP_SESSION_TIMEOUT_SECONDS"] = str(SESSION_SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        tests = [nothing_but_packets, packets_that_are_too_large, ports_of_zero, one_that_leaves_is_forgotten, a_clock_that_is_set_back,
                 sound_without_end, a_stranger_s_packets, an_encoder_that_begins_anew,
                 one_sender_after_the_other, reports_in_another_name]
        return run_on_rtsp(tests, Server(folder, rtsp=True), folder)


if __name__ == "__main__":
    sys.exit(main())
