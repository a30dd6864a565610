#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Thumbnails of movies: sheets whose tiles have the colours that the movie has at their times, WebVTT, image playlists
and DASH tiles that agree on where they are, equal bytes on every request, and names that do not exist."""

import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import hls_check  # noqa: E402
from served import Server, check, run_all  # noqa: E402

SECONDS, EVERY = 265, 10
TILES = -(-SECONDS // EVERY)
ONE = "width=128&bitrate=60k&preset=ultrafast"
SPACES = {"smpte170m": "bt601.mp4", "bt709": "bt709.mp4"}


def colour_at(seconds):
    """Of eight, another one every ten seconds."""
    step = int(seconds // EVERY)
    return tuple(255 * (step >> bit & 1) for bit in range(3))


def make_movies(folder):
    """Key frames each 2 s, in two colour matrices; one with a single key frame; one in full range, upright."""
    picture = ":".join(f"{letter}='255*mod(floor(T/{EVERY << bit}),2)'" for bit, letter in enumerate("rgb"))
    source = f"color=c=black:s=16x9:r=5:d=%d,format=gbrp,geq={picture},scale=128:72:flags=neighbor"
    x264 = ("-c:v", "libx264", "-preset", "ultrafast", "-crf", "10")
    cases = [(name, SECONDS, f"scale=out_color_matrix={space}:out_range=limited,format=yuv420p",
              (*x264, "-g", "10", "-colorspace", space)) for space, name in SPACES.items()]
    cases += [("onekey.mp4", 65, "scale=out_color_matrix=smpte170m,format=yuv420p", (*x264, "-g", "9999", "-sc_threshold", "0",
                                                                                     "-colorspace", "smpte170m")),
              ("rgb.mkv", 35, "format=gbrp", ("-c:v", "libx264rgb", "-preset", "ultrafast", "-crf", "10", "-g", "10")),
              ("full.avi", 25, "scale=72:128:out_range=full,setsar=1,format=yuvj420p", ("-c:v", "mjpeg", "-q:v", "2"))]
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=640x360:r=25:d=5,noise=alls=12:allf=t",
                    "-c:v", "libx264", "-preset", "ultrafast", "-crf", "16", "-g", "50", "-y", str(Path(folder, "noise.mp4"))], check=True)
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=720x576:r=25:d=2,setsar=64/45", "-c:v",
                    "mpeg2video", "-b:v", "2M", "-y", str(Path(folder, "disc.mpg"))], check=True)
    for name, seconds, tail, coder in cases:
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"{source % seconds},{tail}", *coder, "-y",
                        str(Path(folder, name))], check=True)


def tiles_of(data, columns=5, rows=5):
    """The colours in the middle of the tiles of a sheet, row by row."""
    sheet = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", "-", "-pix_fmt", "rgb24", "-f", "image2pipe", "-c:v", "ppm",
                            "-"], input=data, capture_output=True, check=True).stdout
    _, size, _, raw = sheet.split(b"\n", 3)
    width, height = map(int, size.split())
    places = [(height * (2 * row + 1) // (2 * rows) * width + width * (2 * column + 1) // (2 * columns)) * 3
              for row in range(rows) for column in range(columns)]
    return [tuple(raw[place:place + 3]) for place in places]


def cues_of(server, movie):
    text = server.get(f"/v1/hls/{movie}/t0.vtt?{ONE}")[1].decode()
    found = re.findall(r"(\d\d):(\d\d):(\d\d\.\d{3}) --> (\d\d):(\d\d):(\d\d\.\d{3})\n(\S+)#xywh=(\d+),(\d+),(\d+),(\d+)", text)
    seconds = [tuple(3600 * int(h) + 60 * int(m) + float(s) for h, m, s in (cue[:3], cue[3:6])) for cue in found]
    return [(begin, end, cue[6], tuple(map(int, cue[7:]))) for (begin, end), cue in zip(seconds, found)]


def tiles_show_their_times(server):
    for movie, count in [*((name, TILES) for name in SPACES.values()), ("onekey.mp4", 7), ("rgb.mkv", 4), ("full.avi", 3)]:
        cues = cues_of(server, movie)
        check(len(cues) == count and cues[0][0] == 0, f"{movie}: {len(cues)} cues")
        check(all(a[1] == b[0] for a, b in zip(cues, cues[1:])), f"{movie}: the cues join")
        sheets = {}
        for begin, _, address, (x, y, width, height) in cues:
            if address not in sheets:
                answer, data = server.get(f"/v1/hls/{movie}/{address}")
                check(answer.status == 200 and answer.getheader("Content-Type") == "image/jpeg", f"{address}: {answer.status}")
                sheets[address] = tiles_of(data)
            got = sheets[address][x // width + 5 * (y // height)]
            apart = max(abs(a - b) for a, b in zip(got, colour_at(begin)))
            check(apart < 9, f"{movie}: the tile of {begin} s is {got}, not {colour_at(begin)}")
        check(len(sheets) == -(-count // 25), f"{movie}: {len(sheets)} sheets")
    size = cues_of(server, "full.avi")[0][3][2:]
    check(size == (60, 108), f"an upright movie has tiles of {size}")


def playlists_name_them(server):
    movie = "bt709.mp4"
    problems, _ = hls_check.check(f"{server.base}/v1/hls/{movie}/master.m3u8?{ONE}")
    check(not problems, f"{problems[:5]}")
    master = server.get(f"/v1/hls/{movie}/master.m3u8?{ONE}")[1].decode()
    said = [hls_check.attributes(line) for line in master.splitlines() if line.startswith("#EXT-X-IMAGE-STREAM-INF:")]
    check(len(said) == 1 and said[0]["RESOLUTION"] == "192x108", f"{said}")
    lines = server.get(f"/v1/hls/{movie}/{said[0]['URI']}")[1].decode().splitlines()
    check("#EXT-X-IMAGES-ONLY" in lines and lines[-1] == "#EXT-X-ENDLIST", f"{lines[:8]}")
    check(lines.count("#EXT-X-TILES:RESOLUTION=192x108,LAYOUT=5x5,DURATION=10.000000") == 2, f"{lines}")
    lengths = [float(line[8:-1]) for line in lines if line.startswith("#EXTINF:")]
    check(lengths == [250.0, 15.0], f"{lengths}")
    sheets = [line for line in lines if not line.startswith("#")]
    check(sheets == list(dict.fromkeys(cue[2] for cue in cues_of(server, movie))), f"{sheets}")
    bandwidth = int(said[0]["BANDWIDTH"])
    for address, seconds in zip(sheets, lengths):
        data = server.get(f"/v1/hls/{movie}/{address}")[1]
        check(8 * len(data) / seconds <= bandwidth, f"{address}: {len(data)} bytes are more than {bandwidth} bit/s")


def dash_names_them(server):
    movie = "bt709.mp4"
    space = {"d": "urn:mpeg:dash:schema:mpd:2011"}
    manifest = ElementTree.fromstring(server.get(f"/v1/dash/{movie}/manifest.mpd?{ONE}")[1])
    images = [s for s in manifest.iterfind(".//d:AdaptationSet", space) if s.get("contentType") == "image"]
    check(len(images) == 1 and images[0].get("mimeType") == "image/jpeg", "one set of images")
    template, one = images[0].find("d:SegmentTemplate", space), images[0].find("d:Representation", space)
    tile = one.find("d:EssentialProperty", space)
    check((tile.get("schemeIdUri"), tile.get("value")) == ("http://dashif.org/guidelines/thumbnail_tile", "5x5"), "tiles")
    check((one.get("width"), one.get("height")) == ("960", "540"), "the size of a sheet")
    check(int(template.get("duration")) / int(template.get("timescale")) == 250, "seconds of a sheet")
    check(template.get("endNumber") == "1", "the last sheet")
    address = template.get("media").replace("$RepresentationID$", one.get("id")).replace("$Number$", template.get("startNumber"))
    same = server.get(f"/v1/dash/{movie}/{address}")[1] == server.get(f"/v1/hls/{movie}/{cues_of(server, movie)[0][2]}")[1]
    check(same, "DASH and HLS have the same sheets")


def equal_bytes(server):
    path = f"/v1/hls/bt601.mp4/t0-1.jpg?{ONE}"
    first, again = server.get(path), server.get(path)
    check(first[1] == again[1] and first[0].getheader("ETag") == again[0].getheader("ETag"), "a sheet that is made twice")
    answer, body = server.get(path, headers={"If-None-Match": first[0].getheader("ETag")})
    check(answer.status == 304 and not body, "If-None-Match")


def only_versions_are_cached(server):
    """What is asked for without a version may be another file's tomorrow."""
    sheet = cues_of(server, "bt601.mp4")[0][2]
    query = sheet.partition("?")[2]
    for path, kept in [(f"t0-0.jpg?{ONE}", False), (f"t0.vtt?{ONE}", False), (f"v0-init.mp4?{ONE}", False),
                       (f"t0-0.jpg?{query}", True), (f"v0-0.m4s?{query}", True), (f"v0-init.mp4?{query}", True)]:
        answer, _ = server.get(f"/v1/hls/bt601.mp4/{path}")
        check(("max-age=86400" in answer.getheader("Cache-Control")) == kept, f"{path}: {answer.getheader('Cache-Control')}")
    playlist = "application/vnd.apple.mpegurl"
    for name, kind in [("v0-init.mp4", "video/mp4"), ("i0-init.mp4", "video/mp4"), ("i0-0.m4s", "video/mp4"),
                       ("t0.vtt", "text/vtt; charset=utf-8"), ("i0.m3u8", playlist), ("t0.m3u8", playlist)]:
        said = server.get(f"/v1/hls/bt601.mp4/{name}?{ONE}")[0].getheader("Content-Type")
        check(said == kind, f"{name} is {said}")


