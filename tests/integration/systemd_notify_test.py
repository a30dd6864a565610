#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the server tells systemd, by a socket as systemd's: its states in order, by either kind of address. A socket that is
none, is dead or full holds up nothing."""

import contextlib
import os
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import Server, check, failures, run_beside_each_other, wait_until  # noqa: E402

DRAIN = 20


class Manager:
    """Listens as systemd does. `address` is what NOTIFY_SOCKET holds."""

    def __init__(self, address):
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address.startswith("@") else address)
        self.socket.settimeout(30)

    def start(self, *flags, rtsp=False, more=()):
        return Server("movies/files", *flags, rtsp=rtsp, starter=("env", f"NOTIFY_SOCKET={self.address}", *more))

    def next(self):
        """One message, by its names in their order."""
        lines = self.socket.recv(4096).decode().split("\n")
        return dict(line.split("=", 1) for line in lines)

    def expect(self, *names):
        message = self.next()
        check(tuple(message) == (*names, "STATUS"), f"{self.address}: {message} for {names}")
        check(message[names[0]] == "1" and message["STATUS"] != "", f"{self.address}: {message}")
        return message

    def expect_nothing(self):
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            check(False, f"{self.address}: {self.next()} came, too")

    def fill(self):
        """As far as the kernel takes messages; nobody reads them."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other, contextlib.suppress(BlockingIOError):
            other.setblocking(False)
            while True:
                other.sendto(b"X_FILL=1", self.address)


def warnings(server):
    return [line for line in server.log if "systemd" in line]


def ready(manager, server):
    """The message says where it listens, and it does."""
    status = manager.expect("READY")["STATUS"]
    check(server.base in status, f"{status} without {server.base}")
    check(server.get("/readyz")[0].status == 200, "is ready, and does not answer")
    if server.rtsp_port and "not built" not in "".join(server.log):
        check(f":{server.rtsp_port}" in status, f"{status} without {server.rtsp_port}")
        check(server.ask("OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n").startswith("RTSP/1.0 200"), "RTSP does not answer")


def reload(manager, server):
    before = time.clock_gettime(time.CLOCK_MONOTONIC)
    server.process.send_signal(signal.SIGHUP)
    at = int(manager.expect("RELOADING", "MONOTONIC_USEC")["MONOTONIC_USEC"]) / 1e6
    check(before - 1e-3 < at <= time.clock_gettime(time.CLOCK_MONOTONIC), f"reloads at {at}, asked for at {before}")
    return manager.expect("READY")["STATUS"]


def end_with_a_stream(manager, server):
    """The stream runs until its client, who reads no more than the head, leaves."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as client:
        client.sendall(b"GET /v1/transcode/modern-1080p.mkv HTTP/1.1\r\nHost: localhost\r\n\r\n")
        check(client.recv(12) == b"HTTP/1.1 200", "a stream runs")
        server.process.send_signal(signal.SIGTERM)
        message = manager.expect("STOPPING", "EXTEND_TIMEOUT_USEC")
        check(int(message["EXTEND_TIMEOUT_USEC"]) >= (DRAIN + 20) * 1_000_000, f"{message}")
        check(message["STATUS"].endswith("that run: 1"), f"{message}")
        check(server.get("/readyz")[0].status == 503 and server.process.poll() is None, "drains")
    check(server.process.wait(timeout=60) == 0, f"{manager.address}: ends with {server.process.returncode}")


def tells_of_its_life(address, folder):
    manager, config = Manager(address), Path(folder, f"{address.strip('@/').replace('/', '-')}.json")
    config.write_text("{}", encoding="ascii")
    server = manager.start("--config", str(config), "--drain-timeout", str(DRAIN), rtsp=True)
    ready(manager, server)
    check("refused" not in reload(manager, server), "a reload without changes is taken")
    config.write_text('{"streams": {"max": "many"}}', encoding="ascii")
    check("refused" in reload(manager, server), "a reload with wrong settings is refused")
    config.write_text("{}", encoding="ascii")
    check("refused" not in reload(manager, server), "the next one is taken")
    end_with_a_stream(manager, server)
    manager.expect_nothing()
    check(warnings(server) == [], f"{warnings(server)}")


def children_do_not_speak_for_it(folder):
    """GStreamer starts a program that looks at its plugins, where it does not know them."""
    seen, scanner = Path(folder, "seen"), Path(folder, "scanner")
    scanner.write_text(f"#!/bin/sh\nenv > {seen}.part && mv {seen}.part {seen}\nexit 1\n", encoding="ascii")
    scanner.chmod(0o755)
    manager = Manager(os.path.join(folder, "parent"))
    with manager.start(rtsp=True, more=(f"GST_REGISTRY={folder}/registry", f"GST_PLUGIN_SCANNER={scanner}")) as server:
        manager.expect("READY")
        if "not built" in "".join(server.log):
            return
        check(seen.exists(), "a child was started")
        told = seen.read_text(encoding="utf-8", errors="replace") if seen.exists() else ""
        check("GST_REGISTRY=" in told and "NOTIFY_SOCKET" not in told, "a child knows the socket")


def no_socket_is_no_matter(value, most):
    """At most so many lines of the log, and the server lives as ever."""
    with Server("movies/files", starter=("env", f"NOTIFY_SOCKET={value}")) as server:
        check(server.get("/readyz")[0].status == 200, f"{value!r}: does not serve")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: any("reload: no setting" in line for line in server.log), 20, f"{value!r}: no reload")
    check(len(warnings(server)) == most, f"{value!r}: {warnings(server)}")


def no_sockets_are_no_matter(folder):
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stream.bind(os.path.join(folder, "stream"))
    stream.listen()
    dead = Manager(os.path.join(folder, "dead"))
    dead.socket.close()
    no_socket_is_no_matter("", 0)
    for value in ("garbage", "\udcff\x01", "@", "/", "vsock:2:1", "/" + "x" * 107, "@" + "x" * 108, "@nobody-listens",
                  "/nowhere/at/all", folder, "/dev/null", dead.address, os.path.join(folder, "stream")):
        no_socket_is_no_matter(value, 1)


def a_full_socket_holds_up_nothing(folder):
    """One line of the log, until the end; read at last, the socket brings the state that was lost."""
    manager = Manager(os.path.join(folder, "full"))
    manager.fill()
    server = manager.start("--drain-timeout", "0")
    check(server.get("/readyz")[0].status == 200, "does not serve")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any("reload: no setting" in line for line in server.log), 20, "the reload is held up")
    message = {"X_FILL": "1"}
    while "X_FILL" in message:
        message = manager.next()
    check(list(message) == ["READY", "STATUS"], f"the newest state was {message}")
    manager.fill()
    server.process.send_signal(signal.SIGTERM)
    check(server.process.wait(timeout=20) == 0, "the end is held up")
    check(len(warnings(server)) == 1, f"{warnings(server)}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        run_beside_each_other(
            (tells_of_its_life, os.path.join(folder, "notify"), folder),
            (tells_of_its_life, f"@gopmill-test-{os.getpid()}", folder),
            (children_do_not_speak_for_it, folder),
            (no_sockets_are_no_matter, folder),
            (a_full_socket_holds_up_nothing, folder))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
