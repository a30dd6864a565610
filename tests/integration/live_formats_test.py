#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A live source that goes on with other codecs, another shape, other or no sound: who reads it goes on."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from array import array
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import live_check  # noqa: E402
from live_test import Publisher, Reader  # noqa: E402
from served import Server, check, free_port, run_all, run_beside_each_other, wait_until  # noqa: E402

os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "10"
QUERY = "height=90&bitrate=80k&preset=ultrafast"
RATE = 48000
HERTZ = {"avc": 400, "hevc": 900}
X264 = ("-c:v", "libx264", "-preset", "ultrafast", "-g", "15", "-pix_fmt", "yuv420p")
X265 = ("-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "keyint=15:log-level=none", "-pix_fmt", "yuv420p")


def make(folder, name, color, size, rate, *coding, hertz=0):
    """Pictures of one colour, so that it tells who sent them; and a tone."""
    path = Path(folder, f"{name}.mkv")
    sound = ("-f", "lavfi", "-i", f"sine=frequency={hertz}:sample_rate={RATE}:d=60") if hertz else ()
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"color={color}:s={size}:r={rate}:d=60", *sound,
                    *coding, "-y", str(path)], check=True)
    return str(path)


def movies(folder):
    return {
        "avc": make(folder, "avc", "red", "320x180", 30, *X264, "-c:a", "aac", "-ac", "2", hertz=HERTZ["avc"]),
        "hevc": make(folder, "hevc", "lime", "640x360", 25, *X265, "-c:a", "libopus", "-ac", "1", hertz=HERTZ["hevc"]),
        "tall": make(folder, "tall", "blue", "180x320", 30, *X264),
    }


def publish_in_turns(server, name, paths, enough, seconds=60):
    """One after the other, each until enough() of it says so."""
    for number, path in enumerate(paths):
        publisher = Publisher(server, name, path, form=("-f", "matroska") if "hevc" in path else ("-f", "mpegts", "-muxdelay", "0"))
        wait_until(lambda n=number: enough(n), seconds, f"what {path} sends to {name}")
        publisher.kill()
        wait_until(lambda: not server.live(name)["publishing"], 10, "a killed publisher is still there")


def raw(data, *flags):
    """What ffmpeg makes of it; it must find no fault."""
    out = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", "-" if isinstance(data, bytes) else str(data), *flags, "-"],
                         input=data if isinstance(data, bytes) else None, capture_output=True, check=False)
    check(not out.stderr, f"ffmpeg: {out.stderr[:300]}")
    return out.stdout


