#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A server that may not take more than so much memory survives uploads that would need more, and serves on; and what a
transcode of large pictures takes, and one on many workers."""

import os
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from http_test import upload  # noqa: E402
from served import PROGRAM, Server, check, run_all, sanitized, wait_until  # noqa: E402

QUERY = "width=160&height=90&bitrate=100k&preset=ultrafast"
MIB = 1 << 20
ROOM = 96 * MIB  # beside what a server has at its start: two streams with 8 MiB of stack for each of their threads
ENDLESS = 400  # MiB


def endless(head, rest):
    yield head
    for _ in range(ENDLESS):
        yield rest


def short_movie(folder, name, *options):
    path = Path(folder, name)
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=320x176:rate=25:duration=4", "-c:v", "mpeg4",
                    "-g", "10", *options, path], check=True)
    return bytearray(path.read_bytes())


def mp4_with_a_huge_sample(folder):
    """It says so in front; the pictures before it are sound."""
    data = short_movie(folder, "one.mp4", "-movflags", "+faststart")
    struct.pack_into(">I", data, data.index(b"stsz") + 12 + 4 * 90, 0x7FFFFF00)
    struct.pack_into(">I", data, data.index(b"mdat") - 4, 0x7FFFFFF0)
    return bytes(data)


def avi_with_a_huge_chunk(folder):
    data = short_movie(folder, "one.avi")
    end = data.rindex(b"00dc", 0, data.index(b"idx1"))
    struct.pack_into("<I", data, end + 4, 0x7FFFFFF0)
    return bytes(data[:end + 1000])


def matroska_with_a_huge_block(folder):
    """One of 1.5 GB, behind all others."""
    data = short_movie(folder, "one.mkv", "-f", "matroska", "-live", "1")
    return bytes(data) + b"\xa3\x01\0\0\0\x60\0\0\0\x81\0\0\x80"


def hostile_uploads(server):
    noise = random.Random(7).randbytes(MIB)
    with tempfile.TemporaryDirectory() as folder:
        for name, head, rest, expected in [
                ("zeros", b"\0", bytes(MIB), 422), ("noise", b"x", noise, 422),
                ("a huge sample", mp4_with_a_huge_sample(folder), noise, 200),
                ("a huge block", matroska_with_a_huge_block(folder), noise, 200),
                ("a huge chunk", avi_with_a_huge_chunk(folder), noise, 200)]:
            status = upload(server, QUERY, endless(head, rest))[0].status
            check(status == expected, f"{name}: {status} instead of {expected}")
            wait_until(lambda: not server.running(), 10, f"{name}: its stream goes on")
            check(server.get("/healthz")[0].status == 200, f"{name}: the server is gone")


def peak_of(source, folder, *flags):
    """MiB that a transcode takes at most."""
    words = [PROGRAM, "transcode", source, f"{folder}/out.mp4", "--force", "--quiet", *flags]
    _, status, usage = os.wait4(os.spawnv(os.P_NOWAIT, PROGRAM, words), 0)
    check(status == 0, f"a transcode of {source}: {status}")
    return usage.ru_maxrss // 1024


def large_pictures():
    """An x264 encoder and what it works on: 256 MiB. With frames that are kept for another pass, for which there is no room,
    it was 301 to 303. One worker, since the peaks of several need not come together."""
    with tempfile.TemporaryDirectory() as folder:
        peak = peak_of("movies/files/modern-1080p.mkv", folder, "--duration", "5", "--bitrate", "3M", "--preset", "veryfast", "--workers", "1")
    check(peak < 280, f"1080p on one worker took {peak} MiB")


def many_workers():
    """For one stream only so many units are in work: 64 workers take what 32 do, not twice as much. A file of 9 MB takes some
    650 MiB, where 64 units at a time would be 2,800."""
    flags = ("--size", "640x360", "--bitrate", "300k", "--preset", "veryfast", "--workers")
    with tempfile.TemporaryDirectory() as folder:
        source = f"{folder}/long.mp4"
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25", "-t", "150", "-c:v", "libx264",
                        "-preset", "ultrafast", "-g", "25", "-b:v", "500k", source], check=True)
        some, more = (peak_of(source, folder, *flags, workers) for workers in ("32", "64"))
        told = subprocess.run([PROGRAM, "explain", source, *flags, "64", "--json", "-"], capture_output=True, text=True, check=True).stdout
    estimated = int(re.search(r'"memory_bytes": *(\d+)', told)[1]) // MIB
    check(more < 1.25 * some, f"64 workers took {more} MiB, 32 took {some}")
    check(more < min(900, estimated), f"64 workers took {more} MiB, of which {estimated} were told")


def main():
    if sanitized():
        print("skipped: sanitizers take memory of their own")
        return 77
    with Server() as server:
        status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
        most = int(re.search(r"VmData:\s+(\d+)", status)[1]) * 1024 + ROOM
        resource.prlimit(server.process.pid, resource.RLIMIT_DATA, (most, most))
        failed = run_all([hostile_uploads], server)
    return run_all([large_pictures, many_workers]) or failed


if __name__ == "__main__":
    sys.exit(main())
