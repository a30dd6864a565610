#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`gopmill topology --measure` from outside, with a few GOPs: pairs of this machine's CPUs, numbers
that agree with each other, an option that a run accepts, and the complaints. Judges no time.
"""

import json
import os
import subprocess
import sys
import tempfile

PROGRAM = os.environ["GOPMILL_PROGRAM"]
MOVIES = "movies/files"
LEVELS = ["core", "l2", "l3", "numa", "package", "machine"]
failures = []


def check(condition, text):
    if not condition:
        failures.append(text)
        print("FAIL", text, flush=True)


def run(*line, **more):
    return subprocess.run([PROGRAM, *line], capture_output=True, text=True, timeout=100, **more)


def measured(*flags):
    done = run("topology", "--measure", "--json", "-", "--repeat", "4", *flags)
    check(done.returncode == 0, f"{flags}: {done.returncode} {done.stderr}")
    if done.returncode != 0:
        return None
    report = json.loads(done.stdout)
    check(report["scheduler_options"] in done.stderr, "the text has no option")
    return report


def check_pair(pair, allowed):
    a, b = pair["cpus"]
    check(a != b and {a, b} <= allowed, f"CPUs {a}, {b} of {allowed}")
    check(pair["level"] in LEVELS, pair["level"])
    for times in ("hot", "moved", "cold"):
        for clock in ("cpu_ms", "wall_ms"):
            interval = pair[times][clock]
            check(0 < interval["low"] <= interval["median"] <= interval["high"],
                  f"{times} {clock}: {interval}")
    guess = pair["moved"]["cpu_ms"]["median"] / pair["hot"]["cpu_ms"]["median"]
    check(0.3 < pair["ratio"]["median"] / guess < 3, f"ratio {pair['ratio']}, of medians {guess}")


def movies(allowed):
    report = measured()
    if report is None:
        return
    check(report["repeats"] == 4 and report["gops"] == 4, "repeats")
    for pair in report["pairs"]:
        check_pair(pair, allowed)
    there = {pair["level"] for pair in report["pairs"]}
    for level, entry in report["levels"].items():
        check((entry["measured"] is not None) == (level in there), f"level {level}")
    used = [report["levels"][level]["used"] for level in LEVELS]
    check(used == sorted(used) and used[0] >= 1, f"used ratios {used}")
    with tempfile.TemporaryDirectory() as folder:
        done = run("transcode", f"{MOVIES}/ref-talk.mpg", f"{folder}/o.mp4", "--duration", "1",
                   "--scheduler", "h-cahrw", "--scheduler-options", report["scheduler_options"])
        check(done.returncode == 0, f"the option is refused: {done.stderr}")


def bad_input(allowed):
    cases = [(["--movie", "/nonexistent"], 2, "There is no movie /nonexistent"),
             (["--movie", __file__], 2, "cannot be used"), (["--repeat", "0"], 2, "1 to 1000"),
             (["--repeat", "x"], 2, "--repeat"), (["--json", "/nonexistent/x"], 2, "json")]
    for flags, code, text in cases:
        done = run("topology", "--measure", *flags)
        check(done.returncode == code and text in done.stderr, f"{flags}: {done}")
    done = run("topology", "--movie", "x.mpg")
    check(done.returncode == 2 and "--measure" in done.stderr, f"--movie alone: {done}")
    done = run("topology", "--measure", preexec_fn=lambda: os.sched_setaffinity(0, {min(allowed)}))
    check(done.returncode == 1 and "one CPU only" in done.stderr, f"one CPU: {done}")


def main():
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2 or not os.path.exists(f"{MOVIES}/ref-street.mpg"):
        print("skipped: one CPU, or no movies")
        return 77
    movies(allowed)
    bad_input(allowed)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
