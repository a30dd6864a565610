#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Settings that cannot work: `gopmill serve` says which and why before it listens anywhere, and a running server says
so in its log."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, Server, check, free_port, run_all, sanitized, wait_until  # noqa: E402

SECRET = "hush-hush"


def write(path, **settings):
    Path(path).write_text(json.dumps(settings), encoding="utf-8")


def texts_are_refused_before_anything_listens(folder):
    """Also those of what is turned off: the port of SRT and RTMP is 0 here."""
    config = os.path.join(folder, "start.json")
    for settings, words in [
            ({"sources": "cam"}, ["sources", "not understood"]),
            ({"sources": "a/b=rtsp://h/x"}, ["sources", "Source 1 (a/b)"]),
            ({"auth": {"users": SECRET}}, ["users", "not understood"]),
            ({"http": {"host_names": "movies.example:80"}}, ["http.host_names", "without a port"]),
            ({"rtsp": {"address": "localhost"}}, ["rtsp.address", "'localhost'"]),
            ({"srt": {"address": "localhost"}}, ["srt.address", "'localhost'"]),
            ({"srt": {"name": "a/b"}}, ["srt.name", "'a/b'"]),
            ({"srt": {"passphrase": "short"}}, ["srt.passphrase", "10 to 79 bytes"]),
            ({"live": {"presentations": "cam .x"}}, ["live.presentations", "Presentation 2, name"]),
            ({"live": {"presentations": "cam?widht=3"}}, ["live.presentations", "Presentation 1, widht"]),
            ({"live": {"presentations": "cam?class=zzz"}}, ["live.presentations", "class of cam?class=zzz", "default"]),
            ({"live": {"presentations": "cam?width=160&bitrate=80k"}, "sources": "cam=rtsp://h/x"},
             ["live.presentations", "cam?bitrate=80k&width=160 is fetched only while", "live.pull"]),
            ({"segments": {"index_ahead": "on", "cache_bytes": 0}}, ["segments.index_ahead", "segments.cache_bytes is 0"]),
            ({"rtmp": {"name": ".x"}}, ["rtmp.name", "'.x'"]),
            ({"rtmp": {"address": "127.nowhere"}}, ["rtmp.address", "'127.nowhere'"])]:
        merged = {"library": folder, "http": {"port": free_port()}, "rtsp": {"port": free_port()}}
        for key, value in settings.items():
            merged[key] = {**merged.get(key, {}), **value} if isinstance(value, dict) else value
        write(config, **merged)
        bad = subprocess.run([PROGRAM, "serve", "--config", config], capture_output=True, text=True, timeout=20, check=False)
        check(bad.returncode == 2 and all(word in bad.stderr for word in words), f"{settings}: {bad.returncode} {bad.stderr}")
        check("listening" not in bad.stderr and bad.stderr.count("\n") == 1 and SECRET not in bad.stderr, f"{settings}: {bad.stderr}")


def a_reload_tells_each_problem_on_a_line(folder):
    config = os.path.join(folder, "reload.json")
    write(config, streams={"max": 5})
    with Server(folder, "--config", config) as server:
        def lines_after(count, **settings):
            before = len(server.log)
            write(config, **settings)
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: len(server.log) >= before + count, 10, f"{count} lines of a reload")
            return server.log[before:]

        lines = lines_after(2, http={"port": "many"}, nonsense=1)
        check(len(lines) == 2 and all("error reload refused" in line and "\\x" not in line for line in lines), f"{lines}")
        check("/http/port" in lines[0] and "/nonsense" in lines[1], f"{lines}")
        for settings in ({"auth": {"users": SECRET}}, {"sources": SECRET}):
            lines = lines_after(1, **settings)
            check("error reload refused" in lines[0] and "not understood" in lines[0] and SECRET not in lines[0], f"{lines}")
        for settings, word in [({"segments": {"ladder": "zzz"}}, "segments.ladder"), ({"live": {"presentations": "a?b"}}, "live.presentations"), ({"scheduler": {"policy": "zzz"}}, "scheduler.policy"),
                               ({"scheduler": {"classes": "a:0"}}, "classes"), ({"scheduler": {"options": "zzz"}}, "scheduler"),
                               ({"auth": {"users": "a:b:read"}, "rtmp": {"port": 1935, "address": "0.0.0.0"}}, "rtmp.address")]:
            lines = lines_after(1, **settings)
            check("error reload refused" in lines[0] and word in lines[0], f"{settings}: {lines}")
            for more in (["--http-port", "0", "--rtsp-port", "0"], ["--print-config"]):
                bad = subprocess.run([PROGRAM, "serve", "--library", folder, "--config", config, *more], capture_output=True,
                                     text=True, timeout=20, check=False)
                check(bad.returncode == 2 and word in bad.stderr, f"{settings} {more}: {bad.returncode} {bad.stderr}")
        lines = lines_after(1, streams={"max": 6})
        check("/streams/max changed from 5 to 6" in lines[0], f"{lines}")


