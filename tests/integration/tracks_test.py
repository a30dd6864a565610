#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tracks of movies. Subtitles in HLS and DASH: rules (hls_check.py), ffmpeg as a client, every form of text that sources
have, what is cut off in front, damage and garbage. Sound: each track by its number, in every way of asking."""

import json
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import hls_check  # noqa: E402
from served import PROGRAM, Server, check, pitch, run_all  # noqa: E402

ONE = "width=128&bitrate=60k&preset=ultrafast"
CUES = [(0.5, 1.5, "One"), (1.8, 2.4, "Over a border"), (3.0, 6.5, "<i>Long</i>\nin two lines"),
        (7.0, 8.0, "A & B --> ü")]


def clock(seconds):
    return f"00:00:{int(seconds):02}," + f"{round(seconds % 1 * 1000):03}"


def make_movie(folder, name, *tracks, codec="subrip", extra=()):
    """Nine seconds; each track is (language, title, disposition)."""
    text = Path(folder, "text.srt")
    text.write_text("\n\n".join(f"{n}\n{clock(a)} --> {clock(b)}\n{words}" for n, (a, b, words) in enumerate(CUES, 1)),
                    encoding="utf-8")
    command = ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=9", "-f", "lavfi",
               "-i", "sine=d=9"]
    for _ in tracks:
        command += ["-i", str(text)]
    command += ["-map", "0", "-map", "1"]
    for n, (language, title, disposition) in enumerate(tracks):
        command += ["-map", str(n + 2), f"-metadata:s:s:{n}", f"language={language}", f"-metadata:s:s:{n}",
                    f"title={title}", f"-disposition:s:{n}", disposition]
    subprocess.run([*command, "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-c:a", "aac", "-c:s", codec, *extra,
                    "-y", str(Path(folder, name))], check=True)


def payload(words):
    return words.replace("-->", "→").replace("&", "&amp;")


def playlists_obey_the_rules(server):
    for movie in ("srt.mkv", "ass.mkv", "timed.mp4"):
        problems, _ = hls_check.check(f"{server.base}/v1/hls/{movie}/master.m3u8?{ONE}")
        check(not problems, f"{movie}: {problems[:5]}")
    master = server.get(f"/v1/hls/srt.mkv/master.m3u8?{ONE}")[1].decode()
    said = [hls_check.attributes(line) for line in master.splitlines() if "TYPE=SUBTITLES" in line]
    for key, values in {"NAME": ["English", "English 2", "de"], "LANGUAGE": ["en", "en", "de"],
                        "DEFAULT": ["YES", "NO", "NO"], "FORCED": ["NO", "NO", "YES"],
                        "AUTOSELECT": ["YES", "NO", "YES"]}.items():
        check([text[key] for text in said] == values, f"{key}: {[text[key] for text in said]}")
    listed = json.loads(server.get("/v1/sources")[1])["sources"]
    mine = next(s for s in listed if s["path"] == "srt.mkv")["subtitles"]
    # Sound goes on in the last segment of pictures that end earlier; whole segments are still as long as is said.
    for movie in ("sound_goes_on.mkv", "one_goes_on.mkv"):
        problems, _ = hls_check.check(f"{server.base}/v1/hls/{movie}/master.m3u8?{ONE}&segment=6")
        check(not problems, f"{movie}: {problems[:5]}")
    check([s["codec"] for s in mine] == ["subrip"] * 3 and mine[2]["forced"], f"in the list of sources: {mine}")


def every_form_says_the_same(server):
    for movie in ("srt.mkv", "ass.mkv", "timed.mp4", "web.mkv"):
        whole = server.get(f"/v1/hls/{movie}/s0.vtt?{ONE}")
        check(whole[0].getheader("Content-Type") == "text/vtt; charset=utf-8", f"{movie}: {whole[0].status}")
        got = hls_check.cues(whole[1].decode())
        # FFmpeg's WebVTT decoder takes the ">" for the end of a tag.
        expected = [words.replace("→", "--") if movie == "web.mkv" else words for words in map(payload, (c[2] for c in CUES))]
        check([words for _, _, words in got] == expected, f"{movie}: {got}")
        apart = [max(abs(a - c), abs(b - d)) for (a, b, _), (c, d, _) in zip(got, CUES)]
        check(max(apart, default=9) < 0.02, f"{movie}: cues are {apart} s off")


def text_is_not_taken_for_tags(folder):
    """WebVTT has escapes (W3C WebVTT section 4.2.2); what SubRip's tags mean stays."""
    Path(folder, "tags").mkdir()
    make_movie(folder, "tags/movie.mkv")
    Path(folder, "tags", "movie.en.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\na < b & <i>c</i> <5\n", encoding="utf-8")
    with Server(str(Path(folder, "tags"))) as server:
        text = server.get(f"/v1/hls/movie.mkv/s0.vtt?{ONE}")[1].decode()
        check("a &lt; b &amp; <i>c</i> &lt;5" in text, f"a cue: {text}")


