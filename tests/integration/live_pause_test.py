#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The sound of a live source stops while its pictures go on, as of a camera whose microphone sends nothing when it is
quiet: silence takes its place, readers that come meanwhile begin, and the sound comes back at its time."""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from live_test import Publisher, Reader, decode  # noqa: E402
from served import Server, check, make_stream, run_all, wait_until  # noqa: E402

# Of the publisher's clock, in seconds. Its pictures are held for up to one of them when the sound stops.
STOPS, COMES_BACK, ENDS = 3.0, 12.5, 16.5
SIZE = "width=160&bitrate=100k&preset=ultrafast"


def make_paused(folder):
    """A tone that is not there between the two, in a transport stream."""
    whole = make_stream(folder, "whole.mkv", ENDS)
    paused = f"{folder}/paused.ts"
    subprocess.run(["ffmpeg", "-v", "error", "-i", whole, "-c:v", "copy", "-c:a", "aac", "-bsf:a",
                    f"noise=amount=0:drop='between(pts/90000,{STOPS},{COMES_BACK})'", "-y", paused], check=True)
    return paused


def pace(path):
    """ffmpeg would hold the pictures back to wait for the sound; a camera does not."""
    return [sys.executable, "-c", "import os, sys, time\n"
            "data, begin = open(sys.argv[1], 'rb').read(), time.monotonic()\n"
            "for at in range(0, len(data), 1316):\n"
            "    time.sleep(max(0, begin + float(sys.argv[2]) * at / len(data) - time.monotonic()))\n"
            "    os.write(1, data[at:at + 1316])", path, str(ENDS)]


def silences(body):
    """(begin, end) of each, as a player hears them, from the first picture on."""
    with tempfile.NamedTemporaryFile(suffix=".ts") as file:
        file.write(body)
        file.flush()
        heard = subprocess.run(["ffmpeg", "-nostdin", "-v", "info", "-i", file.name, "-af", "silencedetect=n=-50dB:d=0.5", "-f",
                                "null", "-"], capture_output=True, text=True, check=False).stderr
    begins = [float(t) for t in re.findall(r"silence_start: (\S+)", heard)]
    ends = [float(t) for t in re.findall(r"silence_end: (\S+)", heard)]
    return list(zip(begins, ends))


def a_player_begins(server, published):
    """By RTSP a player gets nothing before each track has something: in the pause, not by the sound that comes back."""
    played = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-rtsp_transport", "tcp", "-i", server.url(f"live/cam?{SIZE}"),
                             "-t", "1", "-f", "null", "-"], capture_output=True, text=True, check=False, timeout=60)
    check(played.returncode == 0, f"a player that comes in the pause: {played.stderr[:300]}")
    since = time.monotonic() - published
    check(since < COMES_BACK, f"a player that comes in the pause had a second of it {since:.1f} s behind the first byte")


def silence_takes_its_place(server, paused):
    published = time.monotonic()
    publisher = Publisher(server, "cam", paused, command=pace(paused))
    reader = Reader(server, "cam", f"{SIZE}&container=ts")
    wait_until(reader.begun, 20, "a reader")
    filled = lambda: max([s["repairs"]["sound_filled_s"] for s in server.running()], default=0)
    wait_until(lambda: filled() > 0.5, 20, "silence that is filled in")
    a_player_begins(server, published)
    publisher.finish()
    pictures = lambda: max(s["counts"]["frames_out"] for s in server.running())
    wait_until(lambda: pictures() > 30 * (ENDS - 1), 20, "the last pictures")
    reader.leave()
    tracks = decode(reader.body)
    check(int(tracks["video"]["nb_read_frames"]) > 30 * (ENDS - 2), f"pictures: {tracks['video']}")
    sounds = [begin for begin, _ in reader.packets("a")]
    gaps = [b - a for a, b in zip(sounds, sounds[1:])]
    check(max(gaps) < 0.03, f"a gap of {max(gaps):.3f} s between packets of sound")
    found = silences(reader.body)
    check(len(found) == 1, f"silences: {found}")
    length = found[0][1] - found[0][0]
    # Coders fade out and in for some frames of 21 ms.
    check(-0.05 < length - (COMES_BACK - STOPS) < 0.25, f"silent for {length:.2f} s: sound comes back at its time")


def main():
    with tempfile.TemporaryDirectory() as folder:
        paused = make_paused(folder)
        with Server(folder, rtsp=True) as server:
            return run_all([silence_takes_its_place], server, paused)


if __name__ == "__main__":
    sys.exit(main())
