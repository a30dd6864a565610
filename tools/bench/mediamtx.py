# SPDX-License-Identifier: Apache-2.0
"""MediaMTX and an ffmpeg that transcodes for it, put together as MediaMTX's manual says (`runOnReady`): what one would use instead
of gopmill for live streams by RTSP. For benchmarks only; needs Go, with which it is built into build/bench-cache."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from measure import CACHE, say  # noqa: E402
from rtsp_play import FPS, GOP, free_port  # noqa: E402

MODULE, VERSION = "github.com/bluenviron/mediamtx", "v1.12.3"
SUM = "h1:NfHiMm6UQKQZEVhJhypl8Ccp+i8ZGt/IASqB2bSA7Gw="  # of the module, as in a go.sum
MADE = "live/out"  # the path at which the transcoded stream is
SAME_ENCODE = f"-vf fps={FPS},scale=640:360 -c:v libx264 -preset veryfast -g {GOP} -b:v 600k -c:a aac"  # as rtsp_play.QUERY asks for


def program() -> str:
    target = CACHE / f"mediamtx-{VERSION}"
    if target.is_file():
        return str(target)
    go = shutil.which("go")
    if go is None:
        raise SystemExit("MediaMTX is built with Go 1.24 or newer, which is not here: https://go.dev/dl")
    CACHE.mkdir(parents=True, exist_ok=True)
    say(f"building MediaMTX {VERSION}")
    with tempfile.TemporaryDirectory() as folder:
        found = json.loads(subprocess.run([go, "mod", "download", "-json", f"{MODULE}@{VERSION}"], cwd=folder, stdout=subprocess.PIPE,
                                          check=True).stdout)
        if found["Sum"] != SUM:
            raise SystemExit(f"{MODULE} {VERSION} has the sum {found['Sum']}, not the expected one: not used")
        with zipfile.ZipFile(found["Zip"]) as archive:
            archive.extractall(folder)
        source = Path(folder, f"{MODULE}@{VERSION}")
        # Files that its release makes, and that a module does not have: its name, and a page that nobody asks for here.
        (source / "internal/core/VERSION").write_text(VERSION, encoding="utf-8")
        (source / "internal/servers/hls/hls.min.js").write_text("", encoding="utf-8")
        subprocess.run([go, "build", "-o", str(target), "."], cwd=source, check=True, env={**os.environ, "CGO_ENABLED": "0"})
    return str(target)


def start(folder, options, before=()):
    """(process, RTSP port). What is published at live/in is at MADE once the ffmpeg, which it starts, has begun to publish that.
    `options`: of the ffmpeg's encoder; `before`: words in front of the program."""
    port = free_port()
    url = f"rtsp://127.0.0.1:{port}"
    ffmpeg = f"ffmpeg -nostdin -v error -rtsp_transport tcp -i {url}/live/in {options} -f rtsp -rtsp_transport tcp {url}/{MADE}"
    settings = {"logLevel": "warn", "rtspTransports": ["tcp"], "rtspAddress": f"127.0.0.1:{port}", "rtmp": False, "hls": False,
                "webrtc": False, "srt": False, "paths": {"live/in": {"runOnReady": ffmpeg}, MADE: {}}}
    file = Path(folder, "mediamtx.yml")  # JSON is YAML
    file.write_text(json.dumps(settings), encoding="utf-8")
    server = subprocess.Popen([*before, program(), str(file)], stdout=sys.stderr)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return server, port
        except ConnectionRefusedError:
            time.sleep(0.02)
    server.kill()
    raise SystemExit("MediaMTX did not start")
