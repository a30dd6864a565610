#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What an operator is told: of a library that cannot be read, of who came, left, stopped something and was cut off, and of
the process itself."""

import fcntl
import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, Server, check, make_stream, run_all, wait_until  # noqa: E402

ANN = {"Authorization": "Bearer word"}


def logged(server, pattern):
    wait_until(lambda: re.search(pattern, "".join(server.log)), 10, f"no line {pattern} in {server.log[-20:]}")


def begin(server, path):
    """The connection of a stream whose head has come."""
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    client.request("GET", path, headers=ANN)
    answer = client.getresponse()
    check(answer.status == 200, f"{path}: {answer.status}")
    return client, answer, answer.getheader("X-Gopmill-Stream")


def the_log_tells_who_did_what(folder):
    movie = make_stream(folder, "cam.ts", 3)
    os.environ["GOPMILL_AUTH_USERS"] = "ann:word:read+publish"
    os.environ["GOPMILL_HTTP_STALL_TIMEOUT_SECONDS"] = "1"
    with Server("movies/files", "--drain-timeout", "0", "--log-level", "debug") as server:
        status = server.get("/v1/live/cam", "PUT", ANN, Path(movie).read_bytes())[0].status
        check(status == 200, f"published: {status}")
        who = r"\(HTTP, ann at 127\.0\.0\.1:\d+\)"
        logged(server, rf"info live cam: a publisher has come {who}\n")
        logged(server, rf"info live cam: the publisher has gone {who}\n")

        client, _, stream = begin(server, "/v1/transcode/modern-720p.mp4?width=1280&qp=10")
        check(server.get(f"/v1/streams/{stream}", "DELETE", ANN)[0].status == 204, "DELETE")
        logged(server, rf"info stream {stream}: stopped by ann at 127\.0\.0\.1:\d+\n")
        client.close()

        client, _, stream = begin(server, "/v1/transcode/sync-720p.mp4?width=1280&qp=10&preset=ultrafast")
        logged(server, rf"info http: stream {stream}, /v1/transcode/sync-720p.mp4\S* of ann at 127\S+: cut off, no byte was taken for 1 s\n")
        client.close()

        client, answer, stream = begin(server, "/v1/transcode/modern-720p.mp4?width=1280&qp=10")
        answer.close()
        client.close()
        logged(server, rf"debug http: stream {stream}, /v1/transcode/modern-720p.mp4\S* of ann at 127\S+: the client has left\n")

        client, _, stream = begin(server, "/v1/transcode/modern-720p.mp4?width=1280&qp=10")
    logged(server, rf"info http: stream {stream}, \S+ of ann at 127\S+: cut off, the time to finish is over\n")
    client.close()
    del os.environ["GOPMILL_AUTH_USERS"], os.environ["GOPMILL_HTTP_STALL_TIMEOUT_SECONDS"]


def the_process_has_the_usual_metrics(_folder):
    begun = time.time()
    with Server() as server:
        check(abs(server.metric("process_start_time_seconds") - begun) < 60, "when it has begun")
        check(server.metric("process_cpu_seconds_total") > 0, "CPU time")
        check(abs(server.metric("process_resident_memory_bytes") / 1024 / server.resident_kib() - 1) < 0.5, "memory")
        with socket.create_connection(("127.0.0.1", server.port)):
            files = len(os.listdir(f"/proc/{server.process.pid}/fd"))
            check(abs(server.metric("process_open_fds") - files) < 5, "open files")
        check(server.metric("process_max_fds") >= server.metric("process_open_fds"), "files that may be open")
        check(server.metric("gopmill_jitter_worst_seconds") == 0, "jitter")
        version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
        build = re.search(r'^gopmill_build_info{version="(.+)"} 1$', server.get("/metrics")[1].decode(), re.M)
        check(build and build[1] in version, f"{version} has no build info")


def a_library_that_is_gone_is_no_empty_one(folder):
    library = Path(folder, "library")
    library.mkdir()
    with Server(library) as server:
        def state():
            answers = [server.get(path) for path in ("/readyz", "/v1/sources", "/v1/explain/a.mp4", "/v1/transcode/a.mp4",
                                                     "/v1/hls/a.mp4/master.m3u8")]
            check(not any(str(folder) in body.decode() for _, body in answers), "an answer tells a path")
            return [answer.status for answer, _ in answers]
        check(state() == [200, 200, 404, 404, 404], f"an empty library: {state()}")
        library.rmdir()
        wait_until(lambda: state() == [503] * 5, 10, f"no library: {state()}")
        logged(server, rf"error {library}: The library cannot be read: No such file or directory.\n")
        check(sum(str(library) in line for line in server.log) == 1, "more than a line a minute")
        check(server.get("/healthz")[0].status == 200, "the process works")
        library.mkdir()
        (library / "a.mp4").symlink_to(Path("movies/files/sync-720p.mp4").resolve())
        (library / "b.mp4").write_bytes(Path("movies/files/sync-720p.mp4").read_bytes())
        wait_until(lambda: server.get("/readyz")[0].status == 200, 10, "the library is back")
        sources = json.loads(server.get("/v1/sources")[1])["sources"]
        check([s["path"] for s in sources] == ["b.mp4"] and "error" not in sources[0], f"{sources}")


def a_start_without_rights_says_what_would_be_right(folder):
    """As a user that may not read the folder; root may read all, so is another one for this. For that one of a copy of the
    program: the build may be where nobody else may go, and root's umask may keep it to itself."""
    program = PROGRAM
    if os.geteuid() == 0:
        program = shutil.copy(PROGRAM, folder)
        os.chmod(program, 0o755)
    library = Path(folder, "closed")
    library.mkdir(mode=0o700)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    if not nobody:
        library.chmod(0)
    os.chmod(folder, 0o755)
    command = [program, "serve", "--library", str(library), "--http-port", "0", "--rtsp-port", "0"]
    bad = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **nobody)
    check(bad.returncode == 2 and "Permission denied" in bad.stderr and "may list and enter" in bad.stderr,
          f"{bad.returncode}: {bad.stderr}")


