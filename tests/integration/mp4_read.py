# SPDX-License-Identifier: Apache-2.0
"""What the boxes of CMAF say: times and first sample of a fragment, codec strings, time scales."""


def boxes(data, path=()):
    """Boxes by path: ("moof", "traf", "tfdt") -> its content, the first of each."""
    found, at = {}, 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at:at + 4], "big")
        name = data[at + 4:at + 8].decode("latin-1")
        if size < 8 or at + size > len(data):
            break
        content = data[at + 8:at + size]
        found.setdefault(path + (name,), content)
        if name in ("moov", "trak", "mdia", "minf", "stbl", "edts", "moof", "traf"):
            for key, value in boxes(content, path + (name,)).items():
                found.setdefault(key, value)
        at += size
    return found


class Fragment:
    """Times (ticks) and first sample of one CMAF segment."""

    def __init__(self, data):
        tree = boxes(data)
        decode_time = tree[("moof", "traf", "tfdt")]
        self.decode_time = int.from_bytes(decode_time[4:], "big")
        header = tree[("moof", "traf", "tfhd")]
        flags, at = int.from_bytes(header[1:4], "big"), 8
        at += 8 * bool(flags & 1) + 4 * bool(flags & 2)
        default = [0, 0, 0]
        for index, bit in enumerate((8, 16, 32)):  # duration, size, flags
            if flags & bit:
                default[index] = int.from_bytes(header[at:at + 4], "big")
                at += 4
        run = tree[("moof", "traf", "trun")]
        flags, count, at = int.from_bytes(run[1:4], "big"), int.from_bytes(run[4:8], "big"), 8
        at += 4 * bool(flags & 1)
        first_flags = default[2]
        if flags & 4:
            first_flags = int.from_bytes(run[at:at + 4], "big")
            at += 4
        self.samples, self.duration = count, 0
        for sample in range(count):
            row = list(default)
            for index, bit in enumerate((0x100, 0x200, 0x400)):
                if flags & bit:
                    row[index] = int.from_bytes(run[at:at + 4], "big")
                    at += 4
            offset = 0
            if flags & 0x800:
                offset = int.from_bytes(run[at:at + 4], "big", signed=bool(run[0]))
                at += 4
            if sample == 0:
                self.first_size, self.first_offset = row[1], offset
                first_flags = row[2] if flags & 0x400 else first_flags
            self.duration += row[0]
        self.sync = not first_flags & 0x10000
        self.first = tree[("mdat",)][:self.first_size]


def avc_is_idr(sample):
    at = 0
    while at + 5 <= len(sample):
        size = int.from_bytes(sample[at:at + 4], "big")
        if sample[at + 4] & 31 == 5:
            return True
        at += 4 + size
    return False


def avc_codec(init):
    """From the sequence parameter set itself, not from the box around it."""
    entry = boxes(init)[("moov", "trak", "mdia", "minf", "stbl", "stsd")]
    at = entry.index(b"avcC") + 4
    size = int.from_bytes(entry[at + 6:at + 8], "big")
    sps = entry[at + 8:at + 8 + size]
    return f"avc1.{sps[1]:02X}{sps[2]:02X}{sps[3]:02X}"


def aac_codec(descriptors):
    """RFC 6381 3.3, from the decoder's own configuration: the object type of MP4 and that of AAC (ISO 14496-3 1.6.2.1)."""
    at, kind = 0, None
    while at < len(descriptors):
        tag, at = descriptors[at], at + 1
        while descriptors[at] & 0x80:
            at += 1
        size, at = descriptors[at], at + 1
        if tag == 3:  # ES_Descriptor: an id and flags, then others
            at += 3
        elif tag == 4:
            kind, at = descriptors[at], at + 13
        elif tag == 5:
            return f"mp4a.{kind:x}.{descriptors[at] >> 3}"
        else:
            at += size
    return None


def codec_of(init):
    """What a master playlist or a manifest has to call it; None for codecs that are not looked into."""
    entry = boxes(init)[("moov", "trak", "mdia", "minf", "stbl", "stsd")]
    if b"avcC" in entry:
        return avc_codec(init)
    if b"esds" in entry:
        return aac_codec(entry[entry.index(b"esds") + 8:])
    return "Opus" if entry[12:16] == b"Opus" else None  # RFC 6381 3.3: the name of the sample entry


def timescale(init):
    return int.from_bytes(boxes(init)[("moov", "trak", "mdia", "mdhd")][12:16], "big")


def lead(init):
    """What the edit list takes off, ticks."""
    edits = boxes(init).get(("moov", "trak", "edts", "elst"))
    return int.from_bytes(edits[12:16], "big") if edits else 0
