#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The bundled movies are what movies/manifest.json and their purpose say."""

import argparse
import hashlib
import importlib.machinery
import importlib.util
import json
import platform
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
FILES = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else TOP / "movies/files"
MANIFEST = json.loads((TOP / "movies/manifest.json").read_text())["movies"]
MADE_BY = "ffmpeg version 5.1."  # the hashes
REFERENCE = [name for name in MANIFEST if name.startswith("ref-")]


def probe(name: str, *arguments: str) -> dict:
    out = subprocess.run(["ffprobe", "-v", "error", "-of", "json", *arguments, str(FILES / name)],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def size_and_hash(path: Path) -> tuple[int, str]:
    with path.open("rb") as file:
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def stream(name: str, kind: str) -> dict:
    return probe(name, "-count_packets", "-select_streams", f"{kind}:0", "-show_streams")["streams"][0]


def key_positions(name: str) -> list[int]:
    packets = probe(name, "-select_streams", "v:0", "-show_entries", "packet=flags")["packets"]
    return [place for place, packet in enumerate(packets) if "K" in packet["flags"]]


def elementary(name: str) -> bytes:
    """The video without its container."""
    form = stream(name, "v")["codec_name"]
    return subprocess.run(["ffmpeg", "-v", "error", "-i", str(FILES / name), "-map", "0:v", "-c",
                           "copy", "-f", form, "-"], check=True, capture_output=True).stdout


class EveryMovie(unittest.TestCase):
    def test_is_listed_with_origin_and_licence(self):
        self.assertEqual(sorted(MANIFEST), sorted(path.name for path in FILES.iterdir()))
        for name, entry in MANIFEST.items():
            with self.subTest(movie=name):
                for key in ("description", "origin", "licence"):
                    self.assertTrue(entry[key])
                for content in ("clips", "lavfi"):
                    self.assertRegex(entry[content]["sha256"], "^[0-9a-f]{64}$")

    def test_has_the_size_and_hash_of_the_manifest(self):
        """All movies those with the real clips, or all those without."""
        version = subprocess.run(["ffmpeg", "-version"], check=True, capture_output=True, text=True).stdout
        if not version.startswith(MADE_BY) or platform.machine() != "x86_64":
            self.skipTest(f"only {MADE_BY} of amd64 is known to make the same bytes")
        found = {name: size_and_hash(FILES / name) for name in MANIFEST}
        wanted = [{name: (entry[content]["bytes"], entry[content]["sha256"])
                   for name, entry in MANIFEST.items()} for content in ("clips", "lavfi")]
        self.assertEqual(found, wanted[1] if found == wanted[1] else wanted[0])

    def test_has_the_frames_of_the_manifest(self):
        for name, entry in MANIFEST.items():
            with self.subTest(movie=name):
                self.assertEqual(int(stream(name, "v")["nb_read_packets"]), entry["frames"])

    def test_decodes_without_complaint(self):
        for name in MANIFEST:
            with self.subTest(movie=name):
                done = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-t", "5", "-i",
                                       str(FILES / name), "-enc_time_base", "-1",
                                       "-f", "null", "-"],
                                      capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_has_sound_as_long_as_the_picture(self):
        for name, entry in MANIFEST.items():
            with self.subTest(movie=name):
                packets = probe(name, "-select_streams", "a:0", "-show_entries",
                                "packet=pts_time,duration_time")["packets"]
                last = packets[-1]
                end = float(last["pts_time"]) + float(last.get("duration_time", 0))
                pictures = probe(name, "-select_streams", "v:0", "-show_entries",
                                 "packet=pts_time")["packets"]
                times = [float(packet["pts_time"]) for packet in pictures if "pts_time" in packet]
                self.assertGreater(entry["frames"], 0)
                self.assertAlmostEqual(end, max(times), delta=0.2)


class ReferenceMovies(unittest.TestCase):
    def test_have_the_reference_format_and_rate(self):
        self.assertEqual(len(REFERENCE), 4)
        for name in REFERENCE:
            with self.subTest(movie=name):
                video = stream(name, "v")
                self.assertEqual((video["codec_name"], video["width"], video["height"],
                                  video["avg_frame_rate"]), ("mpeg1video", 352, 240, "30000/1001"))
                packets = probe(name, "-select_streams", "v:0", "-show_entries",
                                "packet=size")["packets"]
                bits = 8 * sum(int(packet["size"]) for packet in packets)
                self.assertAlmostEqual(bits * 30000 / 1001 / len(packets), 920e3, delta=0.06 * 920e3)

    def test_have_closed_gops_of_fifteen(self):
        for name in REFERENCE:
            with self.subTest(movie=name):
                self.assertEqual(key_positions(name), list(range(0, 1800, 15)))
                video = elementary(name)
                headers = [match.end() for match in re.finditer(b"\x00\x00\x01\xb8", video)]
                self.assertEqual(len(headers), 120)
                # 25 bits of time code, then closed_gop, then broken_link.
                self.assertEqual({(video[at + 3] >> 5) & 3 for at in headers}, {0b10})