def shown(data, width=160, height=90):
    """The colours of the pictures in their order, at the middle and the left edge, without repetitions."""
    pictures = raw(data, "-map", "0:v", "-f", "rawvideo", "-pix_fmt", "rgb24", "-fps_mode", "passthrough")
    size, seen = 3 * width * height, []
    check(len(pictures) % size == 0, f"{len(pictures)} bytes are no pictures of {width}x{height}")

    def color(picture, x):
        at = picture * size + 3 * (height // 2 * width + x)
        return "".join("RGB"[i] for i in range(3) if pictures[at + i] > 128) or "-"
    for picture in range(len(pictures) // size):
        both = color(picture, width // 2) + color(picture, 4)
        if not seen or seen[-1] != both:
            seen.append(both)
    return seen, len(pictures) // size


def heard(data):
    """Pitches in pieces of a tenth of a second, rounded to hundreds (0 = silence), without repetitions; and the length."""
    samples = array("h", raw(data, "-map", "0:a", "-f", "s16le", "-ac", "1", "-ar", str(RATE)))
    seen, piece = [], RATE // 10
    for at in range(0, len(samples) - piece, piece):
        part = samples[at:at + piece]
        hertz = 0
        if max(map(abs, part)) > 500:
            hertz = 100 * round(sum(a < 0 <= b for a, b in zip(part, part[1:])) / 10)
        seen.append(hertz)
    # A piece with a change in it is neither; two alike count.
    steady = [a for a, b in zip(seen, seen[1:]) if a == b]
    return [h for i, h in enumerate(steady) if i == 0 or steady[i - 1] != h], len(samples) / RATE


def packets_are_in_order(data, kind, name):
    out = subprocess.run(["ffprobe", "-v", "error", "-select_streams", kind, "-show_entries", "packet=dts_time", "-of", "csv=p=0",
                          "-"], input=data, capture_output=True, check=False).stdout.decode()
    times = [float(t) for t in re.findall(r"[\d.-]+", out)]
    check(len(times) > 50 and all(a < b for a, b in zip(times, times[1:])), f"{name}: times of {kind} run backwards")


def every_change_at_once(server, paths, container):
    """H.264 and AAC, then HEVC of another size and rate with Opus, then another shape without sound, then the first again."""
    name = f"turns-{container}"
    reader = Reader(server, name, f"{QUERY}&container={container}")
    frames = []

    def enough(number):
        """A second and a half of this publisher; what is left of the one before must not count."""
        streams = [s for s in server.running() if s["source"] == f"live/{name}"]
        if not streams or streams[0]["repairs"]["format_changes"] < number:
            return False
        now = streams[0]["counts"]["frames_out"]
        frames[:] = frames or [now]
        done = now - frames[0] >= 45
        if done:
            frames.clear()
        return done
    publish_in_turns(server, name, [paths["avc"], paths["hevc"], paths["tall"], paths["avc"]], enough)
    counts = server.live(name)["counts"]
    check(counts["publishers"] == 4 and counts["format_changes"] == 3, f"counted: {counts}")
    stream = [s for s in server.running() if s["source"] == f"live/{name}"][0]
    check(stream["repairs"]["format_changes"] == 3, f"counted on the stream: {stream['repairs']}")
    check(stream["seams"]["violations"] == 0 and stream["repairs"]["damaged_video_packets"] == 0, f"joins: {stream}")
    reader.thread.join()
    colors, pictures = shown(reader.body)
    check(colors == ["RR", "GG", "B-", "RR"], f"{container}: pictures {colors}; the tall ones have bars")
    pitches, seconds = heard(reader.body)
    check(pitches == [400, 900, 0, 400], f"{container}: pitches {pitches}")
    check(abs(seconds - pictures / 30) < 0.3, f"{container}: {seconds} s of sound, {pictures} pictures")
    for kind in "v", "a":
        packets_are_in_order(reader.body, kind, container)


def another_codec_by(server, name, output, turns, colors, pitches):
    """A publisher by another protocol than HTTP that comes back as something else; its reader goes on."""
    reader = Reader(server, name, f"{QUERY}&container=ts")
    for number, path in enumerate(turns):
        # One whose last connection was killed may be refused at first.
        command = f"until ffmpeg -nostdin -v error -re -i {path} -c copy {output}; do sleep 0.2; done"
        publisher = subprocess.Popen(["sh", "-c", command], start_new_session=True, stderr=subprocess.DEVNULL)
        begun = []

        def enough():
            streams = [s for s in server.running() if s["source"] == f"live/{name}"]
            if streams and streams[0]["repairs"]["format_changes"] >= number:
                begun.append(streams[0]["counts"]["frames_out"])
            return begun and begun[-1] - begun[0] >= 45
        wait_until(enough, 60, f"what {path} sends by {name}")
        counts = server.live(name)["counts"]
        os.killpg(publisher.pid, signal.SIGKILL)
        publisher.wait()
        wait_until(lambda: not server.live(name)["publishing"], 20, f"{name}: a killed publisher is still there")
    reader.thread.join()
    check(counts["format_changes"] == len(turns) - 1 and counts["publishers"] == len(turns), f"{name}: {counts}")
    check(shown(reader.body)[0] == colors, f"{name}: pictures {shown(reader.body)}")
    check(heard(reader.body)[0] == pitches, f"{name}: pitches {heard(reader.body)}")
    for kind in "v", "a":
        packets_are_in_order(reader.body, kind, name)


def other_protocols(server, paths):
    srt, rtmp, rtsp = (("srt", f"-f mpegts srt://127.0.0.1:{server.srt_port}?mode=caller", [paths["avc"], paths["hevc"]], ["RR", "GG"], [400, 900]),
                       ("rtmp", f"-f flv rtmp://127.0.0.1:{server.rtmp_port}/live/x", [paths["avc"], paths["tall"]], ["RR", "B-"], [400, 0]),
                       ("again", f"-f rtsp -rtsp_transport tcp {server.url('live/again')}", [paths["avc"], paths["hevc"], paths["tall"]],
                        ["RR", "GG", "B-"], [400, 900, 0]))
    run_beside_each_other(*((another_codec_by, server, *case) for case in (srt, rtmp, rtsp)))


def copied_sound_ends_with_a_reason(server, paths):
    reader = Reader(server, "copied", f"{QUERY}&container=ts&acodec=copy")
    publish_in_turns(server, "copied", [paths["avc"], paths["hevc"]],
                     lambda n: len(reader.body) > 20000 if n == 0 else not reader.thread.is_alive())
    reader.thread.join()
    stream = [s for s in json.loads(server.get("/v1/streams")[1])["streams"] if s["source"] == "live/copied"][-1]
    check(stream["state"] == "failed" and stream["error"]["parameter"] == "acodec" and "opus" in stream["error"]["message"],
          f"the end of a copy: {stream['state']} {stream.get('error')}")
    check(shown(reader.body)[0] == ["RR"], "what came before it is whole")


def a_size_that_changes_in_mid_stream(server, paths):
    """One publisher, one codec: the parameter sets in its packets are others from the middle on."""
    joined = Path(server.folder, "joined.ts")
    with joined.open("wb") as out:
        for name in "avc", "tall":
            out.write(raw(Path(paths[name]), "-t", "3", "-map", "0:v", "-c", "copy", "-f", "mpegts"))
    reader = Reader(server, "sizes", f"{QUERY}&container=ts")
    check(Publisher(server, "sizes", str(joined)).finish()[0] == 200, "the publisher's answer")
    counts = server.live("sizes")["counts"]
    check(counts["format_changes"] == 1, f"counted: {counts}")
    reader.thread.join()
    colors, pictures = shown(reader.body)
    check(colors == ["RR", "B-"] and pictures >= 175, f"{pictures} pictures {colors}")


def other_tracks_in_one_transport_stream(server, paths):
    """A broadcaster's next programme: the same PIDs carry HEVC and MPEG sound from the next table on, then no sound at all."""
    turns = [f"ffmpeg -nostdin -v error -re -i {paths[name]} {sound} -c:v copy -t 7 -f mpegts -muxdelay 0 -"
             for name, sound in (("avc", "-c:a copy"), ("hevc", "-c:a mp2 -ar 48000"), ("tall", "-an"))]
    reader = Reader(server, "programme", f"{QUERY}&container=ts")
    publisher = Publisher(server, "programme", "", command=["sh", "-c", "; ".join(turns)])
    check(publisher.finish()[0] == 200, "the publisher's answer")
    counts = server.live("programme")["counts"]
    reader.thread.join()
    check(counts["publishers"] == 1 and counts["format_changes"] == 2, f"counted: {counts}")
    colors, pictures = shown(reader.body)
    check(colors == ["RR", "GG", "B-"] and pictures > 20 * 30, f"{pictures} pictures {colors}")
    pitches, seconds = heard(reader.body)
    check(pitches == [400, 900, 0], f"pitches {pitches}")
    check(abs(seconds - pictures / 30) < 0.3, f"{seconds} s of sound, {pictures} pictures")


def rtsp_readers_go_on(server, paths):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rtsp.mkv")
        def enough(number):
            """The last one goes on until the reader has its seconds, however slow the machine."""
            return server.live("rtsp")["counts"]["packets"] > [400, 700][number] if number < 2 else client.poll() is not None
        publishing = threading.Thread(target=publish_in_turns, args=(server, "rtsp", [paths["avc"], paths["hevc"], paths["tall"]], enough))
        publishing.start()
        wait_until(lambda: server.live("rtsp").get("source"), 20, "a publisher that is known")
        client = subprocess.Popen(["ffmpeg", "-nostdin", "-v", "error", "-rtsp_transport", "tcp", "-i", server.url(f"live/rtsp?{QUERY}"),
                                   "-c", "copy", "-t", "14", "-y", str(path)])
        publishing.join()
        client.wait()
        colors, pictures = shown(path)
        check(colors[:3] == ["RR", "GG", "B-"], f"RTSP: {pictures} pictures {colors}")
        check(heard(path)[0][:2] == [400, 900], f"RTSP: pitches {heard(path)}")


def presentations_go_on(server, paths):
    """LL-HLS and DASH: the rules hold over the changes, there is a discontinuity for each, and all of it plays."""
    query = "rungs=160x90:80k,128x72:60k&preset=ultrafast&segment=1"
    seen = threading.Event()

    def enough(number):
        """The last one goes on until all has been looked at: a manifest that nobody feeds runs late."""
        return server.live("hls")["counts"]["packets"] > [450, 750][number] if number < 2 else seen.is_set()
    publishing = threading.Thread(target=publish_in_turns, args=(server, "hls", [paths["avc"], paths["hevc"], paths["tall"]], enough))
    publishing.start()
    try:
        look_at_presentations(server, query)
    finally:
        seen.set()
        publishing.join()


def look_at_presentations(server, query):
    wait_until(lambda: server.live("hls").get("source"), 20, "a publisher that is known")
    master = f"{server.base}/v1/hls/live/hls/master.m3u8?{query}"
    problems, facts = live_check.check(master, 13, between_publishers=4)
    check(not problems, f"rules: {problems[:6]}")
    check(sorted(facts) == ["a0", "v0", "v1"], f"renditions {sorted(facts)}")

    def listed():
        text = server.get(f"/v1/hls/live/hls/v0.m3u8?{query}")[1].decode()
        changes = text.count("#EXT-X-DISCONTINUITY\n") + int(re.search(r"DISCONTINUITY-SEQUENCE:(\d+)", text)[1])
        return text, changes, len(re.findall(r"v0-\d+\.m4s", text.rpartition("#EXT-X-DISCONTINUITY\n")[2]))
    wait_until(lambda: listed()[1] >= 2 and listed()[2] >= 2, 40, "two whole segments of the last publisher")
    playlist, tags, _ = listed()
    check(tags == 2, f"{tags} discontinuities")
    manifest = server.get(f"/v1/dash/live/hls/manifest.mpd?{query}")[1].decode()
    check('<Period id="2"' in manifest, "no period for each")
    base, last = "/v1/hls/live/hls/", int(re.findall(r"v0-(\d+)\.m4s", playlist)[-1])
    version = re.search(r"v0-\d+\.m4s\?(\S+)", playlist)[1]
    media = {}
    for track in "v0", "a0":
        init = re.search(r'MAP:URI="([^"]+)"', server.get(f"{base}{track}.m3u8?{query}")[1].decode())[1]
        data = server.get(base + init)[1]
        for number in range(max(0, last - 20), last + 1):
            answer, piece = server.get(f"{base}{track}-{number}.m4s?{version}")
            data += piece if answer.status == 200 else b""
        media[track] = data
    colors, _ = shown(media["v0"])
    check(colors == ["RR", "GG", "B-"], f"HLS: pictures {colors}")
    pitches, _ = heard(media["a0"])
    check(pitches == [400, 900, 0], f"HLS: pitches {pitches}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        paths = movies(folder)
        srt_port, rtmp_port = free_port(socket.SOCK_DGRAM), free_port()
        with Server(folder, "--segment-cache-bytes", "0", "--dvr-seconds", "60", "--srt-port", str(srt_port), "--rtmp-port", str(rtmp_port),
                    rtsp=True) as server:
            server.folder, server.srt_port, server.rtmp_port = folder, srt_port, rtmp_port
            run_beside_each_other(*((every_change_at_once, server, paths, kind) for kind in ("ts", "mp4")))
            run_beside_each_other(*((test, server, paths) for test in (other_protocols, a_size_that_changes_in_mid_stream,
                                                                       other_tracks_in_one_transport_stream)))
            return run_all([copied_sound_ends_with_a_reason, rtsp_readers_go_on, presentations_go_on], server, paths)


if __name__ == "__main__":
    sys.exit(main())
