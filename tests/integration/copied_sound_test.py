#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Copied sound: heavy sound beside pictures that take long, with few and many workers; sound that lies far from its pictures;
what begins late in a streamed MP4; AAC that only its packets describe."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, check, run_all  # noqa: E402

FAST = ["--preset", "ultrafast", "--height", "72", "--acodec", "copy"]


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", *map(str, arguments)], check=True)


def transcode(source, target, *arguments, stdout=None):
    return subprocess.run([PROGRAM, "transcode", source, target, "--force", *FAST, *map(str, arguments)], stdout=stdout,
                          stderr=subprocess.PIPE, check=False, timeout=300)


def packets(path, track):
    listed = subprocess.run(["ffprobe", "-v", "error", "-select_streams", track, "-show_entries", "packet=pts_time,size",
                             "-of", "json", str(path)], capture_output=True, check=True)
    return json.loads(listed.stdout)["packets"]


def sound_hash(path):
    return subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-map", "0:a", "-c", "copy", "-f", "streamhash", "-"],
                          capture_output=True, check=True).stdout


# 0.9 MB of sound a second, next to its pictures: 36 MB.
def make_heavy(folder, name, pictures, *arguments):
    ffmpeg("-f", "lavfi", "-i", pictures, "-f", "lavfi", "-i", "anoisesrc=d=40:r=48000:a=0.1", "-map", "0", "-map", "1",
           "-c:v", "libx264", "-preset", "ultrafast", "-g", "50", "-ac", "6", "-c:a", "pcm_s24le", *arguments, folder / name)


def heavy_sound_does_not_depend_on_workers(folder):
    make_heavy(folder, "heavy.mkv", "testsrc2=s=640x360:r=25:d=40")
    outputs = []
    for workers in (1, 16):
        target = folder / f"heavy-{workers}.mkv"
        done = transcode(folder / "heavy.mkv", target, "--workers", workers)
        check(done.returncode == 0, f"{workers} workers: {done.stderr.decode()[-300:]}")
        outputs.append(target.read_bytes())
    check(outputs[0] == outputs[1], "bytes depend on the number of workers")
    check(sound_hash(folder / "heavy.mkv") == sound_hash(folder / "heavy-16.mkv"), "sound is not the source's")


def long_units_may_have_more_of_it(folder):
    done = transcode(folder / "heavy.mkv", folder / "long.mkv", "--workers", 4, "--unit", 30)
    check(done.returncode == 0, f"unit=30: {done.stderr.decode()[-300:]}")


def sound_far_from_its_pictures_is_an_error(folder):
    # No picture for 36 s; and sound that stands 25 s (21 MB) in front of its pictures.
    make_heavy(folder, "gap.mkv", "testsrc2=s=128x72:r=25:d=40", "-vf", "select='lt(t,2)+gt(t,38)'", "-fps_mode", "vfr")
    make_heavy(folder, "apart.mkv", "testsrc2=s=128x72:r=25:d=40", "-max_interleave_delta", "1", "-bsf:a",
               "setts=ts=TS+25/TB")
    for name in ("gap.mkv", "apart.mkv"):
        for workers in (1, 16):
            done = transcode(folder / name, folder / "never.mkv", "--workers", workers)
            check(done.returncode == 3 and b"lie too far apart" in done.stderr and b"16 MiB" in done.stderr,
                  f"{name}, {workers} workers: {done.returncode} {done.stderr.decode()[-300:]}")


def late_dolby_sound_in_a_streamed_mp4(folder):
    for codec in ("ac3", "eac3"):
        source = folder / f"{codec}.mkv"
        ffmpeg("-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=9", "-f", "lavfi", "-i", "sine=d=9", "-itsoffset", "6", "-f",
               "lavfi", "-i", "sine=d=3", "-map", "0", "-map", "1", "-map", "2", "-c:v", "libx264", "-preset", "ultrafast",
               "-g", "25", "-c:a:0", "aac", "-c:a:1", codec, source)
        for number, tracks in (("2", 1), ("all", 2)):
            target = folder / f"{codec}-{number}.mp4"
            with target.open("wb") as out:
                done = transcode(source, "-", "--container", "mp4", "--audio", number, stdout=out)
            check(done.returncode == 0, f"{codec}, {number}: {done.stderr.decode()[-300:]}")
            times = [float(p["pts_time"]) for p in packets(target, f"a:{tracks - 1}")]
            check(len(times) > 80 and abs(times[0] - 6) < 0.05, f"{codec}, {number}: {times[:3]}")
            check(len(packets(target, "v")) == 225, f"{codec}, {number}: pictures")
        target = folder / "none.mp4"
        with target.open("wb") as out:
            done = transcode(source, "-", "--container", "mp4", "--audio", 2, "--duration", 2, stdout=out)
        check(done.returncode == 2 and b"container=mkv" in done.stderr, f"{codec}, none: {done.stderr.decode()[-300:]}")
        check(target.stat().st_size == 0, f"{codec}, none: something came out")
        check(transcode(source, target, "--audio", 2, "--duration", 2).returncode == 0, f"{codec}, none, into a file")


def aac_that_only_its_packets_describe(folder):
    for layout, configured in (("stereo", True), ("3.0", True), ("4.0", True), ("5.0", True), ("5.1", True), ("7.1", True),
                               ("5.1(side)", False), ("quad", False), ("2.1", False), ("6.1", False)):
        source = folder / "adts.ts"
        ffmpeg("-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=2", "-f", "lavfi", "-i", f"anullsrc=cl={layout}:r=48000", "-t",
               2, "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", "-y", source)
        for name in ("adts.mp4", "adts.mkv"):
            done = transcode(source, folder / name, "--verify")
            said = f"{layout} into {name}: {done.returncode} {done.stderr.decode()[-300:]}"
            if not configured:
                check(done.returncode == 2 and b"acodec" in done.stderr, said)
                continue
            check(done.returncode == 0, said)
            heard = subprocess.run(["ffmpeg", "-v", "error", "-i", folder / name, "-map", "0:a", "-f", "null", "-"],
                                   capture_output=True, check=True)
            check(not heard.stderr, f"{layout} in {name}: {heard.stderr[-200:]}")


def sound_that_nobody_can_decode_is_found(folder):
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=2", "-f", "lavfi", "-i", "sine=d=2", "-c:v", "libx264", "-preset",
           "ultrafast", "-c:a", "aac", folder / "whole.mkv")
    ffmpeg("-i", folder / "whole.mkv", "-c", "copy", "-bsf:a", "noise=amount=20", folder / "noise.mkv")
    done = transcode(folder / "noise.mkv", folder / "found.mkv", "--verify")
    check(done.returncode == 1 and b"packets of sound are damaged" in done.stderr,
          f"{done.returncode} {done.stderr.decode()[-300:]}")
    check(transcode(folder / "whole.mkv", folder / "found.mkv", "--verify").returncode == 0, "whole sound")


def main():
    with tempfile.TemporaryDirectory() as folder:
        return run_all((heavy_sound_does_not_depend_on_workers, long_units_may_have_more_of_it,
                        sound_far_from_its_pictures_is_an_error, late_dolby_sound_in_a_streamed_mp4,
                        aac_that_only_its_packets_describe, sound_that_nobody_can_decode_is_found), Path(folder))


if __name__ == "__main__":
    sys.exit(main())