def ffmpeg_opens_dash_with_text(server):
    """Also where the address of the text has several parameters."""
    opened = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=codec_type", "-of", "csv=p=0",
                             f"{server.base}/v1/dash/srt.mkv/manifest.mpd?{ONE}"], capture_output=True, text=True, check=False)
    check(opened.returncode == 0 and {"video", "audio"} <= set(opened.stdout.split()), f"{opened.stdout} {opened.stderr}")


def ffmpeg_reads_them(server):
    """Whole; of HLS it takes pictures and sound only (browsers are in tests/browser)."""
    out = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", f"{server.base}/v1/hls/srt.mkv/s0.vtt?{ONE}", "-f", "srt",
                          "-"], capture_output=True, text=True, check=False)
    check("One" in out.stdout and "00:00:03,000 --> 00:00:06,500" in out.stdout and not out.stderr, f"{out.stdout} {out.stderr}")


def times_are_those_of_the_pictures(server, folder):
    """A transport stream's segments say how late its clock is; what a start cuts off moves the cues."""
    segment = Path(folder, "segment")
    segment.write_bytes(server.get(f"/v1/hls/srt.mkv/v0-0.ts?{ONE}&container=ts")[1])
    first = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=pts", "-of",
                            "csv=p=0", str(segment)], capture_output=True, text=True, check=True).stdout.split()[0]
    text = server.get(f"/v1/hls/srt.mkv/s0-0.vtt?{ONE}&container=ts")[1].decode()
    check(f"MPEGTS:{first.strip(',')}," in text, f"pictures begin at {first}, the text says {text[:60]!r}")
    later = hls_check.cues(server.get(f"/v1/hls/srt.mkv/s0.vtt?{ONE}&start=4")[1].decode())
    # The source's zero is where its sound begins, a packet before the first picture.
    check([(round(a, 1), round(b, 1)) for a, b, _ in later] == [(0, 2.5), (3, 4)], f"from 4 s on: {later}")
    border = server.get(f"/v1/hls/srt.mkv/s0-0.vtt?{ONE}")[1], server.get(f"/v1/hls/srt.mkv/s0-1.vtt?{ONE}")[1]
    check(all(b"Over a border" in text for text in border), "a cue over a border is in both segments")


def make_outage(folder):
    """Ten seconds, with more than an hour in the middle missing from all tracks, and chapters: less would be a picture that stands."""
    text = Path(folder, "outage.srt.txt")
    text.write_text("1\n00:00:02,000 --> 00:00:03,000\nbefore\n\n2\n00:15:00,000 --> 00:15:01,000\nlost\n\n"
                    "3\n01:06:47,000 --> 01:06:48,000\nbehind\n", encoding="utf-8")
    Path(folder, "outage.ffmeta").write_text(";FFMETADATA1\n" + "".join(
        f"[CHAPTER]\nTIMEBASE=1/1\nSTART={a}\nEND={b}\n" for a, b in ((0, 4006), (4006, 4010))), encoding="utf-8")
    late = "setpts='PTS+if(gte(T,5),4000,0)/TB'"
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"color=gray:s=128x72:r=25:d=10,{late}", "-f", "lavfi",
                    "-i", f"sine=r=48000:d=10,a{late}", "-f", "srt", "-i", str(text), "-i", str(Path(folder, "outage.ffmeta")), "-map",
                    "0", "-map", "1", "-map", "2", "-map_chapters", "3", "-vsync", "passthrough", "-c:v", "libx264", "-preset", "ultrafast",
                    "-g", "25", "-c:a", "aac", "-c:s", "srt", str(Path(folder, "outage.mkv"))], check=True)
    Path(folder, "outage.de.srt").write_bytes(text.read_bytes())


