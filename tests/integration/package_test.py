#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gopmill package: what it writes is what the server answers, plays from any web server, and is there as a whole
or not at all."""

import functools
import http.server
import json
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import hls_check  # noqa: E402
from served import PROGRAM, Server, check, run_all, wait_until  # noqa: E402

# The first is coded by encoders with threads; the server decodes on another thread besides.
LADDER = {"rungs": "640x360:400k,192x108:60k", "preset": "ultrafast", "duration": "9"}


def package(source, folder, options, *flags, **run):
    command = [PROGRAM, "package", str(source), str(folder), "--quiet", *flags]
    for name, value in options.items():
        command += [f"--{name}", value]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **run)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class WebServer:
    """One that knows nothing of movies."""

    def __init__(self, folder):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def make_movie(folder):
    """Two sound tracks, one of text inside and one beside."""
    text = folder / "text.srt"
    text.write_text("1\n00:00:01,000 --> 00:00:03,500\nOne & two\n", encoding="utf-8")
    (folder / "movie.de.srt").write_text("1\n00:00:02,000 --> 00:00:04,000\nZwei\n", encoding="utf-8")
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=7", "-f", "lavfi",
                    "-i", "sine=f=300:r=48000:d=7", "-f", "lavfi", "-i", "sine=f=700:r=48000:d=7", "-i", str(text), "-map",
                    "0", "-map", "1", "-map", "2", "-map", "3", "-metadata:s:a:0", "language=eng", "-metadata:s:a:1",
                    "language=ger", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-bf", "2", "-c:a", "aac",
                    str(folder / "movie.mkv")], check=True)


def every_file_is_what_the_server_answers(server, folder):
    """Playlists but for the queries of their names."""
    made = folder / "ladder"
    result = package("movies/files/sync-720p.mp4", made, LADDER)
    check(result.returncode == 0 and not result.stderr, f"package: {result.stderr}")
    query = "&".join(f"{name}={value}" for name, value in LADDER.items())
    found = files(made)
    check(len([name for name in found if re.fullmatch(r"v[01]-\d+\.m4s", name)]) == 10, f"segments: {list(found)}")
    for name, data in found.items():
        kind = "dash" if name.endswith(".mpd") else "hls"
        answer = server.get(f"/v1/{kind}/sync-720p.mp4/{name}?{query}")[1]
        if name.endswith((".m3u8", ".mpd", ".vtt")):
            answer = re.sub(rb"\?(?!xml|>)[^\"\s#]*", b"", answer)
            # The server states what segments may take, files what they took.
            data, answer = (re.sub(rb"(BANDWIDTH=|bandwidth=\")\d+", rb"\1", text) for text in (data, answer))
        check(data == answer, f"{name} differs from the server's")


def names_what_is_there(made):
    """Every name in every playlist is a file, and every file but the first ones is named by one."""
    named = {"master.m3u8", "manifest.mpd"}
    for playlist in made.rglob("*.m3u8"):
        for quoted, plain in re.findall(r'URI="([^"]+)"|^([^#\s]+)$', playlist.read_text(), re.M):
            named.add(str((playlist.parent / (quoted or plain)).relative_to(made)))
    found = set(files(made))
    check(not named - found - {"manifest.mpd"}, f"named and not there: {sorted(named - found)}")
    # Whole subtitles and the times of thumbnails are for DASH players and web pages.
    rest = {name for name in found - named if not re.fullmatch(r"[st]\d+\.vtt", name)}
    check(not rest, f"there and not named: {sorted(rest)}")


def rules_and_clients(folder):
    """hls_check holds the playlists and the manifest against the media."""
    made = folder / "tracks"
    result = package(folder / "movie.mkv", made, {"rungs": "128x72:100k,64x36:40k", "segment": "1"}, "--json", "-")
    check(result.returncode == 0, f"package: {result.stderr}")
    report = json.loads(result.stdout)
    check(report["frames"] == 175 and report["sounds"] == 2 and report["sounds_left_out"] == 0 and report["subtitles"] == 2, f"report {report}")
    check(report["files"] == len(files(made)) and report["bytes"] == sum(map(len, files(made).values())), "files counted")
    for rendition in report["renditions"]:
        check(0 < rendition["mean_bps"] <= rendition["peak_bps"] < 2 * rendition["bitrate"], f"declared {rendition}")
    with WebServer(made) as web:
        problems, facts = hls_check.check(f"{web.base}/master.m3u8")
        check(not problems, f"rules: {problems[:5]}")
        check(len(facts) == 4, f"renditions: {list(facts)}")
        lines = (made / "master.m3u8").read_text().splitlines()
        said = {uri: hls_check.attributes(line) for line, uri in zip(lines, lines[1:]) if "STREAM-INF:B" in line}
        loudest = max(fact["peak"] for name, fact in facts.items() if name.startswith("a0"))
        for number in (0, 1):
            most, states = facts[f"v{number}"]["peak"] + loudest, int(said[f"v{number}.m3u8"]["BANDWIDTH"])
            check(most <= states <= most + 2, f"BANDWIDTH {states}, measured {most}")
        for text in ("master.m3u8", "manifest.mpd"):
            for number, hertz in enumerate((300, 700)):
                raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", f"{web.base}/{text}", "-map", f"0:a:{number}",
                                      "-ac", "1", "-ar", "8000", "-f", "s16le", "-"], capture_output=True, check=True).stdout
                samples = [int.from_bytes(raw[i:i + 2], "little", signed=True) for i in range(8000, 24000, 2)]
                turns = sum(a < 0 <= b for a, b in zip(samples, samples[1:]))
                check(abs(turns - hertz) < 10, f"{text}, sound {number}: {turns} Hz instead of {hertz}")
    names_what_is_there(made)
    frames = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-select_streams", "v:0", "-show_entries",
                             "stream=nb_read_frames", "-of", "csv=p=0", str(made / "v0.m3u8")], capture_output=True, text=True,
                            check=True).stdout
    check(frames.split()[0] == "175", f"ffprobe on the files counts {frames}")


def same_bytes_and_transport_streams(folder):
    # The first is large enough for threads of its own where workers are left over.
    options = {"rungs": "640x360:500k,128x72:100k,64x36:40k", "maxrate": "600k", "container": "ts"}
    for number, workers in enumerate(("1", "2", "8")):
        result = package(folder / "movie.mkv", folder / f"ts{number}", options, "--workers", workers)
        check(result.returncode == 0, f"{workers} workers: {result.stderr}")
    names_what_is_there(folder / "ts0")
    first = files(folder / "ts0")
    check("v1-3.ts" in first and "manifest.mpd" not in first and "v0-init.mp4" not in first, f"files {list(first)}")
    check("audio-2/a0-0.ts" in first, "the other sound track")
    for number in (1, 2):
        check(files(folder / f"ts{number}") == first, f"other bytes with other workers ({number})")


def mistakes_are_told_and_leave_nothing(folder):
    taken = folder / "taken"
    taken.mkdir()
    (taken / "mine.txt").write_text("mine")
    movie = folder / "movie.mkv"
    one = {"width": "64", "bitrate": "40k"}
    cases = [((movie, taken, one), 2, "exists already"),
             ((movie, folder / "none/out", one), 2, "There is no folder"),
             ((folder / "nothing.mkv", folder / "out", one), 3, "cannot be opened"),
             ((folder, folder / "out", one), 3, "is no file"),
             (("-", folder / "out", one), 3, "is no file"),
             ((movie, "-", one), 2, "folder of files"),
             ((folder / "text.srt", folder / "out", one), 3, ""),
             ((movie, folder / "out", {"rungs": "64x36"}), 2, "ladder"),
             ((movie, folder / "out", {"segment": "99"}), 2, "0.5 to 20"),
             ((movie, folder / "out", {"unit": "2"}), 2, "no option --unit"),
             ((movie, folder / "out", {"container": "webm"}), 2, "mp4 or ts"),
             ((movie, folder / "out", {"start": "100"}), 2, "start"),
             ((movie, folder / "out", {"class": "gold"}), 2, "class")]
    before = {path.name for path in folder.iterdir()}
    for (source, out, options), code, words in cases:
        result = package(source, out, options)
        check(result.returncode == code and words in result.stderr,
              f"{source} {out} {options}: {result.returncode} {result.stderr}")
    check({path.name for path in folder.iterdir()} == before, "something is left")
    check((taken / "mine.txt").read_text() == "mine", "what was there is kept")
    failure = json.loads(package(folder / "nothing.mkv", folder / "out", one, "--json", "-").stdout)["error"]
    check((failure["code"], failure["parameter"]) == ("not-found", "input"), f"no source: {failure}")
    result = package(movie, folder / "out", one, "--json", str(folder / "none/x.json"))
    check(result.returncode == 2 and "cannot be written" in result.stderr, f"json: {result.returncode} {result.stderr}")
    check({path.name for path in folder.iterdir()} == before, "found before the work")


def no_report_becomes_a_part_of_the_package(folder):
    """Of any name, by whatever path, whatever becomes of the package: the next run finds an empty folder."""
    one = {"width": "64", "bitrate": "40k", "duration": "2"}
    made = folder / "reported"
    made.mkdir()
    (folder / "reported-link").symlink_to(made)
    for source in (folder / "movie.mkv", folder / "text.srt"):
        for report in (made / "master.m3u8", made / "report.json", folder / "reported-link/master.m3u8"):
            for out in (made, f"{made}/", folder / "reported-link"):
                result = package(source, out, one, "--json", str(report))
                check(result.returncode == 2 and "a file outside of OUT, or -" in result.stderr, f"{report} in {out}: {result.returncode} {result.stderr}")
                check(not any(made.iterdir()), f"{report} in {out} is left")
    result = package(folder / "movie.mkv", ".", one, "--json", "../reported.json", cwd=made)
    check(result.returncode == 0 and json.loads((folder / "reported.json").read_text())["frames"] == 50, f"beside it: {result.stderr}")
    check((made / "master.m3u8").read_text().startswith("#EXTM3U"), "the package is whole")


def subtitles_lie_beside_the_name_given(folder):
    """Also where that is a link, as for transcode: not beside what it leads to."""
    shown = folder / "shown"
    shown.mkdir()
    (shown / "film.mkv").symlink_to("../movie.mkv")
    (shown / "film.fr.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nTrois\n", encoding="utf-8")
    (shown / "bare").symlink_to("film.mkv")
    one = {"width": "64", "bitrate": "40k", "duration": "2"}
    cases = [(shown / "film.mkv", {}, ["fr"]), ("film.mkv", {"cwd": shown}, ["fr"]), (shown / "bare", {}, []), (folder / "movie.mkv", {}, ["de"])]
    for number, (source, run, wanted) in enumerate(cases):
        made = folder / f"shown{number}"
        result = package(source, made, one, **run)
        check(result.returncode == 0, f"{source}: {result.stderr}")
        # The movie's own says no language.
        texts = re.findall(r"TYPE=SUBTITLES.*", (made / "master.m3u8").read_text())
        found = [language for text in texts for language in re.findall(r'LANGUAGE="(\w+)"', text)]
        check(len(texts) == 1 + len(wanted) and found == wanted, f"{source}: subtitles {texts}")
    sink = folder / "shown.mkv"
    command = [PROGRAM, "transcode", str(shown / "film.mkv"), str(sink), "--size", "64x36", "--subtitles", "copy", "--quiet"]
    subprocess.run(command, check=True, timeout=300)
    streams = json.loads(subprocess.run(["ffprobe", "-v", "error", "-select_streams", "s", "-show_streams", "-of", "json", str(sink)],
                                        capture_output=True, text=True, check=True).stdout)["streams"]
    check(len(streams) == 2, f"transcode has {len(streams)}")


def what_is_lost_is_told(folder):
    """A damaged movie, and one whose first sound track is of no codec that is known."""
    data = bytearray((folder / "movie.mkv").read_bytes())
    for at in range(len(data) // 3, len(data) - 2000, 61):
        data[at] ^= 0x5A
    (folder / "damaged.mkv").write_bytes(data)
    one = {"width": "64", "bitrate": "40k"}
    result = package(folder / "damaged.mkv", folder / "out1", one, "--json", "-")
    check(result.returncode == 0, f"damaged: {result.stderr}")
    report = json.loads(result.stdout)
    check(report["damaged_video_packets"] > 0, f"damaged: {report}")
    command = [PROGRAM, "package", folder / "damaged.mkv", folder / "out2", "--width", "64", "--bitrate", "40k", "--json", "-"]
    text = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stderr
    check(re.search(r"warning: \d+ packets of pictures could not be decoded", text), f"damaged: {text}")
    data = (folder / "movie.mkv").read_bytes().replace(b"A_AAC", b"A_XYZ", 1)
    (folder / "unknown.mkv").write_bytes(data)
    result = package(folder / "unknown.mkv", folder / "out3", one, "--json", "-")
    check(result.returncode == 0, f"unknown sound: {result.stderr}")
    report = json.loads(result.stdout)
    check(report["sounds"] == 1 and report["sounds_left_out"] == 1, f"unknown sound: {report}")
    check("TYPE=AUDIO" in (folder / "out3/master.m3u8").read_text(), "the track that can be played is there")
    # A transport stream whose second part begins 0.4 s before the first.
    parts = b""
    for seconds, offset in ((0.6, 10), (3, 9.6)):
        parts += subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25", "-t", str(seconds), "-c:v",
                                 "libx264", "-bf", "0", "-output_ts_offset", str(offset), "-f", "mpegts", "-"],
                                capture_output=True, check=True).stdout
    (folder / "twice.ts").write_bytes(parts)
    result = package(folder / "twice.ts", folder / "out5", one, "--json", "-")
    check(result.returncode == 0 and json.loads(result.stdout)["frames_left_out"] == 10, f"begins twice: {result.stdout}")
    (folder / ".hidden.mkv").write_bytes((folder / "movie.mkv").read_bytes())
    result = package(folder / ".hidden.mkv", folder / "out4", one)
    check(result.returncode == 0, f"hidden: {result.stderr}")


def sound_goes_on_over_rounded_times(folder):
    """Matroska rounds to milliseconds, and packets of these codecs have no length that is known without them: a tone stays a tone."""
    for codec, flags in (("dca", ["-strict", "-2"]), ("libvorbis", [])):
        movie, made = folder / f"{codec}.mkv", folder / f"{codec}-made"
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=9", "-f", "lavfi", "-i",
                        "sine=f=440:d=9:r=48000", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", codec, *flags, "-ac", "2", movie], check=True)
        run = package(movie, made, {"preset": "ultrafast", "segment": "2"})
        check(run.returncode == 0, f"{codec}: {run.stderr}")
        heard = subprocess.run(["ffmpeg", "-nostdin", "-i", made / "a0.m3u8", "-af", "highpass=f=3000,highpass=f=3000,highpass=f=3000,volumedetect",
                                "-f", "null", "-"], capture_output=True, text=True, check=False).stderr
        above = float(re.search(r"mean_volume: (\S+) dB", heard)[1])
        check(above < -75, f"{codec}: {above} dB above 3 kHz in a tone of 440 Hz")


def any_empty_folder_is_filled(folder):
    """Also the working directory, one behind a link, one with a mode of its own, and one that a killed process left."""
    movie = folder / "movie.mkv"
    one = {"width": "64", "bitrate": "40k", "duration": "2"}
    empty = folder / "empty"
    empty.mkdir()
    empty.chmod(0o2775)
    result = package(movie, f"{empty}/", one)
    check(result.returncode == 0 and (empty / "master.m3u8").is_file(), f"an empty folder is filled: {result.stderr}")
    check(empty.stat().st_mode & 0o7777 == 0o2775, "it keeps its mode")
    check(not (empty / ".gopmill-incomplete").exists(), "nothing hidden is left")
    here = folder / "here"
    here.mkdir()
    result = package(movie, ".", one, cwd=here)
    check(result.returncode == 0 and (here / "manifest.mpd").is_file(), f"the working directory: {result.stderr}")
    behind = folder / "behind"
    behind.mkdir()
    (folder / "link").symlink_to(behind)
    result = package(movie, folder / "link", one)
    check(result.returncode == 0 and (behind / "master.m3u8").is_file(), f"a link: {result.stderr}")
    (folder / "dangling").symlink_to(folder / "nowhere")
    result = package(movie, folder / "dangling", one)
    check(result.returncode == 2 and "link to nothing" in result.stderr, f"dangling: {result.returncode} {result.stderr}")
    left = folder / "left"
    with subprocess.Popen([PROGRAM, "package", "movies/files/modern-720p.mp4", str(left), "--quiet"]) as process:
        wait_until(lambda: any(left.glob(".gopmill-incomplete/*")), 60, "it writes")
        process.kill()
    result = package(movie, left, one)
    check(result.returncode == 0 and len(list(left.glob("v0-*"))) == 2, f"after a kill: {result.stderr}")


def interrupted_and_full(folder):
    """A limit on the size of files stands for a full disk."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    before = {path.name for path in folder.iterdir()}
    result = package("movies/files/sync-720p.mp4", folder / "full", {"bitrate": "500k", "preset": "ultrafast"}, preexec_fn=limit)
    check(result.returncode != 0 and "cannot be written" in result.stderr, f"full: {result.returncode} {result.stderr}")
    output = str(folder / "full.mp4")
    result = subprocess.run([PROGRAM, "transcode", "movies/files/sync-720p.mp4", output, "--size", "160x90", "--quiet"],
                            capture_output=True, text=True, preexec_fn=limit)
    check(result.returncode == 1 and output in result.stderr, f"the full disk is named: {result.stderr}")
    check({path.name for path in folder.iterdir()} == before, "a full disk leaves nothing")
    with subprocess.Popen([PROGRAM, "package", "movies/files/modern-720p.mp4", str(folder / "gone"), "--quiet"],
                          stderr=subprocess.PIPE, text=True) as process:
        temporary = folder / "gone/.gopmill-incomplete"
        wait_until(lambda: temporary.is_dir() and any(temporary.iterdir()), 60, "it writes")
        result = package(folder / "movie.mkv", folder / "gone", {"width": "64", "bitrate": "40k"})
        check(result.returncode == 2 and "Another gopmill" in result.stderr, f"two: {result.stderr}")
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=60)[1]
        check(process.returncode == 130 and "nothing is left" in text, f"interrupted: {process.returncode} {text}")
    check({path.name for path in folder.iterdir()} == before, "an interrupted package leaves nothing")


def one_that_shall_outlive_its_terminal(folder):
    made = folder / "hung-up"
    options = ["--bitrate", "500k", "--preset", "ultrafast", "--quiet"]
    with subprocess.Popen(["nohup", PROGRAM, "package", "movies/files/sync-720p.mp4", str(made), *options],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: any(made.glob(".gopmill-incomplete/*")), 60, "it writes")
        process.send_signal(signal.SIGHUP)
        check(process.wait(timeout=120) == 0 and (made / "master.m3u8").is_file(), f"under nohup: {process.returncode}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_movie(folder)
        with Server("movies/files", "--segment-cache-bytes", "0") as server:
            run_all([every_file_is_what_the_server_answers], server, folder)
        return run_all([rules_and_clients, sound_goes_on_over_rounded_times, same_bytes_and_transport_streams, mistakes_are_told_and_leave_nothing,
                        no_report_becomes_a_part_of_the_package, subtitles_lie_beside_the_name_given,
                        what_is_lost_is_told, any_empty_folder_is_filled, interrupted_and_full,
                        one_that_shall_outlive_its_terminal], folder)


if __name__ == "__main__":
    sys.exit(main())
