#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Movies whose headers claim absurd picture sizes: an error that says why or a whole output, in bounded memory.

Each movie is sound but for its size, which is written over by hand where a demuxer or a decoder reads it.
"""

import re
import resource
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, check, run_all, sanitized  # noqa: E402

WIDTH, HEIGHT = 320, 272  # two bytes each in Matroska
# None; one pixel; what 12 and 16 bits hold; the most that is let in.
SIZES = [(0, 0), (1, 1), (4095, 4095), (65535, 65535), (8192, 8192)]
MEMORY = 1 << 30
SECONDS = 60


def be16(data, at, *values):
    struct.pack_into(f">{len(values)}H", data, at, *values)


def places(data, mark):
    return [found.start() for found in re.finditer(re.escape(mark), data)]


def sample_entry(data, kind, size):
    """Width and height of an ISO base media file, of its track and of its coding."""
    be16(data, places(data, kind)[-1] + 28, *size)
    at = places(data, b"tkhd")[0] - 4
    end = at + struct.unpack_from(">I", data, at)[0]
    struct.pack_into(">II", data, end - 8, size[0] << 16, size[1] << 16)


def mp4(data, size):
    sample_entry(data, b"avc1", size)


def prores(data, size):
    sample_entry(data, b"apcn", size)
    for at in places(data, b"icpf"):
        be16(data, at + 12, *size)


def mpeg(data, size):
    for at in places(data, b"\0\0\1\xb3"):
        width, height = (side & 0xFFF for side in size)
        data[at + 4:at + 7] = (width << 12 | height).to_bytes(3, "big")


def ivf(data, size):
    struct.pack_into("<HH", data, 12, *size)
    for at in places(data, b"\x9d\x01\x2a"):
        struct.pack_into("<HH", data, at + 3, *(side & 0x3FFF for side in size))


def matroska(data, size):
    for mark, side in (b"\xb0\x82", size[0]), (b"\xba\x82", size[1]):
        be16(data, places(data, mark)[0] + 2, side)


def mjpeg(data, size):
    for at in places(data, b"\xff\xc0\0\x11\x08"):
        be16(data, at + 5, size[1], size[0])


def y4m(data, size):
    end = data.index(b"\n")
    data[:end] = re.sub(rb"W\d+ H\d+", b"W%d H%d" % size, bytes(data[:end]))


def avi(data, size):
    struct.pack_into("<ii", data, places(data, b"strf")[0] + 12, *size)


def golomb(value):
    bits = f"{value + 1:b}"
    return "0" * (len(bits) - 1) + bits


def h264(data, size):
    """A parameter set of baseline, level 6.2, in the place of the movie's own."""
    units = re.split(rb"\x00?\x00\x00\x01", bytes(data))
    bits = f"{66:08b}{0:08b}{62:08b}" + "".join(golomb(value) for value in (0, 0, 2, 1)) + "0"
    bits += golomb(max(0, (size[0] + 15) // 16 - 1)) + golomb(max(0, (size[1] + 15) // 16 - 1)) + "11001"
    bits += "0" * (-len(bits) % 8)
    own = b"\x67" + bytes(int(bits[at:at + 8], 2) for at in range(0, len(bits), 8))
    own = re.sub(rb"\x00\x00(?=[\x00-\x03])", b"\x00\x00\x03", own)
    data[:] = b"".join(b"\0\0\0\1" + (own if unit[0] & 31 == 7 else unit) for unit in units if unit)


MOVIES = {
    "h264.mp4": ("-c:v libx264 -pix_fmt yuv420p", mp4), "prores.mov": ("-c:v prores -pix_fmt yuv422p10le -profile:v 2", prores),
    "mpeg1.mpg": ("-c:v mpeg1video", mpeg), "vp8.ivf": ("-c:v libvpx", ivf),
    "vp9.webm": ("-c:v libvpx-vp9 -deadline realtime", matroska),
    "jpegs.avi": ("-c:v mjpeg -pix_fmt yuvj420p", mjpeg), "raw.y4m": ("-pix_fmt yuv420p", y4m),
    "raw.avi": ("-c:v rawvideo -pix_fmt yuv420p", avi),
    "baseline.h264": ("-c:v libx264 -profile:v baseline -pix_fmt yuv420p", h264)}


def run(source, output, memory):
    """Exit code and what was said."""
    def limit():
        if memory:
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))

    done = subprocess.run([PROGRAM, "transcode", source, output, "--force", "--quiet", "--size", "160x96", "--fit", "stretch",
                           "--preset", "ultrafast", "--workers", "2"], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=SECONDS, preexec_fn=limit, check=False)
    return done.returncode, done.stderr.strip()


def ends_well(source, output, name, memory):
    code, words = run(source, output, memory)
    check(code in (0, 3), f"{name}: exit code {code}: {words[-300:]}")
    if code == 0:
        seen = subprocess.run(["ffmpeg", "-v", "error", "-i", output, "-f", "null", "-"], capture_output=True, text=True, check=False)
        check(seen.returncode == 0 and seen.stderr == "", f"{name}: the output does not decode: {seen.stderr[:200]}")
        output.unlink()
    else:
        check(words != "" and not output.exists(), f"{name}: says '{words}', output: {output.exists()}")


def make(folder, name, options):
    path = Path(folder, name)
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc=size={WIDTH}x{HEIGHT}:rate=25:duration=0.12",
                    *options.split(), path], check=True)
    return path.read_bytes()


def absurd_sizes():
    memory = 0 if sanitized() else MEMORY
    with tempfile.TemporaryDirectory() as folder:
        for name, (options, write_size) in MOVIES.items():
            good = make(folder, name, options)
            source, output = Path(folder, f"absurd-{name}"), Path(folder, "out.mkv")
            for size in SIZES:
                data = bytearray(good)
                write_size(data, size)
                check(data != good, f"{name}: nothing to write {size} to")
                source.write_bytes(data)
                ends_well(source, output, f"{name} of {size[0]}x{size[1]}", memory)


if __name__ == "__main__":
    sys.exit(run_all([absurd_sizes]))
