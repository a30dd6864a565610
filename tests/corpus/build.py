#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the movies of the corpus.

usage: build.py [--quick] FOLDER [NAME...]

Each movie is made once: the folder's name holds a digest of its recipe, so that a changed case is
made again and nothing else is. Two are made at a time.
"""

import concurrent.futures
import dataclasses
import glob
import hashlib
import os
import pickle
import shlex
import shutil
import subprocess
import sys
import tempfile
import wave

import cases
import markers
import reading

HERE = os.path.dirname(os.path.abspath(__file__))
# What is not part of a movie's recipe.
JUDGEMENT = {"name", "flags", "container", "feed", "shows", "wrong", "missing", "offset", "props",
             "colours", "report", "error", "code", "quick", "cross"}


def recipe_digest(case):
    fields = {key: value for key, value in dataclasses.asdict(case).items() if key not in JUDGEMENT}
    fields["after"] = [(step.__name__, args) for step, *args in case.after]
    digest = hashlib.sha256(repr(sorted(fields.items())).encode())
    for name in ["markers.py", "reading.py", *sorted(glob.glob("mutators*.py", root_dir=HERE))]:
        with open(os.path.join(HERE, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:12]


def write_sound(path, case):
    seconds = case.seconds if case.sound.seconds is None else case.sound.seconds
    with wave.open(path, "wb") as file:
        file.setnchannels(case.sound.channels)
        file.setsampwidth(2)
        file.setframerate(case.sound.rate)
        file.writeframes(markers.sound(case.sound.rate, case.sound.channels, seconds).tobytes())


def encode(case, path, sound):
    width, height = case.size.split("x")
    scale = f"scale={width}:{height}:flags=neighbor+accurate_rnd"
    if case.scale:
        scale += ":" + case.scale
    filters = ",".join(part for part in (scale, f"format={case.pixels}", case.filters) if part)
    command = ["ffmpeg", "-v", "error", "-y", "-threads", "1", "-f", "rawvideo", "-pix_fmt", "rgb24",
               "-s", f"{markers.COLUMNS}x{markers.ROWS}", "-r", case.fps,
               *shlex.split(case.inputs), "-i", "-"]
    if case.audio is not None:
        command += ["-itsoffset", str(case.sound.offset), "-i", sound]
    command += ["-map", "0:v", "-vf", filters, "-c:v", *shlex.split(case.video), "-threads:v", "1"]
    if case.audio is not None:
        command += ["-map", "1:a"] * case.sound.tracks + ["-c:a", *shlex.split(case.audio)]
    frames = b"".join(markers.picture(number) for number in range(case.frames))
    done = subprocess.run(command + [*shlex.split(case.mux), path], input=frames, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f"{case.name}: {done.stderr.decode()[-800:]}")


def make(case, folder):
    """The path of the case's movie, and what stock ffmpeg reads in it."""
    place = os.path.join(folder, f"{case.name}-{recipe_digest(case)}")
    movie, seen = os.path.join(place, f"movie.{case.ext}"), os.path.join(place, "reading")
    if not os.path.exists(seen):
        for stale in glob.glob(os.path.join(glob.escape(folder), f"{case.name}-" + "?" * 12)):
            shutil.rmtree(stale)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            path = os.path.join(scratch, f"movie.{case.ext}")
            sound = os.path.join(scratch, "sound.wav")
            if case.audio is not None:
                write_sound(sound, case)
            encode(case, path, sound)
            for step, *args in case.after:
                path = step(path, *args)
            os.makedirs(place, exist_ok=True)
            shutil.move(path, movie)
        # Where stock ffmpeg is no judge of the sound, an hour's gap may be all that it has to show.
        heard = case.audio is not None and case.offset is None
        with open(seen + ".tmp", "wb") as file:
            pickle.dump(reading.read(movie, audio=heard), file)
        os.rename(seen + ".tmp", seen)
    with open(seen, "rb") as file:
        return movie, pickle.load(file)


def make_all(wanted, folder, jobs=2):
    """Makes what is lacking; returns what went wrong, by name."""
    os.makedirs(folder, exist_ok=True)
    failed = {}
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        for case, future in [(case, pool.submit(make, case, folder)) for case in wanted]:
            try:
                future.result()
            except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                failed[case.name] = str(error)
    return failed


def check_chosen(wanted, names):
    """Nothing made or run is no success."""
    unknown = set(names) - {case.name for case in cases.CASES}
    if unknown or not wanted:
        print(f"no such case: {', '.join(sorted(unknown))}" if unknown else "no case is chosen", file=sys.stderr)
        sys.exit(2)


def main():
    quick = "--quick" in sys.argv
    folder, *names = [word for word in sys.argv[1:] if word != "--quick"]
    wanted = [case for case in cases.CASES
              if (not names or case.name in names) and (case.quick or not quick)]
    check_chosen(wanted, names)
    failed = make_all(wanted, folder)
    for case in wanted:
        if case.name in failed:
            continue
        movie, seen = make(case, folder)
        bad = sum(number is None for number in seen.numbers)
        print(f"{case.name:32} {len(seen.numbers):4} frames, {bad} unreadable, "
              f"{os.path.getsize(movie):8} bytes  {seen.words.strip()[:100]}")
    for name, error in failed.items():
        print(f"{name}: {error}", file=sys.stderr)
    print(f"{len(wanted) - len(failed)} movies")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
