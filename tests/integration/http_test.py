#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The real server over real sockets: bytes, errors, a slow client, a client that leaves, SIGTERM."""

import hashlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, Server, check, run_all, wait_until  # noqa: E402

QUERY = "width=160&height=90&bitrate=100k&preset=ultrafast"


def same_as_command_line(server):
    """In each container, bit for bit."""
    for container, kind in (("mp4", "video/mp4"), ("ts", "video/mp2t"), ("mkv", "video/x-matroska"), ("webm", "video/webm")):
        answer, body = server.get(f"/v1/transcode/sync-720p.mp4?{QUERY}&duration=5&container={container}")
        check(answer.status == 200 and answer.getheader("Content-Type") == kind, f"{container}: {answer.status} {answer.getheader('Content-Type')}")
        direct = subprocess.run([PROGRAM, "transcode", "movies/files/sync-720p.mp4", "-", "--container", container, "--quiet",
                                 "--size", "160x90", "--bitrate", "100k", "--preset", "ultrafast", "--duration", "5"],
                                check=True, capture_output=True).stdout
        check(len(body) > 10000 and hashlib.sha256(body).digest() == hashlib.sha256(direct).digest(),
              f"{container}: HTTP ({len(body)} bytes) and command line ({len(direct)} bytes) differ")


def bad_requests(server):
    """Each says which parameter is wrong and what would be right, and tells no path of the machine."""
    movie = "/v1/transcode/sync-720p.mp4"
    for path, status, parameter, accepted in [
        (f"{movie}?width=0", 400, "width", "16 to 8192"), (f"{movie}?fps=nan", 400, "fps", "240"), (f"{movie}?fps=1e9", 400, "fps", "240"),
        (f"{movie}?fps=0", 400, "fps", "240"), (f"{movie}?bitrate=1", 400, "bitrate", "k"), (f"{movie}?bitrate=10G", 400, "bitrate", "M"),
        (f"{movie}?colour=red", 400, "colour", "width"), (f"{movie}?width=1&height=1", 400, "width", "16 to 8192"),
        (f"{movie}?width=16384&height=16384", 400, "width", "16 to 8192"), (f"{movie}?width=100&width=200", 400, "width", "one value"),
        (f"{movie}?container=avi", 400, "container", "mp4"), (f"{movie}?preset=best", 400, "preset", "veryfast"),
        (f"{movie}?duration=0.000001", 400, "duration", "longer"), ("/v1/explain/sync-720p.mp4?duration=0.000001", 400, "duration", "longer"),
        ("/v1/transcode/none.mp4", 404, "", ""), ("/v1/transcode/%2e%2e/manifest.json", 400, "", ""),
        ("/v1/transcode/..%2fmanifest.json", 400, "", ""), ("/v1/transcode/a%00b.mp4", 400, "", ""),
        ("/v1/transcode/%zz.mp4", 400, "", ""), ("/nothing", 404, "", ""), ("/v1/streams/9999", 404, "", ""),
        ("/v1/transcode/" + "a" * 65536, 414, "", ""),
    ]:
        answer, body = server.get(path)
        check(answer.status == status, f"{path[:60]}: {answer.status} instead of {status}")
        check(answer.getheader("Content-Type") == "application/problem+json", f"{path[:60]}: type")
        problem = json.loads(body)
        check(problem["status"] == status and problem["detail"], f"{path[:60]}: {problem}")
        check(not parameter or problem.get("parameter") == parameter and accepted in problem.get("accepted", ""), f"{path[:60]}: {problem}")
        check("/work" not in body.decode() and os.getcwd() not in body.decode(),
              f"{path[:60]}: tells a path")
    answer, body = server.get(f"{movie}?width=641&height=361&duration=1&preset=ultrafast")
    check(answer.status == 200 and "width" in (answer.getheader("X-Gopmill-Adjusted") or ""),
          "odd sizes are rounded and reported")


def head_and_documents(server):
    answer, body = server.get(f"/v1/transcode/sync-720p.mp4?{QUERY}", "HEAD")
    check(answer.status == 200 and body == b"", "HEAD of a movie")
    # What GET refuses only when it has looked at the movie, HEAD refuses too.
    for query in "crf=0", "qp=0", "vcodec=vp9&profile=high10", "class=unknown", "vcodec=mpeg4&fps=119880/1001":
        statuses = [server.get(f"/v1/transcode/sync-720p.mp4?container=mp4&{query}", method)[0].status for method in ("GET", "HEAD")]
        check(statuses == [400, 400], f"{query}: GET and HEAD say {statuses}")
    for path in ["/v1/sources", "/openapi.json", "/v1/explain/sync-720p.mp4?" + QUERY]:
        answer, body = server.get(path)
        check(answer.status == 200 and json.loads(body), path)
    check(b"gopmill_frames_total" in server.get("/metrics")[1], "metrics")
    check(server.get("/healthz")[0].status == 200 and server.get("/readyz")[0].status == 200, "health")


