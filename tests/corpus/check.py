# SPDX-License-Identifier: Apache-2.0
"""Judges one transcode of one case: reads the result by stock tools and holds it against the case."""

import math
import os
from fractions import Fraction

import check_props
import markers
import reading

TIGHT = 0.001  # seconds that sound may move against the pictures
JUMP = 0.020  # what is off by less is moved into its place within a second (media/audio_timeline.h)
# Containers that round both to a millisecond; half of one each way comes on top.
ROUNDED = 0.0006
ROUNDING = {".mkv", ".webm", ".flv", ".asf"}
# A file that grows is read to an end within a picture: one that others need is lacking, and sound may
# end so many seconds before the pictures.
LOOSE_FRAMES = 3
LOOSE_END = 0.5


def tick_of(case, seen, fps):
    """How much later than its grid time a source frame may be: half an interval at equal rates, so that the nearest is shown."""
    if "--fps" not in case.flags or abs(fps / case.rate - 1) < 0.01:
        return 1 / fps / 2
    steps = [b - a for a, b in zip(seen.times, seen.times[1:]) if b > a]
    return min([seen.tick, 1 / fps / 4] + [step / 4 for step in steps])


def model_count(case, seen, fps):
    """The last source frame is shown for one frame time of the source."""
    end = max(seen.times) - seen.times[0] + 1 / case.rate
    return math.ceil((end - tick_of(case, seen, fps)) * fps)


def model(case, seen, fps):
    """The numbers that output frames show by the rule of the plan, from what stock ffmpeg saw.

    Written down anew from the specification: frame n shows the source frame with the largest time
    not later than n / fps and one tick, the tick at most a quarter of the shorter interval; at equal rates the nearest.
    """
    shown = sorted(zip(seen.times, range(len(seen.times))))
    origin, tick = seen.times[0], tick_of(case, seen, fps)
    numbers, at = [], 0
    for n in range(model_count(case, seen, fps)):
        while at + 1 < len(shown) and shown[at + 1][0] <= origin + n / fps + tick:
            at += 1
        numbers.append(seen.numbers[shown[at][1]])
    return numbers


def expected_numbers(case, seen, fps):
    if case.shows == "all":
        return list(range(case.frames))
    if case.shows == "model":
        return model(case, seen, fps)
    return list(case.shows)


def check_frames(case, seen, result, report, say):
    fps = Fraction(report["target"]["fps"])
    counts = report["counts"]
    count = len(result.numbers)
    if not counts["frames_planned"] == counts["frames_out"] == count:
        say(f"planned {counts['frames_planned']}, encoded {counts['frames_out']}, decoded {count}")
    expected = expected_numbers(case, seen, fps)
    if abs(len(expected) - count) > case.missing:
        say(f"{count} frames instead of {len(expected)}")
    if case.feed == "grow":
        expected = expected[:count - LOOSE_FRAMES]
    wrong = [(n, want, got) for n, (want, got) in enumerate(zip(expected, result.numbers))
             if want != got]
    if len(wrong) > case.wrong:
        say(f"{len(wrong)} wrong frames (output, wanted, got): {wrong[:6]}")
    readable = [number for number in result.numbers if number is not None]
    if case.wrong and case.shows in ("all", "model") and readable != sorted(readable):
        say("frames go back")
    check_times(result, fps, say)


def check_times(result, fps, say):
    if len(result.times) != len(result.numbers):
        say(f"{len(result.times)} times of {len(result.numbers)} frames")
    for n, time in enumerate(result.times):
        if abs(float(time - result.times[0] - n / fps)) > 0.00101:
            say(f"frame {n} at {float(time):.4f} s instead of "
                f"{float(result.times[0] + n / fps):.4f} s")
            return


def length_heard(case, result):
    """Seconds of the output in which chirps are looked for."""
    if case.feed == "grow":
        return float(result.times[-1] - result.times[0]) - LOOSE_END
    return math.inf if case.part[1] is None else case.part[1]


def wanted_chirps(case, seen, source, length):
    """When chirps must be heard, in seconds after the first picture of the output."""
    origin, start = float(seen.times[0]), case.part[0]
    if case.offset is not None:
        seconds = case.shown_seconds if case.sound.seconds is None else case.sound.seconds
        starts = [case.offset + at for at in markers.chirp_times(seconds)]
    else:
        starts = [at - origin for at in seen.chirps]
        if start > 0:  # counts from the first picture or sound, whichever is earlier
            start += check_props.start_time(source) - origin
    # Of a whole source also what sounds before the first picture that can be decoded.
    starts = [at - start for at in starts if case.part[0] == 0 or at >= start]
    return [at for at in starts if at + markers.CHIRP_SECONDS <= length]


def check_sound(case, seen, source, path, result, say):
    if case.audio is None or not result.times:
        return
    length = length_heard(case, result)
    wanted = wanted_chirps(case, seen, source, length)
    if not wanted or not result.has_sound:
        say("no sound" if wanted else "no chirps in the source to compare with")
        return
    heard = [at - float(result.times[0]) for at in result.chirps]
    heard = [at for at in heard if at + markers.CHIRP_SECONDS <= length + TIGHT]
    endings = {os.path.splitext(path)[1], f".{case.ext}"}
    tight = TIGHT + ROUNDED * bool(endings & ROUNDING)
    compare_chirps(wanted, heard, lambda at: JUMP if at < case.settles else tight, say)


def compare_chirps(wanted, heard, most, say):
    lost, moved = [], []
    for at in wanted:
        near = min(heard, key=lambda h: abs(h - at), default=None)
        if near is None or abs(near - at) > 0.1:
            lost.append(round(at, 3))
        elif abs(near - at) > most(at):
            moved.append((round(at, 3), round((near - at) * 1000, 2)))
    if lost:
        say(f"{len(lost)} of {len(wanted)} chirps lost, at {lost[:5]}")
    if moved:
        say(f"chirps off (s, ms): {moved[:5]}")
    if len(heard) > len(wanted):
        say(f"{len(heard)} chirps instead of {len(wanted)}")


def check_colours(case, result, say):
    if case.colours == 0 or not result.grids:
        return
    grid = result.grids[len(result.grids) // 2]
    errors = markers.colour_errors(grid)
    if max(errors) > case.colours and None not in result.numbers:
        say(f"colours are off by {errors}")
    bits = [sum(grid[at:at + 3]) / 3 for at in range(0, len(grid), 3)
            if at // 3 % markers.COLUMNS != markers.COLUMNS - 1]
    if abs(min(bits) - markers.DARK) > 20 or abs(max(bits) - markers.BRIGHT) > 20:
        say(f"black is {min(bits):.0f}, white {max(bits):.0f}")


def check(case, seen, source, path, report, say):
    result = reading.read(path, audio=case.audio is not None)
    if result.words.strip():
        say(f"ffmpeg says: {result.words.strip()[:200]}")
    check_frames(case, seen, result, report, say)
    check_sound(case, seen, source, path, result, say)
    check_colours(case, result, say)
    check_props.check_props(case, source, path, say)
    for key, want in case.report.items():
        got = report["repairs"].get(key)
        if got < want:
            say(f"{key} is {got}, wanted at least {want}")
