#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Text tracks that go along into the output: their words, times, languages and dispositions in every container, from every
form and from files beside the movie; cut where the movie is; as stock ffmpeg reads them."""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, Server, check, run_all  # noqa: E402

CUES = [(0.5, 1.5, "One"), (2.0, 3.0, "<i>Two</i>\nin two lines"), (3.0, 3.8, "Right behind"), (6.0, 7.0, "Late")]
ONE = "width=128&bitrate=80k&preset=ultrafast"
FORMS = ("srt.mkv", "ass.mkv", "timed.mp4", "web.mkv")


def clock(seconds):
    return f"00:00:{int(seconds):02}," + f"{round(seconds % 1 * 1000):03}"


def make_movies(folder):
    text = Path(folder, "text.srt")
    text.write_text("\n\n".join(f"{n}\n{clock(a)} --> {clock(b)}\n{words}" for n, (a, b, words) in enumerate(CUES, 1)),
                    encoding="utf-8")
    for name, codec in zip(FORMS, ("subrip", "ass", "mov_text", "webvtt")):
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=8", "-f", "lavfi", "-i",
                        "sine=d=8", "-i", str(text), "-i", str(text), "-map", "0", "-map", "1", "-map", "2", "-map", "3", "-c:v",
                        "libx264", "-preset", "ultrafast", "-g", "50", "-c:a", "aac", "-c:s", codec, "-metadata:s:s:0", "language=ger",
                        "-metadata:s:s:1", "language=eng", "-disposition:s:1", "forced", str(Path(folder, name))], check=True)
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(Path(folder, "srt.mkv")), "-map", "0:v", "-map", "0:a", "-c", "copy",
                    str(Path(folder, "beside.mp4"))], check=True)
    behind = "\n\n9\n00:00:20,000 --> 00:00:21,000\nBehind the end of the movie\n"
    Path(folder, "beside.pt-BR.srt").write_bytes(text.read_bytes() + behind.encode())
    Path(folder, "beside.xx.srt").write_bytes(b"rubbish")


def tracks(data, folder):
    """(codec, language, forced, cues) of each text track; a cue is (start, end, words)."""
    path = Path(folder, "got")
    path.write_bytes(data)
    probed = json.loads(subprocess.run(["ffprobe", "-v", "error", "-show_streams", "-of", "json", str(path)], capture_output=True,
                                       check=True).stdout)["streams"]
    found = []
    for n, stream in enumerate(s for s in probed if s["codec_type"] == "subtitle"):
        text = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(path), "-map", f"0:s:{n}", "-f", "srt", "-"],
                              capture_output=True, text=True, check=True).stdout
        cues = []
        for begin, end, words in re.findall(r"(\S+) --> (\S+)\n(.*?)\n(?:\n|$)", text, re.S):
            seconds = [sum(float(part) * unit for part, unit in zip(at.replace(",", ".").split(":"), (3600, 60, 1)))
                       for at in (begin, end)]
            cues.append((*seconds, re.sub("</?font[^>]*>", "", words.strip())))
        found.append((stream["codec_name"], stream["tags"].get("language"), stream["disposition"]["forced"], cues))
    return found


def first_picture(data):
    """Containers move all tracks alike where sound begins before time 0."""
    text = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0", "-"],
                          input=data, capture_output=True, check=True).stdout.decode()
    return min(float(line.strip(",")) for line in text.split())


def compare(name, got, expected, shift=0.0):
    apart = [max(abs(a - shift - c), abs(b - shift - d)) for (a, b, _), (c, d, _) in zip(got, expected)]
    check(len(got) == len(expected) and max(apart, default=0) < 0.045, f"{name}: {got}")
    check([words for _, _, words in got] == [words for _, _, words in expected], f"{name}: {got}")


def every_form_into_every_container(server, folder):
    for movie in FORMS:
        for container in ("mkv", "webm"):
            path = f"/v1/transcode/{movie}?{ONE}&container={container}&subtitles=copy"
            answer, body = server.get(path)
            check(answer.status == 200, f"{path}: {answer.status}, {body[:200]}")
            got = tracks(body, folder)
            kept = "ass" if movie == "ass.mkv" else "subrip"
            codec = "webvtt" if container == "webm" else kept
            check([t[:3] for t in got] == [(codec, "ger", 0), (codec, "eng", 1)], f"{path}: {[t[:3] for t in got]}")
            for track in got:
                compare(path, track[3], CUES, first_picture(body))
    check(not tracks(server.get(f"/v1/transcode/srt.mkv?{ONE}&container=mkv")[1], folder), "none unless asked for")


def cut_where_the_movie_is(server, folder):
    expected = [(0, 0.6, CUES[1][2]), (0.6, 1.4, CUES[2][2]), (3.6, 4.0, CUES[3][2])]
    for container in ("mkv", "webm"):
        body = server.get(f"/v1/transcode/srt.mkv?{ONE}&container={container}&subtitles=copy&start=2.4&duration=4")[1]
        got = tracks(body, folder)
        check(len(got) == 2, f"{container}: {len(got)} tracks")
        for track in got:
            compare(f"{container} from 2.4 s on", track[3], expected, first_picture(body))


def files_and_pictures(_, folder):
    """The command line: whole files, verified; a text beside; the pictures are the same with and without."""
    out, plain = Path(folder, "out.mp4"), Path(folder, "plain.mp4")
    options = ["--width", "128", "--bitrate", "80k", "--preset", "ultrafast", "--force", "--verify"]
    for movie, expected in (("srt.mkv", ["ger", "eng"]), ("beside.mp4", ["por"])):
        for suffix in (".mp4", ".mkv"):
            out = out.with_suffix(suffix)
            done = subprocess.run([PROGRAM, "transcode", str(Path(folder, movie)), str(out), "--subtitles", "copy", *options],
                                  capture_output=True, text=True, check=False)
            check(done.returncode == 0, f"{movie} to {suffix}: {done.stderr}")
            body = out.read_bytes()
            got = tracks(body, folder)
            check([t[1] for t in got] == expected, f"{movie} to {suffix}: {[t[:3] for t in got]}")
            check(got[0][0] == ("mov_text" if suffix == ".mp4" else "subrip"), f"{movie} to {suffix}: {got[0][0]}")
            for track in got:
                compare(f"{movie} to {suffix}", track[3], CUES, first_picture(body))
            check(subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(out), "-f", "null", "-"], capture_output=True,
                                 check=True).stderr == b"", f"{movie} to {suffix}: ffmpeg complains")

    def coded(path):
        return subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(path), "-map", "0:v", "-map", "0:a", "-c", "copy", "-f",
                               "framehash", "-"], capture_output=True, check=True).stdout
    out = out.with_suffix(".mp4")
    for name, more in ((plain, []), (out, ["--subtitles", "copy"])):
        subprocess.run([PROGRAM, "transcode", str(Path(folder, "srt.mkv")), str(name), *more, *options], check=True, capture_output=True)
    check(coded(plain) == coded(out), "text beside them changes no picture, no sound and no time")
    report = subprocess.run([PROGRAM, "transcode", str(plain), str(out), "--subtitles", "copy", "--json", "-", *options], check=True,
                            capture_output=True).stdout
    told = [one["reason"] for one in json.loads(report)["adjusted"] if one["parameter"] == "subtitles"]
    check(told == ["the movie has no text that can be copied"], f"no text to copy: {told}")


def more_than_is_kept(_, folder):
    """What is left out of a track with too many cues is told."""
    crowd = Path(folder, "crowd.mp4")
    crowd.write_bytes(Path(folder, "beside.mp4").read_bytes())
    # FFmpeg drops a cue that says the same as the one before.
    cue = "00:00:20,000 --> 00:00:21,000\nBehind the end"
    for count in (100_000, 100_001):
        Path(folder, "crowd.srt").write_text(f"1\n{clock(1)} --> {clock(2)}\nSeen\n\n" + "".join(
            f"{n}\n{cue} {n}\n\n" for n in range(2, count + 1)), encoding="utf-8")
        done = subprocess.run([PROGRAM, "transcode", str(crowd), str(Path(folder, "crowd.mkv")), "--subtitles", "copy", "--width", "128",
                               "--bitrate", "80k", "--preset", "ultrafast", "--force", "--json", "-"], capture_output=True, text=True,
                              check=True)
        told = [one["given"] for one in json.loads(done.stdout)["adjusted"] if one["parameter"] == "subtitles"]
        check(told == (["copy in part"] if count > 100_000 else []), f"{count} cues: {told}")
        Path(folder, "crowd.srt").unlink()


def hidden_and_by_links(_, folder):
    """The command line: whoever may read a movie may read what lies beside it, however it got there."""
    mine = Path(folder, "mine")
    mine.mkdir()
    for name, text in (("linked", "../text.srt"), (".hidden", str(Path(folder, "text.srt").resolve()))):
        (mine / f"{name}.mp4").symlink_to(Path(folder, "beside.mp4").resolve())
        (mine / f"{name}.de.srt").symlink_to(text)
        movie, out = str(mine / f"{name}.mp4"), mine / "out.mkv"
        options = ["--width", "128", "--bitrate", "80k", "--preset", "ultrafast"]
        for more in (["--subtitles", "copy"], ["--burn", "1"]):
            done = subprocess.run([PROGRAM, "transcode", movie, str(out), "--force", *more, *options], capture_output=True, text=True, check=False)
            check(done.returncode == 0, f"{name} {more}: {done.stderr}")
            if "copy" in more:
                got = tracks(out.read_bytes(), folder)
                check([t[1] for t in got] == ["deu"] and len(got[0][3]) == len(CUES), f"{name}: {got}")
        plan = subprocess.run([PROGRAM, "explain", movie, "--burn", "1", *options], capture_output=True, text=True, check=False)
        check(plan.returncode == 0, f"explain {name}: {plan.stderr}")
    hard = mine / ".real.mp4"
    hard.write_bytes(Path(folder, "beside.mp4").read_bytes())
    (mine / ".real.de.srt").symlink_to("../text.srt")
    done = subprocess.run([PROGRAM, "package", str(hard), str(mine / "package"), "--rungs", "128x72:100k", "--json", "-"],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0 and json.loads(done.stdout)["subtitles"] == 1, f"package: {done.stdout} {done.stderr}")


def same_bytes(server, folder):
    for container in ("webm", "mkv"):
        path = f"/v1/transcode/srt.mkv?{ONE}&container={container}&subtitles=copy"
        hashes = {hashlib.sha256(server.get(path)[1]).hexdigest() for _ in range(3)}
        made = subprocess.run([PROGRAM, "transcode", str(Path(folder, "srt.mkv")), "-", "--width", "128", "--bitrate", "80k", "--preset",
                               "ultrafast", "--container", container, "--subtitles", "copy", "--workers", "1"], capture_output=True,
                              check=True).stdout
        hashes.add(hashlib.sha256(made).hexdigest())
        check(len(hashes) == 1, f"{container}: {len(hashes)} results of one request")


def refusals(server, folder):
    for path in ("/v1/transcode/srt.mkv?container=ts&subtitles=copy", "/v1/transcode/srt.mkv?subtitles=copy", "/v1/transcode/srt.mkv?subtitles=1",
                 "/v1/transcode/live/x?subtitles=copy&container=mkv", "/v1/hls/srt.mkv/master.m3u8?subtitles=copy",
                 "/v1/hls/live/x/master.m3u8?subtitles=copy"):
        answer, body = server.get(path)
        check(answer.status == 400 and json.loads(body)["parameter"] == "subtitles", f"{path}: {answer.status}, {body[:200]}")
    check(server.get("/v1/transcode/srt.mkv?subtitles=copy", "HEAD")[0].status == 400, "HEAD")
    answer, body = server.get("/v1/transcode?subtitles=copy&container=mkv", "POST", body=Path(folder, "srt.mkv").read_bytes())
    check(answer.status == 400 and json.loads(body)["parameter"] == "subtitles", f"an upload: {answer.status}, {body[:200]}")


def seen_together_in_mp4(_, folder):
    """Its samples cannot overlap: each has the lines of all that are seen then, and none comes late."""
    cues = [(1 + n * 0.1, 1.15 + n * 0.1, f"n{n}") for n in range(40)]
    cues += [(5.5, 7.5, "<i>Long</i>"), (6.0, 6.5, "Two"), (6.0, 6.5, "<i>Three</i>")]
    text = "\n\n".join(f"{n}\n{clock(a)} --> {clock(b)}\n{words}" for n, (a, b, words) in enumerate(cues, 1))
    Path(folder, "beside.pt-BR.srt").write_text(text, encoding="utf-8")
    expected = [(1, 1.1, "n0")]
    for n in range(1, 40):
        begin = 1 + n * 0.1
        expected += [(begin, begin + 0.05, f"n{n - 1}\nn{n}"), (begin + 0.05, begin + (0.1 if n < 39 else 0.15), f"n{n}")]
    expected += [(5.5, 6.0, "<i>Long</i>"), (6.0, 6.5, "<i>Long</i>\nTwo\n<i>Three</i>"), (6.5, 7.5, "<i>Long</i>")]
    out = Path(folder, "out.mp4")
    done = subprocess.run([PROGRAM, "transcode", str(Path(folder, "beside.mp4")), str(out), "--subtitles", "copy", "--width", "128",
                           "--bitrate", "80k", "--force", "--verify"], capture_output=True, text=True, check=False)
    check(done.returncode == 0, done.stderr)
    compare("seen together", tracks(out.read_bytes(), folder)[0][3], expected)


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_movies(folder)
        with Server(folder) as server:
            return run_all([every_form_into_every_container, cut_where_the_movie_is, files_and_pictures, more_than_is_kept, hidden_and_by_links,
                            same_bytes, refusals, seen_together_in_mp4], server, folder)


if __name__ == "__main__":
    sys.exit(main())