def key_frames_are_pictures(server):
    """Of every codec, with the bits that a good picture takes: the same as at the start of the movie's own segments."""
    for codec in ("h264", "hevc", "av1", "vp9"):
        query = f"width=320&bitrate=600k&preset=ultrafast&vcodec={codec}&duration=4"
        problems, _ = hls_check.check(f"{server.base}/v1/hls/noise.mp4/master.m3u8?{query}")
        check(not problems, f"{codec}: {problems[:5]}")
        said = server.get(f"/v1/hls/noise.mp4/master.m3u8?{query}")[1].decode()
        uri = re.search(r'URI="(i0[^"]*)"', said)[1]
        psnr = subprocess.run(["ffmpeg", "-nostdin", "-i", f"{server.base}/v1/hls/noise.mp4/{uri}", "-i",
                               str(Path(server.folder, "noise.mp4")), "-frames:v", "1", "-lavfi",
                               "[1:v]scale=320:180[a];[0:v][a]psnr", "-f", "null", "-"], capture_output=True, text=True, check=True)
        found = re.search(r"average:([\d.]+|inf)", psnr.stderr)
        check(found and float(found[1]) > 28, f"{codec}: the first picture has {found and found[1]} dB")


def size_of(data):
    return subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=width,height", "-of", "csv=p=0", "-"], input=data,
                          capture_output=True, check=True).stdout.decode().strip()


