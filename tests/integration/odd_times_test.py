#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each picture is shown once, in its place, though times waver, the rate varies, pictures stand for long, or come in another order."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import field_pairs  # noqa: E402
from served import PROGRAM, check, run_all  # noqa: E402

X264 = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]
FAST = ["--preset", "ultrafast", "--qp", "5", "--quiet", "--force", "--json", "-"]


def ffmpeg(*arguments):
    return subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *map(str, arguments)], capture_output=True, check=True).stdout


def numbered(rate, count, times="", more=()):
    """Pictures whose brightness tells their number, at these times; more inputs."""
    filters = "format=gray,geq=lum='16+8*mod(N\\,28)'" + (f",settb=1/90000,setpts='90000*({times})'" if times else "")
    retimed = ["-enc_time_base", "1/90000", "-fps_mode", "passthrough"] if times else []
    return ["-f", "lavfi", "-i", f"color=c=black:s=64x48:r={rate}:d={count / rate}", *more, "-vf", filters, "-frames:v", count, *retimed]


def shown(path):
    """(time, number modulo 28) of each picture of a file."""
    gray = ffmpeg("-i", path, "-map", "0:v", "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "gray", "-vf",
                  "scale=1:1:flags=area", "-")
    times = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0",
                            path], capture_output=True, text=True, check=True).stdout.split()
    times = sorted(float(time.strip(",")) for time in times)
    return [(time - times[0], round((value - 16) / 8) % 28) for time, value in zip(times, gray)]


def made(folder, source, *flags):
    """(report, numbers that are shown in turn, each with the time it begins)."""
    out = folder / "out.mp4"
    run = subprocess.run([PROGRAM, "transcode", source, out, *FAST, *flags], capture_output=True, text=True, check=False)
    check(run.returncode == 0, f"{source.name}: {run.stderr[-300:]}")
    pictures = shown(out)
    return json.loads(run.stdout), [p for i, p in enumerate(pictures) if i == 0 or pictures[i - 1][1] != p[1]]


def each_once(folder, source, count, *flags):
    report, turns = made(folder, source, *flags)
    numbers = [number for _, number in turns]
    check(numbers == [n % 28 for n in range(count)], f"{source.name} {flags}: {len(numbers)} of {count}: {numbers[:60]}")
    return report, turns


def avi_with_b_pictures(folder):
    """It states decoding times only; each picture has its place, and one far inside is not decoded from the first on."""
    count = 1500
    # XviD packs two pictures into a packet.
    for name, codec in (("order.avi", ["mpeg4", "-vtag", "xvid"]), ("packed.avi", ["libxvid"])):
        source = folder / name
        ffmpeg(*numbered(25, count), "-c:v", *codec, "-bf", "2", "-g", "24", "-qscale:v", "2", source)
        each_once(folder, source, count)
        report, turns = made(folder, source, "--start", "50.2", "--duration", "2")
        numbers = [number for _, number in turns]
        check(numbers == [n % 28 for n in range(1255, 1305)], f"{name} from 50.2 s on: {numbers}")
        decoded = report["counts"]["source_frames_decoded"]
        check(decoded < 120, f"{name}: {decoded} pictures were decoded for 50")


def slides_of_an_hour(folder):
    """Few pictures that are many units: a plan lists the first, and counts them all."""
    source = folder / "slides.mp4"
    ffmpeg(*numbered(1, 40, "3600*N"), *X264, source)
    run = subprocess.run([PROGRAM, "explain", source, "--unit", "0.2", "--fps", "25", "--json", "-"], capture_output=True, text=True,
                         check=False)
    check(run.returncode == 0, f"explain: {run.stderr[-300:]}")
    check(len(run.stdout) < 5_000_000, f"a plan of {len(run.stdout)} bytes")
    plan = json.loads(run.stdout)
    check([unit["unit"] for unit in plan["units"]] == list(range(10_000)), f"{len(plan['units'])} units are listed")
    most = 5 * (len(plan["units"]) + plan["units_left_out"])  # 0.2 s have five pictures
    check(plan["frames"] * 0.6 < most < plan["frames"] * 1.01, f"{plan['frames']} pictures, {plan['units_left_out']} units not listed")
    check(plan["seconds"] > 39 * 3600, f"{plan['seconds']} s")


def times_that_waver(folder):
    """Once rounded to milliseconds, in a finer time base now; and a camera."""
    first = folder / "first.mkv"
    ffmpeg(*numbered(30, 240), *X264, first)
    for name in ("remuxed.mp4", "remuxed.ts"):
        ffmpeg("-i", first, "-c", "copy", folder / name)
        report, _ = each_once(folder, folder / name, 240)
        check(report["counts"]["frames_out"] == 240, f"{name}: {report['counts']['frames_out']} frames")
    camera = folder / "camera.mp4"
    ffmpeg(*numbered(30, 240, "N/30+0.008*sin(N*1.7)"), "-video_track_timescale", "90000", *X264, camera)
    each_once(folder, camera, 240)


