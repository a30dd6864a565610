#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""RTSP with real clients: ffmpeg and GStreamer, over UDP, TCP and HTTP; seeks, garbage, leaving."""

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from rtsp_player import run_gstreamer  # noqa: E402
from served import Server, check, run_all, wait_until  # noqa: E402

QUERY = "width=160&height=90&bitrate=100k&preset=ultrafast&fps=30"
MOVIE = "sync-720p.mp4"


def probe(path, extra=()):
    """(frames, first pts) of video and audio, by decoding."""
    out = subprocess.run(
        ["ffprobe", "-v", "error", *extra, "-count_frames", "-show_entries",
         "stream=codec_type,nb_read_frames,start_time", "-of", "json", path],
        check=True, capture_output=True, text=True)
    check(out.stderr == "", f"decoding {path} complains: {out.stderr[:200]}")
    return {s["codec_type"]: (int(s["nb_read_frames"]), float(s["start_time"]))
            for s in json.loads(out.stdout)["streams"]}


def record(server, transport, path, extra=()):
    out = os.path.join(server.folder, f"{transport}-{random.random()}.mkv")
    done = subprocess.run(
        ["ffmpeg", "-v", "fatal", "-rtsp_transport", transport, *extra, "-i", server.url(path), "-map", "0",
         "-c", "copy", "-y", out], capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == 0, f"{transport}: {done.stderr[:300]}")
    return out


def plays_over_every_transport(server):
    begin = time.monotonic()
    recordings = {}
    threads = [threading.Thread(target=lambda t=t: recordings.update(
        {t: record(server, t, f"{MOVIE}?{QUERY}&duration=3")})) for t in ("tcp", "udp", "http")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - begin
    check(2.5 < seconds < 15, f"three seconds played in {seconds:.1f} s")
    for transport, path in recordings.items():
        streams = probe(path)
        check(streams["video"][0] == 90, f"{transport}: {streams['video'][0]} pictures instead of 90")
        check(streams["audio"][0] in range(140, 143), f"{transport}: {streams['audio'][0]} frames of sound")
        check(abs(streams["video"][1] - streams["audio"][1]) < 0.001, f"{transport}: {streams}")
    wait_until(lambda: not server.running(), 5, "a movie was played and its stream goes on")


def video_packets(path):
    return json.loads(subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=width,height:packet=pts_time,size", "-of", "json", path],
        check=True, capture_output=True).stdout)


def plays_what_was_asked_for(server):
    """Another size, half the frame rate and a bit rate, in the packets as they come."""
    query = "modern-720p.mp4?width=320&height=180&fps=15&bitrate=300k&preset=ultrafast&duration=5"
    played = video_packets(record(server, "tcp", query))
    size = [(stream["width"], stream["height"]) for stream in played["streams"]]
    check(size == [(320, 180)], f"320x180 was asked for: {size}")
    times = sorted(float(packet["pts_time"]) for packet in played["packets"])
    gaps = [b - a for a, b in zip(times[1:], times[2:])]  # a client guesses the time of its first picture
    check(len(times) == 75 and all(abs(gap - 1 / 15) < 0.002 for gap in gaps), f"{len(times)} pictures of 75, gaps {min(gaps)} to {max(gaps)}")
    # Five seconds are too few for the rate that was asked for to the percent: it is that of the same transcode by HTTP.
    path = Path(server.folder, "rate.ts")
    path.write_bytes(server.get(f"/v1/transcode/{query}&container=ts")[1])
    rates = [8 * sum(int(packet["size"]) for packet in found["packets"]) / 5000 for found in (played, video_packets(path))]
    check(abs(rates[0] / rates[1] - 1) < 0.03 and 200 < rates[0] < 420, f"300 kb/s were asked for: {rates[0]:.0f}, by HTTP {rates[1]:.0f}")


def plays_one_track_alone(server):
    """A player that sets up only one of the tracks; repeated, because what went wrong once was a race."""
    for kind, least in 4 * (("audio", 46), ("video", 30)):
        out = record(server, "tcp", f"{MOVIE}?{QUERY}&duration=1", ["-allowed_media_types", kind])
        streams = probe(out)
        check(set(streams) == {kind}, f"{kind} was asked for, {set(streams)} came")
        check(streams[kind][0] in (least, least + 1, least + 2), f"{kind} alone: {streams[kind][0]} frames")


def plays_hevc_and_opus(server):
    # Decoded at once: ffmpeg does not copy reordered pictures out of RTSP, which has no decoding times.
    streams = probe(server.url(f"{MOVIE}?{QUERY}&duration=1&vcodec=hevc&acodec=opus"), ("-rtsp_transport", "tcp"))
    check(streams["video"][0] == 30, f"hevc: {streams}")