def text_is_with_its_pictures_behind_an_outage(server, folder):
    """The pictures go on at once; so do cues, in every form, and chapters where they can."""
    for track in "01":  # the movie's own, and the file beside it
        got = [(round(a, 1), words) for a, _, words in hls_check.cues(server.get(f"/v1/hls/outage.mkv/s{track}.vtt?{ONE}")[1].decode())]
        check(got == [(2.0, "before"), (7.0, "behind")], f"in HLS, track {track}: {got}")
    for start, times, chapters in (("0", [2, 7], [0, 6]), ("4006", [1], [0])):
        made = Path(folder, "outage-made.mkv")
        result = subprocess.run([PROGRAM, "transcode", str(Path(folder, "outage.mkv")), str(made), "--preset", "ultrafast", "--crf", "30",
                                 "--subtitles", "copy", "--burn", "1", "--start", start, "--quiet", "--force"], capture_output=True,
                                text=True, check=False)
        check(result.returncode == 0, f"from {start}: {result.stderr}")
        probed = json.loads(subprocess.run(["ffprobe", "-v", "error", "-show_packets", "-show_chapters", "-of", "json", str(made)],
                                           capture_output=True, check=True).stdout)
        for track in (2, 3):
            got = [round(float(p["pts_time"]), 1) for p in probed["packets"] if p["stream_index"] == track]
            check(got == times, f"from {start}: cues of track {track} at {got}")
        got = [round(float(c["start_time"])) for c in probed["chapters"]]
        check(got == chapters, f"from {start}: chapters at {got}")
        white = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(made), "-map", "0:v", "-f", "rawvideo", "-pix_fmt", "gray",
                                "-"], capture_output=True, check=True).stdout
        size = 128 * 72
        drawn = [n // size for n in range(0, len(white), size) if max(white[n:n + size]) - min(white[n:n + size]) > 20]
        seconds = [n // 25 for n in drawn if n - 1 not in drawn]
        check(seconds == times, f"from {start}: text is drawn from the seconds {seconds} on")


def conditions(server):
    path = f"/v1/hls/srt.mkv/s0-1.vtt?{ONE}"
    made = server.metric("gopmill_segments_made_total")
    tag = server.get(path)[0].getheader("ETag")
    answer, body = server.get(path, headers={"If-None-Match": tag})
    check(answer.status == 304 and not body, "If-None-Match")
    check(server.metric("gopmill_segments_made_total") == made, "text costs no transcode")


def garbage(server):
    for name, status in [("s3.m3u8", 404), ("s0-99.vtt", 404), ("s0-999999999.vtt", 404), ("s0-.vtt", 404),
                         ("s0-1.ts", 404), ("s0-init.mp4", 404), ("s.vtt", 404), ("v0.vtt", 404), ("a0-0.vtt", 404)]:
        answer, _ = server.get(f"/v1/hls/srt.mkv/{name}?{ONE}")
        check(answer.status == status, f"{name}: {answer.status}")
    check(server.get(f"/v1/hls/none.mkv/s0.m3u8?{ONE}")[0].status == 404, "subtitles of a movie without")
    check(b"SUBTITLES" not in server.get(f"/v1/hls/none.mkv/master.m3u8?{ONE}")[1], "a group without members")
    # Binary rubbish, tags that are never closed, headers of other formats: text, or nothing.
    body = server.get(f"/v1/hls/rubbish.mkv/s0.vtt?{ONE}")
    check(body[0].status in (200, 404), f"rubbish: {body[0].status}")
    problems, _ = hls_check.check(f"{server.base}/v1/hls/rubbish.mkv/master.m3u8?{ONE}")
    check(not problems, f"rubbish: {problems[:5]}")


def sound_tracks_by_number(server):
    for number, hertz in ((None, 300), (1, 300), (2, 700), (3, 1100)):
        query = ONE + (f"&audio={number}" if number else "")
        for path in (f"/v1/transcode/three.mkv?{query}&container=mkv", f"/v1/transcode/three.mkv?{query}&container=mkv&acodec=copy"):
            got = pitch(server.get(path)[1], path)
            check(abs(got - hertz) < 10, f"{path}: {got:.0f} Hz")
        url = f"{server.base}/v1/hls/three.mkv/a0.m3u8?{query}"
        check(abs(pitch(url, url) - hertz) < 10, f"HLS with audio={number}")
    for path, status in [("/v1/transcode/three.mkv?audio=4", 400), ("/v1/transcode/three.mkv?audio=0", 400),
                         ("/v1/transcode/three.mkv?audio=x", 400), ("/v1/hls/three.mkv/master.m3u8?audio=4", 400),
                         ("/v1/hls/three.mkv/a0-0.m4s?audio=4", 400), ("/v1/transcode/silent.mkv?audio=1", 400)]:
        answer, body = server.get(path)
        check(answer.status == status and json.loads(body)["parameter"] == "audio", f"{path}: {answer.status}, {body[:100]}")


def several_sounds_in_one_stream(server, folder):
    """Each in its place, with its language, in all containers that are streamed; bytes the same with any workers."""
    for query, hertz in (("audio=all", (300, 700, 1100)), ("audio=3,1", (1100, 300)), ("audio=2,3,1", (700, 1100, 300))):
        for container in ("mp4", "mkv", "ts", "webm"):
            one = ONE.replace("&preset=ultrafast", "") if container == "webm" else ONE
            path = f"/v1/transcode/three.mkv?{one}&{query}&container={container}"
            made = Path(folder, f"several.{container}")
            made.write_bytes(server.get(path)[1])
            seen = json.loads(subprocess.run(
                ["ffprobe", "-v", "error", "-select_streams", "a", "-show_streams", "-of", "json", str(made)],
                capture_output=True, check=True).stdout)["streams"]
            check(len(seen) == len(hertz), f"{path}: {len(seen)} sound tracks")
            names = {300: "eng", 700: "ger", 1100: "eng"}
            check([s.get("tags", {}).get("language") for s in seen] == [names[h] for h in hertz], f"{path}: languages")
            if container != "ts":
                check([s["disposition"]["default"] for s in seen] == [1] + [0] * (len(hertz) - 1), f"{path}: defaults")
            for number, expected in enumerate(hertz):
                raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(made), "-map", f"0:a:{number}", "-f",
                                      "wav", "-"], capture_output=True, check=False)
                check(abs(pitch(raw.stdout, path) - expected) < 10 and not raw.stderr, f"{path}: track {number}")
    copied = json.loads(server.get(f"/v1/explain/three.mkv?{ONE}&audio=all&acodec=copy&container=mkv")[1])
    check(len(copied["source"]["more_audio"]) == 2, f"{copied['source']}")
    refused = [("/v1/transcode/three.mkv?audio=1,4", "1 to 3"), ("/v1/transcode/three.mkv?audio=1,1", "like 2,1"),
               ("/v1/transcode/three.mkv?audio=1,", "like 2,1"), ("/v1/transcode/three.mkv?audio=,1", "like 2,1"),
               ("/v1/transcode/three.mkv?audio=alle", "or all"), ("/v1/hls/three.mkv/master.m3u8?audio=all", "one track"),
               ("/v1/transcode/three.mkv?audio=" + ",".join(map(str, range(1, 18))), "up to 16")]
    for path, accepted in refused:
        answer, body = server.get(path)
        check(answer.status == 400 and accepted in json.loads(body)["accepted"], f"{path}: {answer.status}, {body[:200]}")
    many = json.loads(server.get(f"/v1/explain/many.mkv?{ONE}&audio=all")[1])
    check(len(many["target"]["more_sounds"]) == 15, f"{many['target']}")
    told = next(a for a in many["adjusted"] if a["parameter"] == "audio")
    check(told["given"] == "16", f"{told}")
    mute = json.loads(server.get(f"/v1/explain/silent.mkv?{ONE}&audio=all")[1])
    check(mute["target"]["acodec"] == "none", f"{mute['target']}")


