#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""As many processors are taken as there are workers, whatever the codec; one stream has all workers; and who asks for a page is
answered beside them. Counted is what other work on the machine does not change: what must not be more in CPU time of threads
that may have any processor, what must not be fewer in threads that run or wait for one."""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, Server, check, run_all, sanitized, wait_until  # noqa: E402

MOVIE = "movies/files/modern-720p.mp4"
# Container, preset, seconds that take long enough to be looked at.
CODECS = {"h264": ("mp4", "veryfast", 6), "hevc": ("mp4", "ultrafast", 6), "av1": ("mp4", "ultrafast", 6), "vp9": ("webm", "ultrafast", 3),
          "mpeg4": ("mp4", "ultrafast", 20)}
QUERY = "width=1280&bitrate=3M&preset=slow&container=ts"
LOOK_EACH = 0.01
# Reading the source, sound, what is sent: beside the workers, and not for long.
BESIDE = 0.5


def place_of(task):
    """The processor that a thread is bound to, or itself if it may have any."""
    allowed = re.search(r"Cpus_allowed_list:\s+(\S+)", (task / "status").read_text())[1]
    return task.name if "-" in allowed or "," in allowed else f"processor {allowed}"


def works(task):
    """Whether a thread runs or waits for a processor."""
    try:
        return (task / "stat").read_text().rpartition(") ")[2][0] == "R"
    except OSError:
        return False  # it has ended


class Watch:
    """Of a process that starts: how many threads work at each look, in the middle half of its looks."""

    def __init__(self, pid):
        self.tasks, self.looks = Path(f"/proc/{pid}/task"), []
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while True:
            try:
                self.looks.append(sum(map(works, self.tasks.iterdir())))
            except OSError:
                return
            time.sleep(LOOK_EACH)

    def middle(self):
        self.thread.join()
        quarter = len(self.looks) // 4
        check(quarter > 5, f"{len(self.looks)} looks")
        return self.looks[quarter:-quarter]


def command(folder, codec, workers):
    container, preset, seconds = CODECS[codec]
    return [PROGRAM, "transcode", MOVIE, f"{folder}/out.{container}", "--force", "--quiet", "--vcodec", codec, "--preset", preset,
            "--bitrate", "1M", "--size", "640x360", "--duration", str(seconds * workers), "--workers", str(workers)]


def watched(folder, codec, workers):
    with subprocess.Popen(command(folder, codec, workers), stderr=subprocess.DEVNULL) as process:
        watch = Watch(process.pid)
        check(process.wait(timeout=300) == 0, f"{codec}: {process.returncode}")
        return watch.middle()


def processors_taken(folder, codec):
    """By a transcode on one worker: the CPU time of all threads, by that of the threads on the busiest processor."""
    used = {}  # nanoseconds and place by thread
    with subprocess.Popen(command(folder, codec, 1), stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            for task in Path(f"/proc/{process.pid}/task").iterdir():
                try:
                    used[task.name] = int((task / "schedstat").read_text().split()[0]), place_of(task)
                except (OSError, IndexError, TypeError):
                    pass  # it has ended
            time.sleep(LOOK_EACH)
        check(process.returncode == 0, f"{codec}: {process.returncode}")
    by_place = {place: sum(n for n, other in used.values() if other == place) for _, place in used.values()}
    return sum(by_place.values()) / max(by_place.values())


def one_worker_takes_one_processor(folder):
    """An encoder may have more threads: they share the processor of their worker. It takes two to tell."""
    if os.cpu_count() < 2 or not Path("/proc/self/schedstat").exists():
        print("not told: one processor, or a kernel that does not count")
        return
    for codec in CODECS:
        taken = processors_taken(folder, codec)
        check(taken <= 1 + BESIDE, f"{codec}: one worker takes {taken:.2f} processors")


def one_stream_has_all_workers(folder):
    """More than there are processors: nothing but a worker that waits for the others makes them fewer."""
    mean = statistics.fmean(watched(folder, "h264", 4))
    check(mean >= 3, f"{mean:.2f} of four workers work for one stream")


def others_are_answered(folder):
    """While all workers have work for minutes. One that waited for a worker would have its answer when a unit is done."""
    with Server("movies/files", "--segment-cache", folder, "--workers", "2") as server:
        streams = [threading.Thread(target=server.get, args=(f"/v1/transcode/modern-720p.mp4?{QUERY}",), daemon=True) for _ in range(8)]
        for stream in streams:
            stream.start()
        wait_until(lambda: len(server.running()) == len(streams), 30, "streams that keep all workers busy")
        paths = 10 * ("/healthz", "/v1/sources", "/", "/metrics")
        before = server.metric("gopmill_units_total")
        for path in paths:
            check(server.get(path)[0].status == 200, path)
        units = server.metric("gopmill_units_total") - before
        for stream in json.loads(server.get("/v1/streams")[1])["streams"]:
            check(stream["state"] == "running", f"stream {stream['id']} is {stream['state']}: nothing to wait beside")
            server.get(f"/v1/streams/{stream['id']}", "DELETE")
        check(units < len(paths) / 4, f"{units:.0f} units are done in the time of {len(paths)} answers")


def main():
    if sanitized():
        print("skipped: sanitizers have threads of their own")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        return run_all([one_worker_takes_one_processor, one_stream_has_all_workers, others_are_answered], folder)


if __name__ == "__main__":
    sys.exit(main())
