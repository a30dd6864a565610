#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`start=` at places where a container's search does not help: behind the last key picture, in one long group, in front of the
first picture, where pictures recover slowly. The first picture is the one that is shown then, and sound is there from the first sample."""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, check, run_all  # noqa: E402

FPS = 25
H264 = ["-c:v", "libx264", "-preset", "ultrafast", "-sc_threshold", "0", "-crf", "12"]
SLOW = [*H264, "-x264-params", "intra-refresh=1:bframes=0"]
HEVC = ["-c:v", "libx265", "-preset", "ultrafast", "-crf", "14"]


def make(folder, name, seconds, codec, group, late=0.0):
    """Picture n is as bright as n on its left half (times 8), and as n / 25 on its right one; sound lasts from 0 on."""
    level = "16+8*if(lt(X,W/2),mod(N,25),floor(N/25))"
    keys = ["-x265-params", f"log-level=none:keyint={group}:min-keyint={group}:scenecut=0"] if codec is HEVC else ["-g", str(group)]
    subprocess.run(["ffmpeg", "-nostdin", "-y", "-v", "error", "-itsoffset", str(late), "-f", "lavfi", "-i",
                    f"color=gray:s=128x64:r={FPS}:d={seconds},format=yuv420p,geq=lum='{level}':cb=128:cr=128", "-f", "lavfi", "-i",
                    f"sine=440:r=48000:d={seconds + late}", "-vsync", "passthrough", *codec, *keys, "-c:a", "aac",
                    str(Path(folder, name))], check=True)


def number(picture):
    """Of the picture that was made; None of one that is nothing of the kind."""
    left = sum(picture[32 * 128 + 8:32 * 128 + 56]) / 48
    right = sum(picture[32 * 128 + 72:32 * 128 + 120]) / 48
    within, seconds = (left - 16) / 8, (right - 16) / 8
    if abs(within - round(within)) > 0.3 or abs(seconds - round(seconds)) > 0.3:
        return None
    return round(seconds) * 25 + round(within)


def transcoded(folder, name, start, duration=0.4):
    """(numbers of the pictures, when the first picture and the first sound are)."""
    out = Path(folder, "out.mkv")
    done = subprocess.run([PROGRAM, "transcode", str(Path(folder, name)), str(out), "--start", str(start), "--duration", str(duration),
                           "--crf", "8", "--preset", "ultrafast", "--force", "--verify"], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{name} from {start}: {done.stderr}")
    raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(out), "-map", "0:v", "-vsync", "passthrough", "-f", "rawvideo",
                          "-pix_fmt", "yuv420p", "-"], capture_output=True, check=True).stdout
    size = 128 * 64 * 3 // 2
    pictures = [raw[at:at + size] for at in range(0, len(raw), size)]
    times = []
    for kind in "va":
        lines = subprocess.run(["ffprobe", "-v", "error", "-select_streams", kind, "-show_entries", "packet=pts_time", "-of", "csv=p=0",
                                str(out)], capture_output=True, text=True, check=True).stdout.split()
        times.append(min((float(line.strip(",")) for line in lines), default=None))
    return [number(picture) for picture in pictures], times


def expect(folder, name, start, late=0.0):
    first = max(0, int((start - late) * FPS + 1e-6))
    count = 10 if start >= late else max(0, round((start + 0.4 - late) * FPS))
    numbers, (video, sound) = transcoded(folder, name, start)
    check(numbers == list(range(first, first + count)),
          f"{name} from {start}: pictures {numbers} instead of {first} to {first + count - 1}")
    check(sound is not None and abs(sound - max(0, min(video, 0))) < 0.05, f"{name} from {start}: sound from {sound}, pictures {video}")


def behind_the_last_key_picture(folder):
    for name in ("short.ts", "hevc.ts", "short.mkv", "short.mp4"):
        for start in (5.804, 7.004, 7.404):
            expect(folder, name, start)


def in_one_long_group(folder):
    for start in (0.004, 2.004, 5.204, 7.004):
        expect(folder, "long.ts", start)


def where_pictures_recover_slowly(folder):
    """Periodic intra refresh: a place of random access is whole a group later."""
    for name in ("slow.ts", "slow.mkv"):
        for start in (0.404, 1.004, 3.044, 5.204, 7.404):
            expect(folder, name, start)


def in_front_of_the_first_picture(folder):
    for start in (0.004, 0.011, 0.019):
        expect(folder, "short.mkv", start)
    for name in ("late.mkv", "late.mp4", "late.ts"):
        for start in (1.75, 2.604, 5.004):
            expect(folder, name, start, late=2.0)


def where_no_length_is_stated(folder):
    """The highest bit rate is in the header, by which the movie would be much shorter."""
    make(folder, "raw.mkv", 8, ["-c:v", "mpeg1video", "-b:v", "600k", "-maxrate", "3M", "-bufsize", "400k"], 25)
    subprocess.run(["ffmpeg", "-nostdin", "-v", "fatal", "-i", str(Path(folder, "raw.mkv")), "-map", "0:v", "-c", "copy", "-f",
                    "mpeg1video", str(Path(folder, "raw.m1v"))], check=True)
    for start, duration in ((0, 6), (6, 1)):
        numbers, _ = transcoded(folder, "raw.m1v", start, duration)
        check(numbers == list(range(start * FPS, (start + duration) * FPS)), f"raw.m1v from {start}: {numbers}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ("ts", "mkv", "mp4"):
            make(folder, f"short.{suffix}", 8, H264, 50)
            make(folder, f"late.{suffix}", 4, H264, 50, late=2.0)
            make(folder, f"slow.{suffix}", 8, SLOW, 25)
        make(folder, "long.ts", 8, H264, 400)
        make(folder, "hevc.ts", 8, HEVC, 50)
        return run_all([behind_the_last_key_picture, in_one_long_group, in_front_of_the_first_picture,
                        where_pictures_recover_slowly, where_no_length_is_stated], folder)


if __name__ == "__main__":
    sys.exit(main())
