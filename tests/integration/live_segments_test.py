#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Live sources as HLS, LL-HLS and DASH: rules (live_check.py), real clients, publishers that come back,
sharing, what ends by itself, garbage."""

import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import live_check  # noqa: E402
import served  # noqa: E402
from live_test import Publisher, check, make_stream, wait_until  # noqa: E402

os.environ.update(GOPMILL_SEGMENTS_LIVE_IDLE_SECONDS="2", GOPMILL_LIVE_READER_PATIENCE_SECONDS="6")
LADDER = "rungs=320x180:200k,160x90:80k&preset=ultrafast"
ONE = "width=160&bitrate=80k&preset=ultrafast"
SHORT = ONE + "&segment=1"


class Server(served.Server):
    def __init__(self, folder):
        self.folder = folder
        super().__init__(folder, "--dvr-seconds", "9", "--segment-cache-bytes", "0")

    def fetch(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        return answer.status, answer, body


def publish(server, name, path):
    publisher = Publisher(server, name, path)
    wait_until(lambda: server.live(name).get("source"), 10, f"a publisher of {name} that is known")
    return publisher


def rules_hold_and_equal_requests_share(server):
    publisher = publish(server, "cam", make_stream(server.folder, "a.ts", 30))
    facts = {}
    watcher = threading.Thread(target=lambda: facts.update(zip(
        ("problems", "facts"), live_check.check(f"{server.base}/v1/hls/live/cam/master.m3u8?{LADDER}", 13))))
    watcher.start()
    seen = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-progress", "-", "-live_start_index", "0", "-i",
         f"{server.base}/v1/hls/live/cam/master.m3u8?{LADDER}", "-t", "4", "-map", "0:v:0", "-map", "0:a:0", "-f",
         "null", os.devnull], capture_output=True, text=True, check=False)
    check(seen.returncode == 0 and not seen.stderr, f"ffmpeg: {seen.stderr[:300]}")
    check(int(re.findall(r"^frame=(\d+)", seen.stdout, re.M)[-1]) >= 118, "ffmpeg saw too few pictures")
    check(len(server.running()) == 2, f"{len(server.running())} streams for two clients of two renditions")
    watcher.join()
    check(facts["problems"] == [], f"rules: {facts['problems'][:6]}")
    check(sorted(facts["facts"]) == ["a0", "v0", "v1"], f"renditions {list(facts['facts'])}")
    check(max(facts["facts"]["v0"]["starts"]) >= 5, "the window has not moved")
    for name, fact in facts["facts"].items():
        check(fact["hinted"] > 0, f"no part of {name} was asked for before it was there")
    status, _, _ = server.fetch(f"/v1/hls/live/cam/v0-0.m4s?{LADDER}")
    check(status == 200, f"a segment that was listed until just now: {status}")
    late = sorted(facts["facts"]["v0"]["late"])
    check(late[len(late) // 2] < 1.5, f"parts are {late[len(late) // 2]:.2f} s old when they are listed")
    publisher.kill()
    wait_until(lambda: not server.running(), 6, "nobody asks and the streams go on")
    wait_until(lambda: server.metric("gopmill_live_presentations") == 0, 5, "nobody asks and the presentation is kept")


def a_publisher_that_returns(server):
    movie = make_stream(server.folder, "b.ts", 30)
    first = publish(server, "back", movie)
    watch = {}
    watcher = threading.Thread(target=lambda: watch.update(zip(
        ("problems", "facts"), live_check.check(f"{server.base}/v1/hls/live/back/master.m3u8?{SHORT}", 14))))
    watcher.start()
    wait_until(lambda: server.live("back")["counts"]["packets"] > 200, 20, "packets of the first publisher")
    first.kill()
    wait_until(lambda: not server.live("back")["publishing"], 5, "a killed publisher is still there")
    second = publish(server, "back", movie)
    watcher.join()
    check(watch["problems"] == [], f"over a return: {watch['problems'][:6]}")
    check(watch["facts"]["v0"]["skipped"] > 0, "no delta update has skipped a segment")
    playlist = server.get(f"/v1/hls/live/back/v0.m3u8?{SHORT}")[1].decode()
    tags = playlist.count("#EXT-X-DISCONTINUITY\n") + int(re.search(r"DISCONTINUITY-SEQUENCE:(\d+)", playlist)[1])
    check(tags == 1, f"{tags} discontinuities")
    manifest = server.get(f"/v1/dash/live/back/manifest.mpd?{SHORT}")[1].decode()
    check('<Period id="1"' in manifest, "no new period")
    second.kill()
    begin = time.monotonic()
    ahead = int(re.findall(r"v0-(\d+)\.m4s", playlist)[-1]) + 2
    status, _, body = server.fetch(f"/v1/hls/live/back/v0.m3u8?{SHORT}&_HLS_msn={ahead}")
    check(status == 503 and time.monotonic() - begin < 6, f"waiting for what does not come: {status}, {body[:200]}")


def a_manifest_tells_the_end(server):
    """To those who refresh it where they got it; then another publisher begins anew there."""
    place, told = f"/v1/dash/live/ends/manifest.mpd?{SHORT}", []
    publisher = publish(server, "ends", make_stream(server.folder, "f.ts", 8))
    first = server.get(place)[1].decode()
    check("minimumUpdatePeriod" in first, "a manifest that is over at once")
    publisher.kill()

    def over():
        status, _, body = server.fetch(place)
        told.append(f"{status} {body.decode()}")
        return status != 200 or b"minimumUpdatePeriod" not in body
    wait_until(over, 20, "no manifest says that the source has ended")
    check(re.search(r'^200 [\s\S]*<Period [^>]*duration="PT[1-9]', told[-1]), f"the last one: {told[-1][:900]}")
    publisher = publish(server, "ends", str(Path(server.folder, "f.ts")))
    begun = server.get(place)[1].decode()
    start = re.compile(r'availabilityStartTime="([^"]+)"')
    check("minimumUpdatePeriod" in begun and start.findall(begun) != start.findall(first), f"no other presentation: {begun[:400]}")
    publisher.kill()


class Player:
    """GStreamer on a playlist or manifest; pictures and sound go into files."""

    def __init__(self, server, name, path):
        self.pictures, self.sound, self.log = (Path(server.folder, f"{name}-{kind}") for kind in ("pictures", "sound", "log"))
        command = ["gst-launch-1.0", "-q", "uridecodebin", f"uri={server.base}/v1/{path}?{SHORT}", "name=d", "d.", "!", "video/x-raw", "!",
                   "videoconvert", "!", "video/x-raw,format=I420,width=160,height=90", "!", "filesink", f"location={self.pictures}", "d.",
                   "!", "audio/x-raw", "!", "audioconvert", "!", "audio/x-raw,format=S16LE,channels=1", "!", "filesink",
                   f"location={self.sound}"]
        environment = {**os.environ, "GST_DEBUG": "2,*demux*:4,*decodebin*:4", "GST_DEBUG_FILE": str(self.log), "GST_DEBUG_NO_COLOR": "1"}
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def seconds(self):
        sizes = [file.stat().st_size if file.exists() else 0 for file in (self.pictures, self.sound)]
        return sizes[0] / (30 * 160 * 90 * 1.5), sizes[1] / (2 * 48000)

    def plays(self, patience):
        """Whether it has two seconds of pictures, and sound, in time."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            pictures, sound = self.seconds()
            if pictures >= 2 and sound >= 0.5:
                return True
            time.sleep(0.05)
        return False

    def stop(self):
        """What it has complained of."""
        self.process.kill()
        return self.process.communicate()[1]


