#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""MPEG-4 Part 2 and VP9 played by RTSP, of movies and of live sources: ffmpeg and GStreamer decode every picture, also behind a
seek and a pause, with sound that is in step."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from rtsp_player import Player, rtp_info, run_gstreamer  # noqa: E402
from rtsp_publish_test import finish, publish  # noqa: E402
from rtsp_sync_test import apart  # noqa: E402
from served import Server, check, make_stream, run_on_rtsp, small_pictures, unlike, wait_until  # noqa: E402

os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "3"  # then a live source has ended for who plays it
MOVIE = "sync-720p.mp4"
QUERY = "width=160&height=90&fps=30&bitrate=200k&preset=ultrafast"
WIDTH, HEIGHT = 160, 90
CODECS = ("mpeg4", "vp9")


def url(server, codec, more="", path=MOVIE):
    return server.url(f"{path}?{QUERY}&vcodec={codec}{more}")


def decode_frames(location, transport=None):
    """Times of the pictures and of the frames of sound, as decoded."""
    out = subprocess.run(["ffprobe", "-v", "error", *(("-rtsp_transport", transport) if transport else ()), "-show_entries",
                          "frame=media_type,pts_time", "-of", "json", location], capture_output=True, text=True, timeout=60, check=False)
    check(out.returncode == 0 and out.stderr == "", f"{transport}: decoding {location} complains: {out.stderr[:300]}")
    times = {"video": [], "audio": []}
    for frame in json.loads(out.stdout or "{}").get("frames", []):
        times[frame["media_type"]].append(float(frame["pts_time"]))
    return times


def are_steady(times, count, name):
    gaps = [b - a for a, b in zip(times, times[1:])]
    check(len(times) == count, f"{name}: {len(times)} pictures of {count}")
    # A client guesses the time of its first picture.
    check(all(abs(gap - 1 / 30) < 0.002 for gap in gaps[1:]), f"{name}: gaps between pictures {min(gaps, default=0)} to {max(gaps, default=0)}")


def ffmpeg_decodes_every_picture(server):
    for codec in CODECS:
        for transport in ("tcp", "udp"):
            name = f"{codec} over {transport}"
            times = decode_frames(url(server, codec, "&duration=3"), transport)
            are_steady(times["video"], 90, name)
            check(len(times["audio"]) in range(140, 143), f"{name}: {len(times['audio'])} frames of sound")
            first = [found[0] for found in times.values() if found]
            check(len(first) == 2 and abs(first[0] - first[1]) < 0.05, f"{name}: the tracks begin at {first}")
        opus = decode_frames(url(server, codec, "&duration=1&acodec=opus"), "tcp")
        check(len(opus["video"]) == 30 and len(opus["audio"]) in range(49, 53), f"{codec} with Opus: {[len(t) for t in opus.values()]}")


# FFmpeg 5.1 does not see the key pictures of VP9 by RTSP and copies nothing in front of one.
COPY = ("-c", "copy", "-copyinkf")


def record(location, path, *options):
    done = subprocess.run(["ffmpeg", "-nostdin", "-v", "fatal", "-rtsp_transport", "tcp", *options, "-i", location, "-map", "0", *COPY, "-y", path],
                          capture_output=True, text=True, timeout=60, check=False)
    check(done.returncode == 0, f"{location}: {done.stderr[:300]}")
    return path


def sound_is_in_step(server):
    expected = apart(f"movies/files/{MOVIE}")[0]
    for codec in CODECS:
        found = apart(record(url(server, codec, "&duration=6"), f"{server.folder}/{codec}-step.mkv"))
        print(codec, [f"{1000 * seconds:+.2f} ms" for seconds in found], flush=True)
        check(len(found) >= 4 and all(abs(seconds - expected) < 0.001 for seconds in found), f"{codec}: {found} instead of {expected}")


def media_of(sdp):
    return sdp.split("\r\nm=")[1]


def describes_the_codec(server):
    with Player(server, f"{MOVIE}?{QUERY}&vcodec=mpeg4&duration=1") as player:
        sdp = media_of(player.set_up()[0].body)
        check("a=rtpmap:96 MP4V-ES/90000" in sdp, f"mpeg4: {sdp}")
        config = re.search(r"a=fmtp:96 .*config=([0-9a-fA-F]+)", sdp)
        check(config is not None and "profile-level-id=" in sdp, f"mpeg4: {sdp}")
        player.ask("PLAY", Range="npt=0-")
        player.read_until(lambda: player.packets[0])
        config = bytes.fromhex(config[1])
        check(player.packets[0][0].payload.startswith(config) and b"\0\0\1\x20" in config,
              f"mpeg4: the configuration {config.hex()} is not that of the packets: {player.packets[0][0].payload[:60].hex()}")
    with Player(server, f"{MOVIE}?{QUERY}&vcodec=vp9&duration=1") as player:
        sdp = media_of(player.set_up()[0].body)
        check("a=rtpmap:96 VP9/90000" in sdp, f"vp9: {sdp}")


