#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Live sources as HLS of transport streams: playlists of whole segments, which are those of one stream that goes on, also where
another publisher does; real clients; what there is not."""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from fractions import Fraction
from pathlib import Path
from urllib.parse import urljoin

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import ts_check  # noqa: E402
from hls_check import attributes, fetch  # noqa: E402
from live_playlist import CLOSE, Playlist  # noqa: E402
from live_test import Publisher  # noqa: E402
from served import Server, check, make_stream, run_all, wait_until  # noqa: E402

os.environ.update(GOPMILL_SEGMENTS_LIVE_IDLE_SECONDS="3", GOPMILL_LIVE_READER_PATIENCE_SECONDS="8")
SHORT = "preset=ultrafast&segment=1&container=ts"
LADDER, ONE = f"rungs=320x180:200k,160x90:80k&{SHORT}", f"width=160&bitrate=80k&{SHORT}"
PICTURE = Fraction(ts_check.CLOCK, 30)


def publish(server, name, path):
    publisher = Publisher(server, name, path)
    wait_until(lambda: server.live(name).get("source"), 10, f"a publisher of {name} that is known")
    return publisher


class Watch(threading.Thread):
    """Each version of a rendition's playlist by blocking reload, and each segment as soon as it is listed."""

    def __init__(self, url, picture, problems):
        super().__init__()
        self.url, self.rendition, self.problems = url, ts_check.Rendition(picture, counters={}), problems
        self.dates, self.breaks, self.skipped, self.next, self.peak, self.stopping = {}, 0, 0, None, 0, False
        self.name = url.rsplit("/", 1)[1].split(".")[0]
        self.start()

    def problem(self, good, text):
        if not good:
            self.problems.append(f"{self.name}: {text}")

    def run(self):
        try:
            playlist = None
            while not self.stopping:
                playlist = self.read(playlist)
        except Exception as error:  # whatever it is, the thread that checks must hear of it
            self.problem(False, f"watching failed: {error!r}")

    def read(self, before):
        ask = f"&_HLS_msn={self.next}" + ("&_HLS_skip=YES" if self.next % 3 else "") if before else ""
        playlist = Playlist(self.url + ask, self.problem, before, parts=False)
        self.check(playlist, bool(playlist.skipped))
        self.skipped = max(self.skipped, playlist.skipped)
        if self.next is None:
            self.next = playlist.first
        self.problem(playlist.complete[-1].number >= self.next, f"waited for {self.next} in vain")
        for segment in playlist.complete:
            if segment.number == self.next:
                self.take(segment)
        return playlist

    def check(self, playlist, is_delta):
        tags, problem = playlist.tags, self.problem
        problem(tags["#EXT-X-VERSION"] == ("9" if is_delta else "4"), f"version {tags['#EXT-X-VERSION']}, delta {is_delta}")
        problem("#EXT-X-MAP" not in tags and "#EXT-X-INDEPENDENT-SEGMENTS" in tags, f"tags {sorted(tags)}")
        control = tags["#EXT-X-SERVER-CONTROL"]
        problem(control == {"CAN-BLOCK-RELOAD": "YES", "CAN-SKIP-UNTIL": str(6 * playlist.target), "HOLD-BACK": str(3 * playlist.target)},
                f"server control {control}")
        problem(all(segment.uri and not segment.gap for segment in playlist.segments), "segments without a name, or gaps")
        problem(all(round(segment.seconds) <= playlist.target for segment in playlist.segments), "longer than the target")
        for one, two in zip(playlist.segments, playlist.segments[1:]):
            problem(two.discontinuity or abs(two.date - one.date - one.seconds) < CLOSE, f"the date of segment {two.number}")

    def take(self, segment):
        def problem(good, text):
            self.problem(good, f"segment {segment.number}: {text}")
        data = fetch(segment.uri)
        self.rendition.add(data, Fraction(str(segment.seconds)), problem)
        if segment.seconds >= 0.5:  # RFC 8216 section 4.1: half the target duration
            self.peak = max(self.peak, 8 * len(data) / segment.seconds)
        self.dates[segment.number] = segment.date
        self.breaks += segment.discontinuity
        self.next += 1


def rules_hold_over_a_return(server):
    movie, problems = make_stream(server.folder, "a.ts", 30), []
    first = publish(server, "cam", movie)
    url = f"{server.base}/v1/hls/live/cam/master.m3u8?{LADDER}"
    lines = fetch(url).decode().splitlines()
    check(lines[:2] == ["#EXTM3U", "#EXT-X-VERSION:4"], f"the master begins with {lines[:2]}")
    streams = [(attributes(line), uri) for line, uri in zip(lines, lines[1:]) if line.startswith("#EXT-X-STREAM-INF:")]
    pictures = [uri for _, uri in streams]
    sound = [attributes(line)["URI"] for line in lines if line.startswith("#EXT-X-MEDIA:TYPE=AUDIO")]
    check(len(pictures) == 2 and len(sound) == 1, f"renditions {pictures} {sound}")
    watches = [Watch(urljoin(url, uri), PICTURE, problems) for uri in pictures] + [Watch(urljoin(url, sound[0]), None, problems)]
    wait_until(lambda: all(len(watch.dates) >= 5 for watch in watches) or problems, 20, "five segments")
    first.kill()
    wait_until(lambda: not server.live("cam")["publishing"], 5, "a killed publisher is still there")
    second = publish(server, "cam", movie)
    wait_until(lambda: all(len(watch.dates) >= 12 and watch.skipped for watch in watches) or problems, 30, "seven more")
    keys_and_thumbnails(url, lines, problems)
    for watch in watches:
        watch.stopping = True
    for watch in watches:
        watch.join()
    check(not problems, f"rules: {problems[:6]}")
    for (says, _), watch in zip(streams, watches):
        peak = watch.peak + watches[-1].peak
        check(peak <= int(says["BANDWIDTH"]), f"{watch.name}: BANDWIDTH {says['BANDWIDTH']} below the peak {peak:.0f}")
        check(says["CODECS"].startswith("avc1.") and says["CODECS"].endswith(",mp4a.40.2"), f"CODECS {says['CODECS']}")
    for watch in watches:
        check(watch.breaks == 1, f"{watch.name}: {watch.breaks} discontinuities")
        check(watch.dates.keys() & watches[0].dates.keys(), f"{watch.name} has no segment that v0 has")
    for number in watches[0].dates.keys() & watches[1].dates.keys():
        check(watches[0].dates[number] == watches[1].dates[number], f"segment {number} begins at another picture in v1")
    second.kill()