def gstreamer_plays_it(server):
    """By HLS and DASH at once: pictures of the size asked for, and sound beside them. On a busy machine one player of GStreamer 1.22
    in about 40 stops to write pictures, or sound, within its first second, by either protocol and with all versions of the server
    that were tried, while its log shows the fragments of both coming out of its demuxer in time: it is started anew once."""
    publisher = publish(server, "gst", make_stream(server.folder, "g.ts", 75))
    kinds = ("hls/live/gst/master.m3u8", "dash/live/gst/manifest.mpd")
    players = [(path, Player(server, f"gst-{number}", path)) for number, path in enumerate(kinds)]
    for path, player in players:
        if not player.plays(20):
            print(f"{path}: {player.seconds()}, started anew\n{player.log.read_text(encoding='utf-8', errors='replace')[-3000:]}", flush=True)
            player.stop()
            player = Player(server, "gst-again", path)
        plays = player.plays(20)
        told = "{:.1f} s of pictures, {:.1f} s of sound".format(*player.seconds())
        check(plays, f"GStreamer on {path}: {told}")
        check(player.process.poll() is None, f"GStreamer on {path} has ended: {told}")
        print(path, told, flush=True)
        check(not player.stop(), f"GStreamer on {path} complains")
    publisher.kill()


def ffmpeg_by_dash_asks_for_what_there_will_be(server):
    """It asks for the next segment without looking into the manifest, and at once again if that is refused."""
    publisher = publish(server, "dash", make_stream(server.folder, "d.ts", 30))
    url = f"{server.base}/v1/dash/live/dash/manifest.mpd?{ONE}"
    seen = subprocess.run(["ffmpeg", "-nostdin", "-v", "warning", "-i", url, "-t", "6", "-c", "copy", "-f", "null", "-"],
                          capture_output=True, text=True, check=False, timeout=60)
    check(seen.returncode == 0, f"ffmpeg by DASH: {seen.stderr[-500:]}")
    refused = seen.stderr.count("HTTP error 404")
    check(refused == 0, f"ffmpeg by DASH was refused {refused} times")
    publisher.kill()


