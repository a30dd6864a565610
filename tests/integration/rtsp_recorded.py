# SPDX-License-Identifier: Apache-2.0
"""Publishers by RTSP that send what ffmpeg recorded of each codec, as it was or changed by a test."""

import os
import re
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

from served import Server, check, free_port, run_on_rtsp

PICTURES = ("-f", "lavfi", "-i", "testsrc2=size=96x64:rate=15", "-frames:v", "30", "-an")
SOUND = ("-f", "lavfi", "-i", "sine=frequency=440:sample_rate={rate}", "-t", "1", "-ac", "{channels}", "-vn")
# What ffmpeg makes of each codec that is taken: encoder and, of sound, rate and channels.
VIDEO = {
    "H264": ("-c:v", "libx264", "-preset", "ultrafast", "-g", "5", "-bsf:v", "dump_extra"),
    "H265": ("-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:pools=1:keyint=5"),
    "VP8": ("-c:v", "libvpx", "-deadline", "realtime", "-g", "5"),
    "VP9": ("-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "5", "-strict", "experimental"),
    "MP4V-ES": ("-c:v", "mpeg4", "-g", "5"),
    "MPV": ("-c:v", "mpeg2video", "-r", "25", "-g", "5"),
    "JPEG": ("-c:v", "mjpeg", "-huffman", "default", "-pix_fmt", "yuvj420p"),
}
AUDIO = {
    "MPEG4-GENERIC": (48000, 2, ("-c:a", "aac")),
    "MP4A-LATM": (44100, 2, ("-c:a", "aac", "-rtpflags", "latm")),
    "OPUS": (48000, 2, ("-c:a", "libopus")),
    "MPA": (48000, 2, ("-c:a", "mp2")),
    "AC3": (48000, 2, ()),
    "PCMU": (8000, 1, ("-c:a", "pcm_mulaw")),
    "PCMA": (8000, 1, ("-c:a", "pcm_alaw")),
    "L16": (44100, 2, ("-c:a", "pcm_s16be")),
}


class Recorded:
    """A codec's description and packets, as ffmpeg sends them; of AC-3, which it does not, as RFC 4184 has it."""

    def __init__(self, folder, name):
        if name == "AC3":
            self.frames_of_ac3()
        else:
            self.record(folder, name)
        self.payload = int(self.lines[0].split()[-1])
        check(len(self.packets) > 10, f"{name}: {len(self.packets)} packets")

    def frames_of_ac3(self):
        sound = [part.format(rate=48000, channels=2) for part in SOUND]
        data = subprocess.run(["ffmpeg", "-v", "error", *sound, "-c:a", "ac3", "-b:a", "192k", "-f", "ac3", "-"], check=True,
                              capture_output=True).stdout
        self.lines = ["m=audio 0 RTP/AVP 97", "a=rtpmap:97 AC3/48000/2"]
        self.packets = [struct.pack(">BBHIIH", 0x80, 0x80 | 97, at // 768, at * 2, 9, 1) + data[at:at + 768] for at in range(0, len(data), 768)]

    def record(self, folder, name):
        if name in VIDEO:
            arguments = (*PICTURES, *VIDEO[name])
        else:
            rate, channels, encoder = AUDIO[name]
            arguments = (*(part.format(rate=rate, channels=channels) for part in SOUND), *encoder)
        inbox = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        inbox.bind(("127.0.0.1", 0))
        inbox.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        inbox.settimeout(0.2)
        sdp = Path(folder, f"{name}.sdp")
        with subprocess.Popen(["ffmpeg", "-nostdin", "-v", "error", *arguments, "-f", "rtp", "-sdp_file", str(sdp),
                               f"rtp://127.0.0.1:{inbox.getsockname()[1]}?pkt_size=900"], stderr=subprocess.PIPE) as sender:
            self.packets, over = [], False
            while not over:
                over = sender.poll() is not None
                try:
                    while True:
                        self.packets.append(inbox.recv(2000))
                except TimeoutError:
                    pass  # all that it sent so far
            check(sender.returncode == 0, f"{name}: {sender.stderr.read().decode()[:300]}")
        inbox.close()
        lines = sdp.read_text().splitlines()
        begin = next(i for i, line in enumerate(lines) if line.startswith("m="))
        self.lines = [line for line in lines[begin:] if not line.startswith(("c=", "b=", "a=control"))]
        self.lines[0] = re.sub(r"^(m=\w+) \d+", r"\1 0", self.lines[0])


class Publisher:
    """Says what it is told, over TCP or UDP, and forgives a server that cuts it off."""

    def __init__(self, server, name):
        self.server, self.url = server, server.url(f"live/{name}")
        self.socket = socket.create_connection(("127.0.0.1", server.rtsp_port), timeout=10)
        self.session, self.number, self.targets = "", 0, {}
        self.sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.sender.close()

    def ask(self, method, url, fields="", body=""):
        """The answer; empty if the connection is gone."""
        self.number += 1
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        answer = b""
        try:
            self.socket.sendall(f"{method} {url} RTSP/1.0\r\nCSeq: {self.number}\r\n{self.session}{fields}{length}\r\n{body}".encode())
            while b"\r\n\r\n" not in answer or b"RTSP/1.0" not in answer:
                got = self.socket.recv(65536)
                if not got:
                    return ""
                answer += got
        except OSError:
            return ""
        text = answer[answer.index(b"RTSP/1.0"):].decode(errors="replace")
        found = re.search(r"Session: ([^;\r]+)", text)
        if found:
            self.session = f"Session: {found[1]}\r\n"
        return text

    def announce(self, medias):
        sdp = ["v=0", "o=- 0 0 IN IP4 127.0.0.1", "s=x", "c=IN IP4 127.0.0.1", "t=0 0"]
        for number, lines in enumerate(medias):
            sdp += [*lines, f"a=control:streamid={number}"]
        return self.ask("ANNOUNCE", self.url, "Content-Type: application/sdp\r\n", "\r\n".join(sdp) + "\r\n")

    def set_up(self, count, udp=False):
        for number in range(count):
            if udp:
                port = free_port(socket.SOCK_DGRAM)
                transport = f"RTP/AVP;unicast;client_port={port}-{port + 1};mode=record"
            else:
                transport = f"RTP/AVP/TCP;unicast;interleaved={2 * number}-{2 * number + 1};mode=record"
            answer = self.ask("SETUP", f"{self.url}/streamid={number}", f"Transport: {transport}\r\n")
            if " 200 " not in answer.split("\r\n")[0]:
                return False
            ports = re.search(r"server_port=(\d+)-(\d+)", answer)
            if ports:
                self.targets.update({2 * number: int(ports[1]), 2 * number + 1: int(ports[2])})
        return True

    def record(self):
        return " 200 " in self.ask("RECORD", self.url, "Range: npt=0-\r\n").split("\r\n", maxsplit=1)[0]

    def begin(self, medias, udp=False):
        """Whether the server takes them."""
        return " 200 " in self.announce(medias).split("\r\n")[0] and self.set_up(len(medias), udp) and self.record()

    def send(self, packet, channel=0):
        packet = packet[:65535]
        if channel in self.targets:
            self.sender.sendto(packet[:60000], ("127.0.0.1", self.targets[channel]))
        else:
            self.socket.sendall(b"$" + bytes([channel & 255]) + len(packet).to_bytes(2, "big") + packet)


def rtp(packet, number=None, stamp=None, payload=None, marker=None):
    """A packet with other fields in its header."""
    head = bytearray(packet[:12])
    if number is not None:
        head[2:4] = struct.pack(">H", number & 0xffff)
    if stamp is not None:
        head[4:8] = struct.pack(">I", stamp & 0xffffffff)
    if payload is not None:
        head[1] = (head[1] & 0x80) | (payload & 0x7f)
    if marker is not None:
        head[1] = (head[1] & 0x7f) | (0x80 if marker else 0)
    return bytes(head) + packet[12:]


def stamp_of(packet):
    return struct.unpack(">I", packet[4:8])[0]


def renumbered(packets, step):
    """The packets of pictures, a time step of `step` ticks between pictures."""
    picture, last, out = 0, stamp_of(packets[0]), []
    for number, packet in enumerate(packets):
        if stamp_of(packet) != last:
            picture, last = picture + 1, stamp_of(packet)
        out.append(rtp(packet, number=number, stamp=1000 + picture * step))
    return out


def lives(server, what):
    """Whether the server does."""
    alive = server.process.poll() is None
    check(alive, f"{what}: the server has gone with {server.process.poll()}")
    return alive


def lost_packets(server):
    return int(re.search(r"gopmill_live_lost_packets_total (\d+)", server.get("/metrics")[1].decode())[1])


def on_recorded(run):
    """`run(server, recorded, folder)` on a server that cuts publishers soon; its exit code, 77 where RTSP is not built."""
    os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "3"
    os.environ["GOPMILL_RTSP_PUBLISHER_TIMEOUT_SECONDS"] = "4"
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, rtsp=True)
        server.folder = folder
        if server.port is None:
            return run_on_rtsp([], server)
        return run(server, {name: Recorded(folder, name) for name in (*VIDEO, *AUDIO)}, folder)
