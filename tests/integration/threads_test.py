#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""As many processors are taken as there are workers, whatever the codec; one stream has all workers; and who asks for a page is
answered beside them. What must not be more is counted in CPU time, of which other work on the machine takes away, and what
must not be fewer in threads that run or wait for a processor, of which it takes none away."""

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
    """Of a thread that runs or waits for a processor: the one that it is bound to, or itself if it may have any; else none."""
    try:
        if (task / "stat").read_text().rpartition(") ")[2][0] != "R":
            return None
        allowed = re.search(r"Cpus_allowed_list:\s+(\S+)", (task / "status").read_text())[1]
    except OSError:
        return None  # it has ended
    return task.name if "-" in allowed or "," in allowed else f"processor {allowed}"


class Watch:
    """Of a process that starts: at each look the threads that work, in the middle half of its looks."""

    def __init__(self, pid):
        self.tasks, self.looks = Path(f"/proc/{pid}/task"), []
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self):
        while True:
            try:
                self.looks.append([place for place in map(place_of, self.tasks.iterdir()) if place])
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
    """By a transcode on one worker, in the mean."""
    begin = time.monotonic()
    process = subprocess.Popen(command(folder, codec, 1), stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, f"{codec}: {process.returncode}")
    return (used.ru_utime + used.ru_stime) / (time.monotonic() - begin)


def one_worker_takes_one_processor(folder):
    """An encoder may have more threads: they share the processor of their worker."""
    for codec in CODECS:
        taken = processors_taken(folder, codec)
        check(taken <= 1 + BESIDE, f"{codec}: one worker takes {taken:.2f} processors")


def one_stream_has_all_workers(folder):
    """More than there are processors: nothing but a worker that waits for the others makes them fewer."""
    mean = statistics.fmean(len(places) for places in watched(folder, "h264", 4))
    check(mean >= 3, f"{mean:.2f} of four workers work for one stream")


def others_are_answered(folder):
    """While all workers have work for minutes."""
    with Server("movies/files", "--segment-cache", folder) as server:
        streams = [threading.Thread(target=server.get, args=(f"/v1/transcode/modern-720p.mp4?{QUERY}",), daemon=True) for _ in range(8)]
        for stream in streams:
            stream.start()
        wait_until(lambda: len(server.running()) == len(streams), 30, "streams that keep all workers busy")
        times = []
        for path in 10 * ("/healthz", "/v1/sources", "/", "/metrics"):
            begin = time.monotonic()
            check(server.get(path)[0].status == 200, path)
            times.append(time.monotonic() - begin)
        for stream in json.loads(server.get("/v1/streams")[1])["streams"]:
            check(stream["state"] == "running", f"stream {stream['id']} is {stream['state']}: nothing to wait beside")
            server.get(f"/v1/streams/{stream['id']}", "DELETE")
        check(statistics.median(times) < 0.5 and max(times) < 5, f"answers took {statistics.median(times):.3f} to {max(times):.3f} s")


def main():
    if sanitized():
        print("skipped: sanitizers have threads of their own")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        return run_all([one_worker_takes_one_processor, one_stream_has_all_workers, others_are_answered], folder)


if __name__ == "__main__":
    sys.exit(main())
