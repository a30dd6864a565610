#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Subtitles that are drawn into the pictures: at the right pictures whatever the form of the text and the way of asking, as
stock ffmpeg draws them, the same bytes on one worker and two, and what cannot be drawn."""

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, Server, check, run_all  # noqa: E402

WIDTH, HEIGHT, FPS, SECONDS = 320, 180, 25, 8
CUES = [(0.52, 1.48, "ONE"), (1.8, 2.6, "OVER A BORDER"), (3.0, 6.52, "LONG")]
ONE = f"width={WIDTH}&preset=ultrafast&crf=10&acodec=none"
OPTIONS = ["--width", str(WIDTH), "--preset", "ultrafast", "--crf", "10", "--acodec", "none"]


def clock(seconds):
    return f"00:00:{int(seconds):02}," + f"{round(seconds % 1 * 1000):03}"


def srt(cues):
    return "\n\n".join(f"{n}\n{clock(a)} --> {clock(b)}\n{words}" for n, (a, b, words) in enumerate(cues, 1)) + "\n"


def make_movies(folder):
    text, late = Path(folder, "text.srt"), Path(folder, "late.srt")
    text.write_text(srt(CUES), encoding="utf-8")
    late.write_text(srt([(7.0, 7.52, "LATE")]), encoding="utf-8")
    for name, codec in (("srt.mkv", "subrip"), ("ass.mkv", "ass"), ("timed.mp4", "mov_text"), ("web.mkv", "webvtt")):
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
                        f"color=gray:s=320x180:r={FPS}:d={SECONDS}", "-i", str(text), "-i", str(late), "-map", "0", "-map", "1",
                        "-map", "2", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-c:s", codec, str(Path(folder, name))],
                       check=True)
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(Path(folder, "srt.mkv")), "-map", "0:v", "-c", "copy",
                    str(Path(folder, "beside.mp4"))], check=True)
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(Path(folder, "srt.mkv")), "-map", "0:v", "-map", "0:s:0", "-c", "copy",
                    str(Path(folder, "single.mkv"))], check=True)
    Path(folder, "beside.en.srt").write_text(srt(CUES), encoding="utf-8")
    Path(folder, "beside.xx.srt").write_bytes(b"\xff\x00\xfe rubbish")
    # These are in no list, so they do not count.
    Path(folder, "beside.za.srt").symlink_to("nowhere.srt")
    Path(folder, "beside.zz.srt").symlink_to("/etc/hostname")
    Path(folder, "beside.z\\c.srt").write_text(srt([(0.0, 8.0, "HIDDEN")]), encoding="utf-8")


def luma(data, extra=()):
    """Each picture's luma; of bytes or of a URL."""
    raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", data if isinstance(data, str) else "-", *extra, "-f",
                          "rawvideo", "-pix_fmt", "gray", "-"], capture_output=True, check=False,
                         input=None if isinstance(data, str) else data).stdout
    size = WIDTH * HEIGHT
    return [raw[at:at + size] for at in range(0, len(raw), size)]


def shown(pictures):
    """Numbers of the pictures with something bright on their grey."""
    return [n for n, picture in enumerate(pictures) if max(picture) > 170]


def expected(cues, fps=FPS, start=0.0, seconds=SECONDS):
    return [n for n in range(round((seconds - start) * fps)) if any(a <= start + n / fps + 1e-9 < b for a, b, _ in cues)]


def every_form_is_drawn_at_its_time(server):
    for movie in ("srt.mkv", "ass.mkv", "timed.mp4", "web.mkv", "beside.mp4"):
        for query, fps, start in (("", FPS, 0), ("&fps=10", 10, 0), ("&start=2", FPS, 2), ("&unit=0.5", FPS, 0)):
            path = f"/v1/transcode/{movie}?{ONE}&burn=1{query}"
            answer, body = server.get(path)
            got = shown(luma(body))
            check(answer.status == 200 and got == expected(CUES, fps, start), f"{path}: {answer.status}, pictures {got}")
    check(shown(luma(server.get(f"/v1/transcode/srt.mkv?{ONE}&burn=2")[1])) == expected([(7.0, 7.52, "")]), "the second track")
    for query in ("", "&burn=off"):
        check(not shown(luma(server.get(f"/v1/transcode/srt.mkv?{ONE}{query}")[1])), f"nothing is drawn with '{query}'")


