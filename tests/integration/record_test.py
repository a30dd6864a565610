#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`serve --record` of segments: which of them are in the trace and how often, what it says of them, and that it can be
replayed and simulated. `bench --record` of units that are shorter than a GOP."""

import http.client
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, Server, check, run_all, wait_until  # noqa: E402

ONE = "width=192&bitrate=60k&preset=ultrafast"
MOVIE = "sync-720p.mp4"


def units_of(trace):
    """By arrival."""
    lines = trace.read_text(encoding="utf-8").splitlines()
    check(json.loads(lines[0])["format"] == "gopmill-trace", f"the header is {lines[0]}")
    return sorted((json.loads(line) for line in lines[1:]), key=lambda unit: unit["arrival_ms"])


def streams_of(units):
    """Their units; complains where a trace may not be so."""
    streams = {}
    for unit in units:
        streams.setdefault(unit["stream"], []).append(unit)
    for stream, own in streams.items():
        indices = [unit["index"] for unit in own]
        check(len(indices) == len(set(indices)), f"indices of stream {stream}: {indices}")
        check(len({(unit["class"], unit["number"], unit["context"]) for unit in own}) == 1, f"stream {stream} changes")
    return list(streams.values())


def fetch(server, *names, kind="hls", query=ONE):
    for name in names:
        answer, body = server.get(f"/v1/{kind}/{MOVIE}/{name}?{query}")
        check(answer.status == 200 and len(body) > 300, f"{name}: {answer.status}, {len(body)} bytes")


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=100, check=False)
    check(done.returncode == 0, f"{arguments[:3]}: {done.returncode} {done.stderr[:300]}")
    return json.loads(done.stdout)


def can_be_replayed(trace, units, *flags):
    report = run("bench", "--trace", str(trace), "--scheduler", "fifo,hearth", "--repeat", "1", "--workers", "2", "--json",
                 "-", *flags)
    check([each["gops"] for each in report["runs"]] == [units, units], f"replayed {report['runs'][0]['gops']} of {units}")
    report = run("simulate", "--trace", str(trace), "--scheduler", "fifo,hearth", "--json", "-", *flags)
    counts = [each["units"] for each in report["runs"]]
    check(counts == [units, units], f"simulated {counts} of {units}")


def what_was_made_is_recorded(folder):
    """Pictures by seek, sound and thumbnails beside a stream; once each, though they are asked for twice."""
    trace = folder / "kept.trace"
    with Server("movies/files", "--record", str(trace), "--segment-cache", str(folder / "cache")) as server:
        # The sheet first: behind a segment it depends on the worker whether the movie's decoder is open already.
        names = ("t0-0.jpg", "v0-9.m4s", "v0-2.m4s", "v0-3.m4s", "a0-3.m4s")
        server.get(f"/v1/hls/{MOVIE}/master.m3u8?{ONE}")
        fetch(server, *names)
        wait_until(lambda: server.metric('gopmill_segment_cache_total{result="stored"}') == len(names), 20, "all are kept")
        fetch(server, *names)
        fetch(server, "v0-9.m4s", kind="dash")
        check(server.metric("gopmill_segments_made_total") == len(names), "what is in the cache is not made again")
        query = "width=128&height=96&bitrate=50k&duration=2&unit=gop&preset=ultrafast"
        check(len(server.get(f"/v1/transcode/ref-talk.mpg?{query}")[1]) > 1000, "a stream beside them")
    units = units_of(trace)
    streams = streams_of(units)
    check([len(own) for own in streams] == [1, 3, 1, 4], f"units of streams: {[len(own) for own in streams]}")
    sheet, pictures, sound, _ = streams
    check([unit["frames"] for unit in pictures] == [60, 60, 60], f"frames of segments: {pictures}")
    check("frames" not in sound[0] and sound[0]["hot_ms"] == sound[0]["cold_ms"], f"sound: {sound}")
    check(sheet[0]["frames"] > 1 and sheet[0]["cold_ms"] > sheet[0]["hot_ms"], f"thumbnails: {sheet}")
    check(all(unit["hot_ms"] > 0 and unit["bytes"] > 100 and "deadline_ms" not in unit for unit in units), "costs")
    can_be_replayed(trace, 9)


def without_a_cache_each_request_arrives(folder):
    """The same segment in two classes; one of them has deadlines."""
    trace = folder / "classes.trace"
    classes = "live:3:0:0:4000,batch:1"
    with Server("movies/files", "--record", str(trace), "--segment-cache-bytes", "0", "--classes", classes) as server:
        fetch(server, "v0-4.m4s", "v0-4.m4s", "v0-0.m4s")
        fetch(server, "v0-4.m4s", query=f"{ONE}&class=batch")
        fetch(server, "v0-4.m4s")
    units = units_of(trace)
    live, batch = streams_of(units)
    check(len(live) == 4 and len(batch) == 1, f"{len(live)} units of live, {len(batch)} of batch")
    check((live[0]["class"], batch[0]["class"]) == ("live", "batch"), f"classes of {units}")
    check(live[0]["context"] == batch[0]["context"], "all classes of a rendition use the same contexts")
    due = [unit["deadline_ms"] - unit["arrival_ms"] for unit in live]
    check(all(1000 < ms < 4001 for ms in due) and "deadline_ms" not in batch[0], f"due after {due} ms")
    can_be_replayed(trace, 5, "--classes", "live:3,batch:1")


def who_leaves_is_not_recorded(folder):
    trace = folder / "left.trace"
    with Server("movies/files", "--record", str(trace), "--segment-cache-bytes", "0") as server:
        client = http.client.HTTPConnection("127.0.0.1", server.port)
        client.request("GET", "/v1/hls/modern-1080p.mkv/v0-5.m4s?preset=veryslow&bitrate=9M&fps=120")
        wait_until(lambda: server.metric("gopmill_segments_making") == 1, 20, "a segment is being made")
        client.close()
        wait_until(lambda: server.metric("gopmill_segments_making") == 0, 20, "nobody waits for it any more")
        fetch(server, "v0-1.m4s")
    check(len(units_of(trace)) == 1, "a cancelled segment is in the trace")
    can_be_replayed(trace, 1)


def a_killed_server_leaves_a_trace(folder):
    trace = folder / "killed.trace"
    server = Server("movies/files", "--record", str(trace), "--segment-cache-bytes", "0")
    fetch(server, "v0-4.m4s", "v0-1.m4s")
    wait_until(lambda: len(trace.read_text(encoding="utf-8").splitlines()) == 3, 20, "what was made is in the trace")
    server.process.kill()
    server.process.wait()
    with trace.open("a", encoding="utf-8") as file:
        file.write('{"arrival_ms":12.5,"stre')  # what a longer list of units might be cut to
    can_be_replayed(trace, 2)


def pieces_of_gops_can_be_replayed(folder):
    """One that begins a run of the decoder is submitted before those that wait for their predecessors' runs."""
    trace = folder / "pieces.trace"
    run("bench", "--mix", "modern", "--streams", "2", "--duration", "6", "--unit", "0.5", "--preset", "ultrafast",
        "--scheduler", "fifo", "--repeat", "1", "--warm-up", "0", "--workers", "2", "--record", str(trace), "--json", "-")
    units = units_of(trace)
    indices = [[unit["index"] for unit in own] for own in streams_of(units)]
    check(any(own != sorted(own) for own in indices), f"all arrive in the order of their indices: {indices}")
    can_be_replayed(trace, len(units))


def main():
    if not Path("movies/files", MOVIE).exists():
        print("skipped: no movies")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        return run_all([what_was_made_is_recorded, without_a_cache_each_request_arrives, who_leaves_is_not_recorded,
                        a_killed_server_leaves_a_trace, pieces_of_gops_can_be_replayed], Path(folder))


if __name__ == "__main__":
    sys.exit(main())
