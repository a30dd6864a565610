#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each container that may be uploaded: transcoded while it comes (POST), and published as a live source (PUT)."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from http_test import pieces_of, upload  # noqa: E402
from live_test import Publisher  # noqa: E402
from served import Server, check, decode, make_stream, pitch, read_in_thread, run_all, run_beside_each_other, wait_until  # noqa: E402

QUERY = "width=160&bitrate=100k&preset=ultrafast&container=ts"
SECONDS = 3
# How ffmpeg is to write them, so that they can be read from front to end.
FORMS = {
    "mpegts": ("-f", "mpegts"),
    "matroska": ("-f", "matroska"),
    "fragments": ("-f", "mp4", "-movflags", "frag_keyframe+delay_moov"),
    "flv": ("-f", "flv"),
}
MOOV_IN_FRONT = ("-f", "mp4", "-movflags", "faststart")
# These have their index behind, and are read when they are whole.
INDEX_BEHIND = {"mp4": ("-f", "mp4"), "mov": ("-f", "mov"), "3gp": ("-f", "3gp")}


def is_whole(name, status, body):
    check(status == 200, f"{name}: {status} {body[:200]}")
    streams = decode(body)
    check(int(streams["video"]["nb_read_frames"]) == 30 * SECONDS, f"{name}: {streams['video']}")
    check(abs(float(streams["audio"]["duration"]) - SECONDS) < 0.1, f"{name}: {streams['audio']}")
    heard = pitch(body, name)
    check(abs(heard - 440) < 10, f"{name}: {heard:.0f} Hz")


def is_transcoded(server, name, form):
    source = make_stream(server.folder, f"{name}.upload", SECONDS, sound=("-c:a", "aac", *form))
    answer, body = upload(server, QUERY, pieces_of(Path(source).read_bytes()), "POST")
    is_whole(f"POST of {name}", answer.status, body)


def is_published(server, name, movie):
    result = {}
    reader = read_in_thread(server, name, QUERY, result)
    wait_until(lambda: server.live(name)["readers"] == 1, 10, f"{name}: a reader that waits")
    status, body = Publisher(server, name, movie, form=FORMS[name]).finish()
    check(status == 200, f"PUT of {name}: {status} {body[:200]}")
    reader.join()
    is_whole(f"PUT of {name}", result["status"], result["body"])


def uploads(server):
    for name, form in (*FORMS.items(), ("mp4", MOOV_IN_FRONT)):
        is_transcoded(server, name, form)


def is_let_go(server):
    wait_until(lambda: server.metric("gopmill_upload_spool_bytes") == 0, 10, "the file of an upload is let go")


def with_their_index_behind(server):
    """As of the file itself."""
    for name, form in INDEX_BEHIND.items():
        movie = Path(make_stream(server.folder, f"behind.{name}", SECONDS, sound=("-c:a", "aac", *form)))
        answer, body = upload(server, QUERY, pieces_of(movie.read_bytes()), "POST")
        is_whole(f"POST of {movie.name}", answer.status, body)
        check(server.get(f"/v1/transcode/{movie.name}?{QUERY}")[1] == body, f"{movie.name}: the file gives other bytes")
    is_let_go(server)
    answer, body = upload(server, QUERY, pieces_of(movie.read_bytes()[:-1000]), "POST")
    check(answer.status == 422, f"without the end of its index: {answer.status} {body[:300]}")
    is_let_go(server)


def whoever_leaves_takes_it_along(server):
    movie = Path(make_stream(server.folder, "leaver.mp4", SECONDS, sound=("-c:a", "aac", *INDEX_BEHIND["mp4"])))
    client = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    client.sendall(f"POST /v1/transcode?{QUERY} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n".encode() + movie.read_bytes()[:20_000])
    wait_until(lambda: server.metric("gopmill_upload_spool_bytes") == 20_000, 10, "what came is kept")
    client.close()
    is_let_go(server)


