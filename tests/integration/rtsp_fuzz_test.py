#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Garbage where a server of RTSP looks deepest: in the session of a publisher, in `Authorization` where there are users, and in
tunnels through HTTP. Each gets a status or loses its connection; a player beside them misses nothing."""

import base64
import os
import random
import socket
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from rtsp_player import Player  # noqa: E402
from rtsp_protocol_test import MOVIE, answer_to, bad_values, nothing_is_missing, send_alone  # noqa: E402
from rtsp_publish_test import SDP  # noqa: E402
from served import Server, check, run_all, run_on_rtsp, wait_until  # noqa: E402

RECORD = "RTP/AVP/TCP;unicast;interleaved=0-1;mode=record"
WORDS = base64.b64encode(b"bob:eyes").decode()
DIGEST = 'Digest username="bob", realm="gopmill", nonce="0", uri="rtsp://x/", response="0123456789abcdef0123456789abcdef"'


def raw(method, url, fields, body=b""):
    """`fields`: pairs of a name and bytes."""
    lines = [f"{method} {url} RTSP/1.0\r\n".encode(), b"CSeq: 1\r\n", *(b"%s: %s\r\n" % (name.encode(), value) for name, value in fields)]
    return b"".join(lines) + (b"Content-Length: %d\r\n" % len(body) if body else b"") + b"\r\n" + body


def bad_descriptions(seed):
    for _ in range(25):
        mangled = bytearray(SDP.encode())
        for _ in range(4):
            mangled[seed.randrange(len(mangled))] = seed.randrange(256)
        yield bytes(mangled[:seed.randrange(20, len(mangled))])


def publisher_at(server, stage):
    """A connection that has announced (1) and set up (2)."""
    player = Player(server, "live/fuzz", timeout=4)
    player.socket.sendall(raw("ANNOUNCE", player.url, [("Content-Type", b"application/sdp")], SDP.encode()))
    answer = player.next_item()
    check(answer.status == 200, f"ANNOUNCE: {answer}")
    if stage > 1:
        answer = player.ask("SETUP", player.url + "/streamid=0", Transport=RECORD)
        check(answer.status == 200, f"SETUP of a publisher: {answer}")
    return player


def garbage_of_a_publisher(server, seed, neighbour):
    statuses = []

    def ask(stage, request):
        wait_until(lambda: not server.live("fuzz")["publishing"], 10, "the publisher before has the name")
        with publisher_at(server, stage) as publisher:
            session = [("Session", publisher.session.encode())] if publisher.session else []
            statuses.append(answer_to(publisher, request(publisher, session)))
        neighbour.ask("OPTIONS")
        check(server.process.poll() is None, "the server has gone")

    for value in bad_values(RECORD, seed):
        ask(1, lambda p, _, value=value: raw("SETUP", p.url + "/streamid=0", [("Transport", value)]))
    for value in bad_values("npt=0-", seed):
        ask(2, lambda p, session, value=value: raw("RECORD", p.url, [*session, ("Range", value)]))
    for sdp in bad_descriptions(seed):
        ask(1, lambda p, session, sdp=sdp: raw("ANNOUNCE", p.url, [*session, ("Content-Type", b"application/sdp")], sdp))
    print({status: statuses.count(status) for status in sorted(set(statuses))}, flush=True)
    wait_until(lambda: not server.live("fuzz")["publishing"], 15, "garbage of a publisher holds a name")


def garbage_in_tunnels(server, seed, neighbour):
    """A GET without its POST, a POST without its GET, and base64 that is none."""
    def half(method, cookie):
        fields = "Accept: application/x-rtsp-tunnelled" if method == "GET" else "Content-Type: application/x-rtsp-tunnelled\r\nContent-Length: 32767"
        return f"{method} /x HTTP/1.0\r\nx-sessioncookie: {cookie}\r\n{fields}\r\n\r\n"
    request = base64.b64encode(raw("OPTIONS", server.url("x"), []))
    for number, body in enumerate((b"", b"=", b"====", b"\xff" * 100, request[:-5], request, b"A" * 40000, seed.randbytes(2000))):
        with socket.create_connection(("127.0.0.1", server.rtsp_port), timeout=10) as get, \
                socket.create_connection(("127.0.0.1", server.rtsp_port), timeout=10) as post:
            get.sendall(half("GET", number).encode())
            check(get.recv(4096).startswith(b"HTTP/1.0 200"), "the answer to the GET of a tunnel")
            post.sendall(half("POST", number).encode() + body)
            post.shutdown(socket.SHUT_WR)
        neighbour.ask("OPTIONS")
    for method in "GET", "POST":
        for value in bad_values("12345", seed):
            cookie = value.decode(errors="replace").replace("\0", "")
            leave(server, half(method, cookie))
            check(server.process.poll() is None, f"{method} with {cookie[:30]!r}: the server has gone")
    neighbour.ask("OPTIONS")


def leave(server, request):
    with socket.create_connection(("127.0.0.1", server.rtsp_port), timeout=10) as client:
        client.sendall(request.encode(errors="replace"))


def a_player_misses_nothing(server):
    for garbage in garbage_of_a_publisher, garbage_in_tunnels:
        with Player(server, MOVIE.replace("sync-720p.mp4", "ref-street.mpg")) as neighbour:
            neighbour.set_up()
            neighbour.ask("PLAY", Range="npt=0-")
            garbage(server, random.Random(5), neighbour)
            seen = len(neighbour.packets[0])
            neighbour.read_until(lambda seen=seen, player=neighbour: len(player.packets[0]) > seen + 20)
            for track, packets in neighbour.packets.items():
                nothing_is_missing(packets, f"track {track} beside {garbage.__name__}")
            neighbour.ask("TEARDOWN")
    wait_until(lambda: not server.running(), 15, "garbage has left streams")


def garbage_of_users(folder):
    """Only who says the right words gets in."""
    os.environ["GOPMILL_AUTH_USERS"] = "bob:eyes:read"
    seed = random.Random(9)
    with Server(folder, rtsp=True) as server:
        url = server.url("none.mp4")
        for good in f"Basic {WORDS}", DIGEST, "Basic", "Digest", "Bearer eyes", "Basic " + "A" * 3000, 'Digest username="bob', 'Digest ,=,"=,':
            for value in [good.encode(), *bad_values(good, seed)]:
                answer = send_alone(server, raw("DESCRIBE", url, [("Authorization", value)]))
                let_in = b" 404 " in answer.split(b"\r\n")[0]
                check(not let_in or WORDS.encode() in value, f"{value[:60]!r}: {answer[:60]!r}")
                check(server.process.poll() is None, f"{value[:60]!r}: the server has gone")
        check(b" 404 " in send_alone(server, raw("DESCRIBE", url, [("Authorization", f"Basic {WORDS}".encode())])), "bob, behind garbage")
    del os.environ["GOPMILL_AUTH_USERS"]


def main():
    code = run_on_rtsp([a_player_misses_nothing], Server(rtsp=True))
    if code != 0:
        return code
    with tempfile.TemporaryDirectory() as folder:
        return run_all([garbage_of_users], folder)


if __name__ == "__main__":
    sys.exit(main())
