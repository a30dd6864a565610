#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Who gets in, and who is put out: users over HTTP and RTSP, host names, readers that stall, silent connections."""

import base64
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import Server, check, decode, make_stream, read_in_thread, run_all, wait_until  # noqa: E402

USERS = "ann:both:read+publish bob:eyes:read cam:lens:publish"
QUERY = "width=160&height=90&bitrate=100k&preset=ultrafast"


def basic(user):
    return {"Authorization": "Basic " + base64.b64encode(user.encode()).decode()}


def ffmpeg(*args):
    return subprocess.run(["ffmpeg", "-v", "error", *args], capture_output=True, text=True, timeout=60, check=False)


def http_users(server):
    for path, headers, status in [
        ("/v1/sources", None, 401), ("/v1/sources", basic("bob:eyes"), 200), ("/v1/sources", basic("bob:eye"), 401),
        ("/v1/sources", basic("eve:eyes"), 401), ("/v1/sources", {"Authorization": "Bearer eyes"}, 200),
        ("/v1/sources", {"Authorization": "Bearer nose"}, 401), ("/v1/sources", basic("cam:lens"), 403),
        ("/healthz", None, 200), ("/readyz", None, 200), ("/metrics", None, 401), ("/", None, 401),
    ]:
        answer, body = server.get(path, headers=headers)
        check(answer.status == status, f"{path} with {headers}: {answer.status} {body[:200]}")
        if status == 401:
            check("Basic" in (answer.getheader("WWW-Authenticate") or ""), f"{path}: does not ask for a user")
            check(json.loads(body)["type"].endswith(":unauthorized"), f"{path}: {body[:200]}")
    for user, status in [("bob:eyes", 403), ("cam:lens", 422), ("eve:x", 401)]:
        answer, _ = server.get("/v1/live/x", "PUT", basic(user) | {"Content-Length": "4"}, b"junk")
        check(answer.status == status, f"PUT by {user}: {answer.status}")
    answer, _ = server.get("/v1/streams/1", "DELETE", basic("bob:eyes"))
    check(answer.status == 403, f"DELETE by a reader: {answer.status}")


def rtsp_users(server):
    movie = make_stream(server.folder, "a.mkv", 2)

    def url(user, path):
        return f"rtsp://{user}@127.0.0.1:{server.rtsp_port}/{path}"
    for user, plays in [("bob:eyes", True), ("ann:both", True), ("cam:lens", False), ("bob:wrong", False), ("", False)]:
        done = ffmpeg("-rtsp_transport", "tcp", "-i", url(user, f"a.mkv?{QUERY}&duration=1"), "-f", "null", "-")
        check((done.returncode == 0) == plays, f"{user} plays: {done.returncode} {done.stderr[-300:]}")
    answer = server.ask(f"DESCRIBE {server.url('a.mkv')} RTSP/1.0\r\nCSeq: 1\r\nAuthorization: "
                        f"{basic('cam:lens')['Authorization']}\r\n\r\n")
    check(answer.startswith("RTSP/1.0 403 "), f"a publisher that plays: {answer[:200]!r}")
    for user, publishes in [("cam:lens", True), ("ann:both", True), ("bob:eyes", False), ("eve:x", False)]:
        done = ffmpeg("-re", "-i", movie, "-t", "1", "-c", "copy", "-f", "rtsp", "-rtsp_transport", "tcp",
                      url(user, "live/cam"))
        check((done.returncode == 0) == publishes, f"{user} publishes: {done.returncode} {done.stderr[-300:]}")
    answer = server.ask(f"DESCRIBE {server.url('a.mkv')} RTSP/1.0\r\nCSeq: 1\r\n\r\n")
    check(answer.startswith("RTSP/1.0 401 ") and "Digest" in answer and "Basic" in answer, f"{answer[:300]!r}")
    streams = json.loads(server.get("/v1/streams", headers=basic("bob:eyes"))[1])["streams"]
    check(not [s for s in streams if s["state"] == "running"], "a refused player left a stream")