def it_looks_as_ffmpeg_draws_it(server, folder):
    ours = luma(server.get(f"/v1/transcode/srt.mkv?{ONE}&burn=1")[1])
    theirs = luma(str(Path(folder, "srt.mkv")), ["-vf", f"scale={WIDTH}:{HEIGHT},subtitles={Path(folder, 'text.srt')}"])
    check(len(ours) == len(theirs), f"{len(ours)} pictures, {len(theirs)}")
    for n in (20, 50, 100):
        apart = sum(abs(a - b) for a, b in zip(ours[n], theirs[n])) / len(ours[n])
        plain = sum(abs(a - b) for a, b in zip(ours[n], ours[0])) / len(ours[n])
        check(apart < 0.25 * plain and plain > 0.1, f"picture {n}: {apart:.2f} apart, the text alone is {plain:.2f}")


def other_codecs(server):
    for query in ("vcodec=hevc&profile=main10", "vcodec=vp9&container=webm", "vcodec=mpeg4"):
        answer, body = server.get(f"/v1/transcode/srt.mkv?width={WIDTH}&bitrate=800k&acodec=none&burn=1&{query}")
        got = shown(luma(body))
        check(answer.status == 200 and got == expected(CUES), f"{query}: {answer.status}, pictures {got}")


def same_bytes(server, folder):
    """Also with cues that overlap: each is drawn beside those before it, on whatever worker."""
    text = [(0.2 * n, 0.2 * n + 2.5, f"CUE {n}") for n in range(30)]
    Path(folder, "beside.en.srt").write_text(srt(text), encoding="utf-8")
    same_from_all(server, folder, "beside.mp4")
    Path(folder, "beside.en.srt").write_text(srt(CUES), encoding="utf-8")
    same_from_all(server, folder, "ass.mkv")


def same_from_all(server, folder, movie):
    path = f"/v1/transcode/{movie}?{ONE}&burn=1"
    hashes = {hashlib.sha256(server.get(path)[1]).hexdigest() for _ in range(2)}
    for workers in ("1", "2"):
        for policy in ("hearth", "rr"):
            made = subprocess.run([PROGRAM, "transcode", str(Path(folder, movie)), "-", *OPTIONS, "--burn", "1", "--workers",
                                   workers, "--scheduler", policy], capture_output=True, check=True).stdout
            hashes.add(hashlib.sha256(made).hexdigest())
    check(len(hashes) == 1, f"{movie}: {len(hashes)} results of one request")


def places_do_not_depend_on_units(server, folder):
    """A cue that was put above another one stays there, in whatever unit; a jump would move letters by lines."""
    text = [(0.2 * n, 0.2 * n + 2.5, f"CUE {n}") for n in range(30)]
    Path(folder, "beside.en.srt").write_text(srt(text), encoding="utf-8")
    made = [luma(server.get(f"/v1/transcode/beside.mp4?{ONE}&burn=1&unit={unit}")[1]) for unit in ("0.4", "6")]
    Path(folder, "beside.en.srt").write_text(srt(CUES), encoding="utf-8")
    check(len(made[0]) == len(made[1]) == FPS * SECONDS, f"{len(made[0])} and {len(made[1])} pictures")
    for n in range(0, FPS * SECONDS, 7):
        far = sum(abs(a - b) > 60 for a, b in zip(made[0][n], made[1][n]))
        check(far < 5, f"picture {n}: {far} points differ")


def on_the_command_line(_, folder):
    out = Path(folder, "out.mkv")
    done = subprocess.run([PROGRAM, "transcode", str(Path(folder, "beside.mp4")), str(out), *OPTIONS, "--burn", "1", "--verify"],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0 and shown(luma(str(out))) == expected(CUES), f"a file beside: {done.stderr}")
    for arguments, word in (([str(Path(folder, "srt.mkv")), "-", "--burn", "3"], "off, or 1 to 2"),
                            (["-", "-", "--burn", "1"], "off"), ([str(Path(folder, "srt.mkv")), "-", "--burn", "x"], "1 to 96")):
        with open(Path(folder, "srt.mkv"), "rb") as source:
            done = subprocess.run([PROGRAM, "transcode", *arguments], stdin=source, capture_output=True, check=False)
        check(done.returncode in (2, 3) and word.encode() in done.stderr, f"{arguments}: {done.returncode}, {done.stderr}")


