#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Watches a live presentation and checks it against the rules that players forgive.

  tests/integration/live_check.py http://127.0.0.1:8080/v1/hls/live/cam/master.m3u8 [SECONDS]

HLS (RFC 8216, draft-pantos-hls-rfc8216bis): what may change from one version of a playlist to the
next, sequence numbers, dates, parts against segments, hints and reports against what came, blocking
reloads. Thumbnails: listed as the pictures are, of their size. Text: segments against the pictures' playlist, cues against the time of their segment and in each
that they are seen in. CMAF: times of parts and segments, equal key frames in all renditions. DASH (DASH-IF's rules
for live services): availability against the clock, timelines against the media. Prints what is wrong;
exit code 1 if anything is.
"""

import re
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urljoin

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from hls_check import attributes, fetch  # noqa: E402
from live_manifest import check_dash_in_time, status_of  # noqa: E402
from live_playlist import CLOSE, Playlist  # noqa: E402
from mp4_read import Fragment, avc_is_idr, codec_of, lead, timescale  # noqa: E402

CUE = re.compile(r"(\d{2,}):(\d\d):(\d\d\.\d{3}) --> (\d{2,}):(\d\d):(\d\d\.\d{3})")


def cues_of(data, problem):
    """A segment of WebVTT: [(begin, end, text)] on the clock of the media, seconds."""
    head, *blocks = data.decode().removesuffix("\n").split("\n\n")
    problem(head == "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000", f"begins with {head[:80]!r}")
    cues = []
    for block in blocks:
        times, _, text = block.partition("\n")
        found = CUE.fullmatch(times)
        problem(found and text and "-->" not in text, f"no cue: {block[:80]!r}")
        if found:
            begin, end = (3600 * int(h) + 60 * int(m) + float(s) for h, m, s in (found.groups()[:3], found.groups()[3:]))
            problem(begin < end, f"a cue from {begin} to {end}")
            cues.append((begin, end, text))
    problem(cues == sorted(cues, key=lambda cue: cue[0]), "cues are not in order")
    return cues


def jpeg_size(data):
    """Width and height by the header of its frame."""
    at = 2 if data[:2] == b"\xff\xd8" and data[-2:] == b"\xff\xd9" else len(data)
    while at + 9 <= len(data):
        if data[at + 1] == 0xC0:
            return int.from_bytes(data[at + 7:at + 9], "big"), int.from_bytes(data[at + 5:at + 7], "big")
        at += 2 + int.from_bytes(data[at + 2:at + 4], "big")
    return 0, 0


class Watch:
    """All versions of one media playlist, by blocking reload, on a thread of its own."""

    def __init__(self, name, url, seconds, problem):
        self.name, self.url, self.problem, self.seconds = name, url, problem, seconds
        self.segments, self.parts, self.lateness, self.hints, self.versions = {}, {}, [], [], 0
        self.init, self.last, self.skipped = None, None, 0
        self.hinted, self.asking = {}, []  # what came of hints that were asked for before it was there
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        try:
            self.follow()
        except Exception as error:  # whatever it is, the thread that checks must hear of it
            self.problem(False, f"watching failed: {error!r}")

    def ask_ahead(self, uri):
        try:
            self.hinted[uri] = fetch(uri)
        except OSError:  # where the source breaks off it is another part that comes
            self.hinted[uri] = None

    def follow(self):
        self.last = Playlist(self.url, self.problem)
        self.init = fetch(urljoin(self.url, self.last.tags["#EXT-X-MAP"]["URI"]))
        self.note(self.last)
        end = time.monotonic() + self.seconds
        while time.monotonic() < end and "#EXT-X-ENDLIST" not in self.last.tags:
            number, part = self.last.newest()
            if self.last.segments[-1].uri:
                number, part = number + 1, -1
            join = "&" if "?" in self.url else "?"
            delta = "&_HLS_skip=YES" if self.versions % 3 else ""
            playlist = Playlist(f"{self.url}{join}_HLS_msn={number}&_HLS_part={part + 1}{delta}", self.problem, self.last)
            self.skipped = max(self.skipped, playlist.skipped)
            self.problem(playlist.newest() >= (number, part + 1), f"waited for {number}.{part + 1} in vain")
            self.compare(self.last, playlist)
            self.last = playlist
            self.note(playlist)

    def compare(self, old, new):
        problem = self.problem
        for tag in ("#EXT-X-TARGETDURATION", "#EXT-X-PART-INF", "#EXT-X-SERVER-CONTROL", "#EXT-X-MAP", "#EXT-X-VERSION"):
            problem(old.tags[tag] == new.tags[tag], f"{tag} has changed")
        gone = new.first - old.first
        problem(0 <= gone < len(old.segments), f"media sequence from {old.first} to {new.first}")
        left = int(new.tags["#EXT-X-DISCONTINUITY-SEQUENCE"]) - int(old.tags["#EXT-X-DISCONTINUITY-SEQUENCE"])
        passed = sum(s.discontinuity for s in old.segments[:gone])
        problem(left == passed, f"discontinuity sequence rose by {left}, not {passed}")
        stay = sum(s.seconds for s in new.complete)
        problem(not gone or stay >= 3 * new.target - CLOSE, f"only {stay:.1f} s stay listed")
        for before, after in zip(old.segments[gone:], new.segments):
            where = f"segment {before.number}"
            problem(before.number == after.number, f"{where} is now {after.number}")
            problem(abs(before.date - after.date) < 1e-6 and before.discontinuity == after.discontinuity,
                    f"{where} has another date or discontinuity")
            problem(not before.uri or (before.uri, before.seconds) == (after.uri, after.seconds), f"{where} changed")
            kept = min(len(before.parts), len(after.parts))
            problem(before.parts[:kept] == after.parts[:kept], f"{where}: parts changed")

    def note(self, playlist):
        self.versions += 1
        for segment in playlist.segments:
            if segment.uri:
                self.segments[segment.number] = segment
            for index, part in enumerate(segment.parts):
                self.parts.setdefault((segment.number, index), part)
        last = playlist.segments[-1]
        if not last.uri:
            end = last.date + sum(part[1] for part in last.parts)
            self.lateness.append(playlist.read_at - end)
        self.hints.append((playlist.newest(), playlist.hint))
        if playlist.hint and self.versions % 4 == 0:
            self.asking.append(threading.Thread(target=self.ask_ahead, args=(playlist.hint,)))
            self.asking[-1].start()

    def check_media(self):
        """Reads what was listed last: parts are their segment, and times go on."""
        ticks, ahead = timescale(self.init), lead(self.init)
        fact = {"starts": {}, "peak": 0, "init": self.init, "late": self.lateness, "bytes": 0, "seconds": 0,
                "timescale": ticks, "lead": ahead, "skipped": self.skipped, "hinted": 0}
        expected = None
        for segment in self.last.complete:
            if segment.gap:
                continue
            data = fetch(segment.uri)
            name = f"segment {segment.number}"
            fragments = list(split(data))
            fact["starts"][segment.number] = fragments[0].decode_time
            fact["bytes"], fact["seconds"] = fact["bytes"] + len(data), fact["seconds"] + segment.seconds
            if segment.seconds >= self.last.target / 2:  # RFC 8216 4.1: peaks are those of at least half the target
                fact["peak"] = max(fact["peak"], 8 * len(data) / segment.seconds)
            for fragment in fragments:
                self.problem(expected in (None, fragment.decode_time),
                             f"{name}: tfdt {fragment.decode_time}, not {expected}")
                expected = fragment.decode_time + fragment.duration
            length = sum(f.duration for f in fragments) / ticks
            self.problem(abs(length - segment.seconds) < CLOSE, f"{name} lasts {length}, EXTINF {segment.seconds}")
            self.problem(fragments[0].sync, f"{name} does not begin with a sync sample")
            if b"avcC" in self.init:
                self.problem(avc_is_idr(fragments[0].first), f"{name} does not begin with an IDR picture")
            if segment.parts:
                self.problem(b"".join(fetch(part[0]) for part in segment.parts) == data, f"{name} is not its parts")
                self.problem(segment.parts[0][2], f"{name}: its first part is not marked independent")
        for thread in self.asking:
            thread.join()
        for part in [part[0] for segment in self.last.complete for part in segment.parts if part[0] in self.hinted]:
            self.problem(self.hinted[part] == fetch(part), f"{part}, asked for when it was hinted at, is not what is listed")
            fact["hinted"] += 1
        for newest, hint in self.hints[:-2]:
            coming = [p for p in ((newest[0], newest[1] + 1), (newest[0] + 1, 0)) if p in self.parts]
            self.problem(not coming or hint == self.parts[coming[0]][0] or coming[0][1] == 0,
                         f"hinted at {hint}, got {coming}")
        return fact


def split(data):
    """The fragments of a segment in pieces."""
    at, start = 0, 0
    while at + 8 <= len(data):
        size, name = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        at += size
        if name == b"mdat":
            yield Fragment(data[start:at])
            start = at


class Checker:
    def __init__(self, seconds):
        self.problems, self.seconds = [], seconds

    def problem_in(self, where):
        def report(good, text):
            if not good:
                self.problems.append(f"{where}: {text}")
        return report

    def check_hls(self, url):
        problem = self.problem_in("master")
        lines = fetch(url).decode().splitlines()
        problem(lines[0] == "#EXTM3U" and "#EXT-X-INDEPENDENT-SEGMENTS" in lines, "header")
        streams = [(attributes(a), b) for a, b in zip(lines, lines[1:]) if a.startswith("#EXT-X-STREAM-INF:")]
        sound = [attributes(line)["URI"] for line in lines if line.startswith("#EXT-X-MEDIA:TYPE=AUDIO")]
        uris = [uri for _, uri in streams] + sound
        watches = {uri.split(".")[0]: Watch(uri, urljoin(url, uri), self.seconds, self.problem_in(uri.split(".")[0]))
                   for uri in uris}
        for watch in watches.values():
            watch.thread.join()
        if self.problems and any(watch.last is None for watch in watches.values()):
            return {}
        facts = {name: watch.check_media() for name, watch in watches.items()}
        self.check_together(watches, facts)
        self.check_keys(url, lines, streams, watches)
        self.check_thumbnails(url, lines, watches["v0"])
        facts.update(self.check_texts(url, lines, streams, watches["v0"]))
        for says, uri in streams:
            name = uri.split(".")[0]
            problem = self.problem_in(name)
            peak = facts[name]["peak"] + max((facts[uri.split(".")[0]]["peak"] for uri in sound), default=0)
            problem(int(says["BANDWIDTH"]) >= peak, f"BANDWIDTH {says['BANDWIDTH']} below the peak {peak:.0f}")
            for coded in [codec_of(facts[track]["init"]) for track in (name, "a0") if track in facts]:
                problem(coded is None or coded in says["CODECS"].split(","), f"CODECS {says['CODECS']}, coded {coded}")
        return facts

    def check_keys(self, url, lines, streams, watches):
        """Key frames alone (RFC 8216 4.3.3.6): the first pictures of the smallest rendition's segments."""
        problem = self.problem_in("i0")
        says = [attributes(line) for line in lines if line.startswith("#EXT-X-I-FRAME-STREAM-INF:")]
        problem(len(says) == 1, f"{len(says)} lists of key frames")
        size, name = min((int(a["RESOLUTION"].split("x")[0]), uri.split(".")[0]) for a, uri in streams)
        problem(says[0]["RESOLUTION"].startswith(f"{size}x"), f"key frames of {says[0]['RESOLUTION']}, not of {name}")
        address = urljoin(url, says[0]["URI"])
        keys, whole = Playlist(address, problem, parts=False), watches[name]
        problem("#EXT-X-I-FRAMES-ONLY" in keys.tags and not any(s.parts for s in keys.segments), "tags")
        init = fetch(urljoin(url, keys.tags["#EXT-X-MAP"]["URI"]))
        problem(init == whole.init, "another init segment")
        seen = 0
        for key in keys.complete:
            mate = whole.segments.get(key.number)
            if mate is None or not keys.first <= key.number <= keys.complete[-2].number:
                continue
            seen += 1
            where = f"segment {key.number}"
            problem((mate.seconds, mate.date, mate.discontinuity) == (key.seconds, key.date, key.discontinuity),
                    f"{where} differs from {name}'s")
            data, first = Fragment(fetch(key.uri)), next(split(fetch(mate.uri)))
            problem(data.samples == 1 and data.sync and data.first == first.first, f"{where} is not the key frame alone")
            problem((data.decode_time, data.first_offset) == (first.decode_time, first.first_offset),
                    f"{where} is shown at another time")
            problem(abs(data.duration / timescale(init) - key.seconds) < CLOSE, f"{where} lasts {data.duration}")
            short = key.seconds < keys.target / 2
            problem(short or 8 * len(data.first) / key.seconds <= int(says[0]["BANDWIDTH"]), f"{where} is above BANDWIDTH")
        problem(seen > 0, "no key frame of a segment that was watched")
        join = "&" if "?" in address else "?"
        later = Playlist(f"{address}{join}_HLS_msn={keys.complete[-1].number + 1}", problem, parts=False)
        ended = "#EXT-X-ENDLIST" in later.tags
        problem(ended or later.complete[-1].number > keys.complete[-1].number, "_HLS_msn was not waited for")
        problem(status_of(keys.complete[-1].uri.replace(".m4s", ".0.m4s")) == 404, "a part of a key frame")

    def check_thumbnails(self, url, lines, pictures):
        """A picture for each segment, listed as v0's are."""
        problem = self.problem_in("t0")
        says = [attributes(line) for line in lines if line.startswith("#EXT-X-IMAGE-STREAM-INF:")]
        problem(len(says) == 1 and says[0]["CODECS"] == "jpeg", f"{len(says)} lists of thumbnails")
        address = urljoin(url, says[0]["URI"])
        playlist = Playlist(address, problem, parts=False)
        problem("#EXT-X-IMAGES-ONLY" in playlist.tags and "#EXT-X-MAP" not in playlist.tags, "tags")
        problem(playlist.target == pictures.last.target and not any(s.parts or s.gap for s in playlist.segments), "parts or gaps")
        common = [(s, pictures.segments[s.number]) for s in playlist.complete if s.number in pictures.segments]
        problem(common, "no segment that v0 has")
        for segment, mate in common:
            where = f"segment {segment.number}"
            problem((mate.seconds, mate.date, mate.discontinuity) == (segment.seconds, segment.date, segment.discontinuity),
                    f"{where} differs from v0's")
            tiles = {"RESOLUTION": says[0]["RESOLUTION"], "LAYOUT": "1x1", "DURATION": f"{segment.seconds:.5f}"}
            problem(segment.tiles == tiles, f"{where}: tiles {segment.tiles}, not {tiles}")
        for segment in (playlist.complete[len(playlist.complete) // 2], playlist.complete[-1]):
            data, where = fetch(segment.uri), f"segment {segment.number}"
            problem("x".join(map(str, jpeg_size(data))) == says[0]["RESOLUTION"], f"{where} has {jpeg_size(data)}")
            short = segment.seconds < playlist.target / 2
            problem(short or 8 * len(data) / segment.seconds <= int(says[0]["BANDWIDTH"]), f"{where}: {len(data)} bytes are above BANDWIDTH")
        newest = playlist.complete[-1].number
        join = "&" if "?" in address else "?"
        ask = f"{address}{join}_HLS_msn={newest + 1}"
        later = Playlist(ask, problem, parts=False)
        problem("#EXT-X-ENDLIST" in later.tags or later.complete[-1].number > newest, "_HLS_msn was not waited for")
        problem(status_of(playlist.complete[-1].uri.replace(f"t0-{newest}.", f"t0-{newest + 1000}.")) == 404, "one that does not exist")

    def check_texts(self, url, lines, streams, pictures):
        """Tracks of text: listed as v0 is, said when v0's pictures are shown (RFC 8216 3.5)."""
        said = [attributes(line) for line in lines if line.startswith("#EXT-X-MEDIA:TYPE=SUBTITLES")]
        problem = self.problem_in("master")
        problem(len({text["NAME"] for text in said}) == len(said), "two texts of one name")
        problem(all((a.get("SUBTITLES") in {t["GROUP-ID"] for t in said}) == bool(said) for a, _ in streams), "SUBTITLES")
        facts = {}
        for text in said:
            name = text["URI"].split(".")[0]
            problem, address = self.problem_in(name), urljoin(url, text["URI"])
            before = Playlist(address, problem, parts=False)
            join = "&" if "?" in address else "?"
            ask = f"{address}{join}_HLS_msn={before.complete[-1].number + 1}"
            playlist = Playlist(ask, problem, parts=False)
            ended = "#EXT-X-ENDLIST" in playlist.tags
            problem(ended or playlist.complete[-1].number > before.complete[-1].number, "_HLS_msn was not waited for")
            delta = Playlist(ask + "&_HLS_skip=YES", problem, before, parts=False)
            problem([s.uri for s in delta.complete] == [s.uri for s in playlist.complete[delta.first - playlist.first:]] or
                    delta.complete[-1].number > playlist.complete[-1].number, "the delta update is another playlist")
            problem("#EXT-X-MAP" not in playlist.tags and playlist.target == pictures.last.target, "tags")
            problem(all(s.uri for s in playlist.segments) and not any(s.parts or s.gap for s in playlist.segments), "parts or gaps")
            facts[name] = self.check_cues(playlist, pictures, problem)
        return facts

    def check_cues(self, playlist, pictures, problem):
        ticks, seen, common, before = timescale(pictures.init), {}, 0, None
        for segment in playlist.complete:
            mate, where = pictures.segments.get(segment.number), f"segment {segment.number}"
            cues = cues_of(fetch(segment.uri), lambda good, text, where=where: problem(good, f"{where}: {text}"))
            seen.update({cue[2]: cue for cue in cues})
            if mate is None:
                before = None
                continue
            common += 1
            problem((mate.seconds, mate.date, mate.discontinuity) == (segment.seconds, segment.date, segment.discontinuity),
                    f"{where} differs from v0's")
            first = next(split(fetch(mate.uri)))
            begin = (first.decode_time + first.first_offset) / ticks
            for cue in cues:
                problem(cue[1] > begin - CLOSE and cue[0] < begin + segment.seconds + CLOSE,
                        f"{where}, {begin:.3f} and {segment.seconds:.3f} s more: {cue}")
            if before is not None and not segment.discontinuity:
                over = [cue for cue in before if cue[1] > begin + CLOSE]
                problem(all(cue in cues for cue in over), f"{where} lacks one of {over}")
                problem(all(cue in over for cue in cues if cue[0] < begin - CLOSE), f"{where}: {cues} begin before it")
            before = cues
        problem(common > 0, "no segment that v0 has")
        return {"cues": sorted(seen.values())}

    def check_together(self, watches, facts):
        first = facts["v0"]["starts"]
        for name, watch in watches.items():
            problem = self.problem_in(name)
            problem(watch.versions > 1, "the playlist never changed")
            reported = set(watch.last.reports)
            problem(reported == set(watches) - {name}, f"reports of {reported}")
            for other, (number, part) in watch.last.reports.items():
                problem((number, part) in watches[other].parts or number >= watches[other].last.newest()[0],
                        f"reports {number}.{part} of {other}")
            if not name.startswith("a"):
                common = set(first) & set(facts[name]["starts"])
                problem(common and all(first[n] == facts[name]["starts"][n] for n in common),
                        "key frames differ from v0's")
            problem(watch.last.target == watches["v0"].last.target, "another target duration")
            for number, segment in watch.segments.items():
                mate = watches["v0"].segments.get(number)
                problem(mate is None or (mate.discontinuity == segment.discontinuity
                                         and abs(mate.date - segment.date) < 0.2), f"segment {number} differs from v0's")


def check(url, seconds, between_publishers=0):
    """All that is wrong with the presentation behind this master playlist; and what was measured."""
    checker = Checker(seconds)
    facts = checker.check_hls(url)
    if facts:
        manifest = url.replace("/v1/hls/", "/v1/dash/").replace("master.m3u8", "manifest.mpd")
        check_dash_in_time(manifest, facts, checker, between_publishers)
    return checker.problems, facts


def main():
    problems, facts = check(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 8)
    for text in problems:
        print(text)
    for name, fact in facts.items():
        if "cues" in fact:
            print(f"{name}: {len(fact['cues'])} cues")
            continue
        late = sorted(fact["late"])
        print(f"{name}: {len(fact['starts'])} segments, {8 * fact['bytes'] / fact['seconds'] / 1000:.0f} kb/s, "
              f"peak {fact['peak'] / 1000:.0f}, newest part {late[len(late) // 2]:.3f} s old (at most {late[-1]:.3f})")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
