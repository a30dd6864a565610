#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Publishers whose streams are half or wrong, each with a reader: what comes out is in order and plays, or ends with a
reason; and who reads another source gets each of its pictures."""

import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "corpus"))
import mutators_ts as mutators  # noqa: E402
from live_test import Publisher, Reader  # noqa: E402
from rtsp_publish_test import LossyPublisher  # noqa: E402
from served import Server, check, free_port, make_stream, read_in_thread, run_all, run_beside_each_other, wait_until  # noqa: E402

os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "5"
QUERY = "width=160&bitrate=100k&preset=ultrafast&container=ts"
B_FRAMES = ("-c:v", "libx264", "-preset", "veryfast", "-g", "30", "-bf", "3", "-b_strategy", "0")
ONE_GOP = ("-c:v", "libx264", "-preset", "veryfast", "-g", "1000")
VIDEO_PID = 256


def times(body, kind="v"):
    """Of the packets in their order; a decoder must have nothing to say."""
    out = subprocess.run(["ffprobe", "-v", "error", "-select_streams", kind, "-show_entries", "packet=pts_time,dts_time", "-of",
                          "json", "-"], input=body, capture_output=True, check=True)
    complaints = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", "-", "-f", "null", "-"], input=body, capture_output=True,
                                check=False).stderr
    check(not out.stderr and not complaints, f"a decoder complains: {(out.stderr + complaints)[:300]}")
    packets = json.loads(out.stdout)["packets"]
    return [float(p["dts_time"]) for p in packets], sorted(float(p["pts_time"]) for p in packets)


def read_a_publisher(server, name, path, pace=("-re",)):
    """What a reader gets who was there before; the publisher's answer."""
    result = {}
    reader = read_in_thread(server, name, QUERY, result)
    wait_until(lambda: server.live(name)["readers"] == 1, 10, f"a reader of {name} that waits")
    if pace is None:
        data = Path(path).read_bytes()
        answer, body = server.get(f"/v1/live/{name}", "PUT", {}, data)
        status = answer.status
    else:
        status, body = Publisher(server, name, path, pace=pace, form=("-f", "mpegts", "-muxdelay", "0")).finish()
    reader.join()
    return result, status, json.loads(body)