def in_segments(server, folder):
    query = f"width={WIDTH}&bitrate=1M&preset=ultrafast&acodec=none"
    url = f"{server.base}/v1/hls/beside.mp4"
    got = shown(luma(f"{url}/master.m3u8?{query}&burn=1", ["-map", "0:v:0"]))
    check(got == expected(CUES), f"HLS: pictures {got}")

    def segment(more):
        playlist = server.get(f"/v1/hls/beside.mp4/v0.m3u8?{query}{more}")[1].decode()
        path = "/v1/hls/beside.mp4/" + next(line for line in playlist.splitlines() if line.startswith("v0-0"))
        answer, body = server.get(path)
        return path, answer.getheader("ETag"), body
    old, tag, body = segment("&burn=1")
    check(segment("")[1] != tag and segment("")[2] != body, "a segment with text is another one")
    Path(folder, "beside.en.srt").write_text(srt([(0.0, 8.0, "NEW")]), encoding="utf-8")
    check(segment("&burn=1")[1] != tag, "a text that was changed is drawn anew")
    check(server.get(old)[0].status == 404, "what was made of the text before is gone")
    answer = server.get(f"/v1/hls/beside.mp4/master.m3u8?{query}&burn=3")[0]
    check(answer.status == 400, f"a track that is not there: {answer.status}")


def refusals(server):
    for path, status, parameter in (
            ("/v1/transcode/srt.mkv?burn=3", 400, "burn"), ("/v1/transcode/srt.mkv?burn=0", 400, "burn"),
            ("/v1/transcode/srt.mkv?burn=one", 400, "burn"), ("/v1/transcode/srt.mkv?burn=97", 400, "burn"),
            ("/v1/transcode/live/x?burn=1", 400, "burn"), ("/v1/hls/live/x/master.m3u8?burn=1", 400, "burn"),
            ("/v1/explain/srt.mkv?burn=3", 400, "burn"), ("/v1/transcode/beside.mp4?burn=2", 422, "burn")):
        answer, body = server.get(path)
        check(answer.status == status and json.loads(body).get("parameter") == parameter, f"{path}: {answer.status}, {body[:200]}")
    problem = json.loads(server.get("/v1/transcode/single.mkv?burn=2")[1])
    check("has 1 track of text." in problem["detail"], f"one track: {problem}")
    problem = json.loads(server.get("/v1/transcode/beside.mp4?burn=2")[1])
    check("beside." in problem["detail"] and "damaged" not in problem["title"], f"the file of text is at fault: {problem}")
    check(server.get("/v1/transcode/srt.mkv?burn=3", "HEAD")[0].status == 400, "HEAD")
    check(server.get("/v1/transcode/srt.mkv?burn=2", "HEAD")[0].status == 200, "HEAD of what works")
    explained = json.loads(server.get("/v1/explain/srt.mkv?burn=2")[1])
    check(explained["target"]["burn"] == 2, f"{explained['target']}")


def uploads(server, folder):
    body = Path(folder, "srt.mkv").read_bytes()
    answer, text = server.get(f"/v1/transcode?{ONE}&burn=1", "POST", body=body)
    check(answer.status == 400 and json.loads(text)["parameter"] == "burn", f"an upload: {answer.status}, {text[:200]}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_movies(folder)
        with Server(folder, "--segment-cache-bytes", "0") as server:
            run_all([every_form_is_drawn_at_its_time, other_codecs, refusals], server)
            return run_all([it_looks_as_ffmpeg_draws_it, same_bytes, places_do_not_depend_on_units, on_the_command_line, uploads, in_segments], server, folder)


if __name__ == "__main__":
    sys.exit(main())