def a_source_is_fetched_as_a_user(server):
    """Another server's movie, with the right word and with a wrong one, which is shown nowhere."""
    make_stream(server.folder, "fetched.mkv", 8)
    path = f"127.0.0.1:{server.rtsp_port}/fetched.mkv?width=320&height=180&fps=30&bitrate=300k&preset=ultrafast"
    flags = [part for name, word in (("good", "eyes"), ("bad", "pupils")) for part in ("--source", f"{name}=rtsp://bob:{word}@{path}")]
    os.environ.update(GOPMILL_AUTH_USERS="", GOPMILL_LIVE_READER_PATIENCE_SECONDS="5")
    try:
        with Server(server.folder, *flags) as fetcher:
            results = {name: {} for name in ("good", "bad")}
            for reader in [read_in_thread(fetcher, name, f"{QUERY}&container=ts&duration=2", result) for name, result in results.items()]:
                reader.join()
            check(results["good"]["status"] == 200, f"with the right word: {results['good']['status']} {results['good']['body'][:200]}")
            check(int(decode(results["good"]["body"])["video"]["nb_read_frames"]) == 60, "two seconds of a source that is fetched")
            check(results["bad"]["status"] == 503, f"with a wrong word: {results['bad']['status']}")
            seen = "".join(fetcher.log) + results["bad"]["body"].decode() + fetcher.get("/v1/live")[1].decode()
            check("live bad:" in seen and "eyes" not in seen and "pupils" not in seen, f"a word is shown: {seen[-2000:]}")
        config = subprocess.run([os.environ["GOPMILL_PROGRAM"], "serve", "--library", server.folder, *flags, "--print-config"],
                                capture_output=True, text=True, check=True).stdout
        check('"sources"' in config and "eyes" not in config and "pupils" not in config, f"a word is shown: {config}")
    finally:
        os.environ["GOPMILL_AUTH_USERS"] = USERS
        del os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"]


def secrets_are_not_shown(server):
    out = subprocess.run([os.environ["GOPMILL_PROGRAM"], "serve", "--library", server.folder, "--print-config"],
                         capture_output=True, text=True, check=True).stdout
    check("lens" not in out and '"users"' in out, "a password in --print-config")
    check("lens" not in "".join(server.log), "a password in the log")


def rebinding(folder):
    with Server(folder) as server:
        for host, status in [("localhost", 200), (f"127.0.0.1:{server.port}", 200), ("evil.example", 421),
                             ("127.0.0.1.evil.example:80", 421)]:
            answer, body = server.get("/v1/sources", headers={"Host": host})
            check(answer.status == status, f"host {host}: {answer.status} {body[:200]}")
        for origin, status in [(f"http://127.0.0.1:{server.port}", 200), ("http://localhost:3000", 200), ("https://evil.example", 403), ("null", 403)]:
            answer, body = server.get("/v1/sources", headers={"Origin": origin})
            check(answer.status == status, f"a page of {origin}: {answer.status} {body[:200]}")


class Player:
    """Plays over TCP by hand; takes nothing unless asked to."""

    def __init__(self, server, path):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(30)
        self.socket.connect(("127.0.0.1", server.rtsp_port))
        url, session = server.url(path), ""
        answer = self.ask(f"DESCRIBE {url} RTSP/1.0\r\nCSeq: 1\r\n\r\n")
        base = re.search(r"Content-Base: (\S+)", answer)[1]
        for i, control in enumerate(re.findall(r"a=control:(stream=\d)", answer)):
            answer = self.ask(f"SETUP {base}{control} RTSP/1.0\r\nCSeq: 2\r\n{session}Transport: RTP/AVP/TCP;unicast;"
                              f"interleaved={2 * i}-{2 * i + 1}\r\n\r\n")
            check(answer.startswith("RTSP/1.0 200 "), f"SETUP: {answer[:300]}")
            session = f"Session: {re.search('Session: ([^;' + chr(13) + ']+)', answer)[1]}\r\n"
        self.socket.sendall(f"PLAY {base} RTSP/1.0\r\nCSeq: 3\r\n{session}\r\n".encode())

    def ask(self, request):
        self.socket.sendall(request.encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.socket.recv(65536)
        head, _, body = answer.partition(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", head)
        while length and len(body) < int(length[1]):
            body += self.socket.recv(65536)
        return (head + b"\r\n\r\n" + body).decode()


def a_stalled_reader_is_cut_and_costs_nobody_anything(server):
    """Two equal players share one stream of a live source; one takes nothing at all."""
    movie = make_stream(server.folder, "s.mkv", 9)
    publisher = subprocess.Popen(["ffmpeg", "-v", "error", "-re", "-i", movie, "-c", "copy", "-f", "rtsp",
                                  "-rtsp_transport", "tcp", server.url("live/s")])
    wait_until(lambda: server.live("s")["publishing"], 20, "a publisher")
    path = "live/s?width=640&bitrate=3M&preset=ultrafast"
    out = os.path.join(server.folder, "good.mkv")
    good = subprocess.Popen(["ffmpeg", "-v", "error", "-rtsp_transport", "tcp", "-i", server.url(path), "-t", "6",
                             "-c", "copy", "-y", out])
    wait_until(lambda: server.live("s")["readers"] == 1, 20, "a good reader")
    stalled = Player(server, path)
    begin = time.monotonic()
    check(good.wait(timeout=60) == 0, "the good reader")
    times = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of",
                            "csv=p=0", out], capture_output=True, text=True, check=True).stdout.split()
    times = sorted(float(line.strip(",")) for line in times)
    gaps = [b - a for a, b in zip(times, times[1:])]
    # Of 180, without those in front of its first key picture, at most a GOP of a second.
    check(len(times) >= 145 and max(gaps) < 0.05, f"beside a stalled reader: {len(times)} pictures, {max(gaps)} s apart")
    wait_until(lambda: is_cut(stalled.socket, server), 20, "a stalled reader is still there")
    check(time.monotonic() - begin < 15, f"a stalled reader is cut after {time.monotonic() - begin:.1f} s")
    publisher.wait()


