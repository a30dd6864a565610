#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The README's commands that ask for a stream or publish one, as printed, on a server with its default settings (admission
on): only ports are others, players that need a screen are ffmpeg for some seconds, and so are long publications. And those
of the command line, one after the other in one folder, but those that serve or take minutes."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import Server, check, free_port, make_stream, run_beside_each_other, run_on_rtsp, wait_until  # noqa: E402

del os.environ["GOPMILL_STREAMS_PROMISE_PERCENT"]  # served.py has turned admission off
SECONDS = 2  # that a player plays
PLAYERS = re.compile(r"\b(?:ffplay(?: -autoexit)?|vlc)\b")


def commands(marker):
    """Of the block of shell that has this text; comments and what starts a server are left out."""
    blocks = re.findall(r"```sh\n(.*?)```", Path("README.md").read_text(encoding="utf-8"), re.S)
    block = next(block for block in blocks if marker in block)
    return [line for line in block.splitlines() if line and not line.startswith(("#", "tools/"))]


def as_run_here(server, command):
    command = command.replace(":8080/", f":{server.port}/").replace(":8554/", f":{server.rtsp_port}/")
    command = command.replace(":9710", f":{server.srt_port}").replace(":1935/", f":{server.rtmp_port}/")
    command = re.sub(r" -o (?=[\w.]+ )", f" -o {shlex.quote(server.folder)}/", command)
    if not PLAYERS.search(command):
        return command
    command = PLAYERS.sub("ffmpeg -nostdin -v error", command)
    words = command.rsplit(" ", 1)  # the source comes last
    return f"{words[0]} -i {words[1]} -t {SECONDS} -f null -"


def works(server, command):
    done = subprocess.run(["bash", "-c", as_run_here(server, command)], capture_output=True, text=True, timeout=240, check=False)
    # Who has seen enough leaves an upload behind that is refused the rest.
    check(done.returncode == 0 and not re.search("error|Invalid|HTTP", done.stderr), f"{command}: {done.returncode} {done.stderr[:300]}")


def asking(server):
    listed = commands("# save it")
    check(len(listed) >= 9, f"the README asks for {listed}")
    for command in listed:
        works(server, command)
    check(Path(server.folder, "small.mp4").stat().st_size > 100_000, "what was saved")
    check(Path(server.folder, "still.jpg").stat().st_size > 5_000, "the picture that was saved")


def publish(server, command, name="cam"):
    process = subprocess.Popen(["bash", "-c", as_run_here(server, command)], start_new_session=True, stderr=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL)
    wait_until(lambda: server.live(name).get("source"), 20, f"{command}: nobody publishes")
    return process


def leave(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def publishing(server):
    listed = commands("# meanwhile, in another terminal")
    publishers = [command for command in listed if " -re " in command]
    players = [command for command in listed if command not in publishers]
    check(len(publishers) == 2 and len(players) >= 4, f"the README publishes by {publishers} and plays by {players}")
    for number, command in enumerate(publishers):
        process = publish(server, command)
        # Each player once; they play at the pace of the source.
        run_beside_each_other(*((works, server, player) for player in players[number::2]))
        leave(process)
        wait_until(lambda: not server.live("cam")["publishing"], 15, "a publisher that was killed has the name")


def pushing(server):
    """The comment behind each says which source it becomes."""
    listed = commands("# becomes live/srt")
    names = [re.search(r" # becomes live/(\w+)$", command)[1] for command in listed]
    check(names == ["srt", "rtmp"], f"the README pushes by {listed}")
    obs = re.search(r"^OBS: .*Server `(\S+)`, Stream Key `(\S+)`", Path("README.md").read_text(encoding="utf-8"), re.M)
    check(" ".join(listed).count(f" {obs[1]}/{obs[2]} ") == 1, f"OBS is told another place: {obs[0]}")
    for name, command in zip(names, listed):
        process = publish(server, command, name)
        check(server.live(name)["source"]["video"]["width"] == 1280, f"{command}: {server.live(name)}")
        leave(process)


def on_the_command_line(server):
    """movie.mkv has sound and text, and text beside it."""
    text = Path(server.folder, "movie.en.srt")
    text.write_text("1\n00:00:00,500 --> 00:00:01,500\nA line\n", encoding="utf-8")
    movie = Path(make_stream(server.folder, "movie.ts", 3))
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", movie, "-i", text, "-map", "0", "-map", "1", "-c", "copy", "-c:s", "srt",
                    movie.with_suffix(".mkv")], check=True)
    listed = commands("# where tools/serve and tools/build leave the program")
    environment = {**os.environ, "PATH": f"{Path(os.environ['GOPMILL_PROGRAM']).resolve().parent}:{os.environ['PATH']}"}
    run = [command for command in listed if not re.match(r"export |gopmill (serve|bench|simulate)\b", command)]
    check(len(run) >= 8, f"the README has {listed}")
    for command in run:
        command = re.sub(r"\| ffplay -", "| ffmpeg -nostdin -v error -i - -f null -", command)
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=server.folder, env=environment, capture_output=True,
                              text=True, timeout=240, check=False)
        check(done.returncode == 0, f"{command}: {done.returncode} {done.stderr[:300]}")


def main():
    srt_port, rtmp_port = free_port(socket.SOCK_DGRAM), free_port()
    with tempfile.TemporaryDirectory() as folder:
        server = Server("movies/files", "--srt-port", str(srt_port), "--rtmp-port", str(rtmp_port), rtsp=True)
        server.folder, server.srt_port, server.rtmp_port = folder, srt_port, rtmp_port
        return run_on_rtsp([asking, publishing, pushing, on_the_command_line], server)


if __name__ == "__main__":
    sys.exit(main())
