# SPDX-License-Identifier: Apache-2.0
"""H.264 of which each picture is coded as two fields (PAFF), as broadcasters and camcorders do and x264 cannot.

Pictures are 64x64 and flat; their brightness tells their number as in odd_times_test. Groups of twelve in the order
I B B P B B P..., open but for the first.
"""

import subprocess

GROUP, PER_SECOND = 12, 25


class Bits:
    def __init__(self):
        self.text = ""

    def u(self, count, value):
        self.text += f"{value:0{count}b}"
        return self

    def ue(self, *values):
        for value in values:
            code = f"{value + 1:b}"
            self.text += "0" * (len(code) - 1) + code
        return self

    def aligned(self):
        self.text += "0" * (-len(self.text) % 8)
        return self

    def bytes(self):
        self.u(1, 1).aligned()
        return int(self.text, 2).to_bytes(len(self.text) // 8, "big")


def unit(header, payload):
    escaped = bytearray()
    for byte in payload:
        if byte <= 3 and escaped[-2:] == b"\0\0":
            escaped.append(3)
        escaped.append(byte)
    return b"\0\0\0\1" + bytes([header]) + bytes(escaped)


def headers():
    sequence = Bits().u(8, 77).u(8, 0).u(8, 30).ue(0, 4, 0, 4, 2).u(1, 0).ue(3, 1).u(1, 0).u(1, 0).u(1, 1).u(1, 0)
    sequence.u(1, 1).u(4, 0).u(1, 1).u(32, 1).u(32, 2 * PER_SECOND).u(1, 1).u(3, 0).u(1, 1).u(1, 1).ue(0, 0, 16, 16, 1, 2)
    pictures = Bits().ue(0, 0).u(2, 0).ue(0, 0, 0).u(3, 0).ue(0, 0, 0).u(1, 1).u(2, 0)
    return unit(0x67, sequence.bytes()) + unit(0x68, pictures.bytes())


def field(kind, first, bottom, frame, shown):
    """One slice of eight macroblocks that are not predicted."""
    instant = first and not bottom
    refers = kind != "B"
    slice_types, intra = {"I": 7, "P": 5, "B": 6}, {"I": 25, "P": 30, "B": 48}
    bits = Bits().ue(0, slice_types[kind], 0).u(8, frame % 256).u(1, 1).u(1, int(bottom))
    if instant:
        bits.ue(0)
    bits.u(8, (2 * shown + bottom) % 256)
    if kind == "B":
        bits.u(1, 1)
    if kind != "I":
        bits.u(1, 0).u(1 if kind == "P" else 2, 0)
    if refers:
        bits.u(2 if instant else 1, 0)
    bits.ue(0, 1)  # quantiser, no deblocking
    level = 16 + round((16 + 8 * (shown % 28)) * 219 / 255)
    for _ in range(8):
        if kind != "I":
            bits.ue(0)
        bits.ue(intra[kind]).aligned()
        bits.text += f"{level:08b}" * 256 + f"{128:08b}" * 128
    return unit((0x60 if refers else 0) | (5 if instant else 1), bits.bytes())


def order(groups):
    """(kind, number in order of display) of each picture in order of decoding."""
    yield "I", 0
    for anchor in range(3, groups * GROUP, 3):
        yield ("I" if anchor % GROUP == 0 else "P"), anchor
        yield "B", anchor - 2
        yield "B", anchor - 1


def write(path, groups):
    """A transport stream; of how many pictures."""
    stream, frame, count = b"", 0, 0
    for kind, shown in order(groups):
        first = shown == 0
        if kind == "I":
            recovery = b"" if first else unit(0x06, bytes([6, 1, 0x84, 0x80]))
            stream += headers() + recovery
        stream += field(kind, first, False, frame, shown) + field("P" if first else kind, False, True, frame, shown)
        frame += kind != "B"
        count += 1
    # What is coded as picture d is shown as d + 2 if others refer to it, else as d - 1.
    shown = "if(eq(N\\,0)+eq(N\\,1)\\,0\\,floor(N/2)+if(eq(mod(floor(N/2)-1\\,3)\\,0)\\,2\\,-1))"
    clock = 90_000 // PER_SECOND
    times = f"setts=pts='({shown}+1+mod(N\\,2)/2)*{clock}':dts='N/2*{clock}'"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "h264", "-i", "-", "-c", "copy", "-bsf:v", times, "-f", "mpegts", path], input=stream, check=True)
    return count


def element(number, payload):
    """Of EBML, with a size of eight bytes."""
    return bytes.fromhex(number) + (0x01 << 56 | len(payload)).to_bytes(8, "big") + payload


def write_pairs(path, count=24):
    """Matroska that does not tell of fields, with both of a picture in one packet, of key pictures."""
    sequence, pictures = headers().split(b"\0\0\0\1")[1:]
    private = bytes([1, *sequence[1:4], 0xFF, 0xE1]) + len(sequence).to_bytes(2, "big") + sequence
    private += b"\1" + len(pictures).to_bytes(2, "big") + pictures
    blocks = b""
    for number in range(count):
        fields = (field("I", True, False, 0, number % 100), field("P", True, True, 0, number % 100))
        units = [part[4:] for part in fields]
        coded = b"".join(len(part).to_bytes(4, "big") + part for part in units)
        blocks += element("A3", b"\x81" + (number * 40).to_bytes(2, "big") + b"\x80" + coded)
    track = element("D7", b"\1") + element("73C5", b"\1") + element("83", b"\1") + element("86", b"V_MPEG4/ISO/AVC")
    track += element("63A2", private) + element("E0", element("B0", bytes([64])) + element("BA", bytes([64])))
    segment = element("1549A966", element("2AD7B1", (1_000_000).to_bytes(3, "big"))) + element("1654AE6B", element("AE", track))
    segment += element("1F43B675", element("E7", b"\0") + blocks)
    head = element("1A45DFA3", element("4282", b"matroska") + element("4287", b"\4") + element("4285", b"\2"))
    path.write_bytes(head + element("18538067", segment))