def av1_is_refused(server):
    for path in (MOVIE, "live/nobody"):
        answer = server.ask(f"DESCRIBE {url(server, 'av1', path=path)} RTSP/1.0\r\nCSeq: 1\r\n\r\n")
        check(answer.startswith("RTSP/1.0 415 "), f"av1: {answer[:80]!r}")
        check("GStreamer has no payloader" in answer and "accepted: h264, hevc, mpeg4, vp9" in answer, f"av1: {answer!r}")


def ten_bits_say_their_size(server):
    """GStreamer's payloader does not read it right, and its depayloader goes by it."""
    query = f"hevc10-540p.mp4?{QUERY}&vcodec=vp9&duration=2"
    times = decode_frames(server.url(query), "tcp")
    are_steady(times["video"], 60, "vp9 of ten bits")
    with Player(server, query) as player:
        player.set_up()
        player.ask("PLAY", Range="npt=0-")
        player.read_until(lambda: player.packets[0])
        payload = player.packets[0][0].payload
        check(struct.unpack(">HH", payload[4:8]) == (WIDTH, HEIGHT), f"vp9 of ten bits: {payload[:12].hex()}")


def vp9_frame(payload):
    """What RFC 9628's descriptor stands in front of: it has a picture ID, and in the first packet of a key picture a scalability
    structure of one layer."""
    at = 1
    if payload[0] & 0x80:
        at += 2 if payload[1] & 0x80 else 1
    if payload[0] & 0x02:
        layers, groups = (payload[at] >> 5) + 1, payload[at] & 0x08
        at += 1 + (4 * layers if payload[at] & 0x10 else 0)
        if groups:
            count, at = payload[at], at + 1
            for _ in range(count):
                at += 1 + (payload[at] >> 2 & 3)
    return payload[at:]


def as_file(server, codec, packets):
    """The pictures of RTP packets for a decoder that knows nothing of RTP."""
    path = Path(server.folder, f"{codec}.{'m4v' if codec == 'mpeg4' else 'ivf'}")
    if codec == "mpeg4":
        path.write_bytes(b"".join(packet.payload for packet in packets))
        return path
    frames, frame = [], b""
    for packet in packets:
        frame += vp9_frame(packet.payload)
        if packet.marker:
            frames.append(frame)
            frame = b""
    head = struct.pack("<4sHH4sHHIIII", b"DKIF", 0, 32, b"VP90", WIDTH, HEIGHT, 30, 1, len(frames), 0)
    path.write_bytes(head + b"".join(struct.pack("<IQ", len(data), at) + data for at, data in enumerate(frames)))
    return path


def holds_pictures(server, codec, packets, first, count, name):
    """Packets whose pictures are those of the movie from `first` on, one time each, 3000 ticks apart."""
    times = [packet.time for packet in packets if packet.marker]
    gaps = {(b - a) % 2 ** 32 for a, b in zip(times, times[1:])}
    check(len(times) == count and gaps <= {2999, 3000, 3001}, f"{name}: {len(times)} pictures of {count}, gaps {gaps}")
    numbers = {(b.number - a.number) % 65536 for a, b in zip(packets, packets[1:])}
    check(numbers == {1}, f"{name}: steps of numbers {numbers}")
    shown = small_pictures(as_file(server, codec, packets))
    check(len(shown) == count, f"{name}: {len(shown)} decoded of {count}")
    wrong = [at for at, picture in enumerate(shown) if unlike(picture, server.expected[first + at]) > 6]
    check(not wrong, f"{name}: pictures {wrong[:5]} are not those of the movie")


def seeks_to_the_picture(server):
    for codec in CODECS:
        with Player(server, f"modern-720p.mp4?{QUERY}&vcodec={codec}") as player:
            player.set_up()
            for place in (12, 3):
                name = f"{codec} at {place} s"
                for packets in player.packets.values():
                    packets.clear()
                answer = player.ask("PLAY", Range=f"npt={place}-{place + 2}")
                check(answer.status == 200 and f"npt={place}" in answer.fields.get("range", ""), f"{name}: {answer}")
                said = rtp_info(answer)
                player.read_until(lambda: sum(packet.marker for packet in player.packets[0]) >= 60)
                # What an earlier place had left comes before the answer.
                packets = [p for p in player.packets[0] if 0 <= (p.number - said[0][0]) % 65536 < 32768]
                check(bool(packets) and (packets[0].number, packets[0].time) == said[0], f"{name}: {packets[:1]} and {said}")
                holds_pictures(server, codec, packets, 30 * place, 60, name)