def several_sounds_in_a_file(folder):
    """On the command line, verified; cut out of the middle; kept as they are."""
    first = None
    for workers in ("1", "8"):
        made = Path(folder, f"all{workers}.mkv")
        result = subprocess.run([PROGRAM, "transcode", str(Path(folder, "three.mkv")), str(made), "--width", "128", "--bitrate",
                                 "60k", "--audio", "all", "--workers", workers, "--verify", "--quiet"], capture_output=True,
                                text=True, check=False)
        check(result.returncode == 0, f"{workers} workers: {result.stderr}")
        first = first or made.read_bytes()
        check(made.read_bytes() == first, f"other bytes with {workers} workers")
    made = Path(folder, "part.mkv")
    for extra in ([], ["--acodec", "copy"]):
        result = subprocess.run([PROGRAM, "transcode", str(Path(folder, "three.mkv")), str(made), "--width", "128", "--bitrate",
                                 "60k", "--audio", "2,1", "--start", "2", "--duration", "3", "--verify", "--quiet", "--force", *extra],
                                capture_output=True, text=True, check=False)
        check(result.returncode == 0, f"{extra}: {result.stderr}")
        for number, hertz in enumerate((700, 300)):
            raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(made), "-map", f"0:a:{number}", "-ac", "1",
                                  "-f", "wav", "-"], capture_output=True, check=True).stdout
            check(abs(len(raw) / 2 / 48000 - 3) < 0.05, f"{extra}: track {number} lasts {len(raw) / 2 / 48000} s")
            check(abs(pitch(raw) - hertz) < 10, f"{extra}: track {number} is {pitch(raw)} Hz")