def garbage(server):
    publisher = publish(server, "bad", make_stream(server.folder, "c.ts", 20))
    live = "/v1/hls/live/bad"
    wait_until(lambda: not server.running(), 10, "the streams of the tests before go on")
    for name in ("t1.m3u8", "i1.m3u8", "i0-0.0.m4s", "s0.m3u8", "s0.vtt", "t0.vtt", "v9.m3u8", "a1.m3u8"):
        status, _, body = server.fetch(f"{live}/{name}?{ONE}")
        check(status == 404, f"{name}: {status} {body[:80]}")
    check(not server.running(), "what does not exist has started a presentation")
    status, answer, playlist = server.fetch(f"{live}/v0.m3u8?{ONE}")
    check(status == 200 and answer.getheader("Cache-Control") == "no-cache", "a playlist without its master")
    versioned = re.search(r'v0-init\.mp4\?([^"]+)', playlist.decode())[1]
    for name in ("v0-init.mp4", "v0-0.m4s", "v0-0.0.m4s"):
        for query, expected in ((versioned, "public, max-age=600"), (ONE, "no-cache")):
            status, answer, _ = server.fetch(f"{live}/{name}?{query}")
            check(status == 200 and answer.getheader("Cache-Control") == expected,
                  f"{name}?{query}: {status} {answer.getheader('Cache-Control')}")
    for path, expected in [
        (f"{live}/v0-999.m4s?{ONE}", 404), (f"{live}/v0-0.99.m4s?{ONE}", 404), (f"{live}/v0-999.0.m4s?{ONE}", 404),
        (f"{live}/v0-0.-1.m4s?{ONE}", 404), (f"{live}/v0-0..m4s?{ONE}", 404), (f"{live}/v0-0.01.m4s?{ONE}", 404),
        (f"{live}/v0-0.1.2.m4s?{ONE}", 404), (f"{live}/v1.m3u8?{ONE}", 404), (f"{live}/a1.m3u8?{ONE}", 404),
        (f"{live}/v0-0.ts?{ONE}", 404), (f"{live}/x.m3u8?{ONE}", 404), (f"{live}/v0.m3u8?{ONE}&version=1", 404),
        (f"{live}/v0-0.m4s?width=320", 404), (f"{live}/v0.m3u8?{ONE}&_HLS_msn=99", 400),
        (f"{live}/v0.m3u8?{ONE}&_HLS_msn=0x1", 400), (f"{live}/v0.m3u8?{ONE}&_HLS_msn=-1", 400),
        (f"{live}/v0.m3u8?{ONE}&_HLS_msn=", 400), (f"{live}/v0.m3u8?{ONE}&_HLS_part=0", 400),
        (f"{live}/v0.m3u8?{ONE}&_HLS_msn=2&_HLS_part=99", 400), (f"{live}/v0.m3u8?{ONE}&_HLS_msn=1&_HLS_msn=1", 400),
        (f"{live}/v0.m3u8?{ONE}&_HLS_msn=99999999999999999999", 400), (f"{live}/master.m3u8?{ONE}&_HLS_msn=0", 400),
        (f"{live}/v0.m3u8?{ONE}&_HLS_push=1", 400), (f"{live}/v0.m3u8?{ONE}&_HLS_skip=NO", 400),
        (f"{live}/master.m3u8?{ONE}&_HLS_skip=YES", 400), (f"{live}/master.m3u8?{ONE}&container=mkv", 400),
        (f"{live}/master.m3u8?{ONE}&start=3", 400), (f"{live}/master.m3u8?{ONE}&duration=3", 400),
        (f"{live}/master.m3u8?{ONE}&segment=11", 400),
        (f"{live}/master.m3u8?width=160&bitrate=50M&segment=10", 400), (f"{live}/master.m3u8?crf=20", 400),
        ("/v1/hls/live/nobody/master.m3u8", 503), ("/v1/hls/live/a%20b/master.m3u8", 400),
        ("/v1/hls/live/master.m3u8", 404), ("/v1/dash/live/bad/manifest.mpd?container=ts", 400),
    ]:
        status, answer, body = server.fetch(path)
        check(status == expected, f"{path}: {status} instead of {expected}")
        check(answer.getheader("Content-Type") == "application/problem+json", f"{path}: {body[:80]}")
        check(json.loads(body)["detail"], f"{path}: no words")
    check(server.fetch(f"{live}/v0.m3u8?{ONE}&_HLS_msn=0&_HLS_part=7")[0] == 200, "what is long past is not waited for")
    publisher.kill()


