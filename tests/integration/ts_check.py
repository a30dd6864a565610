#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a movie in HLS with transport stream segments.

  tests/integration/ts_check.py 'http://127.0.0.1:8080/v1/hls/movie.mp4/master.m3u8?container=ts'

RFC 8216 section 3.2: tables in front, one programme, an IDR picture first. Times go on from segment to segment and last as
long as EXTINF says. Continuity counters go on within a segment; each segment begins them anew, and says so on each PID
(ISO 13818-1 section 2.4.3.4). Prints what is wrong; exit code 1 if anything is.
"""

import re
import sys
from collections import namedtuple
from fractions import Fraction
from pathlib import Path
from urllib.parse import urljoin

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from hls_check import Media, attributes, fetch  # noqa: E402

PAT, SDT = 0, 17
CLOCK = 90_000
Packet = namedtuple("Packet", "pid begins counter discontinuity payload")


def packets_of(data, problem):
    problem(len(data) % 188 == 0 and set(data[::188]) == {0x47}, "it is not made of packets of 188 bytes")
    for at in range(0, len(data), 188):
        packet = data[at:at + 188]
        has_field, has_payload = packet[3] & 32, packet[3] & 16
        field = packet[5:5 + packet[4]] if has_field else b""
        payload = packet[5 + packet[4] if has_field else 4:] if has_payload else b""
        yield Packet((packet[1] & 31) << 8 | packet[2], bool(packet[1] & 64), packet[3] & 15, bool(field and field[0] & 128), payload)


def section(packet):
    """What a table says, without its header and checksum."""
    table = packet.payload[1 + packet.payload[0]:]
    return table[8:3 + ((table[1] & 15) << 8 | table[2]) - 4]


def programmes(packet):
    """PIDs of their maps."""
    rows = section(packet)
    return [(rows[at + 2] & 31) << 8 | rows[at + 3] for at in range(0, len(rows), 4) if rows[at:at + 2] != b"\0\0"]


def streams(packet):
    """(type, PID) of what a programme is made of."""
    rows, found = section(packet), []
    at = 4 + ((rows[2] & 15) << 8 | rows[3])
    while at < len(rows):
        found.append((rows[at], (rows[at + 1] & 31) << 8 | rows[at + 2]))
        at += 5 + ((rows[at + 3] & 15) << 8 | rows[at + 4])
    return found


def check_tables(packets, problem):
    """The PID of the one stream, and its type."""
    problem(packets[0].pid == PAT, f"PID {packets[0].pid} is in front of the tables")
    tables = [packet for packet in packets if packet.pid != SDT][:2]
    maps = programmes(tables[0]) if tables[0].pid == PAT else []
    problem(len(maps) == 1, f"it has the programmes {maps}")
    problem(maps == [tables[1].pid], "it does not begin with the tables")
    found = streams(tables[1])
    problem(len(found) == 1, f"streams {found}")
    return found[0]


def check_counters(packets, problem, last):
    """`last`: counters of the PIDs that came before, which go on."""
    for packet in packets:
        before = last.get(packet.pid)
        if before is None:
            problem(packet.discontinuity, f"PID {packet.pid} begins without a discontinuity indicator")
        else:
            problem(not packet.discontinuity, f"PID {packet.pid} has another discontinuity")
            problem(packet.counter == (before + bool(packet.payload)) % 16, f"PID {packet.pid}: {packet.counter} follows {before}")
        last[packet.pid] = packet.counter


def check_key_picture(packets, pid, problem):
    """The first slice is one of an IDR picture."""
    data = b"".join(packet.payload for packet in packets if packet.pid == pid)
    slices = (unit[0] & 31 for unit in re.findall(b"\0\0\1(.)", data, re.S) if unit[0] & 31 in (1, 5))
    problem(next(slices, None) == 5, "it does not begin with an IDR picture")


def stamp(five):
    """33 bits among markers (ISO 13818-1 section 2.4.3.7)."""
    bits = int.from_bytes(five, "big")
    return bits >> 3 & 7 << 30 | bits >> 2 & 0x7FFF << 15 | bits >> 1 & 0x7FFF


def sound_frames(data):
    """ADTS frames, which say their length and rate."""
    rates = (96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000)
    at, count = 0, 0
    while at + 7 <= len(data):
        at += (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5
        count += 1
    return count, Fraction(1024 * CLOCK, rates[data[2] >> 2 & 15])


def times(packets, pid, picture):
    """(shown, length, frames) of each PES packet, in the order of showing, units of 90 kHz. `picture`: the length of one."""
    found = []
    for packet in packets:
        if packet.pid == pid and packet.begins:
            found.append([stamp(packet.payload[9:14]), packet.payload[9 + packet.payload[8]:]])
        elif packet.pid == pid:
            found[-1][1] += packet.payload
    frames = [(at, *((1, picture) if picture else sound_frames(data))) for at, data in found]
    return sorted((at, count * length, count) for at, count, length in frames)


def check_segment(data, problem, counters=None):
    """`counters`: of segments that go on with those of the one before (check_counters)."""
    packets = list(packets_of(data, problem))
    kind, pid = check_tables(packets, problem)
    check_counters(packets, problem, {} if counters is None else counters)
    if kind == 0x1B:
        check_key_picture(packets, pid, problem)
    return packets, pid


class Rendition:
    """Segments of one track, each behind the one before. `picture`: the length of one; sound without."""

    def __init__(self, picture, counters=None):
        self.picture, self.counters, self.end, self.frames = picture, counters, None, 0

    def add(self, data, duration, problem, is_last=False):
        shown = times(*check_segment(data, problem, self.counters), self.picture)
        begin, end = shown[0][0], self.end
        problem(end is None or abs(begin - end) <= 1, f"it begins at {begin}, the one before ends at {end}")
        steps = [float(b[0] - a[0] - a[1]) for a, b in zip(shown, shown[1:])]
        problem(all(abs(step) <= 1 for step in steps), f"times go on {steps} off")
        self.end = shown[-1][0] + shown[-1][1]
        off = Fraction(self.end - begin, CLOCK) - duration
        # A frame of sound in front of the first segment is the encoder's priming; the last one cannot be cut.
        frame = Fraction(shown[0][1], CLOCK * shown[0][2])
        slack = Fraction(1, 1000) + (frame if self.picture is None and (self.frames == 0 or is_last) else 0)
        problem(abs(off) <= slack, f"it lasts {float(duration + off)}, EXTINF {float(duration)}")
        self.frames += sum(row[2] for row in shown)


def check_playlist(name, url, picture, problems):
    """All segments of a rendition: how many frames they have."""
    def problem_in(where):
        return lambda good, text: good or problems.append(f"{where}: {text}")
    media, rendition = Media(url, problem_in(name)), Rendition(picture)
    for uri, duration in zip(media.uris, media.durations):
        problem = problem_in(uri.rsplit("/", 1)[1].split("?")[0])
        rendition.add(fetch(uri), duration, problem, uri == media.uris[-1])
    return rendition.frames


def check_key_playlist(url, problems):
    media = Media(url, lambda good, text: good or problems.append(f"i0: {text}"))
    for uri in media.uris:
        name = uri.rsplit("/", 1)[1].split("?")[0]
        packets, pid = check_segment(fetch(uri), lambda good, text, name=name: good or problems.append(f"{name}: {text}"))
        pictures = sum(packet.begins for packet in packets if packet.pid == pid)
        if pictures != 1:
            problems.append(f"{name}: {pictures} pictures")
    return len(media.uris)


def check(url):
    """All that is wrong with the movie behind this master playlist; and the frames of each rendition."""
    problems, counts = [], {}
    lines = fetch(url).decode().splitlines()
    for line, uri in zip(lines, lines[1:] + [""]):
        picture = None
        if line.startswith("#EXT-X-MEDIA:TYPE=AUDIO"):
            uri = attributes(line)["URI"]
        elif line.startswith("#EXT-X-I-FRAME-STREAM-INF:"):
            counts["i0"] = check_key_playlist(urljoin(url, attributes(line)["URI"]), problems)
            continue
        elif line.startswith("#EXT-X-STREAM-INF:"):
            picture = CLOCK / Fraction(attributes(line)["FRAME-RATE"])
        else:
            continue
        name = uri.split(".")[0]
        counts[name] = check_playlist(name, urljoin(url, uri), picture, problems)
    return problems, counts


def main():
    problems, counts = check(sys.argv[1])
    for text in problems:
        print(text)
    print(counts)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
