#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Publishers by RTSP whose packets are none that an encoder makes: times and sequence numbers of RTP, payloads of other codecs,
pieces of nothing, and numbers in the SDP of a peer. The server lives, and counts."""

import re
import socket
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from rtsp_recorded import Publisher, lives, lost_packets, on_recorded, renumbered, rtp  # noqa: E402
from served import Server, check, run_all, run_on_rtsp, wait_until  # noqa: E402

SDP_OF_A_PEER = ("v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 VP8/90000\r\na=control:0\r\n"
                 "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 L16/44100/200\r\na=control:1\r\n")


def pictures_hours_apart(server, recorded):
    """A rate that is not stated is measured by times."""
    for step in (189_000_000, 2**31 - 1, 2**31, 5_500_000, 0):
        with Publisher(server, "hours") as publisher:
            check(publisher.begin([recorded["VP8"].lines]), f"a step of {step}: not taken")
            for packet in renumbered(recorded["VP8"].packets, step):
                publisher.send(packet)
            if not step:  # nothing wild: it has its rate
                wait_until(lambda: server.live("hours")["counts"]["packets"] > 10, 10, "packets")
            time.sleep(0.3)
            publisher.ask("TEARDOWN", publisher.url)
        if not lives(server, f"a step of {step}"):
            return
        wait_until(lambda: not server.live("hours")["publishing"], 10, "the publisher has the name")


def packets_that_never_come(server, recorded):
    """Are counted, over TCP as well, where a sender left them out; whatever is sent before RECORD, and how often that is said."""
    for udp in (False, True):
        for records, early in ((1, False), (5, False), (1, True)):
            before = lost_packets(server)
            with Publisher(server, "gap") as publisher:
                medias = [recorded["VP8"].lines]
                taken = " 200 " in publisher.announce(medias).split("\r\n")[0] and publisher.set_up(1, udp)
                packets = renumbered(recorded["VP8"].packets, 6000)
                if early:
                    for number in (0, 1, 3, 4, 9):
                        publisher.send(packets[number])
                    time.sleep(0.4)
                taken = taken and all(publisher.record() for _ in range(records))
                check(taken, f"gap, udp {udp}: not taken")
                sent = [packet for number, packet in enumerate(packets) if number not in (15, 22, 23)]
                for packet in sent:
                    publisher.send(packet)
                    time.sleep(0.002)
                time.sleep(1)
                counted = lost_packets(server) - before
                check(early or counted == 3, f"gap, udp {udp}, {records} times RECORD: {counted} of 3 lost packets are counted")
                publisher.ask("TEARDOWN", publisher.url)
            if not lives(server, f"gap, udp {udp}, early {early}"):
                return
            wait_until(lambda: not server.live("gap")["publishing"], 10, "the publisher has the name")


def numbers_beyond_their_bounds(server, recorded):
    """Get an answer that names them, before anything is made."""
    for sound in ("L16/44100/200", "L16/44100/65", "L16/44100/0", "OPUS/48000/2147483647", "L16/2147483647/2", "PCMU/1/1"):
        with Publisher(server, "numbers") as publisher:
            answer = publisher.announce([recorded["VP8"].lines, ["m=audio 0 RTP/AVP 97", f"a=rtpmap:97 {sound}"]])
            check(answer.startswith("RTSP/1.0 400 ") and "X-Gopmill-Problem: A stream's " in answer, f"{sound}: {answer[:200]!r}")
    check(not server.live("numbers")["publishing"], "a refused publisher holds a name")


def numbers_of_a_peer(folder):
    """That the server fetches from are bounded as well: its sound is left out, its pictures are taken."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)
        with Server(folder, "--source", f"peer=rtsp://127.0.0.1:{listener.getsockname()[1]}/x", "--pull", "always", rtsp=True) as server:
            peer, _ = listener.accept()
            with peer:
                peer.settimeout(10)
                asked = ""
                while not asked.startswith("DESCRIBE"):
                    asked = peer.recv(65536).decode()
                    sdp = SDP_OF_A_PEER if asked.startswith("DESCRIBE") else ""
                    number = re.search(r"CSeq: (\d+)", asked)[1]
                    peer.sendall(f"RTSP/1.0 200 OK\r\nCSeq: {number}\r\nPublic: OPTIONS, DESCRIBE, SETUP, PLAY\r\n"
                                 f"Content-Type: application/sdp\r\nContent-Length: {len(sdp)}\r\n\r\n{sdp}".encode())
                asked = peer.recv(65536).decode()
                check(asked.startswith("SETUP"), f"a peer with wild sound is asked {asked[:100]!r}")
                number = re.search(r"CSeq: (\d+)", asked)[1]
                peer.sendall(f"RTSP/1.0 200 OK\r\nCSeq: {number}\r\nSession: 1\r\n"
                             "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n\r\n".encode())
                asked = peer.recv(65536).decode()
                check(asked.startswith("PLAY"), f"a peer with wild sound is asked {asked[:100]!r} after the SETUP of its pictures")
            lives(server, "the numbers of a peer")


