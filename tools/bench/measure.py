# SPDX-License-Identifier: Apache-2.0
"""What the measuring scripts share: running and timing programs, finding an ffmpeg, tables, delays of pictures."""

import argparse
import hashlib
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
CACHE = TOP / "build/bench-cache"
# A static ffmpeg 9.0, on PyPI inside a Python package. For benchmarks only.
NEWEST_PACKAGE = "imageio-ffmpeg==0.8.1"
NEWEST_SHA256 = "050d6850601c3b3890bd2b28306f3b842b3daea390a561101174375a1c460bda"

REFERENCE_MOVIES = ["ref-animation.mpg", "ref-street.mpg", "ref-talk.mpg", "ref-patterns.mpg"]
REFERENCE_TARGETS = [(128, 96, 15, 50_000), (176, 144, 15, 70_000), (352, 288, 26, 100_000),
                     (704, 576, 30, 200_000)]


def options_of(text: str) -> argparse.ArgumentParser:
    """A parser whose help is a script's own description, which begins with "usage: "."""
    parser = argparse.ArgumentParser(usage=text.removeprefix("usage: ").replace("%", "%%").rstrip())
    parser.format_help = lambda: text
    return parser


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# --- the reference workload ----------------------------------------------------------------------

def reference_streams(count: int, folder: Path) -> list[tuple[Path, int, int, int, int]]:
    """(movie, width, height, fps, bits per second), as server/bench/workload.cc draws."""
    streams, state = [], 1
    for index in range(count):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        target = REFERENCE_TARGETS[(state >> 16) % len(REFERENCE_TARGETS)]
        streams.append((folder / REFERENCE_MOVIES[index % len(REFERENCE_MOVIES)], *target))
    return streams


# --- running -------------------------------------------------------------------------------------

@dataclass
class Usage:
    """Of programs run at once: until the last ends; user and system time; sum of peak memory;
    CPU time that others took meanwhile, or that the machine's host kept to itself."""
    wall_s: float
    cpu_s: float
    peak_bytes: int
    others_s: float = 0

    def disturbed(self, limit: float) -> bool:
        return self.others_s > limit * self.wall_s


def busy_s() -> float:
    """CPU time of everybody since the start of the machine, time stolen by its host included."""
    fields = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:9]
    user, nice, system, _, _, irq, softirq, steal = (int(field) for field in fields)
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def failed(code: int, errors: str) -> bool:
    """Whether a program failed. `gopmill bench` also ends with 1 when units waited beside an idle
    worker, which on a busy machine says nothing; all its work is done and its times are good."""
    complaints = [line for line in errors.splitlines() if line.startswith("FAILED: ")]
    if code == 1 and complaints and all("units waited" in line for line in complaints):
        for line in complaints:
            say(line.replace("FAILED: ", "note: "))
        return False
    return code != 0


def run_at_once(commands: list[list[str]]) -> Usage:
    """Starts all commands and waits for them; one that fails ends the measurement.

    A child's peak memory is at least that of this script when it started the child.
    """
    busy, start = busy_s(), time.monotonic()
    started = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE) for command in commands]
    cpu, peak = 0.0, 0
    for process, command in zip(started, commands):
        errors = process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        if failed(process.returncode, errors):
            raise SystemExit(f"failed ({process.returncode}): {' '.join(command)}\n{errors}")
        cpu += usage.ru_utime + usage.ru_stime
        peak += usage.ru_maxrss * 1024
    wall = time.monotonic() - start
    return Usage(wall, cpu, peak, max(busy_s() - busy - cpu, 0))


def interleave(names: list[str], runs: int, run, undisturbed=None) -> dict[str, list]:
    """run(name) for each name in turn, `runs` times; every second round in reverse order.

    undisturbed(result) tells whether a run counts; one that does not is repeated at once, at most
    100 times in all."""
    results: dict[str, list] = {name: [] for name in names}
    patience = 100
    for number in range(runs):
        for name in names if number % 2 == 0 else reversed(names):
            result = run(name)
            while undisturbed and not undisturbed(result) and patience > 0:
                patience -= 1
                result = run(name)
            results[name].append(result)
            say(f"run {number + 1}/{runs} {name}: {result}")
    if patience == 0:
        say("the machine was not quiet: some runs were disturbed by other programs")
    return results


