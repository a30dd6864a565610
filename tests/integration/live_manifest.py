# SPDX-License-Identifier: Apache-2.0
"""A live DASH manifest against DASH-IF's rules for live services: availability against the clock, timelines against the media."""

import time
import urllib.error
import xml.etree.ElementTree as ET
from urllib.parse import urljoin

from hls_check import DASH, fetch
from mp4_read import codec_of
from live_playlist import wall

NOT_LISTED = "is not listed"


def status_of(url):
    try:
        fetch(url)
        return 200
    except urllib.error.HTTPError as error:
        return error.code


def check_dash(url, facts, problem):
    """The manifest as it is now; all that it lists must be there and be due."""
    root = ET.fromstring(fetch(url))
    now = time.time()
    problem(root.get("type") == "dynamic" and root.get("minimumUpdatePeriod"), "not dynamic")
    begin = wall(root.get("availabilityStartTime"))
    timing = root.find(DASH + "UTCTiming")
    problem(timing.get("schemeIdUri").endswith("utc:direct:2014") and abs(wall(timing.get("value")) - now) < 1, "UTCTiming")
    depth = float(root.get("timeShiftBufferDepth")[2:-1])
    for period in root.iter(DASH + "Period"):
        start = begin + float(period.get("start")[2:-1])
        for group in period.iter(DASH + "AdaptationSet"):
            template = group.find(DASH + "SegmentTemplate")
            ticks, offset = int(template.get("timescale")), int(template.get("presentationTimeOffset"))
            number, expected = int(template.get("startNumber")), None
            entries = list(template.iter(DASH + "S"))
            for entry in entries:
                at, length = int(entry.get("t")), int(entry.get("d"))
                problem(expected in (None, at), f"a hole in the timeline at {number}")
                expected = at + length
                due = start + (at + length - offset) / ticks
                problem(due <= now + 2, f"segment {number} is listed {due - now:.2f} s before it is due")
                problem(due >= now - depth - 20, f"segment {number} should be gone")
                for representation in group.iter(DASH + "Representation"):
                    name = representation.get("id")
                    known = facts.get(name, {}).get("starts", {})
                    if number in known:
                        coded = codec_of(facts[name]["init"])
                        problem(coded in (None, representation.get("codecs")), f"{name}: codecs {representation.get('codecs')}, coded {coded}")
                        shift = facts[name]["lead"] if name.startswith("a") else 0
                        problem(abs(max(known[number] - shift, 0) - at) <= 1, f"{name}-{number}: timeline {at}, media {known[number]}")
                number += 1
            last = entries[-1] if entries else None
            if period.get("duration") is None and last is not None:
                late = now - due - int(last.get("d")) / ticks
                problem(late <= 0.3, f"segment {number} was due {late:.2f} s ago and {NOT_LISTED}")
            for representation in group.iter(DASH + "Representation") if last is not None else []:
                name = template.get("media").replace("$RepresentationID$", representation.get("id"))
                problem(status_of(urljoin(url, name.replace("$Number$", str(number - 1)))) == 200, f"{name} is not there")
                if group.get("contentType") == "image":
                    continue
                name = template.get("initialization").replace("$RepresentationID$", representation.get("id"))
                problem(b"moov" in fetch(urljoin(url, name)), "the init segment")
    return begin


def check_dash_in_time(url, facts, checker, between_publishers):
    """A manifest that nobody feeds runs late: for so many seconds the next publisher is waited for."""
    end = time.monotonic() + between_publishers
    check_dash(url, facts, checker.problem_in("manifest"))
    while any(NOT_LISTED in text for text in checker.problems) and time.monotonic() < end:
        time.sleep(0.35)
        checker.problems[:] = [text for text in checker.problems if NOT_LISTED not in text]
        check_dash(url, facts, checker.problem_in("manifest"))
