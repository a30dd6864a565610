# SPDX-License-Identifier: Apache-2.0
"""One case of the corpus: how its movie is made, and what must come of it."""

import dataclasses
import shlex
from fractions import Fraction


@dataclasses.dataclass
class Sound:
    rate: int = 48000
    channels: int = 2
    seconds: float | None = None  # None = as long as the pictures
    offset: float = 0.0           # starts so much later than the pictures
    tracks: int = 1


@dataclasses.dataclass
class Case:
    name: str
    # The movie: pictures, ffmpeg's filters behind the generator, encoder, container.
    video: str = "libx264 -preset ultrafast -g 24 -bf 2"
    audio: str | None = "aac -b:a 128k"      # None = no sound
    ext: str = "mp4"
    frames: int = 60
    fps: str = "24"
    size: str = "160x96"
    pixels: str = "yuv420p"
    scale: str = ""                          # more options of the scaler, like out_range=full
    filters: str = ""                        # behind the scaler
    mux: str = ""                            # options of the output
    inputs: str = ""                         # options of the pictures' input
    sound: Sound = dataclasses.field(default_factory=Sound)
    after: tuple = ()                        # steps of mutators.py, each takes and returns a path
    # The transcode: flags, and whether the source is a pipe or a file that grows meanwhile.
    flags: str = ""
    container: str | None = None             # None: by case number
    feed: str = "file"                       # file, pipe, grow
    # What must come of it. `shows`: "all" = each source frame once, in order; "model" = what the
    # rule of the grid picks from the frames that stock ffmpeg sees; or a list of numbers.
    shows: object = "all"
    wrong: int = 0                           # so many frames may show another number, or none
    missing: int = 0                         # so many frames may be lacking at the ends
    offset: float | None = None              # of the sound, if stock ffmpeg is no judge of the source
    settles: float = 0                       # seconds before which sound may be off by less than a jump
    props: dict = dataclasses.field(default_factory=dict)  # of the output, as ffprobe names them
    colours: int = 24                        # how far the painted colours may be off, 0 = not checked
    report: dict = dataclasses.field(default_factory=dict)  # lower limits of the program's own report
    error: str | None = None                 # must fail, and say this
    code: int = 3                            # and end with this; 2 = it is not the source that is wrong
    quick: bool = False                      # part of the normal suite
    cross: bool = False                      # run under every policy

    @property
    def rate(self):
        return Fraction(self.fps)

    @property
    def seconds(self):
        return float(self.frames / self.rate)

    @property
    def shown_seconds(self):
        """Length of a whole source of which a list says what it shows."""
        if isinstance(self.shows, str) or self.part != (0, None):
            return self.seconds
        return float(len(self.shows) / self.rate)

    @property
    def part(self):
        """Start and length (None = to the end) of what is transcoded, in seconds."""
        words = shlex.split(self.flags)
        given = dict(zip(words, words[1:]))
        length = given.get("--duration")
        return float(given.get("--start", 0)), None if length is None else float(length)


CASES: list[Case] = []


def case(name, **fields):
    if "sound" in fields and isinstance(fields["sound"], dict):
        fields["sound"] = Sound(**fields["sound"])
    made = Case(name=name, **fields)
    assert all(other.name != name for other in CASES), name
    CASES.append(made)
    return made