def sound_tracks_as_renditions(server):
    master = f"/v1/hls/three.mkv/master.m3u8?{ONE}"
    problems, facts = hls_check.check(server.base + master)
    check(not problems, f"{problems[:5]}")
    check(list(facts) == ["a0", "a0 German", "a0 en", "v0"], f"{list(facts)}")
    said = [hls_check.attributes(line) for line in server.get(master)[1].decode().splitlines() if "TYPE=AUDIO" in line]
    check([text.get("LANGUAGE") for text in said] == ["en", "de", "en"], f"{said}")
    check([text["CHANNELS"] for text in said] == ["1", "2", "1"], f"{said}")
    # Of two in one language a player by itself takes the first; the other is a commentary or the like.
    check([text["AUTOSELECT"] for text in said] == ["YES", "YES", "NO"], f"{said}")
    for number, hertz in enumerate((300, 700, 1100)):
        raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", server.base + master, "-map", f"0:a:{number}", "-f",
                              "wav", "-"], capture_output=True, check=False).stdout
        check(abs(pitch(raw) - hertz) < 10, f"track {number} of the master playlist")
    one = server.get(f"{master}&audio=2")[1].decode()
    check(one.count("TYPE=AUDIO") == 1 and 'LANGUAGE="de"' in one, "the one track that was asked for")
    explained = json.loads(server.get("/v1/explain/three.mkv?audio=2")[1])
    check(explained["source"]["audio"]["title"] == "German" and not explained["tone_mapped"], f"{explained['source']}")
    listed = json.loads(server.get("/v1/sources")[1])["sources"]
    mine = next(s for s in listed if s["path"] == "three.mkv")["audio_tracks"]
    check([s["language"] for s in mine] == ["eng", "ger", "eng"] and mine[1]["title"] == "German", f"{mine}")


def sounds_of_other_programmes_are_no_tracks(server):
    """The pictures bring the sounds of their own programme, in every way of asking."""
    listed = json.loads(server.get("/v1/sources")[1])["sources"]
    mine = next(s for s in listed if s["path"] == "programmes.ts")["audio_tracks"]
    check([s["language"] for s in mine] == ["ger", "fre"], f"{mine}")
    explained = json.loads(server.get(f"/v1/explain/programmes.ts?{ONE}&audio=all")[1])
    check(len(explained["source"]["more_audio"]) == 1, f"{explained['source']}")
    check(not any(a["parameter"] == "audio" for a in explained.get("adjusted", [])), f"{explained.get('adjusted')}")
    for query, hertz in (("", 700), ("&audio=1", 700), ("&audio=2", 1100)):
        path = f"/v1/transcode/programmes.ts?{ONE}{query}&container=mkv"
        check(abs(pitch(server.get(path)[1], path) - hertz) < 10, path)
    master = server.get(f"/v1/hls/programmes.ts/master.m3u8?{ONE}")[1].decode()
    check(master.count("TYPE=AUDIO") == 2, master)
    check(server.get(f"/v1/transcode/programmes.ts?{ONE}&audio=3")[0].status == 400, "a track of the other programme")


def make_programmes(folder):
    """Two programmes; that of the first pictures has the second and the third sound."""
    inputs = ["-f", "lavfi", "-i", "testsrc2=s=64x36:r=25:d=3", "-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=3"]
    for hertz in (300, 700, 1100):
        inputs += ["-f", "lavfi", "-i", f"sine=f={hertz}:r=48000:d=3"]
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", *inputs, *[x for n in range(5) for x in ("-map", str(n))],
                    "-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=ger", "-metadata:s:a:2", "language=fre",
                    "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-c:a", "aac", "-program", "title=A:st=0:st=3:st=4",
                    "-program", "title=B:st=1:st=2", str(Path(folder, "programmes.ts"))], check=True)


def crc(section):
    """Of ISO/IEC 13818-1 annex A."""
    value = 0xFFFFFFFF
    for byte in section:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ 0x04C11DB7 if value >> 31 else value << 1) & 0xFFFFFFFF
    return value.to_bytes(4, "big")


def make_clocks(folder, name, clocks):
    """A multiplex of two programmes, each on a clock of its own that begins there. Of the later one more pictures are found."""
    parts = []
    for n, clock in enumerate(clocks, 1):
        rate = 25 if clock == max(clocks) else 5
        made = subprocess.run(
            ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=s=128x72:r={rate}:d=3", "-f", "lavfi", "-i",
             "sine=f=700:r=48000:d=3", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-c:a", "aac", "-output_ts_offset",
             str(clock), "-mpegts_service_id", str(n), "-mpegts_pmt_start_pid", str(n * 256), "-mpegts_start_pid", str(n * 256 + 1), "-f", "mpegts", "-"],
            capture_output=True, check=True).stdout
        packets = [made[at:at + 188] for at in range(0, len(made), 188)]
        parts.append([p for p in packets if int.from_bytes(p[1:3], "big") & 0x1FFF >= 256])
    table = b"\x00\xb0\x11\x00\x01\xc1\x00\x00" + b"".join(bytes([0, n, 0xE0 | n, 0]) for n in (1, 2))
    first = (b"\x47\x40\x00\x10\x00" + table + crc(table)).ljust(188, b"\xff")
    places = sorted((k / len(part), n, k) for n, part in enumerate(parts) for k in range(len(part)))
    Path(folder, name).write_bytes(first + b"".join(parts[n][k] for _, n, k in places))


