# SPDX-License-Identifier: Apache-2.0
"""How a source reaches the program: as a file, by a pipe, or as a file that grows meanwhile."""

import contextlib
import glob
import os
import subprocess
import threading
import time

STEPS = 200
PAUSE = 0.002  # seconds


@contextlib.contextmanager
def fed(feed, source, output):
    """The name that the program gets for the source, and its standard input."""
    if feed == "pipe":
        with subprocess.Popen(["cat", source], stdout=subprocess.PIPE) as pipe:
            yield "-", pipe.stdout
    elif feed == "grow":
        with growing(source, output) as path:
            yield path, subprocess.DEVNULL
    else:
        yield source, subprocess.DEVNULL


@contextlib.contextmanager
def growing(source, output):
    """A copy of the source beside the output. A third is there at first.

    The rest is written in steps once the program has begun its output, so while it reads.
    """
    with open(source, "rb") as file:
        data = file.read()
    path, third = output + ".source", len(data) // 3
    with open(path, "wb") as file:
        file.write(data[:third])
    over = threading.Event()
    writer = threading.Thread(target=_grow, args=(path, data[third:], output, over))
    writer.start()
    try:
        yield path
    finally:
        over.set()
        writer.join()


def _begun(output):
    try:
        return any(os.path.getsize(path) > 0
                   for path in glob.glob(glob.escape(output) + ".gopmill-*.tmp"))
    except FileNotFoundError:  # it has got its name meanwhile
        return True


def _grow(path, rest, output, over):
    while not _begun(output):
        if over.wait(PAUSE):
            return
    step = len(rest) // STEPS + 1
    with open(path, "ab", buffering=0) as file:
        for at in range(0, len(rest), step):
            file.write(rest[at:at + step])
            time.sleep(PAUSE)
