#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What lets strangers in elsewhere: paths that nobody guards, names of publishers that become names of files, parameters and names
of movies that become options of a program, playlists in the clothes of movies that have the server fetch something."""

import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from access_test import basic  # noqa: E402
from openapi_test import EXAMPLE  # noqa: E402
from served import Server, check, decode, make_stream, run_all  # noqa: E402

QUERY = "width=160&height=90&bitrate=100k&preset=ultrafast"
OPEN = {"/healthz", "/readyz"}
METHODS = {"get", "head", "post", "put", "delete"}
# Parts of a movie that has been played: what is kept needs a user too.
PARTS = ("master.m3u8", "v0.m3u8", "v0-0.m4s", "a0-0.m4s", "p0-0.jpg", "t0-0.jpg")
NAMES = ("../../pwned", "..%2f..%2fpwned", "%2e%2e%2fpwned", "%2fetc%2fpwned", "a%2f..%2f..%2fpwned", "..", "a%00b", "a%5c..%5cpwned", "a/../../pwned")
VALUES = ("{0} -y {1}", "{0};{1}", "{0}:log={1}", "{0},movie={1}", "{0}|{1}", "{0} -f mp4 file:{1}", "-i {1}", "file:{1}", "{0}\n{1}", "{0}$({1})")
PARAMETERS = {"vcodec": "h264", "preset": "ultrafast", "profile": "main", "acodec": "aac", "container": "ts", "fps": "25", "bitrate": "100k",
              "size": "160x90", "audio": "1", "burn": "1", "subtitles": "copy", "start": "0", "class": "default", "denoise": "light"}
MOVIES = ("-i.mkv", "--help.mkv", "-y -f null.mkv", "concat:a.mkv|a.mkv", "subfile,,start,0,end,9,,:a.mkv", "file:a.mkv", "pipe:0", "data:text,a.mkv",
          "crypto:a.mkv", "%d.mkv", "a'[x];.mkv", "$(id).mkv", "a:b=c\\.mkv")


def files_below(folder):
    return {str(path.relative_to(folder)) for path in Path(folder).rglob("*")}


def every_path_asks_for_a_user(server):
    """Also of movies and streams that somebody else plays, whose names and numbers can be guessed."""
    for path in ("/v1/transcode/a.mkv", *(f"/v1/hls/a.mkv/{part}" for part in PARTS)):
        answer, body = server.get(f"{path}?{QUERY}", headers=basic("bob:eyes"))
        check(answer.status == 200, f"{path} for a user: {answer.status} {body[:100]}")
    streams = json.loads(server.get("/v1/streams", headers=basic("bob:eyes"))[1])["streams"]
    described = json.loads(server.get("/openapi.json", headers=basic("bob:eyes"))[1])["paths"]
    paths = {(EXAMPLE.get(path, path), method.upper()) for path, methods in described.items() for method in methods if method in METHODS}
    paths |= {(f"/v1/hls/a.mkv/{part}?{QUERY}", "GET") for part in PARTS} | {(f"/v1/streams/{one['id']}", "GET") for one in streams}
    check(len(paths) > 25 and streams, f"{len(paths)} paths, {len(streams)} streams")
    for path, method in sorted(paths):
        for headers in (None, basic("bob:wrong"), {"Authorization": "Bearer bob"}):
            answer, body = server.get(path, method, headers)
            expected = 200 if path in OPEN else 401
            check(answer.status == expected, f"{method} {path} with {headers}: {answer.status} {body[:100]}")
    for method in ("DESCRIBE", "SETUP", "ANNOUNCE", "PLAY", "RECORD"):
        answer = server.ask(f"{method} {server.url('a.mkv/stream=0')} RTSP/1.0\r\nCSeq: 1\r\nSession: 1\r\nTransport: RTP/AVP/TCP;interleaved=0-1\r\n\r\n")
        check(answer.startswith(("RTSP/1.0 401 ", "RTSP/1.0 454 ")), f"{method}: {answer[:60]!r}")


def names_of_publishers_are_no_files(server):
    before = files_below(server.top)
    movie = Path(server.folder, "a.mkv").read_bytes()
    for name in NAMES:
        answer, body = server.get(f"/v1/live/{name}", "PUT", basic("cam:lens"), movie)
        check(answer.status in (400, 404), f"PUT of {name}: {answer.status} {body[:100]}")
        sdp = "v=0\r\ns=x\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"
        answer = server.ask(f"ANNOUNCE {server.url('live/' + name)} RTSP/1.0\r\nCSeq: 1\r\nAuthorization: {basic('cam:lens')['Authorization']}\r\n"
                            f"Content-Type: application/sdp\r\nContent-Length: {len(sdp)}\r\n\r\n{sdp}")
        check(answer.startswith(("RTSP/1.0 400 ", "RTSP/1.0 404 ")), f"ANNOUNCE of {name}: {answer[:60]!r}")
    new = {path for path in files_below(server.top) - before if not path.startswith("cache")}
    check(not new, f"files of publishers: {new}")


def texts_are_no_options(server):
    """What a value that is taken would have a program write is not there, whatever the answer is."""
    before = files_below(server.top)
    for name, good in PARAMETERS.items():
        for value in VALUES:
            text = quote(value.format(good, server.top + "/pwned"))
            for path in ("/v1/transcode/a.mkv", "/v1/explain/a.mkv", "/v1/hls/a.mkv/master.m3u8"):
                answer, body = server.get(f"{path}?{name}={text}")
                check(answer.status in (400, 422), f"{path} {name}={value}: {answer.status} {body[:100]}")
    new = {path for path in files_below(server.top) - before if not path.startswith("cache")}
    check(not new, f"files of requests: {new}")


def names_of_movies_are_names(server):
    """Each is a movie of two seconds, whatever it looks like; and text that lies beside it is drawn."""
    for name in MOVIES:
        answer, body = server.get(f"/v1/transcode/{quote(name)}?{QUERY}&fps=30&container=ts")
        if "\\" in name:
            check(answer.status == 400, f"{name}: {answer.status}")
            continue
        check(answer.status == 200, f"{name}: {answer.status} {body[:200]}")
        check(int(decode(body)["video"]["nb_read_frames"]) == 60, f"{name}: not its own pictures")
    answer, body = server.get(f"/v1/transcode/{quote(MOVIES[0])}?{QUERY}&burn=1&container=ts")
    check(answer.status == 200, f"text beside {MOVIES[0]}: {answer.status} {body[:200]}")


def playlists(url, path):
    """What FFmpeg has a demuxer for that opens what it reads of."""
    return {
        "m3u8": f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-KEY:METHOD=AES-128,URI=\"{url}/key\"\n#EXTINF:2,\n{url}/0.ts\n"
                f"#EXTINF:2,\nfile://{path}\n#EXT-X-ENDLIST\n",
        "mpd": f'<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" profiles="urn:mpeg:dash:profile:isoff-on-demand:'
               f'2011" mediaPresentationDuration="PT4S"><Period><AdaptationSet mimeType="video/mp4"><Representation id="0" bandwidth="1">'
               f'<BaseURL>{url}/0.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>',
        "ffconcat": f"ffconcat version 1.0\nfile '{url}/0.mp4'\nfile '{path}'\n",
        "sdp": "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=video 5004 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n",
        "asx": f"[Reference]\r\nRef1={url}/0.wmv\r\n",
        "rtsp": f"RTSPtext\r\n{url.replace('http', 'rtsp')}/0\r\n",
    }


def playlists_fetch_nothing(server):
    """As files under the names of movies, as uploads, as what a publisher sends. Nor does anybody wait for what they name."""
    listener = socket.create_server(("127.0.0.1", 0))
    came = []

    def listen():
        while True:
            try:
                client, peer = listener.accept()
            except OSError:
                return
            came.append(peer)
            client.close()
    threading.Thread(target=listen, daemon=True).start()
    begin = time.monotonic()
    for kind, text in playlists(f"http://127.0.0.1:{listener.getsockname()[1]}", Path(server.folder, "a.mkv").resolve()).items():
        for suffix in ("mp4", "mkv", "ts", kind):
            Path(server.folder, f"list-{kind}.{suffix}").write_text(text, encoding="ascii")
            answer, body = server.get(f"/v1/transcode/list-{kind}.{suffix}?{QUERY}")
            check(answer.status in (404, 415, 422), f"{kind} as {suffix}: {answer.status} {body[:100]}")
        for method, path in (("PUT", "/v1/transcode"), ("PUT", "/v1/live/list"), ("POST", "/v1/explain")):
            answer, body = server.get(f"{path}?{QUERY}" if "live" not in path else path, method, body=text.encode())
            check(answer.status in (405, 415, 422), f"{method} {path} of {kind}: {answer.status} {body[:100]}")
    check(not came, f"the server asked for {len(came)} of what the lists name")
    check(time.monotonic() - begin < 20, f"the server waited for {time.monotonic() - begin:.0f} s")
    listener.close()


def serve(folder, top, tests, **environment):
    os.environ.update(environment)
    with Server(folder, "--segment-cache", top + "/cache", rtsp=True) as server:
        for name in environment:
            del os.environ[name]
        if server.port is None:
            print("".join(server.log))
            sys.exit(77 if "not built" in "".join(server.log) else 1)
        server.folder, server.top = folder, top
        run_all(tests, server)


def main():
    with tempfile.TemporaryDirectory() as top:
        folder = str(Path(top, "library"))
        os.mkdir(folder)
        movie = make_stream(folder, "a.mkv", 2)
        for name in MOVIES:
            shutil.copy(movie, Path(folder, name))
        Path(folder, MOVIES[0]).with_suffix(".en.srt").write_text("1\n00:00:00,000 --> 00:00:02,000\nText\n", encoding="ascii")
        serve(folder, top, [every_path_asks_for_a_user, names_of_publishers_are_no_files],
              GOPMILL_AUTH_USERS="bob:eyes:read cam:lens:publish")
        serve(folder, top, [texts_are_no_options, names_of_movies_are_names, playlists_fetch_nothing])
        return run_all([])


if __name__ == "__main__":
    sys.exit(main())
