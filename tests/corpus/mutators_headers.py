# SPDX-License-Identifier: Apache-2.0
"""Steps on the headers of MP4, IVF, AVI and of elementary streams."""

import struct

from mutators import content, ffmpeg, rewrite


# ---- ISO base media -------------------------------------------------------------------------


def _boxes(data, start, end):
    while start + 8 <= end:
        size = struct.unpack_from(">I", data, start)[0]
        if size < 8 or start + size > end:
            return
        yield bytes(data[start + 4:start + 8]), start, start + size
        start += size


def _find(data, path, start=0, end=None):
    """(start, end) of every box at a path like moov/trak/tkhd."""
    name, _, rest = path.partition("/")
    for kind, first, last in _boxes(data, start, len(data) if end is None else end):
        if kind == name.encode():
            if rest:
                yield from _find(data, rest, first + 8, last)
            else:
                yield first, last


def mp4_rename(path, box, name):
    """Renames boxes so that they are skipped: an edit list that is not there, for instance."""
    data = content(path)
    for first, _ in list(_find(data, box)):
        data[first + 4:first + 8] = name.encode()
    return rewrite(path, data)


def _edit_list(edits, scale, ticks, zero):
    """Of parts (from, to) in seconds; from None is an empty edit, `to` long."""
    entries = b"".join(struct.pack(">IiI", round(scale * (end - (begin or 0))),
                                   -1 if begin is None else zero + round(ticks * begin), 1 << 16) for begin, end in edits)
    return (struct.pack(">I4s", 24 + len(entries), b"edts")
            + struct.pack(">I4sII", 16 + len(entries), b"elst", 0, len(edits)) + entries)


def _set_edits(path, length, edits_of):
    """Gives each track the edit list that `edits_of` makes for it (True: of pictures), and all this length in seconds."""
    data = content(path)
    [(movie, movie_end)] = _find(data, "moov")
    assert movie_end == len(data), "chunks would move"
    [(head, _)] = _find(data, "moov/mvhd")
    scale = struct.unpack_from(">I", data, head + 20)[0]
    struct.pack_into(">I", data, head + 24, round(scale * length))
    grown = 0
    for track, track_end in list(_find(data, "moov/trak")):
        track, track_end = track + grown, track_end + grown
        [(place, _)] = _find(data, "tkhd", track + 8, track_end)
        struct.pack_into(">I", data, place + 28, round(scale * length))
        [(media, _)] = _find(data, "mdia/mdhd", track + 8, track_end)
        ticks = struct.unpack_from(">I", data, media + 20)[0]
        old = list(_find(data, "edts", track + 8, track_end))
        zero = struct.unpack_from(">i", data, old[0][0] + 28)[0] if old else 0
        pictures = any(_find(data, "mdia/minf/vmhd", track + 8, track_end))
        made = _edit_list(edits_of(pictures), scale, ticks, zero)
        begin, end = old[0] if old else (place, place)
        data[begin:end] = made
        struct.pack_into(">I", data, track, track_end - track + len(made) - (end - begin))
        grown += len(made) - (end - begin)
    struct.pack_into(">I", data, movie, movie_end - movie + grown)
    return rewrite(path, data)


def mp4_edits(path, *parts):
    """An edit list as editors write it: only these parts (from, to in seconds) are shown, in this order."""
    return _set_edits(path, sum(end - begin for begin, end in parts), lambda _: parts)


def mp4_late_pictures(path, begin, end):
    """Pictures from `begin` on are shown where they were, and those before it not; sound is as it was."""
    return _set_edits(path, end, lambda pictures: [(None, begin), (begin, end)] if pictures else [(0, end)])


def mp4_mirror(path):
    """A display matrix that mirrors as well as it turns: no plain rotation."""
    data = content(path)
    for first, _ in list(_find(data, "moov/trak/tkhd")):
        width = struct.unpack_from(">I", data, first + 84)[0]
        if width:
            struct.pack_into(">9i", data, first + 48, -65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30)
    return rewrite(path, data)