def stills_are_what_is_seen_at_their_time(server):
    for movie in ("bt601.mp4", "bt709.mp4", "onekey.mp4"):
        for millis in (0, 1, 9_999, 10_000, 20_199, 43_333, 64_999):
            answer, data = server.get(f"/v1/hls/{movie}/p0-{millis}.jpg?{ONE}")
            check(answer.status == 200 and answer.getheader("Content-Type") == "image/jpeg", f"{millis}: {answer.status}")
            got = tiles_of(data, 1, 1)[0]
            apart = max(abs(a - b) for a, b in zip(got, colour_at(millis / 1000)))
            check(apart < 9, f"{movie} at {millis} ms is {got}, not {colour_at(millis / 1000)}")
    check(size_of(server.get("/v1/hls/noise.mp4/p0-0.jpg?width=320")[1]) == "320,180", "as wide as asked for")
    check(size_of(server.get("/v1/hls/noise.mp4/p0-0.jpg?rungs=640x360:1M,320x180:300k")[1]) == "640,360", "the first rung")
    check(size_of(server.get("/v1/dash/noise.mp4/p1-0.jpg?rungs=640x360:1M,320x180:300k")[1]) == "320,180", "the second")
    check(size_of(server.get("/v1/hls/disc.mpg/p0-0.jpg?width=64&height=64&fit=pad")[1]) == "64,64", "in bars")
    check(size_of(server.get("/v1/hls/disc.mpg/p0-0.jpg?width=720")[1]) == "720,406", "in square pixels")
    check(cues_of(server, "disc.mpg")[0][3][2:] == (192, 108), "so are thumbnails")
    # The colours of start= are those of the part that is shown.
    got = tiles_of(server.get(f"/v1/hls/bt709.mp4/p0-3000.jpg?{ONE}&start=18")[1], 1, 1)[0]
    check(max(abs(a - b) for a, b in zip(got, colour_at(21))) < 9, f"with start=18: {got}")
    path = f"/v1/hls/bt601.mp4/p0-33000.jpg?{ONE}"
    first, again = server.get(path), server.get(path)
    check(first[1] == again[1] and first[0].getheader("ETag") == again[0].getheader("ETag"), "one that is made twice")
    tags = [server.get(f"/v1/hls/bt601.mp4/p0-{millis}.jpg?{ONE}")[0].getheader("ETag") for millis in (33_000, 33_199, 33_200)]
    check(tags[0] == tags[1] != tags[2], f"the same picture is the same file: {tags}")
    for name, word in ((f"p0-{SECONDS * 1000}.jpg", f"p0-{SECONDS * 1000 - 1}.jpg"), ("p1-0.jpg", "playlists"), ("p0.jpg", "p0-12500.jpg")):
        answer, body = server.get(f"/v1/hls/bt601.mp4/{name}?{ONE}")
        check(answer.status == 404 and word in body.decode(), f"{name}: {answer.status}, {body[:200]}")


def names_that_do_not_exist(server):
    for name in ("t0-2.jpg", "t1.m3u8", "t1-0.jpg", "t0-0.ts", "t0-0.m4s", "t0-0.vtt", "t0-init.mp4", "t0-.jpg", "t.jpg",
                 "v0-0.jpg", "s0-0.jpg", "t0-999999999.jpg"):
        answer, _ = server.get(f"/v1/hls/bt601.mp4/{name}?{ONE}")
        check(answer.status == 404, f"{name}: {answer.status}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_movies(folder)
        with Server(folder, "--segment-cache-bytes", "0") as server:
            server.folder = folder
            return run_all([tiles_show_their_times, playlists_name_them, dash_names_them, equal_bytes, only_versions_are_cached,
                            key_frames_are_pictures, stills_are_what_is_seen_at_their_time, names_that_do_not_exist], server)


if __name__ == "__main__":
    sys.exit(main())