def seeks(server):
    """A player that begins at 12 s of a movie gets what a transcode from 12 s has."""
    movie = "modern-720p.mp4"

    def first_picture(path, extra=()):
        return subprocess.run(["ffmpeg", "-v", "error", *extra, "-i", path, "-frames:v", "1", "-f", "rawvideo",
                               "-pix_fmt", "gray", "-vf", "scale=32:18", "-"],
                              capture_output=True, check=True, timeout=60).stdout
    sought = record(server, "tcp", f"{movie}?{QUERY}", ("-ss", "12", "-t", "2"))
    check(probe(sought)["video"][0] in range(58, 63), "two seconds from the place sought")
    picture = first_picture(sought)

    def distance(at):
        other = first_picture(f"movies/files/{movie}", ("-ss", str(at)))
        return sum(abs(a - b) for a, b in zip(picture, other)) / len(picture)

    check(distance(12) < distance(0) and distance(12) < 12,
          f"the picture at 12 s: {distance(12):.1f} away, that at 0 s: {distance(0):.1f}")
    wait_until(lambda: not server.running(), 5, "a player that sought has left and its stream goes on")


def plays_in_gstreamer(server):
    if shutil.which("gst-launch-1.0") is None:
        print("no gst-launch-1.0", flush=True)
        return
    out = os.path.join(server.folder, "gst.ts")
    run_gstreamer(server, [
        "rtspsrc", "name=s", "protocols=tcp", f"location={server.url(MOVIE)}?{QUERY}&duration=5",
        "mpegtsmux", "name=mux", "!", "filesink", f"location={out}",
        "s.", "!", "application/x-rtp,media=video", "!", "queue", "!", "rtph264depay", "!", "h264parse", "!", "mux.",
        "s.", "!", "application/x-rtp,media=audio", "!", "queue", "!", "rtpmp4gdepay", "!", "aacparse", "!", "mux."])
    check(probe(out)["video"][0] == 150 and probe(out)["audio"][0] in range(233, 238), f"GStreamer: {probe(out)}")


def live_players_share_one_encode(server):
    source = os.path.join(server.folder, "live.ts")
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30", "-f", "lavfi", "-i",
                    "sine=frequency=440:sample_rate=48000", "-t", "6", "-c:v", "libx264", "-preset", "ultrafast",
                    "-g", "15", "-c:a", "aac", "-y", source], check=True)
    with subprocess.Popen(["ffmpeg", "-v", "error", "-re", "-i", source, "-c", "copy", "-f", "mpegts", "-"],
                          stdout=subprocess.PIPE) as pusher:
        publisher = subprocess.Popen(["curl", "-s", "-T", "-", f"http://127.0.0.1:{server.port}/v1/live/cam"],
                                     stdin=pusher.stdout, stdout=subprocess.DEVNULL)
        recordings = []
        path = f"live/cam?{QUERY}"
        players = [threading.Thread(target=lambda t=t: recordings.append(record(server, t, path, ("-t", "2"))))
                   for t in ("tcp", "udp")]
        for player in players:
            player.start()
        wait_until(server.running, 10, "a live player")
        check(len(server.running()) == 1, f"{len(server.running())} streams for two equal players")
        for player in players:
            player.join()
        publisher.wait()
    check(len(recordings) == 2, f"of two players that began at once {2 - len(recordings)} had nothing")
    for recording in recordings:
        # Who comes second begins between two key frames, a second apart; ffmpeg may stop some pictures late.
        check(probe(recording)["video"][0] in range(28, 91), f"a live player got {probe(recording)}")
    wait_until(lambda: not server.running(), 5, "live players have left and their stream goes on")
    answer = server.ask(f"DESCRIBE {server.url('live/a%20b')} RTSP/1.0\r\nCSeq: 1\r\n\r\n")
    check(answer.startswith("RTSP/1.0 400 "), f"a bad live name: {answer[:60]!r}")


def says_what_is_wrong(server):
    for path, status, word in [
        ("none.mp4", 404, "no such"), (f"{MOVIE}?width=1", 400, "width"),
        (f"{MOVIE}?widht=100", 400, "widht"), (f"{MOVIE}?container=mp4", 400, "container"),
        (f"{MOVIE}?width=100&width=200", 400, "twice"),
        ("modern-1080p.mkv?acodec=opus&channels=6", 415, "two channels"),
        (f"{MOVIE}?vcodec=av1", 415, "GStreamer has no payloader"), (f"{MOVIE}?vcodec=av1", 415, "accepted: h264, hevc, mpeg4, vp9"),
        ("%2e%2e/manifest.json", 404, ""), ("%zz", 400, "escape"),
        ("a%00b", 400, "escape"), ("a" * 3000, 404, ""), ("", 400, "path"),
    ]:
        answer = server.ask(f"DESCRIBE {server.url(path)} RTSP/1.0\r\nCSeq: 1\r\n\r\n")
        problem = re.search(r"X-Gopmill-Problem: (.*)", answer)
        check(answer.startswith(f"RTSP/1.0 {status} "), f"{path[:40]}: {answer[:60]!r}")
        check(problem is not None and word in problem.group(1), f"{path[:40]}: {answer[:300]!r}")
        check(os.getcwd() not in answer, f"{path[:40]}: tells a path")
    wait_until(lambda: not server.running(), 5, "a refused DESCRIBE left a stream")


