#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Codecs of old files and of phones in HLS: each segment alone, its pictures, level and pitch as in the source. Whole files
are in the corpus."""

import json
import random
import re
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import PROGRAM, Server, check, run_all, small_pictures, unlike  # noqa: E402

QUERY = "width=128&bitrate=200k&preset=ultrafast"
SECONDS, FPS = 6, 25
LATE = 3  # pictures
# Pictures, sound, its rate, container.
FORMS = [
    ("msmpeg4v2", "adpcm_ms", 22050, "avi"), ("msmpeg4", "wmav1", 44100, "avi"), ("msmpeg4", "adpcm_ima_wav", 44100, "mkv"),
    ("wmv1", "wmav1", 44100, "asf"), ("wmv2", "wmav2", 44100, "asf"), ("wmv2", "wmav2", 48000, "mkv"),
    ("flv", "adpcm_swf", 44100, "flv"), ("flv", "nellymoser", 44100, "flv"),
    ("h263", "g726", 8000, "avi"), ("h263", "libgsm_ms", 8000, "avi"), ("h263", "g723_1", 8000, "avi"),
    ("h263", "adpcm_ima_qt", 44100, "mov"), ("h263", "tta", 48000, "mkv"),
    ("mpeg4 -bf 2 -vtag xvid", "libmp3lame", 44100, "avi"), ("libxvid -bf 2", "libmp3lame", 44100, "avi"),
    ("mpeg4", "libgsm", 8000, "mov"), ("mpeg4", "wavpack", 48000, "mkv"),
    ("mpeg4", "mlp", 48000, "mkv"), ("mpeg4", "pcm_f64be", 48000, "mov"),
]


def make(folder, video, audio, rate, ext):
    path = Path(folder, f"{video.replace(' ', '')}-{audio}.{ext}")
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=s=176x144:r={FPS}:d={SECONDS}", "-f",
                    "lavfi", "-i", f"sine=440:sample_rate={rate}:d={SECONDS},volume=4", "-c:v", *video.split(), "-g", "24", "-b:v", "1M",
                    "-c:a", audio, "-strict", "-2", *(["-b:a", "6300"] if audio == "g723_1" else []), "-y", str(path)], check=True)
    return path


def heard(source):
    """Samples at 8000 Hz, of a path or of bytes."""
    by_name = isinstance(source, Path)
    raw = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", str(source) if by_name else "-", "-vn", "-f", "s16le", "-ac",
                          "1", "-ar", "8000", "-"], capture_output=True, check=False, input=None if by_name else source).stdout
    return array("h", raw[:len(raw) // 2 * 2])


def level(samples):
    inside = samples[2000:-2000]
    return (sum(s * s for s in inside) / max(len(inside), 1)) ** 0.5


def pitch(samples):
    inside = samples[2000:-2000]
    return sum(a < 0 <= b for a, b in zip(inside, inside[1:])) * 8000 / max(len(inside), 1)


def segments_of(server, name, playlist):
    base = f"/v1/hls/{name}/"
    text = server.get(f"{base}{playlist}?{QUERY}")[1].decode()
    start = re.search(r'MAP:URI="([^"]*)"', text)[1]
    names = [line for line in text.splitlines() if line and not line.startswith("#")]
    check(len(names) > 1, f"{name}: {playlist} has {len(names)} segments")
    # The last first: none may need the one before.
    made = [server.get(base + at)[1] for at in reversed([start, *names])]
    return b"".join(reversed(made))


def pictures_are_right(name, made, wanted):
    # In AVI the first picture stays while sound that its encoder put in front is heard.
    check(0 <= len(made) - SECONDS * FPS <= LATE, f"{name}: {len(made)} pictures of {len(wanted)}")
    around = [wanted[max(min(n, len(wanted)) - LATE - 1, 0):n + 2] for n in range(len(made))]
    near = [min(unlike(picture, other) for other in others) for picture, others in zip(made, around)]
    check(max(near) < 6, f"{name}: a picture is {max(near):.1f} off")


def sound_is_right(name, made, wanted):
    # Matroska states the last packet of TTA, of a second, as long as the others.
    check(-0.15 < len(made) / 8000 - SECONDS < 0.35, f"{name}: {len(made) / 8000:.2f} s of sound")
    check(abs(level(made) / level(wanted) - 1) < 0.06, f"{name}: level {level(made):.0f}, in the source {level(wanted):.0f}")
    check(abs(pitch(made) - 440) < 5, f"{name}: {pitch(made):.0f} Hz")


def is_made_right(server, source):
    name = source.name
    pictures_are_right(name, small_pictures(segments_of(server, name, "v0.m3u8")), small_pictures(source))
    sound_is_right(name, heard(segments_of(server, name, "a0.m3u8")), heard(source))


def telephone(path, head, frame):
    """AMR has no encoder here: packets of noise, of the highest rate, in a 3GP file."""
    noise = random.Random(7)
    path.write_bytes(head + b"".join(frame[:1] + noise.randbytes(len(frame) - 1) for _ in range(50 * SECONDS)))
    movie = path.with_suffix(".3gp")
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=s=176x144:r={FPS}:d={SECONDS}", "-i", str(path),
                    "-c:v", "h263", "-g", "24", "-b:v", "1M", "-c:a", "copy", "-y", str(movie)], check=True)
    return movie


def sounds_of_telephones(server):
    for name, head, frame in (("narrow.amr", b"#!AMR\n", b"\x3c" + bytes(31)), ("wide.amr", b"#!AMR-WB\n", b"\x44" + bytes(60))):
        movie = telephone(Path(server.folder, name), head, frame)
        made = heard(segments_of(server, movie.name, "a0.m3u8"))
        # Noise loses some of its level to AAC, so the source is no measure for it.
        whole = movie.with_suffix(".mp4")
        subprocess.run([PROGRAM, "transcode", str(movie), str(whole), "--quiet"], check=True)
        wanted = heard(whole)
        check(abs(len(made) / 8000 - SECONDS) < 0.15, f"{name}: {len(made) / 8000:.2f} s of sound")
        check(abs(level(made) / level(wanted) - 1) < 0.1, f"{name}: level {level(made):.0f}, of the whole {level(wanted):.0f}")


def what_is_left_out_is_named(server):
    """Sound that nobody decodes here (Speex in FLV) is not the same as none."""
    movie = make(server.folder, "flv", "libspeex", 16000, "flv").name
    listed = next(s for s in json.loads(server.get("/v1/sources")[1])["sources"] if s["path"] == movie)
    check(listed["audio"] is None and listed["unusable_audio"] == ["speex"], f"{listed}")
    for query in ("duration=1", "duration=1&acodec=aac"):
        said = server.get(f"/v1/transcode/{movie}?{query}")[0].getheader("X-Gopmill-Adjusted")
        check("cannot be used: speex" in (said or ""), f"{query}: {said}")
    answer, body = server.get(f"/v1/transcode/{movie}?audio=1")
    check(answer.status == 400 and b"cannot be used: speex" in body, f"{answer.status} {body}")
    check(b"cannot be used: speex" in server.get(f"/v1/explain/{movie}")[1], "explain")


def each_form(server):
    for form in FORMS:
        is_made_right(server, make(server.folder, *form))


def main():
    with tempfile.TemporaryDirectory() as folder, Server(folder) as server:
        server.folder = folder
        return run_all([what_is_left_out_is_named, each_form, sounds_of_telephones], server)


if __name__ == "__main__":
    sys.exit(main())
