#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A movie with a flash and a tone each second, published by RTSP over TCP and UDP: readers by HTTP and by RTSP find them as far
apart as they are in it, within a millisecond, from the begin to the end."""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from outputs_test import flash_times, tone_times  # noqa: E402
from rtsp_publish_test import finish, publish  # noqa: E402
from served import Server, check, read_in_thread, run_on_rtsp, wait_until  # noqa: E402

QUERY = "width=160&bitrate=100k&preset=ultrafast"
TRANSPORTS = ("tcp", "udp")
# Who reads from the publisher's first packet on reads so long; who plays comes later, on a busy machine by seconds.
PUBLISHED, READ, PLAYED = 12, 7, 6


def apart(path):
    """How long after its flash each tone comes. The first tone is left out: it begins with the encoder's priming, and its flash
    may be in the picture whose time an RTSP client has to guess."""
    flashes, tones = flash_times(path)[1:], tone_times(path)[1:]
    return [tone - flash for flash in flashes for tone in tones if abs(tone - flash) < 0.3]


def stays_together(name, path, expected):
    found = apart(path)
    text = f"{name}: tones behind their flashes by {[f'{1000 * seconds:+.2f} ms' for seconds in found]}"
    print(text, flush=True)
    check(len(found) >= PLAYED - 2, text)
    check(all(abs(seconds - expected) < 0.001 for seconds in found), text)
    check(max(found) - min(found) < 0.0003, f"{text}: they drift")


def record(server, name):
    return subprocess.Popen(["ffmpeg", "-nostdin", "-v", "error", "-rtsp_transport", "tcp", "-analyzeduration", "500k", "-i",
                             server.url(f"live/{name}?{QUERY}"), "-c", "copy", "-t",
                             str(PLAYED), str(Path(server.folder, f"{name}-played.ts"))])


def publish_and_read(server, movie, names):
    """`names`: where each transport is published. What a reader by HTTP and one by RTSP have of it becomes a file."""
    results = {name: {} for name in names.values()}
    readers = [read_in_thread(server, name, f"{QUERY}&container=ts&duration={READ}", result) for name, result in results.items()]
    wait_until(lambda: all(server.live(name)["readers"] == 1 for name in results), 10, "readers that wait")
    publishers = [publish(server, name, movie, transport) for transport, name in names.items()]
    wait_until(lambda: all(server.live(name).get("source") for name in results), 10, "publishers that are known")
    players = {name: record(server, name) for name in results}
    for publisher in publishers:
        finish(publisher)
    for reader in readers:
        reader.join()
    for name, player in players.items():
        check(player.wait(timeout=30) == 0, f"a player of {name}")
        Path(server.folder, f"{name}-read.ts").write_bytes(results[name]["body"])


def flashes_and_tones(server):
    """Next to a datagram that is lost a tone has lost its begin: what a busy machine lost is published again, twice at most."""
    movie = str(Path(server.folder, "sync.mp4"))
    # Small, so that a busy machine keeps up.
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", "movies/files/sync-720p.mp4", "-t", str(PUBLISHED), "-vf", "scale=256:144",
                    "-preset", "veryfast", "-g", "60", "-c:a", "copy", movie], check=True)
    for attempt in range(3):
        names = {transport: f"{transport}-{attempt}" for transport in TRANSPORTS}
        before = server.metric("gopmill_live_lost_packets_total")
        publish_and_read(server, movie, names)
        lost = server.metric("gopmill_live_lost_packets_total") - before
        if lost == 0:
            break
        print(f"{lost:.0f} packets lost", flush=True)
    expected = apart(movie)[0]
    for transport, name in names.items():
        stays_together(f"{transport}, by HTTP", str(Path(server.folder, f"{name}-read.ts")), expected)
        stays_together(f"{transport}, by RTSP", str(Path(server.folder, f"{name}-played.ts")), expected)


def main():
    with tempfile.TemporaryDirectory() as folder:
        # A picture that is left out on a busy machine would be the one with the flash.
        server = Server(folder, "--degradation", "off", rtsp=True)
        server.folder = folder
        return run_on_rtsp([flashes_and_tones], server)


if __name__ == "__main__":
    sys.exit(main())
