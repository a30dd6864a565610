#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sound tracks of movies: each by its number, in every way of asking; several at once, those of other programmes, and what they
are for."""

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
from titled_movies import ONE, make_movie  # noqa: E402


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


def sound_goes_on_in_the_last_segment(server):
    """Of pictures that end earlier; whole segments are still as long as is said."""
    for movie in ("sound_goes_on.mkv", "one_goes_on.mkv"):
        problems, _ = hls_check.check(f"{server.base}/v1/hls/{movie}/master.m3u8?{ONE}&segment=6")
        check(not problems, f"{movie}: {problems[:5]}")


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


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_sounds(folder)
        make_roles(folder)
        make_programmes(folder)
        make_clocks(folder, "clocks1.ts", (10, 36000))
        make_clocks(folder, "clocks2.ts", (36000, 10))
        with Server(folder, "--segment-cache-bytes", "0") as server:
            run_all([several_sounds_in_one_stream], server, folder)
            run_all([several_sounds_in_a_file], folder)
            return run_all([sound_tracks_by_number, sound_tracks_as_renditions, sound_tracks_in_dash, sound_goes_on_in_the_last_segment,
                            tracks_say_what_they_are_for, sounds_of_other_programmes_are_no_tracks,
                            clocks_of_other_programmes_count_not], server)


if __name__ == "__main__":
    sys.exit(main())
