#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Closed captions inside of pictures: each pair of bytes of the source is in the output once and in order, at every frame rate,
over every join, in streams, segments and live; and manifests tell of them. Each picture's pair is its number."""

import json
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import hls_check  # noqa: E402
from caption_tool import inject, pop_on, triplets_of, units  # noqa: E402
from served import PROGRAM, Server, check, run_all, wait_until  # noqa: E402

ONE = "width=128&bitrate=100k"
SECONDS = 12


def pairs_of(nal):
    """Numbers in a SEI unit, after a check that nothing but pairs is there."""
    triplets = triplets_of(nal)
    check(all(t[0] == 0xFC for t in triplets), f"triplets: {triplets}")
    return [(t[1] & 0x7F) << 7 | t[2] & 0x7F for t in triplets]


def captions_in(movie):
    """For each picture in the order of display: numbers."""
    path = ["-i", "pipe:0"] if isinstance(movie, bytes) else ["-i", str(movie)]
    data = movie if isinstance(movie, bytes) else b""
    packets = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts", "-of", "json", *path],
                             input=data, capture_output=True, check=True).stdout
    times = [p["pts"] for p in json.loads(packets)["packets"]]
    stream = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", *path, "-map", "0:v", "-c", "copy", "-bsf:v", "h264_mp4toannexb", "-f",
                             "h264", "-"], input=data, capture_output=True, check=True).stdout
    pictures, waiting = [], []
    for nal in units(stream):
        waiting += pairs_of(nal)
        if nal[0] & 31 in (1, 5):
            pictures.append(waiting)
            waiting = []
    check(len(pictures) == len(times), f"{len(pictures)} pictures, {len(times)} packets")
    return [numbers for _, numbers in sorted(zip(times, pictures))]


def make_sources(folder):
    """50 pictures a second with captions; the same with B frames, as MPEG-2 with fields, at 25 and without captions."""
    plain = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=s=128x72:r=50:d={SECONDS}", "-c:v",
                            "libx264", "-preset", "ultrafast", "-g", "50", "-f", "h264", "-"], capture_output=True, check=True).stdout
    stream, number = inject(plain, lambda n: bytes([n >> 7 | 0x80, n & 0x7F | 0x80]))
    make = ["ffmpeg", "-nostdin", "-v", "error", "-y"]
    first = Path(folder, "plain50.ts")
    subprocess.run([*make, "-r", "50", "-f", "h264", "-i", "-", "-c", "copy", str(first)], input=stream, check=True)
    subprocess.run([*make, "-i", str(first), "-c:v", "libx264", "-g", "50", "-bf", "3", str(Path(folder, "reordered.mp4"))], check=True)
    subprocess.run([*make, "-i", str(first), "-c:v", "libx264", "-g", "50", "-x264-params", "open-gop=1:bframes=3",
                    str(Path(folder, "open.ts"))], check=True)
    subprocess.run([*make, "-i", str(first), "-c:v", "libx264", "-g", "600", "-bf", "3", str(Path(folder, "long.mkv"))], check=True)
    subprocess.run([*make, "-r", "25", "-f", "h264", "-i", "-", "-c:v", "mpeg2video", "-b:v", "1M", "-g", "12", "-bf", "2", "-flags",
                    "+ilme+ildct", "-top", "1", str(Path(folder, "fields.mpg"))], input=stream, check=True)
    subprocess.run([*make, "-i", str(first), "-c:v", "libx264", "-a53cc", "0", str(Path(folder, "none.mp4"))], check=True)
    words, _ = inject(plain, pop_on("HELLO CC", 100, 250))
    subprocess.run([*make, "-r", "50", "-f", "h264", "-i", "-", "-c", "copy", str(Path(folder, "words.ts"))], input=words, check=True)
    return number


def all_of_them(what, pictures, count=50 * SECONDS, slack=0):
    """Slack: pictures behind the last one that is shown."""
    flat = [n for numbers in pictures for n in numbers]
    check(flat == list(range(len(flat))), f"{what}: {flat[:20]}... {[a for a, b in enumerate(flat) if a != b][:5]}")
    check(count - slack <= len(flat) <= count, f"{what}: {len(flat)} of {count}")


def streams_keep_them(server):
    for movie in ("plain50.ts", "reordered.mp4", "open.ts", "long.mkv"):
        for fps, slack in ((50, 0), (25, 1), (30, 1), (20, 2), (60, 0)):
            for extra in ("", "&preset=ultrafast&unit=gop"):
                body = server.get(f"/v1/transcode/{movie}?{ONE}&fps={fps}&container=mkv{extra}")[1]
                pictures = captions_in(body)
                all_of_them(f"{movie} at {fps} fps {extra}", pictures, slack=slack)
                check(fps != 50 or all(len(numbers) == 1 for numbers in pictures), f"{movie}: one for each picture")
    check(not any(captions_in(server.get(f"/v1/transcode/none.mp4?{ONE}&container=mkv")[1])), "captions out of nothing")
    whole = server.get(f"/v1/transcode/plain50.ts?{ONE}&fps=25&container=mkv&start=4&duration=3")[1]
    flat = [n for numbers in captions_in(whole) for n in numbers]
    check(len(flat) in (149, 150, 151) and flat == list(range(flat[0], flat[0] + len(flat))), f"a clip: {flat[:3]}, {len(flat)}")


