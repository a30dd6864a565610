# SPDX-License-Identifier: Apache-2.0
"""Steps that spoil or bend a finished movie. Each takes its path and returns the path of the result."""

import os
import shlex
import struct
import subprocess

TS_PACKET = 188


def _beside(path, ext=None):
    base, old = os.path.splitext(path)
    return f"{base}x{('.' + ext) if ext else old}"


def _rewrite(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def _content(path):
    with open(path, "rb") as file:
        return bytearray(file.read())


def ffmpeg(path, options, ext=None):
    """Once more through ffmpeg: IN and OUT stand for the two files."""
    result = _beside(path, ext)
    words = [path if word == "IN" else result if word == "OUT" else word
             for word in shlex.split(options)]
    done = subprocess.run(["ffmpeg", "-v", "error", "-y", *words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"{options}: {done.stderr[-500:]}")
    return result


def twice(path, options, ext=None):
    """The movie, and behind it the same through ffmpeg: what a concatenated recording looks like."""
    other = ffmpeg(path, options, ext)
    return _rewrite(path, _content(path) + _content(other))


def cut_bytes(path, part):
    """Only the first part of the file."""
    data = _content(path)
    return _rewrite(path, data[:int(len(data) * part)])


def cut_head(path, part):
    data = _content(path)
    return _rewrite(path, data[int(len(data) * part):])


def flip_bytes(path, seed, count, first=4096):
    """Some bytes of the payload become others."""
    data = _content(path)
    state = seed
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        at = first + (state >> 20) % max(1, len(data) - first)
        data[at] = (state >> 8) & 0xFF
    return _rewrite(path, data)


def attach_cover(path):
    """A Matroska file with a picture attached to it."""
    cover = ffmpeg(path, "-f lavfi -i testsrc=s=64x64 -frames:v 1 OUT", "png")
    return ffmpeg(path, f"-i IN -map 0 -c copy -attach {cover} -metadata:s:t mimetype=image/png OUT")


# ---- MPEG-TS --------------------------------------------------------------------------------


def _ts_packets(data):
    return [data[at:at + TS_PACKET] for at in range(0, len(data) - TS_PACKET + 1, TS_PACKET)]


def _pid(packet):
    return (packet[1] & 0x1F) << 8 | packet[2]


def ts_lose(path, pid, first, every):
    """Loses one packet of a pid in `every`, from the first on."""
    kept, seen = bytearray(), 0
    for packet in _ts_packets(_content(path)):
        if _pid(packet) == pid:
            seen += 1
            if seen > first and seen % every == 0:
                continue
        kept += packet
    return _rewrite(path, kept)


def _stamp(data, at):
    return ((data[at] >> 1 & 7) << 30 | data[at + 1] << 22 | (data[at + 2] >> 1) << 15
            | data[at + 3] << 7 | data[at + 4] >> 1)


def _shift_stamp(data, at, ticks):
    """Moves the 33-bit time stamp of a PES header that starts at `at`."""
    new = (_stamp(data, at) + ticks) % 2 ** 33
    data[at] = data[at] & 0xF1 | (new >> 30 & 7) << 1
    data[at + 1] = new >> 22 & 0xFF
    data[at + 2] = new >> 14 & 0xFE | 1
    data[at + 3] = new >> 7 & 0xFF
    data[at + 4] = new << 1 & 0xFE | 1


def _pes_headers(data):
    """(offset of the PES header, pid) of each TS packet that starts one."""
    for at in range(0, len(data) - TS_PACKET + 1, TS_PACKET):
        if not data[at + 1] & 0x40:
            continue
        start = at + 4 + (1 + data[at + 4] if data[at + 3] & 0x20 else 0)
        if data[start:start + 3] == b"\0\0\1" and start + 19 <= at + TS_PACKET:
            yield start, _pid(data[at:at + 4])


def ts_shift(path, ticks, seconds):
    """A splice: what is `seconds` behind the first time stamp moves by ticks of 1/90000 s."""
    data, zero = _content(path), None
    for start, _ in _pes_headers(data):
        stamps = {2: [9], 3: [9, 14]}.get(data[start + 7] >> 6, [])
        if stamps:
            last = _stamp(data, start + stamps[-1])
            zero = last if zero is None else zero
            if last >= zero + seconds * 90000:
                for at in stamps:
                    _shift_stamp(data, start + at, ticks)
    return _rewrite(path, data)


def ts_bend(path, pid, number, ticks):
    """One picture's time stamps are wrong, those behind it are not."""
    data, seen = _content(path), 0
    for start, this in _pes_headers(data):
        seen += this == pid
        if this == pid and seen == number:
            for at in {2: [9], 3: [9, 14]}.get(data[start + 7] >> 6, []):
                _shift_stamp(data, start + at, ticks)
    return _rewrite(path, data)


def ts_swap_stamps(path, pid, every):
    """pts and dts of one PES header in `every` that has both change places: shown before it is decoded."""
    data, seen = _content(path), 0
    for start, this in _pes_headers(data):
        if this != pid or data[start + 7] >> 6 != 3:
            continue
        seen += 1
        if seen % every == 0:
            data[start + 9:start + 19] = data[start + 14:start + 19] + data[start + 9:start + 14]
    return _rewrite(path, data)


def ts_drop_stamps(path, pid, every):
    """Takes pts and dts from all PES headers of a track but one in `every`."""
    data, seen = _content(path), 0
    for start, this in _pes_headers(data):
        if this != pid:
            continue
        seen += 1
        if seen % every != 1:
            data[start + 7] &= 0x3F
            length = data[start + 8]
            data[start + 9:start + 9 + length] = b"\xff" * length
    return _rewrite(path, data)


def ts_repeat(path, pid, every):
    """Sends one packet in `every` of a track twice, as the standard allows."""
    result, seen = bytearray(), 0
    for packet in _ts_packets(_content(path)):
        result += packet
        if _pid(packet) == pid:
            seen += 1
            if seen % every == 0:
                result += packet
    return _rewrite(path, result)


def ts_junk(path, count):
    """Junk between packets: the reader has to find the next one."""
    packets = _ts_packets(_content(path))
    step = max(1, len(packets) // (count + 1))
    result = bytearray()
    for number, packet in enumerate(packets):
        if number % step == step - 1:
            result += b"\x47junk" * 7
        result += packet
    return _rewrite(path, result)


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
    data = _content(path)
    for first, _ in list(_find(data, box)):
        data[first + 4:first + 8] = name.encode()
    return _rewrite(path, data)


def mp4_mirror(path):
    """A display matrix that mirrors as well as it turns: no plain rotation."""
    data = _content(path)
    for first, _ in list(_find(data, "moov/trak/tkhd")):
        width = struct.unpack_from(">I", data, first + 84)[0]
        if width:
            struct.pack_into(">9i", data, first + 48, -65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30)
    return _rewrite(path, data)


# ---- Elementary streams ---------------------------------------------------------------------


def mpeg_open_flags(path):
    """Clears closed_gop in every MPEG-1/2 group header."""
    data = _content(path)
    at = data.find(b"\0\0\1\xb8")
    while at >= 0:
        data[at + 7] &= ~0x40
        at = data.find(b"\0\0\1\xb8", at + 4)
    return _rewrite(path, data)


def _nals(data):
    """(start, end) of each NAL unit of an Annex B stream, start code included."""
    starts, at = [], data.find(b"\0\0\1")
    while at >= 0:
        starts.append(at - 1 if at > 0 and data[at - 1] == 0 else at)
        at = data.find(b"\0\0\1", at + 3)
    return list(zip(starts, starts[1:] + [len(data)]))


def h264_from_second_key(path):
    """Starts at the second I picture, with the parameter sets: recovery points, and no IDR at all."""
    data = _content(path)
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
    return _rewrite(path, sets + kept)
