#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""HLS and DASH of the real server: rules, real clients, equal bytes, the cache, clients that leave,
garbage. Rules are checked by hls_check.py and ts_check.py."""

import hashlib
import http.client
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from array import array
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import hls_check  # noqa: E402
import ts_check  # noqa: E402
from served import Server, check, make_stream, run_all, wait_until  # noqa: E402

LADDER = "rungs=320x180:150k,192x108:60k&preset=ultrafast"
ONE = "width=192&bitrate=60k&preset=ultrafast"


def decoded_frames(url, *options):
    """Pictures that ffmpeg as a client decodes; it must not complain."""
    result = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-progress", "-", *options, "-i", url, "-map", "0:v:0", "-fps_mode",
         "passthrough", "-f", "null", os.devnull], capture_output=True, text=True, check=False)
    check(result.returncode == 0 and not result.stderr, f"ffmpeg on {url}: {result.stderr[:300]}")
    return int(re.findall(r"^frame=(\d+)", result.stdout, re.M)[-1])


def obeys_the_rules(server):
    for movie in ("sync-720p.mp4", "open-gop-480p.ts"):
        problems, facts = hls_check.check(f"{server.base}/v1/hls/{movie}/master.m3u8?{LADDER}&duration=9")
        check(not problems, f"{movie}: {problems[:5]}")
        check(len(facts) == 3, f"{movie}: renditions {list(facts)}")


def transport_streams_obey_the_rules(server):
    for movie in ("sync-720p.mp4", "open-gop-480p.ts"):
        query = f"{LADDER}&duration=9&container=ts"
        problems, counts = ts_check.check(f"{server.base}/v1/hls/{movie}/master.m3u8?{query}")
        check(not problems, f"{movie}: {problems[:5]}")
        pictures = planned_frames(server, movie, query)
        check(counts["v0"] == counts["v1"] == pictures and counts["a0"] >= 9 * 48000 // 1024, f"{movie}: {counts} of {pictures} pictures")


def planned_frames(server, movie, query):
    """By the playlists: their length times the frame rate they state."""
    master = server.get(f"/v1/hls/{movie}/master.m3u8?{query}")[1].decode()
    playlist = server.get(f"/v1/hls/{movie}/v0.m3u8?{query}")[1].decode()
    seconds = sum(float(text) for text in re.findall(r"EXTINF:([0-9.]+)", playlist))
    return round(seconds * float(re.search(r"FRAME-RATE=([0-9.]+)", master)[1]))


def clients_decode_every_picture(server):
    for movie, frames in (("sync-720p.mp4", 270), ("vfr-540p.mkv", None)):
        query = f"{ONE}&duration=9"
        count = planned_frames(server, movie, query)
        check(frames in (None, count), f"{movie}: planned {count}")
        for container in ("mp4", "ts"):
            seen = decoded_frames(f"{server.base}/v1/hls/{movie}/master.m3u8?{query}&container={container}")
            check(seen == count, f"{movie} as {container}: {seen} pictures of {count}")


def gstreamer_decodes_all(server, folder):
    """GStreamer's HLS and DASH clients: every picture, and the sound to the sample packet."""
    for movie in ("sync-720p.mp4", "vfr-540p.mkv"):
        query = "size=192x108&fit=stretch&bitrate=60k&preset=ultrafast&duration=9"
        count = planned_frames(server, movie, query)
        for path in ("hls/{}/master.m3u8?{}", "hls/{}/master.m3u8?{}&container=ts", "dash/{}/manifest.mpd?{}"):
            url = f"{server.base}/v1/{path.format(movie, query)}"
            video, audio = folder / "pictures", folder / "sound"
            result = subprocess.run(
                ["gst-launch-1.0", "-q", "uridecodebin", f"uri={url}", "name=d", "d.", "!", "video/x-raw", "!",
                 "videoconvert", "!", "video/x-raw,format=I420", "!", "filesink", f"location={video}", "qos=false", "d.",
                 "!", "audio/x-raw", "!", "audioconvert", "!", "audio/x-raw,format=S16LE,channels=1", "!", "filesink",
                 f"location={audio}"], capture_output=True, text=True, timeout=120, check=False)
            check(result.returncode == 0, f"GStreamer on {url}: {result.stderr[:300]}")
            pictures = video.stat().st_size / (192 * 108 * 1.5)
            check(pictures == count, f"GStreamer on {url}: {pictures} pictures of {count}")
            seconds = audio.stat().st_size / 2 / 48_000
            check(abs(seconds - 9) < 0.05, f"GStreamer on {url}: {seconds} s of sound")


