#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes closed captions (ATSC A/53 part 4: SEI messages) into a stream of H.264, Annex B, whose pictures are in the order of
display, and finds them again. As a program: stdin to stdout, a caption "HELLO CC" from 13 s to 15 s of 25 pictures a second."""

import sys

PADDING = bytes([0xFA, 0, 0])


def units(stream):
    """NAL units, without start codes."""
    return [nal.rstrip(b"\0") for nal in stream.replace(b"\0\0\0\1", b"\0\0\1").split(b"\0\0\1")[1:]]


def message(pair):
    """A SEI unit with two bytes of CEA-608, field 1, and triplets that only fill up the channel."""
    triplets = b"\xfc" + pair + PADDING * 9
    body = b"\xb5\0\x31GA94\x03" + bytes([0x40 | len(triplets) // 3, 0xFF]) + triplets + b"\xff"
    raw = bytes([4, len(body)]) + body + b"\x80"
    escaped, zeros = bytearray(), 0
    for byte in raw:
        if zeros >= 2 and byte <= 3:
            escaped.append(3)
            zeros = 0
        escaped.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return b"\0\0\1\x06" + bytes(escaped)


def inject(stream, pair_of):
    """`pair_of`: for the number of a picture, its two bytes. The new stream, and how many pictures it has."""
    out, number = bytearray(), 0
    for nal in units(stream):
        if nal[0] & 31 in (1, 5):
            out += message(pair_of(number))
            number += 1
        out += b"\0\0\1" + nal
    return bytes(out), number


def triplets_of(nal):
    """Of a SEI unit."""
    raw = nal.replace(b"\0\0\3", b"\0\0")
    at = raw.find(b"GA94\x03")
    if nal[0] & 31 != 6 or at < 0:
        return []
    return [raw[at + 7 + 3 * n:at + 10 + 3 * n] for n in range(raw[at + 5] & 31)]


def odd(byte):
    """With CEA-608's parity bit."""
    return byte | (0x80 if bin(byte).count("1") % 2 == 0 else 0)


def pop_on(text, begin, end):
    """Pairs of a caption that is shown from one picture to another (CEA-608 commands come twice), by picture."""
    load, erase, row, show, clear = b"\x14\x20", b"\x14\x2e", b"\x14\x70", b"\x14\x2f", b"\x14\x2c"
    text = text + "\0" * (len(text) % 2)
    sent = [load, load, erase, erase, row, row] + [text[n:n + 2].encode() for n in range(0, len(text), 2)]
    pairs = dict(enumerate(sent, begin - len(sent)))
    pairs |= {begin: show, begin + 1: show, end: clear, end + 1: clear}
    return lambda picture: bytes(odd(byte) for byte in pairs.get(picture, b"\0\0"))


if __name__ == "__main__":
    sys.stdout.buffer.write(inject(sys.stdin.buffer.read(), pop_on("HELLO CC", 325, 375))[0])
