# SPDX-License-Identifier: Apache-2.0
"""The pictures of H.264 that a connection by RTSP carries: when each came, and which of the source's pictures it is."""

import base64
import re
import subprocess

BITS, SIDE = 12, 32  # of a picture's number, drawn as squares from the top left corner, least bit first
START = b"\0\0\0\1"  # of a NAL unit in a byte stream (Annex B)
IDR, STAP_A, FU_A = 5, 24, 28  # kinds of NAL unit; the last two: RFC 6184 section 5.4


def draw_number():
    """A filter of ffmpeg's that draws the number of each picture into it."""
    squares = [f"drawbox={bit * SIDE}:0:{SIDE}:{SIDE}:white:fill:enable='mod(floor(n/{2 ** bit}),2)'" for bit in range(BITS)]
    return ",".join([f"drawbox=0:0:{BITS * SIDE}:{SIDE}:black:fill", *squares])


class RtpPictures:
    """Interleaved channel 0, from the first IDR picture on: a player may be let in within a picture. `ends`: when the last packet
    of each picture passed; `times`: its RTP time."""

    def __init__(self):
        self.buffer, self.ends, self.times, self.stream, self.parameters = b"", [], [], bytearray(), b""
        self.picture, self.idr = bytearray(), False  # what has come of the next one

    def feed(self, data, now):
        self.buffer += data
        while self.buffer:
            if self.buffer[0] != 0x24:  # a request or an answer in between
                end = self.buffer.find(b"\r\n\r\n")
                if end < 0:
                    return
                length = re.search(rb"Content-Length: (\d+)", self.buffer[:end])
                total = end + 4 + (int(length[1]) if length else 0)
            elif len(self.buffer) < 4:
                return
            else:
                total = 4 + int.from_bytes(self.buffer[2:4], "big")
            if len(self.buffer) < total:
                return
            if self.buffer[0] == 0x24 and self.buffer[1] == 0:
                self.note(self.buffer[4:total], now)
            self.buffer = self.buffer[total:]

    def note(self, packet, now):
        """Without header extensions and padding, which nobody here sends."""
        self.unpack(packet[12 + 4 * (packet[0] & 0xF):])
        if not packet[1] & 0x80:
            return
        if self.ends or self.idr:
            self.stream += self.picture
            self.ends.append(now)
            self.times.append(int.from_bytes(packet[4:8], "big"))
        self.picture, self.idr = bytearray(), False

    def begin(self, header, slice_data):
        """A NAL unit. The first slice of a picture begins at macroblock 0: ue(v) of one bit, 1 (H.264 7.3.3)."""
        self.picture += START
        self.idr = self.idr or (header & 0x1F == IDR and slice_data[:1] >= b"\x80")

    def unpack(self, payload):
        kind = payload[0] & 0x1F
        if kind == STAP_A:
            at = 1
            while at + 2 < len(payload):
                size = int.from_bytes(payload[at:at + 2], "big")
                self.begin(payload[at + 2], payload[at + 3:])
                self.picture += payload[at + 2:at + 2 + size]
                at += 2 + size
        elif kind == FU_A:
            if payload[1] & 0x80:
                header = payload[0] & 0xE0 | payload[1] & 0x1F
                self.begin(header, payload[2:])
                self.picture.append(header)
            self.picture += payload[2:]
        else:
            self.begin(payload[0], payload[1:])
            self.picture += payload

    def describe(self, sdp):
        """Parameter sets that are in the description alone."""
        sets = re.search(r"sprop-parameter-sets=([^;\r\n]+)", sdp)
        self.parameters = b"".join(START + base64.b64decode(one) for one in sets[1].split(",")) if sets else b""

    def numbers(self):
        """What draw_number() drew, picture by picture in the order in which they are shown."""
        look = f"crop={BITS * SIDE}:{SIDE}:0:0,scale={BITS}:1:flags=area,format=gray"
        done = subprocess.run(["ffmpeg", "-v", "error", "-f", "h264", "-i", "-", "-vf", look, "-vsync", "passthrough", "-f", "rawvideo", "-"],
                              input=self.parameters + bytes(self.stream), stdout=subprocess.PIPE, check=True)
        rows = [done.stdout[at:at + BITS] for at in range(0, len(done.stdout), BITS)]
        return [sum(1 << bit for bit, value in enumerate(row) if value > 127) for row in rows]

    def shown(self):
        """(number, when its last packet passed) of each picture, in the order in which they are shown."""
        numbers = self.numbers()
        first = self.times[0] if self.times else 0
        order = sorted(range(len(self.times)), key=lambda i: (self.times[i] - first + 2**31) % 2**32)
        if len(numbers) != len(order):
            raise SystemExit(f"{len(order)} pictures came, of which {len(numbers)} can be decoded")
        return [(number, self.ends[index]) for number, index in zip(numbers, order)]
