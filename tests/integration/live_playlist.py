# SPDX-License-Identifier: Apache-2.0
"""One version of a live media playlist (RFC 8216, draft-pantos-hls-rfc8216bis), read and checked by itself."""

import time
from datetime import datetime
from urllib.parse import urljoin

from hls_check import attributes, fetch

CLOSE = 0.002  # seconds: what rounding to text may cost


def wall(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Segment:
    def __init__(self, number):
        self.number, self.parts = number, []
        self.uri = self.seconds = self.date = self.tiles = None
        self.discontinuity = self.gap = False


class Playlist:
    """One version of a live media playlist."""

    def __init__(self, url, problem, before=None, parts=True):
        """`before`: the version that a delta update is to be completed with. `parts`: it lists them."""
        self.read_at = time.time()
        lines = fetch(url).decode().splitlines()
        problem(lines[0] == "#EXTM3U", "the first line is not #EXTM3U")
        self.tags, self.segments, self.reports, self.hint, self.skipped = {}, [], {}, None, 0
        current = None
        for line in lines[1:]:
            name, _, value = line.partition(":")
            if name == "#EXT-X-SKIP":
                self.skip(int(attributes(line)["SKIPPED-SEGMENTS"]), before, problem)
                continue
            if current is None and name in ("#EXT-X-DISCONTINUITY", "#EXT-X-PROGRAM-DATE-TIME", "#EXT-X-PART",
                                            "#EXTINF", "#EXT-X-GAP"):
                current = Segment(int(self.tags["#EXT-X-MEDIA-SEQUENCE"]) + len(self.segments))
                self.segments.append(current)
            if name == "#EXT-X-DISCONTINUITY":
                current.discontinuity = True
            elif name == "#EXT-X-PROGRAM-DATE-TIME":
                current.date = wall(value)
            elif name == "#EXT-X-GAP":
                current.gap = True
            elif name == "#EXT-X-PART":
                says = attributes(line)
                current.parts.append((urljoin(url, says["URI"]), float(says["DURATION"]),
                                      says.get("INDEPENDENT") == "YES"))
            elif name == "#EXTINF":
                current.seconds = float(value.rstrip(","))
            elif name == "#EXT-X-TILES":
                current.tiles = attributes(line)
            elif name == "#EXT-X-PRELOAD-HINT":
                self.hint = urljoin(url, attributes(line)["URI"])
            elif name == "#EXT-X-RENDITION-REPORT":
                says = attributes(line)
                self.reports[says["URI"].split(".")[0]] = (int(says["LAST-MSN"]), int(says["LAST-PART"]))
            elif name.startswith("#EXT"):
                problem(name not in self.tags, f"{name} comes twice")
                self.tags[name] = attributes(line) if "=" in value else value
            elif line and not line.startswith("#"):
                current.uri = urljoin(url, line)
                current = None
        self.first = int(self.tags["#EXT-X-MEDIA-SEQUENCE"])
        self.complete = [s for s in self.segments if s.uri]
        self.target = int(self.tags["#EXT-X-TARGETDURATION"])
        if not parts:
            problem("#EXT-X-PART-INF" not in self.tags and self.hint is None, "parts where there are none")
            return
        self.part_target = float(self.tags["#EXT-X-PART-INF"]["PART-TARGET"])
        self.check(problem)

    def skip(self, count, before, problem):
        first = int(self.tags["#EXT-X-MEDIA-SEQUENCE"]) - before.first
        problem(count > 0 and not self.segments, f"{count} segments are skipped behind {len(self.segments)} others")
        problem(0 <= first and first + count <= len(before.complete), f"{count} skipped: more than the player has")
        self.segments, self.skipped = before.segments[first:first + count], count

    def newest(self):
        """Number of the newest segment that has a part, and of that part."""
        last = self.segments[-1]
        return (last.number, len(last.parts) - 1)

    def check(self, problem):
        control = self.tags["#EXT-X-SERVER-CONTROL"]
        problem(control["CAN-BLOCK-RELOAD"] == "YES", "CAN-BLOCK-RELOAD")
        problem(float(control["HOLD-BACK"]) >= 3 * self.target, "HOLD-BACK below three target durations")
        until = float(control["CAN-SKIP-UNTIL"])
        problem(until >= 6 * self.target, "CAN-SKIP-UNTIL below six target durations")
        left = sum(s.seconds or sum(part[1] for part in s.parts) for s in self.segments[self.skipped:])
        problem(not self.skipped or left >= until - CLOSE, f"a delta update of only {left:.1f} s")
        problem(float(control["PART-HOLD-BACK"]) >= 3 * self.part_target, "PART-HOLD-BACK below three parts")
        problem(int(self.tags["#EXT-X-VERSION"]) >= 6 and "#EXT-X-INDEPENDENT-SEGMENTS" in self.tags, "version")
        problem("URI" in self.tags["#EXT-X-MAP"], "no EXT-X-MAP")
        ended = "#EXT-X-ENDLIST" in self.tags
        problem(ended or self.hint, "no PRELOAD-HINT")
        problem(all(s.uri for s in self.segments[:-1]), "a segment without a name in the middle")
        behind = 0
        for number in range(len(self.segments) - 1, -1, -1):
            segment = self.segments[number]
            where = f"segment {segment.number}"
            problem(segment.date is not None, f"{where} has no date")
            for index, (_, seconds, independent) in enumerate(segment.parts):
                last = segment.uri and index == len(segment.parts) - 1
                problem(seconds <= self.part_target + 1e-5, f"{where}: part of {seconds} s")
                problem(last or independent or seconds >= 0.85 * self.part_target, f"{where}: part {index} of only {seconds} s")
            if segment.uri and not segment.gap:
                problem(round(segment.seconds) <= self.target, f"{where} is longer than the target")
                total = sum(part[1] for part in segment.parts)
                problem(not segment.parts or abs(total - segment.seconds) < CLOSE, f"{where}: parts last {total}")
                problem(segment.parts or behind >= 3 * self.target - CLOSE, f"{where} has lost its parts too early")
            behind += segment.seconds or sum(part[1] for part in segment.parts)
            # A segment without sound has the date of its pictures, which may begin behind the last sound.
            if number and not segment.discontinuity and not segment.gap and not self.segments[number - 1].gap:
                step = segment.date - self.segments[number - 1].date
                off = step - self.segments[number - 1].seconds
                problem(abs(off) < CLOSE, f"{where}: its date is {off:.3f} s off")