def a_seek_makes_what_it_shows(server):
    movie = f"/v1/hls/modern-720p.mp4/v0-25.m4s?{ONE}"
    before = server.metric("gopmill_segments_made_total")
    check(server.get(movie)[0].status == 200, "a segment from the middle")
    check(server.metric("gopmill_segments_made_total") == before + 1, "one segment is made for a seek")


def same_bytes(server, folder):
    names = [f"v0-{k}.m4s" for k in range(4)] + [f"a0-{k}.m4s" for k in range(4)]
    path = "/v1/hls/modern-1080p.mkv/{}?" + ONE

    def digests(from_server, order):
        return {name: hashlib.sha256(from_server.get(path.format(name))[1]).hexdigest() for name in order}

    forwards = digests(server, names)
    with Server("movies/files", "--workers", "1", "--segment-cache-bytes", "0", "--scheduler", "fifo") as other:
        check(digests(other, reversed(names)) == forwards, "the bytes depend on order or workers")
        check(digests(other, names[:1]) == {names[0]: forwards[names[0]]}, "a second time gives other bytes")
        check(other.metric('gopmill_segment_cache_total{result="hit"}') == 0, "no cache, no hits")


def conditions_and_ranges(server):
    path = f"/v1/hls/sync-720p.mp4/v0-9.m4s?{ONE}"
    made = server.metric("gopmill_segments_made_total")
    tag = server.get(path)[0].getheader("ETag")
    answer, body = server.get(path, headers={"If-None-Match": tag})
    check(answer.status == 304 and not body, "If-None-Match")
    check(server.metric("gopmill_segments_made_total") == made + 1, "a condition costs no transcode")
    whole = server.get(path)[1]
    answer, body = server.get(path, headers={"Range": "bytes=100-199"})
    check(answer.status == 206 and body == whole[100:200], "a range")
    answer, body = server.get(path, "HEAD")
    check(int(answer.getheader("Content-Length")) == len(whole) and not body, "HEAD")
    master = server.get(f"/v1/hls/sync-720p.mp4/master.m3u8?{ONE}")[0]
    check(master.getheader("Cache-Control") == "no-cache" and master.getheader("ETag"), "playlist fields")


