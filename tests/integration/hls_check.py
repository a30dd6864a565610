#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a segmented movie against the rules that players forgive and stock tools do not check.

  tests/integration/hls_check.py http://127.0.0.1:8080/v1/hls/movie.mp4/master.m3u8

HLS (RFC 8216): tags and versions, target duration, EXTINF against the media, independent segments,
declared against measured bandwidth, codec strings against the coded stream, equal borders in all
renditions. CMAF: every tfdt is the sum of the durations before it. DASH (the same movie's manifest):
timeline against the media. Reads every segment. Prints what is wrong; exit code 1 if anything is.
"""

import re
import sys
import urllib.request
import xml.etree.ElementTree as ET
from fractions import Fraction
from urllib.parse import urljoin

from mp4_read import Fragment, avc_codec, avc_is_idr, codec_of, lead, timescale

DASH = "{urn:mpeg:dash:schema:mpd:2011}"


def fetch(url):
    with urllib.request.urlopen(url, timeout=120) as answer:
        return answer.read()


def attributes(line):
    pairs = re.findall(r'([A-Z-]+)=("[^"]*"|[^",]+)', line.split(":", 1)[1])
    return {name: value.strip('"') for name, value in pairs}


def cues(text):
    """Of WebVTT: (start, end, payload), seconds."""
    def seconds(clock):
        hours, minutes, rest = clock.split(":")
        return 3600 * int(hours) + 60 * int(minutes) + float(rest)
    found = re.findall(r"^(\S+) --> (\S+)\n(.*?)(?=\n\n|\n?\Z)", text, re.M | re.S)
    return [(seconds(start), seconds(end), payload) for start, end, payload in found]


class Media:
    """One media playlist."""

    def __init__(self, url, problem):
        self.url = url
        lines = fetch(url).decode().splitlines()
        self.durations, self.uris, self.map = [], [], None
        tags = self.tags = {}
        for line in lines:
            if line.startswith("#EXTINF:"):
                self.durations.append(Fraction(line[8:].rstrip(",")))
            elif line.startswith("#EXT-X-MAP:"):
                self.map = urljoin(url, attributes(line)["URI"])
            elif line.startswith("#EXT"):
                name, _, value = line.partition(":")
                problem(name not in tags, f"{name} comes twice")
                tags[name] = value
            elif line and not line.startswith("#"):
                self.uris.append(urljoin(url, line))
        problem(lines[0] == "#EXTM3U", "the first line is not #EXTM3U")
        problem(tags.get("#EXT-X-PLAYLIST-TYPE") == "VOD" and "#EXT-X-ENDLIST" in tags, "not marked as VOD")
        problem(tags.get("#EXT-X-MEDIA-SEQUENCE") == "0", "media sequence")
        problem(len(self.durations) == len(self.uris) > 0, "as many EXTINF as segments")
        problem(int(tags["#EXT-X-VERSION"]) >= (6 if self.map else 3), "version too low for its tags")
        self.target, self.longest = int(tags["#EXT-X-TARGETDURATION"]), max(self.durations)
        # RFC 8216 section 4.3.3.1: rounded to the nearest integer, no duration may be above.
        problem(int(self.longest + Fraction(1, 2)) <= self.target, f"target {self.target}, longest {float(self.longest)}")
        problem(len(set(self.uris)) == len(self.uris), "a segment comes twice")


def peak_rate(sizes, durations):
    """The peak segment bit rate of RFC 8216 section 4.1: of any row that lasts 0.5 to 1.5 target durations."""
    target, peak = max(1, round(max(durations))), 0
    for first in range(len(sizes)):
        bits = seconds = 0
        for size, duration in zip(sizes[first:], durations[first:]):
            bits, seconds = bits + 8 * size, seconds + float(duration)
            if seconds > 1.5 * target:
                break
            if seconds >= 0.5 * target:
                peak = max(peak, bits / seconds)
    return peak or 8 * sum(sizes) / float(sum(durations))


class Checker:
    def __init__(self):
        self.problems = []

    def problem_in(self, where):
        def report(good, text):
            if not good:
                self.problems.append(f"{where}: {text}")
        return report

    def fragments(self, media, problem):
        """Reads a CMAF rendition; its facts for comparison with others."""
        init = fetch(media.map)
        ticks, ahead = timescale(init), lead(init)
        expected, sizes, starts, samples = 0, [], [], 0
        for uri, duration in zip(media.uris, media.durations):
            data = fetch(uri)
            fragment = Fragment(data)
            name = uri.rsplit("/", 1)[1].split("?")[0]
            sizes.append(len(data))
            starts.append(fragment.decode_time)
            samples += fragment.samples
            problem(fragment.decode_time == expected, f"{name}: tfdt {fragment.decode_time}, not {expected}")
            problem(fragment.sync, f"{name} does not begin with a sync sample")
            expected = fragment.decode_time + fragment.duration
            if "-0.m4s" in name and fragment.first_offset == 0:
                duration += Fraction(ahead, ticks)  # priming counts as media, not as duration
            # Half a packet of sound is what a segment may be off: its last one is cut by time.
            slack = Fraction(1, 1000) + Fraction(1, ticks)
            off = abs(Fraction(fragment.duration, ticks) - duration)
            problem(off <= slack, f"{name}: lasts {fragment.duration / ticks}, EXTINF {float(duration)}")
            if b"avcC" in init:
                problem(avc_is_idr(fragment.first), f"{name} does not begin with an IDR picture")
        peak = peak_rate(sizes, media.durations)
        return {"init": init, "timescale": ticks, "lead": ahead, "starts": starts, "peak": peak,
                "samples": samples, "mean": 8 * sum(sizes) / float(sum(media.durations))}

    def check_hls(self, url):
        problem = self.problem_in("master")
        lines = fetch(url).decode().splitlines()
        problem(lines[0] == "#EXTM3U", "the first line is not #EXTM3U")
        problem("#EXT-X-INDEPENDENT-SEGMENTS" in lines, "segments are not declared independent")
        sound, sounds, loudest, facts = None, [], 0, {}
        texts, captions = [], set()
        for line in lines:
            if not line.startswith("#EXT-X-MEDIA:"):
                continue
            says = attributes(line)
            if says["TYPE"] == "SUBTITLES":
                texts.append(says)
                continue
            if says["TYPE"] == "CLOSED-CAPTIONS":  # RFC 8216 4.3.4.1: in the pictures, so no URI
                problem("URI" not in says and says["INSTREAM-ID"].startswith(("CC", "SERVICE")), f"captions: {says}")
                captions.add(says["GROUP-ID"])
                continue
            name = "a0" if says["DEFAULT"] == "YES" else f"a0 {says['NAME']}"
            other = Media(urljoin(url, says["URI"]), self.problem_in(name))
            facts[name] = self.fragments(other, self.problem_in(name))
            sound = other if name == "a0" else sound
            sounds.append(other)
            loudest = max(loudest, facts[name]["peak"])
        names = [text["NAME"] for text in texts]
        problem(len(set(names)) == len(names), f"equal names of subtitles: {names}")
        problem(sum(text["DEFAULT"] == "YES" for text in texts) <= 1, "more than one default")
        borders, frames, alike = None, None, [*sounds]
        for number, (line, uri) in enumerate(zip(lines, lines[1:])):
            if not line.startswith("#EXT-X-STREAM-INF:"):
                continue
            name, says = uri.split(".")[0], attributes(line)
            problem = self.problem_in(name)
            media = Media(urljoin(url, uri), problem)
            fact = facts[name] = self.fragments(media, problem)
            peak = fact["peak"] + loudest
            mean = fact["mean"] + (facts["a0"]["mean"] if sound else 0)
            problem(int(says["BANDWIDTH"]) >= peak, f"BANDWIDTH {says['BANDWIDTH']} below the peak {peak:.0f}")
            problem(0.5 * mean <= int(says["AVERAGE-BANDWIDTH"]) <= int(says["BANDWIDTH"]),
                    f"AVERAGE-BANDWIDTH {says['AVERAGE-BANDWIDTH']}, measured {mean:.0f}")
            for coded in [codec_of(fact["init"])] + ([codec_of(facts["a0"]["init"])] if sound else []):
                problem(coded is None or coded in says["CODECS"].split(","), f"CODECS {says['CODECS']}, coded {coded}")
            problem(borders in (None, media.durations), "borders differ from another rendition's")
            problem(frames in (None, fact["samples"]), "another number of pictures")
            borders, frames = media.durations, fact["samples"]
            alike.append(media)
            fps = float(says["FRAME-RATE"])
            problem(abs(frames / float(sum(borders)) - fps) < 0.01, f"FRAME-RATE {fps}")
            problem((says.get("SUBTITLES") == "text") == bool(texts), "the group of subtitles")
            group = says.get("CLOSED-CAPTIONS", "NONE")
            problem(group in captions if captions else group == "NONE", f"the group of captions: {group}")
            if sound:
                apart = abs(float(sum(borders) - sum(sound.durations)))
                problem(apart < 1.5, f"sound and picture end {apart} s apart")
        # RFC 8216 section 6.2.4: the same for all, so by the longest of any.
        targets, longest = {media.target for media in alike}, max(media.longest for media in alike)
        problem = self.problem_in("master")
        # Of several sounds each has a plan of its own, which knows of the others how far they may go.
        slack = 1 if not sounds else 1.2 + longest / 4
        problem(len(targets) == 1 and max(targets) <= longest + slack, f"targets {targets}, longest {float(longest)}")
        for line in lines:
            if line.startswith("#EXT-X-I-FRAME-STREAM-INF:"):
                problem, says = self.problem_in("i0"), attributes(line)
                self.iframes(Media(urljoin(url, says["URI"]), problem), says, borders, problem)
        for number, text in enumerate(texts):
            media = Media(urljoin(url, text["URI"]), self.problem_in(f"s{number}"))
            self.subtitles(media, borders, self.problem_in(f"s{number}"))
        return facts

    @staticmethod
    def iframes(media, says, borders, problem):
        """One picture for each segment of the pictures, at its time."""
        problem("#EXT-X-I-FRAMES-ONLY" in media.tags, "not marked as key frames alone")
        problem(media.durations == borders, "borders differ from the pictures'")
        init = fetch(media.map)
        ticks, ahead, begin, sizes = timescale(init), lead(init), Fraction(0), []
        for uri, duration in zip(media.uris, media.durations):
            name, data = uri.rsplit("/", 1)[1].split("?")[0], fetch(uri)
            fragment = Fragment(data)
            problem(fragment.samples == 1 and fragment.sync, f"{name}: {fragment.samples} pictures")
            shown = Fraction(fragment.decode_time + fragment.first_offset - ahead, ticks)
            problem(abs(shown - begin) <= Fraction(1, 1000), f"{name}: shown at {float(shown)}, not {float(begin)}")
            if b"avcC" in init:
                problem(avc_is_idr(fragment.first), f"{name} is no IDR picture")
                problem(says["CODECS"] == avc_codec(init), f"CODECS {says['CODECS']}")
            begin += duration
            sizes.append(len(data))
        peak = peak_rate(sizes, media.durations)
        problem(peak <= int(says["BANDWIDTH"]), f"BANDWIDTH {says['BANDWIDTH']} below the peak {peak:.0f}")

    @staticmethod
    def subtitles(media, borders, problem):
        problem(media.durations == borders, "borders differ from the pictures'")
        begin, seen = 0.0, {}
        for uri, duration in zip(media.uris, media.durations):
            name, text = uri.rsplit("/", 1)[1].split("?")[0], fetch(uri).decode()
            problem(text.startswith("WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n"), f"{name}: {text[:60]!r}")
            end = begin + float(duration)
            for cue in cues(text):
                problem(cue[0] < end and cue[1] > begin, f"{name}: {cue} is not seen from {begin} to {end}")
                seen[cue] = True
            begin = end
        whole = fetch(re.sub(r"s(\d+)-0\.vtt", r"s\1.vtt", media.uris[0])).decode()
        problem(whole.startswith("WEBVTT\n") and cues(whole) == list(seen), "segments have other cues than the whole")

    def check_dash(self, url, facts):
        problem = self.problem_in("manifest")
        root = ET.fromstring(fetch(url))
        problem(root.get("type") == "static", "type")
        longest = float(root.get("maxSegmentDuration")[2:-1])
        for group in root.iter(DASH + "AdaptationSet"):
            if group.get("contentType") == "text":
                text = fetch(urljoin(url, group.find(f".//{DASH}BaseURL").text))
                problem(group.get("mimeType") == "text/vtt" and text.startswith(b"WEBVTT"), "subtitles lead nowhere")
                continue
            template = group.find(DASH + "SegmentTemplate")
            if group.get("contentType") == "image":
                last = template.get("media").replace("$RepresentationID$", "t0").replace("$Number$", template.get("endNumber"))
                data = fetch(urljoin(url, last))
                problem(group.get("mimeType") == "image/jpeg" and data.startswith(b"\xff\xd8\xff"), "images lead nowhere")
                continue
            ticks, starts, at = int(template.get("timescale")), [], 0
            for entry in template.iter(DASH + "S"):
                problem(int(entry.get("t", at)) == at, "a hole in the timeline")
                problem(int(entry.get("d")) / ticks <= longest + 1e-6, f"a segment of {group.get('contentType')} of more than {longest} s")
                for _ in range(int(entry.get("r", 0)) + 1):
                    starts.append(at)
                    at += int(entry.get("d"))
            for representation in group.iter(DASH + "Representation"):
                name = representation.get("id")
                problem = self.problem_in(f"manifest {name}")
                other = re.fullmatch(r"a0-\d+", name)
                fact = facts[f"a0 {group.find(DASH + 'Label').text}" if other else name]
                problem(ticks == fact["timescale"], f"timescale {ticks}, not {fact['timescale']}")
                # The media's clock runs ahead of the presentation by what the edit list takes off;
                # only sound begins at 0 with more in it than is shown.
                shift = fact["lead"] if name.startswith("a") else 0
                shown = [max(start - shift, 0) for start in fact["starts"]]
                problem(starts == shown, "the timeline differs from the media")
                problem(int(representation.get("bandwidth")) >= fact["peak"], "bandwidth below the peak")
                coded = codec_of(fact["init"])
                problem(coded in (None, representation.get("codecs")), f"codecs {representation.get('codecs')}, coded {coded}")
                for attribute in ("initialization", "media"):
                    text = template.get(attribute).replace("$RepresentationID$", name)
                    data = fetch(urljoin(url, text.replace("$Number$", str(len(starts) - 1))))
                    problem(len(data) > 100, f"{attribute} leads nowhere")


def check(url):
    """All that is wrong with the movie behind this master playlist; and what was measured."""
    checker = Checker()
    facts = checker.check_hls(url)
    checker.check_dash(url.replace("/v1/hls/", "/v1/dash/").replace("master.m3u8", "manifest.mpd"), facts)
    return checker.problems, facts


def main():
    problems, facts = check(sys.argv[1])
    for text in problems:
        print(text)
    for name, fact in facts.items():
        print(f"{name}: {len(fact['starts'])} segments, {fact['samples']} samples, "
              f"{fact['mean'] / 1000:.0f} kb/s, peak {fact['peak'] / 1000:.0f}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