def what_is_kept_has_a_limit(server):
    movie = Path(make_stream(server.folder, "limited.mp4", SECONDS, sound=("-c:a", "aac", *INDEX_BEHIND["mp4"]))).read_bytes()
    front = Path(make_stream(server.folder, "front.mp4", SECONDS, sound=("-c:a", "aac", *MOOV_IN_FRONT))).read_bytes()
    for limit, status, text in (("20000", 503, "may take 20000 bytes"), ("0", 422, "while it comes")):
        os.environ["GOPMILL_HTTP_SPOOL_BYTES"] = limit
        with Server(server.folder) as small:
            answer, body = upload(small, QUERY, pieces_of(movie), "POST")
            check(answer.status == status and text in json.loads(body)["detail"], f"{limit}: {answer.status} {body}")
            is_let_go(small)
            answer, body = upload(small, QUERY, pieces_of(front), "POST")
            is_whole("one with its index in front", answer.status, body)
    del os.environ["GOPMILL_HTTP_SPOOL_BYTES"]


def live_uploads(server):
    movie = make_stream(server.folder, "cam.mkv", SECONDS)
    run_beside_each_other(*((is_published, server, name, movie) for name in FORMS))


def quiet_tenths(body):
    """Tenths of a second in which a tone is not heard; the first and the last may have the encoder's own silence."""
    raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", "-", "-f", "s16le", "-ac", "1", "-ar", "48000", "-"],
                         input=body, capture_output=True, check=False).stdout
    samples = array("h", raw)
    return [at / 48000 for at in range(4800, len(samples) - 9600, 4800) if max(map(abs, samples[at:at + 4800])) < 500]


def the_first_frames_of_sound_are_heard(server):
    """A packet of a transport stream holds many frames of slow sound and the time of the first. FFmpeg gives the others of the first
    packet none while it does not know the rate."""
    movie = make_stream(server.folder, "slow.ts", SECONDS, ("-c:v", "libx264", "-preset", "veryfast", "-g", "30", "-bf", "3"),
                        ("-c:a", "aac", "-b:a", "24k"))
    answer, body = upload(server, QUERY, pieces_of(Path(movie).read_bytes()), "POST")
    check(answer.status == 200 and not quiet_tenths(body), f"POST: {answer.status}, quiet at {quiet_tenths(body)}")
    result = {}
    reader = read_in_thread(server, "slow", QUERY, result)
    wait_until(lambda: server.live("slow")["readers"] == 1, 10, "a reader that waits")
    status, _ = Publisher(server, "slow", movie, command=("cat", movie)).finish()
    reader.join()
    quiet = quiet_tenths(result["body"])
    check(status == 200 and not quiet, f"PUT: {status}, quiet at {quiet}")


def sound_that_comes_late_is_no_unsupported_codec(server):
    movie = Path(server.folder, "late.ts")
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=30:d=14", "-itsoffset", "11", "-f",
                    "lavfi", "-i", "sine=d=3", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", str(movie)], check=True)
    answer, _ = upload(server, f"{QUERY}&acodec=aac", pieces_of(movie.read_bytes()), "POST")
    adjusted = answer.getheader("X-Gopmill-Adjusted") or ""
    check("cannot be used: aac (nothing of it came in time)" in adjusted, f"late sound: {answer.status} {adjusted}")


def a_duration_is_kept(server):
    """Also where the demultiplexer knows how long the first fragments are, but not the source."""
    for name, form in FORMS.items():
        source = make_stream(server.folder, f"{name}.cut", 4, sound=("-c:a", "aac", *form))
        answer, body = upload(server, f"{QUERY}&duration=2", pieces_of(Path(source).read_bytes()), "POST")
        frames = int(decode(body)["video"]["nb_read_frames"])
        check(answer.status == 200 and frames == 60, f"two seconds of {name}: {frames} pictures, {answer.getheader('X-Gopmill-Adjusted')}")


def main():
    os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "4"
    with tempfile.TemporaryDirectory() as folder, Server(folder) as server:
        server.folder = folder
        return run_all([uploads, with_their_index_behind, whoever_leaves_takes_it_along, what_is_kept_has_a_limit, live_uploads, the_first_frames_of_sound_are_heard, sound_that_comes_late_is_no_unsupported_codec, a_duration_is_kept], server)


if __name__ == "__main__":
    sys.exit(main())
