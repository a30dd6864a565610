#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Live sources that clients bring by SRT and RTMP, with ffmpeg in the encoder's role: they arrive whole, come back after
a cut, take turns; garbage and silence take the port from nobody for long."""

import contextlib
import os
import re
import select
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
MUXERS = {"srt": "mpegts", "rtmp": "flv"}
PASSPHRASE = "a passphrase of ours"


def push(url, movie, *, protocol):
    """Encoders try again until they are let in."""
    command = ["ffmpeg", "-nostdin", "-v", "error", "-re", "-i", movie, "-c", "copy", "-f", MUXERS[protocol], url]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def publisher(server, protocol, url, movie, name):
    wait_until(lambda: not server.live(name)["publishing"], 15, "the client before is still there")
    before = server.live(name)["counts"].get("publishers", 0)
    clients = []

    def taken():
        if not clients or clients[-1].poll() is not None:
            clients.append(push(url, movie, protocol=protocol))
        return server.live(name)["counts"].get("publishers", 0) > before

    wait_until(taken, 15, f"a client of {protocol} is not taken")
    for refused in clients[:-1]:
        refused.stderr.close()
    return clients[-1]


def end(process):
    process.kill()
    process.wait()
    process.stderr.close()


def arrives_whole(protocol, server, url, movie):
    client = publisher(server, protocol, url, movie, protocol)
    result = {}
    read_in_thread(server, protocol, f"{QUERY}&duration=3", result).join()
    check(result["status"] == 200, f"{protocol}: {result['status']} {result['body'][:200]}")
    streams = decode(result["body"])
    check(int(streams["video"]["nb_read_frames"]) == 90, f"{protocol}: {streams['video']}")
    check(abs(float(streams["audio"]["duration"]) - 3) < 0.1, f"{protocol}: {streams['audio']}")
    end(client)


def survives_a_client_that_is_cut(protocol, server, url, movie):
    result = {}
    first = publisher(server, protocol, url, movie, protocol)
    sent = server.live(protocol)["counts"]["packets"]
    reader = read_in_thread(server, protocol, f"{QUERY}&duration=6", result)
    wait_until(lambda: server.live(protocol)["counts"]["packets"] > sent + 200, 20, "packets of a client")
    before = server.live(protocol)["counts"]["publishers"]
    end(first)
    wait_until(lambda: not server.live(protocol)["publishing"], 15, f"{protocol}: a client that was killed is still there")
    second = publisher(server, protocol, url, movie, protocol)
    check(server.live(protocol)["counts"]["publishers"] == before + 1, "the client that came back is counted")
    reader.join()
    check(int(decode(result["body"])["video"]["nb_read_frames"]) == 180, f"{protocol}: six seconds over a cut")
    end(second)


def one_client_at_a_time(protocol, server, url, movie):
    first = publisher(server, protocol, url, movie, protocol)
    second = push(url, movie, protocol=protocol)
    check(second.wait(timeout=30) != 0, f"{protocol}: a second client was taken")
    second.stderr.close()
    check(first.poll() is None and server.live(protocol)["publishing"], f"{protocol}: the first client was disturbed")
    end(first)


def connect(port):
    """A listener that has just lost a client is there again a moment later; one that has just got one turns the next
    away."""
    end_time = time.monotonic() + 10
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=5)
        except (ConnectionRefusedError, ConnectionResetError):
            if time.monotonic() > end_time:
                raise
            time.sleep(0.02)


def garbage_takes_nothing_for_long(protocol, server, url, movie):
    wait_until(lambda: not server.live(protocol)["publishing"], 15, "the client before is still there")
    port = int(url.split("?")[0].rsplit(":", 1)[1].split("/")[0])
    noise = bytes(range(256)) * 40
    if protocol == "srt":
        with socket.socket(type=socket.SOCK_DGRAM) as sender:
            for size in (0, 1, 4, 15, 16, 64, 1316):
                sender.sendto(noise[:size], ("127.0.0.1", port))
                sender.sendto(b"\x80\0\0\0" + noise[:size], ("127.0.0.1", port))
    else:
        for bytes_sent in (noise, b"\x03" + b"\0" * 1536, b"GET / HTTP/1.1\r\n\r\n" + noise):
            with connect(port) as client, contextlib.suppress(ConnectionError):
                client.sendall(bytes_sent)
    end(publisher(server, protocol, url, movie, protocol))


def one_who_says_nothing_is_left(server, url, movie):
    """FFmpeg accepts one connection at a time: one that is silent has the place for some seconds."""
    port = int(url.rsplit(":", 1)[1].split("/")[0])
    begin = time.monotonic()
    with connect(port) as mute:
        mute.settimeout(40)
        check(mute.recv(1) == b"", "a silent client gets bytes")
    check(time.monotonic() - begin < 20, "a silent client keeps the place")
    end(publisher(server, "rtmp", url, movie, "rtmp"))


def one_who_ends_no_message_is_cut_off(server, url, movie):
    """A megabyte of each of many messages, on a chunk stream each, none of which ever ends: FFmpeg would keep them all."""
    port, mebi = int(url.rsplit(":", 1)[1].split("/")[0]), 1 << 20
    before, sent = server.resident_kib(), 0
    with connect(port) as client:
        client.settimeout(20)
        client.sendall(b"\x03" + bytes(1536))
        greeting = b""
        while len(greeting) < 1 + 2 * 1536:
            greeting += client.recv(65536)
        client.sendall(bytes(1536) + b"\x02" + bytes(3) + (4).to_bytes(3, "big") + b"\x01" + bytes(4) + mebi.to_bytes(4, "big"))
        with contextlib.suppress(ConnectionError):
            for number in range(3, 60):
                client.sendall(bytes([number]) + bytes(3) + (2 * mebi).to_bytes(3, "big") + b"\x09" + bytes(4) + bytes(mebi))
                sent += 1
    check(sent < 40, f"{sent} MiB of messages that do not end were taken")
    check(server.resident_kib() - before < 80 * 1024, f"they cost {(server.resident_kib() - before) / 1024:.0f} MiB")
    wait_until(lambda: any("a client of RTMP is cut off" in line for line in server.log), 10, "the log says why")
    end(publisher(server, "rtmp", url, movie, "rtmp"))


class Network(threading.Thread):
    """UDP between one client and a port. While it loses some, one SRT packet in twenty never comes, as often as it is sent."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.near, self.far = (socket.socket(type=socket.SOCK_DGRAM) for _ in range(2))
        self.near.bind(("127.0.0.1", 0))
        self.far.connect(("127.0.0.1", port))
        self.port, self.loses, self.lost = self.near.getsockname()[1], False, 0
        self.start()

    def run(self):
        client = None
        while True:
            for ready in select.select([self.near, self.far], [], [])[0]:
                with contextlib.suppress(ConnectionError):
                    data, sender = ready.recvfrom(65536)
                    if ready is self.far:
                        self.near.sendto(data, client)
                        continue
                    client = sender
                    number = int.from_bytes(data[:4], "big")  # of a data packet; those of control have the first bit set
                    if self.loses and number < 1 << 31 and number % 20 == 0:
                        self.lost += 1
                    else:
                        self.far.send(data)


