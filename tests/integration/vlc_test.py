#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""VLC's library as a client: it plays streams in three containers, HLS and DASH, seeks, and plays a live source, without
a damaged or lost packet. It counts what it decodes; pictures and sound go nowhere. (Debian's VLC has no RTSP.)"""

import ctypes
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import Server, check, run_all, wait_until  # noqa: E402

ENDED, ERROR = 6, 7  # libvlc_state_t
FRAMES, SECONDS = 100, 4
ONE = "width=160&bitrate=150k&preset=ultrafast"


class Stats(ctypes.Structure):
    """libvlc_media_stats_t of VLC 3."""
    _fields_ = [("read_bytes", ctypes.c_int), ("input_bitrate", ctypes.c_float), ("demux_read_bytes", ctypes.c_int),
                ("demux_bitrate", ctypes.c_float), ("demux_corrupted", ctypes.c_int), ("demux_discontinuity", ctypes.c_int),
                ("decoded_video", ctypes.c_int), ("decoded_audio", ctypes.c_int), ("displayed_pictures", ctypes.c_int),
                ("lost_pictures", ctypes.c_int), ("played_abuffers", ctypes.c_int), ("lost_abuffers", ctypes.c_int),
                ("sent_packets", ctypes.c_int), ("sent_bytes", ctypes.c_int), ("send_bitrate", ctypes.c_float)]


def load():
    vlc, pointer = ctypes.CDLL("libvlc.so.5"), ctypes.c_void_p
    for name, result, arguments in (
            ("new", pointer, [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]), ("release", None, [pointer]),
            ("media_new_location", pointer, [pointer, ctypes.c_char_p]), ("media_release", None, [pointer]),
            ("media_get_stats", ctypes.c_int, [pointer, ctypes.POINTER(Stats)]),
            ("media_player_new_from_media", pointer, [pointer]), ("media_player_release", None, [pointer]),
            ("media_player_play", ctypes.c_int, [pointer]), ("media_player_stop", None, [pointer]),
            ("media_player_get_state", ctypes.c_int, [pointer]), ("media_player_get_time", ctypes.c_int64, [pointer]),
            ("media_player_set_time", None, [pointer, ctypes.c_int64])):
        function = getattr(vlc, f"libvlc_{name}")
        function.restype, function.argtypes = result, arguments
    return vlc


class Player:
    def __init__(self, url):
        words = [b"--quiet", b"--vout=vdummy", b"--aout=adummy", b"--no-video-title-show", b"--network-caching=300"]
        self.vlc = load()
        self.library = self.vlc.libvlc_new(len(words), (ctypes.c_char_p * len(words))(*words))
        self.media = self.vlc.libvlc_media_new_location(self.library, url.encode())
        self.player = self.vlc.libvlc_media_player_new_from_media(self.media)

    def __enter__(self):
        self.vlc.libvlc_media_player_play(self.player)
        return self

    def __exit__(self, *_):
        self.vlc.libvlc_media_player_stop(self.player)
        self.vlc.libvlc_media_player_release(self.player)
        self.vlc.libvlc_media_release(self.media)
        self.vlc.libvlc_release(self.library)

    def stats(self):
        stats = Stats()
        self.vlc.libvlc_media_get_stats(self.media, ctypes.byref(stats))
        return stats

    def state(self):
        return self.vlc.libvlc_media_player_get_state(self.player)

    def wait(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition() and self.state() not in (ENDED, ERROR) and time.monotonic() < end:
            time.sleep(0.05)


def make_movie(folder):
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=s=320x180:r=25:d={SECONDS}", "-f", "lavfi",
                    "-i", f"sine=d={SECONDS}", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-c:a", "aac",
                    str(Path(folder, "movie.mkv"))], check=True)


def good(stats, name):
    check(stats.demux_corrupted == 0 and stats.lost_abuffers == 0, f"{name}: {stats.demux_corrupted} damaged, {stats.lost_abuffers} lost")


