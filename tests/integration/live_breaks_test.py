#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Publishers whose stream breaks in the middle, breaks off, stalls, or has no picture to begin with: they are told, the log has it,
and readers do not wait without end."""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from live_test import Publisher, Reader  # noqa: E402
from served import Server, check, make_stream, run_all, run_beside_each_other, wait_until  # noqa: E402

os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "3"
QUERY = "width=160&bitrate=100k&preset=ultrafast&container=ts"
# Places in it count from its begin.
FRAGMENTED = ("-movflags", "frag_keyframe+empty_moov")
FORMS = {"mp4": FRAGMENTED, "ts": (), "mkv": (), "flv": ("-ar", "44100")}


def send(server, name, data):
    """As a publisher that ends there; its answer."""
    path = Path(server.folder, f"{name}.sent")
    path.write_bytes(data)
    status, body = Publisher(server, name, "", command=("cat", str(path))).finish()
    return status, json.loads(body)


def movie(server, kind):
    video = ("-c:v", "libx264", "-preset", "ultrafast", "-g", "30", *FORMS[kind])
    return Path(make_stream(server.folder, f"whole.{kind}", 4, video)).read_bytes()


def two_in_one_body(server):
    """The second one is not read: who sends it hears of that, and so does the log."""
    data = movie(server, "mp4")
    _, whole = send(server, "one", data)
    status, answer = send(server, "two", 2 * data)
    check(status == 422 and "could not be read on" in answer.get("detail", ""), f"two movies in one body: {status} {answer}")
    wait_until(lambda: any("live two: the publisher has gone" in line and "could not be read on" in line for line in server.log), 5,
               "the log does not say why")
    # What it hears of is its own, whoever came before.
    _, again = send(server, "one", data)
    check(again["counts"] == whole["counts"], f"the second publisher of a name hears of {again['counts']}, the first {whole['counts']}")


def that_break_off(server, kind):
    """A connection that ends is no damage, wherever it does."""
    data = movie(server, kind)
    for part in range(40, 100, 3):
        status, answer = send(server, f"off-{kind}", data[:len(data) * part // 100])
        check(status == 200, f"{part} % of a movie in {kind}: {status} {answer}")


def without_key_pictures(server):
    """Its first picture was one; a reader comes behind it."""
    path = make_stream(server.folder, "onekey.ts", 20, ("-c:v", "libx264", "-preset", "ultrafast", "-g", "1000"))
    publisher = Publisher(server, "onekey", path)
    wait_until(lambda: server.live("onekey")["counts"]["packets"] > 60, 20, "packets have come")
    begin = time.monotonic()
    answer, body = server.get(f"/v1/transcode/live/onekey?{QUERY}")
    took = time.monotonic() - begin
    check(answer.status == 503 and b"no key picture" in body, f"no key picture: {answer.status} {body[:300]}")
    check(2.5 < took < 12, f"who waited for a key picture was told after {took:.1f} s")
    publisher.kill()


def a_stalled_one(server):
    path = make_stream(server.folder, "stalls.ts", 3)
    publisher = Publisher(server, "stalls", path, command=(
        "sh", "-c", f"ffmpeg -nostdin -v error -re -i '{path}' -c copy -f mpegts -; exec sleep 60"))
    wait_until(lambda: server.live("stalls")["counts"]["packets"] > 10, 20, "packets have come")
    time.sleep(3)  # it is over
    reader = Reader(server, "stalls", QUERY)
    begin = time.monotonic()
    reader.thread.join()
    check(reader.answer.status == 503 and time.monotonic() - begin < 15, f"a stalled publisher's reader: {reader.answer.status}")
    status, _ = publisher.finish()
    check(status == 408, f"a stalled publisher: {status}")
    wait_until(lambda: any("/v1/live/stalls" in line and "The body stopped arriving" in line for line in server.log), 10, "the log says why")


def main():
    with tempfile.TemporaryDirectory() as folder:
        with Server(folder) as server:
            server.folder = folder
            run_beside_each_other((without_key_pictures, server), (a_stalled_one, server), (two_in_one_body, server))
            return run_all([lambda server, kind=kind: that_break_off(server, kind) for kind in FORMS], server)


if __name__ == "__main__":
    sys.exit(main())