def pause_loses_nothing(server):
    for codec in CODECS:
        with Player(server, f"modern-720p.mp4?{QUERY}&vcodec={codec}&duration=4") as player:
            player.set_up()
            player.ask("PLAY", Range="npt=0-")
            for seen in (30, 60):
                player.read_until(lambda seen=seen: sum(packet.marker for packet in player.packets[0]) >= seen)
                check(player.ask("PAUSE").status == 200, f"{codec}: PAUSE")
                check(player.ask("PLAY").status == 200, f"{codec}: PLAY")
            player.read_until(lambda: sum(packet.marker for packet in player.packets[0]) >= 120)
            holds_pictures(server, codec, player.packets[0], 0, 120, f"{codec} with pauses")


def ffmpeg_seeks(server):
    for codec in CODECS:
        path = record(url(server, codec, path="modern-720p.mp4"), f"{server.folder}/{codec}-sought.mkv", "-ss", "12", "-t", "2")
        pictures = small_pictures(Path(path))
        check(len(pictures) in range(58, 63), f"{codec}: {len(pictures)} pictures of two seconds")
        off = min(unlike(pictures[0], server.expected[360 + near]) for near in (-1, 0, 1))
        check(off < 6, f"{codec}: the picture at 12 s is {off:.1f} away")


# What takes pictures out of RTP packets, and makes bytes of them. Debian's only decoder of MPEG-4 is in a package that is not
# needed else: ffmpeg decodes what came out of GStreamer.
CHAINS = {"mpeg4": ("rtpmp4vdepay", "!", "mpeg4videoparse", "!", "matroskamux"),
          "vp9": ("rtpvp9depay", "!", "vp9dec", "!", "videoconvert", "!", "video/x-raw,format=GRAY8")}


def gst_decode(server, codec, location, protocols):
    """How many pictures GStreamer makes of it."""
    out = Path(server.folder, "gst.out")
    run_gstreamer(server, ["rtspsrc", "name=s", f"protocols={protocols}", f"location={location}",
                           "s.", "!", "application/x-rtp,media=video", "!", "queue", "!", *CHAINS[codec], "!", "filesink", f"location={out}",
                           "s.", "!", "application/x-rtp,media=audio", "!", "queue", "!", "rtpmp4gdepay", "!", "fakesink"])
    return out.stat().st_size / (WIDTH * HEIGHT) if codec == "vp9" else len(small_pictures(out))


def gstreamer_decodes_every_picture(server):
    if shutil.which("gst-launch-1.0") is None:
        print("no gst-launch-1.0", flush=True)
        return
    for codec in CODECS:
        for protocols in ("tcp", "udp"):
            count = gst_decode(server, codec, url(server, codec, "&duration=5"), protocols)
            check(count == 150, f"{codec} in GStreamer over {protocols}: {count} pictures of 150")


def play_live(server, name, codec, transport, path):
    """A player that waits for its publisher, and has all from the first picture on."""
    player = subprocess.Popen(["ffmpeg", "-nostdin", "-v", "error", "-rtsp_transport", transport, "-i", url(server, codec, path=f"live/{name}"),
                               *COPY, "-y", path], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: server.live(name)["readers"] == 1, 10, "a player that waits")
    return player


def live_sources_play(server):
    movie = make_stream(server.folder, "live.mkv", 8)
    cases = [(codec, transport) for codec in CODECS for transport in ("tcp", "udp")]
    players, publishers = [], []
    for codec, transport in cases:  # one after the other: a player waits only as long as readers have patience
        name = f"{codec}-{transport}"
        players.append(play_live(server, name, codec, transport, f"{server.folder}/{name}.mkv"))
        publishers.append(publish(server, name, movie))
    for publisher in publishers:
        finish(publisher)
    for player, (codec, transport) in zip(players, cases):
        name = f"live {codec} over {transport}"
        errors = player.communicate(timeout=30)[1]
        check(player.returncode == 0 and errors == "", f"{name}: {player.returncode} {errors[:300]}")
        times = decode_frames(f"{server.folder}/{codec}-{transport}.mkv")
        are_steady(times["video"], 240, name)
        check(abs(len(times["audio"]) - 375) < 5, f"{name}: {len(times['audio'])} frames of sound")


def main():
    with tempfile.TemporaryDirectory() as folder:
        # A picture that is left out on a busy machine would be missed here.
        server = Server("movies/files", "--degradation", "off", rtsp=True)
        server.folder = folder
        if server.port is not None:
            query = f"/v1/transcode/modern-720p.mp4?{QUERY}&container=ts&duration=15&acodec=none"
            server.expected = small_pictures(server.get(query)[1])
        return run_on_rtsp([ffmpeg_decodes_every_picture, sound_is_in_step, describes_the_codec, ten_bits_say_their_size, av1_is_refused,
                            seeks_to_the_picture, pause_loses_nothing, ffmpeg_seeks, gstreamer_decodes_every_picture, live_sources_play], server)


if __name__ == "__main__":
    sys.exit(main())