def one_transcode_for_all(server):
    before = server.metric("gopmill_segments_made_total")
    bodies = []
    path = "/v1/hls/modern-1080p.mkv/v0-9.m4s?width=640&bitrate=500k&preset=medium"
    readers = [threading.Thread(target=lambda: bodies.append(server.get(path)[1])) for _ in range(6)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    check(len(set(bodies)) == 1 and len(bodies) == 6, "six clients get the same segment")
    check(server.metric("gopmill_segments_made_total") == before + 1, "six clients share one transcode")


def leaving_cancels(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("GET", "/v1/hls/modern-1080p.mkv/v0-5.m4s?preset=veryslow&bitrate=9M&fps=120")
    wait_until(lambda: server.metric("gopmill_segments_making") == 1, 20, "a segment is being made")
    connection.close()
    wait_until(lambda: server.metric("gopmill_segments_making") == 0, 20, "a client left and its segment goes on")
    check(server.metric('gopmill_parts_total{kind="cancelled"}') >= 1, "cancelled is counted")


def cache_outlives_the_server(folder):
    path = f"/v1/hls/sync-720p.mp4/v0-3.m4s?{ONE}"
    flags = ("--segment-cache", str(folder / "kept"), "--segment-cache-bytes", "1MiB")
    with Server("movies/files", *flags) as first:
        body = first.get(path)[1]
        wait_until(lambda: first.metric('gopmill_segment_cache_total{result="stored"}') == 1, 20, "a segment is kept")
    with Server("movies/files", *flags) as second:
        check(second.get(path)[1] == body, "a kept segment has the same bytes")
        check(second.metric("gopmill_segments_made_total") == 0, "a kept segment is not made again")
        for k in range(0, 30):
            second.get(f"/v1/hls/modern-720p.mp4/v0-{k}.m4s?width=320&bitrate=400k&preset=ultrafast")
        wait_until(lambda: second.metric('gopmill_segment_cache_total{result="evicted"}') > 0, 20, "the oldest go")
        size = sum(file.stat().st_size for file in (folder / "kept").rglob("*") if file.is_file())
        check(size <= 1 << 20, f"{size} bytes in a cache of 1 MiB")
    for file in (folder / "kept").iterdir():  # damage is a miss
        if file.is_file():
            file.write_bytes(file.read_bytes()[:-7] + b"garbage")
    with Server("movies/files", *flags) as third:
        check(third.get(path)[1] == body, "a damaged file is made again")
    blocked = folder / "blocked"
    blocked.write_text("a file where the folder should be", encoding="utf-8")
    with Server("movies/files", "--segment-cache", str(blocked)) as fourth:
        check(fourth.get(path)[1] == body, "a cache that cannot be written is only a miss")
        wait_until(lambda: fourth.metric('gopmill_segment_cache_total{result="failed"}') == 1, 20, "and counted")


def what_is_loaded_meanwhile_changes_no_names(_folder):
    """GStreamer's plugins come with the first player by RTSP; a playlist that somebody has is good after a restart."""
    def version(server):
        return re.search(r"version=(\w+)", server.get(f"/v1/hls/sync-720p.mp4/master.m3u8?{ONE}")[1].decode())[1]
    players = Server("movies/files", "--segment-cache-bytes", "0", rtsp=True)
    if players.port is None:
        return  # RTSP is not built
    with players as server:
        described = server.ask(f"DESCRIBE {server.url('sync-720p.mp4')} RTSP/1.0\r\nCSeq: 1\r\nAccept: application/sdp\r\n\r\n")
        check("200 OK" in described, f"DESCRIBE: {described[:200]}")
        with_players = version(server)
    with Server("movies/files", "--segment-cache-bytes", "0") as server:
        check(version(server) == with_players, "the version of a movie depends on what else was served")


def another_length_of_segments_changes_names(folder):
    """A browser keeps segments for a day: segment 30 of a movie is another one when the operator has them cut in another way."""
    library = folder / "cut"
    library.mkdir()
    make_stream(library, "cut.mp4", 9)
    (library / "cut.en.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\none\n\n", encoding="utf-8")
    kept = {}
    for millis in ("2000", "4000"):
        os.environ["GOPMILL_SEGMENTS_MILLISECONDS"] = millis
        with Server(library, "--segment-cache-bytes", "0") as server:
            for name in ("v0", "s0"):
                playlist = server.get(f"/v1/hls/cut.mp4/{name}.m3u8?{ONE}")[1].decode()
                address = re.findall(rf"^({name}-1\..*)$", playlist, re.MULTILINE)[0]
                status = server.get(f"/v1/hls/cut.mp4/{kept.setdefault(name, address)}")[0].status
                check(status == (200 if kept[name] == address else 404), f"{name} with {millis}: {status}")
                check((kept[name] == address) == (millis == "2000"), f"{name} has the same address in both cuts")
    del os.environ["GOPMILL_SEGMENTS_MILLISECONDS"]


def sound_has_no_seams(folder):
    """A sine over all joins: each sample follows from the two before it, but for coding noise."""
    library = folder / "library"
    library.mkdir()
    rate, tone, seconds = 44_100, 440, 12
    subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=s=64x36:r=25:d={seconds}",
         "-f", "lavfi", "-i", f"sine=f={tone}:r={rate}:d={seconds}", "-c:v", "libx264", "-preset", "ultrafast",
         "-c:a", "aac", "-b:a", "128k", str(library / "sine.mkv")], check=True)
    with Server(library, "--segment-cache-bytes", "0") as server:
        for codec, out in (("aac", rate), ("opus", 48_000)):
            url = f"{server.base}/v1/hls/sine.mkv/a0.m3u8?{ONE}&acodec={codec}&segment=1"
            raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", url, "-f", "s16le", "-ac", "1", "-"],
                                 check=True, capture_output=True).stdout
            samples = array("h", raw)
            check(abs(len(samples) - out * seconds) <= out // 10, f"{codec}: {len(samples)} samples")
            turn = 2 * math.cos(2 * math.pi * tone / out)
            body = samples[out // 4:out * seconds - out // 4]
            error = [abs(body[n] - turn * body[n - 1] + body[n - 2]) for n in range(2, len(body))]
            mean = sum(error) / len(error)
            check(max(error) < max(20 * mean, 60), f"{codec}: a click of {max(error):.0f}, noise {mean:.1f}")


def tracks_end_together(folder):
    """Silence follows sound that is over before the pictures are: hls.js and ffmpeg wait for it otherwise."""
    library = folder / "short-sound"
    library.mkdir()
    subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x36:r=25:d=10", "-f", "lavfi", "-i", "sine=d=4",
         "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", str(library / "short.mkv")], check=True)
    with Server(library) as server:
        for path in (f"hls/short.mkv/master.m3u8?{ONE}", f"dash/short.mkv/manifest.mpd?{ONE}"):
            counts = {}
            for kind in "va":
                seen = subprocess.run(["ffprobe", "-v", "error", "-select_streams", f"{kind}:0", "-count_packets", "-show_entries",
                                       "stream=nb_read_packets", "-of", "csv=p=0", f"{server.base}/v1/{path}"],
                                      check=True, capture_output=True, text=True).stdout
                counts[kind] = int(re.search(r"\d+", seen)[0])
            check(counts["v"] == 250, f"{path}: {counts}")
            check(10 * 44_100 / 1024 <= counts["a"] <= 10 * 44_100 / 1024 + 3, f"{path}: {counts}")


