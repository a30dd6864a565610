#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What was read of movies outlives the server: the next one lists, plans and plays a movie as the first did, and does not
read it to its end again; a movie that has changed, other text beside it, and damage of what is kept are seen."""

import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import Server, check, run_all, wait_until  # noqa: E402

MOVIES = Path("movies/files")
ONE = "width=192&bitrate=60k&preset=ultrafast"
CUES = "1\n00:00:01,000 --> 00:00:02,500\n{}\n\n2\n00:00:03,000 --> 00:00:04,000\nmore\n\n"


def indexes(server, result, cache="movie"):
    return server.metric(f'gopmill_{cache}_cache_total{{result="{result}"}}')


def rewrap(path, change):
    """A kept file with other bytes, and the number and the checksum of those in front."""
    data = change(path.read_bytes()[24:])
    path.write_bytes(b"GOPSEG1\n" + struct.pack("=QQ", len(data), zlib.crc32(data)) + data)


def presentation(server, movie):
    """Digests of all that is planned of a movie, and of one segment of each track."""
    digests = {}
    names = ["hls/{}/master.m3u8", "hls/{}/v0.m3u8", "hls/{}/a0.m3u8", "dash/{}/manifest.mpd", "hls/{}/v0-2.m4s", "hls/{}/a0-2.m4s"]
    master = server.get(f"/v1/hls/{movie}/master.m3u8?{ONE}")[1].decode()
    names += [f"hls/{{}}/{name}" for name in re.findall(r'URI="(t\d+\.m3u8)', master)]
    for name in names:
        answer, body = server.get(f"/v1/{name.format(movie)}?{ONE}")
        check(answer.status == 200, f"{name.format(movie)}: {answer.status} {body[:200]}")
        digests[name] = hashlib.sha256(body).hexdigest()
    return digests


def other_servers_plan_and_play_alike(folder):
    library = folder / "movies"
    library.mkdir()
    movies = ["ref-talk.mpg", "sync-720p.mp4", "vfr-540p.mkv", "open-gop-480p.ts", "hevc10-540p.mp4"]
    for movie in movies:
        shutil.copy(MOVIES / movie, library)
    (library / "sync-720p.en.srt").write_text(CUES.format("one"), encoding="utf-8")
    flags = ("--segment-cache", str(folder / "kept"))
    with Server(library, *flags) as first:
        made = {movie: presentation(first, movie) for movie in movies}
        check(indexes(first, "hit") == 0 and indexes(first, "stored") == len(movies), "each is kept once")
    for kept in (folder / "kept").iterdir():
        if kept.is_file():
            kept.unlink()  # segments shall be made of the index that is found
    with Server(library, *flags) as second:
        again = {movie: presentation(second, movie) for movie in movies}
        check(indexes(second, "hit") == len(movies) and indexes(second, "miss") == 0, "none is read again")
        check(second.metric("gopmill_segments_made_total") > 0, "segments are made")
    for movie in movies:
        check(again[movie] == made[movie], f"{movie}: {[name for name in made[movie] if again[movie].get(name) != made[movie][name]]}")


def bytes_read(server):
    return int(re.search(r"rchar: (\d+)", Path(f"/proc/{server.process.pid}/io").read_text())[1])


def a_movie_is_read_once(folder):
    library = folder / "long"
    library.mkdir()
    movie = library / "long.mkv"
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-stream_loop", "9", "-i", MOVIES / "modern-720p.mp4", "-c", "copy", movie], check=True)
    flags = ("--segment-cache", str(folder / "once"))
    costs = []
    for _ in range(2):
        with Server(library, *flags) as server:
            before = bytes_read(server)
            check(server.get(f"/v1/hls/long.mkv/master.m3u8?{ONE}")[0].status == 200, "a playlist")
            costs.append(bytes_read(server) - before)
    size = movie.stat().st_size
    check(costs[0] > size, f"{costs[0]} of {size} bytes are read at first")
    check(costs[1] < size / 8, f"{costs[1]} of {size} bytes are read again")


def movies_are_read_ahead(folder):
    library = folder / "unwatched"
    library.mkdir()
    for movie in ("sync-720p.mp4", "open-gop-480p.ts"):
        shutil.copy(MOVIES / movie, library)
        os.utime(library / movie, (1, 1))
    flags = ("--segment-cache", str(folder / "ahead"), "--index-ahead", "on")
    with Server(library, *flags) as server:
        wait_until(lambda: server.metric('gopmill_index_ahead_total{result="read"}') == 2, 60, "both are read")
        check(server.metric("gopmill_index_ahead_waiting") == 0, "none waits")
        check(indexes(server, "stored") == 2, "and kept")
        check(server.metric('gopmill_parts_total{kind="playlist"}') == 0, "nobody asked for a playlist")
    with Server(library, *flags) as server:
        check(server.get(f"/v1/hls/open-gop-480p.ts/master.m3u8?{ONE}")[0].status == 200, "a playlist")
        check(indexes(server, "hit") == 1, "its index was there")
        check(server.metric('gopmill_index_ahead_total{result="read"}') == 0, "none is read again")


def a_library_is_probed_once(folder):
    library = folder / "listed"
    shutil.copytree(MOVIES, library)
    (library / "text.mp4").write_text("no movie", encoding="utf-8")
    flags = ("--segment-cache", str(folder / "list"))
    told, costs = [], []
    for _ in range(2):
        with Server(library, *flags) as server:
            before = bytes_read(server)
            told.append(server.get("/v1/sources")[1])
            costs.append(bytes_read(server) - before)
    movies = len(json.loads(told[0])["sources"])
    check(movies == len(list(library.iterdir())) and told[0] == told[1], f"{movies} movies, the same list")
    check(costs[1] < costs[0] / 20, f"{costs} bytes")
    shutil.copy(MOVIES / "sync-720p.mp4", library / "text.mp4")
    with Server(library, *flags) as server:
        listed = json.loads(server.get("/v1/sources")[1])["sources"]
        check(not any("error" in source for source in listed), "a movie that has come is seen")
        check(indexes(server, "hit", "source") == movies - 1, "the others are known")


def descriptions_of_anybody_are_none(folder):
    """Whatever is in the folder, the list is of the library."""
    library = folder / "described"
    library.mkdir()
    shutil.copy(MOVIES / "sync-720p.mp4", library)
    (library / "sync-720p.en.srt").write_text(CUES.format("one"), encoding="utf-8")
    flags = ("--segment-cache", str(folder / "descriptions"))
    with Server(library, *flags) as server:
        told = server.get("/v1/sources")[1]
    kept = next((folder / "descriptions" / "sources").iterdir())
    others = [b'{"subtitles":1}', b'{"path":"sync-720p.mp4","subtitles":1}', b'{"path":"other.mp4"}', b"[]", b"", b"\xff", told]
    for other in others:
        rewrap(kept, lambda _, other=other: other)
        with Server(library, *flags) as server:
            check(server.get("/v1/sources")[1] == told, f"{other[:40]} is believed")
            check(indexes(server, "failed", "source") == 1 and indexes(server, "stored", "source") == 1, f"{other[:40]}: made anew")
    kept.unlink()
    os.mkfifo(kept)
    with Server(library, *flags) as server:
        check(server.get("/v1/sources")[1] == told, "a pipe is waited for")
    os.truncate(kept, 1 << 40)
    with Server(library, *flags) as server:
        check(server.get("/v1/sources")[1] == told, "a file without end is read")


def changes_are_seen(folder):
    library = folder / "changed"
    library.mkdir()
    shutil.copy(MOVIES / "sync-720p.mp4", library / "m.mp4")
    flags = ("--segment-cache", str(folder / "changes"))
    path = f"/v1/hls/m.mp4/master.m3u8?{ONE}"
    text = library / "m.en.srt"

    def ask(hits):
        with Server(library, *flags) as server:
            body = server.get(path)[1].decode()
            check(indexes(server, "hit") == hits, f"{indexes(server, 'hit')} hits, not {hits}")
            return body
    check("SUBTITLES" not in ask(0), "no text")
    text.write_text(CUES.format("one"), encoding="utf-8")
    check("SUBTITLES" in ask(0), "text has come")
    check("SUBTITLES" in ask(1), "and stays")
    text.unlink()
    check("SUBTITLES" not in ask(1), "the index without text is there still")
    shutil.copy(MOVIES / "hevc10-540p.mp4", library / "m.mp4")
    ask(0)
    ask(1)
    os.utime(library / "m.mp4", (1, 1))
    ask(0)
    ask(1)
    with open(library / "m.mp4", "r+b") as movie:  # and the time put back
        movie.seek(-1, os.SEEK_END)
        movie.write(b"x")
    os.utime(library / "m.mp4", (1, 1))
    ask(0)


def damage_is_seen(folder):
    flags = ("--segment-cache", str(folder / "damaged"))
    path = f"/v1/hls/open-gop-480p.ts/v0.m3u8?{ONE}"

    def ask():
        with Server(MOVIES, *flags) as server:
            body = server.get(path)[1]
            return body, indexes(server, "hit"), indexes(server, "stored"), indexes(server, "failed")
    playlist = ask()[0]
    kept = list((folder / "damaged" / "movies").iterdir())
    check(len(kept) == 1, f"{kept}")
    whole = kept[0].read_bytes()
    kept[0].write_bytes(whole[:-7] + b"garbage")
    check(ask() == (playlist, 0, 1, 1), "a damaged index is made again")
    check(kept[0].read_bytes() == whole, "and is the same")
    check(ask() == (playlist, 1, 0, 0), "and is found")
    for spoil in (lambda data: data[:-7], lambda data: data + b"x", lambda data: b"", lambda data: b"\xff" * 100):
        rewrap(kept[0], spoil)
        check(ask() == (playlist, 1, 1, 1), "what is no index is made again, from the beginning of the movie")
        check(kept[0].read_bytes() == whole, "and takes its place")
    shutil.rmtree(folder / "damaged" / "movies")
    with Server(MOVIES, *flags, "--segment-cache-bytes", "0") as server:
        check(server.get(path)[1] == playlist, "without a cache")
        check(indexes(server, "stored") == 0, "nothing is kept")
    check(not (folder / "damaged" / "movies").exists(), "and no folder made")


def main():
    folder = Path(tempfile.mkdtemp())
    try:
        return run_all([other_servers_plan_and_play_alike, a_movie_is_read_once, movies_are_read_ahead, a_library_is_probed_once,
                        descriptions_of_anybody_are_none, changes_are_seen, damage_is_seen], folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
