#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bad sources and bad requests on the command line.

Each must end with the right exit code, a message for people (no FFmpeg number alone), in bounded time,
without an output under the final name. Damaged movies that still hold something must come out whole
with a warning.
"""

import os
import random
import resource
import struct
import subprocess
import sys
import tempfile

PROGRAM = os.environ["GOPMILL_PROGRAM"]
GOOD = "movies/files/sync-720p.mp4"
REFERENCE = "movies/files/ref-street.mpg"
failures = []


def check(condition, text):
    if not condition:
        failures.append(text)
        print("FAIL", text, flush=True)


def transcode(source, folder, *flags, expected, says=""):
    output = os.path.join(folder, "out.mp4")
    done = subprocess.run([PROGRAM, "transcode", source, output, "--quiet", "--force", *flags],
                          capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    name = f"{os.path.basename(source)} {' '.join(flags)}"
    check(done.returncode == expected,
          f"{name}: exit {done.returncode} instead of {expected}: {done.stderr.strip()}")
    check(says in done.stderr, f"{name}: does not say '{says}': {done.stderr.strip()}")
    if expected != 0:
        check(not os.path.exists(output), f"{name}: left an output")
        check(done.stderr.strip() != "", f"{name}: says nothing")
    check(not [f for f in os.listdir(folder) if ".tmp" in f], f"{name}: left a temporary file")
    if os.path.exists(output):
        os.remove(output)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def ffmpeg(*args):
    subprocess.run(["ffmpeg", "-v", "error", "-y", *args], check=True)


def unusable_sources(folder):
    noise = random.Random(1).randbytes(200_000)
    with open(GOOD, "rb") as file:
        good = file.read()
    cases = {
        "empty.mp4": b"",
        "zeros.mp4": bytes(100_000),
        "text.mkv": b"This is not a movie.\n" * 1000,
        "noise.mp4": noise,
        "noise.ts": noise,
        "head-only.mp4": good[:2000],
        "playlist.mp4": b"#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\n",
        "concat.mp4": b"ffconcat version 1.0\nfile /etc/passwd\n",
        # A table of three thousand million places: more than FFmpeg allocates for any.
        "table.mp4": good.replace(b"stco" + bytes(4), b"stco" + bytes(4) + b"\xbc\x30\x15\x7c"),
    }
    for name, data in cases.items():
        transcode(write(os.path.join(folder, name), data), folder, expected=3)
    transcode(os.path.join(folder, "nothing.mp4"), folder, expected=3)
    sound = os.path.join(folder, "sound.mp4")
    ffmpeg("-f", "lavfi", "-i", "sine=duration=2", sound)
    transcode(sound, folder, expected=3, says="no video")
    cover = os.path.join(folder, "cover.mp4")
    picture = os.path.join(folder, "picture.png")
    ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x64", "-frames:v", "1", picture)
    ffmpeg("-i", sound, "-i", picture, "-map", "0", "-map", "1", "-c:v", "png",
           "-disposition:v:0", "attached_pic", cover)
    transcode(cover, folder, expected=3, says="no video")


def with_dolby_vision(movie, profile, compatible):
    """An MP4 of HEVC alone, its index behind, with a configuration of Dolby Vision (dvcC) beside that of HEVC."""
    flags = profile << 9 | 5 << 3 | 0b101
    box = struct.pack(">I4sBBHB19x", 32, b"dvcC", 1, 0, flags, compatible << 4)
    at = movie.index(b"hvcC") - 4
    data = bytearray(movie)
    for around in (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsd", b"hvc1"):
        size_at = movie.rindex(around, 0, at) - 4
        struct.pack_into(">I", data, size_at, struct.unpack_from(">I", movie, size_at)[0] + len(box))
    end = at + struct.unpack_from(">I", movie, at)[0]
    return bytes(data[:end]) + box + bytes(data[end:])


def colours_of_dolby_vision_alone(folder):
    """Profile 5 came out purple and green; what others can show as well is taken as it is."""
    plain = os.path.join(folder, "plain.mp4")
    ffmpeg("-f", "lavfi", "-i", "testsrc=s=128x96:r=25:d=1", "-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-preset", "ultrafast",
           "-x265-params", "log-level=error", "-tag:v", "hvc1", plain)
    with open(plain, "rb") as file:
        movie = file.read()
    for profile, compatible, expected in ((5, 0, 3), (8, 1, 0), (8, 4, 0), (7, 6, 0)):
        source = write(os.path.join(folder, f"dolby{profile}{compatible}.mp4"), with_dolby_vision(movie, profile, compatible))
        transcode(source, folder, expected=expected, says="Dolby Vision profile 5" if expected else "")


def many_tracks(folder):
    """Movies with texts in all languages have more than 64 tracks."""
    text = write(os.path.join(folder, "text.srt"), b"1\n00:00:00,100 --> 00:00:00,900\nword\n")
    for count, expected in ((66, 0), (300, 3)):
        movie = os.path.join(folder, f"texts{count}.mkv")
        ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x64:r=25:d=1", "-i", text, "-map", "0:v", *["-map", "1:s"] * count, "-c:v", "mpeg4",
               "-c:s", "srt", movie)
        transcode(movie, folder, expected=expected, says="256 tracks" if expected else "")


def repairable_sources(folder):
    with open(REFERENCE, "rb") as file:
        data = bytearray(file.read(3_000_000))
    cut = write(os.path.join(folder, "cut.mpg"), bytes(data[:1_234_567]))
    transcode(cut, folder, "--size", "160x90", expected=0)
    with open(GOOD, "rb") as file:
        half = write(os.path.join(folder, "half.mp4"), file.read(500_000))
    transcode(half, folder, "--size", "160x90", expected=0)
    spots = random.Random(2)
    for _ in range(200):
        at = spots.randrange(10_000, len(data))
        data[at] = spots.randrange(256)
    damaged = write(os.path.join(folder, "damaged.mpg"), bytes(data))
    transcode(damaged, folder, "--size", "160x90", "--verify", expected=0)
    wrong_name = write(os.path.join(folder, "really-mpeg.mp4"), bytes(data[:1_000_000]))
    transcode(wrong_name, folder, "--size", "160x90", expected=0)
    silent = os.path.join(folder, "silent.mp4")
    ffmpeg("-i", GOOD, "-an", "-c", "copy", "-t", "3", silent)
    transcode(silent, folder, "--size", "160x90", "--verify", expected=0)
    shifted = os.path.join(folder, "negative.mkv")
    ffmpeg("-i", GOOD, "-c", "copy", "-t", "3", "-output_ts_offset", "-2", "-avoid_negative_ts",
           "disabled", shifted)
    transcode(shifted, folder, "--size", "160x90", "--verify", expected=0)
    raw = os.path.join(folder, "raw.h264")
    ffmpeg("-i", GOOD, "-an", "-c", "copy", "-t", "3", "-bsf:v", "h264_mp4toannexb", raw)
    transcode(raw, folder, "--size", "160x90", "--verify", expected=0)
    avi = os.path.join(folder, "bframes.avi")
    ffmpeg("-i", GOOD, "-an", "-c", "copy", "-t", "3", avi)
    transcode(avi, folder, "--size", "160x90", "--verify", expected=0)


def absurd_sound_rates(folder):
    """A second of such sound is one sample or a million: minutes and gigabytes were made of a small file."""
    good = os.path.join(folder, "rate.mkv")
    # Blocks of so many samples as no ordinary file has.
    ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x64:r=24:d=1", "-f", "lavfi", "-i", "sine=r=48000:d=2",
           "-af", "asetnsamples=20000", "-c:v", "libx264", "-c:a", "pcm_s16le", good)
    with open(good, "rb") as file:
        data = file.read()
    stated = b"\xb5\x88" + struct.pack(">d", 48000)
    check(data.count(stated) == 1, "the file does not state its rate as expected")
    for rate in (1, 3999, 500_000):
        bad = write(os.path.join(folder, "bad-rate.mkv"),
                    data.replace(stated, b"\xb5\x88" + struct.pack(">d", rate)))
        plan = subprocess.run([PROGRAM, "explain", bad], capture_output=True, text=True, timeout=60, check=False)
        check(f"pcm_s16le at {rate} Hz" in plan.stdout, f"{rate} Hz: the plan does not say why there is no sound")
        transcode(bad, folder, "--size", "64x64", "--verify", expected=0)
        check(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 1_000_000, f"{rate} Hz took gigabytes")
    low = write(os.path.join(folder, "low-rate.mkv"), data.replace(stated, b"\xb5\x88" + struct.pack(">d", 4000)))
    transcode(low, folder, "--size", "64x64", "--verify", expected=0)


def bad_requests(folder):
    for flag, values, names in [
        ("--size", ["0x0", "1x1", "16384x16384", "x", "640", "-2x100", "640x", "NaNx3"], "size"),
        ("--fps", ["0", "nan", "1e9", "-1", "24/0", "", "inf"], "fps"),
        ("--bitrate", ["1", "10G", "0", "-5k", "600q", "nan"], "bitrate"),
        ("--vcodec", ["h266"], "vcodec"), ("--preset", ["warp"], "preset"),
        ("--container", ["exe"], "container"), ("--start", ["-1", "99999", "x"], "start"),
        ("--duration", ["0", "-3", "x"], "duration"), ("--scheduler", ["best"], "scheduler"),
        ("--workers", ["-1", "5000", "x"], "workers"), ("--quality", ["ultra"], "quality"),
    ]:
        for value in values:
            transcode(GOOD, folder, f"{flag}={value}", expected=2, says=names)
    transcode(GOOD, folder, "--no-such-flag", expected=2)
    longer = os.path.join(folder, "longer-sound.mp4")
    ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x64:r=25:d=2", "-f", "lavfi", "-i", "sine=d=4", "-c:v", "libx264", longer)
    transcode(longer, folder, "--start=3", expected=2, says="parameter: start")


def full_disk(folder):
    """A file system of 1 MiB: the error is reported, nothing is left."""
    small = os.path.join(folder, "small")
    os.mkdir(small)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small],
                             capture_output=True).returncode == 0
    if not mounted:
        print("skipped: a small file system cannot be mounted here")
        return
    try:
        output = os.path.join(small, "out.mp4")
        done = subprocess.run([PROGRAM, "transcode", GOOD, output, "--bitrate", "4M", "--quiet"],
                              capture_output=True, text=True, timeout=120)
        check(done.returncode == 1, f"full disk: exit {done.returncode}: {done.stderr}")
        check("space" in done.stderr.lower(), f"full disk: says {done.stderr}")
        check(os.listdir(small) == [], f"full disk: left {os.listdir(small)}")
    finally:
        subprocess.run(["umount", small], check=False)


def main():
    with tempfile.TemporaryDirectory() as folder:
        unusable_sources(folder)
        colours_of_dolby_vision_alone(folder)
        many_tracks(folder)
        repairable_sources(folder)
        absurd_sound_rates(folder)
        bad_requests(folder)
        full_disk(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