def what_srt_gives_up_on_is_counted(server, url, movie):
    """What has to be sent again, and is not there in time."""
    network = Network(int(url.split("?")[0].rsplit(":", 1)[1]))
    before = server.metric("gopmill_live_damaged_packets_total")
    client = publisher(server, "srt", f"srt://127.0.0.1:{network.port}?mode=caller", movie, "srt")
    check(server.metric("gopmill_live_damaged_packets_total") == before, "damage without a loss")
    result = {}
    reader = read_in_thread(server, "srt", f"{QUERY}&duration=5", result)
    wait_until(lambda: server.live("srt")["readers"] == 1, 10, "a reader")
    network.loses = True
    reader.join()
    check(network.lost > 5, f"only {network.lost} packets were lost")
    damaged = server.live("srt")["counts"]["packets_damaged"]
    check(damaged >= 3 and server.metric("gopmill_live_damaged_packets_total") >= before + 3, f"{damaged} damaged packets are counted")
    check(int(decode(result["body"])["video"]["nb_read_frames"]) == 150, "five seconds over what was lost")
    end(client)


def one_whose_name_is_taken_is_told_of_seldom(server, url, movie):
    """An encoder that comes again at once would fill the log with what its first line said."""
    wait_until(lambda: not server.live("rtmp")["publishing"], 15, "the client before is still there")
    holder = subprocess.Popen(["ffmpeg", "-nostdin", "-v", "error", "-re", "-i", movie, "-c", "copy", "-f", "mpegts",
                               "-method", "PUT", f"{server.base}/v1/live/rtmp"], stderr=subprocess.PIPE, text=True)
    wait_until(lambda: server.live("rtmp")["publishing"], 15, "a publisher by HTTP is not taken")
    known, begin, turned_away = len(server.log), time.monotonic(), 0
    while turned_away < 4 and time.monotonic() < begin + 60:
        client = push(url, movie, protocol="rtmp")
        check(client.wait(timeout=30) != 0, "a client was taken beside another publisher")
        turned_away += "Connection refused" not in client.stderr.read()  # the listener was there
        client.stderr.close()
    told = [line for line in server.log[known:] if "live rtmp: rtmp://" in line]
    check(turned_away == 4, f"only {turned_away} reached the listener")
    check(1 <= len(told) <= 1 + (time.monotonic() - begin) // 10, f"{turned_away} refused: {told}")
    end(holder)


def the_log_tells_who_came_and_went(server):
    log = "".join(server.log)
    for protocol in MUXERS:
        check(re.search(rf"live {protocol}: the publisher has gone \({protocol}://127.0.0.1:\d+\S*\)\n", log), f"{protocol}: not a word of the end of a client")
    check("live rtmp: rtmp://127.0.0.1:" in log and "A client has gone before it brought a stream" in log, "nothing of garbage")
    check("The connection" not in log, "a client that has gone is an error of a connection")


def a_passphrase_is_needed(folder, movie):
    port = free_port(socket.SOCK_DGRAM)
    os.environ["GOPMILL_SRT_PASSPHRASE"] = PASSPHRASE
    try:
        with Server(folder, "--srt-port", str(port), "--srt-name", "locked") as server:
            for wrong in ("", "&passphrase=another+passphrase"):
                stranger = push(f"srt://127.0.0.1:{port}?mode=caller{wrong}", movie, protocol="srt")
                check(stranger.wait(timeout=30) != 0, f"a client with {wrong!r} was taken")
                stranger.stderr.close()
            url = f"srt://127.0.0.1:{port}?mode=caller&passphrase={PASSPHRASE}"
            end(publisher(server, "srt", url, movie, "locked"))
            check(PASSPHRASE not in "".join(server.log), "the passphrase is in the log")
    finally:
        del os.environ["GOPMILL_SRT_PASSPHRASE"]


def refuses_to_start(folder):
    environment = dict(os.environ, GOPMILL_AUTH_USERS="a:b:read")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for flags, words in [(["--rtmp-port", port], "cannot be listened on"),
                             (["--rtmp-port", str(free_port()), "--rtmp-address", "127.nowhere"], "not an IP address"),
                             (["--rtmp-port", "70000"], "0 to 65535"),
                             (["--rtmp-port", str(free_port()), "--rtmp-name", "a/b"], "name of a live source"),
                             (["--rtmp-port", str(free_port()), "--rtmp-address", "0.0.0.0"], "do not say who they are")]:
            bad = subprocess.run([PROGRAM, "serve", "--library", folder, "--http-port", "0", "--rtsp-port", "0", *flags],
                                 capture_output=True, text=True, timeout=20, check=False, env=environment)
            check(bad.returncode != 0 and words in bad.stderr, f"{flags}: {bad.returncode} {bad.stderr[:200]}")


def main():
    os.environ["GOPMILL_RTSP_PUBLISHER_TIMEOUT_SECONDS"] = "3"
    with tempfile.TemporaryDirectory() as folder:
        movie = make_stream(folder, "a.mkv", 60)
        ports = {"srt": free_port(socket.SOCK_DGRAM), "rtmp": free_port()}
        urls = {"srt": f"srt://127.0.0.1:{ports['srt']}?mode=caller", "rtmp": f"rtmp://127.0.0.1:{ports['rtmp']}/app/key"}
        server = Server(folder, "--srt-port", str(ports["srt"]), "--rtmp-port", str(ports["rtmp"]))
        try:
            for protocol, url in urls.items():
                run_all([arrives_whole, survives_a_client_that_is_cut, one_client_at_a_time,
                         garbage_takes_nothing_for_long], protocol, server, url, movie)
            run_all([what_srt_gives_up_on_is_counted], server, urls["srt"], movie)
            run_all([one_who_says_nothing_is_left, one_who_ends_no_message_is_cut_off], server, urls["rtmp"], movie)
            run_all([the_log_tells_who_came_and_went], server)
            run_all([one_whose_name_is_taken_is_told_of_seldom], server, urls["rtmp"], movie)
            run_all([a_passphrase_is_needed], folder, movie)
            code = run_all([refuses_to_start], folder)
            server.process.send_signal(signal.SIGTERM)
            begin = time.monotonic()
            check(server.process.wait(timeout=20) == 0 and time.monotonic() - begin < 10, "the server ends")
        finally:
            server.process.kill()
    if code:
        print("".join(server.log)[-5000:])
    return code


if __name__ == "__main__":
    sys.exit(main())
