#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A library that does not come back, here an encoder that is never open, does not keep the server from ending."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import Server, check, run_all, sanitized, wait_until  # noqa: E402

# `name` is the first member of an AVCodec.
NEVER_OPEN = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>
int avcodec_open2(void* context, const char* const* codec, void* options) {
  while (strcmp(*codec, "libx264") == 0) pause();
  return ((int (*)(void*, const char* const*, void*))dlsym(RTLD_NEXT, "avcodec_open2"))(context, codec, options);
}
"""


def a_hung_encoder_is_given_up(folder):
    source, library = os.path.join(folder, "hang.c"), os.path.join(folder, "hang.so")
    Path(source).write_text(NEVER_OPEN, encoding="ascii")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    server = Server("movies/files", "--drain-timeout", "0", starter=["env", f"LD_PRELOAD={library}"])
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET /v1/transcode/sync-720p.mp4?width=192 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: server.metric("gopmill_queue_units") > 0, 20, "the stream is encoded")
        server.process.send_signal(signal.SIGTERM)
        check(server.process.wait(timeout=60) == 1, f"ends with {server.process.returncode}")
    wait_until(lambda: any("does not come back" in line for line in server.log), 5, "the end is told")
    check(any("does not end: sync-720p.mp4" in line for line in server.log), f"{server.log}")


def main():
    if sanitized():
        return 77  # their libraries want to be loaded first
    with tempfile.TemporaryDirectory() as folder:
        return run_all([a_hung_encoder_is_given_up], folder)


if __name__ == "__main__":
    sys.exit(main())