def slides(folder):
    """Stills of nine seconds coded out of order, then 60 a second, with sound: nothing of it is taken for a jump."""
    for name in ("slides.mp4", "slides.ts", "slides.mkv"):
        pictures = numbered(30, 20, "if(lt(N\\,4)\\,N*9\\,36+(N-4)/60)", more=("-f", "lavfi", "-i", "sine=r=48000:d=36"))
        ffmpeg(*pictures, "-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-bf", "2", "-c:a", "aac", folder / name)
        report, turns = made(folder, folder / name, "--fps", "60")
        starts = {number: time for time, number in reversed(turns)}
        check(all(abs(starts.get(n, -1) - 9 * n) < 0.02 for n in range(4)), f"{name}: {turns[:6]}")
        check(report["repairs"]["timestamps_repaired"] == 0, f"{name}: {report['repairs']}")
        lengths = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=duration", "-of", "csv=p=0", folder / "out.mp4"],
                                 capture_output=True, text=True, check=True).stdout.split()
        check(all(35.9 < float(length.strip(",")) < 36.6 for length in lengths), f"{name}: lengths {lengths}")


def stills_of_any_length(folder):
    """A container that has one clock says how long each stands, with sound beside it or without: a lecture, a shared screen."""
    for name, seconds, stills, sound in (("still.mkv", 25, 3, False), ("spoken.mkv", 25, 3, True), ("long.mkv", 700, 1, True),
                                         ("still.flv", 25, 3, False)):
        heard = ("-f", "lavfi", "-i", f"sine=r=48000:d={stills * seconds + 1}") if sound else ()
        times = f"if(lt(N\\,{stills})\\,N*{seconds}\\,{stills * seconds}+(N-{stills})/30)"
        coded = (*X264, "-bf", "2" if name == "spoken.mkv" else "0", *(("-c:a", "libmp3lame") if sound else ()))
        ffmpeg(*numbered(30, 30, times, more=heard), *coded, folder / name)
        report, turns = made(folder, folder / name, "--width", "32", "--fps", "5")
        starts = {number: time for time, number in reversed(turns)}
        check(all(abs(starts.get(n, -1) - seconds * n) < 0.05 for n in range(stills + 1)), f"{name}: {turns[:6]}")
        check(report["repairs"]["timestamps_repaired"] == 0, f"{name}: {report['repairs']}")


def rates_that_vary(folder):
    """The header states a mean, or as good as nothing: made at the rate that is reached, and told."""
    movie = Path("movies/files/vfr-540p.mkv").resolve()
    for name in ("vfr.mp4", "vfr.ts", "vfr-540p.mkv"):
        source = movie if name == movie.name else folder / name
        if source != movie:
            ffmpeg("-i", movie, "-c", "copy", source)
        run = subprocess.run([PROGRAM, "transcode", source, folder / "vfr-out.mp4", "--width", "64", *FAST], capture_output=True, check=True)
        report = json.loads(run.stdout)
        check(report["target"]["fps"] == "60" and report["counts"]["source_frames_dropped"] == 0, f"{name}: {report['target']['fps']}, {report['counts']}")
    check("varies" in json.dumps(report["adjusted"]), f"not told: {report['adjusted']}")
    unstated = folder / "unstated.ts"
    ffmpeg(*numbered(30, 68, "if(lt(N\\,8)\\,N*2\\,16+(N-8)/60)"), *X264, unstated)
    report, _ = each_once(folder, unstated, 68)
    check(report["target"]["fps"] == "60", f"stills, then 60 a second: {report['target']['fps']}")
    # As a browser records a screen: no length is stated, and nothing happens at first.
    recorded = folder / "recorded.mkv"
    ffmpeg(*numbered(30, 315, "if(lt(N\\,15)\\,N\\,15+(N-15)/30)"), *X264, "-f", "matroska", "-live", "1", recorded)
    # Nor does it write a DefaultDuration, of four bytes here: Void takes its place.
    stated = recorded.read_bytes()
    at = stated.index(b"\x23\xe3\x83\x84")
    recorded.write_bytes(stated[:at] + b"\xec\x86" + bytes(6) + stated[at + 8:])
    report, _ = each_once(folder, recorded, 315)
    check(report["target"]["fps"] == "30", f"stills, then 30 a second: {report['target']['fps']}")


def fields_of_their_own(folder):
    """H.264 of one field in each packet: where it is cut, the pictures in front of a key picture are shown all the same."""
    movie = folder / "fields.ts"
    count = field_pairs.write(movie, 20)
    for unit in ("gop", "2"):
        each_once(folder, movie, count, "--unit", unit)
    pairs = folder / "pairs.mkv"
    field_pairs.write_pairs(pairs)
    explained = subprocess.run([PROGRAM, "explain", pairs, "--json", "-"], capture_output=True, check=True).stdout
    check(json.loads(explained)["source"]["video"]["interlaced"], "that pictures are of two fields is not seen")


def pictures_that_lead(folder):
    """Behind the key picture of a closed group and shown before it; and groups without a key picture."""
    leading = folder / "leading.mkv"
    ffmpeg(*numbered(30, 240), "-c:v", "libx265", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-x265-params",
           "open-gop=0:keyint=48:min-keyint=48:bframes=8:b-adapt=0:radl=3:log-level=none", leading)
    refreshed = folder / "refreshed.mkv"
    ffmpeg(*numbered(30, 300), "-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-x264-params",
           "intra-refresh=1:keyint=24:bframes=0:threads=1", refreshed)
    for source, count in ((leading, 240), (refreshed, 300)):
        for unit in ("gop", "0.5", "2"):
            each_once(folder, source, count, "--unit", unit)


def main():
    with tempfile.TemporaryDirectory() as folder:
        return run_all([avi_with_b_pictures, times_that_waver, slides, slides_of_an_hour, stills_of_any_length, rates_that_vary,
                        pictures_that_lead, fields_of_their_own], Path(folder))


if __name__ == "__main__":
    sys.exit(main())
