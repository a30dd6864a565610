# SPDX-License-Identifier: Apache-2.0
"""Numbered pictures and chirps: what the corpus is made of, and how results are read back.

A picture is a grid of 5x4 blocks. The 4x4 on the left are bits: ten of the frame's number, six that
check it. The right column is red, green, blue and grey, so that a wrong matrix or range shows. ffmpeg
blows the grid up to the size of the case; area scaling of a result back to 5x4 gives the blocks again.

The sound is silence with a chirp at 0.25 s, 0.75 s, 1.25 s... A chirp is found by correlation, to
about a twentieth of a millisecond.
"""

import array
import math

COLUMNS, ROWS = 5, 4
FRAME_BYTES = COLUMNS * ROWS * 3
NUMBERS = 1024
COLOURS = [(190, 50, 50), (50, 170, 60), (60, 60, 190), (128, 128, 128)]
DARK, BRIGHT = 24, 232

READ_RATE = 8000  # samples per second at which results are read
CHIRP_SECONDS = 0.05
FIRST_CHIRP, CHIRP_STEP = 0.25, 0.5
_LOW, _HIGH = 400.0, 2400.0


def check_bits(number):
    return ((number * 0x2D + 0x13) ^ (number >> 4)) & 0x3F


def picture(number):
    """RGB bytes of the grid."""
    word = (number % NUMBERS) << 6 | check_bits(number % NUMBERS)
    rows = bytearray()
    for row in range(ROWS):
        for column in range(COLUMNS - 1):
            bit = word >> (15 - row * 4 - column) & 1
            rows += bytes([BRIGHT if bit else DARK] * 3)
        rows += bytes(COLOURS[row])
    return bytes(rows)


def read_number(grid):
    """The number in a 5x4 RGB picture, or None if the check bits do not fit."""
    word = 0
    for row in range(ROWS):
        for column in range(COLUMNS - 1):
            at = (row * COLUMNS + column) * 3
            word = word << 1 | (sum(grid[at:at + 3]) > 3 * 128)
    number = word >> 6
    return number if check_bits(number) == word & 0x3F else None


def colour_errors(grid):
    """The largest difference of each of the four colours from what was painted."""
    errors = []
    for row, colour in enumerate(COLOURS):
        at = (row * COLUMNS + COLUMNS - 1) * 3
        errors.append(max(abs(a - b) for a, b in zip(grid[at:at + 3], colour)))
    return errors


def chirp(rate):
    """One chirp as floats within -1..1, with soft ends."""
    count = int(CHIRP_SECONDS * rate)
    wave = []
    for i in range(count):
        t = i / rate
        phase = 2 * math.pi * (_LOW * t + (_HIGH - _LOW) * t * t / (2 * CHIRP_SECONDS))
        wave.append(math.sin(phase) * math.sin(math.pi * (i + 0.5) / count) ** 2)
    return wave


def chirp_times(seconds):
    """Where the chirps of a sound of this length start."""
    times = []
    at = FIRST_CHIRP
    while at + CHIRP_SECONDS <= seconds:
        times.append(at)
        at += CHIRP_STEP
    return times


def sound(rate, channels, seconds):
    """Interleaved 16-bit samples."""
    samples = array.array("h", bytes(2 * channels * int(rate * seconds)))
    wave = chirp(rate)
    for start in chirp_times(seconds):
        first = round(start * rate)
        for i, value in enumerate(wave):
            sample = int(14000 * value)
            for channel in range(channels):
                samples[(first + i) * channels + channel] = sample
    return samples


_TEMPLATE = chirp(READ_RATE)
_ENERGY = math.sqrt(sum(value * value for value in _TEMPLATE))


def _likeness(samples, at):
    """Correlation of the chirp with the samples from `at` on, -1..1; 0 where it is quiet."""
    piece = samples[at:at + len(_TEMPLATE)]
    if at < 0 or len(piece) < len(_TEMPLATE):
        return 0.0
    energy = math.sqrt(sum(s * s for s in piece))
    if energy < 2000:
        return 0.0
    return sum(s * t for s, t in zip(piece, _TEMPLATE)) / (energy * _ENERGY)


def _exact(samples, first, last):
    """Where between two samples a chirp starts, or None; to a fraction of a sample."""
    scores = {at: _likeness(samples, at) for at in range(first, last + 1)}
    best = max(scores, key=scores.get)
    if scores[best] < 0.7:
        return None
    # The top of the parabola through the best three.
    left, right = scores.get(best - 1, 0.0), scores.get(best + 1, 0.0)
    bend = left - 2 * scores[best] + right
    shift = 0.0 if bend >= 0 else (left - right) / (2 * bend)
    return best + max(-0.5, min(0.5, shift))


def find_chirps(samples):
    """When chirps start, in seconds from the first sample (of READ_RATE) on."""
    block = READ_RATE // 200
    loud = [max(samples[at:at + block]) > 1500 for at in range(0, len(samples), block)]
    found, quiet = [], 0
    for number, is_loud in enumerate(loud):
        if is_loud and quiet >= 8:
            at = _exact(samples, (number - 4) * block, (number + 1) * block)
            if at is not None:
                found.append(at / READ_RATE)
        quiet = 0 if is_loud else quiet + 1
    return found