def start(folder, *flags, **options):
    """A server by itself, once it listens, and its port."""
    process = subprocess.Popen([PROGRAM, "serve", "--library", folder, "--http-port", "0", "--rtsp-port", "0", *flags],
                               stderr=subprocess.PIPE, text=True, **options)
    for line in process.stderr:
        if found := re.search(r"listening on http://127.0.0.1:(\d+)", line):
            return process, found[1]
    return process, None


def the_end_of_its_terminal_is_its_end(folder):
    """But not where nohup was told, and while the terminal is there the signal asks for a reload."""
    for ignored in (False, True):
        terminal, other = os.openpty()

        def take_terminal():
            os.setsid()
            fcntl.ioctl(other, termios.TIOCSCTTY, 0)
            if ignored:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)

        process, _ = start(folder, "--log-level", "info", preexec_fn=take_terminal, stdin=other)
        os.close(other)
        process.send_signal(signal.SIGHUP)
        line = next((line for line in process.stderr if "reload" in line), "")
        check("no setting changed" in line, f"a reload: {line}")
        os.close(terminal)
        if ignored:
            line = next((line for line in process.stderr if "reload" in line), "")
            check("no setting changed" in line, f"with nohup: {line}")
            process.send_signal(signal.SIGTERM)
        check(process.wait(timeout=30) == 0, f"it ends with {process.returncode}")