def filters_in_time_keep_them(server):
    count = 50 * SECONDS
    all_of_them("deinterlaced", captions_in(server.get(f"/v1/transcode/fields.mpg?{ONE}&container=mkv")[1]), count)
    all_of_them("degrained", captions_in(server.get(f"/v1/transcode/reordered.mp4?{ONE}&degrain=light&container=mkv")[1]), count)


def segments_keep_them(server):
    for movie in ("plain50.ts", "reordered.mp4", "open.ts", "long.mkv"):
        for fps, slack in ((50, 0), (25, 1), (20, 2)):
            query = f"{ONE}&fps={fps}"
            playlist = server.get(f"/v1/hls/{movie}/v0.m3u8?{query}")[1].decode()
            names = [line for line in playlist.splitlines() if line.startswith("v0-")]
            parts = [server.get(f"/v1/hls/{movie}/v0-init.mp4?{query}")[1]]
            parts += [server.get(f"/v1/hls/{movie}/{name}")[1] for name in names]
            check(len(names) > 3, playlist)
            all_of_them(f"{movie} in segments at {fps} fps", captions_in(b"".join(parts)), slack=slack)


def a_decoder_reads_them(server, folder):
    """FFmpeg's for CEA-608, of pictures with B frames at another rate."""
    made = Path(folder, "words.mkv")
    made.write_bytes(server.get(f"/v1/transcode/words.ts?{ONE}&fps=30&container=mkv")[1])
    text = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"movie={made}[out+subcc]", "-map", "0:s", "-f", "srt",
                           "-"], capture_output=True, text=True, check=True).stdout
    check(text.count("HELLO CC") == 1 and "00:00:02,0" in text and "--> 00:00:05,0" in text, text)


def files_are_verified(folder):
    first = None
    for workers in ("1", "8"):
        made = Path(folder, f"made{workers}.mp4")
        run = subprocess.run([PROGRAM, "transcode", str(Path(folder, "reordered.mp4")), str(made), "--width", "128", "--fps", "30",
                              "--bitrate", "100k", "--workers", workers, "--verify", "--quiet"], capture_output=True, text=True, check=False)
        check(run.returncode == 0, run.stderr)
        all_of_them(f"{workers} workers", captions_in(made), slack=1)
        first = first or made.read_bytes()
        check(made.read_bytes() == first, "other bytes")


def manifests_tell(server):
    master = server.get(f"/v1/hls/reordered.mp4/master.m3u8?{ONE}")[1].decode()
    problems, _ = hls_check.check(f"{server.base}/v1/hls/reordered.mp4/master.m3u8?{ONE}")
    check(not problems, f"{problems[:5]}")
    said = [hls_check.attributes(line) for line in master.splitlines() if "TYPE=CLOSED-CAPTIONS" in line]
    check(len(said) == 1 and said[0]["INSTREAM-ID"] == "CC1" and 'CLOSED-CAPTIONS="cc"' in master, master)
    space = {"d": "urn:mpeg:dash:schema:mpd:2011"}
    accessible = "urn:scte:dash:cc:cea-608:2015"
    root = ET.fromstring(server.get(f"/v1/dash/reordered.mp4/manifest.mpd?{ONE}")[1])
    video = next(s for s in root.iterfind(".//d:AdaptationSet", space) if s.get("contentType") == "video")
    check([a.get("schemeIdUri") for a in video.iterfind("d:Accessibility", space)] == [accessible], "DASH")
    check(json.loads(server.get(f"/v1/explain/reordered.mp4?{ONE}")[1])["source"]["video"]["captions"], "explain")
    for movie, query, none in (("none.mp4", ONE, False), ("reordered.mp4", ONE + "&vcodec=hevc", True)):
        master = server.get(f"/v1/hls/{movie}/master.m3u8?{query}")[1].decode()
        check(("CLOSED-CAPTIONS=NONE" in master) == none and "TYPE=CLOSED-CAPTIONS" not in master, f"{movie}: {master}")
        check(accessible not in server.get(f"/v1/dash/{movie}/manifest.mpd?{query}")[1].decode(), f"{movie}: no captions in DASH")


def live_keeps_them(server, folder):
    publisher = subprocess.Popen(["ffmpeg", "-nostdin", "-v", "error", "-re", "-i", str(Path(folder, "plain50.ts")), "-c", "copy", "-f",
                                  "mpegts", "-method", "PUT", f"{server.base}/v1/live/cam"])
    try:
        wait_until(lambda: server.get(f"/v1/hls/live/cam/master.m3u8?{ONE}")[0].status == 200, 20, "a live master playlist")
        master = server.get(f"/v1/hls/live/cam/master.m3u8?{ONE}")[1].decode()
        check("TYPE=CLOSED-CAPTIONS" in master, master)
        body = server.get(f"/v1/transcode/live/cam?{ONE}&fps=25&container=mkv&duration=4")[1]
        flat = [n for numbers in captions_in(body) for n in numbers]
        check(len(flat) > 190 and flat == list(range(flat[0], flat[0] + len(flat))), f"live: {flat[:5]}, {len(flat)}")
    finally:
        publisher.kill()
        publisher.wait()


def main():
    with tempfile.TemporaryDirectory() as folder:
        check(make_sources(folder) == 50 * SECONDS, "sources")
        with Server(folder, "--segment-cache-bytes", "0") as server:
            run_all([files_are_verified], folder)
            run_all([live_keeps_them, a_decoder_reads_them], server, folder)
            return run_all([streams_keep_them, filters_in_time_keep_them, segments_keep_them, manifests_tell], server)


if __name__ == "__main__":
    sys.exit(main())
