# SPDX-License-Identifier: Apache-2.0
"""What an output says of its pictures, by ffprobe: carried from the source, or as the case states."""

import json
import subprocess
from fractions import Fraction

HDR = {"smpte2084", "arib-std-b67"}
SDR = {"color_primaries": "bt709", "color_transfer": "bt709", "color_space": "bt709",
       "color_range": "tv"}
SHAPE = 0.01  # of the width to the height; sizes are even numbers, and samples are as good as square


def probe(path):
    """The first video and audio stream, and the side data of the first picture, as ffprobe has them."""
    done = subprocess.run(
        ["ffprobe", "-v", "error", "-of", "json", "-show_streams", "-show_frames", "-select_streams",
         "v:0", "-read_intervals", "%+#1", path], capture_output=True, text=True, timeout=60)
    found = json.loads(done.stdout or "{}")
    video = found["streams"][0]
    video["frame_side_data"] = [side for frame in found.get("frames", [])
                                for side in frame.get("side_data_list", [])]
    done = subprocess.run(["ffprobe", "-v", "error", "-of", "json", "-show_streams", "-select_streams",
                           "a", path], capture_output=True, text=True, timeout=60)
    return video, json.loads(done.stdout or "{}").get("streams", [])


def start_time(path):
    """Where a movie's times begin, in seconds."""
    done = subprocess.run(["ffprobe", "-v", "error", "-of", "csv=p=0", "-show_entries",
                           "format=start_time", path], capture_output=True, text=True, timeout=60)
    return float(done.stdout)


def side_data(video, kind):
    sides = video.get("side_data_list", []) + video["frame_side_data"]
    return next((side for side in sides if side["side_data_type"].startswith(kind)), None)


def shape(video):
    """Width to height as shown."""
    sample = Fraction(video.get("sample_aspect_ratio", "1:1").replace(":", "/"))
    stored = float(sample) * video["width"] / video["height"]
    matrix = side_data(video, "Display Matrix") or {}
    return 1 / stored if matrix.get("rotation", 0) % 180 == 90 else stored


def described(video, key):
    """A colour property; what is not stated is None, and range that is not stated is limited."""
    value = video.get(key)
    if key == "color_range":
        return "pc" if value == "pc" or video["pix_fmt"].startswith("yuvj") else "tv"
    return None if value in ("unknown", "reserved") else value


def carried(source, output):
    """The colours that the output has to state."""
    ten_bits = "10" in output["pix_fmt"]
    if source.get("color_transfer") in HDR and not ten_bits:
        return SDR
    wanted = {key: described(source, key) for key in SDR}
    if source.get("color_space") == "gbr":  # the encoder takes no RGB
        wanted.update(color_space="bt709", color_range="tv")
    return wanted


def check_carried(case, source, output, say):
    """Shape, turn, colours and fields: as in the source, but where the program's rules say otherwise."""
    for key, want in carried(source, output).items():
        if key not in case.props and described(output, key) != want:
            say(f"{key} is {output.get(key)}, in the source {source.get(key)}")
    keeps_shape = "--fit" not in case.flags and "display" not in case.props
    if keeps_shape and abs(shape(output) / shape(source) - 1) > SHAPE:
        say(f"shape {shape(output):.3f}, in the source {shape(source):.3f}")
    if side_data(output, "Display Matrix"):
        say("still has a display matrix")
    # Fields are made whole pictures.
    if output.get("field_order", "progressive") not in ("progressive", "unknown"):
        say(f"field order {output['field_order']}")
    if output["codec_name"] == "h264" and output.get("field_order") != "progressive":
        say("H.264 does not say that its pictures are whole")


def check_stated(key, want, video, sounds, say):
    """One property that the case names."""
    if key == "display":
        if abs(shape(video) / want - 1) > SHAPE:
            say(f"shape {shape(video):.3f} instead of {want:.3f}")
    elif key == "even":
        if video["width"] % 2 or video["height"] % 2:
            say(f"odd size {video['width']}x{video['height']}")
    elif key == "light":
        light = side_data(video, "Content light") or {}
        if (light.get("max_content"), light.get("max_average")) != want:
            say(f"content light {light}")
    elif key == "mastering":
        if bool(side_data(video, "Mastering")) != want:
            say("mastering display metadata: " + ("none" if want else "of what is no HDR"))
    elif key == "channels":
        if not sounds or sounds[0]["channels"] != want:
            say(f"channels {[sound['channels'] for sound in sounds]}, wanted {want}")
    elif video.get(key) != want and not (key == "color_range" and want == "tv" and key not in video):
        say(f"{key} is {video.get(key)}, wanted {want}")


def check_vbv(path, maxrate, bufsize, say):
    """No row of pictures may take more than what comes in meanwhile and a full buffer."""
    done = subprocess.run(["ffprobe", "-v", "error", "-of", "json", "-select_streams", "v:0",
                           "-show_entries", "packet=dts_time,size", path],
                          capture_output=True, text=True, timeout=60)
    packets = json.loads(done.stdout)["packets"]
    times = [float(packet["dts_time"]) if "dts_time" in packet else None for packet in packets]
    told = next(n for n, time in enumerate(times) if time is not None)
    for n in range(told):  # Matroska has none, and ffprobe knows it once it has seen enough pictures
        times[n] = times[told] - (told - n) * (times[told + 1] - times[told])
    left, last = bufsize, times[0]
    for packet, now in zip(packets, times):
        left = min(bufsize, left + (now - last) * maxrate) - 8 * int(packet["size"])
        last = now
        if left < 0:
            say(f"the buffer is empty at {now:.3f} s, by {-left:.0f} bits")
            return
    if left > 0.98 * bufsize and sum(int(p["size"]) for p in packets) * 8 < bufsize:
        say("too few bits to try the buffer")


def check_props(case, source, path, say):
    video, sounds = probe(path)
    check_carried(case, probe(source)[0], video, say)
    for key, want in case.props.items():
        if key == "vbv":
            check_vbv(path, *want, say)
        else:
            check_stated(key, want, video, sounds, say)
