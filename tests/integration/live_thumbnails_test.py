#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Thumbnails of live presentations: each shows the very picture that its segment begins with, of the right size, made
once and only when somebody asks, in HLS and in DASH, over a publisher's return; and names that do not exist."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import urljoin

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import live_check  # noqa: E402
from hls_check import DASH  # noqa: E402
from live_test import Publisher  # noqa: E402
from served import Server, check, run_all, wait_until  # noqa: E402

os.environ["GOPMILL_SEGMENTS_LIVE_IDLE_SECONDS"] = "3"
BITS, RATE = 16, 30
LADDER = "rungs=640x360:400k,320x180:200k&preset=ultrafast&segment=1"
CODED = "width=320&bitrate=300k&preset=ultrafast&segment=1"
MADE = "gopmill_live_thumbnails_total"


def make_movie(folder, name, seconds=40):
    """Pictures that say their number: upright bars, dark for 0 and bright for 1; a key picture each second."""
    source = (f"color=c=black:s={BITS}x9:r={RATE}:d={seconds},format=gray,geq=lum='if(mod(floor(N/pow(2,X)),2),235,16)',"
              "scale=640:360:flags=neighbor,format=yuv420p")
    movie = str(Path(folder, name))
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", source, "-f", "lavfi", "-i", f"sine=d={seconds}",
                    "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", str(RATE), "-c:a", "aac", "-y", movie],
                   check=True)
    return movie


