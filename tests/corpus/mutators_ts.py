# SPDX-License-Identifier: Apache-2.0
"""Steps on MPEG-TS: packets that are lost, sent twice, moved in time."""

from mutators import content, rewrite

TS_PACKET = 188


def _ts_packets(data):
    return [data[at:at + TS_PACKET] for at in range(0, len(data) - TS_PACKET + 1, TS_PACKET)]


def _pid(packet):
    return (packet[1] & 0x1F) << 8 | packet[2]


def ts_lose(path, pid, first, every):
    """Loses one packet of a pid in `every`, from the first on."""
    kept, seen = bytearray(), 0
    for packet in _ts_packets(content(path)):
        if _pid(packet) == pid:
            seen += 1
            if seen > first and seen % every == 0:
                continue
        kept += packet
    return rewrite(path, kept)


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
    data, zero = content(path), None
    for start, _ in _pes_headers(data):
        stamps = {2: [9], 3: [9, 14]}.get(data[start + 7] >> 6, [])
        if stamps:
            last = _stamp(data, start + stamps[-1])
            zero = last if zero is None else zero
            if last >= zero + seconds * 90000:
                for at in stamps:
                    _shift_stamp(data, start + at, ticks)
    return rewrite(path, data)


def ts_piece_in_front(path, pid, number, packets):
    """A copy of some packets of a pid, from its picture `number` on, comes before all else."""
    parts = _ts_packets(content(path))
    track = [part for part in parts if _pid(part) == pid]
    starts = [at for at, part in enumerate(track) if part[1] & 0x40]
    piece = track[starts[number]:starts[number] + packets]
    return rewrite(path, b"".join(piece + parts))


def ts_pieces(path, pid, *pieces):
    """All that lies between two pictures of a pid (the first one, the one behind), of each piece in turn: what a sender repeats
    or sends too late."""
    data = content(path)
    starts = [start // TS_PACKET * TS_PACKET for start, this in _pes_headers(data) if this == pid] + [len(data)]
    head = data[:starts[0]]
    return rewrite(path, head + b"".join(data[starts[first]:starts[behind]] for first, behind in pieces))


def ts_bend(path, pid, number, ticks):
    """One picture's time stamps are wrong, those behind it are not."""
    data, seen = content(path), 0
    for start, this in _pes_headers(data):
        seen += this == pid
        if this == pid and seen == number:
            for at in {2: [9], 3: [9, 14]}.get(data[start + 7] >> 6, []):
                _shift_stamp(data, start + at, ticks)
    return rewrite(path, data)


def ts_swap_stamps(path, pid, every):
    """pts and dts of one PES header in `every` that has both change places: shown before it is decoded."""
    data, seen = content(path), 0
    for start, this in _pes_headers(data):
        if this != pid or data[start + 7] >> 6 != 3:
            continue
        seen += 1
        if seen % every == 0:
            data[start + 9:start + 19] = data[start + 14:start + 19] + data[start + 9:start + 14]
    return rewrite(path, data)


def ts_drop_stamps(path, pid, every):
    """Takes pts and dts from all PES headers of a track but one in `every`."""
    data, seen = content(path), 0
    for start, this in _pes_headers(data):
        if this != pid:
            continue
        seen += 1
        if seen % every != 1:
            data[start + 7] &= 0x3F
            length = data[start + 8]
            data[start + 9:start + 9 + length] = b"\xff" * length
    return rewrite(path, data)


def ts_repeat(path, pid, every):
    """Sends one packet in `every` of a track twice, as the standard allows."""
    result, seen = bytearray(), 0
    for packet in _ts_packets(content(path)):
        result += packet
        if _pid(packet) == pid:
            seen += 1
            if seen % every == 0:
                result += packet
    return rewrite(path, result)


def ts_junk(path, count):
    """Junk between packets: the reader has to find the next one."""
    packets = _ts_packets(content(path))
    step = max(1, len(packets) // (count + 1))
    result = bytearray()
    for number, packet in enumerate(packets):
        if number % step == step - 1:
            result += b"\x47junk" * 7
        result += packet
    return rewrite(path, result)
