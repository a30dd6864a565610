# SPDX-License-Identifier: Apache-2.0
"""An RTSP player that shows what ready-made ones hide: each header, each RTP packet, each report. Over TCP."""

import base64
import re
import socket
import struct
import subprocess
from collections import namedtuple

from served import check

Answer = namedtuple("Answer", "status fields body")
Rtp = namedtuple("Rtp", "number time marker payload")
Report = namedtuple("Report", "wall time packets")  # a sender report: seconds, RTP time, packets so far
NTP_TICK = 2.0 ** -32


def run_gstreamer(server, command):
    """gst-launch-1.0 on a movie of this server, to its end. A player that has packets left when BYE comes may never end: the jitter
    buffer of GStreamer 1.22 sets its timer for the end anew then, and nothing wakes who waits for it (its log: "got the NPT
    timeout", then "waiting timer"). Five seconds are long enough for gst-launch to catch up with its slow start. One that has
    played all may complain of its PAUSE, which it cancels itself as it leaves (its log: "cmd CLOSE", "connection flush busy PAUSE")."""
    for left in (1, 0):
        try:
            done = subprocess.run(["gst-launch-1.0", "-q", *command], check=False, timeout=20, capture_output=True, text=True)
            cancelled_pause = "gst_rtspsrc_pause (): " in done.stdout + done.stderr
            check(done.returncode == 0 or cancelled_pause, f"gst-launch: {done.stdout[-500:]} {done.stderr[-2000:]}")
            return
        except subprocess.TimeoutExpired:
            check(left > 0 and not server.running(), f"gst-launch-1.0 never ends; the server still sends {server.running()}")


class Player:
    """Tracks are numbered in the order of the SDP; packets and reports are kept by track."""

    def __init__(self, server, path, timeout=20):
        self.url = server.url(path)
        self.socket = socket.create_connection(("127.0.0.1", server.rtsp_port), timeout=timeout)
        self.buffer, self.sequence, self.session = b"", 0, None
        self.controls, self.rates = [], []
        self.packets, self.reports = {}, {}
        self.byes = set()  # tracks that the server has said the end of

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def ask(self, method, url=None, **fields):
        """Sends a request and reads to its answer, keeping what comes in between."""
        self.sequence += 1
        lines = [f"{method} {url or self.url} RTSP/1.0", f"CSeq: {self.sequence}"]
        lines += [f"Session: {self.session}"] if self.session else []
        lines += [f"{name}: {value}" for name, value in fields.items()]
        self.send("\r\n".join([*lines, "", ""]).encode())
        answer = None
        while answer is None:
            answer = self.next_item()
        if "session" in answer.fields:
            self.session = answer.fields["session"].split(";")[0]
        return answer

    def set_up(self, tracks=None):
        """DESCRIBE, and SETUP of the tracks (all)."""
        described = self.ask("DESCRIBE", Accept="application/sdp")
        self.url = described.fields.get("content-base", self.url)  # from now on: RFC 2326 section C.1.1
        for media in described.body.split("\r\nm=")[1:]:
            control = re.search(r"^a=control:(\S+)", media, re.M)[1]
            self.controls.append(control if "://" in control else self.url.rstrip("/") + "/" + control)
            self.rates.append(int(re.search(r"^a=rtpmap:\d+ [^/]+/(\d+)", media, re.M)[1]))
        answers = []
        for track in range(len(self.controls)) if tracks is None else tracks:
            transport = f"RTP/AVP/TCP;unicast;interleaved={2 * track}-{2 * track + 1}"
            answers.append(self.ask("SETUP", self.controls[track], Transport=transport))
            self.packets[track], self.reports[track] = [], []
        return described, answers

    def read_until(self, condition):
        """Takes packets until the condition holds; False at the end of the connection."""
        while not condition():
            try:
                self.next_item()
            except ConnectionError:
                return False
        return True

    def next_item(self):
        """The next answer; None for a packet, which has been kept."""
        while not self.buffer:
            self.fill()
        if self.buffer[:1] == b"$":
            return self.take_packet()
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        first, *rest = head.decode(errors="replace").split("\r\n")
        fields = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in rest if ":" in line}
        length = int(fields.get("content-length", 0))
        while len(self.buffer) < length:
            self.fill()
        body, self.buffer = self.buffer[:length].decode(), self.buffer[length:]
        return Answer(int(first.split()[1]), fields, body)

    def fill(self):
        got = self.socket.recv(1 << 16)
        if not got:
            raise ConnectionError("the server has closed the connection")
        self.buffer += got

    def take_packet(self):
        while len(self.buffer) < 4 or len(self.buffer) < 4 + int.from_bytes(self.buffer[2:4], "big"):
            self.fill()
        channel, end = self.buffer[1], 4 + int.from_bytes(self.buffer[2:4], "big")
        data, self.buffer = self.buffer[4:end], self.buffer[end:]
        track, is_report = divmod(channel, 2)
        if not is_report:
            kind, number, time = struct.unpack(">xBHI", data[:8])
            self.packets[track].append(Rtp(number, time, kind >> 7, data[12:]))
            return
        if data[1] == 200:
            _, seconds, fraction, time, packets = struct.unpack(">IIIII", data[4:24])
            self.reports[track].append(Report(seconds + fraction * NTP_TICK, time, packets))
        if 203 in kinds_of_reports(data):
            self.byes.add(track)


class TunnelledPlayer(Player):
    """The same through HTTP, as QuickTime began it: what comes is the answer to a GET, what is sent the body of a POST in base64."""

    def __init__(self, server, path, timeout=20):
        super().__init__(server, path, timeout)
        TunnelledPlayer.count = getattr(TunnelledPlayer, "count", 0) + 1
        self.head = "/{} HTTP/1.0\r\nx-sessioncookie: tunnel{}\r\n{}: application/x-rtsp-tunnelled\r\n".format(
            path.replace(" ", "%20"), TunnelledPlayer.count, "{}")
        self.socket.sendall(f"GET {self.head.format('Accept')}\r\n".encode())
        while b"\r\n\r\n" not in self.buffer:
            self.fill()
        answer, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        check(answer.startswith(b"HTTP/1.0 200"), f"the answer to the GET of a tunnel: {answer[:80]}")
        self.posts = socket.create_connection(("127.0.0.1", server.rtsp_port), timeout=timeout)
        self.posts.sendall(f"POST {self.head.format('Content-Type')}Content-Length: 32767\r\n\r\n".encode())

    def __exit__(self, *_):
        self.posts.close()
        super().__exit__()

    def send(self, data):
        self.posts.sendall(base64.b64encode(data))


def kinds_of_reports(data):
    """The types of the packets that one of RTCP is made of."""
    kinds = []
    while len(data) >= 4:
        kinds.append(data[1])
        data = data[4 * (int.from_bytes(data[2:4], "big") + 1):]
    return kinds


def rtp_info(answer):
    """(number, RTP time) of each track, in the order of the header."""
    found = re.findall(r"seq=(\d+);rtptime=(\d+)", answer.fields.get("rtp-info", ""))
    return [(int(number), int(time)) for number, time in found]