# ---- Elementary streams ---------------------------------------------------------------------


def mpeg_open_flags(path):
    """Clears closed_gop in every MPEG-1/2 group header."""
    data = content(path)
    at = data.find(b"\0\0\1\xb8")
    while at >= 0:
        data[at + 7] &= ~0x40
        at = data.find(b"\0\0\1\xb8", at + 4)
    return rewrite(path, data)


def _nals(data):
    """(start, end) of each NAL unit of an Annex B stream, start code included."""
    starts, at = [], data.find(b"\0\0\1")
    while at >= 0:
        starts.append(at - 1 if at > 0 and data[at - 1] == 0 else at)
        at = data.find(b"\0\0\1", at + 3)
    return list(zip(starts, starts[1:] + [len(data)]))


def h264_from_second_key(path):
    """Starts at the second I picture, with the parameter sets: recovery points, and no IDR at all."""
    data = content(path)
    sets, kept, started = bytearray(), bytearray(), False
    for start, end in _nals(data):
        kind = data[data.index(b"\1", start) + 1] & 0x1F
        if kind in (7, 8) and not started:
            sets += data[start:end]
        if kind == 6 and not started and kept == b"" and b"\x06\x06" in data[start:start + 8]:
            started = True
        if started:
            kept += data[start:end]
    if not started:
        raise RuntimeError("no recovery point found")
    return rewrite(path, sets + kept)


# ---- IVF, AVI -------------------------------------------------------------------------------

IVF_HEAD, IVF_FRAME = 32, 12  # bytes in front of the file and of each frame


def _ivf_frames(data):
    """(time, bytes) of each frame."""
    at = IVF_HEAD
    while at + IVF_FRAME <= len(data):
        size, time = struct.unpack_from("<IQ", data, at)
        yield time, data[at + IVF_FRAME:at + IVF_FRAME + size]
        at += IVF_FRAME + size


def ivf_append(path, options):
    """The movie, and behind it the frames that ffmpeg makes of it: their size is in them alone."""
    first, second = content(path), content(ffmpeg(path, options))
    times = [time for time, _ in _ivf_frames(first)]
    behind = times[-1] + times[1] - times[0]
    for time, frame in _ivf_frames(second):
        first += struct.pack("<IQ", len(frame), behind + time) + frame
    struct.pack_into("<I", first, 24, struct.unpack_from("<I", first, 24)[0] * 2)
    return rewrite(path, first)


def _behind_each(data, code, start=0):
    """Places behind each occurrence of a code."""
    at = data.find(code, start)
    while at >= 0:
        yield at + len(code)
        at = data.find(code, at + len(code))


def ivf_claim(path, width, height):
    """VP8 in IVF whose header and key frames claim another size."""
    data = content(path)
    struct.pack_into("<HH", data, 12, width, height)
    for at in _behind_each(data, b"\x9d\x01\x2a", IVF_HEAD):  # the start code of a key frame
        struct.pack_into("<HH", data, at, width, height)
    return rewrite(path, data)


def avi_claim(path, width, height):
    """Motion JPEG in AVI whose headers claim another size: the file's, the track's, each picture's."""
    data = content(path)
    struct.pack_into("<II", data, data.index(b"avih") + 40, width, height)
    struct.pack_into("<II", data, data.index(b"strf") + 12, width, height)
    for at in _behind_each(data, b"\xff\xc0\x00\x11\x08"):  # SOF0 of three components with 8 bits
        struct.pack_into(">HH", data, at, height, width)
    return rewrite(path, data)


def mp4_claim(path, width, height):
    """A track header and a sample description that claim another size."""
    data = content(path)
    for first, _ in list(_find(data, "moov/trak/tkhd")):
        struct.pack_into(">II", data, first + 84, width << 16, height << 16)
    for first, _ in list(_find(data, "moov/trak/mdia/minf/stbl/stsd")):
        struct.pack_into(">HH", data, first + 16 + 32, width, height)
    return rewrite(path, data)
