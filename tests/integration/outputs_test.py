#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every bundled movie, whole or its beginning, into every container, judged by stock tools.

For each output: ffprobe counts exactly the planned frames, times rise without a gap, ffmpeg decodes it
without a word, sound lies within 3 ms of where it lay against the pictures, and the tracks end together.
For the sync movie: flashes and tones are found again and lie within 1 ms of each other as in the source, in the
mean of each third (start, middle and end), each by itself within 3 ms.
"""

import array
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from movie_sound import MovieSound, complaints  # noqa: E402
from served import wait_until  # noqa: E402

PROGRAM = os.environ["GOPMILL_PROGRAM"]
MOVIES = "movies/files"
CONTAINERS = ["mp4", "ts", "mkv", "webm"]
failures = []


def run(command, **options):
    return subprocess.run(command, check=True, capture_output=True, **options).stdout


def check(condition, text):
    if not condition:
        failures.append(text)
        print("FAIL", text, flush=True)


def transcode(movie, output, *flags):
    base = [PROGRAM, "transcode", movie, output, "--quiet", "--preset", "ultrafast"]
    done = subprocess.run(base + list(flags), capture_output=True, text=True)
    check(done.returncode == 0, f"{movie} -> {output}: {done.stderr.strip()}")


def video_times(path):
    text = run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries",
                "frame=best_effort_timestamp_time", "-of", "csv=p=0", path], text=True)
    return [float(line.strip().strip(",")) for line in text.splitlines() if line.strip(", \n")]


def check_output(path, frames, fps):
    times = video_times(path)
    check(len(times) == frames, f"{path}: {len(times)} frames instead of {frames}")
    gaps = [b - a for a, b in zip(times, times[1:])]
    check(not gaps or max(gaps) < 1 / fps + 0.0021, f"{path}: a gap of {max(gaps, default=0)} s")
    check(not gaps or min(gaps) > 0, f"{path}: times do not rise")
    words = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "null", "-"],
                           capture_output=True, text=True).stderr
    check(words == "", f"{path}: ffmpeg says {words[:300]}")


def planned(movie, *flags):
    plan = json.loads(run([PROGRAM, "explain", movie, "--json", "-", *flags]))
    rate = plan["target"]["fps"].split("/")
    return plan["frames"], float(rate[0]) / (float(rate[1]) if len(rate) > 1 else 1)


def every_movie(folder):
    with open("movies/manifest.json", encoding="utf-8") as manifest:
        movies = json.load(manifest)["movies"]
    for name, facts in sorted(movies.items()):
        source = os.path.join(MOVIES, name)
        sound = MovieSound(source)
        for container in CONTAINERS:
            # One container gets the whole movie. WebM's encoders are slow: two seconds are enough for it.
            flags = ["--size", "160x90", "--bitrate", "100k", "--container", container]
            if container != CONTAINERS[0]:
                flags += ["--duration", "2" if container == "webm" else "6"]
            frames, fps = planned(source, *flags)
            if container == CONTAINERS[0] and name != "vfr-540p.mkv":
                check(frames == facts["frames"],
                      f"{name}: planned {frames} frames, the manifest says {facts['frames']}")
            output = os.path.join(folder, f"{name}.{container}")
            transcode(source, output, *flags)
            check_output(output, frames, fps)
            for complaint in complaints(sound, MovieSound(output)):
                check(False, f"{output}: {complaint}")


def best_quality(folder):
    """quality=best takes the bits it may, whatever the pictures, and the same with any workers."""
    source = os.path.join(MOVIES, "ref-street.mpg")
    flags = ["--size", "176x144", "--bitrate", "120k", "--duration", "10", "--acodec", "none",
             "--quality", "best", "--verify"]
    outputs = [os.path.join(folder, f"best-{workers}.ts") for workers in (1, 2)]
    for output, workers in zip(outputs, ("1", "2")):
        transcode(source, output, *flags, "--workers", workers)
    sizes = subprocess.check_output(
        ["ffprobe", "-v", "error", "-show_entries", "packet=size", "-of", "csv=p=0", outputs[0]],
        text=True).split()
    rate = 8 * sum(int(size.strip(",")) for size in sizes) / 10
    check(abs(rate / 120_000 - 1) < 0.02, f"quality=best: {rate:.0f} b/s instead of 120000")
    first, second = (open(output, "rb").read() for output in outputs)
    check(first == second, "quality=best: bytes differ with the number of workers")
    # What comes from a pipe cannot be read twice, so its bits are spread by those of the source.
    piped = run([PROGRAM, "transcode", "-", "-", "--quiet", "--preset", "ultrafast", *flags[:-1],
                 "--container", "ts"], stdin=open(source, "rb"))
    check(len(piped) > 100_000 and piped != first, "quality=best: from a pipe it is the same")


def unit_rates(path):
    """Bits between key frames of a file's pictures."""
    rates = []
    for line in subprocess.check_output(
            ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries",
             "packet=size,flags", "-of", "csv=p=0", path], text=True).split():
        size, flags = line.split(",")[:2]
        if "K" in flags:
            rates.append(0)
        rates[-1] += 8 * int(size)
    return rates


