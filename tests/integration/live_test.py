#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Live sources with real clients: publishers that come, go and return, readers that do not keep up."""

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import Server, check, decode, make_stream, read_in_thread, run_all, wait_until  # noqa: E402

QUERY = "width=160&bitrate=100k&preset=ultrafast&container=ts"


class Publisher:
    """Sends a file at its own pace (or at once), as a client that pushes would."""

    def __init__(self, server, name, path, pace=("-re",)):
        self.reader = subprocess.Popen(["ffmpeg", "-v", "error", *pace, "-i", path, "-c", "copy", "-f", "mpegts",
                                        "-muxdelay", "0", "-"], stdout=subprocess.PIPE)
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self.socket.sendall(f"PUT /v1/live/{name} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        self.thread = threading.Thread(target=self.send)
        self.thread.start()

    def send(self):
        try:
            while piece := os.read(self.reader.stdout.fileno(), 65536):
                self.socket.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.socket.sendall(b"0\r\n\r\n")
        except OSError:
            pass  # refused, or killed

    def finish(self):
        answer = http.client.HTTPResponse(self.socket)
        answer.begin()
        body = answer.read()
        self.end()
        return answer.status, body

    def kill(self):
        """The connection breaks in the middle of a packet."""
        self.socket.shutdown(socket.SHUT_RDWR)
        self.end()

    def end(self):
        self.reader.kill()
        self.reader.wait()
        self.reader.stdout.close()
        self.thread.join()
        self.socket.close()


def readers_survive_a_publisher_that_returns(server):
    movie = make_stream(server.folder, "a.ts", 4)
    # Both come before anybody publishes, and stay through a broken connection.
    results = [{}, {}]
    readers = [read_in_thread(server, "cam", f"{QUERY}&duration=4", r) for r in results]
    wait_until(lambda: server.live("cam")["readers"] == 2, 10, "two readers that wait")
    first = Publisher(server, "cam", movie)
    wait_until(lambda: server.live("cam")["counts"].get("packets", 0) > 150, 20, "packets of the first publisher")
    status, _ = Publisher(server, "cam", movie).finish()
    check(status == 409, f"a second publisher gets {status}")
    first.kill()
    wait_until(lambda: not server.live("cam")["publishing"], 5, "a killed publisher is still there")
    second = Publisher(server, "cam", movie)
    for reader, result in zip(readers, results):
        reader.join()
        streams = decode(result["body"])
        check(result["status"] == 200 and int(streams["video"]["nb_read_frames"]) == 120,
              f"a reader got {streams['video']}")
        skew = float(streams["video"]["duration"]) - float(streams["audio"]["duration"])
        check(abs(skew) < 0.15, f"sound and pictures differ by {skew} s")
    second.kill()
    wait_until(lambda: not server.running(), 5, "readers have gone and their streams go on")


def the_first_picture_comes_early(server):
    movie = make_stream(server.folder, "b.ts", 4)
    publisher = Publisher(server, "early", movie)
    wait_until(lambda: server.live("early").get("source"), 10, "a publisher that is known")
    begin = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", f"/v1/transcode/live/early?{QUERY}&duration=1")
    answer = connection.getresponse()
    answer.read(188)
    seconds = time.monotonic() - begin
    answer.read()
    # Half a second to the next key frame, half a second of pictures in the first unit, and the work.
    check(seconds < 2.5, f"the first bytes took {seconds:.2f} s")
    status, body = publisher.finish()
    check(status == 200 and json.loads(body)["counts"]["packets"] > 200, "the publisher's answer")


def a_reader_that_does_not_read_loses_gops(server):
    """A publisher far faster than real time, and a reader that takes nothing: bounded, and counted."""
    movie = make_stream(server.folder, "c.ts", 30)
    client = socket.create_connection(("127.0.0.1", server.port))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sendall(f"GET /v1/transcode/live/fast?{QUERY}&bitrate=2M HTTP/1.1\r\nHost: x\r\n\r\n"
                   .replace("bitrate=100k&", "").encode())
    wait_until(lambda: server.live("fast")["readers"] == 1, 10, "a reader that waits")
    before = server.resident_kib()
    status, body = Publisher(server, "fast", movie, pace=()).finish()
    counts = json.loads(body)["counts"]
    check(status == 200 and counts["dropped_gops"] > 0, f"a reader that takes nothing lost {counts}")
    check(server.resident_kib() - before < 200 * 1024, "a reader that takes nothing costs memory")
    client.close()
    wait_until(lambda: not server.running(), 5, "a reader has left and its stream goes on")


def jumps_are_closed(server):
    """The publisher's clock leaps an hour in the middle."""
    one, two = (make_stream(server.folder, f"{n}.ts", 1.2) for n in "xy")
    late = os.path.join(server.folder, "late.ts")
    subprocess.run(["ffmpeg", "-v", "error", "-i", two, "-c", "copy", "-output_ts_offset", "3600", "-y", late],
                   check=True)
    joined = os.path.join(server.folder, "jump.ts")
    with open(joined, "wb") as out:
        for part in (one, late):
            with open(part, "rb") as file:
                out.write(file.read())
    result = {}
    reader = read_in_thread(server, "jump", f"{QUERY}&duration=2", result)
    wait_until(lambda: server.live("jump")["readers"] == 1, 10, "a reader of a clock that leaps")
    with open(joined, "rb") as file:
        data = file.read()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("PUT", "/v1/live/jump", data)
    counts = json.loads(connection.getresponse().read())["counts"]
    check(counts["timestamps_repaired"] > 0 and counts["dropped_gops"] == 0, f"an hour was not noticed: {counts}")
    reader.join()
    check(int(decode(result["body"])["video"]["nb_read_frames"]) == 60, "two seconds over a jump")


def bad_publishers(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for name, data, status in [("junk", os.urandom(300_000), 422), ("empty", b"", 400), ("a%20b", b"x", 400),
                               (".hidden", b"x", 400), ("n" * 65, b"x", 400)]:
        connection.request("PUT", f"/v1/live/{name}", data)
        answer = connection.getresponse()
        problem = json.loads(answer.read())
        check(answer.status == status and problem["detail"], f"{name[:10]}: {answer.status} {problem}")
    answer, _ = server.get(f"/v1/transcode/live/a%20b?{QUERY}")
    check(answer.status == 400, f"a reader of a bad name gets {answer.status}")
    check(not server.running(), "a bad publisher left a stream")


def quality_goes_before_pictures(folder, movie):
    """More work than one worker can do: the units get less effort, join without a fault, and nobody else is let in."""
    heavy = "width=1280&height=720&preset=veryslow&bitrate=2M&container=ts"
    with Server(folder, "--workers", "1", "--promise-percent", "90") as server:
        publisher, result = Publisher(server, "heavy", movie), {}
        wait_until(lambda: server.live("heavy").get("source"), 10, "a publisher that is known")
        reader = read_in_thread(server, "heavy", f"{heavy}&duration=12", result)
        wait_until(lambda: any(s["effort"]["now"] != "full" for s in server.running()), 30, "all effort is kept up")
        answer, body = server.get(f"/v1/transcode/live/heavy?{QUERY}")
        check(answer.status == 503 and b"does not keep up" in body, f"another one is let in: {answer.status}, {body[:200]}")
        reader.join()
        check(int(decode(result["body"])["video"]["nb_read_frames"]) == 360, "twelve seconds of 30 pictures")
        stream = json.loads(server.get("/v1/streams")[1])["streams"][0]
        units = stream["effort"]["units"]
        check(units["faster"] > 0 and units["full"] > 0, f"effort of the units: {units}")
        check(stream["seams"]["violations"] == 0 and stream["seams"]["joins"] > 10, f"joins: {stream['seams']}")
        text = server.get("/metrics")[1].decode()
        check(f'gopmill_degraded_units_total{{effort="faster"}} {units["faster"]}' in text, "the metric of it")
        wait_until(lambda: not server.running(), 5, "the heavy stream has ended")
        check(server.get(f"/v1/transcode/live/heavy?{QUERY}&duration=1")[0].status == 200, "nobody is let in later")
        publisher.kill()


def effort_can_be_kept(folder, movie):
    with Server(folder, "--workers", "1", "--degradation", "off") as server:
        publisher = Publisher(server, "heavy", movie)
        answer, _ = server.get("/v1/transcode/live/heavy?width=1280&height=720&preset=slower&bitrate=2M&container=ts&duration=3")
        units = json.loads(server.get("/v1/streams")[1])["streams"][-1]["effort"]["units"]
        check(answer.status == 200 and units["full"] > 3 and sum(units.values()) == units["full"], f"effort: {units}")
        publisher.kill()


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        server.folder = folder
        try:
            run_all([readers_survive_a_publisher_that_returns, the_first_picture_comes_early,
                     a_reader_that_does_not_read_loses_gops, jumps_are_closed, bad_publishers], server)
            return run_all([quality_goes_before_pictures, effort_can_be_kept], folder, make_stream(folder, "h.ts", 60))
        finally:
            server.process.kill()


if __name__ == "__main__":
    sys.exit(main())