def a_listed_sound_can_be_had(folder):
    """Also where the part that is asked for begins behind its end."""
    library = folder / "two-sounds"
    library.mkdir()
    subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x36:r=25:d=10", "-f", "lavfi", "-i", "sine=d=10",
         "-f", "lavfi", "-i", "sine=f=900:d=4", "-map", "0", "-map", "1", "-map", "2", "-c:v", "libx264", "-preset", "ultrafast", "-c:a",
         "aac", str(library / "two.mkv")], check=True)
    with Server(library) as server:
        for query, count in ((ONE, 2), (f"{ONE}&start=6", 2), (f"{ONE}&start=6&audio=2", 1)):
            path = f"/v1/hls/two.mkv/master.m3u8?{query}"
            master = server.get(path)[1].decode()
            sounds = [hls_check.attributes(line) for line in master.splitlines() if "TYPE=AUDIO" in line]
            check(len(sounds) == count, f"{path}: {len(sounds)} sounds")
            problems, _ = hls_check.check(f"{server.base}{path}")
            check(not problems, f"{path}: {problems[:5]}")
            for sound in sounds:
                url = f"{server.base}/v1/hls/two.mkv/{sound['URI']}"
                raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", url, "-f", "s16le", "-ac", "1", "-"], check=False,
                                     capture_output=True)
                seconds = len(raw.stdout) / 2 / 44_100
                whole = 10 if query == ONE else 4
                check(not raw.stderr and abs(seconds - whole) < 0.1, f"{path}: {sound['NAME']} {seconds} s, {raw.stderr[:200]}")
        # DASH names the same.
        manifest = server.get(f"/v1/dash/two.mkv/manifest.mpd?{ONE}&start=6")[1].decode()
        check(manifest.count('contentType="audio"') == 2, f"DASH: {manifest.count('contentType')}")


