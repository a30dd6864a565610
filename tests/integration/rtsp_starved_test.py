#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""RTSP on a machine without another thread or file: who comes waits and is served later, and the server lives."""

import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from live_test import Publisher  # noqa: E402
from rtsp_player import Player  # noqa: E402
from served import PROGRAM, Server, check, make_stream, run_all, wait_until  # noqa: E402

CLIENTS = 20
# Of nobody else: the limit on threads is one of all that a user runs.
USER = 61000 + os.getpid() % 1000
WAITING = "connections have to wait"


def has(server, kind):
    """Threads ("task") or open files ("fd") of the server."""
    return len(os.listdir(f"/proc/{server.process.pid}/{kind}"))


def cpu_seconds(server):
    with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as stat:
        return sum(int(ticks) for ticks in stat.read().rpartition(")")[2].split()[11:13]) / os.sysconf("SC_CLK_TCK")


def answers(client):
    """Whether OPTIONS, sent before, is answered."""
    client.settimeout(20)
    try:
        return client.recv(65536).startswith(b"RTSP/1.0 200")
    except OSError:
        return False


def connect(server):
    client = socket.create_connection(("127.0.0.1", server.rtsp_port), timeout=20)
    client.sendall(b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n")
    return client


def set_limit(server, limit, value, starter=()):
    """The soft one, "unlimited" as well. As who runs the server: not every root may do that to others."""
    subprocess.run([*starter, "prlimit", f"--pid={server.process.pid}", f"--{limit}={value}:"], check=True)


def starve(server, limit, kind, starter=()):
    """Leaves the server a few threads or files, connects beyond them and lifts the limit; the server ends by SIGTERM."""
    name = f"without {limit}"
    before = Path(f"/proc/{server.process.pid}/limits").read_text(encoding="ascii")
    before = re.search(rf"^Max {'open files' if kind == 'fd' else 'processes'} +(\S+)", before, re.M)[1]
    set_limit(server, limit, has(server, kind) + 5, starter)
    clients = [connect(server) for _ in range(CLIENTS)]
    wait_until(lambda: any(WAITING in line for line in server.log), 20, f"{name}: the log says so")
    used = cpu_seconds(server)
    time.sleep(1)  # that the loop does not turn
    check(cpu_seconds(server) - used < 0.5, f"{name}: {cpu_seconds(server) - used} s of CPU time in one second")
    for client in clients[CLIENTS // 2:]:
        client.close()
    set_limit(server, limit, before, starter)
    check(all(answers(client) for client in clients[:CLIENTS // 2]), f"{name}: who has waited is answered")
    late = connect(server)
    check(answers(late), f"{name}: who comes then is answered")
    end(server, name)


def end(server, name):
    check(server.process.poll() is None, f"{name}: the server has ended: {''.join(server.log)[-2000:]}")
    server.process.send_signal(signal.SIGTERM)
    try:
        check(server.process.wait(timeout=20) == 0, f"{name}: it ends with {server.process.returncode}")
    except subprocess.TimeoutExpired:
        check(False, f"{name}: it does not end")
        server.process.kill()


def without_files():
    starve(Server(rtsp=True), "nofile", "fd")


def without_threads():
    """Root has no such limit, and only root may become somebody who has nothing else running."""
    starter = ["setpriv", f"--reuid={USER}", "--clear-groups"]
    if os.geteuid() != 0 or subprocess.run([*starter, PROGRAM, "--version"], capture_output=True, check=False).returncode:
        print("without_threads needs root, and a program that others may run")
        return
    with tempfile.TemporaryDirectory() as folder:
        make_stream(folder, "movie.mp4", 1)
        os.chmod(folder, 0o755)
        starve(Server(folder, rtsp=True, starter=starter), "nproc", "task", starter)


def players_without_files():
    """Whose connection is there already hears 503; those who play and publish go on."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, rtsp=True)
        publisher = Publisher(server, "cam", make_stream(folder, "cam.ts", 60))
        url = server.url("live/cam?width=160&height=90&preset=ultrafast")
        with Player(server, "live/cam") as playing, Player(server, "live/cam") as late:
            playing.url = late.url = url
            described, set_up = playing.set_up()
            check([a.status for a in (described, *set_up)] == [200] * 3, f"{described} {set_up}")
            check(playing.ask("PLAY").status == 200, "PLAY")
            check(late.ask("OPTIONS").status == 200, "a connection that is there")
            before = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (has(server, "fd") + 6, before[1]))
            refused = late.ask("DESCRIBE", url)
            check(refused.status == 503, f"DESCRIBE without files: {refused}")
            pictures = len(playing.packets[0])
            check(playing.read_until(lambda: len(playing.packets[0]) >= pictures + 20), "it plays on")
            resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, before)
            check(late.ask("DESCRIBE", url).status == 200, "DESCRIBE when there are files")
        publisher.kill()
        end(server, "players")


def main():
    server = Server(rtsp=True)
    server.process.kill()
    if server.port is None:
        return 77 if "not built" in "".join(server.log) else 1
    return run_all([without_files, without_threads, players_without_files])


if __name__ == "__main__":
    sys.exit(main())
