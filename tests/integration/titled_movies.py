# SPDX-License-Identifier: Apache-2.0
"""Movies with tracks of text, small and soon made."""

import subprocess
from pathlib import Path

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