def plays_to_the_end(server, _):
    for path in (f"/v1/transcode/movie.mkv?{ONE}", f"/v1/transcode/movie.mkv?{ONE}&container=ts",
                 f"/v1/transcode/movie.mkv?{ONE}&container=mkv", f"/v1/hls/movie.mkv/master.m3u8?{ONE}",
                 f"/v1/hls/movie.mkv/master.m3u8?{ONE}&container=ts", f"/v1/dash/movie.mkv/manifest.mpd?{ONE}"):
        with Player(server.base + path) as player:
            player.wait(lambda: False)
            stats = player.stats()
            check(player.state() == ENDED, f"{path}: ends in state {player.state()}")
            check(stats.decoded_video >= FRAMES and stats.decoded_audio > 40 * SECONDS,
                  f"{path}: {stats.decoded_video} pictures, {stats.decoded_audio} blocks of sound")
            good(stats, path)


def seeks(server, _):
    made = server.metric("gopmill_segments_made_total")
    with Player(f"{server.base}/v1/hls/movie.mkv/master.m3u8?{ONE}&segment=1&fps=24") as player:
        player.wait(lambda: player.stats().displayed_pictures > 5)
        player.vlc.libvlc_media_player_set_time(player.player, 3000)
        player.wait(lambda: player.vlc.libvlc_media_player_get_time(player.player) >= 3000)
        at = player.vlc.libvlc_media_player_get_time(player.player)
        check(at >= 3000, f"seeking to 3 s leads to {at} ms in state {player.state()}")
        player.wait(lambda: False)
        check(player.state() == ENDED, f"ends in state {player.state()}")
    check(server.metric("gopmill_segments_made_total") > made, "segments were made for it")


def publish(server, folder):
    publisher = subprocess.Popen(["ffmpeg", "-nostdin", "-v", "error", "-re", "-stream_loop", "-1", "-i", str(Path(folder, "movie.mkv")),
                                  "-c", "copy", "-f", "mpegts", "-method", "PUT", f"{server.base}/v1/live/cam"])
    wait_until(lambda: server.live("cam").get("source"), 10, "a publisher that is known")
    return publisher


def goes_on_where_a_publisher_comes_back(server, folder):
    """In transport streams; VLC 3 ends a playlist of MP4 segments at a discontinuity."""
    publisher = publish(server, folder)
    with Player(f"{server.base}/v1/hls/live/cam/master.m3u8?{ONE}&container=ts&segment=1") as player:
        player.wait(lambda: player.stats().displayed_pictures >= 25)
        publisher.kill()
        wait_until(lambda: not server.live("cam")["publishing"], 10, "a killed publisher is still there")
        left = player.stats().displayed_pictures + 25 * 10  # that it may have
        publisher = publish(server, folder)
        player.wait(lambda: player.stats().displayed_pictures >= left)
        check(player.stats().displayed_pictures >= left, f"{player.stats().displayed_pictures} of {left} pictures in state {player.state()}")
    publisher.kill()


def plays_a_live_source(server, folder):
    publisher = publish(server, folder)
    try:
        for path in (f"/v1/hls/live/cam/master.m3u8?{ONE}", f"/v1/hls/live/cam/master.m3u8?{ONE}&container=ts", f"/v1/dash/live/cam/manifest.mpd?{ONE}", f"/v1/transcode/live/cam?{ONE}&container=ts"):
            with Player(server.base + path) as player:
                player.wait(lambda: player.stats().displayed_pictures >= 50)
                stats = player.stats()
                check(stats.displayed_pictures >= 50 and stats.played_abuffers > 0,
                      f"{path}: {stats.displayed_pictures} pictures in state {player.state()}")
    finally:
        publisher.kill()


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_movie(folder)
        with Server(folder, "--segment-cache-bytes", "0") as server:
            return run_all([plays_to_the_end, seeks, plays_a_live_source, goes_on_where_a_publisher_comes_back], server, folder)


if __name__ == "__main__":
    sys.exit(main())