def open_stream(server, query):
    client = socket.create_connection(("127.0.0.1", server.port))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
    client.sendall(f"GET /v1/transcode/modern-720p.mp4?{query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    check(client.recv(100).startswith(b"HTTP/1.1 200"), "stream starts")
    return client


def slow_client_disturbs_nobody(server):
    query = "width=1280&height=720&bitrate=6M&preset=ultrafast&acodec=none"
    slow = open_stream(server, query)
    before = server.resident_kib()
    answer, body = server.get(f"/v1/transcode/sync-720p.mp4?{QUERY}")
    check(answer.status == 200 and len(body) > 10_000, "a stream beside a slow client")
    end = time.monotonic() + 3
    while time.monotonic() < end:
        slow.recv(10_000)
        time.sleep(0.1)
    grown = server.resident_kib() - before
    check(grown < 250 * 1024, f"a slow client made the server grow by {grown} KiB")
    slow.close()
    wait_until(lambda: not server.running(), 5, "a closed client still has a stream")


def leaving_client_frees_cores(server):
    client = open_stream(server, "width=1280&height=720&bitrate=3M&preset=medium")
    client.recv(1000)
    client.close()
    wait_until(lambda: not server.running(), 3, "a client left and its stream goes on")


def quiet_clients_are_asked_for(server):
    """The kernel's keep-alive timer runs on the server's end of a connection, for a minute at most."""
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        check(client.recv(100).startswith(b"HTTP/1.1 200"), "an answer")
        ends = f":{server.port:04X} 0100007F:{client.getsockname()[1]:04X}"
        row = next(line for line in Path("/proc/net/tcp").read_text().splitlines() if ends in line)
        kind, left = row.split()[5].split(":")
        seconds = int(left, 16) / os.sysconf("SC_CLK_TCK")
        check(kind == "02" and 0 < seconds <= 60, f"keep-alive: {row}")


def delete_stops_a_stream(server):
    client = open_stream(server, "width=1280&height=720&bitrate=3M&preset=medium")
    stream = server.running()[0]["id"]
    check(server.get(f"/v1/streams/{stream}", "DELETE")[0].status == 204, "DELETE")
    wait_until(lambda: not server.running(), 3, "a deleted stream goes on")
    check(json.loads(server.get(f"/v1/streams/{stream}")[1])["state"] == "cancelled", "state after DELETE")
    client.close()


def units_can_be_followed(server):
    """Each unit of a stream is read, run and sent once in its trace; the workers tell the same."""
    before = json.loads(server.get("/v1/workers")[1])
    answer, _ = server.get(f"/v1/transcode/sync-720p.mp4?{QUERY}&duration=10")
    stream = int(answer.getheader("X-Gopmill-Stream"))
    wait_until(lambda: not server.running(), 10, "the stream does not end")
    done = json.loads(server.get(f"/v1/streams/{stream}")[1])["counts"]["units_done"]
    answer, body = server.get(f"/v1/streams/{stream}/trace")
    check(answer.status == 200 and answer.getheader("Content-Type") == "application/json", f"trace: {answer.status}")
    events = json.loads(body)["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    for kind in ("unit", "source", "output"):
        units = sorted(event["args"]["unit"] for event in slices if event["cat"] == kind and event["name"] != "window full")
        check(units == list(range(done)), f"{kind}: {units} of {done} units")
    for phase in "stf":
        arrows = sorted(event["id"] for event in events if event["ph"] == phase)
        check(arrows == list(range(1, done + 1)), f"arrows, {phase}: {arrows}")
    for lane in {event["tid"] for event in slices}:
        spans = sorted((event["ts"], event["ts"] + event["dur"]) for event in slices if event["tid"] == lane)
        check(spans[0][0] >= 0 and all(a[1] <= b[0] + 0.01 for a, b in zip(spans, spans[1:])), f"lane {lane}: {spans}")
    load = json.loads(server.get("/v1/workers")[1])
    check(load["now_s"] > before["now_s"], f"the clock: {before['now_s']} {load['now_s']}")
    busy = [sum(worker["busy_s"] for worker in each["workers"]) for each in (before, load)]
    took = sum(event["dur"] for event in slices if event["cat"] == "unit") / 1e6
    check(busy[1] - busy[0] >= took * 0.99, f"busy {busy}, the units took {took}")
    runs = sorted(run[1] for worker in load["workers"] for run in worker["recent"] if run[0] == stream)
    check(runs == list(range(done)), f"recent runs: {runs} of {done}")
    for path in ("/v1/workers", f"/v1/streams/{stream}/trace"):
        answer, body = server.get(path, headers={"Accept-Encoding": "gzip"})
        check(answer.getheader("Content-Encoding") == "gzip", f"{path}: {answer.getheaders()}")
        answer, body = server.get(path, "HEAD")
        check(answer.status == 200 and not body, f"HEAD {path}: {answer.status}")
    for stranger in ("9999", "-1", "x", "1x", "%00", str(1 << 64)):
        traces, seams = (server.get(f"/v1/streams/{stranger}/{report}")[0].status for report in ("trace", "seams"))
        check(traces == seams and traces in (400, 404), f"{stranger}: {traces}, seams {seams}")


def upload(server, query, pieces, method="PUT"):
    """Uploads in chunks from one thread while the answer is read by this one."""
    client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    client.sendall(f"{method} /v1/transcode?{query} HTTP/1.1\r\nHost: x\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n".encode())

    def send():
        try:
            for piece in pieces:
                client.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            client.sendall(b"0\r\n\r\n")
        except OSError:
            pass  # refused early

    sender = threading.Thread(target=send)
    sender.start()
    answer = http.client.HTTPResponse(client)
    try:
        answer.begin()
        return answer, answer.read()
    finally:
        sender.join()
        client.close()


def pieces_of(data, size=50_000):
    return [data[i:i + size] for i in range(0, len(data), size)]


def uploads(server):
    with open("movies/files/open-gop-480p.ts", "rb") as file:
        movie = file.read()
    direct = subprocess.run(
        [PROGRAM, "transcode", "-", "-", "--container", "mp4", "--quiet", "--size", "160x90",
         "--bitrate", "100k", "--preset", "ultrafast"],
        check=True, capture_output=True, input=movie).stdout
    for method in ["PUT", "POST"]:
        answer, body = upload(server, QUERY, pieces_of(movie), method)
        check(answer.status == 200 and body == direct, f"{method}: upload and stdin differ")
    answer, body = upload(server, QUERY + "&duration=1", pieces_of(movie))
    check(answer.status == 200 and 1000 < len(body) < len(direct), "an upload that is not needed whole")
    # Half a transport stream is a shorter movie; half an MP4 without its index is none.
    answer, body = upload(server, QUERY, pieces_of(movie[:len(movie) // 2]))
    check(answer.status == 200 and 1000 < len(body) < len(direct), "a truncated transport stream")
    with open("movies/files/sync-720p.mp4", "rb") as file:
        start = file.read(1000)
    for name, data in [("garbage", os.urandom(200_000)), ("half an MP4", start), ("zeros", bytes(100_000))]:
        answer, body = upload(server, QUERY, pieces_of(data))
        check(answer.status == 422 and json.loads(body)["detail"], f"{name}: {answer.status}")
    wait_until(lambda: not server.running(), 3, "an upload has ended and its stream goes on")


def uploads_that_can_never_be_right(server):
    """Are refused before their body, which is never sent."""
    for query, parameter in ("start=3", "start"), ("burn=1", "burn"), ("subtitles=copy&container=mkv", "subtitles"):
        answer, body = server.get(f"/v1/transcode?{query}", "PUT", {"Content-Length": "100000000", "Expect": "100-continue"})
        check(answer.status == 400 and json.loads(body)["parameter"] == parameter, f"PUT with {query}: {answer.status} {body}")


def answer_begins_before_the_upload_ends(server):
    with open("movies/files/open-gop-480p.ts", "rb") as file:
        movie = file.read()
    began = threading.Event()

    def slowly():
        pieces = pieces_of(movie)
        yield from pieces[:-1]
        check(began.wait(30), "the answer did not begin while the upload was open")
        yield pieces[-1]

    class Watching(http.client.HTTPResponse):
        def begin(self):
            super().begin()
            began.set()

    plain, http.client.HTTPResponse = http.client.HTTPResponse, Watching
    try:
        answer, body = upload(server, QUERY, slowly())
    finally:
        http.client.HTTPResponse = plain
    check(answer.status == 200 and len(body) > 1000, "an upload that waits for its answer")


def sigterm_drains(server):
    result = {}

    def fetch():
        result["answer"], result["body"] = server.get(f"/v1/transcode/sync-720p.mp4?{QUERY}&duration=10")

    reader = threading.Thread(target=fetch)
    reader.start()
    wait_until(server.running, 5, "a stream to drain")
    server.process.send_signal(signal.SIGTERM)
    reader.join()
    check(result["answer"].status == 200 and len(result["body"]) > 10_000, "draining lets a stream end")
    check(server.process.wait(timeout=30) == 0, f"exit code {server.process.returncode} after SIGTERM")


def main():
    server = Server()
    try:
        return run_all([same_as_command_line, bad_requests, units_can_be_followed, head_and_documents, slow_client_disturbs_nobody,
                        leaving_client_frees_cores, quiet_clients_are_asked_for, delete_stops_a_stream,
                        uploads, uploads_that_can_never_be_right,
                        answer_begins_before_the_upload_ends, sigterm_drains], server)
    finally:
        server.process.kill()


if __name__ == "__main__":
    sys.exit(main())
