#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sources fetched from another RTSP server: another gopmill that goes away and comes back, on demand and always, over TCP
and UDP; peers that do not answer."""

import http.client
import os
import re
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
from served import PROGRAM, Server, check, decode, free_port, make_stream, read_in_thread, run_all, wait_until  # noqa: E402

QUERY = "width=160&bitrate=100k&preset=ultrafast&container=ts"
PEER_QUERY = "width=320&height=180&fps=30&bitrate=300k&preset=ultrafast"


class Peer:
    """The server that is fetched from; may be started again on its port."""

    def __init__(self, library):
        self.library, self.port = library, free_port()
        self.start()

    def start(self):
        self.process = subprocess.Popen([PROGRAM, "serve", "--library", self.library, "--http-port", "0", "--rtsp-port",
                                         str(self.port)], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "listening on http" in line:
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def url(self, movie, scheme="rtsp"):
        return f"{scheme}://127.0.0.1:{self.port}/{movie}?{PEER_QUERY}"


def plays_on_demand_over(scheme, server, peer_process):
    result = {}
    check(not server.live(scheme)["publishing"], f"{scheme} is fetched for nobody")
    reader = read_in_thread(server, scheme, f"{QUERY}&duration=3", result)
    reader.join()
    check(result["status"] == 200, f"{scheme}: {result['status']} {result['body'][:200]}")
    streams = decode(result["body"])
    check(int(streams["video"]["nb_read_frames"]) == 90, f"{scheme}: {streams['video']}")
    check(abs(float(streams["audio"]["duration"]) - 3) < 0.1, f"{scheme}: {streams['audio']}")
    check(server.live(scheme)["publishing"], f"{scheme}: the next reader has to wait")
    check(peer_process.poll() is None, "the peer has gone")


def survives_a_peer_that_comes_back(server, peer):
    result = {}
    reader = read_in_thread(server, "rtspt", f"{QUERY}&duration=6", result)
    wait_until(lambda: server.live("rtspt")["counts"].get("packets", 0) > 200, 20, "packets of a peer")
    before = server.live("rtspt")["counts"]["publishers"]
    peer.kill()
    wait_until(lambda: not server.live("rtspt")["publishing"], 15, "a peer that was killed is still there")
    peer.start()
    wait_until(lambda: server.live("rtspt")["counts"]["publishers"] > before, 20, "a peer that came back is not asked")
    reader.join()
    streams = decode(result["body"])
    check(int(streams["video"]["nb_read_frames"]) == 180, f"six seconds of a peer that came back: {streams['video']}")


def stops_when_nobody_reads(server):
    wait_until(lambda: not server.live("rtspt")["publishing"], 20, "a source goes on without readers")


def hls_is_on_demand_too(server):
    check(not server.live("rtspu")["publishing"], "a source goes on without readers")
    master = server.get("/v1/hls/live/rtspu/master.m3u8?width=160&bitrate=100k&preset=ultrafast")
    check(master[0].status == 200 and b"v0.m3u8" in master[1], f"HLS of a source that nobody reads yet: {master[0].status} {master[1][:200]}")
    playlist = re.search(rb"^v0.m3u8\S*$", master[1], re.M)[0].decode()
    check(b".m4s" in server.get(f"/v1/hls/live/rtspu/{playlist}")[1], "a playlist without segments")


def dead_peers_cost_nothing(server):
    """A port where nobody listens, one where nobody answers, one that answers nonsense: the reader hears of it."""
    results = {name: {} for name in ("nobody", "mute", "nonsense")}
    for reader in [read_in_thread(server, name, QUERY, result) for name, result in results.items()]:
        reader.join()
    for name, result in results.items():
        check(result["status"] == 503, f"{name}: {result}")
    check(server.process.poll() is None, "the server has gone")
    attempts = len([line for line in server.log if "live nobody:" in line])
    check(1 <= attempts <= 8, f"{attempts} attempts at a dead peer in 15 seconds")


def always_means_without_readers(folder, peer):
    with Server(folder, "--source", f"cam={peer.url('a.mkv')}", "--source", f"door={peer.url('a.mkv')}", "--pull", "cam") as server:
        wait_until(lambda: server.live("cam")["publishing"] and server.live("cam")["counts"]["packets"] > 20, 20,
                   "a source that is always fetched")
        check(server.live("door")["pull"] == "idle", f"the one that is not: {server.live('door')}")
    bad = subprocess.run([PROGRAM, "serve", "--library", folder, "--http-port", "0", "--rtsp-port", "0", "--source",
                          "cam=http://127.0.0.1/x"], capture_output=True, text=True, timeout=20, check=False)
    check(bad.returncode != 0 and "rtsp://" in bad.stderr, f"a source that is no RTSP: {bad.stderr[:200]}")


def who_publishes_keeps_the_name(folder, peer):
    """Though a new publisher takes the place of another: a source that is fetched would come back by itself, for ever."""
    with Server(folder, "--source", f"cam={peer.url('a.mkv')}", "--pull", "always", "--second-publisher", "replace") as server:
        wait_until(lambda: server.live("cam")["counts"].get("packets", 0) > 20, 20, "a source that is always fetched")
        movie = subprocess.run(["ffmpeg", "-v", "error", "-i", Path(folder, "a.mkv"), "-t", "6", "-c", "copy", "-f", "mpegts", "-"],
                               check=True, capture_output=True).stdout
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.putrequest("PUT", "/v1/live/cam")
        connection.putheader("Content-Length", str(len(movie)))
        connection.endheaders()
        connection.send(movie[:len(movie) // 2])
        wait_until(lambda: server.live("cam")["failures"] >= 3, 20, "it is not tried again")
        check("taken this name over" not in server.live("cam")["last_error"], f"the newest reason: {server.live('cam')}")
        log = "".join(server.log)
        check("has taken this name over" in log and "the peer has ended it" not in log, f"why it has gone: {log[-1000:]}")
        connection.send(movie[len(movie) // 2:])
        answer = connection.getresponse()
        check(answer.status == 200, f"who publishes: {answer.status} {answer.read()[:200]}")
        connection.close()
        publishers = server.live("cam")["counts"]["publishers"]
        wait_until(lambda: server.live("cam")["counts"]["publishers"] > publishers or server.live("cam")["publishing"], 20,
                   "it does not come back")


def answer_with_nonsense(listener):
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client:
            client.recv(1000)
            client.sendall(b"RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Type: application/sdp\r\nContent-Length: 4\r\n\r\n\0\0\0\0")


def main():
    os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "15"
    os.environ["GOPMILL_RTSP_PUBLISHER_TIMEOUT_SECONDS"] = "3"
    with tempfile.TemporaryDirectory() as folder:
        movie = make_stream(folder, "a.mkv", 60)
        check(os.path.exists(movie), "a movie to fetch")
        peer = Peer(folder)
        nobody = socket.socket()  # who has the port and does not listen, so that nobody else does
        nobody.bind(("127.0.0.1", 0))
        mute, nonsense = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=answer_with_nonsense, args=(nonsense,), daemon=True).start()
        dead = {"nobody": nobody.getsockname()[1], "mute": mute.getsockname()[1], "nonsense": nonsense.getsockname()[1]}
        flags = [part for scheme in ("rtspt", "rtspu") for part in ("--source", f"{scheme}={peer.url('a.mkv', scheme)}")]
        for name, port in dead.items():
            flags += ["--source", f"{name}=rtsp://127.0.0.1:{port}/x"]
        server = Server(folder, *flags)
        if server.port is None:
            print("".join(server.log))
            return 77 if "not built" in "".join(server.log) else 1
        try:
            for scheme in ("rtspt", "rtspu"):
                run_all([plays_on_demand_over], scheme, server, peer.process)
            run_all([survives_a_peer_that_comes_back], server, peer)
            run_all([dead_peers_cost_nothing, stops_when_nobody_reads, hls_is_on_demand_too], server)
            code = run_all([always_means_without_readers, who_publishes_keeps_the_name], folder, peer)
            server.process.send_signal(signal.SIGTERM)
            begin = time.monotonic()
            check(server.process.wait(timeout=20) == 0 and time.monotonic() - begin < 10, "the server ends")
            check(not re.search(r"^\S+ error ", "".join(server.log), re.M), "errors in the log")
        finally:
            server.process.kill()
            peer.kill()
    if code:
        print("".join(server.log)[-5000:])
    return code


if __name__ == "__main__":
    sys.exit(main())
