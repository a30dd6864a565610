# SPDX-License-Identifier: Apache-2.0
"""Steps that spoil or bend a finished movie. Each takes its path and returns the path of the result."""

import os
import shlex
import subprocess


def _beside(path, ext=None):
    base, old = os.path.splitext(path)
    return f"{base}x{('.' + ext) if ext else old}"


def rewrite(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def content(path):
    with open(path, "rb") as file:
        return bytearray(file.read())


def ffmpeg(path, options, ext=None):
    """Once more through ffmpeg: IN and OUT stand for the two files."""
    result = _beside(path, ext)
    words = [path if word == "IN" else result if word == "OUT" else word
             for word in shlex.split(options)]
    done = subprocess.run(["ffmpeg", "-v", "error", "-y", *words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"{options}: {done.stderr[-500:]}")
    return result


def twice(path, options, ext=None):
    """The movie, and behind it the same through ffmpeg: what a concatenated recording looks like."""
    other = ffmpeg(path, options, ext)
    return rewrite(path, content(path) + content(other))


def cut_bytes(path, part):
    """Only the first part of the file."""
    data = content(path)
    return rewrite(path, data[:int(len(data) * part)])


def cut_head(path, part):
    data = content(path)
    return rewrite(path, data[int(len(data) * part):])


def flip_bytes(path, seed, count, first=4096):
    """Some bytes of the payload become others."""
    data = content(path)
    state = seed
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        at = first + (state >> 20) % max(1, len(data) - first)
        data[at] = (state >> 8) & 0xFF
    return rewrite(path, data)


def attach_cover(path):
    """A Matroska file with a picture attached to it."""
    cover = ffmpeg(path, "-f lavfi -i testsrc=s=64x64 -frames:v 1 OUT", "png")
    return ffmpeg(path, f"-i IN -map 0 -c copy -attach {cover} -metadata:s:t mimetype=image/png OUT")