def number_in(data):
    """Of the first picture of what this is, and that picture's size."""
    shown = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", "-", "-frames:v", "1", "-pix_fmt", "gray", "-f", "image2pipe",
                            "-c:v", "pgm", "-"], input=data, capture_output=True, check=True)
    check(not shown.stderr, f"a decoder complains: {shown.stderr[:200]}")
    _, size, _, raw = shown.stdout.split(b"\n", 3)
    width, height = map(int, size.split())
    row = raw[height // 2 * width:]
    return sum((row[width * (2 * bit + 1) // (2 * BITS)] > 128) << bit for bit in range(BITS)), (width, height)


def publish(server, name, movie):
    publisher = Publisher(server, name, movie)
    wait_until(lambda: server.live(name).get("source"), 20, f"a publisher of {name} that is known")
    return publisher


def playlist_of(server, address):
    return live_check.Playlist(address, lambda good, text: check(good, f"{address}: {text}"), parts=False)


def show_what_segments_begin_with(server):
    publisher = publish(server, "cam", server.movie)
    master = f"{server.base}/v1/hls/live/cam/master.m3u8?{LADDER}"
    rules = {}
    watcher = threading.Thread(target=lambda: rules.update(problems=live_check.check(master, 8)[0]))
    before = server.metric(MADE)
    server.get(f"/v1/hls/live/cam/v0.m3u8?{LADDER}")
    check(server.metric(MADE) == before, "a thumbnail that nobody asked for")
    watcher.start()
    watcher.join()
    check(not rules["problems"], f"rules: {rules['problems'][:6]}")
    address = f"{server.base}/v1/hls/live/cam/t0.m3u8?{LADDER}"
    pictures = playlist_of(server, address).complete[-5:]
    numbers = []
    for picture in pictures:
        number, size = number_in(live_check.fetch(picture.uri))
        check(size == (192, 108), f"{picture.uri}: {size}")
        check(number == first_number(server, picture.number), f"{picture.uri} shows {number}, not what its segment begins with")
        numbers.append(number)
    steps = [b - a for a, b in zip(numbers, numbers[1:])]
    lengths = [round(RATE * picture.seconds) for picture in pictures[:-1]]
    check(steps == lengths, f"from picture to picture {steps}, segments last {lengths}")
    in_dash(server)
    publisher.kill()


def first_number(server, segment):
    """Of the pictures of this segment of the rendition that thumbnails are made of."""
    parts = (live_check.fetch(f"{server.base}/v1/hls/live/cam/{name}?{LADDER}") for name in ("v1-init.mp4", f"v1-{segment}.m4s"))
    return number_in(b"".join(parts))[0]


def in_dash(server):
    base = f"{server.base}/v1/dash/live/cam/manifest.mpd?{LADDER}"
    period = ElementTree.fromstring(live_check.fetch(base)).findall(DASH + "Period")[-1]
    sets = {s.get("contentType"): s for s in period.iter(DASH + "AdaptationSet")}
    check(sets["image"].get("mimeType") == "image/jpeg", "no set of images")
    template, one = sets["image"].find(DASH + "SegmentTemplate"), sets["image"].find(DASH + "Representation")
    tile = one.find(DASH + "EssentialProperty")
    check((tile.get("schemeIdUri"), tile.get("value")) == ("http://dashif.org/guidelines/thumbnail_tile", "1x1"), "tiles")
    check((one.get("width"), one.get("height")) == ("192", "108"), "the size of a tile")
    ids = [s.get("id") for s in period.iter(DASH + "AdaptationSet")]
    check(len(set(ids)) == len(ids), f"sets of the same id: {ids}")
    lines = [[s.attrib for s in sets[kind].iter(DASH + "S")] for kind in ("image", "video")]
    starts = [sets[kind].find(DASH + "SegmentTemplate").get("startNumber") for kind in ("image", "video")]
    check(lines[0] == lines[1] and starts[0] == starts[1], "tiles have other times than the pictures")
    check(len(lines[0]) >= 4, f"{len(lines[0])} tiles")
    for number in range(int(starts[0]) + 1, int(starts[0]) + 4):
        name = template.get("media").replace("$RepresentationID$", one.get("id")).replace("$Number$", str(number))
        shown = number_in(live_check.fetch(urljoin(base, name)))[0]
        check(shown == first_number(server, number), f"{name} shows {shown}, not what its segment begins with")


def one_is_made_for_all_who_ask(server):
    publisher = publish(server, "many", server.movie)
    address = f"{server.base}/v1/hls/live/many/t0.m3u8?{LADDER}"
    wait_until(lambda: len(playlist_of(server, address).complete) >= 6, 20, "six segments")
    pictures, before, bodies = playlist_of(server, address).complete[-6:], server.metric(MADE), {}
    held = server.metric("gopmill_live_segment_bytes")
    threads = [threading.Thread(target=lambda uri=picture.uri, n=n: bodies.update({(uri, n): live_check.fetch(uri)}))
               for picture in pictures for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(len(bodies) == 48 and len(set(bodies.values())) == 6, f"{len(bodies)} answers, {len(set(bodies.values()))} pictures")
    check(server.metric(MADE) == before + 6, f"{server.metric(MADE) - before} made for six pictures")
    check(server.metric("gopmill_live_segment_bytes") > held, "thumbnails take no memory")
    path = pictures[-1].uri[len(server.base):]
    answer, _ = server.get(path)
    check(answer.getheader("Content-Type") == "image/jpeg" and "max-age" in answer.getheader("Cache-Control"), f"{answer.getheaders()}")
    again, body = server.get(path, headers={"If-None-Match": answer.getheader("ETag")})
    check(again.status == 304 and not body and server.metric(MADE) == before + 6, f"If-None-Match: {again.status}")
    publisher.kill()


def slide_with_the_pictures(server):
    """Over a publisher's return, until the first has left the window and can be had no more."""
    first = publish(server, "back", server.movie)
    address = f"{server.base}/v1/hls/live/back/t0.m3u8?{CODED}"
    wait_until(lambda: len(playlist_of(server, address).complete) >= 3, 20, "three segments")
    old = playlist_of(server, address).complete[0].uri
    first.kill()
    wait_until(lambda: not server.live("back")["publishing"], 5, "a killed publisher is still there")
    second = publish(server, "back", server.movie)
    wait_until(lambda: server.get(old[len(server.base):])[0].status == 404, 40, "the first segment's picture is still there")
    check(live_check.status_of(old.replace("t0-", "v0-").replace(".jpg", ".m4s")) == 404, "the segment is there yet")
    text = live_check.fetch(address).decode()
    tags = text.count("#EXT-X-DISCONTINUITY\n") + int(re.search(r"DISCONTINUITY-SEQUENCE:(\d+)", text)[1])
    check(tags == 1, f"{tags} discontinuities")
    newest = playlist_of(server, address).complete[-1].uri
    check(number_in(live_check.fetch(newest))[1] == (192, 108), "behind a return")
    second.kill()


def of_every_codec(server):
    publisher = publish(server, "codecs", server.movie)
    for codec in ("hevc", "vp9", "av1"):
        query = f"width=320&height=180&bitrate=300k&preset=ultrafast&segment=1&vcodec={codec}"
        address = f"{server.base}/v1/hls/live/codecs/t0.m3u8?{query}"
        picture = playlist_of(server, address).complete[-1]
        number, size = number_in(live_check.fetch(picture.uri))
        whole = live_check.fetch(urljoin(address, f"v0-init.mp4?{query}"))
        whole += live_check.fetch(picture.uri.replace("t0-", "v0-").replace(".jpg", ".m4s"))
        check((number, size) == (number_in(whole)[0], (192, 108)), f"{codec}: {number}, {size}")
    publisher.kill()


def leave_at_once(server, path):
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


def garbage(server):
    publisher = publish(server, "bad", server.movie)
    status = server.get(f"/v1/hls/live/bad/t0.m3u8?{CODED}")[0].status
    check(status == 200, f"a playlist of thumbnails without its master: {status}")
    before = server.metric(MADE)
    names = ["t0-999999.jpg", "t0--1.jpg", "t0-01.jpg", "t0-1.0.jpg", "t0-1.0.m4s", "t0-0.m4s", "t0-0.vtt", "t0.vtt", "t0-init.mp4",
             "t1.m3u8", "t1-0.jpg", "t-0.jpg", "t0-.jpg", "t0.jpg", "t0-99999999999999999999.jpg", "t0-0.jpeg", "T0-0.jpg",
             "t0-%00.jpg", "t0-0.jpg%2F..", "v0-0.jpg", "i0-0.jpg", "t0-0x1.jpg"]
    for name in names:
        answer, body = server.get(f"/v1/hls/live/bad/{name}?{CODED}")
        check(answer.status in (400, 404), f"{name}: {answer.status} {body[:80]}")
        check(answer.getheader("Content-Type") == "application/problem+json", f"{name}: {body[:80]}")
    check(server.get(f"/v1/hls/live/bad/t0-0.jpg?{CODED}&version=1")[0].status == 404, "of another presentation")
    check(server.get(f"/v1/hls/live/bad/t0-0.jpg?{CODED}&_HLS_msn=1")[0].status == 400, "a picture is not waited for")
    check(server.metric(MADE) == before, "garbage has made thumbnails")
    for n in range(30):
        leave_at_once(server, f"/v1/hls/live/bad/t0-{n % 3}.jpg?{CODED}")
    check(server.get(f"/v1/hls/live/bad/t0-0.jpg?{CODED}")[0].status == 200, "one that stays")
    publisher.kill()
    wait_until(lambda: server.metric("gopmill_live_waiting_requests") == 0, 30, "requests that nobody waits for")


def main():
    with tempfile.TemporaryDirectory() as folder, Server(folder, "--segment-cache-bytes", "0", "--dvr-seconds", "6") as server:
        server.movie = make_movie(folder, "numbers.ts")
        return run_all([show_what_segments_begin_with, one_is_made_for_all_who_ask, slide_with_the_pictures, of_every_codec,
                        garbage], server)


if __name__ == "__main__":
    sys.exit(main())
