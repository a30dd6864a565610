#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each codec that may be published by RTSP, read over HTTP: ffmpeg publishes all that it can; AC-3, which it cannot, is put
into packets here, with H.264 and over TCP."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from rtsp_publish_test import SDP, RawPublisher, ended, finish, packets, publish  # noqa: E402
from served import Server, check, decode, make_stream, pitch, read_in_thread, run_on_rtsp, wait_until  # noqa: E402

QUERY = "width=160&bitrate=100k&preset=ultrafast&container=ts&duration=1.9"
H264 = ("-c:v", "libx264", "-preset", "ultrafast", "-g", "15")
# RFC 2435 knows one set of Huffman tables.
JPEG = ("-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-huffman", "default")
VP9 = ("-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "15")
X265 = ("-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=15")
CASES = {  # pictures, sound
    "hevc": (X265, ("-c:a", "aac")),
    "mpeg4": (("-c:v", "mpeg4", "-g", "15"), ("-c:a", "mp2")),
    "mpeg2": (("-c:v", "mpeg2video", "-g", "15"), ("-c:a", "mp3")),
    "vp8": (("-c:v", "libvpx", "-deadline", "realtime", "-g", "15"), ("-c:a", "libopus")),
    "vp9": (VP9, ("-c:a", "pcm_s16be")),
    "jpeg": (JPEG, ("-c:a", "pcm_s16be", "-ar", "44100")),  # which has a payload type of its own
    "mulaw": (H264, ("-c:a", "pcm_mulaw", "-ar", "8000")),
    "alaw": (H264, ("-c:a", "pcm_alaw", "-ar", "8000")),
    "silent": ((*H264, "-an"), ()),
}


def is_whole(name, result, has_sound):
    """Pictures and, where there is any, the tone, as long as asked for."""
    check(result["status"] == 200, f"{name}: {result['status']} {result['body'][:200]}")
    streams = decode(result["body"])
    check(int(streams["video"]["nb_read_frames"]) in range(54, 60), f"{name}: {streams['video']}")
    check(("audio" in streams) == has_sound, f"{name}: {list(streams)}")
    if has_sound:
        check(abs(float(streams["audio"]["duration"]) - 1.9) < 0.2, f"{name}: {streams['audio']}")
        heard = pitch(result["body"], name)
        check(abs(heard - 440) < 10, f"{name}: {heard:.0f} Hz")


def what_ffmpeg_publishes(server):
    movies = {name: make_stream(server.folder, f"{name}.mkv", 2, *coding) for name, coding in CASES.items()}
    results = {name: {} for name in CASES}
    readers = [read_in_thread(server, name, QUERY, results[name]) for name in CASES]
    for publisher in [publish(server, name, movie, extra=("-strict", "experimental")) for name, movie in movies.items()]:
        finish(publisher)
    for reader in readers:
        reader.join()
    for name, movie in movies.items():
        is_whole(name, results[name], len(packets(movie)) == 2)


def raw_track(movie, kind, form):
    return subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", movie, "-map", f"0:{kind}", "-c", "copy", "-f", form, "-"],
                          capture_output=True, check=True).stdout


def h264_packets(movie):
    """(marker, time, payload): a NAL unit each, which may be as long as 64 KiB over TCP; a picture is one slice."""
    number = 0
    for unit in re.split(b"\0\0\0?\1", raw_track(movie, "v", "h264"))[1:]:
        is_picture = unit[0] & 31 in (1, 5)
        yield is_picture, 3000 * number, unit
        number += is_picture


def ac3_packets(movie):
    """RFC 4184: two bytes in front that say "one whole frame"; frames have one length, and 1536 samples."""
    frames = raw_track(movie, "a", "ac3")
    size = frames.index(b"\x0b\x77", 2)
    for number, at in enumerate(range(0, len(frames), size)):
        yield True, 1536 * number, b"\0\1" + frames[at:at + size]


class Ac3Publisher(RawPublisher):
    sdp = SDP + "m=audio 0 RTP/AVP 97\r\na=rtpmap:97 AC3/48000\r\na=control:streamid=1\r\n"

    def send_track(self, track, kind, units):
        source = (track + 1).to_bytes(4, "big")
        # The report in front of the packets: second 1 of the wall clock is time 0 of each track.
        self.send(b"\x80\xc8\0\6" + source + (1).to_bytes(4, "big") + bytes(16), 2 * track + 1)
        for number, (marker, at, payload) in enumerate(units):
            head = bytes([0x80, 128 * marker + kind]) + number.to_bytes(2, "big") + at.to_bytes(4, "big") + source
            self.send(head + payload, 2 * track)


def ac3(server):
    movie, result = make_stream(server.folder, "ac3.mkv", 2, H264, ("-c:a", "ac3")), {}
    reader = read_in_thread(server, "ac3", QUERY, result)
    wait_until(lambda: server.live("ac3")["readers"] == 1, 10, "a reader that waits")
    publisher = Ac3Publisher(server, "ac3")
    publisher.ask("SETUP", publisher.url + "/streamid=1", "Transport: RTP/AVP/TCP;unicast;interleaved=2-3;mode=record\r\n")
    publisher.record()
    publisher.send_track(1, 97, ac3_packets(movie))
    publisher.send_track(0, 96, h264_packets(movie))
    publisher.ask("TEARDOWN", publisher.url)
    ended(server, "ac3")
    reader.join()
    is_whole("ac3", result, True)
    publisher.socket.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, rtsp=True)
        server.folder = folder
        return run_on_rtsp([what_ffmpeg_publishes, ac3], server)


if __name__ == "__main__":
    sys.exit(main())