def packets_of_another_format(server, recorded):
    """A publisher may send any format that its description lists."""
    l16 = recorded["L16"]
    with Publisher(server, "formats") as publisher:
        lines = ["m=audio 0 RTP/AVP 97 98 99", "a=rtpmap:97 L16/44100/2", "a=rtpmap:98 L16/48000/8", "a=rtpmap:99 VP8/90000"]
        check(publisher.begin([recorded["VP8"].lines, lines]), "several formats: not taken")
        try:
            for number, packet in enumerate(renumbered(recorded["VP8"].packets, 6000)):
                publisher.send(packet)
                publisher.send(rtp(l16.packets[number % len(l16.packets)], number=number, payload=97 + number % 3), 2)
        except OSError:
            pass  # cut off: well
        time.sleep(0.3)
    lives(server, "another format")
    wait_until(lambda: not server.live("formats")["publishing"], 10, "the publisher has the name")


def payloads_that_lie(server, recorded):
    """Units of no bytes, tables that are not there, and a packet of none between the pieces of a unit."""
    aac, jpeg = recorded["MPEG4-GENERIC"], recorded["JPEG"]
    with Publisher(server, "lies") as publisher:
        check(publisher.begin([jpeg.lines, aac.lines]), "lies: not taken")
        try:
            for number, packet in enumerate(jpeg.packets):
                publisher.send(packet)
                publisher.send(rtp(aac.packets[0], number=number, marker=True)[:12] + b"\0\x10\0\0" + b"x" * 8, 2)
            head = rtp(jpeg.packets[0], number=len(jpeg.packets), marker=True)[:12]
            for table in (b"\0\0\0\1x", b"\0\3\0\x40" + b"x" * 64, b"\0\0\0\0"):
                publisher.send(head + b"\0\0\0\0\1\xff\x0c\x08" + table)
        except OSError:
            pass
        time.sleep(0.3)
    lives(server, "payloads that lie")
    wait_until(lambda: not server.live("lies")["publishing"], 10, "the publisher has the name")


def pieces_of_nothing(server, recorded):
    """Between and among the pieces of a unit of H.264 and of HEVC."""
    for codec, piece in (("H264", lambda bits: bytes([0x7c, bits | 5])), ("H265", lambda bits: bytes([0x62, 1, bits | 19]))):
        for empty in b"", piece(0), piece(0)[:-1]:
            with Publisher(server, "pieces") as publisher:
                check(publisher.begin([recorded[codec].lines]), f"{codec}: not taken")
                base = recorded[codec].packets[0]
                for number, payload in enumerate([piece(0x80) + b"x" * 50, empty, piece(0) + b"x" * 50, b"\x41\x9a" + b"x" * 50] * 3):
                    publisher.send(rtp(base, number=number, marker=False)[:12] + payload)
                time.sleep(0.3)
            if not lives(server, f"{codec}: a piece of {empty}"):
                return
            wait_until(lambda: not server.live("pieces")["publishing"], 10, "the publisher has the name")


def main():
    def run(server, recorded, folder):
        run_all([numbers_of_a_peer], folder)
        return run_on_rtsp([pictures_hours_apart, packets_that_never_come, numbers_beyond_their_bounds, packets_of_another_format,
                            payloads_that_lie, pieces_of_nothing], server, recorded)

    return on_recorded(run)


if __name__ == "__main__":
    sys.exit(main())