def who_leaves_makes_room(server):
    """Players of one encode whose connections just end, and others who come in the same moment: twice the limit of sessions.
    Beside them some wait for publishers that do not come."""
    movie = make_stream(server.folder, "room.mkv", 60)
    publisher = subprocess.Popen(["ffmpeg", "-v", "error", "-re", "-i", movie, "-c", "copy", "-f", "rtsp",
                                  "-rtsp_transport", "tcp", server.url("live/room")])
    wait_until(lambda: server.live("room")["publishing"], 20, "a publisher")
    waiting = [socket.create_connection(("127.0.0.1", server.rtsp_port)) for _ in range(12)]
    for number, client in enumerate(waiting):
        client.sendall(f"DESCRIBE {server.url(f'live/nobody{number}')} RTSP/1.0\r\nCSeq: 1\r\n\r\n".encode())
    for _ in range(8):
        begin = time.monotonic()
        players = [Player(server, f"live/room?{QUERY}") for _ in range(3)]
        check(all(player.socket.recv(1) for player in players), "a player gets nothing")
        for player in players:
            player.socket.close()
        check(time.monotonic() - begin < 15, f"players of a source waited for others: {time.monotonic() - begin:.1f} s")
    for client in waiting:
        client.close()
    publisher.kill()
    wait_until(lambda: not any("room" in stream["source"] for stream in server.running()), 10,
               "all have left and their stream goes on")


def is_cut(client, server):
    """Whether the server has let go of a connection; its end cannot reach a client that reads nothing."""
    ends = f":{server.rtsp_port:04X}", f":{client.getsockname()[1]:04X}"
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in table.readlines()[1:]:
            fields = line.split()
            if fields[1].endswith(ends[0]) and fields[2].endswith(ends[1]):
                return fields[9] == "0"  # no file any more
    return True


def a_movie_that_is_not_taken_ends(server):
    player = Player(server, "s.mkv?width=640&bitrate=3M&preset=ultrafast")
    wait_until(server.running, 10, "a player that stalls")
    wait_until(lambda: not server.running(), 20, "a stalled player keeps its stream")
    player.socket.close()


def silent_connections_are_bounded(server):
    files = f"/proc/{server.process.pid}/fd"
    before = len(os.listdir(files))
    silent = [socket.create_connection(("127.0.0.1", server.rtsp_port)) for _ in range(900)]
    # 64 may stay, each a socket, what it is cut by (the same socket) and the wake-up of its thread.
    wait_until(lambda: len(os.listdir(files)) < before + 215, 20,
               f"{len(os.listdir(files)) - before} files for silent connections")
    done = ffmpeg("-rtsp_transport", "tcp", "-i", server.url(f"s.mkv?{QUERY}&duration=1"), "-f", "null", "-")
    check(done.returncode == 0, f"a player beside 900 silent connections: {done.stderr[:200]}")
    for client in silent:
        client.close()


def main():
    os.environ.update(GOPMILL_RTSP_STALL_TIMEOUT_SECONDS="3", GOPMILL_RTSP_MAX_SESSIONS="12")
    with tempfile.TemporaryDirectory() as folder:
        code = run_all([rebinding], folder)
        os.environ["GOPMILL_AUTH_USERS"] = USERS
        tests = [[http_users, rtsp_users, a_source_is_fetched_as_a_user, secrets_are_not_shown],
                 [a_stalled_reader_is_cut_and_costs_nobody_anything, a_movie_that_is_not_taken_ends,
                  silent_connections_are_bounded, who_leaves_makes_room]]
        for some in tests:
            server = Server(folder, rtsp=True)
            server.folder = folder
            if server.port is None:
                print("".join(server.log))
                return 77 if "not built" in "".join(server.log) else 1
            try:
                code = run_all(some, server) or code
            finally:
                server.process.kill()
            os.environ["GOPMILL_AUTH_USERS"] = ""
    return code


if __name__ == "__main__":
    sys.exit(main())
