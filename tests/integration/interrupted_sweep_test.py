#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in a sweep of `simulate`: what is complete is written, once some of it is."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, check, run_all  # noqa: E402

# Ten thousand points: minutes, where each takes some milliseconds.
SWEEP = ["--sweep", "seed=1:1000:1", "--sweep", "load=0.1:1:0.1", "--arrivals", "poisson", "--scheduler", "fifo", "--topology", "pu:2"]


def read_until(terminal, pattern):
    """What the program shows up to there, or all of it if that never comes."""
    shown = b""
    while not re.search(pattern, shown):
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # the program has ended
            break
    return shown


def what_is_complete_is_written(folder):
    terminal, other = pty.openpty()
    command = [PROGRAM, "simulate", *SWEEP, "--json", folder / "part.json"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=other) as process:
        os.close(other)
        shown = read_until(terminal, rb"[1-9]\d* of 10000 runs")
        process.send_signal(signal.SIGINT)
        shown += read_until(terminal, b"Interrupted")
        code = process.wait(timeout=60)
    check(code == 130 and b"gopmill simulate: Interrupted." in shown, f"{code} {shown[-300:]}")
    report = json.loads((folder / "part.json").read_text(encoding="utf-8"))
    check(report["interrupted"] is True, f"it says so: {list(report)}")
    check(0 < len(report["runs"]) < 10_000, f"{len(report['runs'])} runs are complete")


def main():
    with tempfile.TemporaryDirectory() as name:
        return run_all([what_is_complete_is_written], Path(name))


if __name__ == "__main__":
    sys.exit(main())