def a_reload_takes_workers_out_of_service(folder):
    config = os.path.join(folder, "workers.json")
    write(config, scheduler={"workers": 3})
    with Server(folder, "--config", config) as server:
        def in_service():
            return sum(each["in_service"] for each in json.loads(server.get("/v1/workers")[1])["workers"])

        for workers, expected in ((1, 1), (2, 2), (9, 3)):
            write(config, scheduler={"workers": workers})
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda expected=expected: in_service() == expected, 10, f"{workers} workers in service")
        for words in ("1 of 3 workers are in service", "more need a restart"):
            wait_until(lambda words=words: words in "\n".join(server.log), 10, words)


def weights_that_are_not_held_are_said(folder):
    for flags, count in ((["--classes", "a:3,b:1"], 1), (["--classes", "a:3,b:1", "--scheduler", "ps-hrw"], 0), (["--classes", "a:1"], 0)):
        with Server(folder, *flags) as server:
            told = [line for line in server.log if "warning the scheduler hearth divides no time by the weights" in line and "ps-hrw" in line]
            check(len(told) == count, f"{flags}: {server.log}")


def a_cache_that_cannot_be_is_said_once(folder):
    for path, count in (("/proc/nope", 1), (os.path.join(folder, "new", "cache"), 0)):
        with Server(folder, "--segment-cache", path) as server:
            told = [line for line in server.log if "warning no segments are kept in" in line and path in line]
            check(len(told) == count, f"{path}: {server.log}")
    with Server(folder, "--segment-cache", "/proc/nope", "--segment-cache-bytes", "0") as server:
        check("no segments are kept" not in "".join(server.log), "a cache that nobody wants is missed")
    homes = {name: os.environ.pop(name, None) for name in ("HOME", "XDG_CACHE_HOME", "CACHE_DIRECTORY")}
    with Server(folder) as server:
        check("warning no segments are kept" in "".join(server.log), f"without a home: {server.log}")
    os.environ.update({name: value for name, value in homes.items() if value is not None})


def as_many_files_may_be_open_as_can_be(folder):
    for hard, words in ((300, "at most 150 connections"), (4000, None)):
        with Server(folder, starter=["prlimit", f"--nofile=200:{hard}"]) as server:
            limits = Path(f"/proc/{server.process.pid}/limits").read_text(encoding="ascii")
            check(re.search(rf"Max open files +{hard} +{hard} ", limits), limits)
            told = [line for line in server.log if "files may be open" in line]
            check(len(told) == (1 if words else 0) and all(words in line for line in told), f"{hard}: {server.log}")


def streams_that_a_reload_lets_in_leave_fewer_files(folder):
    config = os.path.join(folder, "streams.json")

    def settings(most):
        write(config, streams={"max": most}, http={"max_connections": 3000})

    settings(64)
    with Server(folder, "--config", config, starter=["prlimit", "--nofile=4096:4096"]) as server:
        check(not [line for line in server.log if "files may be open" in line], f"{server.log}")
        for most, words in ((400, "only 4096 files may be open: at most 2048 connections; the settings may need"), (10, None)):
            before = len(server.log)
            settings(most)
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: any("/streams/max changed" in line for line in server.log[before:]), 10, "the reload")
            told = [line for line in server.log[before:] if "files may be open" in line]
            check(len(told) == (1 if words else 0) and all(words in line for line in told), f"{most}: {server.log}")


def a_start_that_is_short_of_threads_ends(folder):
    """Each stack is 8 MiB of address space: these limits cut the start off at one thread after the other."""
    command = [PROGRAM, "serve", "--library", folder, "--http-port", "0", "--rtsp-port", "0", "--workers", "2"]
    told = 0
    for mebibytes in [] if sanitized() else range(280, 480, 10):
        with subprocess.Popen(["prlimit", f"--as={mebibytes << 20}", *command], stderr=subprocess.PIPE, text=True) as process:
            watch = threading.Timer(60, process.kill)
            watch.start()
            log = ""
            for line in process.stderr:
                log += line
                if "listening" in line:
                    process.send_signal(signal.SIGTERM)
            code = process.wait()
            watch.cancel()
        check(code in (0, 1, 127), f"{mebibytes} MiB: ends with {code}: {log}")
        check("internal error" not in log or "bad_alloc" in log, f"{mebibytes} MiB: {log}")
        told += "threads" in log
    check(sanitized() or told > 0, "no start was short of threads")


def main():
    with tempfile.TemporaryDirectory() as folder:
        return run_all([texts_are_refused_before_anything_listens, a_reload_tells_each_problem_on_a_line,
                        a_reload_takes_workers_out_of_service,
                        weights_that_are_not_held_are_said, a_cache_that_cannot_be_is_said_once,
                        a_start_that_is_short_of_threads_ends, as_many_files_may_be_open_as_can_be,
                        streams_that_a_reload_lets_in_leave_fewer_files], folder)


if __name__ == "__main__":
    sys.exit(main())
