#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an operator is told of a library that cannot be read."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, Server, check, run_all, wait_until  # noqa: E402

def logged(server, pattern):
    wait_until(lambda: re.search(pattern, "".join(server.log)), 10, f"no line {pattern} in {server.log[-20:]}")


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
    """As a user that may not read the folder; root may read all."""
    library = Path(folder, "closed")
    library.mkdir(mode=0o700)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    if not nobody:
        library.chmod(0)
    os.chmod(folder, 0o755)
    command = [PROGRAM, "serve", "--library", str(library), "--http-port", "0", "--rtsp-port", "0"]
    bad = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **nobody)
    check(bad.returncode == 2 and "Permission denied" in bad.stderr and "may list and enter" in bad.stderr,
          f"{bad.returncode}: {bad.stderr}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        return run_all([a_library_that_is_gone_is_no_empty_one, a_start_without_rights_says_what_would_be_right], folder)


if __name__ == "__main__":
    sys.exit(main())
