#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A movie's title and chapters in its outputs, as stock ffprobe reads them: every container, as a file and over HTTP, cut with
the movie; where it was taken is not passed on; damaged chapters harm nothing."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, Server, check, run_all  # noqa: E402

META = """;FFMETADATA1
title=Metropolis "restored"
artist=Fritz Lang
date=1927
comment=Two\\
lines
location=+52.1+13.4/
"""
CHAPTERS = [(0, 3, "Opening"), (3, 6, ""), (6, 8, "Die Stadt \u00fc")]
CUT = [(0, 1.5, "Opening"), (1.5, 4.5, ""), (4.5, 5, "Die Stadt \u00fc")]
SMALL = {"width": "96", "bitrate": "60k", "preset": "ultrafast"}


def block(begin, end, title):
    return f"[CHAPTER]\nTIMEBASE=1/1000\nSTART={int(begin * 1000)}\nEND={int(end * 1000)}\n" + (f"title={title}\n" if title else "")


def make_movie(path, chapters):
    text = path.with_suffix(".txt")
    text.write_text(META + "".join(block(*chapter) for chapter in chapters), encoding="utf-8")
    subprocess.run(["ffmpeg", "-nostdin", "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=8", "-f", "lavfi", "-i",
                    "sine=d=8", "-i", str(text), "-map", "0", "-map", "1", "-map_metadata", "2", "-map_chapters", "2", "-c:v", "libx264",
                    "-preset", "ultrafast", "-g", "50", "-c:a", "aac", str(path)], check=True)


def read(path):
    """(tags by lower-case name, chapters) of a file."""
    found = json.loads(subprocess.run(["ffprobe", "-v", "error", "-show_format", "-show_chapters", "-show_programs", "-of", "json",
                                       str(path)], capture_output=True, check=True).stdout)
    tags = {name.lower(): value for name, value in found["format"].get("tags", {}).items()}
    for program in found.get("programs", []):
        tags.update(program.get("tags", {}))
    chapters = [(float(c["start_time"]), float(c["end_time"]), c.get("tags", {}).get("title", "")) for c in found["chapters"]]
    return tags, chapters


def same(name, got, expected):
    check(len(got) == len(expected), f"{name}: {got}")
    apart = max((max(abs(a - c), abs(b - d)) for (a, b, _), (c, d, _) in zip(got, expected)), default=0)
    check(apart < 0.0015 and [g[2] for g in got] == [e[2] for e in expected], f"{name}: {got}")


def check_tags(name, tags):
    wanted = {"title": 'Metropolis "restored"', "artist": "Fritz Lang", "date": "1927", "comment": "Two\nlines"}
    check({key: tags.get(key) for key in wanted} == wanted, f"{name}: {tags}")
    check(not any("location" in key for key in tags), f"{name} tells where it was taken: {tags}")


def transcode(movie, out, *options):
    words = [word for pair in SMALL.items() for word in (f"--{pair[0]}", pair[1])]
    done = subprocess.run([PROGRAM, "transcode", str(movie), str(out), "--force", "--verify", *words, *options], capture_output=True,
                          text=True, check=False)
    check(done.returncode == 0, f"{out.name}: {done.stderr}")


def files_have_them(_, folder):
    for movie in ("movie.mkv", "movie.mp4"):
        # FFmpeg's MP4 of it lacks the chapter without a title.
        kept = [c for c in CHAPTERS if c[2]] if movie == "movie.mp4" else CHAPTERS
        kept = [(0, 6, "Opening"), kept[1]] if movie == "movie.mp4" else kept
        for suffix in (".mp4", ".mkv", ".webm"):
            out = Path(folder, "out" + suffix)
            transcode(Path(folder, movie), out)
            tags, chapters = read(out)
            check_tags(f"{movie} to {suffix}", tags)
            same(f"{movie} to {suffix}", chapters, kept)
    out = Path(folder, "out.ts")
    transcode(Path(folder, "movie.mkv"), out)
    check(read(out)[0].get("service_name") == 'Metropolis "restored"', "the programme of a transport stream has the title")