def survives_garbage(server):
    url = server.url(f"{MOVIE}?{QUERY}")
    seed = random.Random(1)
    good = f"DESCRIBE {url} RTSP/1.0\r\nCSeq: 1\r\nAccept: application/sdp\r\n\r\n".encode()
    requests = [b"\0" * 1000, b"GET / HTTP/1.1\r\n\r\n", b"$\0\xff\xff" + b"x" * 100, b"\r\n" * 1000,
                b"OPTIONS * RTSP/9.9\r\n\r\n", b"PLAY " + b"x" * 100_000, b"SETUP rtsp://x RTSP/1.0\r\nCSeq: 1\r\n\r\n",
                f"SETUP {url}/stream=99 RTSP/1.0\r\nCSeq: 1\r\nTransport: nonsense\r\n\r\n".encode(),
                f"PLAY {url} RTSP/1.0\r\nCSeq: 1\r\nSession: 123\r\nRange: npt=zzz-\r\n\r\n".encode(),
                b"DESCRIBE rtsp://h/a RTSP/1.0\r\nContent-Length: 99999999999\r\n\r\n",
                f"ANNOUNCE {server.url('live/x')} RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 4\r\n\r\nxxxx".encode()]
    for _ in range(60):
        mangled = bytearray(good)
        for _ in range(seed.randrange(1, 6)):
            mangled[seed.randrange(len(mangled))] = seed.randrange(256)
        requests.append(bytes(mangled[:seed.randrange(10, len(mangled))]))
    for request in requests:
        with socket.create_connection(("127.0.0.1", server.rtsp_port), timeout=5) as client:
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
    silent = [socket.create_connection(("127.0.0.1", server.rtsp_port)) for _ in range(100)]
    check("RTSP/1.0 200" in server.ask(good.replace(QUERY.encode(), QUERY.encode() + b"&duration=1")),
          "a player is served beside garbage and silence")
    for client in silent:
        client.close()
    wait_until(lambda: not server.running(), 10, "garbage left a stream")
    check(server.process.poll() is None, "the server has gone")


def leaving_players_free_the_workers(server):
    url = server.url("modern-720p.mp4?width=1280&height=720&bitrate=3M&preset=medium")
    for transport in ["tcp", "udp"]:
        player = subprocess.Popen(["ffmpeg", "-v", "quiet", "-rtsp_transport", transport, "-i", url, "-f", "null", "-"])
        wait_until(lambda: server.running() and server.running()[0]["counts"]["frames_out"] > 10, 10, "a player to leave")
        player.kill()
        player.wait()
        wait_until(lambda: not server.running(), 5, f"{transport}: a player was killed and its stream goes on")


def stays_close_to_the_player(server):
    """A long movie played: the transcode waits for the player after a few seconds."""
    begin = time.monotonic()
    player = subprocess.Popen(["ffmpeg", "-v", "quiet", "-rtsp_transport", "tcp", "-i",
                               server.url(f"{MOVIE}?{QUERY}"), "-f", "null", "-"])
    wait_until(server.running, 10, "a player to follow")
    # Against the clock from before its start, so that a slow machine cannot make it look fast. Two seconds are sent ahead, and
    # another two allow for packets that wait behind those. A stream that does not wait has sent all its 20 s within a few.
    frames, seen_until = 0, time.monotonic() + 6
    while time.monotonic() < seen_until or (frames < 150 and time.monotonic() < begin + 30):
        if streams := server.running():
            frames = streams[0]["counts"]["frames_out"]
            most = 30 * (time.monotonic() - begin + 4)
            if frames >= most:
                check(False, f"the stream runs ahead of its player: {frames} pictures where {most:.0f} are due at most")
                break
        time.sleep(0.1)
    check(150 <= frames and server.running(), f"{frames} pictures after {time.monotonic() - begin:.0f} s of play")
    player.kill()
    player.wait()


def sigterm_ends_it(server):
    player = subprocess.Popen(["ffmpeg", "-v", "quiet", "-rtsp_transport", "tcp", "-i",
                               server.url(f"{MOVIE}?{QUERY}"), "-f", "null", "-"])
    wait_until(server.running, 10, "a player at the end of the server")
    server.process.send_signal(signal.SIGTERM)
    check(server.process.wait(timeout=20) == 0, f"exit code {server.process.returncode} after SIGTERM")
    player.wait(timeout=20)


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = Server(rtsp=True)
        server.folder = folder
        if server.port is None:
            print("".join(server.log))
            return 77 if "not built" in "".join(server.log) else 1
        try:
            code = run_all([plays_over_every_transport, plays_what_was_asked_for, plays_one_track_alone, plays_hevc_and_opus, seeks,
                            plays_in_gstreamer, live_players_share_one_encode, says_what_is_wrong, survives_garbage,
                            leaving_players_free_the_workers, stays_close_to_the_player, sigterm_ends_it], server)
        finally:
            server.process.kill()
    if code:
        print("".join(server.log))
    return code


if __name__ == "__main__":
    sys.exit(main())