def pictures_without_their_key_frame(server):
    """The second half of a GOP, its sound with it: nothing can be shown, and both sides are told."""
    whole = Path(make_stream(server.folder, "gop.ts", 2, ONE_GOP, ()))
    data = whole.read_bytes()
    half = Path(server.folder, "half.ts")
    half.write_bytes(data[:188 * 3] + data[len(data) // 2 // 188 * 188:])
    result, status, answer = read_a_publisher(server, "half", half, None)
    check(result["status"] == 503 and status == 422 and "key picture" in answer["detail"],
          f"a reader got {result}, the publisher {status} {answer}")
    # The same name is good for the next.
    result, status, _ = read_a_publisher(server, "half", whole)
    check(result["status"] == 200 and len(times(result["body"])[0]) == 60, "the publisher after one of half a GOP")


def the_first_half_of_a_gop(server):
    """The publisher breaks off in a GOP: what was sent comes out."""
    whole = Path(make_stream(server.folder, "cut.ts", 2, ONE_GOP, ()))
    data = whole.read_bytes()
    whole.write_bytes(data[:len(data) * 6 // 10])
    result, status, answer = read_a_publisher(server, "cut", whole, None)
    check(result["status"] == 200 and status == 200, f"a reader got {result['status']}, the publisher {status} {answer}")
    decoding, shown = times(result["body"])
    check(20 <= len(decoding) < 60, f"{len(decoding)} pictures of half a GOP")
    check(all(0.03 < b - a < 0.037 for a, b in zip(shown, shown[1:])), "a gap in half a GOP")


def video_tags(flv):
    """Its header and all tags but those of sound."""
    kept, at = flv[:13], 13
    while at + 11 <= len(flv):
        end = at + 15 + int.from_bytes(flv[at + 1:at + 4], "big")
        kept += b"" if flv[at] == 8 else flv[at:end]
        at = end
    return kept


def sound_that_is_announced_and_never_comes(server):
    """FFmpeg would look for it in 90 seconds of FLV; the pictures come sooner."""
    movie = Path(make_stream(server.folder, "announced.flv", 8))
    movie.write_bytes(video_tags(movie.read_bytes()))
    publisher = Publisher(server, "announced", "", command=["sh", "-c", f"cat {movie}; exec sleep 60"])
    wait_until(lambda: server.live("announced").get("source"), 10, "pictures without the sound that was announced")
    check(server.live("announced")["source"]["audio"] is None, "sound that never came")
    publisher.kill()


def bend_stamps(path, ticks):
    for number in (20, 41, 62):
        mutators.ts_bend(path, VIDEO_PID, number, ticks)


def broken_times(server, name, break_it, *how):
    movie = Path(make_stream(server.folder, f"{name}.ts", 2.8, B_FRAMES))
    whole = movie.read_bytes()
    break_it(str(movie), *how)
    check(movie.read_bytes() != whole, f"{name}: nothing is broken")
    result, status, answer = read_a_publisher(server, name, movie, None)
    check(result["status"] == 200 and status == 200, f"{name}: a reader got {result['status']}, the publisher {status} {answer}")
    stream = [s for s in json.loads(server.get("/v1/streams")[1])["streams"] if s["source"] == f"live/{name}"][-1]
    counts = stream["counts"]
    check(answer["counts"]["timestamps_repaired"] + counts["source_frames_dropped"] + counts["frames_repeated"] > 0,
          f"{name}: nothing is counted: {stream}")
    decoding, shown = times(result["body"])
    check(all(a < b for a, b in zip(decoding, decoding[1:])), f"{name}: times of decoding run backwards")
    gaps = [b - a for a, b in zip(shown, shown[1:])]
    check(len(shown) >= 80 and max(gaps) < 0.037, f"{name}: {len(shown)} pictures of 84, gaps up to {max(gaps):.3f} s")
    sound = times(result["body"], "a")[0]
    check(all(a < b for a, b in zip(sound, sound[1:])), f"{name}: times of the sound run backwards")


def broken_times_of_b_frames(server):
    """Times that contradict each other, are missing, or leap: out come pictures in order, as many, without a gap."""
    run_beside_each_other(*((broken_times, server, *case) for case in (
        ("swapped", mutators.ts_swap_stamps, VIDEO_PID, 2), ("missing", mutators.ts_drop_stamps, VIDEO_PID, 4),
        ("early", bend_stamps, -45000), ("late", bend_stamps, 45000))))


class WildPublisher(LossyPublisher):
    """ffmpeg's packets; some with a sequence number or a time of their own."""
    LOST = SWAPPED = 1 << 30
    seed = random.Random(7)

    def next_packet(self):
        packet = super().next_packet()
        if packet is None or self.sent % 11:
            return packet
        bent = bytearray(packet)
        at, size = (2, 2) if self.sent % 22 else (4, 4)
        bent[at:at + size] = self.seed.randbytes(size)
        return bytes(bent)


def wild_rtp_with_a_reader(server):
    movie = make_stream(server.folder, "wild.ts", 4, sound=())
    publisher = WildPublisher(server, "wildrtp", movie)
    reader = Reader(server, "wildrtp", QUERY)
    wait_until(lambda: server.live("wildrtp")["readers"] == 1, 10, "a reader that waits")
    before = server.resident_kib()
    publisher.relay()
    check(server.resident_kib() - before < 200 * 1024, "wild packets cost memory")
    counts = server.live("wildrtp")["counts"]
    check(0 < counts["packets_lost"] <= publisher.sent and counts["timestamps_repaired"] > 0,
          f"what is wild of {publisher.sent} packets is not counted: {counts}")
    publisher.ask("TEARDOWN", publisher.url)
    publisher.socket.close()
    wait_until(lambda: not server.live("wildrtp")["publishing"], 15, "who has sent wild packets keeps the name")
    reader.thread.join()
    check(reader.answer.status == 200, f"wild packets: {reader.answer.status} {reader.body[:300]}")
    decoding, shown = times(reader.body)
    check(len(shown) > 60, f"wild packets: {len(shown)} pictures of 120")
    check(all(a < b for a, b in zip(decoding, decoding[1:])), "times run backwards")
    # The same name is good for the next.
    result, status, _ = read_a_publisher(server, "wildrtp", make_stream(server.folder, "tame.ts", 2))
    check(status == 200 and len(times(result["body"])[0]) == 60, "the publisher after a wild one")


def wild_rtp_ends(server, seed):
    """TEARDOWN is answered, whatever GStreamer's jitter buffer waits for."""
    class Wild(WildPublisher):
        pass
    Wild.seed = random.Random(seed)
    name = f"wild{seed}"
    publisher = Wild(server, name, make_stream(server.folder, f"{name}.ts", 4, sound=()))
    publisher.relay()
    publisher.ask("TEARDOWN", publisher.url)
    publisher.socket.close()
    wait_until(lambda: not server.live(name)["publishing"], 15, f"{name}: who has sent wild packets keeps the name")


def a_silent_srt_client(server):
    """It shakes hands and sends nothing: it has the port for some seconds, then the next one gets it."""
    url = f"srt://127.0.0.1:{server.srt_port}?mode=caller"
    mute = subprocess.Popen(["gst-launch-1.0", "-q", "fdsrc", "fd=0", "!", "srtsink", f"uri={url}", "wait-for-connection=false"],
                            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: any("live srt: The client brought nothing" in line for line in server.log), 25,
                   "a silent client is told of")
        movie = make_stream(server.folder, "srt.ts", 20)
        end = time.monotonic() + 30
        while not server.live("srt")["publishing"] and time.monotonic() < end:
            sender = subprocess.Popen(["ffmpeg", "-nostdin", "-v", "quiet", "-re", "-i", movie, "-c", "copy", "-f", "mpegts", url])
            wait_until_or_ended(lambda: server.live("srt")["publishing"], sender, 10)
        check(server.live("srt")["publishing"], "nobody can send after a silent client")
        sender.kill()
        sender.wait()
    finally:
        mute.kill()
        mute.wait()
        mute.stdin.close()


def wait_until_or_ended(condition, process, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None and not condition():
        time.sleep(0.05)


def beside_a_good_one(server):
    """All of it, while somebody reads a source that is well."""
    good = make_stream(server.folder, "good.ts", 150)
    publisher = Publisher(server, "good", good)
    wait_until(lambda: server.live("good").get("source"), 10, "a publisher that is known")
    reader = Reader(server, "good", QUERY)
    wait_until(reader.begun, 10, "a reader that has begun")
    run_beside_each_other(*((test, server) for test in (pictures_without_their_key_frame, the_first_half_of_a_gop,
                                                        sound_that_is_announced_and_never_comes,
                                                        wild_rtp_with_a_reader, a_silent_srt_client)),
                          *((wild_rtp_ends, server, seed) for seed in (4, 6, 13)))
    run_all([broken_times_of_b_frames], server)
    counts = server.live("good")["counts"]
    check(counts["dropped_gops"] == 0 and counts["timestamps_repaired"] == 0, f"a good source: {counts}")
    publisher.kill()
    reader.thread.join()
    _, shown = times(reader.body)
    gaps = [b - a for a, b in zip(shown, shown[1:])]
    check(len(shown) > 300 and max(gaps) < 0.14, f"who read a good source: {len(shown)} pictures, gaps up to {max(gaps):.3f} s")


def main():
    port = free_port(socket.SOCK_DGRAM)
    with tempfile.TemporaryDirectory() as folder:
        with Server(folder, "--srt-port", str(port), rtsp=True) as server:
            server.folder, server.srt_port = folder, port
            return run_all([beside_a_good_one], server)


if __name__ == "__main__":
    sys.exit(main())
