#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Text tracks of movies. Subtitles in HLS and DASH: rules (hls_check.py), ffmpeg as a client, every form of text that sources
have, what is cut off in front, files beside the movie, damage and garbage."""

import json
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import hls_check  # noqa: E402
from served import PROGRAM, Server, check, run_all  # noqa: E402
from titled_movies import CUES, ONE, make_movie  # noqa: E402


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
        make_names(folder)
        make_outage(folder)
        make_beside(folder)
        with Server(folder, "--segment-cache-bytes", "0") as server:
            run_all([playlists_obey_the_rules, every_form_says_the_same, ffmpeg_reads_them, ffmpeg_opens_dash_with_text], server)
            run_all([times_are_those_of_the_pictures, text_is_with_its_pictures_behind_an_outage, files_beside_the_movie,
                     dots_of_folders_are_not_the_files], server, folder)
            run_all([text_is_not_taken_for_tags], folder)
            return run_all([conditions, garbage, names_that_are_no_text], server)


if __name__ == "__main__":
    sys.exit(main())
