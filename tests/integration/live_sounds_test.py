#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A live source with several sound tracks: each by its pitch and language, in every way of asking."""

import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import hls_check  # noqa: E402
import live_check  # noqa: E402
from live_test import Publisher  # noqa: E402
from served import Server, check, pitch, run_all, wait_until  # noqa: E402

ONE = "width=160&bitrate=80k&preset=ultrafast"
HERTZ, LANGUAGES, CHANNELS = (300, 700, 1100), ("en", "de", "en"), ("2", "1", "1")
SPACE = {"d": "urn:mpeg:dash:schema:mpd:2011"}


def make_stream(path):
    inputs = []
    for hertz in HERTZ:
        inputs += ["-f", "lavfi", "-i", f"sine=f={hertz}:r=48000:d=240"]
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=30:d=240", *inputs,
                    "-map", "0", "-map", "1", "-map", "2", "-map", "3", "-metadata:s:a:0", "language=eng",
                    "-metadata:s:a:1", "language=ger", "-metadata:s:a:2", "language=eng", "-disposition:a:1", "visual_impaired", "-c:v", "libx264", "-preset",
                    "ultrafast", "-tune", "zerolatency", "-g", "30", "-c:a", "aac", "-ac:a:0", "2", "-y", str(path)],
                   check=True)


def heard(url, track, seconds=2, flags=()):
    """The pitch of a track, as ffmpeg plays it."""
    raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", *flags, "-i", url, "-map", f"0:a:{track}", "-t", str(seconds),
                          "-f", "wav", "-"], capture_output=True, check=False, timeout=60)
    return pitch(raw.stdout, f"track {track} of {url}: {raw.stderr[:200]}")


def all_are_heard(players):
    """All at once: (URL, track, its pitch, flags of ffmpeg)."""
    with ThreadPoolExecutor(len(players)) as pool:
        for (url, track, hertz, _), got in zip(players, pool.map(lambda p: heard(p[0], p[1], flags=p[3]), players)):
            check(abs(got - hertz) < 10, f"{url}: track {track} is {got:.0f} Hz, not {hertz}")


def rules_hold_for_each(server):
    problems, facts = live_check.check(f"{server.base}/v1/hls/live/many/master.m3u8?{ONE}", 6)
    check(not problems, f"rules: {problems[:6]}")
    check(sorted(facts) == ["a0", "a1", "a2", "v0"], f"renditions {sorted(facts)}")


def players_can_choose(server):
    master = f"/v1/hls/live/many/master.m3u8?{ONE}"
    said = [hls_check.attributes(line) for line in server.get(master)[1].decode().splitlines() if "TYPE=AUDIO" in line]
    for key, values in {"LANGUAGE": LANGUAGES, "CHANNELS": CHANNELS, "NAME": ("en", "de", "en 2"),
                        "DEFAULT": ("YES", "NO", "NO"), "AUTOSELECT": ("YES", "YES", "NO"),
                        "CHARACTERISTICS": (None, "public.accessibility.describes-video", None)}.items():
        check(tuple(text.get(key) for text in said) == values, f"{key}: {said}")
    manifest = server.get(f"/v1/dash/live/many/manifest.mpd?{ONE}")[1]
    sounds = [s for s in ET.fromstring(manifest).iterfind(".//d:AdaptationSet", SPACE) if s.get("contentType") == "audio"]
    check(tuple(s.get("lang") for s in sounds) == LANGUAGES, f"{[s.attrib for s in sounds]}")
    check([s.find("d:Role", SPACE).get("value") for s in sounds] == ["main", "alternate", "alternate"], "roles")
    check([len(s.findall("d:Role[@value='description']", SPACE)) for s in sounds] == [0, 1, 0], "what describes the pictures")
    all_are_heard([(url, number, HERTZ[number], ()) for number in range(3)
                   for url in (server.base + master, f"{server.base}/v1/dash/live/many/manifest.mpd?{ONE}")])
    one = server.get(f"{master}&audio=2")[1].decode()
    check(one.count("TYPE=AUDIO") == 1 and 'LANGUAGE="de"' in one, f"the one track that was asked for: {one}")
    mute = server.get(f"{master}&acodec=none")[1].decode()
    check("TYPE=AUDIO" not in mute and "mp4a" not in mute, f"without sound: {mute}")


def streams_have_what_is_asked_for(server):
    url = f"{server.base}/v1/transcode/live/many?{ONE}&container=ts"
    wanted = {"": HERTZ[:1], "&audio=2": HERTZ[1:2], "&audio=3,1": (1100, 300), "&audio=all": HERTZ}
    players = [(url + query, number, hertz, ()) for query, sounds in wanted.items() for number, hertz in enumerate(sounds)]
    rtsp = f"rtsp://127.0.0.1:{server.rtsp_port}/live/many?{ONE}&audio=3"
    all_are_heard([*players, (rtsp, 0, 1100, ("-rtsp_transport", "tcp"))])
    for query, sounds in wanted.items():
        seen = subprocess.run(["ffprobe", "-v", "error", "-analyzeduration", "1M", "-select_streams", "a", "-show_entries",
                               "stream=index", "-of", "csv=p=0", url + query], capture_output=True, text=True, check=False)
        count = len(set(seen.stdout.split()))
        check(count == len(sounds), f"{query}: {count} sound tracks, not {len(sounds)}: {seen.stderr[:200]}")


def mistakes(server):
    for path, status in ((f"/v1/hls/live/many/master.m3u8?{ONE}&audio=4", 400), (f"/v1/transcode/live/many?{ONE}&audio=4", 400),
                         (f"/v1/hls/live/many/master.m3u8?{ONE}&audio=1,2", 400), (f"/v1/hls/live/many/a3.m3u8?{ONE}", 404),
                         (f"/v1/transcode/live/many?{ONE}&audio=1,4", 400)):
        answer, body = server.get(path)
        check(answer.status == status, f"{path}: {answer.status}, {body[:100]}")
        check(status == 404 or json.loads(body)["parameter"] == "audio", f"{path}: {body[:200]}")
    for query, status in (("&audio=4", 400), ("&audio=1,4", 400), ("&audio=3", 200), ("&audio=all", 200)):
        answer, _ = server.get(f"/v1/transcode/live/many?{ONE}{query}", "HEAD")
        check(answer.status == status, f"HEAD with {query}: {answer.status}")
    broken = subprocess.run(["ffprobe", "-v", "error", "-rtsp_transport", "tcp",
                             f"rtsp://127.0.0.1:{server.rtsp_port}/live/many?{ONE}&audio=1,2"], capture_output=True, text=True,
                            check=False, timeout=60)
    check(re.search("400 Bad Request", broken.stderr), f"RTSP with two sound tracks: {broken.stderr}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        stream = Path(folder, "many.ts")
        make_stream(stream)
        with Server(folder, "--segment-cache-bytes", "0", rtsp=True) as server:
            publisher = Publisher(server, "many", str(stream), maps=("-map", "0"))
            try:
                wait_until(lambda: json.loads(server.get("/v1/live")[1])["live"], 20, "a publisher")
                return run_all([rules_hold_for_each, players_can_choose, streams_have_what_is_asked_for, mistakes], server)
            finally:
                publisher.kill()


if __name__ == "__main__":
    sys.exit(main())