def best_spreads_bits(folder):
    """quality=best gives more to units that are hard; other codecs are measured by x264."""
    source = os.path.join(folder, "still-and-noise.mkv")
    subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i",
         "testsrc=size=160x120:rate=25:duration=8,format=yuv420p,"
         "noise=alls=60:allf=t:enable='gte(t,4)'",
         "-c:v", "mpeg2video", "-b:v", "1500k", "-minrate", "1500k", "-maxrate", "1500k",
         "-bufsize", "500k", "-g", "25", source], check=True)
    for codec, least in (("h264", 3), ("vp9", 2)):
        result = os.path.join(folder, f"spread-{codec}.mkv")
        transcode(source, result, "--vcodec", codec, "--bitrate", "300k", "--quality", "best",
                  "--acodec", "none")
        rates = unit_rates(result)
        half = len(rates) // 2
        ratio = sum(rates[half:]) / sum(rates[:half])
        check(ratio > least, f"quality=best, {codec}: noise has {ratio:.1f} times the bits of stills")


def slides(folder):
    """Pictures of five seconds each, coded out of order: many units to a group, and each picture in its place."""
    source, output = os.path.join(folder, "slides.mp4"), os.path.join(folder, "slides-out.mp4")
    run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=c=black:s=64x64:r=1/5:d=60,format=gray,geq=lum='20*N'",
         "-pix_fmt", "yuv420p", "-c:v", "libx264", "-bf", "2", source])
    for flags in (["--fps", "25"], ["--fps", "5", "--unit", "0.5"], ["--fps", "25", "--unit", "gop"]):
        transcode(source, output, *flags, "--force", "--verify")
        gray, _ = decode(output, "-f", "rawvideo", "-pix_fmt", "gray", "-vf", "scale=1:1:flags=area")
        each = 5 * int(flags[1])
        wrong = [n for n, value in enumerate(gray) if abs(value - 20 * (n // each)) > 6]
        check(len(gray) == 12 * each and not wrong, f"slides {flags}: {len(gray)} pictures, wrong from {wrong[:3]}")


def more_pictures_than_can_be_shown(folder):
    """300 a second are a rate like others, not one that varies; 240 are made of them."""
    source, output = os.path.join(folder, "fast.mp4"), os.path.join(folder, "fast-out.mp4")
    run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x48:r=300:d=1", "-pix_fmt", "yuv420p", "-c:v", "libx264", source])
    plan = json.loads(run([PROGRAM, "explain", source, "--json", "-"]))
    check(not plan["source"]["video"]["variable_fps"] and "1 to 240" in json.dumps(plan["adjusted"]), f"300 a second: {plan['adjusted']}")
    transcode(source, output, "--verify")
    check_output(output, 240, 240)


def plans_tell_what_filters_look_at(folder):
    """Filters in time need pictures around a cut, so none is closed to them."""
    movie = os.path.join(MOVIES, "ref-talk.mpg")
    for flags, deinterlaced, context in ((["--deinterlace", "auto"], "off", 0), (["--deinterlace", "on"], "on", 1),
                                         (["--deinterlace", "on", "--degrain", "light"], "on", 3)):
        plan = json.loads(run([PROGRAM, "explain", movie, "--json", "-", "--duration", "10", *flags]))
        check((plan["deinterlaced"], plan["temporal_context"]) == (deinterlaced, context), f"explain {flags}: {plan['deinterlaced']}, {plan['temporal_context']}")
        cuts = {unit["cut"] for unit in plan["units"][1:]}
        check(len(plan["units"]) > 3 and ("closed" in cuts) == (context == 0), f"explain {flags}: {cuts}")


def verify_prints_each_join(folder):
    output, report = os.path.join(folder, "joins.mp4"), os.path.join(folder, "joins.json")
    for duration, rows in (("10", True), ("40", False)):
        done = subprocess.run([PROGRAM, "transcode", os.path.join(MOVIES, "ref-talk.mpg"), output, "--force", "--verify", "--json", report,
                               "--unit", "gop", "--duration", duration, "--preset", "ultrafast", "--maxrate", "2M"],
                              check=True, capture_output=True, text=True)
        joins = json.loads(Path(report).read_text(encoding="ascii"))["joins"]
        table = [line.split() for line in done.stderr.splitlines() if re.fullmatch(r" *\d+ .*", line)]
        wanted = [[str(join[name]) for name in ("unit", "frame", "frames_out", "frames_planned", "pts_gap_us", "parameter_sets", "vbv_bits",
                                                "audio_samples", "audio_gap_samples")] for join in joins]
        check(len(joins) >= 15 and table == (wanted if rows else []), f"{duration} s: {table[:2]} for {joins[:2]}")


def onsets(samples, rate, threshold):
    """Times at which a signal first exceeds the threshold after 0.3 s below it."""
    found, quiet_since = [], -1.0
    for i, value in enumerate(samples):
        now = i / rate
        if value > threshold:
            if now - quiet_since > 0.3:
                found.append(now)
            quiet_since = now
    return found


def decode(path, *filters_and_format):
    """Raw output, and the presentation time of each decoded frame as the decoder's user sees it."""
    done = subprocess.run(["ffmpeg", "-hide_banner", "-copyts", "-i", path, *filters_and_format, "-"],
                          check=True, capture_output=True)
    times = re.findall(r"showinfo.*? pts_time:\s*(-?[\d.e-]+)", done.stderr.decode(errors="replace"))
    return done.stdout, [float(time) for time in times]


def tone_times(path):
    raw, times = decode(path, "-map", "a:0", "-af", "ashowinfo,pan=mono|c0=c0", "-ar", "48000", "-f",
                        "s16le")
    return [times[0] + at for at in onsets([abs(s) for s in array.array("h", raw)], 48000, 3000)]


def flash_times(path):
    gray, times = decode(path, "-map", "v:0", "-vf", "showinfo,scale=1:1,format=gray", "-fps_mode",
                         "passthrough", "-f", "rawvideo")
    bright = [i for i, value in enumerate(gray) if value > 200]
    return [times[i] for i in bright if i == 0 or gray[i - 1] <= 200]


def offsets(path):
    tones, flashes = tone_times(path), flash_times(path)
    check(len(tones) == len(flashes) and len(tones) > 10,
          f"{path}: {len(tones)} tones, {len(flashes)} flashes")
    return [tone - flash for tone, flash in zip(tones, flashes)]


def means_of_thirds(values):
    cuts = [len(values) * n // 3 for n in range(4)]
    return [sum(values[a:b]) / (b - a) for a, b in zip(cuts, cuts[1:])]


def sync(folder):
    source = os.path.join(MOVIES, "sync-720p.mp4")
    expected = offsets(source)
    for container in CONTAINERS:
        output = os.path.join(folder, f"sync.{container}")
        transcode(source, output, "--size", "160x90", "--bitrate", "100k", "--container", container)
        drift = [got - want for want, got in zip(expected, offsets(output))]
        # A single onset moves a little with the codec's pre-echo; the mean of many must not.
        check(all(abs(d) < 0.003 for d in drift), f"{output}: {drift}")
        means = means_of_thirds(drift)
        print(f"sync {container}: mean {', '.join(f'{m * 1000:+.2f}' for m in means)} ms", flush=True)
        for mean, where in zip(means, ("start", "middle", "end"), strict=True):
            check(abs(mean) < 0.001, f"{output}: {mean * 1000:+.2f} ms off in the mean at the {where}")


def interrupted(folder):
    """Ctrl-C and SIGTERM: exit code 130, no file of its own is left, and one that was there stays as it was."""
    output = Path(folder, "interrupted.mp4")
    for number, force in (signal.SIGINT, False), (signal.SIGTERM, True):
        if force:
            output.write_bytes(b"what was there")
        command = [PROGRAM, "transcode", f"{MOVIES}/modern-1080p.mkv", str(output), "--quiet", "--preset", "slow", *["--force"] * force]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: any(path.stat().st_size > 0 for path in Path(folder).glob(f"{output.name}.gopmill-*.tmp")), 60, "it writes")
        process.send_signal(number)
        text = process.communicate(timeout=30)[1]
        check(process.returncode == 130, f"{number.name}: exit code {process.returncode}: {text}")
        left = sorted(path.name for path in Path(folder).glob("interrupted*"))
        check(left == ([output.name] if force else []), f"{number.name}: left {left}")
        if force:
            check(output.read_bytes() == b"what was there", f"{number.name}: the old output has changed")
            output.unlink()


def quiet_about_all_but_damage(folder):
    whole, output = Path(folder, "whole.ts"), os.path.join(folder, "damaged.mp4")
    run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=4", "-c:v", "libx264", "-g", "25", whole])
    data = bytearray(whole.read_bytes())
    middle = len(data) // 2 // 188 * 188
    del data[middle:middle + 188 * 20]
    whole.write_bytes(data)
    done = subprocess.run([PROGRAM, "transcode", str(whole), output, "--quiet"], capture_output=True, text=True, check=False)
    check(done.returncode == 0 and done.stderr.startswith("warning: "), f"--quiet, of a damaged movie: {done.returncode}, '{done.stderr}'")


def a_pipe_nobody_writes_to(folder):
    """Ctrl-C ends the wait for a writer; and then one comes."""
    pipe, output = os.path.join(folder, "pipe.ts"), os.path.join(folder, "from-pipe.mp4")
    os.mkfifo(pipe)
    command = [PROGRAM, "transcode", pipe, output, "--quiet", "--preset", "ultrafast"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: any(os.path.realpath(fd) == pipe for fd in Path(f"/proc/{process.pid}/fd").iterdir()), 30, "it opens the pipe")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    check(process.returncode == 130, f"a pipe without a writer: exit code {process.returncode}")
    process = subprocess.Popen(command)
    with open(pipe, "wb") as writer:
        writer.write(Path(MOVIES, "open-gop-480p.ts").read_bytes()[:188 * 3000])
    check(process.wait(timeout=60) == 0 and os.path.getsize(output) > 10_000, "a pipe with a writer")


def main():
    with tempfile.TemporaryDirectory() as folder:
        interrupted(folder)
        quiet_about_all_but_damage(folder)
        a_pipe_nobody_writes_to(folder)
        sync(folder)
        best_quality(folder)
        best_spreads_bits(folder)
        slides(folder)
        more_pictures_than_can_be_shown(folder)
        plans_tell_what_filters_look_at(folder)
        verify_prints_each_join(folder)
        every_movie(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
