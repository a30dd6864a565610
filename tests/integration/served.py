# SPDX-License-Identifier: Apache-2.0
"""What the scripts here share: checks that are collected, waiting for conditions, a server of their own,
streams to publish, and what a decoder makes of an answer."""

import atexit
import collections
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import traceback
from array import array

PROGRAM = os.environ["GOPMILL_PROGRAM"]
# Admission goes by this machine's speed, which is another when a test runs beside others: who tests it turns it on.
os.environ.setdefault("GOPMILL_STREAMS_PROMISE_PERCENT", "0")
failures = []


@atexit.register
def kill_children():
    """What a failed test left running would keep the script's output open, and ctest waiting for it."""
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            # pid (comm) state ppid; comm may hold anything.
            if int(stat.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except (OSError, UnicodeDecodeError):
            pass  # it has ended meanwhile


def check(condition, text):
    if not condition:
        failures.append(text)
        print("FAIL", text, flush=True)


def wait_until(condition, seconds, text):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    check(False, text)


def run_all(tests, *arguments):
    """Runs tests one after the other; the exit code of the script."""
    for test in tests:
        begin = time.monotonic()
        try:
            test(*arguments)
        except Exception:  # pylint: disable=broad-except
            check(False, f"{test.__name__}: {traceback.format_exc()}")
        print(f"{test.__name__} {time.monotonic() - begin:.1f} s", flush=True)
    return 1 if failures else 0


def run_beside_each_other(*calls):
    """Tests with their arguments, (test, argument...), that wait for most of their time and do not measure it."""
    threads = [threading.Thread(target=run_all, args=([test], *arguments)) for test, *arguments in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def sanitized():
    """Whether the program has a sanitizer inside, which takes memory of its own."""
    with open(PROGRAM, "rb") as file:
        program = file.read()
    return b"__asan_init" in program or b"__tsan_init" in program


def run_on_rtsp(tests, server, *arguments):
    """Runs tests on a server that is to live to the end of them and then to end by SIGTERM; the exit code of the script,
    77 where RTSP is not built."""
    if server.port is None:
        print("".join(server.log))
        return 77 if "not built" in "".join(server.log) else 1
    try:
        run_all(tests, server, *arguments)
        check(server.process.poll() is None, "the server has ended")
        server.process.send_signal(signal.SIGTERM)
        check(server.process.wait(timeout=20) == 0, "the server ends")
    except subprocess.TimeoutExpired:
        check(False, "the server does not end")
    finally:
        server.process.kill()
    if failures:
        print("".join(server.log)[-5000:])
    return 1 if failures else 0


def pitch(data, name="sound", track=0):
    """Hertz of a sine, by its zero crossings."""
    raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", data if isinstance(data, str) else "-", "-map", f"0:a:{track}",
                          "-f", "s16le", "-ac", "1", "-ar", "48000", "-"], capture_output=True, check=False,
                         input=None if isinstance(data, str) else data).stdout
    samples = array("h", raw)[4800:-4800]
    crossings = sum(a < 0 <= b for a, b in zip(samples, samples[1:]))
    check(len(samples) > 48000, f"{name}: {len(samples)} samples")
    return crossings * 48000 / max(len(samples), 1)


def free_port(kind=socket.SOCK_STREAM):
    """For what takes port 0 as "off". Of those below what the kernel hands out, which a test beside this one could get before
    the port is taken; where there are none, of all."""
    lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        with socket.socket(type=kind) as probe:
            try:
                probe.bind(("127.0.0.1", random.SystemRandom().randrange(10000, lowest) if lowest > 11000 else 0))
            except OSError:
                continue
            return probe.getsockname()[1]