# --- results -------------------------------------------------------------------------------------

def median(values) -> float:
    return statistics.median(list(values))


def pair_ratios(ours: list[float], theirs: list[float]) -> dict[str, float]:
    """theirs / ours: of the medians, and the median, least and greatest over the pairs."""
    pairs = [b / a for a, b in zip(ours, theirs)]
    return {"of_medians": median(theirs) / median(ours), "median_of_pairs": median(pairs),
            "least": min(pairs), "greatest": max(pairs)}


def table(rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
             for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def as_json(results: dict[str, list]) -> dict:
    return {name: [asdict(one) if isinstance(one, Usage) else one for one in values]
            for name, values in results.items()}


def machine() -> dict[str, str]:
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return {"cpu": model, "cpus": str(len(os.sched_getaffinity(0))),
            "kernel": platform.release(), "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
            "load": f"{os.getloadavg()[0]:.2f}"}


# --- programs ------------------------------------------------------------------------------------

def program(given: str | None) -> Path:
    """The gopmill to measure: as given, else of the tests' environment, else the release build."""
    path = Path(given or os.environ.get("GOPMILL_PROGRAM") or TOP / "build/release/gopmill")
    if not path.is_file():
        raise SystemExit(f"{path} is not there: tools/build makes it, --program names another")
    return path.resolve()


def bench_program(name: str, gopmill: Path) -> str:
    path = gopmill.parent / "tools/bench" / name
    if not path.is_file():
        raise SystemExit(f"{path} is not there: build the target {name}")
    return str(path)


def ffmpeg(which: str) -> str:
    if which == "debian":
        found = shutil.which("ffmpeg", path="/usr/bin") or shutil.which("ffmpeg")
        if found is None:
            raise SystemExit("there is no ffmpeg: apt-get install ffmpeg")
        return found
    return newest_ffmpeg() if which == "newest" else which


def ffmpeg_version(path: str) -> str:
    shown = subprocess.run([path, "-version"], capture_output=True, text=True, check=True).stdout
    return shown.split()[2]


def newest_ffmpeg() -> str:
    target = CACHE / "ffmpeg-newest"
    if target.is_file():
        return str(target)
    CACHE.mkdir(parents=True, exist_ok=True)
    wheels = list(CACHE.glob("imageio_ffmpeg-*.whl"))
    if not wheels:
        say(f"fetching {NEWEST_PACKAGE} from PyPI")
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest",
                        str(CACHE), NEWEST_PACKAGE], check=True)
        wheels = list(CACHE.glob("imageio_ffmpeg-*.whl"))
    with wheels[0].open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != NEWEST_SHA256:
        raise SystemExit(f"{wheels[0]} does not have the SHA-256 of the wheel for amd64: not used")
    with zipfile.ZipFile(wheels[0]) as archive:
        inside = next(name for name in archive.namelist() if "/ffmpeg-linux" in name)
        partial = target.with_suffix(".tmp")
        with archive.open(inside) as packed, partial.open("wb") as unpacked:
            shutil.copyfileobj(packed, unpacked)
    partial.chmod(0o755)
    partial.rename(target)
    return str(target)


PACKET = 188  # bytes of MPEG-TS


def picture_time(packet):
    """PTS of the picture that begins in this packet of a transport stream, in 1/90000 s; None if there is none (ISO 13818-1 section 2.4.3.7)."""
    at = 5 + packet[4] if packet[3] & 0x20 else 4
    if not packet[1] & 0x40 or packet[at:at + 3] != b"\0\0\1" or packet[at + 3] & 0xF0 != 0xE0:
        return None
    p = packet[at + 9:at + 14]
    return (p[0] >> 1 & 7) << 30 | p[1] << 22 | p[2] >> 1 << 15 | p[3] << 7 | p[4] >> 1


def tell_delays(seconds):
    ms = sorted(1000 * delay for delay in seconds)
    print(f"{len(ms)} pictures: median {statistics.median(ms):.0f} ms, 95 % {ms[len(ms) * 95 // 100]:.0f} ms, "
          f"least {ms[0]:.0f} ms, most {ms[-1]:.0f} ms")