def a_ladder_fits_into_the_machine(folder):
    """Of the server's own ladder what there is room for, decoded once; one that is named is refused as a whole. By
    pixels, before anything was measured: 0.040 of a core for both renditions, 0.014 for the small one alone."""
    ladder = "320x180:200k,160x90:80k"
    with served.Server(folder, "--workers", "1", "--promise-percent", "3", "--segment-cache-bytes", "0") as server:
        publisher = publish(server, "small", make_stream(folder, "e.ts", 20))
        master = "/v1/hls/live/small/master.m3u8?preset=ultrafast"
        answer, body = server.get(f"{master}&rungs={ladder}")
        problem = json.loads(body)
        check(answer.status == 503 and answer.getheader("Retry-After"), f"a ladder that is named: {answer.status}")
        check(problem.get("parameter") == "rungs" and "2 renditions need about 0.04 cores" in problem["detail"], f"{problem}")
        answer, body = server.get(master)
        check(answer.status == 200, f"the server's own ladder: {answer.status} {body[:300]}")
        sizes = re.findall(rb"#EXT-X-STREAM-INF.*RESOLUTION=(\d+x\d+)", body)
        check(sizes == [b"160x90"], f"what is made of it: {sizes}")
        adjusted = [a for stream in server.running() for a in stream["adjusted"]]
        check([(a["parameter"], a["asked"], a["given"]) for a in adjusted] == [("rungs", "320x180,160x90", "160x90")],
              f"what was adjusted: {adjusted}")
        wait_until(lambda: any("only 160x90" in line for line in server.log), 5, "nothing in the log")
        publisher.kill()


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        try:
            for test in [rules_hold_and_equal_requests_share, a_publisher_that_returns, a_manifest_tells_the_end, gstreamer_plays_it,
                         ffmpeg_by_dash_asks_for_what_there_will_be, garbage]:
                begin = time.monotonic()
                test(server)
                print(f"{test.__name__} {time.monotonic() - begin:.1f} s", flush=True)
        finally:
            server.process.terminate()
            check(server.process.wait(timeout=60) == 0, "the server ends cleanly")
        os.environ["GOPMILL_SEGMENTS_LADDER"] = "320x180:200k,160x90:80k"
        a_ladder_fits_into_the_machine(folder)
    return 1 if served.failures else 0


if __name__ == "__main__":
    sys.exit(main())
