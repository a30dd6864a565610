#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`gopmill bench` from outside, small: equal outputs, numbers that agree with each other, what it
writes, a recorded run replayed, and the complaints about bad input. Judges no time.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request

PROGRAM = os.environ["GOPMILL_PROGRAM"]
MOVIES = "movies/files"
failures = []


def check(condition, text):
    if not condition:
        failures.append(text)
        print("FAIL", text, flush=True)


def bench(*flags):
    return subprocess.run([PROGRAM, "bench", *flags], capture_output=True, text=True, timeout=100)


def check_numbers(report, runs):
    check(len(report["runs"]) == runs, f"{len(report['runs'])} runs instead of {runs}")
    first = report["runs"][0]
    for run in report["runs"]:
        name = f"{run['policy']} repeat {run['repeat']}"
        check(sum(core["units"] for core in run["cores"]) == run["gops"], f"{name}: units of cores")
        check(run["gops"] == first["gops"] > 0, f"{name}: {run['gops']} GOPs")
        check(run["retries"] == 0, f"{name}: retries")
        check(abs(run["gops_per_s"] * run["wall_s"] - run["gops"]) < 1e-6, f"{name}: rate")
        check(0 < run["utilisation"] <= 1, f"{name}: utilisation {run['utilisation']}")
        check(0 <= run["overhead"] < 1, f"{name}: overhead {run['overhead']}")
        check(run["latency_p50_ms"] <= run["latency_p95_ms"] <= run["latency_p99_ms"],
              f"{name}: percentiles")
        check(run["out_p50_ms"] >= run["latency_p50_ms"] and run["out_p99_ms"] >= run["latency_p99_ms"],
              f"{name}: released before finished")
        busy = sum(core["busy_s"] for core in run["cores"]) * 1e3 / run["gops"]
        stages = sum(run["stages_ms"][stage] or 0 for stage in ("decode", "filter", "encode", "other"))
        check(abs(busy - stages) < 1e-6 * busy, f"{name}: stages {stages} of {busy} ms")
    for policy in report["policies"]:
        rate = policy["measures"]["gops_per_s"]
        check(rate["low"] <= rate["median"] <= rate["high"], f"{policy['policy']}: interval")
        ratio = policy["ratios"]["latency_p99_ms"]
        check(0 < ratio["low"] <= ratio["median"] <= ratio["high"], f"{policy['policy']}: ratio of p99")
        if policy["policy"] == report["baseline"]:
            check({ratio[part] for part in ("median", "low", "high")} == {1},
                  f"the baseline against itself: {ratio}")


