#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`auth.users` changed while the server runs: who is put out is refused from the next request on, over HTTP and RTSP, what
runs goes on, and no reload opens what was closed."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from access_test import basic  # noqa: E402
from served import Server, check, make_stream, run_all, wait_until  # noqa: E402

QUERY = "width=160&height=90&bitrate=100k&preset=ultrafast"


class Changing:
    """A server whose users are those of a file that is written anew."""

    def __init__(self, folder, users):
        self.config = Path(folder, "config.json")
        self.write(users)
        self.server = Server(folder, "--config", str(self.config), rtsp=True)

    def write(self, users):
        self.config.write_text(json.dumps({"auth": {"users": users}} if users is not None else {}), encoding="utf-8")

    def reload(self, users):
        """What the log says of it."""
        before = len(self.server.log)
        self.write(users)
        self.server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: any("reload" in line for line in self.server.log[before:]), 10, f"a reload with {users}")
        return "".join(self.server.log[before:])

    def status(self, user):
        return self.server.get("/v1/sources", headers=basic(user) if user else None)[0].status


class RtspClient:
    def __init__(self, server):
        self.server, self.number = server, 0
        self.socket = socket.create_connection(("127.0.0.1", server.rtsp_port), timeout=20)
        check(self.ask("OPTIONS").startswith("RTSP/1.0 200 "), "OPTIONS")

    def ask(self, method, user=None):
        self.number += 1
        field = f"Authorization: {basic(user)['Authorization']}\r\n" if user else ""
        url = self.server.url(f"a.mkv?{QUERY}&duration=1")
        self.socket.sendall(f"{method} {url} RTSP/1.0\r\nCSeq: {self.number}\r\n{field}\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.socket.recv(65536)
        head, _, body = answer.partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")), 0)
        while len(body) < length:
            body += self.socket.recv(65536)
        return head.decode()


def play(server, user, seconds):
    url = f"rtsp://{user}@127.0.0.1:{server.rtsp_port}/a.mkv?{QUERY}&duration={seconds}"
    return subprocess.Popen(["ffmpeg", "-nostdin", "-v", "error", "-progress", "pipe:1", "-rtsp_transport", "tcp", "-i", url,
                             "-f", "null", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def running(server, user):
    streams = json.loads(server.get("/v1/streams", headers=basic(user))[1])["streams"]
    return [stream for stream in streams if stream["state"] == "running"]


def others_get_in_and_what_runs_goes_on(folder):
    changing = Changing(folder, "ann:old:read+publish bob:eyes:read")
    with changing.server as server:
        client = RtspClient(server)
        check((changing.status("ann:old"), changing.status("bob:eyes"), changing.status(None)) == (200, 200, 401), "the first users")
        download = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        download.sock = socket.socket()
        download.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        download.sock.connect(("127.0.0.1", server.port))
        download.request("GET", "/v1/transcode/a.mkv?width=640&crf=1&preset=ultrafast&container=ts", headers=basic("bob:eyes"))
        answer = download.getresponse()
        check(answer.status == 200 and answer.read(1000), f"a download: {answer.status}")
        player = play(server, "bob:eyes", 4)
        check(any(re.fullmatch(r"frame=[1-9]\d*\n", line) for line in player.stdout), "a player plays")
        check(len(running(server, "ann:old")) == 2, "a download and a player")

        said = changing.reload("ann:new:read+publish eve:ears:read")
        check("/auth/users changed" in said and "new" not in said and "ears" not in said, said)
        statuses = {user: changing.status(user) for user in ("ann:old", "ann:new", "bob:eyes", "eve:ears", None)}
        check(statuses == {"ann:old": 401, "ann:new": 200, "bob:eyes": 401, "eve:ears": 200, None: 401}, f"{statuses}")
        check(changing.server.get("/v1/live/x", "PUT", basic("eve:ears") | {"Content-Length": "4"}, b"junk")[0].status == 403, "roles")
        for user, status in ((None, 401), ("bob:eyes", 401), ("ann:old", 401), ("eve:ears", 200), ("ann:new", 200)):
            told = client.ask("DESCRIBE", user)
            check(told.startswith(f"RTSP/1.0 {status} "), f"a client that was there, as {user}: {told}")
        for user, plays in (("eve:ears", True), ("bob:eyes", False), ("ann:old", False)):  # by Digest
            process = play(server, user, 1)
            process.communicate(timeout=60)
            check((process.returncode == 0) == plays, f"{user} plays: {process.returncode}")
        check(len(answer.read()) > 1_000_000, "the download goes on to its end")
        errors = player.communicate(timeout=60)[1]
        check(player.returncode == 0, f"the player goes on to its end: {errors}")


def a_reload_never_opens_what_is_closed(folder):
    changing = Changing(folder, "ann:old:read+publish")
    with changing.server as server:
        for users, word in (("", "needs a restart"), (" ", "needs a restart"), (None, "needs a restart"), ("ann:old", "refused")):
            said = changing.reload(users)
            check(word in said and "old" not in said, f"{users}: {said}")
            check((changing.status(None), changing.status("ann:old")) == (401, 200), f"users: {users}")
        before = len(server.log)
        changing.config.write_text("{ broken", encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: any("refused" in line for line in server.log[before:]), 10, "a broken file")
        check(changing.status(None) == 401, "a broken file")


def the_first_users_close_what_was_open(folder):
    changing = Changing(folder, None)
    with changing.server as server:
        client = RtspClient(server)
        check(changing.status(None) == 200, "open")
        check(server.get("/v1/sources", headers={"Host": "evil.example"})[0].status == 421, "of this machine only")
        check("/auth/users changed" in changing.reload("bob:eyes:read"), "".join(server.log))
        check((changing.status(None), changing.status("bob:eyes")) == (401, 200), "closed")
        check(server.get("/v1/sources", headers={"Host": "movies.example"} | basic("bob:eyes"))[0].status == 200, "by any name")
        check(client.ask("DESCRIBE").startswith("RTSP/1.0 401 "), "a client that was there is asked for its name")
        check(client.ask("DESCRIBE", "bob:eyes").startswith("RTSP/1.0 200 "), "and gets in with it")


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_stream(folder, "a.mkv", 20)
        first = Changing(folder, None).server
        if first.rtsp_port and "not built" in "".join(first.log):
            first.process.kill()
            return 77
        first.process.kill()
        return run_all([others_get_in_and_what_runs_goes_on, a_reload_never_opens_what_is_closed, the_first_users_close_what_was_open],
                       folder)


if __name__ == "__main__":
    os.environ.pop("GOPMILL_AUTH_USERS", None)
    sys.exit(main())