class ModernMovies(unittest.TestCase):
    def assert_streams(self, name: str, video: dict, channels: int) -> None:
        found = stream(name, "v")
        self.assertEqual({key: found.get(key) for key in video}, video)
        sound = stream(name, "a")
        self.assertEqual((sound["codec_name"], sound["channels"]), ("aac", channels))

    def test_are_of_the_kinds_promised(self):
        self.assert_streams("modern-720p.mp4", {
            "codec_name": "h264", "width": 1280, "height": 720, "avg_frame_rate": "30/1",
            "has_b_frames": 2}, 2)
        self.assert_streams("modern-1080p.mkv", {
            "codec_name": "h264", "width": 1920, "height": 1080, "avg_frame_rate": "24/1"}, 6)
        self.assert_streams("hevc10-540p.mp4", {
            "codec_name": "hevc", "profile": "Main 10", "pix_fmt": "yuv420p10le",
            "codec_tag_string": "hvc1"}, 2)
        self.assert_streams("sync-720p.mp4", {"codec_name": "h264", "avg_frame_rate": "30/1"}, 2)

    def test_gops_are_at_most_two_seconds(self):
        for name, frames in [("modern-720p.mp4", 60), ("modern-1080p.mkv", 48)]:
            with self.subTest(movie=name):
                keys = key_positions(name) + [MANIFEST[name]["frames"]]
                self.assertLessEqual(max(b - a for a, b in zip(keys, keys[1:])), frames)

    def test_one_has_open_gops(self):
        video = elementary("open-gop-480p.ts")
        # NAL units of type 5 (IDR): the first picture only; the other key frames are recovery points.
        self.assertEqual(len(re.findall(rb"\x00\x00\x01[\x05\x25\x45\x65]", video)), 1)
        self.assertGreater(len(key_positions("open-gop-480p.ts")), 10)

    def test_one_has_a_variable_frame_rate(self):
        packets = probe("vfr-540p.mkv", "-select_streams", "v:0", "-show_entries",
                        "packet=pts_time")["packets"]
        times = sorted(float(packet["pts_time"]) for packet in packets)
        steps = [round(60 * (b - a)) for a, b in zip(times, times[1:])]
        self.assertLessEqual({1, 2, 3, 4}, set(steps))
        self.assertGreater(len(set(steps)), 4)


class SyncMovie(unittest.TestCase):
    def test_flashes_and_beeps_at_full_seconds(self):
        name = str(FILES / "sync-720p.mp4")
        gray = subprocess.run(["ffmpeg", "-v", "error", "-i", name, "-vf", "scale=1:1,format=gray",
                               "-f", "rawvideo", "-"], check=True, capture_output=True).stdout
        flashes = [n for n in range(1, len(gray)) if gray[n] > 225 >= gray[n - 1]]
        self.assertEqual(flashes, list(range(30, 600, 30)))
        sound = subprocess.run(["ffmpeg", "-v", "error", "-i", name, "-ac", "1", "-ar", "8000", "-f",
                                "u8", "-"], check=True, capture_output=True).stdout
        loud = [any(abs(value - 128) > 30 for value in sound[at:at + 80])
                for at in range(0, len(sound), 80)]  # per 10 ms
        onsets = [n for n in range(1, len(loud)) if loud[n] and not loud[n - 1]]
        self.assertEqual(len(onsets), 19)
        for second, onset in enumerate(onsets, start=1):
            self.assertAlmostEqual(onset, 100 * second, delta=3)