def clocks_of_other_programmes_count_not(server):
    """The later of the two is taken, whether it comes first or second."""
    for path in ("clocks1.ts", "clocks2.ts"):
        for query in ("", "&audio=1", "&acodec=none"):
            made = server.get(f"/v1/transcode/{path}?{ONE}&duration=2&container=mkv{query}")[1]
            shown = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of",
                                    "csv=p=0", "-"], input=made, capture_output=True, check=False).stdout.split()
            times = sorted(float(t.strip(b",")) for t in shown)
            check(len(times) == 50 and times[0] < 0.1, f"{path}{query}: {len(times)} pictures from {times[:1]} on")
        master = server.get(f"/v1/hls/{path}/master.m3u8?{ONE}")[1].decode()
        media = next(line for line in master.splitlines() if line.strip() and not line.startswith("#"))
        playlist = server.get(f"/v1/hls/{path}/{media}")[1].decode()
        length = sum(float(line[8:].split(",")[0]) for line in playlist.splitlines() if line.startswith("#EXTINF:"))
        check(abs(length - 3) < 0.1, f"{path}: a playlist of {length} s")


def sound_tracks_in_dash(server):
    """hls_check holds the timelines and bandwidths against the media; ffmpeg plays each track."""
    manifest = f"{server.base}/v1/dash/three.mkv/manifest.mpd?{ONE}"
    space = {"d": "urn:mpeg:dash:schema:mpd:2011"}
    root = ET.fromstring(server.get(manifest.removeprefix(server.base))[1])
    ids = [s.get("id") for s in root.iterfind(".//d:AdaptationSet", space)]
    check(len(set(ids)) == len(ids), f"ids: {ids}")
    sounds = [s for s in root.iterfind(".//d:AdaptationSet", space) if s.get("contentType") == "audio"]
    check([s.get("lang") for s in sounds] == ["en", "de", "en"], f"{[s.attrib for s in sounds]}")
    check([s.find("d:Role", space).get("value") for s in sounds] == ["main", "alternate", "alternate"], "roles")
    check([s.find("d:Label", space).text for s in sounds] == ["English", "German", "en"], "labels")
    check([s.find(".//d:AudioChannelConfiguration", space).get("value") for s in sounds] == ["1", "2", "1"], "channels")
    for number, hertz in enumerate((300, 700, 1100)):
        raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", manifest, "-map", f"0:a:{number}", "-f", "wav", "-"],
                             capture_output=True, check=False).stdout
        check(abs(pitch(raw, "DASH") - hertz) < 10, f"track {number} of the manifest")
    one = server.get(f"{manifest.removeprefix(server.base)}&audio=2")[1].decode()
    check(one.count('contentType="audio"') == 1 and 'lang="de"' in one, "the one track that was asked for")
    many = server.get(f"/v1/dash/many.mkv/manifest.mpd?{ONE}")[1].decode()
    check(many.count('contentType="audio"') == 16, "the file is read for no more tracks than can be meant")


def tracks_say_what_they_are_for(server):
    """To ffmpeg by HLS, and in the manifest. One that describes the pictures is looked for beside the other of its language."""
    master = f"/v1/hls/roles.mkv/master.m3u8?{ONE}"
    problems, _ = hls_check.check(server.base + master)
    check(not problems, f"{problems[:5]}")
    said = [hls_check.attributes(line) for line in server.get(master)[1].decode().splitlines() if "#EXT-X-MEDIA:" in line]
    wanted = [None, "public.accessibility.describes-video", None,
              "public.accessibility.transcribes-spoken-dialog,public.accessibility.describes-music-and-sound"]
    check([text.get("CHARACTERISTICS") for text in said] == wanted, f"{said}")
    check([text["AUTOSELECT"] for text in said] == ["YES", "YES", "NO", "YES"], f"{said}")
    seen = json.loads(subprocess.run(["ffprobe", "-v", "error", "-select_streams", "a", "-show_streams", "-of", "json",
                                      server.base + master], capture_output=True, check=True).stdout)["streams"]
    check([s["disposition"]["visual_impaired"] for s in seen] == [0, 1, 0], f"{[s['disposition'] for s in seen]}")
    space = {"d": "urn:mpeg:dash:schema:mpd:2011"}
    sets = ET.fromstring(server.get(f"/v1/dash/roles.mkv/manifest.mpd?{ONE}")[1]).findall(".//d:AdaptationSet", space)[1:5]
    roles = [[role.get("value") for role in found.findall("d:Role", space)] for found in sets]
    check(roles == [["main"], ["alternate", "description"], ["alternate", "commentary"], ["caption"]], f"{roles}")
    purposes = [[one.get("value") for one in found.findall("d:Accessibility", space)] for found in sets]
    check(purposes == [[], ["1"], [], ["2"]], f"{purposes}")


def make_roles(folder):
    make_movie(folder, "roles.mkv", ("eng", "", "hearing_impaired"),
               extra=["-map", "1", "-map", "1", "-disposition:a:1", "visual_impaired", "-disposition:a:2", "comment",
                      *[text for n in range(3) for text in (f"-metadata:s:a:{n}", "language=eng")]])