def movies(folder):
    paths = {kind: os.path.join(folder, "report." + kind) for kind in ("json", "html", "perfetto", "rec")}
    done = bench("--scheduler", "rr,h-cahrw", "--streams", "2", "--duration", "1", "--repeat", "2",
                 "--workers", "2", "--preset", "ultrafast", "--warm-up", "3", "--json", paths["json"], "--html",
                 paths["html"], "--perfetto", paths["perfetto"], "--record", paths["rec"])
    check(done.returncode == 0, f"bench: {done.returncode} {done.stderr} {done.stdout}")
    check("\nh-cahrw " in done.stdout, "no row for h-cahrw")
    warm_ups = [float(seconds) for seconds in re.findall(r"^0/4 .* to warm up: .* in ([0-9.]+) s", done.stderr, re.M)]
    check(len(warm_ups) == 3, f"warm-up: {done.stderr}")
    with open(paths["rec"], encoding="utf-8") as file:
        arrival = min(json.loads(line)["arrival_ms"] for line in file.read().splitlines()[1:])
    check(arrival < 1e3 * sum(warm_ups), f"the trace begins {arrival} ms before its first unit, with the warm-up")
    with open(paths["json"], encoding="utf-8") as file:
        report = json.load(file)
    check_numbers(report, 4)
    hashes = {tuple(one["hash"] for one in run["streams"]) for run in report["runs"]}
    check(len(hashes) == 1 and len(next(iter(hashes))) == 2, f"hashes {hashes}")
    check(report["violations"] == [], f"violations {report['violations']}")
    with open(paths["perfetto"], encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    check(len(slices) == 2 * report["runs"][0]["gops"], f"{len(slices)} slices")
    with open(paths["html"], encoding="utf-8") as file:
        check("</html>" in file.read(), "the page is cut off")
    return paths["rec"], report["runs"][0]["gops"]


def replay(trace, gops):
    done = bench("--trace", trace, "--scheduler", "rr,hrw", "--baseline", "hrw", "--repeat", "1",
                 "--workers", "2", "--json", "-")
    check(done.returncode == 0, f"replay: {done.returncode} {done.stderr}")
    report = json.loads(done.stdout)
    check_numbers(report, 2)
    check(report["baseline"] == "hrw", f"baseline {report['baseline']}")
    check("to warm up" not in done.stderr, "a replay warms up")
    check("\nDivided by hrw of the same round\n" in done.stderr, f"no ratios: {done.stderr}")
    check(report["runs"][0]["gops"] == gops, f"replayed {report['runs'][0]['gops']} of {gops}")
    for run in report["runs"]:
        check(abs(run["context_hits"] + run["cold"] - 1) < 1e-9, f"warm {run['context_hits']}, cold {run['cold']}")
        for name in ("first_byte_ms", "frames", "deadline_misses"):
            check(run[name] is None, f"a replay measured {name}: {run[name]}")
        check(run["stages_ms"]["decode"] is None and run["streams"][0]["hash"] is None, "a replay has media")


def live(folder):
    path = os.path.join(folder, "live.json")
    done = bench("--mix", "live", "--scheduler", "h-cahrw", "--streams", "1", "--duration", "1.5",
                 "--repeat", "1", "--preset", "ultrafast", "--json", path)
    check(done.returncode == 0, f"live: {done.returncode} {done.stderr}")
    with open(path, encoding="utf-8") as file:
        wall = json.load(file)["runs"][0]["wall_s"]
    check(wall >= 1.4, f"1.5 s of a live source took {wall} s")


def rate_factor():
    made = {}
    for crf in ("20", "40"):
        done = bench("--crf", crf, "--scheduler", "fifo", "--streams", "1", "--duration", "1", "--repeat", "1",
                     "--warm-up", "0", "--preset", "ultrafast", "--json", "-")
        check(done.returncode == 0, f"--crf {crf}: {done.returncode} {done.stderr}")
        report = json.loads(done.stdout)
        check(report["crf"] == crf, f"--crf {crf}: the report says {report['crf']}")
        made[crf] = report["runs"][0]["video_bytes"]
    check(made["20"] > 4 * made["40"] > 0, f"bytes by rate factor: {made}")
    wrong = bench("--crf", "99")
    check(wrong.returncode == 2 and "crf" in wrong.stderr, f"--crf 99: {wrong.returncode} {wrong.stderr}")


def recording_server(folder):
    trace = os.path.join(folder, "served.trace")
    server = subprocess.Popen([PROGRAM, "serve", "--library", MOVIES, "--http-port", "0",
                               "--rtsp-port", "0", "--record", trace], stderr=subprocess.PIPE, text=True)
    try:
        url = next(line.split()[-1] for line in server.stderr if line.startswith("listening on http"))
        query = "width=128&height=96&bitrate=50k&duration=2&unit=gop&preset=ultrafast"
        with urllib.request.urlopen(f"{url}/v1/transcode/ref-talk.mpg?{query}") as answer:
            check(len(answer.read()) > 1000, "the server sent no movie")
    finally:
        server.terminate()
        words = server.stderr.read()
        check(server.wait() == 0, f"serve --record: {server.returncode} {words}")
    with open(trace, encoding="utf-8") as file:
        lines = file.read().splitlines()
    check(len(lines) == 5, f"{len(lines)} lines recorded instead of a header and 4 GOPs")
    replay(trace, len(lines) - 1)


def bad_input(folder):
    missing = os.path.join(folder, "missing", "file")
    garbage = os.path.join(folder, "garbage")
    with open(garbage, "wb") as file:
        file.write(b'{"format":"gopmill-trace","version":99}\n\xff\xfe')
    for flags, words in [
            (["--scheduler", "nonsense"], "parameter: scheduler"),
            (["--scheduler", "fifo,,rr"], "parameter: scheduler"),
            (["--scheduler", "fifo,rr", "--baseline", "sm"], "accepted: fifo, rr"),
            (["--mix", "nonsense"], "parameter: mix"),
            (["--streams", "0"], "--streams"),
            (["--repeat", "0"], "--repeat"),
            (["--warm-up", "-1"], "--warm-up"),
            (["--seed", "-1"], "--seed"),
            (["--seed", "banana"], "--seed"),
            (["--unit", "banana"], "parameter: unit"),
            (["--duration", "-5"], "parameter: duration"),
            (["--movies", "/nonexistent"], "parameter: movies"),
            (["--json", missing], "parameter: json"),
            (["--html", folder], "parameter: html"),
            (["--perfetto", "-"], "parameter: perfetto"),
            (["--record", missing], "parameter: record"),
            (["--trace", missing], "parameter: trace"),
            (["--trace", garbage], "parameter: trace"),
            (["--trace", garbage, "--perfetto", garbage], "parameter: perfetto"),
            (["--trace", garbage, "--streams", "2"], "--trace")]:
        done = bench(*flags)
        check(done.returncode == 2, f"{flags}: exit code {done.returncode}")
        check(words in done.stderr, f"{flags}: {done.stderr}")
        check(done.stdout == "", f"{flags}: wrote {done.stdout[:80]}")


def policies_that_cannot_serve(folder):
    """ca-ahrw serves 256 workers at most: that is said before anything is measured."""
    trace = os.path.join(folder, "two.trace")
    with open(trace, "w", encoding="utf-8") as file:
        file.write('{"format":"gopmill-trace","version":1,"machine":"none","unit":"gop"}\n')
        for index in range(2):
            file.write(f'{{"arrival_ms":{index},"stream":1,"number":0,"class":"","index":{index},"bytes":1,"context":1,'
                       '"hot_ms":0.1}\n')
    flags = ("--trace", trace, "--repeat", "1", "--workers", "300", "--json", "-")
    done = bench("--scheduler", "fifo,ca-ahrw,rr", *flags)
    check(done.returncode == 2 and done.stdout == "", f"ca-ahrw: exit code {done.returncode}, {done.stdout[:80]}")
    check("ca-ahrw: " in done.stderr and "GOPs" not in done.stderr, f"ca-ahrw: {done.stderr}")
    done = bench(*flags)
    check(done.returncode == 0, f"all: {done.returncode} {done.stderr}")
    check("ca-ahrw cannot serve this: " in done.stderr, f"all: {done.stderr}")
    ran = {run["policy"] for run in json.loads(done.stdout)["runs"]}
    check({"hearth", "h-cahrw", "rr"} < ran and "ca-ahrw" not in ran, f"all: {ran}")


def bad_recording(folder):
    done = subprocess.run([PROGRAM, "serve", "--library", MOVIES, "--http-port", "0", "--rtsp-port",
                           "0", "--record", os.path.join(folder, "missing", "file")], capture_output=True, text=True,
                          timeout=60)
    check(done.returncode == 2, f"serve --record: exit code {done.returncode}, {done.stderr}")


def main():
    if not os.path.exists(os.path.join(MOVIES, "ref-talk.mpg")):
        print("skipped: no movies")
        return 77
    listed = bench("--list")
    check(listed.returncode == 0 and "h-cahrw" in listed.stdout and "bursty" in listed.stdout,
          f"--list: {listed.stdout}")
    with tempfile.TemporaryDirectory() as folder:
        trace, gops = movies(folder)
        replay(trace, gops)
        recording_server(folder)
        live(folder)
        rate_factor()
        bad_input(folder)
        policies_that_cannot_serve(folder)
        bad_recording(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
