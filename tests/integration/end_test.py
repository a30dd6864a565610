#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What does not come back, here an encoder that no worker ever has open, a loop that accepts for ever and a folder on a dead
disk, does not keep the server from ending. What comes back late finds the server as it was."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, Server, check, failures, run_beside_each_other, sanitized, wait_until  # noqa: E402

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

# Folders whose name ends in "dead", once a file "gone" lies in them.
NEVER_LOOKED_UP = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void wait_if_dead(const char* path) {
  char gone[PATH_MAX] = "";
  const size_t length = strlen(path);
  if (length < 4 || strcmp(path + length - 4, "dead") != 0) return;
  snprintf(gone, sizeof gone, "%s/gone", path);
  if (access(gone, F_OK) != 0) return;
  (void)!write(STDERR_FILENO, "held\\n", 5);
  while (1) pause();
}
#define OPENS(name)                                                                       \\
  int name(const char* path, int flags, ...) {                                            \\
    va_list more;                                                                         \\
    va_start(more, flags);                                                                \\
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;  \\
    va_end(more);                                                                         \\
    wait_if_dead(path);                                                                   \\
    return ((int (*)(const char*, int, ...))dlsym(RTLD_NEXT, #name))(path, flags, mode);  \\
  }
OPENS(open)
OPENS(open64)
"""

# Called by GStreamer's server for the answer to a DESCRIBE; longer than the server waits without a word.
LATE_DESCRIPTION = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
char* gst_sdp_message_as_text(const void* message) {
  (void)!write(STDERR_FILENO, "held\\n", 5);
  sleep(12);
  (void)!write(STDERR_FILENO, "let go\\n", 7);
  return ((char* (*)(const void*))dlsym(RTLD_NEXT, "gst_sdp_message_as_text"))(message);
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


def a_reload_looks_at_no_library_it_has(library, folder):
    movies = os.path.join(folder, "mounted", "dead")
    os.makedirs(movies)
    server = Server(movies, "--drain-timeout", "0", "--log-level", "info", starter=["env", f"LD_PRELOAD={library}"])
    Path(movies, "gone").touch()
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any("no setting changed" in line for line in server.log), 20, "the settings are read again")
    server.process.send_signal(signal.SIGTERM)
    # 1 where the thread that looks each second whether the library is there has met it.
    check(server.process.wait(timeout=60) in (0, 1), f"a dead library: ends with {server.process.returncode}")


def a_hung_reload_is_given_up(library, folder):
    dead, config = os.path.join(folder, "other", "dead"), os.path.join(folder, "config.json")
    os.makedirs(dead)
    Path(dead, "gone").touch()
    Path(config).write_text(json.dumps({"library": "movies/files"}), encoding="ascii")
    process = subprocess.Popen(["env", f"LD_PRELOAD={library}", PROGRAM, "serve", "--config", config, "--http-port", "0",
                                "--rtsp-port", "0", "--drain-timeout", "1"], stderr=subprocess.PIPE, text=True)
    next(line for line in process.stderr if "listening on http" in line)
    Path(config).write_text(json.dumps({"library": dead}), encoding="ascii")
    process.send_signal(signal.SIGHUP)
    next(line for line in process.stderr if line == "held\n")
    process.send_signal(signal.SIGTERM)
    try:
        check(process.wait(timeout=27) == 1, f"held reload: ends with {process.returncode}")  # after 21 s
    except subprocess.TimeoutExpired:
        check(False, "a held reload keeps the server from ending")
        process.kill()
    check("does not come back" in process.stderr.read(), "the end of a held reload is told")


def a_late_player_is_waited_for(library):
    server = Server("movies/files", "--drain-timeout", "0", rtsp=True, starter=["env", f"LD_PRELOAD={library}"])
    if any("not built" in line for line in server.log):
        server.process.kill()
        return
    with socket.create_connection(("127.0.0.1", server.rtsp_port)) as client:
        client.sendall(f"DESCRIBE {server.url('sync-720p.mp4?width=192')} RTSP/1.0\r\nCSeq: 1\r\n\r\n".encode())
        wait_until(lambda: "held\n" in server.log, 20, "a movie is described")
        server.process.send_signal(signal.SIGTERM)
        check(server.process.wait(timeout=60) == 0, f"a late player: ends with {server.process.returncode}")
    wait_until(lambda: "let go\n" in server.log, 5, f"the player is waited for: {server.log}")


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
        dead = build(folder, "dead", NEVER_LOOKED_UP)
        run_beside_each_other(
            (a_reload_looks_at_no_library_it_has, dead, folder),
            (a_hung_reload_is_given_up, dead, folder),
            (a_late_player_is_waited_for, build(folder, "late", LATE_DESCRIPTION)),
            (a_hung_loop_is_given_up, build(folder, "loop", NEVER_ACCEPTED)),
            (a_hung_encoder_is_given_up, library, "/v1/transcode/sync-720p.mp4", "stream 1 does not end: sync-720p.mp4"),
            (a_hung_encoder_is_given_up, library, "/v1/hls/sync-720p.mp4/v0-0.m4s", "segment sync-720p.mp4/v0-0.m4s does not end"))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