def make_sounds(folder):
    inputs = []
    for hertz in (300, 700, 1100):
        inputs += ["-f", "lavfi", "-i", f"sine=f={hertz}:r=48000:d=6"]
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=6", *inputs, "-map",
                    "0", "-map", "1", "-map", "2", "-map", "3", "-metadata:s:a:0", "language=eng", "-metadata:s:a:1",
                    "language=ger", "-metadata:s:a:1", "title=German", "-metadata:s:a:2", "language=eng", "-disposition:a:0",
                    "default", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-c:a", "aac", "-ac:a:1", "2", "-metadata:s:a:0",
                    "title=English", str(Path(folder, "three.mkv"))], check=True)
    longer = ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=5.8", "-f", "lavfi", "-i", "sine=d=7"]
    coded = ["-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac"]
    subprocess.run([*longer, *coded, str(Path(folder, "sound_goes_on.mkv"))], check=True)
    subprocess.run([*longer, "-f", "lavfi", "-i", "sine=d=5.8", "-map", "0", "-map", "2", "-map", "1", *coded, str(Path(folder, "one_goes_on.mkv"))], check=True)
    short = ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=2"]
    subprocess.run([*short, "-c:v", "libx264", str(Path(folder, "silent.mkv"))], check=True)
    subprocess.run([*short, "-f", "lavfi", "-i", "sine=d=2", "-map", "0", *["-map", "1"] * 20, "-c:v", "libx264",
                    str(Path(folder, "many.mkv"))], check=True)


def make_beside(folder):
    """A movie without a word, and files of subtitles beside it: three good ones, of which one is in Latin-1, one empty, one too large."""
    make_movie(folder, "beside.mkv")
    text = Path(folder, "text.srt")
    Path(folder, "beside.en.srt").write_bytes(text.read_bytes())
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(text), str(Path(folder, "beside.de.forced.vtt"))], check=True)
    Path(folder, "beside.fr.srt").write_bytes("1\n00:00:01,000 --> 00:00:02,000\n\u00fc\u00e9\n".encode("latin-1"))
    Path(folder, "beside.es.ass").write_bytes(b"")
    Path(folder, "beside.it.srt").write_bytes(text.read_bytes() + b"\n" * (8 << 20))


def files_beside_the_movie(server, folder):
    listed = json.loads(server.get("/v1/sources")[1])["sources"]
    mine = next(s for s in listed if s["path"] == "beside.mkv")["subtitles"]
    check([s["file"] for s in mine] == [f"beside.{end}" for end in ("de.forced.vtt", "en.srt", "es.ass", "fr.srt", "it.srt")],
          f"in the list of sources: {mine}")
    master = f"/v1/hls/beside.mkv/master.m3u8?{ONE}"
    problems, _ = hls_check.check(server.base + master)
    check(not problems, f"{problems[:5]}")
    said = [line for line in server.get(master)[1].decode().splitlines() if "TYPE=SUBTITLES" in line]
    check(len(said) == 3 and 'LANGUAGE="de"' in said[0] and "FORCED=YES" in said[0] and 'LANGUAGE="en"' in said[1]
          and 'LANGUAGE="fr"' in said[2], f"those that can be read are tracks: {said}")
    latin = server.get(f"/v1/hls/beside.mkv/s2.vtt?{ONE}")[1].decode()
    check("\u00fc\u00e9" in latin, f"what is not UTF-8: {latin}")
    log = "".join(server.log)
    check(all(f"subtitles beside.{end}: " in log for end in ("es.ass", "it.srt")), f"and the log tells of others: {log}")
    for number in (0, 1):
        got = hls_check.cues(server.get(f"/v1/hls/beside.mkv/s{number}.vtt?{ONE}")[1].decode())
        apart = [max(abs(a - c), abs(b - d)) for (a, b, _), (c, d, _) in zip(got, CUES)]
        check(len(got) == len(CUES) and max(apart, default=9) < 0.03, f"s{number}: {got}")
    old = server.get(f"/v1/hls/beside.mkv/v0.m3u8?{ONE}")[1].decode()
    segment = next(line for line in old.splitlines() if line.startswith("v0-0"))
    old = server.get(f"/v1/hls/beside.mkv/s1.m3u8?{ONE}")[1].decode()
    text = next(line for line in old.splitlines() if line.startswith("s1-0"))
    before = server.get(f"/v1/hls/beside.mkv/{segment}")[0]
    check(before.status == 200 and server.get(f"/v1/hls/beside.mkv/{text}")[0].status == 200, "parts before")
    Path(folder, "beside.en.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nNew words\n", encoding="utf-8")
    check("New words" in server.get(f"/v1/hls/beside.mkv/s1.vtt?{ONE}")[1].decode(), "a file that was changed")
    after, tag = server.get(f"/v1/hls/beside.mkv/{segment}")[0], before.getheader("ETag")
    check(after.status == 200 and tag and after.getheader("ETag") == tag, "pictures stay what they are")
    check(server.get(f"/v1/hls/beside.mkv/{text}")[0].status == 404, "the text before it is gone")


