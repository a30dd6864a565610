# SPDX-License-Identifier: Apache-2.0
"""Steps that join two movies, the second coded in another way, in containers that keep parameter sets apart from the pictures."""

import struct

from mutators import content, ffmpeg, rewrite
from mutators_headers import _boxes, _find

# ---- ISO base media -------------------------------------------------------------------------


def _table(movie, name):
    """What follows the version and flags of a table of the pictures' track; None without one."""
    [track] = [box for box in _find(movie, "moov/trak")
               if any(_find(movie, "mdia/minf/vmhd", box[0] + 8, box[1]))]
    found = list(_find(movie, f"mdia/minf/stbl/{name}", track[0] + 8, track[1]))
    return bytes(movie[found[0][0] + 12:found[0][1]]) if found else None


def _words(table, count, columns):
    return [struct.unpack_from(f">{columns}I", table, 4 + 4 * columns * n) for n in range(count)]


def _rows(movie, name, columns):
    table = _table(movie, name)
    return _words(table, struct.unpack_from(">I", table)[0], columns) if table else []


def _listed(rows):
    return struct.pack(">I", len(rows)) + b"".join(struct.pack(f">{len(row)}I", *row) for row in rows)


def _joined_tables(one, other, moved):
    """Tables of the pictures of both; those of the other lie `moved` bytes further behind."""
    sizes = [_table(movie, "stsz") for movie in (one, other)]
    first = struct.unpack_from(">I", sizes[0], 4)[0]
    chunks = _rows(one, "stco", 1)
    yield "stsd", struct.pack(">I", 2) + _table(one, "stsd")[4:] + _table(other, "stsd")[4:]
    yield "stts", _listed(_rows(one, "stts", 2) + _rows(other, "stts", 2))
    if _table(one, "ctts"):
        yield "ctts", _listed(_rows(one, "ctts", 2) + _rows(other, "ctts", 2))
    yield "stss", _listed(_rows(one, "stss", 1) + [(n + first,) for n, in _rows(other, "stss", 1)])
    yield "stsc", _listed(_rows(one, "stsc", 3) +
                          [(n + len(chunks), samples, 2) for n, samples, _ in _rows(other, "stsc", 3)])
    assert all(struct.unpack_from(">I", table)[0] == 0 for table in sizes), "all of one size"
    both = first + struct.unpack_from(">I", sizes[1], 4)[0]
    yield "stsz", struct.pack(">II", 0, both) + sizes[0][8:] + sizes[1][8:]
    yield "stco", _listed(chunks + [(at + moved,) for at, in _rows(other, "stco", 1)])


def _rebuilt(movie, start, end, tables, times):
    """The boxes, with these tables and `times` as long in all headers; only of the track of pictures."""
    made = bytearray()
    for kind, first, last in _boxes(movie, start, end):
        body = bytearray(movie[first + 8:last])
        is_sound = kind == b"trak" and not any(_find(movie, "mdia/minf/vmhd", first + 8, last))
        if kind in (b"trak", b"mdia", b"minf", b"stbl", b"edts") and not is_sound:
            body = _rebuilt(movie, first + 8, last, tables, times)
        elif kind in tables:
            body = body[:4] + tables[kind]
        elif kind in (b"mvhd", b"mdhd", b"tkhd", b"elst"):
            at = {b"tkhd": 20, b"elst": 8}.get(kind, 16)
            struct.pack_into(">I", body, at, struct.unpack_from(">I", body, at)[0] * times)
        made += struct.pack(">I4s", len(body) + 8, kind) + body
    return made


def mp4_join(path, options):
    """The movie, and behind it the pictures that ffmpeg makes of it, as another sample entry of the same track."""
    one, other = content(path), content(ffmpeg(path, options))
    [(movie, movie_end)] = _find(one, "moov")
    assert movie_end == len(one), "chunks would move"
    tables = dict(_joined_tables(one, other, movie + 8))
    rebuilt = _rebuilt(one, movie + 8, movie_end, {name.encode(): table for name, table in tables.items()}, 2)
    return rewrite(path, one[:movie] + struct.pack(">I4s", len(other) + 8, b"mdat") + other
                   + struct.pack(">I4s", len(rebuilt) + 8, b"moov") + rebuilt)


# ---- FLV ------------------------------------------------------------------------------------

FLV_HEAD, FLV_TAG = 13, 11  # bytes in front of the tags, and of each tag
FLV_VIDEO = 9


def _flv_tags(data):
    """(kind, time in ms, payload) of each tag."""
    at = FLV_HEAD
    while at + FLV_TAG <= len(data):
        kind, size = data[at], int.from_bytes(data[at + 1:at + 4], "big")
        time = int.from_bytes(data[at + 4:at + 7], "big") | data[at + 7] << 24
        yield kind, time, bytes(data[at + FLV_TAG:at + FLV_TAG + size])
        at += FLV_TAG + size + 4


def flv_join(path, options, seconds):
    """The movie, and from then on the pictures that ffmpeg makes of it: a publisher that went on with other parameter sets."""
    first, other = content(path), content(ffmpeg(path, options))
    joined = list(_flv_tags(first))
    joined += [(kind, time + round(1000 * seconds), payload) for kind, time, payload in _flv_tags(other)
               if kind == FLV_VIDEO]
    ends = b"\x17\x02"  # of a sequence of AVC
    made = bytearray(first[:FLV_HEAD])
    for kind, time, payload in sorted(joined, key=lambda tag: tag[1]):
        if kind == FLV_VIDEO and payload.startswith(ends):
            continue
        made += struct.pack(">B", kind) + len(payload).to_bytes(3, "big") + (time & 0xFFFFFF).to_bytes(3, "big")
        made += struct.pack(">B", time >> 24) + bytes(3) + payload + struct.pack(">I", FLV_TAG + len(payload))
    return rewrite(path, made)