def garbage(server):
    movie = "/v1/hls/sync-720p.mp4"
    for path, status in [
        (f"{movie}/v0-99.m4s?{ONE}", 404), (f"{movie}/v0-999999999.m4s?{ONE}", 404),
        (f"{movie}/v0-99999999999999999999.m4s", 404), (f"{movie}/v0--1.m4s", 404), (f"{movie}/v0-01.m4s", 404),
        (f"{movie}/v1.m3u8?{ONE}", 404), (f"{movie}/v9999999999.m3u8", 404), (f"{movie}/a1.m3u8", 404),
        (f"{movie}/v0-1.ts", 404), (f"{movie}/v0-1.m4s?container=ts&{ONE}", 404), (f"{movie}/x.m3u8", 404),
        (f"{movie}/v0-init.mp4?container=ts&{ONE}", 404),
        (f"{movie}/v0-1.m4s%00", 400), (f"{movie}/..%2fmaster.m3u8", 400), ("/v1/hls/../master.m3u8", 400),
        ("/v1/hls/none.mp4/master.m3u8", 404), ("/v1/hls/master.m3u8", 404), ("/v1/hls/manifest.json/master.m3u8", 404),
        (f"{movie}/master.m3u8?rungs=", 400), (f"{movie}/master.m3u8?rungs=1x1:1", 400),
        (f"{movie}/master.m3u8?rungs=640x360", 400), (f"{movie}/master.m3u8?rungs=640x360:700k,", 400),
        (f"{movie}/master.m3u8?rungs=" + ",".join(f"{64 + 2 * i}x64:100k" for i in range(13)), 400),
        (f"{movie}/master.m3u8?rungs=640x360:700k&width=3", 400), (f"{movie}/master.m3u8?segment=0", 400),
        (f"{movie}/master.m3u8?segment=1e9", 400), (f"{movie}/master.m3u8?segment=nan", 400),
        (f"{movie}/master.m3u8?container=webm", 400), (f"{movie}/master.m3u8?vcodec=mpeg4", 400),
        (f"{movie}/master.m3u8?acodec=copy", 400), (f"{movie}/master.m3u8?crf=23", 400),
        (f"{movie}/master.m3u8?qp=23", 400), (f"{movie}/master.m3u8?unit=2", 400),
        (f"{movie}/master.m3u8?start=9999", 400), (f"{movie}/v0-1.m4s?version=000000000000", 404),
        ("/v1/dash/sync-720p.mp4/manifest.mpd?container=ts", 400),
    ]:
        answer, body = server.get(path)
        check(answer.status == status, f"{path[:70]}: {answer.status} instead of {status}")
        check(answer.getheader("Content-Type") == "application/problem+json", f"{path[:70]}: type")
        check("/work" not in body.decode() and os.getcwd() not in body.decode(), f"{path[:70]}: tells a path")


def a_replaced_movie(folder):
    library = folder / "replaced"
    library.mkdir()
    shutil.copy("movies/files/sync-720p.mp4", library / "movie.mp4")
    with Server(library, "--segment-cache-bytes", "0") as server:
        playlist = server.get(f"/v1/hls/movie.mp4/v0.m3u8?{ONE}")[1].decode()
        segment = next(line for line in playlist.splitlines() if line.startswith("v0-1"))
        check(server.get(f"/v1/hls/movie.mp4/{segment}")[0].status == 200, "a segment before")
        shutil.copy("movies/files/hevc10-540p.mp4", library / "new.mp4")
        (library / "new.mp4").rename(library / "movie.mp4")
        check(server.get(f"/v1/hls/movie.mp4/{segment}")[0].status == 404, "segments of the old movie are gone")


