# SPDX-License-Identifier: Apache-2.0
"""What the measuring scripts of live sources share: a server, a stream to publish, and a player's connection by RTSP."""

import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

FPS, GOP = 30, 30
SOUND = "live/in?width=640&height=360&fps=30&bitrate=600k&preset=veryfast"
QUERY = SOUND + "&acodec=none"


def make_stream(folder, seconds, name="in.mkv", sound=False):
    """640x360, FPS pictures a second, a key frame each GOP pictures."""
    movie = os.path.join(folder, name)
    tone = ["-f", "lavfi", "-i", "sine=440:sample_rate=48000", "-c:a", "aac"] if sound else []
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size=640x360:rate={FPS}", *tone, "-t", str(seconds),
                    "-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency", "-g", str(GOP), "-b:v", "1M", movie],
                   check=True)
    return movie


def start_server(program, folder, before=(), **settings):
    """(process, RTSP port, URL by HTTP); `before`: words in front of the program, `settings`: GOPMILL_... of its environment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(client, request):
    """The answer, whole; RuntimeError if it is none, or not 200."""
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
    return head.decode()


def play(port, path, tracks=1):
    """A connection that has sent PLAY for the first tracks over TCP (pictures on channel 0, sound on 2); the answer to that
    comes with the packets."""
    client = socket.create_connection(("127.0.0.1", port), timeout=30)
    url = f"rtsp://127.0.0.1:{port}/{path}"
    base = re.search(r"Content-Base: (\S+)", ask(client, f"DESCRIBE {url} RTSP/1.0\r\nCSeq: 1\r\n\r\n"))[1]
    session = ""
    for track in range(tracks):
        head = ask(client, f"SETUP {base}stream={track} RTSP/1.0\r\nCSeq: {2 + track}\r\n{session}"
                           f"Transport: RTP/AVP/TCP;unicast;interleaved={2 * track}-{2 * track + 1}\r\n\r\n")
        session = "Session: " + re.search("Session: ([^;\r\n]+)", head)[1] + "\r\n"
    client.sendall(f"PLAY {base} RTSP/1.0\r\nCSeq: {2 + tracks}\r\n{session}\r\n".encode())
    return client
