#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Subtitles that are pictures (PGS, DVD, DVB), drawn into the movie: at the right pictures and places whatever the form,
the scale and the way of asking, the same bytes on one worker and two, and what damage does."""

import hashlib
import json
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, Server, check, run_all  # noqa: E402

CANVAS = (1280, 720)
WIDTH, HEIGHT, FPS, SECONDS = 320, 180, 25, 8
# Seconds, and the rectangle of the canvas that is white then.
CUES = [(0.52, 1.48, (400, 600, 480, 80)), (1.8, 2.6, (160, 40, 320, 80)), (2.6, 3.4, (160, 600, 320, 80)),
        (4.0, 6.52, (640, 600, 160, 80))]
ONE = f"width={WIDTH}&preset=ultrafast&crf=6&acodec=none"
OPTIONS = ["--width", str(WIDTH), "--preset", "ultrafast", "--crf", "6", "--acodec", "none"]


def segment(kind, seconds, payload):
    """One of a .sup file."""
    return b"PG" + struct.pack(">IIBH", round(seconds * 90000), 0, kind, len(payload)) + payload


def composition(number, place):
    head = struct.pack(">HHBHBBBB", *CANVAS, 0x10, number, 0x80, 0, 0, 0 if place is None else 1)
    return head + (b"" if place is None else struct.pack(">HBBHH", 0, 0, 0, *place))


def white(width, height):
    """An object: a white rectangle, coded in runs."""
    lines = (bytes([0, 0xC0 | width >> 8, width & 255, 1, 0, 0])) * height
    return struct.pack(">HBB", 0, 0, 0xC0) + (len(lines) + 4).to_bytes(3, "big") + struct.pack(">HH", width, height) + lines


def event(number, seconds, box):
    if box is None:
        return segment(0x16, seconds, composition(number, None)) + segment(0x80, seconds, b"")
    window = struct.pack(">BBHHHH", 1, 0, *box)
    palette = bytes([0, 0, 1, 235, 128, 128, 255])
    return (segment(0x16, seconds, composition(number, box[:2])) + segment(0x17, seconds, window) +
            segment(0x14, seconds, palette) + segment(0x15, seconds, white(*box[2:])) + segment(0x80, seconds, b""))


def sup(cues):
    """A .sup file. An event at 0 that shows nothing keeps ffmpeg from taking the first cue's time for the file's beginning."""
    data, number = event(0, 0, None), 1
    for (start, end, box), after in zip(cues, [*cues[1:], None]):
        data += event(number, start, box)
        number += 1
        if after is None or after[0] > end:
            data += event(number, end, None)
            number += 1
    return data


def unit_of_dvd(seconds, box):
    """A subpicture of a DVD that is seen for so long: a rectangle of colour 3, each line "to its end"."""
    x, y, width, height = box
    field = b"\x00\x03" * (height // 2)
    control = 4 + 2 * len(field)
    first = (struct.pack(">HH", 0, control + 24) + b"\x01" + b"\x03\x10\x00" + b"\x04\xF0\x00" + b"\x05" +
             ((x << 12) | (x + width - 1)).to_bytes(3, "big") + ((y << 12) | (y + height - 1)).to_bytes(3, "big") + b"\x06" +
             struct.pack(">HH", 4, 4 + len(field)) + b"\xFF")
    second = struct.pack(">HH", round(seconds * 90000 / 1024), control + 24) + b"\x02\xFF"
    body = field + field + first.ljust(24, b"\xFF") + second
    return struct.pack(">HH", len(body) + 4, control) + body


def pack_of_dvd(seconds, payload):
    """A pack of MPEG-2 with one packet of private stream 1."""
    ticks = round(seconds * 90000)
    pts = bytes([0x21 | ticks >> 29 & 0x0E, ticks >> 22 & 0xFF, 0x01 | ticks >> 14 & 0xFE, ticks >> 7 & 0xFF, 0x01 | ticks << 1 & 0xFE])
    body = b"\x81\x80\x05" + pts + b"\x20" + payload
    return bytes.fromhex("000001BA44000400040101 89C3F8".replace(" ", "")) + b"\x00\x00\x01\xBD" + struct.pack(">H", len(body)) + body


def vobsub(folder, cues):
    """The files text.idx and text.sub."""
    index = ["# VobSub index file, v7 (do not modify this line!)", f"size: {CANVAS[0]}x{CANVAS[1]}",
             "palette: " + ", ".join(["000000", "ffffff"] + ["808080"] * 14), "id: en, index: 0"]
    data = b""
    for start, end, box in cues:
        index.append(f"timestamp: 00:00:{int(start):02}:{round(start % 1 * 1000):03}, filepos: {len(data):09x}")
        data += pack_of_dvd(start, unit_of_dvd(end - start, box))
    Path(folder, "text.idx").write_text("\n".join(index) + "\n", encoding="ascii")
    Path(folder, "text.sub").write_bytes(data)
    return Path(folder, "text.idx")


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-nostdin", "-y", "-v", "error", *map(str, arguments)], check=True)


def make_movies(folder):
    Path(folder, "text.sup").write_bytes(sup(CUES))
    Path(folder, "late.sup").write_bytes(sup([(7.0, 7.52, (0, 0, 320, 80))]))
    source = ["-f", "lavfi", "-i", f"color=gray:s=1280x720:r={FPS}:d={SECONDS}"]
    coded = ["-c:v", "libx264", "-preset", "ultrafast", "-g", "25"]
    tracks = ["-i", Path(folder, "text.sup"), "-i", Path(folder, "late.sup"), "-map", "0", "-map", "1", "-map", "2"]
    ffmpeg(*source, *tracks, *coded, "-c:s", "copy", Path(folder, "pgs.mkv"))
    one = ["-i", Path(folder, "text.sup"), "-map", "0", "-map", "1"]
    disc = ["-i", vobsub(folder, CUES), "-map", "0", "-map", "1"]
    ffmpeg(*source, *disc, *coded, "-c:s", "copy", Path(folder, "dvd.mkv"))
    ffmpeg(*source, *disc, *coded, "-c:s", "dvbsub", Path(folder, "dvb.ts"))
    ffmpeg("-f", "lavfi", "-i", f"color=gray:s=1280x534:r={FPS}:d={SECONDS}", *one, *coded, "-c:s", "copy",
           Path(folder, "cut.mkv"))
    Path(folder, "words.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nWORDS\n", encoding="utf-8")
    ffmpeg(*source, "-i", Path(folder, "text.sup"), "-i", Path(folder, "words.srt"), "-map", "0", "-map", "1", "-map", "2",
           *coded, "-c:s:0", "copy", "-c:s:1", "subrip", Path(folder, "both.mkv"))


def luma(data, width=WIDTH, height=HEIGHT, extra=()):
    """Each picture's luma; of bytes or of a URL."""
    raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", data if isinstance(data, str) else "-", *extra, "-f",
                          "rawvideo", "-pix_fmt", "gray", "-"], capture_output=True, check=False,
                         input=None if isinstance(data, str) else data).stdout
    size = width * height
    return [raw[at:at + size] for at in range(0, len(raw), size)]


