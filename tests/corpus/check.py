# SPDX-License-Identifier: Apache-2.0
"""Judges one transcode of one case: reads the result by stock tools and holds it against the case."""

import json
import subprocess
from fractions import Fraction

import markers
import reading

TIGHT = 0.001  # seconds that sound may move against the pictures
# Matroska and FLV round both to a millisecond; half of one each way comes on top.
ROUNDED = 0.0006


def probe(path):
    """The first video and audio stream, and the side data of the first picture, as ffprobe has them."""
    done = subprocess.run(
        ["ffprobe", "-v", "error", "-of", "json", "-show_streams", "-show_frames", "-select_streams",
         "v:0", "-read_intervals", "%+#1", path], capture_output=True, text=True, timeout=60)
    found = json.loads(done.stdout or "{}")
    video = found["streams"][0]
    video["frame_side_data"] = [side for frame in found.get("frames", [])
                                for side in frame.get("side_data_list", [])]
    done = subprocess.run(["ffprobe", "-v", "error", "-of", "json", "-show_streams", "-select_streams",
                           "a", path], capture_output=True, text=True, timeout=60)
    return video, json.loads(done.stdout or "{}").get("streams", [])


def model(seen, fps, count):
    """The numbers that output frames show by the rule of the plan, from what stock ffmpeg saw.

    Written down anew from the specification: frame n shows the source frame with the largest time
    not later than n / fps and one tick, the tick at most a quarter of the shorter interval.
    """
    shown = sorted(zip(seen.times, range(len(seen.times))))
    origin = seen.times[0]
    steps = [b - a for a, b in zip(seen.times, seen.times[1:]) if b > a]
    tick = min([seen.tick, 1 / fps / 4] + [step / 4 for step in steps])
    numbers, at = [], 0
    for n in range(count):
        while at + 1 < len(shown) and shown[at + 1][0] <= origin + n / fps + tick:
            at += 1
        numbers.append(seen.numbers[shown[at][1]])
    return numbers


def expected_numbers(case, seen, fps, count):
    if case.shows == "all":
        return list(range(case.frames))
    if case.shows == "model":
        return model(seen, fps, count)
    return list(case.shows)


def check_frames(case, seen, result, report, say):
    fps = Fraction(report["target"]["fps"])
    counts = report["counts"]
    count = len(result.numbers)
    if not counts["frames_planned"] == counts["frames_out"] == count:
        say(f"planned {counts['frames_planned']}, encoded {counts['frames_out']}, decoded {count}")
    expected = expected_numbers(case, seen, fps, count)
    if abs(len(expected) - count) > case.missing:
        say(f"{count} frames instead of {len(expected)}")
    if case.shows == "model" and case.missing == 0 and len(seen.times) > 1:
        # The last source frame is shown as long as the ones before it.
        length = (seen.times[-1] - seen.times[0]) * fps
        if not -1 <= count - length <= 1 + fps / case.rate * 2:
            say(f"{count} frames for {float(length):.2f} frame times and the last frame")
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


def check_sound(case, seen, result, say):
    if case.audio is None or not case.chirps or not result.times:
        return
    if not result.has_sound:
        say("no sound")
        return
    if case.offset is not None:
        seconds = case.seconds if case.sound.seconds is None else case.sound.seconds
        wanted = [case.offset + at for at in markers.chirp_times(seconds)]
    else:
        wanted = [at - float(seen.times[0]) for at in seen.chirps]
    heard = [at - float(result.times[0]) for at in result.chirps]
    lost, moved = [], []
    for at in wanted:
        near = min(heard, key=lambda h: abs(h - at), default=None)
        if near is None or abs(near - at) > 0.1:
            lost.append(round(at, 3))
        elif abs(near - at) > TIGHT + ROUNDED:
            moved.append((round(at, 3), round((near - at) * 1000, 2)))
    if len(lost) > case.chirp_wrong:
        say(f"{len(lost)} of {len(wanted)} chirps lost, at {lost[:5]}")
    if len(moved) > case.chirp_wrong:
        say(f"chirps off (s, ms): {moved[:5]}")
    if len(heard) > len(wanted) + case.chirp_wrong:
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


def side_data(video, kind):
    sides = video.get("side_data_list", []) + video["frame_side_data"]
    return next((side for side in sides if side["side_data_type"].startswith(kind)), None)


def check_props(case, path, say):
    """What section 8 of the specification wants carried, where the case names it."""
    if not case.props:
        return
    video, sounds = probe(path)
    for key, want in case.props.items():
        if key == "display":
            sar = Fraction(video.get("sample_aspect_ratio", "1:1").replace(":", "/"))
            shape = float(sar) * video["width"] / video["height"]
            if abs(shape / want - 1) > 0.03:
                say(f"shape {shape:.3f} instead of {want:.3f}")
        elif key == "even":
            if video["width"] % 2 or video["height"] % 2:
                say(f"odd size {video['width']}x{video['height']}")
        elif key == "rotation":
            if side_data(video, "Display Matrix"):
                say("turned, and still has a display matrix")
        elif key == "light":
            light = side_data(video, "Content light") or {}
            if (light.get("max_content"), light.get("max_average")) != want:
                say(f"content light {light}")
        elif key == "mastering":
            if bool(side_data(video, "Mastering")) != want:
                say("mastering display metadata: " + ("none" if want else "of what is no HDR"))
        elif key == "channels":
            if not sounds or sounds[0]["channels"] != want:
                say(f"channels {[sound['channels'] for sound in sounds]}, wanted {want}")
        elif video.get(key) != want and not (key == "color_range" and want == "tv"
                                             and key not in video):
            say(f"{key} is {video.get(key)}, wanted {want}")


def check(case, seen, path, report, say):
    result = reading.read(path, audio=case.audio is not None)
    if result.words.strip():
        say(f"ffmpeg says: {result.words.strip()[:200]}")
    check_frames(case, seen, result, report, say)
    check_sound(case, seen, result, say)
    check_colours(case, result, say)
    check_props(case, path, say)
    for key, want in case.report.items():
        got = report["repairs"].get(key)
        if got < want:
            say(f"{key} is {got}, wanted at least {want}")
