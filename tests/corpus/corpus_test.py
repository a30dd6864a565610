#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Transcodes the cases of the corpus with the program and checks each result.

usage: corpus_test.py [--folder DIR] [--quick | --cross] [--keep DIR] [NAME...]

  --quick   the cases of the normal suite, three runs each
  --cross   the named cases under every policy with 1, 2 and 8 workers, equal bytes wanted
  --keep    leave the results there

Without either: all cases, with 1, 2 and 8 workers under the default policy and under one other
policy that the case's number picks; all six results must be the same bytes.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time

import build
import cases
import check
import feeds

PROGRAM = os.environ.get("GOPMILL_PROGRAM", "build/release/gopmill")
CONTAINERS = ("mp4", "ts", "mp4", "mkv")
DEFAULT = "hearth"


def policies():
    """Every policy but the default one, as the program lists them."""
    words = subprocess.run([PROGRAM, "transcode", "--help"], capture_output=True, text=True,
                           check=True).stdout
    listed = words.split("--scheduler NAME", 1)[1].split(":", 1)[1].split("\n", 1)[0]
    return [name.strip() for name in listed.split(",") if name.strip() != DEFAULT]


def command_of(case, source, output, policy, workers):
    container = os.path.splitext(output)[1][1:]
    command = [PROGRAM, "transcode", source, output, "--force", "--quiet", "--container", container,
               "--scheduler", policy, "--workers", str(workers), "--json", output + ".json"]
    if "--preset" not in case.flags and container != "webm":
        command += ["--preset", "ultrafast"]
    if not any(flag in case.flags for flag in ("--bitrate", "--crf", "--qp")):
        command += ["--bitrate", "400k"]
    return command + shlex.split(case.flags)


def transcode(case, number, source, folder, policy, workers):
    """Exit code, what was said, the output's path and the program's report."""
    container = case.container or CONTAINERS[number % len(CONTAINERS)]
    output = os.path.join(folder, f"{case.name}.{container}")
    with feeds.fed(case.feed, source, output) as (name, stdin):
        command = command_of(case, name, output, policy, workers)
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                                  timeout=60, stdin=stdin)
        except subprocess.TimeoutExpired:
            return -1, "no end within a minute", output, None
    found = None
    if done.returncode == 0:
        with open(output + ".json", encoding="utf-8") as file:
            found = json.load(file)
    return done.returncode, done.stderr.strip(), output, found


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def run_error(case, code, words, output, say):
    if code != case.code:
        say(f"exit {code} instead of {case.code}: {words[:200]}")
    if case.error.lower() not in words.lower():
        say(f"does not say '{case.error}': {words[:200]}")
    if os.path.exists(output):
        say("failed and left an output")


def run_case(case, number, folder, plan, keep):
    """Runs one case under each (policy, workers) of the plan; returns the findings."""
    findings = []
    source, seen = build.make(case, folder)
    first = None
    with tempfile.TemporaryDirectory() as scratch:
        for policy, workers in plan:
            def say(text, where=f"{policy}, {workers} workers"):
                findings.append(f"{case.name} ({where}): {text}")

            code, words, output, report = transcode(case, number, source, keep or scratch, policy,
                                                    workers)
            if case.error is not None:
                run_error(case, code, words, output, say)
                continue
            if code != 0:
                say(f"exit {code}: {words[:300]}")
                break
            this = digest(output)
            # Where the end of a file that grows is met is chance, so each result is judged.
            if first is None or case.feed == "grow":
                first = this
                check.check(case, seen, source, output, report, say)
            elif this != first:
                say(f"other bytes than under {plan[0][0]} with {plan[0][1]} workers")
    return findings


def plan_of(number, arguments, others):
    if arguments.cross:
        return [(policy, workers) for policy in [DEFAULT, *others] for workers in (1, 2, 8)]
    other = others[number % len(others)]
    if arguments.quick:
        return [(DEFAULT, 2), (other, 8), (DEFAULT, 1)]
    return [(policy, workers) for policy in (DEFAULT, other) for workers in (1, 2, 8)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=os.path.join(
        os.path.dirname(os.path.abspath(PROGRAM)), "corpus"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cross", action="store_true")
    parser.add_argument("--once", action="store_true", help="one run each")
    parser.add_argument("--keep")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time; 2 unless given")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    numbered = [(number, case) for number, case in enumerate(cases.CASES)
                if (not arguments.names or case.name in arguments.names)
                and (not arguments.quick or case.quick) and (not arguments.cross or case.cross)]
    build.check_chosen([case for _, case in numbered], arguments.names)
    began = time.monotonic()
    failed = build.make_all([case for _, case in numbered], arguments.folder, arguments.jobs)
    findings = [f"{name}: cannot be made: {error}" for name, error in failed.items()]
    print(f"{len(numbered)} movies ready after {time.monotonic() - began:.0f} s", flush=True)
    others = policies()
    if keep := arguments.keep:
        os.makedirs(keep, exist_ok=True)
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        jobs = [pool.submit(run_case, case, number, arguments.folder,
                            plan_of(number, arguments, others)[:1 if arguments.once else None], keep)
                for number, case in numbered if case.name not in failed]
        for job in jobs:
            for finding in job.result():
                findings.append(finding)
                print("FAIL", finding, flush=True)
    print(f"{len(numbered)} cases, {len(findings)} findings, {time.monotonic() - began:.0f} s")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
