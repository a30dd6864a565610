#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input beside running streams changes no byte of them.

Streams are read at full speed, uploaded, and read slowly, first from a server that has nothing else to do, then
from one to which broken requests and spoilt media come meanwhile, round after round. All must be the same.
"""

import hashlib
import http.client
import random
import shutil
import socket
import sys
import tempfile
import threading
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import Server, check, run_all  # noqa: E402

SMALL = "width=320&height=180&bitrate=300k"
MOVIE = f"/v1/transcode/modern-720p.mp4?{SMALL}"
UPLOAD = f"/v1/transcode?{SMALL}&container=ts&preset=ultrafast"
STREAMS = {"whole": f"{MOVIE}&duration=8", "no sound": f"{MOVIE}&vcodec=hevc&preset=ultrafast&acodec=none&duration=5",
           "units of a GOP": f"{MOVIE}&container=mkv&unit=gop&preset=ultrafast&duration=20"}
# More than the buffers on its way hold: whoever reads it slowly holds the transcode up.
SLOW = "/v1/transcode/sync-720p.mp4?width=640&height=360&bitrate=6M&preset=ultrafast"
SLOW_PIECE = 128 << 10


def library_of(folder):
    """Movies, and files that only have their names."""
    for name in "modern-720p.mp4", "sync-720p.mp4":
        shutil.copy(f"movies/files/{name}", folder)
    good = Path("movies/files/sync-720p.mp4").read_bytes()
    for name, data in [("noise.ts", random.Random(1).randbytes(200_000)), ("zeros.mp4", bytes(100_000)),
                       ("empty.mkv", b""), ("head.mp4", good[:5000]), ("spoilt.mp4", spoilt(good, 3)),
                       ("list.mp4", b"ffconcat version 1.0\nfile /etc/passwd\n")]:
        Path(folder, name).write_bytes(data)


def spoilt(data, seed):
    """One byte in 2,000 is another."""
    bad, dice = bytearray(data), random.Random(seed)
    for at in range(1000, len(bad), 2000):
        bad[at] = dice.randrange(256)
    return bytes(bad)


def bad_paths():
    movie = "/v1/transcode/sync-720p.mp4"
    return [f"{movie}?width=0", f"{movie}?fps=nan", f"{movie}?bitrate=10G", f"{movie}?colour=red", f"{movie}?width=1&width=2",
            f"{movie}?start=99999", f"{movie}?audio=9", f"{movie}?burn=7", f"{movie}?vcodec=vp9&profile=high10",
            "/v1/transcode/none.mp4", "/v1/transcode/%2e%2e/secret", "/v1/transcode/a%00b", "/v1/transcode/%zz", "/nothing",
            "/v1/transcode/" + "a" * 65536, "/v1/streams/9999", "/v1/streams/-1/seams", "/v1/hls/none.mp4/master.m3u8",
            "/v1/hls/sync-720p.mp4/99999.ts", "/v1/dash/sync-720p.mp4/manifest.mpd?rungs=0x0:1",
            *[f"/v1/transcode/{name}?{SMALL}" for name in ("noise.ts", "zeros.mp4", "empty.mkv", "head.mp4", "list.mp4")],
            "/v1/hls/head.mp4/master.m3u8", "/v1/explain/noise.ts?width=1"]


def broken_requests():
    line = b"GET / HTTP/1.1\r\n"
    start = f"PUT {UPLOAD} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return [b"\0" * 10_000, b"GET / HTTP/3.0\r\n\r\n", b"\r\n\r\nFOO\r\n\r\n", line + b"X: " + b"a" * 200_000,
            line + b"Host: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            line + b"Host: h\r\nContent-Length: -5\r\n\r\n", start + b"zz\r\nabc\r\n", start + b"ffffffffffffffffff\r\n",
            start + b"5\r\nabcdefghijkl", random.Random(2).randbytes(50_000)]


def half_requests():
    """Nothing more comes, until their clients leave."""
    return [b"GE", b"GET /healthz HTTP/1.1\r\nHo", f"GET {MOVIE} HTTP/1.1\r\nHost: x\r\n".encode(),
            f"PUT {UPLOAD} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nabc".encode(),
            f"PUT {UPLOAD} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n400\r\nabc".encode()]


def bad_uploads():
    stream = Path("movies/files/open-gop-480p.ts").read_bytes()[:150_000]
    movie = Path("movies/files/sync-720p.mp4").read_bytes()
    return [random.Random(4).randbytes(100_000), bytes(100_000), movie[:3000], spoilt(stream, 5), stream[100_000:101_000],
            b"YUV4MPEG2 W65535 H65535 F25:1\nFRAME\n" + bytes(1000)]


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def send_broken(server, request, ends=True):
    """What is answered, if anything, is tested elsewhere."""
    with connect(server) as client:
        try:
            client.sendall(request)
            if ends:
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
        except OSError:
            pass  # closed early


def leave(server):
    """A client that is gone as soon as its movie begins."""
    with connect(server) as client:
        client.sendall(f"GET {MOVIE}&start=3 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        client.recv(100)


def bad_inputs(server):
    """One round, as calls."""
    def refused(path):
        status = server.get(path)[0].status
        check(400 <= status < 500, f"{path[:60]}: {status}")

    yield from (lambda path=path: refused(path) for path in bad_paths())
    yield from (lambda request=request: send_broken(server, request) for request in broken_requests())
    yield from (lambda request=request: send_broken(server, request, ends=False) for request in half_requests())
    yield from (lambda body=body: server.get(UPLOAD, "PUT", body=body) for body in bad_uploads())
    yield lambda: server.get(f"/v1/transcode/spoilt.mp4?{SMALL}&duration=3")
    yield lambda: leave(server)
    yield lambda: server.get("/v1/live/bad", "PUT", body=random.Random(6).randbytes(100_000))


class Streams:
    """All of STREAMS, the upload and the slow one, each in a thread; hashes by name."""

    def __init__(self, server):
        self.server, self.hashes = server, {}
        self.slow_may_read = threading.Semaphore(0)
        self.movie = Path("movies/files/open-gop-480p.ts").read_bytes()
        self.threads = [threading.Thread(target=self.read, args=(name, path)) for name, path in STREAMS.items()]
        self.threads.append(threading.Thread(target=self.upload))
        self.slow = threading.Thread(target=self.read_slowly)
        for thread in [*self.threads, self.slow]:
            thread.start()

    def keep(self, name, answer, body):
        check(answer.status == 200 and len(body) > 100_000, f"{name}: {answer.status}, {len(body)} bytes")
        self.hashes[name] = hashlib.sha256(body).hexdigest()

    def read(self, name, path):
        self.keep(name, *self.server.get(path))

    def upload(self):
        """The answer is read while the body goes out."""
        client = connect(self.server)
        client.sendall(f"PUT {UPLOAD} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(self.movie)}\r\n\r\n".encode())
        sender = threading.Thread(target=client.sendall, args=(self.movie,))
        sender.start()
        answer = http.client.HTTPResponse(client)
        answer.begin()
        self.keep("upload", answer, answer.read())
        sender.join()
        client.close()

    def read_slowly(self):
        client = connect(self.server)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 256 << 10)
        client.sendall(f"GET {SLOW} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        answer = http.client.HTTPResponse(client)
        answer.begin()
        body = b""
        while piece := answer.read(SLOW_PIECE):
            self.slow_may_read.acquire()
            body += piece
        client.close()
        self.keep("slow", answer, body)

    def running(self):
        return any(thread.is_alive() for thread in self.threads)

    def finish(self):
        for thread in self.threads:
            thread.join()
        self.slow_may_read.release(1_000_000)
        self.slow.join()
        return self.hashes


def same_bytes_beside_bad_input():
    with tempfile.TemporaryDirectory() as folder:
        library_of(folder)
        with Server(folder) as server:
            expected = Streams(server).finish()
        with Server(folder) as server:
            streams = Streams(server)
            rounds = 0
            while streams.running():
                for bad in bad_inputs(server):
                    if streams.running():
                        bad()
                        streams.slow_may_read.release()
                rounds += streams.running()
            got = streams.finish()
            check(server.get("/healthz")[0].status == 200, "the server has survived")
    check(rounds > 0, "the streams were over before all kinds of bad input had come")
    print(f"{rounds} rounds of bad input", flush=True)
    check(len(expected) == len(STREAMS) + 2, f"streams: {sorted(expected)}")
    for name, digest in expected.items():
        check(got.get(name) == digest, f"{name}: other bytes beside bad input")


if __name__ == "__main__":
    sys.exit(run_all([same_bytes_beside_bad_input]))
