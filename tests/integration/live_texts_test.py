#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A live source that says something in text: at its time and in its language, over a publisher's return, and what
no player could read."""

import html
import json
import re
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import urljoin

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import hls_check  # noqa: E402
import live_check  # noqa: E402
import mp4_read  # noqa: E402
from live_test import Publisher  # noqa: E402
from served import Server, check, make_stream, run_all, wait_until  # noqa: E402

ONE = "width=160&bitrate=80k&preset=ultrafast&segment=1"
TWO = "rungs=320x180:200k,160x90:80k&preset=ultrafast&segment=1"
TTML = "{http://www.w3.org/ns/ttml}"
STEP = 1.3  # seconds from cue to cue of the English track: borders of segments lie anywhere
# ffmpeg would hold pictures back until each track has said something.
PROMPT = ("-max_interleave_delta", "100000", "-flush_packets", "1")
MATROSKA = (*PROMPT, "-f", "matroska", "-cluster_time_limit", "40")


def stamp(seconds):
    ms = round(1000 * seconds)
    return f"{ms // 3600000:02}:{ms // 60000 % 60:02}:{ms // 1000 % 60:02},{ms % 1000:03}"


def write_srt(path, cues):
    blocks = [b"%d\n%s --> %s\n%s\n" % (n + 1, stamp(a).encode(), stamp(b).encode(), text)
              for n, (a, b, text) in enumerate(cues)]
    path.write_bytes(b"\n".join(blocks))


def make_movie(folder, name, order, seconds=40):
    """Two tracks of text and one of rubbish, in this order; a key frame at each full second."""
    tracks = {"eng": [(STEP * n, STEP * n + 1.2, b"line %d" % n) for n in range(seconds)],
              "ger": [(n, n + 3.5, b"<i>Satz</i> %d" % n) for n in range(0, seconds, 4)],
              "fre": [(n / 2, n / 2 + 0.4, text) for n, text in enumerate(
                  [b"a --> b", b"WEBVTT", b"\xff\xfebroken", b"<b>unclosed", b"x" * 3000, b"NOTE a & b < c", b"</script>",
                   b"X-TIMESTAMP-MAP=MPEGTS:9"] * (seconds // 4))]}
    inputs, maps = [], []
    for number, language in enumerate(order):
        path = Path(folder, f"{name}.{language}.srt")
        write_srt(path, tracks[language])
        inputs += ["-i", str(path)]
        maps += ["-map", f"{number + 2}", f"-metadata:s:s:{number}", f"language={language}"]
    movie = str(Path(folder, name))
    subprocess.run(["ffmpeg", "-nostdin", "-v", "fatal", "-f", "lavfi", "-i", f"testsrc2=s=160x90:r=30:d={seconds}", "-f",
                    "lavfi", "-i", f"sine=d={seconds}", *inputs, "-map", "0", "-map", "1", *maps, "-c:v", "libx264",
                    "-preset", "ultrafast", "-tune", "zerolatency", "-g", "30", "-c:a", "aac", "-c:s", "copy",
                    "-disposition:s:0", "default", "-y", movie], check=True)
    return movie


def publish(server, name, movie, form=MATROSKA, maps=("-map", "0")):
    publisher = Publisher(server, name, movie, maps=maps, form=form)
    wait_until(lambda: server.live(name).get("source"), 20, f"a publisher of {name} that is known")
    return publisher


def at_the_times_of_the_pictures(cues, step, word):
    """Presentations begin with a key frame, those of the source lie at full seconds."""
    numbers = {int(text.split()[-1]): begin for begin, _, text in cues if begin > 0}
    check(len(numbers) >= 3, f"{word}: only {cues}")
    off = [(begin - step * number) % 1 for number, begin in numbers.items()]
    check(all(min(o, 1 - o) < 0.05 for o in off), f"{word}: off by {off}")
    check(sorted(numbers) == list(range(min(numbers), max(numbers) + 1, 1 if step == STEP else 4)), f"{word}: {sorted(numbers)}")


def spoken_in(document):
    """A TTML document: [(begin, end, text)], seconds."""
    clock = lambda text: sum(factor * float(part) for factor, part in zip((3600, 60, 1), text.split(":")))  # noqa: E731
    return [(clock(p.get("begin")), clock(p.get("end")), "".join(p.itertext())) for p in ElementTree.fromstring(document).iter(TTML + "p")]


def dash_says_the_same(server):
    """As WebVTT says, cut at the borders of segments; in fragments that follow each other."""
    base = f"{server.base}/v1/dash/live/talk/manifest.mpd?{TWO}"
    period = ElementTree.fromstring(live_check.fetch(base)).findall(hls_check.DASH + "Period")[-1]
    sets = [s for s in period.iter(hls_check.DASH + "AdaptationSet") if s.get("contentType") == "text"]
    check([s.get("lang") for s in sets] == ["en", "de", "fr"], f"text of {[s.get('lang') for s in sets]}")
    said = 0
    for index, group in enumerate(sets):
        template, one = group.find(hls_check.DASH + "SegmentTemplate"), group.find(hls_check.DASH + "Representation")
        check((one.get("id"), one.get("codecs"), template.get("timescale")) == (f"x{index}", "stpp.ttml.im1t", "1000"), f"{one.attrib}")
        name = lambda attribute, number=0, template=template, one=one: urljoin(base, template.get(attribute).replace(  # noqa: E731
            "$RepresentationID$", one.get("id")).replace("$Number$", str(number)))
        init = live_check.fetch(name("initialization"))
        check(b"stpp" in init and mp4_read.timescale(init) == 1000, f"x{index}: the init segment")
        for number, entry in enumerate(template.iter(hls_check.DASH + "S"), int(template.get("startNumber"))):
            data, where = live_check.fetch(name("media", number)), f"x{index}-{number}"
            fragment, at, length = mp4_read.Fragment(data), int(entry.get("t")), int(entry.get("d"))
            check((fragment.decode_time, fragment.duration, fragment.samples) == (at, length, 1), f"{where}: not at {at}")
            begin, end = at / 1000, (at + length) / 1000
            cues = live_check.cues_of(live_check.fetch(f"{server.base}/v1/hls/live/talk/s{index}-{number}.vtt?{TWO}"), check)
            wanted = [(max(a, begin), min(b, end), html.unescape(re.sub("</?[ibu]>|\n", "", text))) for a, b, text in cues]
            got = spoken_in(fragment.first)
            close = len(got) == len(wanted) and all(a[2] == b[2] and max(abs(a[0] - b[0]), abs(a[1] - b[1])) < 0.0021
                                                    for a, b in zip(got, wanted))
            check(close, f"{where}: {got}, not {wanted}")
            said += len(got)
    check(said > 10, f"only {said} lines")
    probe = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=codec_tag_string", "-of", "csv=p=0", "-"],
                           input=init + data, capture_output=True, check=False)
    check(probe.stdout.split() == [b"stpp"] and not probe.stderr, f"ffprobe: {probe}")


def rules_hold_and_all_is_said(server):
    publisher = publish(server, "talk", make_movie(server.folder, "a.mkv", ("eng", "ger", "fre")))
    master = f"/v1/hls/live/talk/master.m3u8?{TWO}"
    problems, facts = live_check.check(server.base + master, 12)
    check(not problems, f"rules: {problems[:6]}")
    check(sorted(facts) == ["a0", "s0", "s1", "s2", "v0", "v1"], f"renditions {sorted(facts)}")
    at_the_times_of_the_pictures(facts["s0"]["cues"], STEP, "English")
    at_the_times_of_the_pictures(facts["s1"]["cues"], 1, "German")
    check(all(text.startswith("<i>Satz</i>") for _, _, text in facts["s1"]["cues"]), f"{facts['s1']['cues'][:2]}")
    # What is no UTF-8, and what is nothing but a tag, FFmpeg does not read.
    rubbish = {text[:9] for _, _, text in facts["s2"]["cues"]}
    check(rubbish == {"a → b", "WEBVTT", "<b>unclos", "xxxxxxxxx", "NOTE a &a", "X-TIMESTA"}, f"rubbish: {rubbish}")
    said = [hls_check.attributes(line) for line in server.get(master)[1].decode().splitlines() if "SUBTITLES,GROUP" in line]
    for key, values in {"LANGUAGE": ["en", "de", "fr"], "NAME": ["en", "de", "fr"], "DEFAULT": ["YES", "NO", "NO"]}.items():
        check([text.get(key) for text in said] == values, f"{key}: {said}")
    dash_says_the_same(server)
    for path, kind in (("s0-0.vtt", None), ("s3.m3u8", 404), ("s3-0.vtt", 404), ("s0-999.vtt", 404), ("s0.vtt", 404),
                       ("s0-init.mp4", 404), ("s0-0.0.vtt", 404), ("s0-0.m4s", 404), ("s-1.m3u8", 404), ("x0.m3u8", 404),
                       ("x3-init.mp4", 404), ("x3-0.m4s", 404), ("x0-999.m4s", 404), ("x0-0.0.m4s", 404), ("x0-0.ts", 404),
                       ("x0--1.m4s", 404)):
        answer, body = server.get(f"/v1/hls/live/talk/{path}?{TWO}")
        if kind:
            check(answer.status == kind, f"{path}: {answer.status} {body[:80]}")
        else:
            check(answer.getheader("Content-Type") == "text/vtt; charset=utf-8", f"{path}: {answer.getheaders()}")
    publisher.kill()


def a_publisher_that_lists_its_tracks_anew(server):
    movies = [make_movie(server.folder, "b.mkv", ("eng", "ger")), make_movie(server.folder, "c.mkv", ("ger", "fre", "eng"))]
    mute = ("-map", "0:v", "-map", "0:s")  # what sound does at a break is another matter
    first = publish(server, "back", movies[0], maps=mute)
    watch = {}
    watcher = threading.Thread(target=lambda: watch.update(zip(
        ("problems", "facts"), live_check.check(f"{server.base}/v1/hls/live/back/master.m3u8?{ONE}", 14))))
    watcher.start()
    wait_until(lambda: server.live("back")["counts"]["packets"] > 150, 20, "packets of the first publisher")
    first.kill()
    wait_until(lambda: not server.live("back")["publishing"], 5, "a killed publisher is still there")
    second = publish(server, "back", movies[1], maps=mute)
    watcher.join()
    check(watch["problems"] == [], f"over a return: {watch['problems'][:6]}")
    for name, word in (("s0", "line"), ("s1", "Satz")):
        cues = watch["facts"][name]["cues"]
        check(cues and all(word in text for _, _, text in cues), f"{name}: {cues}")
    check(sorted(watch["facts"]) == ["s0", "s1", "v0"], f"renditions {sorted(watch['facts'])}")
    second.kill()


def more_cues_than_are_kept(server):
    """A second of them, each for ten minutes: those beyond the limit are counted, by the source and in metrics."""
    movie, said = make_stream(server.folder, "many.ts", 20, sound=("-an",)), Path(server.folder, "many.srt")
    said.write_text("".join(f"{i + 1}\n00:00:02,{i // 2:03} --> 00:10:00,000\nline {i}\n\n" for i in range(1500)))
    both = str(Path(server.folder, "many.mkv"))
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", movie, "-i", str(said), "-map", "0:v", "-map", "1", "-c:v", "copy", "-t", "20",
                    "-y", both], check=True)
    publisher = publish(server, "many", both, maps=("-map", "0:v", "-map", "0:s"))
    check(server.get(f"/v1/hls/live/many/s0.m3u8?{ONE}")[0].status == 200, "a playlist of text")
    wait_until(lambda: server.live("many")["counts"]["dropped_cues"] >= 500, 15, "cues that are left out")
    check(server.live("many")["counts"]["dropped_cues"] == 500, f"counted: {server.live('many')['counts']}")
    check(server.metric("gopmill_live_dropped_cues_total") >= 500, "the metric")
    publisher.kill()


def more_tracks_than_are_read(server):
    """Of seventeen the first sixteen are there."""
    movie, said = make_stream(server.folder, "bare.ts", 20, sound=("-an",)), Path(server.folder, "line.srt")
    write_srt(said, [(n, n + 0.9, b"line %d" % n) for n in range(20)])
    both = str(Path(server.folder, "wide.mkv"))
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", movie, "-i", str(said), "-map", "0:v", *["-map", "1"] * 17, "-c:v", "copy",
                    "-y", both], check=True)
    publisher = publish(server, "wide", both, maps=("-map", "0:v", "-map", "0:s"))
    master = server.get(f"/v1/hls/live/wide/master.m3u8?{ONE}")[1].decode()
    check(master.count("TYPE=SUBTITLES") == 16, f"tracks of text: {master}")
    statuses = [server.get(f"/v1/hls/live/wide/s{n}.m3u8?{ONE}")[0].status for n in (15, 16)]
    check(statuses == [200, 404], f"the last playlist of text, and one more: {statuses}")
    publisher.kill()


def other_containers(server):
    """Timed text of MP4 in fragments, and what has none."""
    movie = make_movie(server.folder, "d.mkv", ("eng",))
    mp4 = str(Path(server.folder, "d.mp4"))
    subprocess.run(["ffmpeg", "-nostdin", "-v", "fatal", "-i", movie, "-map", "0", "-c", "copy", "-c:s", "mov_text", "-y", mp4],
                   check=True)
    publisher = publish(server, "mp4", mp4, (*PROMPT, "-f", "mp4", "-movflags", "frag_keyframe+empty_moov"),
                        ("-map", "0:v", "-map", "0:s"))
    problems, facts = live_check.check(f"{server.base}/v1/hls/live/mp4/master.m3u8?{ONE}", 9)
    check(not problems, f"MP4: {problems[:6]}")
    check("s0" in facts and any("line" in cue[2] for cue in facts["s0"]["cues"]), f"MP4: {facts.get('s0')}")
    publisher.kill()
    publisher = publish(server, "ts", movie, ("-f", "mpegts"), ("-map", "0:v", "-map", "0:a"))
    master = server.get(f"/v1/hls/live/ts/master.m3u8?{ONE}")[1].decode()
    check("#EXT-X-STREAM-INF" in master and "SUBTITLES" not in master, f"text where there is none: {master}")
    check(server.get(f"/v1/hls/live/ts/s0.m3u8?{ONE}")[0].status == 404, "a playlist of text where there is none")
    answer, _ = server.get(f"/v1/transcode/live/ts?{ONE.replace('&segment=1', '')}&container=ts&duration=1")
    check(answer.status == 200, "a stream")
    publisher.kill()


def streams_do_not_mind_text(server):
    publisher = publish(server, "plain", make_movie(server.folder, "e.mkv", ("eng", "fre")))
    answer, body = server.get("/v1/transcode/live/plain?width=160&bitrate=80k&preset=ultrafast&container=ts&duration=3")
    check(answer.status == 200 and len(body) > 10_000, f"a stream: {answer.status}, {len(body)} bytes")
    listed = json.loads(server.get("/v1/live")[1])["live"]
    check(any(len(s.get("source", {}).get("subtitles", [])) == 2 for s in listed), f"/v1/live: {listed}")
    publisher.kill()


def main():
    with tempfile.TemporaryDirectory() as folder, Server(folder, "--segment-cache-bytes", "0") as server:
        server.folder = folder
        return run_all([rules_hold_and_all_is_said, a_publisher_that_lists_its_tracks_anew, more_cues_than_are_kept,
                        more_tracks_than_are_read, other_containers, streams_do_not_mind_text], server)


if __name__ == "__main__":
    sys.exit(main())
