# SPDX-License-Identifier: Apache-2.0
"""A camera that a test can let be as odd as it wants: RTSP over TCP, one stream of H.264."""

import random
import re
import socket
import struct
import subprocess
import threading
import time

FPS = 30
CODECS = {"video": "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\na=control:track0\r\n",
          "g726": "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 G726-32/8000\r\na=control:track1\r\n",
          "metadata": "m=application 0 RTP/AVP/TCP 107\r\na=rtpmap:107 vnd.onvif.metadata/90000\r\na=control:track2\r\n"}


def pictures(ticks):
    """One second of coded pictures, each a list of NAL units. Two ticks a picture would be true."""
    data = subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size=320x180:rate={FPS}", "-t", "1", "-c:v",
                           "libx264", "-preset", "ultrafast", "-bsf:v", f"h264_metadata=tick_rate={ticks}", "-f", "h264", "-"], check=True, capture_output=True).stdout
    units, result = [unit for unit in re.split(b"\0\0\0?\1", data) if unit], [[]]
    for unit in units:
        result[-1].append(unit)
        if unit[0] & 31 in (1, 5):
            result.append([])
    return result[:-1]


class Camera:
    """`medias` are the m= sections of its SDP, of which track0 is sent. `refusals` maps methods to a status that they get.
    With `timeout`, a session without requests for so many seconds ends. `ticks` a second are stated by the pictures. `strangers`
    report with each picture, others each time."""

    def __init__(self, medias=CODECS["video"], refusals=(), timeout=0, ticks=2 * FPS, strangers=0):
        self.medias, self.refusals, self.timeout, self.strangers = medias, dict(refusals), timeout, strangers
        self.methods, self.pictures = [], pictures(ticks)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self, path="stream", user=""):
        return f"rtsp://{user}127.0.0.1:{self.port}/{path}"

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        state = {"asked": time.monotonic(), "lock": threading.Lock()}
        data = b""
        try:
            while True:
                # Between requests: reports of RTCP, which do not count.
                while data[:1] == b"$" and len(data) >= 4 + int.from_bytes(data[2:4].ljust(2, b"\xff"), "big"):
                    data = data[4 + int.from_bytes(data[2:4], "big"):]
                head, end, rest = data.partition(b"\r\n\r\n")
                if data[:1] != b"$" and end:
                    size = re.search(rb"content-length: *(\d+)", head, re.I)
                    data = rest[int(size[1]) if size else 0:]
                    state["asked"] = time.monotonic()
                    self.answer(client, head.decode(), state)
                    continue
                got = client.recv(65536)
                if not got:
                    break
                data += got
        except OSError:
            pass
        client.close()

    def answer(self, client, head, state):
        method, uri = head.split()[:2]
        self.methods.append(method)
        status, more, body = self.refusals.get(method, "200 OK"), "", ""
        if status.startswith("401"):
            more = 'WWW-Authenticate: Digest realm="camera", nonce="1234"\r\n'
        elif method == "OPTIONS":
            more = "Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN, GET_PARAMETER\r\n"
        elif method == "DESCRIBE" and status.startswith("200"):
            more = f"Content-Base: {uri}/\r\nContent-Type: application/sdp\r\n"
            body = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=camera\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\n" + self.medias
        elif method == "SETUP" and status.startswith("200"):
            channels = re.search(r"interleaved=(\d+)", head)[1]
            if uri.endswith("/track0"):
                state["channel"] = int(channels)
            more = f"Transport: RTP/AVP/TCP;unicast;interleaved={channels}-{int(channels) + 1}\r\n"
        sequence = re.search(r"cseq: *(\d+)", head, re.I)[1]
        answer = f"RTSP/1.0 {status}\r\nCSeq: {sequence}\r\nSession: 1234;timeout={self.timeout or 60}\r\n{more}"
        with state["lock"]:
            client.sendall(f"{answer}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        if method == "PLAY" and status.startswith("200"):
            threading.Thread(target=self.send, args=(client, state), daemon=True).start()

    def send(self, client, state):
        begin, number, source = time.monotonic(), random.getrandbits(15), random.getrandbits(32)
        try:
            for picture in range(10**6):
                if self.timeout and time.monotonic() - state["asked"] > self.timeout:
                    client.shutdown(socket.SHUT_RDWR)
                    return
                units = self.pictures[picture % len(self.pictures)]
                for last, payload in fragments(units):
                    number = (number + 1) % 65536
                    packet = struct.pack(">BBHII", 0x80, 96 | (0x80 if last else 0), number, picture * 90000 // FPS, source) + payload
                    with state["lock"]:
                        client.sendall(struct.pack(">BBH", 0x24, state["channel"], len(packet)) + packet)
                reports = [struct.pack(">BBHBBHI", 0x24, state["channel"] + 1, 8, 0x80, 201, 1, picture * self.strangers + stranger)
                           for stranger in range(self.strangers)]
                with state["lock"]:
                    client.sendall(b"".join(reports))
                time.sleep(max(0, begin + (picture + 1) / FPS - time.monotonic()))
        except OSError:
            pass


def fragments(units):
    """The payloads of a picture (RFC 6184), each with whether it is the last."""
    payloads = []
    for unit in units:
        if len(unit) < 1400:
            payloads.append(unit)
            continue
        pieces = [unit[1:][at:at + 1300] for at in range(0, len(unit) - 1, 1300)]
        for place, piece in enumerate(pieces):
            flags = (0x80 if place == 0 else 0) | (0x40 if piece is pieces[-1] else 0)
            payloads.append(bytes([(unit[0] & 0xe0) | 28, flags | (unit[0] & 31)]) + piece)
    return [(place == len(payloads) - 1, payload) for place, payload in enumerate(payloads)]