def service_classes():
    """A segment runs in the class that was asked for; the bytes are the same."""
    part = f"/v1/hls/sync-720p.mp4/v0-1.m4s?{ONE}"
    with Server("movies/files", "--segment-cache-bytes", "0", "--classes", "live:3,batch:1") as server:
        batch = server.get(f"{part}&class=batch")[1]
        wait_until(lambda: server.metric('gopmill_class_served_seconds_total{class="batch"}') > 0, 20, "batch has run")
        check(server.metric('gopmill_class_served_seconds_total{class="live"}') == 0, "and no other class")
        check(server.get(part)[1] == batch, "the same bytes in the first class")
        wait_until(lambda: server.metric('gopmill_class_served_seconds_total{class="live"}') > 0, 20, "it has run")
        playlist = server.get(f"/v1/hls/sync-720p.mp4/v0.m3u8?{ONE}&class=batch")[1].decode()
        check("class=batch" in playlist, "the names in a playlist keep the class")
        for path in (f"{part}&class=none", "/v1/hls/sync-720p.mp4/master.m3u8?class=none"):
            answer, body = server.get(path)
            check(answer.status == 400 and b"live, batch" in body, f"{path}: {answer.status} {body}")


def high_dynamic_ranges_are_told(folder):
    """Players show PQ pictures as ordinary ones unless the playlist says what they are."""
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=2", "-f", "lavfi", "-i", "anullsrc=cl=7.1:d=2",
                    "-c:a", "flac", "-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-x265-params", "log-level=none:colorprim=9:transfer=16:colormatrix=9", "-preset",
                    "ultrafast", str(folder / "pq.mkv")], check=True)
    with Server(str(folder)) as server:
        hdr, sdr = "bitrate=100k&vcodec=hevc&profile=main10", "bitrate=100k"
        master = server.get(f"/v1/hls/pq.mkv/master.m3u8?{hdr}")[1].decode()
        check(len(re.findall(r"STREAM-INF:.*,VIDEO-RANGE=PQ", master)) == 2, f"variant and I frames: {master}")
        manifest = server.get(f"/v1/dash/pq.mkv/manifest.mpd?{hdr}")[1].decode()
        check('cicp:TransferCharacteristics" value="16"' in manifest, f"{manifest}")
        wide = server.get("/v1/dash/pq.mkv/manifest.mpd?bitrate=100k&vcodec=vp9&acodec=opus&channels=8")[1].decode()
        check(re.search(r'codecs="vp09\.02\.\d\d\.10\.0[01]\.09\.16\.09\.00"', wide), f"{wide}")
        check('audio_channel_configuration:2011" value="12"' in wide, f"7.1: {wide}")
        check("VIDEO-RANGE" not in server.get(f"/v1/hls/pq.mkv/master.m3u8?{sdr}")[1].decode(), "tone mapped")


def main():
    folder = Path(tempfile.mkdtemp())
    try:
        with Server("movies/files", "--segment-cache", str(folder / "cache")) as server:
            run_all([garbage, conditions_and_ranges, obeys_the_rules, transport_streams_obey_the_rules,
                     clients_decode_every_picture,
                     a_seek_makes_what_it_shows, one_transcode_for_all, leaving_cancels], server)
            run_all([gstreamer_decodes_all, same_bytes], server, folder)
        run_all([service_classes])
        return run_all([cache_outlives_the_server, what_is_loaded_meanwhile_changes_no_names, another_length_of_segments_changes_names,
                        sound_has_no_seams, tracks_end_together,
                        a_listed_sound_can_be_had, a_replaced_movie,
                        high_dynamic_ranges_are_told], folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
