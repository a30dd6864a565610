#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Segments of long groups of pictures have the same bytes whether they are asked for one behind the other, where each goes on with
what the one before was decoded with, or backward, where each is decoded from its key picture. Of sources that are not as they
should be, too: a header that does not tell how far pictures are reordered, pictures that were lost, bytes that are damaged, packets
of a transport stream that did not come. And so has a package with any number of workers."""

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, Server, check, run_all  # noqa: E402

SECONDS = 8
QUERY = "width=96&height=64&bitrate=80k&segment=0.5&preset=ultrafast"
GROUPS = ["-g", "250", "-bf", "2"]


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-nostdin", "-y", "-v", "error", *map(str, arguments)], check=True)


def make(folder, name, *codec):
    ffmpeg("-f", "lavfi", "-i", f"testsrc2=s=160x96:r=25:d={SECONDS},noise=alls=12:allf=t,format=yuv420p", *codec, folder / name)


def spoil(folder, source, name, how):
    ffmpeg("-i", folder / source, "-c", "copy", "-bsf:v", how, folder / name)


def lose_packets(folder, source, name):
    stream = (folder / source).read_bytes()
    packets = [stream[at:at + 188] for at in range(0, len(stream), 188)]
    (folder / name).write_bytes(b"".join(packet for n, packet in enumerate(packets) if n < 60 or n % 97 != 0))


class Bits:
    """What is read one after the other from the bits of a parameter set."""

    def __init__(self, data):
        self.bits, self.at = "".join(f"{byte:08b}" for byte in data), 0

    def take(self, count):
        self.at += count
        return int(self.bits[self.at - count:self.at], 2)

    def golomb(self, times=1):
        for _ in range(times):
            zeros = self.bits.index("1", self.at) - self.at
            self.at += zeros
            number = self.take(zeros + 1) - 1
        return number


def without_vui(sequence_set):
    """The same sequence parameter set of H.264, progressive and of profile High, with zeros in place of its usability information,
    which tells how far pictures are reordered."""
    bits = Bits(sequence_set)
    bits.take(8 + 24)  # of the unit; profile, constraints, level
    bits.golomb(4)  # its number, chroma, depths
    check(bits.take(2) == 0, "no scaling matrix")
    bits.golomb()
    check(bits.golomb() == 0, "order by counts")
    bits.golomb(2)
    bits.take(1)
    bits.golomb(2)
    check(bits.take(1) == 1, "frames")
    bits.take(1)
    if bits.take(1):  # cropping
        bits.golomb(4)
    check(b"\0\0\3" not in sequence_set[:bits.at // 8 + 1] and bits.bits[bits.at] == "1", "usability information")
    kept = bits.bits[:bits.at] + "01"
    return int(kept.ljust(len(bits.bits), "0"), 2).to_bytes(len(sequence_set), "big")


def tell_no_reordering(folder, source, name):
    """Decoders have to find out; FFmpeg's loses a picture where it first sees that there is more of it than it knew."""
    movie = (folder / source).read_bytes()
    at = movie.index(b"avcC") + 4 + 6
    length = int.from_bytes(movie[at:at + 2], "big")
    at += 2
    (folder / name).write_bytes(movie[:at] + without_vui(movie[at:at + length]) + movie[at + length:])


def make_movies(folder):
    make(folder, "h264.mkv", "-c:v", "libx264", "-preset", "fast", *GROUPS)
    make(folder, "told.mp4", "-c:v", "libx264", "-preset", "fast", *GROUPS)
    tell_no_reordering(folder, "told.mp4", "untold.mp4")
    (folder / "told.mp4").unlink()
    make(folder, "hevc.mp4", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=250:bframes=3")
    make(folder, "mpeg4.avi", "-c:v", "mpeg4", "-b:v", "300k", *GROUPS)
    make(folder, "mpeg2.ts", "-c:v", "mpeg2video", "-b:v", "400k", *GROUPS)
    make(folder, "vp9.webm", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "200k", "-g", "250")
    for source, name in (("h264.mkv", "lost-h264.mkv"), ("hevc.mp4", "lost-hevc.mp4")):
        spoil(folder, source, name, "noise=drop='eq(mod(n,37),21)'")
    for source, name in (("h264.mkv", "damaged-h264.mkv"), ("hevc.mp4", "damaged-hevc.mp4"), ("mpeg4.avi", "damaged-mpeg4.avi")):
        spoil(folder, source, name, "noise=amount=20000")
    ffmpeg("-i", folder / "h264.mkv", "-c", "copy", folder / "h264.ts")
    lose_packets(folder, "h264.ts", "packets-h264.ts")
    lose_packets(folder, "mpeg2.ts", "packets-mpeg2.ts")


def get(server, path):
    answer, body = server.get(path)
    check(answer.status == 200, f"{path}: {answer.status} {body[:200]}")
    return body


def in_any_order(folder):
    names = sorted(path.name for path in folder.iterdir())
    with Server(str(folder), "--segment-cache-bytes", "0") as forward, Server(str(folder), "--segment-cache-bytes", "0") as backward:
        for name in names:
            base = f"/v1/hls/{name}"
            segments = re.findall(r"v0-\d+\.m4s", get(forward, f"{base}/v0.m3u8?{QUERY}").decode())
            check(len(segments) >= 2 * SECONDS - 2, f"{name}: {len(segments)} segments")
            before = forward.metric("gopmill_segments_gone_on_total")
            one = {segment: get(forward, f"{base}/{segment}?{QUERY}") for segment in segments}
            other = {segment: get(backward, f"{base}/{segment}?{QUERY}") for segment in reversed(segments)}
            unlike = [segment for segment in segments if one[segment] != other[segment]]
            check(not unlike, f"{name}: {unlike} depend on the order")
            gone_on = forward.metric("gopmill_segments_gone_on_total") - before
            check(gone_on > 0 or "damaged" in name or "packets" in name, f"{name}: none went on")
            if "-" not in name:
                check(gone_on >= len(segments) - 3, f"{name}: {gone_on} of {len(segments)} went on")
        check(backward.metric("gopmill_segments_gone_on_total") == 0, "backward none goes on")


def packaged(source, out, *flags):
    done = subprocess.run([PROGRAM, "package", "--quiet", str(source), str(out), *flags], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{source.name} {flags}: {done.stderr}")
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in out.rglob("*") if path.is_file()}


def packages(folder):
    with tempfile.TemporaryDirectory() as out:
        for name in ("h264.mkv", "hevc.mp4", "mpeg4.avi", "damaged-h264.mkv"):
            made = [packaged(folder / name, Path(out, f"{name}-{workers}"), "--rungs", "128x72:100k,96x54:60k", "--segment", "0.5",
                             "--preset", "ultrafast", "--workers", workers) for workers in ("1", "2", "5")]
            check(len(made[0]) > 4 * SECONDS, f"{name}: {len(made[0])} files")
            check(made[0] == made[1] == made[2], f"{name}: other files with other workers")


def main():
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make_movies(folder)
        return run_all([in_any_order, packages], folder)


if __name__ == "__main__":
    sys.exit(main())
