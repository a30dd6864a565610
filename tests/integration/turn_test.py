#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`rotate` and `deinterlace`: what a movie does not say of itself, asked for by HTTP, HLS, RTSP, the command line and of a live source."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from live_test import Publisher, Reader  # noqa: E402
from served import PROGRAM, Server, check, run_on_rtsp, wait_until  # noqa: E402

SMALL = "bitrate=300k&preset=ultrafast&acodec=none"
X264 = ("-c:v", "libx264", "-preset", "ultrafast", "-qp", "12", "-g", "30", "-bf", "0")
CORNERS = ("top left", "top right", "bottom right", "bottom left")  # clockwise


def make(path, source, filters, seconds=3):
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"{source}:duration={seconds}", "-vf", filters, *X264, "-y", path], check=True)


def make_movies(folder):
    # A white quarter in the top left.
    make(f"{folder}/marked.mp4", "color=black:size=320x180:rate=30", "drawbox=w=160:h=90:color=white:t=fill,format=yuv420p")
    make(f"{folder}/marked.ts", "color=black:size=320x180:rate=30", "drawbox=w=160:h=90:color=white:t=fill,format=yuv420p", 7)
    # What moves sideways, in fields of which nothing tells.
    make(f"{folder}/fields.mp4", "testsrc2=size=320x180:rate=60", "tinterlace=interleave_top,format=yuv420p")


def decoded(data, name, filters, size):
    """The pictures of a movie, or of an address, as lists of gray."""
    path = data if isinstance(data, str) else "-"
    done = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", *(("-rtsp_transport", "tcp") if path.startswith("rtsp") else ()), "-i", path,
                           "-vf", f"{filters}format=gray", "-f", "rawvideo", "-"], input=None if isinstance(data, str) else data,
                          capture_output=True, check=False)
    pictures = [done.stdout[at:at + size] for at in range(0, len(done.stdout), size)]
    check(len(pictures) >= 30, f"{name}: {len(pictures)} pictures, {done.stderr[:200]}")
    return pictures


def expect_mark(data, corner, name):
    """The white quarter is in this corner of each picture."""
    for picture in decoded(data, name, "scale=2:2:flags=area,", 4):
        bright = [CORNERS[place] for place, value in zip((0, 1, 3, 2), picture) if value > 128]
        if bright != [corner]:
            return check(False, f"{name}: the mark is {bright}, not {corner}")
    return None


def shown_size(data):
    out = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=width,height", "-of", "csv=p=0:nk=1", "-"],
                         input=data, capture_output=True, check=True).stdout
    return [int(number) for number in re.findall(rb"\d+", out)[:2]]


def turns_by_http_as_on_the_command_line(server):
    for degrees, size in ((0, [320, 180]), (90, [180, 320]), (180, [320, 180]), (270, [180, 320])):
        answer, body = server.get(f"/v1/transcode/marked.mp4?rotate={degrees}&{SMALL}&container=ts")
        check(answer.status == 200 and shown_size(body) == size, f"{degrees} degrees: {answer.status}, {shown_size(body)}")
        expect_mark(body, CORNERS[degrees // 90], f"{degrees} degrees")
        direct = subprocess.run([PROGRAM, "transcode", f"{server.folder}/marked.mp4", "-", "--quiet", "--container", "ts", "--rotate", str(degrees),
                                 "--bitrate", "300k", "--preset", "ultrafast", "--acodec", "none"], check=True, capture_output=True).stdout
        check(direct == body, f"{degrees} degrees: the command line gives other bytes")
    _, body = server.get(f"/v1/transcode/marked.mp4?rotate=90&width=90&{SMALL}&container=ts")
    check(shown_size(body) == [90, 160], f"a width is that of the turned picture: {shown_size(body)}")


def turns_segments_and_thumbnails(server):
    """One movie in two ways, one of them in the cache already."""
    for query, corner in (("", "top left"), ("&rotate=90", "top right"), ("", "top left"), ("&rotate=180", "bottom right")):
        expect_mark(f"{server.base}/v1/hls/marked.mp4/master.m3u8?size=160x160&{SMALL}{query}", corner, f"HLS {query}")
    master = server.get("/v1/hls/marked.mp4/master.m3u8?rotate=90")[1].decode()
    shapes = [[int(side) for side in found] for found in re.findall(r"RESOLUTION=(\d+)x(\d+)", master)]
    check(len(shapes) >= 3 and all(width < height for width, height in shapes), f"a ladder, key pictures and thumbnails of {shapes}")


def turns_by_rtsp(server):
    expect_mark(f"{server.url('marked.mp4')}?rotate=270&{SMALL}", "bottom left", "RTSP")


def readers_of_a_live_source_turn_it_by_themselves(server):
    publisher = Publisher(server, "turned", f"{server.folder}/marked.ts", form=("-f", "mpegts", "-muxdelay", "0"))
    wait_until(lambda: server.live("turned").get("source"), 20, "a publisher that is known")
    readers = {query: Reader(server, "turned", f"container=ts&{SMALL}{query}") for query in ("", "&rotate=90", "&deinterlace=on")}
    publisher.finish()
    for query, reader in readers.items():
        reader.thread.join()
        expect_mark(reader.body, "top right" if "90" in query else "top left", f"live {query}")


def combed(data, name):
    """By how much more a line differs from the next one than from the one behind that."""
    width, height = 320, 180
    picture = decoded(data, name, "", width * height)[30]
    lines = [picture[at:at + width] for at in range(0, len(picture), width)]
    apart = [sum(sum(abs(a - b) for a, b in zip(lines[n], lines[n + step])) for n in range(height - 2)) for step in (1, 2)]
    return apart[0] / apart[1]


def deinterlaces_what_does_not_say_so(server):
    bodies = {kind: server.get(f"/v1/transcode/fields.mp4?deinterlace={kind}&crf=12&preset=ultrafast&acodec=none&container=ts")[1]
              for kind in ("auto", "off", "on")}
    check(bodies["auto"] == bodies["off"], "a movie that says nothing is deinterlaced by itself")
    left, made = combed(bodies["off"], "off"), combed(bodies["on"], "on")
    check(made < 0.8 * left, f"lines differ {left:.2f} times as they are, {made:.2f} times deinterlaced")


def main():
    os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "5"
    with tempfile.TemporaryDirectory() as folder:
        make_movies(folder)
        server = Server(folder, rtsp=True)
        server.folder = folder
        return run_on_rtsp([turns_by_http_as_on_the_command_line, turns_segments_and_thumbnails, turns_by_rtsp,
                            readers_of_a_live_source_turn_it_by_themselves, deinterlaces_what_does_not_say_so], server)


if __name__ == "__main__":
    sys.exit(main())