class SharedCache(unittest.TestCase):
    """tools/movies with files that are no movies, in place of those; nothing is fetched or coded."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        top = Path(folder.name)
        sys.dont_write_bytecode = True
        loader = importlib.machinery.SourceFileLoader("movies_tool", str(TOP / "tools/movies"))
        self.tool = importlib.util.module_from_spec(importlib.util.spec_from_loader("movies_tool", loader))
        loader.exec_module(self.tool)
        self.tool.WORK, self.tool.SHARED_CACHE = top / "work", top / "cache"
        self.tool.SHARED_CACHE.mkdir()
        self.tool.say = lambda text: None
        self.tool.fetch_clips, self.tool.make = self.fetch, self.make
        self.files, self.clips, self.fetched, self.made = top / "files", top / "clips", 0, []
        self.manifest = {"movies": {}}
        for name in self.tool.recipes.RECIPES:
            hashes = {content: {"sha256": hashlib.sha256(self.bytes_of(name, content)).hexdigest()}
                      for content in ("clips", "lavfi")}
            self.manifest["movies"][name] = hashes
            (self.tool.SHARED_CACHE / hashes["clips"]["sha256"]).write_bytes(self.bytes_of(name, "clips"))

    @staticmethod
    def bytes_of(name: str, content: str) -> bytes:
        return f"{name} of {content}".encode()

    def fetch(self) -> Path | None:
        self.fetched += 1
        return self.clips

    def make(self, name: str, output: Path, clips: Path | None) -> None:
        self.assertIn(clips, (self.clips, None), "clips that nobody fetched")
        self.made.append(name)
        output.write_bytes(self.bytes_of(name, "lavfi" if clips is None else "clips"))

    def make_all(self) -> str:
        arguments = argparse.Namespace(lavfi_only=False, no_cache=False, refresh=False)
        state = self.tool.State(self.files)
        self.tool.make_all(arguments, state, self.manifest)
        for name in self.manifest["movies"]:
            self.assertEqual((self.files / name).read_bytes(), self.bytes_of(name, state.data["content"]))
        return state.data["content"]

    def damage(self, name: str) -> Path:
        path = self.tool.SHARED_CACHE / self.manifest["movies"][name]["clips"]["sha256"]
        path.write_bytes(b"damaged")
        return path

    def test_spares_the_clips(self):
        self.assertEqual((self.make_all(), self.fetched, self.made), ("clips", 0, []))

    def test_makes_a_damaged_movie_anew_of_the_clips(self):
        name = REFERENCE[0]
        path = self.damage(name)
        self.assertEqual((self.make_all(), self.fetched, self.made), ("clips", 1, [name]))
        self.assertEqual(path.read_bytes(), self.bytes_of(name, "clips"), "and mends the cache")

    def test_makes_what_a_cache_that_cannot_be_written_has_damaged_anew(self):
        path, said = self.damage(REFERENCE[0]), []
        self.tool.say = said.append
        self.tool.into_shared_cache = lambda path, digest: None
        with unittest.mock.patch.object(Path, "unlink", side_effect=PermissionError(30, "Read-only file system")):
            self.assertEqual((self.make_all(), self.made), ("clips", [REFERENCE[0]]))
        self.assertEqual(path.read_bytes(), b"damaged")
        self.assertEqual(len([text for text in said if text.startswith("WARNING: " + str(path))]), 1)

    def test_what_a_cache_does_not_let_be_read_stays(self):
        path = self.tool.SHARED_CACHE / self.manifest["movies"][REFERENCE[0]]["clips"]["sha256"]
        whole, hashed = path.read_bytes(), self.tool.sha256
        self.tool.into_shared_cache = lambda path, digest: None
        self.tool.sha256 = lambda file: self.refuse(PermissionError(13, "Permission denied")) if file == path else hashed(file)
        self.assertEqual((self.make_all(), self.made), ("clips", [REFERENCE[0]]))
        self.assertEqual(path.read_bytes(), whole)

    def test_tells_what_came_out_other_than_the_manifest_says_and_uses_it(self):
        said = []
        self.tool.say = said.append
        self.tool.fetch_clips = lambda: None
        self.manifest["movies"][REFERENCE[0]]["lavfi"]["sha256"] = "0" * 64
        self.damage(REFERENCE[0])
        self.assertEqual(self.make_all(), "lavfi")
        self.assertEqual(len([text for text in said if text.startswith(f"WARNING: {REFERENCE[0]} differs")]), 1)
        self.assertIn("1 with other bytes", said[-1])

    def test_ffmpeg_is_told_of_instructions_that_its_cpu_can_have(self):
        for machine, told in (("x86_64", ["mmx+mmxext+sse+sse2"]), ("aarch64", [])):
            with unittest.mock.patch("platform.machine", return_value=machine):
                for name in MANIFEST:
                    encode = self.tool.recipes.commands(name, Path("out") / name, None)[0]
                    self.assertEqual([value for flag, value in zip(encode, encode[1:]) if flag == "-cpuflags"], told)

    @staticmethod
    def refuse(error: OSError):
        raise error

    def test_with_a_damaged_movie_and_no_clips_makes_all_without(self):
        self.damage(REFERENCE[0])
        self.tool.fetch_clips = lambda: None
        self.assertEqual((self.make_all(), sorted(self.made)), ("lavfi", sorted(self.manifest["movies"])))


if __name__ == "__main__":
    unittest.main()