def boxes(pictures, width=WIDTH):
    """Of each picture the rectangle that holds all that is bright, or None."""
    found = []
    for picture in pictures:
        rows = [y for y in range(len(picture) // width) if max(picture[y * width:(y + 1) * width]) > 180]
        if not rows:
            found.append(None)
            continue
        columns = [x for x in range(width) if max(picture[rows[0] * width + x::width][:len(rows)]) > 180]
        found.append((columns[0], rows[0], columns[-1] + 1 - columns[0], rows[-1] + 1 - rows[0]))
    return found


def scaled(box, width=WIDTH):
    return tuple(round(side * width / CANVAS[0]) for side in box)


def expected(cues=None, fps=FPS, start=0.0, seconds=SECONDS):
    shown = []
    for n in range(round((seconds - start) * fps)):
        at = start + n / fps + 1e-6
        shown.append(next((scaled(box) for a, b, box in cues or CUES if a <= at < b), None))
    return shown


def alike(got, wanted, most=1):
    """The same pictures, and rectangles that differ by a point at most."""
    return len(got) == len(wanted) and all(
        (a is None) == (b is None) and (a is None or all(abs(x - y) <= most for x, y in zip(a, b)))
        for a, b in zip(got, wanted))


def every_form_is_drawn_at_its_time_and_place(server):
    for movie in ("pgs.mkv", "dvd.mkv", "dvb.ts"):
        for query, fps, start in (("", FPS, 0), ("&fps=10", 10, 0), ("&start=2", FPS, 2), ("&unit=0.5", FPS, 0)):
            path = f"/v1/transcode/{movie}?{ONE}&burn=1{query}"
            answer, body = server.get(path)
            got = boxes(luma(body))
            # DVB's clock is on pictures, that of DVDs on 1/100 s or so: a picture at each end.
            wanted = expected(fps=fps, start=start)
            close = sum(a != b for a, b in zip([g is None for g in got], [w is None for w in wanted]))
            check(answer.status == 200 and (alike(got, wanted) if movie == "pgs.mkv" else close <= 6),
                  f"{path}: {answer.status}, {[(n, g, w) for n, (g, w) in enumerate(zip(got, wanted)) if g != w][:6]}")
            middle = round((5 - start) * fps)
            check(alike(got[middle:middle + 1], wanted[middle:middle + 1], 2), f"{path}: {got[middle]}, not {wanted[middle]}")
    second = boxes(luma(server.get(f"/v1/transcode/pgs.mkv?{ONE}&burn=2")[1]))
    check(alike(second, expected([(7.0, 7.52, (0, 0, 320, 80))])), "the second track")
    for query in ("", "&burn=off"):
        check(set(boxes(luma(server.get(f"/v1/transcode/pgs.mkv?{ONE}{query}")[1]))) == {None}, f"'{query}' draws nothing")


def text_and_pictures_are_counted_together(server):
    listed = json.loads(server.get("/v1/sources")[1])["sources"]
    tracks = next(source for source in listed if source["path"] == "both.mkv")["subtitles"]
    check([track["codec"] for track in tracks] == ["hdmv_pgs_subtitle", "subrip"], f"{tracks}")
    check([track["pictures"] for track in tracks] == [True, False], f"{tracks}")
    got = boxes(luma(server.get(f"/v1/transcode/both.mkv?{ONE}&burn=1")[1]))
    check(alike(got, expected()), "the pictures")
    words = [n for n, box in enumerate(boxes(luma(server.get(f"/v1/transcode/both.mkv?{ONE}&burn=2")[1]))) if box]
    check(words == list(range(25, 50)), f"the words: {words}")
    master = server.get("/v1/hls/both.mkv/master.m3u8")[1].decode()
    check(master.count("TYPE=SUBTITLES") == 1, f"only the words are a rendition:\n{master}")
    cues = server.get("/v1/hls/both.mkv/s0.vtt")[1].decode()
    check("WORDS" in cues, f"{cues}")


def a_picture_that_was_cut_has_all_of_it(server):
    """A film without its bars: the canvas still has their height."""
    body = server.get(f"/v1/transcode/cut.mkv?{ONE}&burn=1")[1]
    height = len(luma(body, 1, 1)) // WIDTH // (FPS * SECONDS)
    got = boxes(luma(body, WIDTH, height))[25]
    ratio = height / CANVAS[1]
    left = (WIDTH - CANVAS[0] * ratio) / 2
    x, y, wide, high = CUES[0][2]
    wanted = (round(left + x * ratio), round(y * ratio), round(wide * ratio), round(high * ratio))
    check(got is not None and alike([got], [wanted], 2), f"{got}, not {wanted}")


def bars_and_cuts_of_the_target(server):
    got = boxes(luma(server.get(f"/v1/transcode/pgs.mkv?{ONE}&height=320&fit=pad&burn=1")[1], WIDTH, 320))[25]
    x, y, wide, high = scaled(CUES[0][2])
    check(alike([got], [(x, y + 70, wide, high)], 2), f"between bars: {got}")
    got = boxes(luma(server.get(f"/v1/transcode/pgs.mkv?{ONE}&height=320&fit=crop&burn=1")[1], WIDTH, 320))[25]
    check(alike([got], [(x, y + 140, wide, high)], 2), f"in a picture that is cut: {got}")


def other_codecs(server):
    for query in ("vcodec=hevc&profile=main10", "vcodec=vp9&container=webm", "vcodec=mpeg4", "vcodec=av1"):
        answer, body = server.get(f"/v1/transcode/pgs.mkv?width={WIDTH}&bitrate=800k&acodec=none&burn=1&{query}")
        got = boxes(luma(body))
        check(answer.status == 200 and alike(got, expected(), 3), f"{query}: {answer.status}, {got[10:40]}")


def same_bytes(server, folder):
    path = f"/v1/transcode/pgs.mkv?{ONE}&burn=1"
    hashes = {hashlib.sha256(server.get(path)[1]).hexdigest() for _ in range(2)}
    for workers in ("1", "2"):
        for policy in ("hearth", "rr"):
            made = subprocess.run([PROGRAM, "transcode", str(Path(folder, "pgs.mkv")), "-", *OPTIONS, "--burn", "1", "--workers",
                                   workers, "--scheduler", policy], capture_output=True, check=True).stdout
            hashes.add(hashlib.sha256(made).hexdigest())
    check(len(hashes) == 1, f"{len(hashes)} results of one request")


def in_segments(server, _):
    url = f"{server.base}/v1/hls/pgs.mkv/master.m3u8?width={WIDTH}&bitrate=1M&preset=ultrafast&acodec=none&burn=1"
    got = boxes(luma(url, extra=["-map", "0:v:0"]))
    check(alike(got, expected(), 3), f"HLS: {got[10:40]}")


def on_the_command_line(_, folder):
    out = Path(folder, "out.mkv")
    done = subprocess.run([PROGRAM, "transcode", str(Path(folder, "pgs.mkv")), str(out), *OPTIONS, "--burn", "1", "--verify"],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0 and alike(boxes(luma(str(out))), expected()), f"a file: {done.stderr}")
    done = subprocess.run([PROGRAM, "transcode", str(Path(folder, "pgs.mkv")), "-", "--burn", "3"], capture_output=True,
                          text=True, check=False)
    check(done.returncode == 2 and "off, or 1 to 2" in done.stderr, f"a track that is not there: {done.stderr}")


def damage_loses_cues_alone(_, folder):
    """Bytes of the track changed at random: a movie of all its pictures comes out, whatever is drawn."""
    clean = Path(folder, "text.sup").read_bytes()
    for seed in range(12):
        rng = random.Random(seed)
        data = bytearray(clean)
        for _ in range(20):
            at = rng.randrange(13, len(data))
            data[at] = rng.randrange(256)
        broken = Path(folder, "broken.sup")
        broken.write_bytes(data)
        made = subprocess.run(["ffmpeg", "-nostdin", "-y", "-v", "quiet", "-i", Path(folder, "cut.mkv"), "-i", broken, "-map", "0:v",
                               "-map", "1", "-c", "copy", Path(folder, "broken.mkv")], check=False)
        if made.returncode != 0:
            continue
        done = subprocess.run([PROGRAM, "transcode", str(Path(folder, "broken.mkv")), "-", *OPTIONS, "--burn", "1"],
                              capture_output=True, check=False)
        count = len(luma(done.stdout, WIDTH, 134))
        check(done.returncode == 0 and count >= FPS * SECONDS, f"seed {seed}: {done.returncode}, {count}, {done.stderr[:200]}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_movies(folder)
        with Server(folder, "--segment-cache-bytes", "0") as server:
            run_all([every_form_is_drawn_at_its_time_and_place, text_and_pictures_are_counted_together,
                     a_picture_that_was_cut_has_all_of_it, bars_and_cuts_of_the_target, other_codecs], server)
            return run_all([same_bytes, in_segments, on_the_command_line, damage_loses_cues_alone], server, folder)


if __name__ == "__main__":
    sys.exit(main())