def keys_and_thumbnails(url, lines, problems):
    keys, tiles = (attributes(next(line for line in lines if line.startswith(f"#EXT-X-{kind}-STREAM-INF:")))["URI"]
                   for kind in ("I-FRAME", "IMAGE"))
    playlist = Playlist(urljoin(url, keys), lambda good, text: good or problems.append(f"i0: {text}"), parts=False)
    check("#EXT-X-I-FRAMES-ONLY" in playlist.tags and "#EXT-X-MAP" not in playlist.tags, f"key frames: {sorted(playlist.tags)}")
    for segment in playlist.complete[-3:]:
        where = f"i0, segment {segment.number}"
        packets, pid = ts_check.check_segment(fetch(segment.uri), lambda good, text, where=where: good or problems.append(f"{where}: {text}"))
        count = sum(packet.begins for packet in packets if packet.pid == pid)
        check(count == 1, f"{where}: {count} pictures")
    thumbnail = Playlist(urljoin(url, tiles), lambda good, text: good or problems.append(f"t0: {text}"), parts=False).complete[-1]
    check(fetch(thumbnail.uri)[:2] == b"\xff\xd8", "a thumbnail is no JPEG")


def ffmpeg_plays_it(server):
    publisher = publish(server, "ff", make_stream(server.folder, "b.ts", 30))
    seen = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-progress", "-", "-live_start_index", "0", "-i",
         f"{server.base}/v1/hls/live/ff/master.m3u8?{ONE}", "-t", "5", "-map", "0:v:0", "-map", "0:a:0", "-f", "null", os.devnull],
        capture_output=True, text=True, check=False, timeout=90)
    check(seen.returncode == 0 and not seen.stderr, f"ffmpeg: {seen.stderr[:500]}")
    check(int(re.findall(r"^frame=(\d+)", seen.stdout, re.M)[-1]) >= 148, "ffmpeg saw too few pictures")
    publisher.kill()


def what_there_is_not(server):
    publisher = publish(server, "bad", make_stream(server.folder, "c.ts", 20))
    live = "/v1/hls/live/bad"
    answer, playlist = server.get(f"{live}/v0.m3u8?{ONE}")
    check(answer.status == 200 and b".m4s" not in playlist, f"{answer.status} {playlist[:300]}")
    name = re.search(r"^(v0-\d+)\.ts\?(\S+)$", playlist.decode(), re.M)
    answer, segment = server.get(f"{live}/{name[1]}.ts?{name[2]}")
    check(answer.status == 200 and answer.getheader("Content-Type") == "video/mp2t", f"{answer.status} {answer.getheader('Content-Type')}")
    tag = answer.getheader("ETag")
    check(server.get(f"{live}/{name[1]}.ts?{name[2]}", headers={"If-None-Match": tag})[0].status == 304, "a segment that the client has")
    part, _ = server.get(f"{live}/{name[1]}.ts?{name[2]}", headers={"Range": "bytes=188-375"})
    check(part.status == 206 and part.getheader("Content-Range") == f"bytes 188-375/{len(segment)}", f"a range: {part.status}")
    for path, status, parameter in ((f"{live}/{name[1]}.m4s", 404, "path"), (f"{live}/{name[1]}.0.m4s", 404, "path"),
                                    (f"{live}/{name[1]}.0.ts", 404, "path"), (f"{live}/v0-init.mp4", 404, "path"),
                                    (f"{live}/v0-9999.ts", 404, "path"), ("/v1/dash/live/bad/manifest.mpd", 400, "container")):
        answer, body = server.get(f"{path}?{ONE}")
        check((answer.status, json.loads(body).get("parameter")) == (status, parameter), f"{path}: {answer.status} {body[:200]}")
    for query in ("acodec=opus", "vcodec=vp9", "vcodec=av1"):
        answer, body = server.get(f"{live}/v0.m3u8?{ONE}&{query}")
        check(answer.status == 400 and json.loads(body)["accepted"], f"{query}: {answer.status} {body[:200]}")
    # Parts come with their segment: who waits for one waits for that.
    number = int(name[1].split("-")[1]) + 2
    begin = time.monotonic()
    answer, body = server.get(f"{live}/v0.m3u8?{ONE}&_HLS_msn={number}&_HLS_part=1")
    check(answer.status == 200 and f"v0-{number}.ts".encode() in body, f"a part that is waited for: {answer.status} {time.monotonic() - begin:.1f} s")
    publisher.kill()


def main():
    with tempfile.TemporaryDirectory() as folder:
        with Server(folder, "--dvr-seconds", "12", "--segment-cache-bytes", "0") as server:
            server.folder = folder
            return run_all([rules_hold_over_a_return, ffmpeg_plays_it, what_there_is_not], server)


if __name__ == "__main__":
    sys.exit(main())