def dots_of_folders_are_not_the_files(server, folder):
    """A movie without an extension in a folder with a dot, and what lies beside it."""
    Path(folder, "Season.1").mkdir()
    Path(folder, "Season.1", "film").write_bytes(Path(folder, "none.mkv").read_bytes())
    Path(folder, "Season.1", "film.nl.srt").write_bytes(Path(folder, "text.srt").read_bytes())
    answer, body = server.get(f"/v1/hls/Season.1/film/master.m3u8?{ONE}")
    check(answer.status == 200 and b'LANGUAGE="nl"' in body, f"{answer.status}, {body[:300]}")


def names_that_are_no_text(server):
    """Titles that are not UTF-8, or hold what would end a field of a playlist."""
    listed = json.loads(server.get("/v1/sources")[1])["sources"]
    mine = next(s for s in listed if s["path"] == "named.mkv")
    check([t["title"] for t in mine["audio_tracks"]] == ["AB(GH", '"x,y=#EXT"', "onetwo"], f"{mine['audio_tracks']}")
    for path in ("/v1/explain/named.mkv", f"/v1/hls/named.mkv/master.m3u8?{ONE}", f"/v1/dash/named.mkv/manifest.mpd?{ONE}"):
        check(server.get(path)[0].status == 200, path)
    ET.fromstring(server.get(f"/v1/dash/named.mkv/manifest.mpd?{ONE}")[1])  # is it XML?
    problems, _ = hls_check.check(f"{server.base}/v1/hls/named.mkv/master.m3u8?{ONE}")
    check(not problems, f"{problems[:5]}")


def make_names(folder):
    path = Path(folder, "named.mkv")
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x36:r=25:d=2", "-f", "lavfi", "-i",
                    "sine=d=2", "-map", "0", *["-map", "1"] * 3, "-metadata:s:a:0", "title=ABCDEFGH", "-metadata:s:a:1",
                    'title="x,y=\n#EXT"', "-metadata:s:a:2", "title=one\ufffetwo\uffff", "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "aac", str(path)], check=True)
    path.write_bytes(path.read_bytes().replace(b"ABCDEFGH", b"AB\xff\xfe\xc3(GH"))


def make_rubbish(folder):
    """The text of the packets is overwritten in place, so the container stays whole."""
    data = Path(folder, "srt.mkv").read_bytes()
    for n, (_, _, words) in enumerate(CUES):
        plain = words.encode()
        noise = [b"\xff\xfe\n\n\r\r", b"00:01 --> 00:02\n\n", b"{\\an8}<font <i <b>\n\n\n", b"WEBVTT\n\nNOTE \n\n"][n]
        data = data.replace(plain, (noise * 8)[:len(plain)])
    Path(folder, "rubbish.mkv").write_bytes(data)


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_movie(folder, "srt.mkv", ("eng", "English", "default"), ("eng", "English", "0"), ("ger", "", "forced"))
        make_movie(folder, "ass.mkv", ("fre", 'A "title"', "default"), codec="ass")
        make_movie(folder, "timed.mp4", ("und", "", "default"), codec="mov_text")
        make_movie(folder, "web.mkv", ("xx", "Web", "0"), codec="webvtt")
        make_movie(folder, "none.mkv")
        make_rubbish(folder)
        make_sounds(folder)
        make_roles(folder)
        make_programmes(folder)
        make_clocks(folder, "clocks1.ts", (10, 36000))
        make_clocks(folder, "clocks2.ts", (36000, 10))
        make_names(folder)
        make_outage(folder)
        make_beside(folder)
        with Server(folder, "--segment-cache-bytes", "0") as server:
            run_all([playlists_obey_the_rules, every_form_says_the_same, ffmpeg_reads_them, ffmpeg_opens_dash_with_text], server)
            run_all([times_are_those_of_the_pictures, text_is_with_its_pictures_behind_an_outage, files_beside_the_movie, dots_of_folders_are_not_the_files,
                     several_sounds_in_one_stream], server, folder)
            run_all([several_sounds_in_a_file, text_is_not_taken_for_tags], folder)
            return run_all([conditions, garbage, sound_tracks_by_number, sound_tracks_as_renditions, sound_tracks_in_dash,
                            tracks_say_what_they_are_for, sounds_of_other_programmes_are_no_tracks,
                            clocks_of_other_programmes_count_not, names_that_are_no_text],
                           server)


if __name__ == "__main__":
    sys.exit(main())
