#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What does not come back, here an encoder that no worker ever has open and a loop that accepts for ever, does not keep the
server from ending."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import Server, check, failures, run_beside_each_other, sanitized, wait_until  # noqa: E402

# `name` is the first member of an AVCodec.
NEVER_OPEN = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
int avcodec_open2(void* context, const char* const* codec, void* options) {
  char thread[16] = "";
  pthread_getname_np(pthread_self(), thread, sizeof thread);
  if (strcmp(*codec, "libx264") == 0 && strncmp(thread, "worker", 6) == 0) {
    (void)!write(STDERR_FILENO, "held\\n", 5);
    while (1) pause();
  }
  return ((int (*)(void*, const char* const*, void*))dlsym(RTLD_NEXT, "avcodec_open2"))(context, codec, options);
}
"""

NEVER_ACCEPTED = """#define _GNU_SOURCE
#include <sys/socket.h>
#include <unistd.h>
int accept4(int socket, struct sockaddr* address, socklen_t* length, int flags) {
  (void)!write(STDERR_FILENO, "held\\n", 5);
  while (1) pause();
}
"""


def a_hung_encoder_is_given_up(library, path, told):
    server = Server("movies/files", "--drain-timeout", "0", "--workers", "1", starter=["env", f"LD_PRELOAD={library}"])
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(f"GET {path}?width=192 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        wait_until(lambda: "held\n" in server.log, 20, f"{path} is encoded")
        server.process.send_signal(signal.SIGTERM)
        check(server.process.wait(timeout=60) == 1, f"ends with {server.process.returncode}")
    wait_until(lambda: any("does not come back" in line for line in server.log), 5, "the end is told")
    check(any(told in line for line in server.log), f"{server.log}")


def a_hung_loop_is_given_up(library):
    """The drain itself waits for the loop."""
    server = Server("movies/files", "--drain-timeout", "1", starter=["env", f"LD_PRELOAD={library}"])
    with socket.create_connection(("127.0.0.1", server.port)):
        wait_until(lambda: "held\n" in server.log, 20, "the loop is held")
        server.process.send_signal(signal.SIGTERM)
        try:
            check(server.process.wait(timeout=60) == 1, f"held loop: ends with {server.process.returncode}")
        except subprocess.TimeoutExpired:
            check(False, "a held loop keeps the server from ending")
    wait_until(lambda: any("does not come back" in line for line in server.log), 5, "the end of a held loop is told")


def build(folder, name, text):
    source, library = os.path.join(folder, f"{name}.c"), os.path.join(folder, f"{name}.so")
    Path(source).write_text(text, encoding="ascii")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def main():
    if sanitized():
        return 77  # their libraries want to be loaded first
    with tempfile.TemporaryDirectory() as folder:
        library = build(folder, "encoder", NEVER_OPEN)
        run_beside_each_other(
            (a_hung_loop_is_given_up, build(folder, "loop", NEVER_ACCEPTED)),
            (a_hung_encoder_is_given_up, library, "/v1/transcode/sync-720p.mp4", "stream 1 does not end: sync-720p.mp4"),
            (a_hung_encoder_is_given_up, library, "/v1/hls/sync-720p.mp4/v0-0.m4s", "segment sync-720p.mp4/v0-0.m4s does not end"))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