def cut_where_the_movie_is(_, folder):
    for suffix in (".mp4", ".mkv"):
        out = Path(folder, "cut" + suffix)
        transcode(Path(folder, "movie.mkv"), out, "--start", "1.5", "--duration", "5")
        same(f"cut to {suffix}", read(out)[1], CUT)


def streams_have_them(server, folder):
    """MP4 that is streamed has the title and no chapters, which would be a track of their own."""
    query = "&".join(f"{key}={value}" for key, value in SMALL.items())
    for container, expected in (("mkv", CHAPTERS), ("webm", CHAPTERS), ("mp4", [])):
        answer, body = server.get(f"/v1/transcode/movie.mkv?{query}&container={container}")
        check(answer.status == 200, f"{container}: {answer.status}")
        path = Path(folder, "streamed." + container)
        path.write_bytes(body)
        tags, chapters = read(path)
        check_tags(f"streamed {container}", tags)
        same(f"streamed {container}", chapters, expected)
        check(server.get(f"/v1/transcode/movie.mkv?{query}&container={container}")[1] == body, f"{container}: other bytes")


def sources_tell(server, _):
    sources = {s["path"]: s for s in json.loads(server.get("/v1/sources")[1])["sources"]}
    check(sources["movie.mkv"].get("title") == 'Metropolis "restored"', f"{sources['movie.mkv']}")
    check(sources["movie.mkv"].get("chapters") == 3, f"{sources['movie.mkv']}")
    check(sources["many.mkv"].get("chapters") == 1000, f"{sources['many.mkv']}")


def tracks_keep_what_they_are_for(_, folder):
    """Titles, languages and dispositions of the tracks themselves, in Matroska."""
    movie, out = Path(folder, "roles.mkv"), Path(folder, "out-roles.mkv")
    subprocess.run(["ffmpeg", "-nostdin", "-y", "-v", "error", "-i", str(Path(folder, "movie.mkv")), "-map", "0:v", "-map", "0:a", "-map",
                    "0:a", "-c", "copy", "-map_chapters", "-1", "-metadata:s:v", "title=Main", "-metadata:s:v", "language=ger",
                    "-metadata:s:a:1", "title=Director", "-disposition:a:1", "comment+hearing_impaired", str(movie)], check=True)
    transcode(movie, out, "--audio", "all")
    streams = json.loads(subprocess.run(["ffprobe", "-v", "error", "-show_streams", "-of", "json", str(out)], capture_output=True,
                                        check=True).stdout)["streams"]
    marks = [sorted(name for name, value in s["disposition"].items() if value) for s in streams]
    check(marks == [["default"], ["default"], ["comment", "hearing_impaired"]], f"{marks}")
    check(streams[0]["tags"].get("title") == "Main" and streams[0]["tags"].get("language") == "ger", f"{streams[0]['tags']}")
    check(streams[2]["tags"].get("title") == "Director", f"{streams[2]['tags']}")


def many_and_overlapping_ones(_, folder):
    for name, count in (("many.mkv", 1000), ("over.mkv", 3)):
        out = Path(folder, "out-" + name)
        transcode(Path(folder, name), out.with_suffix(".mp4"))
        transcode(Path(folder, name), out)
        for path in (out, out.with_suffix(".mp4")):
            chapters = read(path)[1]
            check(len(chapters) == count, f"{path.name}: {len(chapters)} chapters")
            check(all(a[1] <= b[0] + 0.0015 for a, b in zip(chapters, chapters[1:])), f"{path.name} overlaps")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for movie in ("movie.mkv", "movie.mp4"):
            make_movie(Path(folder, movie), CHAPTERS)
        make_movie(Path(folder, "many.mkv"), [(n * 0.004, n * 0.004 + 0.004, f"n{n}") for n in range(1500)])
        make_movie(Path(folder, "over.mkv"), [(0, 8, "all"), (1, 4, "a"), (2, 8, "b")])
        with Server(folder) as server:
            return run_all([files_have_them, cut_where_the_movie_is, streams_have_them, sources_tell, tracks_keep_what_they_are_for,
                            many_and_overlapping_ones], server, folder)


if __name__ == "__main__":
    sys.exit(main())