def what_stands_in_the_way_is_no_mistake_of_the_command_line(folder):
    """Exit code 1, which a supervisor tries again, and a recording that was begun stays."""
    trace = Path(folder, "day.trace")
    Path(folder, "vfr-540p.mkv").write_bytes(Path("movies/files/vfr-540p.mkv").read_bytes())
    process, port = start(folder, "--record", str(trace))
    begun = trace.read_bytes()
    check(begun.startswith(b'{"format"'), f"the trace begins with {begun[:20]}")
    for flags, complaint in ((["--http-port", port], "listened on"),
                             (["--http-port", "0", "--record", str(trace)], "Another process records")):
        second = subprocess.run([PROGRAM, "serve", "--library", folder, "--rtsp-port", "0", *flags],
                                capture_output=True, text=True, timeout=60, check=False)
        check(second.returncode == 1 and complaint in second.stderr, f"{flags}: {second.returncode} {second.stderr}")
    check(trace.read_bytes() == begun, "the trace of the first is as it was")
    client = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
    client.request("GET", "/v1/transcode/vfr-540p.mkv?size=64x36&duration=1")
    check(client.getresponse().read(), "a movie")
    client.close()
    process.send_signal(signal.SIGTERM)
    check(process.wait(timeout=30) == 0, "the first ends")
    recorded = trace.read_bytes()
    check(recorded.startswith(begun) and len(recorded) > len(begun), f"nothing is recorded: {recorded}")
    again, port = start(folder, "--record", str(trace))
    check(Path(f"{trace}.1").read_bytes() == recorded, "a restart keeps it")
    # One that fails behind the trace leaves nothing.
    again.send_signal(signal.SIGTERM)
    again.wait(timeout=30)
    again, port = start(folder)
    for _ in range(2):
        failed = subprocess.run([PROGRAM, "serve", "--library", folder, "--rtsp-port", "0", "--http-port", port, "--record", str(trace)],
                                capture_output=True, timeout=60, check=False)
        check(failed.returncode == 1, f"the port is taken: {failed.returncode}")
    check(sorted(file.name for file in Path(folder).glob("day.trace*")) == ["day.trace", "day.trace.1"], "no trace of failed starts")
    again.send_signal(signal.SIGTERM)
    again.wait(timeout=30)


def a_report_does_not_take_the_place_of_what_goes_through_a_pipe(folder):
    movie = Path(folder, "a.mp4")
    movie.write_bytes(Path("movies/files/vfr-540p.mkv").read_bytes())
    before = movie.read_bytes()
    out = Path(folder, "out.mp4")
    for shell in (f"transcode {movie} - --size 64x36 --duration 1 --json {out} > {out}",
                  f"transcode {movie} - --size 64x36 --duration 1 --json /dev/stdout > {out}",
                  f"explain - --json {movie} < {movie}"):
        done = subprocess.run(f"{shlex.quote(PROGRAM)} {shell}", shell=True, capture_output=True, text=True, timeout=60, check=False)
        check(done.returncode == 2 and "written as something else" in done.stderr, f"{shell}: {done.returncode} {done.stderr}")
    check(movie.read_bytes() == before, "the source is as it was")
    done = subprocess.run(f"{shlex.quote(PROGRAM)} explain {movie} --json - > {out}", shell=True, check=False)
    check(done.returncode == 0 and json.loads(out.read_text(encoding="utf-8")), "a report on stdout")


def reports_are_written_where_stdout_is_not(folder):
    report = Path(folder, "report.json")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, "simulate", "--scheduler", "fifo", "--gops", "100", "--json", str(report)], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        for command in (["simulate", "--list"], ["bench", "--list"], ["serve", "--print-config"], ["--help"], ["--version"]):
            answer = subprocess.run([PROGRAM, *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            check(answer.returncode == 1 and "stdout" in answer.stderr, f"{command}: {answer.returncode} {answer.stderr}")
    check(done.returncode == 1 and "stdout" in done.stderr, f"{done.returncode} {done.stderr}")
    check(report.exists() and json.loads(report.read_text(encoding="utf-8"))["runs"], "what was measured is in the file")


def main():
    with tempfile.TemporaryDirectory() as folder:
        return run_all([the_log_tells_who_did_what, the_process_has_the_usual_metrics, a_library_that_is_gone_is_no_empty_one,
                        a_start_without_rights_says_what_would_be_right, the_end_of_its_terminal_is_its_end,
                        what_stands_in_the_way_is_no_mistake_of_the_command_line,
                        a_report_does_not_take_the_place_of_what_goes_through_a_pipe,
                        reports_are_written_where_stdout_is_not], folder)


if __name__ == "__main__":
    sys.exit(main())