class Server:
    """`gopmill serve` on free ports; with `rtsp`, that too (True, or the port). `port` is None if it did not start.
    `starter` is a command that becomes the server, such as prlimit."""

    def __init__(self, library="movies/files", *flags, rtsp=False, starter=()):
        for _ in range(5):
            self.start(library, flags, free_port() if rtsp is True else int(rtsp), starter)
            if self.port is not None or rtsp is not True or "RTSP cannot listen" not in "".join(self.log):
                break  # else somebody was faster

    def start(self, library, flags, rtsp_port, starter):
        self.rtsp_port = rtsp_port
        self.process = subprocess.Popen(
            [*starter, PROGRAM, "serve", "--library", str(library), "--http-port", "0", "--rtsp-port", str(self.rtsp_port),
             *flags], stderr=subprocess.PIPE, text=True, errors="backslashreplace")
        self.log, self.port = [], None
        for line in self.process.stderr:
            self.log.append(line)
            found = re.search(r"listening on (http://127\.0\.0\.1:(\d+))", line)
            if found:
                self.base, self.port = found[1], int(found[2])
                break
        self.logging = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self.logging.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, seconds=60):
        """By SIGTERM, in time; all that it has logged."""
        self.process.send_signal(signal.SIGTERM)
        check(self.process.wait(timeout=seconds) == 0, "the server ends cleanly")
        self.logging.join()
        return "".join(self.log)

    def get(self, path, method="GET", headers=None, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer, answer.read()

    def metric(self, name):
        text = self.get("/metrics")[1].decode()
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)[1])

    def url(self, path):
        return f"rtsp://127.0.0.1:{self.rtsp_port}/{path}"

    def live(self, name):
        found = [s for s in json.loads(self.get("/v1/live")[1])["live"] if s["name"] == name]
        return found[0] if found else {"publishing": False, "readers": 0, "counts": collections.Counter()}

    def running(self):
        streams = json.loads(self.get("/v1/streams")[1])["streams"]
        return [s for s in streams if s["state"] in ("opening", "running")]

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))

    def ask(self, request, timeout=20):
        """RTSP: the first answer to raw bytes, or what there is of it."""
        with socket.create_connection(("127.0.0.1", self.rtsp_port), timeout=timeout) as client:
            client.sendall(request if isinstance(request, bytes) else request.encode())
            answer = b""
            while b"\r\n\r\n" not in answer:
                got = client.recv(65536)
                if not got:
                    break
                answer += got
            return answer.decode(errors="replace")


def make_stream(folder, name, seconds, extra=("-c:v", "libx264", "-preset", "ultrafast", "-g", "15"),
                sound=("-c:a", "aac")):
    """A file to publish: pictures at 30 fps, a tone."""
    path = os.path.join(folder, name)
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30", "-f", "lavfi", "-i",
         "sine=frequency=440:sample_rate=48000", "-t", str(seconds), *extra, "-b:v", "500k", *sound, "-y", path],
        check=True)
    return path


def small_pictures(source):
    """The grey of each picture, shrunk to 16x16."""
    by_name = isinstance(source, pathlib.Path)
    raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(source) if by_name else "-", "-an", "-vf",
                          "scale=16:16:flags=area,format=gray", "-fps_mode", "passthrough", "-f", "rawvideo", "-"],
                         capture_output=True, check=False, input=None if by_name else source).stdout
    return [raw[at:at + 256] for at in range(0, len(raw), 256)]


def unlike(a, b):
    """By how many steps two of them differ in the mean."""
    return sum(abs(x - y) for x, y in zip(a, b)) / len(a)


def decode_tracks(body):
    """The tracks of a transport stream in their order; complains about anything a decoder complains about, and
    about pictures that are not at 30 fps."""
    with tempfile.NamedTemporaryFile(suffix=".ts") as file:
        file.write(body)
        file.flush()
        out = subprocess.run(
            ["ffprobe", "-v", "error", "-count_frames", "-show_entries",
             "stream=codec_type,nb_read_frames,start_time,duration", "-of", "json", file.name],
            check=True, capture_output=True, text=True)
        pts = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=pts_time",
                              "-of", "csv=p=0", file.name], check=True, capture_output=True, text=True)
    check(out.stderr == "", f"decoding complains: {out.stderr[:200]}")
    times = [float(line.strip(",")) for line in pts.stdout.split()]
    gaps = [b - a for a, b in zip(times, times[1:])]
    check(all(0.02 < gap < 0.05 for gap in gaps), f"gaps between pictures: {min(gaps)} to {max(gaps)}")
    return json.loads(out.stdout)["streams"]


def decode(body):
    """The tracks by kind, the last of each."""
    return {s["codec_type"]: s for s in decode_tracks(body)}


def read_in_thread(server, name, query, result):
    """Reads live/NAME over HTTP into `result`: status and body."""
    def read():
        answer, body = server.get(f"/v1/transcode/live/{name}?{query}")
        result.update(status=answer.status, body=body)
    thread = threading.Thread(target=read)
    thread.start()
    return thread
