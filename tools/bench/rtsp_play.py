# SPDX-License-Identifier: Apache-2.0
"""What the measuring scripts of live sources share: a server, a stream to publish, and a player's connection by RTSP."""

import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

FPS, GOP = 30, 30
SOUND = "live/in?width=640&height=360&fps=30&bitrate=600k&preset=veryfast"
QUERY = SOUND + "&acodec=none"


def make_stream(folder, seconds, name="in.mkv", sound=False, draw="null"):
    """640x360, FPS pictures a second, a key frame each GOP pictures. `draw`: a filter of the pictures."""
    movie = os.path.join(folder, name)
    tone = ["-f", "lavfi", "-i", "sine=440:sample_rate=48000", "-c:a", "aac"] if sound else []
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size=640x360:rate={FPS},{draw}", *tone, "-t", str(seconds),
                    "-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency", "-g", str(GOP), "-b:v", "1M", movie],
                   check=True)
    return movie


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_server(program, folder, before=(), **settings):
    """(process, RTSP port, URL by HTTP); `before`: words in front of the program, `settings`: GOPMILL_... of its environment."""
    port = free_port()
    server = subprocess.Popen([*before, program, "serve", "--library", folder, "--http-port", "0", "--rtsp-port", str(port)],
                              stderr=subprocess.PIPE, text=True, env={**os.environ, **settings})
    for line in server.stderr:
        if "listening on http" in line:
            base = line.split()[-1].rstrip("/")
            break
    else:
        sys.exit("the server did not start")
    threading.Thread(target=server.stderr.read, daemon=True).start()
    return server, port, base


def children_of(pid):
    for thread in Path(f"/proc/{pid}/task").iterdir():
        try:
            yield from map(int, (thread / "children").read_text(encoding="ascii").split())
        except OSError:
            pass  # the thread has ended


def cpu_seconds(pid):
    """Of a process and of those that it has started and that still run."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_seconds, children_of(pid)))


def ask(client, request):
    """(head, body) of the answer; RuntimeError if there is none, or it is not 200."""
    client.sendall(request.encode())

    def more():
        data = client.recv(65536)
        if not data:
            raise RuntimeError("the server has closed the connection")
        return data
    answer = more()
    while b"\r\n\r\n" not in answer:
        answer += more()
    head, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    while length and len(body) < int(length[1]):
        body += more()
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise RuntimeError(head.decode())
    return head.decode(), body.decode()


def play(port, path, tracks=1, describe=lambda sdp: None):
    """A connection that has sent PLAY for the first tracks over TCP (pictures on channel 0, sound on 2); the answer to that
    comes with the packets. `describe` is given the description."""
    client = socket.create_connection(("127.0.0.1", port), timeout=30)
    url = f"rtsp://127.0.0.1:{port}/{path}"
    head, sdp = ask(client, f"DESCRIBE {url} RTSP/1.0\r\nCSeq: 1\r\n\r\n")
    describe(sdp)
    base = re.search(r"Content-Base: (\S+)", head)[1]
    controls = re.findall(r"a=control:(\S+)", sdp[sdp.index("m="):])
    session = ""
    for track, control in enumerate(controls[:tracks]):
        head, _ = ask(client, f"SETUP {control if '://' in control else base + control} RTSP/1.0\r\nCSeq: {2 + track}\r\n{session}"
                              f"Transport: RTP/AVP/TCP;unicast;interleaved={2 * track}-{2 * track + 1}\r\n\r\n")
        session = "Session: " + re.search("Session: ([^;\r\n]+)", head)[1] + "\r\n"
    client.sendall(f"PLAY {base} RTSP/1.0\r\nCSeq: {2 + tracks}\r\n{session}\r\n".encode())
    return client


def play_once_there(play_now):
    """What play_now() returns, once that which is played is there: a peer needs a while before it publishes."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return play_now()
        except RuntimeError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
