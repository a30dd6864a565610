#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Publishers by RTSP that do what none does, at random: numbers of an SDP, times and sequence numbers of RTP, payloads of every codec,
reports. The server lives, and takes the next one. With a number of seconds as argument: so long, of new seeds each time."""

import http.client
import random
import re
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from rtsp_recorded import AUDIO, VIDEO, Publisher, lives, on_recorded, rtp, stamp_of  # noqa: E402
from served import check, decode, make_stream, read_in_thread, run_on_rtsp, wait_until  # noqa: E402

NUMBERS = (0, 1, 2, 7, 8, 9, 13, 32, 33, 64, 65, 200, 999, 1000, 65535, 65536, 384000, 384001, 2**31 - 1, 2**31, 2**32, -1, 10**20)
LINES = (
    "a=rtpmap:{other} ulpfec/90000", "a=rtpmap:{other} rtx/90000\r\na=fmtp:{other} apt={payload};rtx-time=500", "a=rtpmap:{other} red/90000",
    "a=rtpmap:{other} telephone-event/8000", "a=rtcp-fb:{payload} nack pli", "a=rtcp-fb:* transport-cc", "a=framerate:0.0001", "a=framerate:inf",
    "a=extmap:1 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01", "a=extmap:3 urn:ietf:params:rtp-hdrext:ssrc-audio-level",
    "a=ssrc:4294967295 cname:x", "a=ssrc-group:FID 1 2", "a=rtcp-mux", "a=framesize:{payload} 99999-1", "a=ts-refclk:ntp=/traceable/",
    "a=mediaclk:direct=963214424 rate=90000", "a=ptime:99999999", "b=AS:99999999999", "a=x-dimensions:4096,4096", "a=crypto:1 x inline:x",
)


class Mutator:
    """What one seed does to descriptions, packets and reports."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.header, self.body = self.random.choice((0, 0.02, 0.2)), self.random.choice((0, 0.05, 0.3))
        self.jumps, self.gaps = self.random.choice((0, 0, 0.1)), self.random.choice((0, 0, 0.1))

    def lines(self, lines, payload):
        lines = list(lines)
        if self.random.random() < 0.3:
            place = self.random.randrange(1, len(lines)) if len(lines) > 1 else 0
            found = list(re.finditer(r"-?\d+", lines[place]))
            if found and place:
                number = self.random.choice(found)
                lines[place] = lines[place][:number.start()] + str(self.random.choice(NUMBERS)) + lines[place][number.end():]
        if self.random.random() < 0.4:
            other = self.random.randrange(96, 128)
            extra = self.random.choice(LINES).format(other=other, payload=payload)
            if f":{other} " in extra:
                lines[0] += f" {other}"
            lines.append(extra)
        return lines

    def payload(self, packet):
        data, choice = bytearray(packet), self.random.randrange(6)
        body = len(data) - 12
        if choice == 0:
            return bytes(data[:12 + self.random.randrange(body + 1)])
        if choice == 1:
            return bytes(data[:12]) + self.random.randbytes(self.random.choice((0, 1, 2, 5, 20, 1400)))
        if choice == 2:
            return bytes(data) + bytes(self.random.choice((1, 300)))
        for _ in range(self.random.choice((1, 1, 4, 20))):
            reach = body if choice > 3 else min(body, 14)  # in front: what the payload says of itself
            if reach:
                data[12 + self.random.randrange(reach)] = self.random.choice((0, 1, 0x7f, 0x80, 0xff, self.random.randrange(256)))
        return bytes(data)

    def packet(self, packet):
        if self.random.random() < self.body:
            packet = self.payload(packet)
        if self.random.random() < self.header:
            head = bytearray(packet)
            head[self.random.choice((0, 0, 1, 1, 2, 4, 8))] ^= 1 << self.random.randrange(8)
            packet = bytes(head)
        return packet

    def report(self):
        kind, source = self.random.choice((200, 200, 201, 202, 203, 204, 205, 206, 207, 255)), self.random.choice((0, 1, 0xffffffff))
        body = struct.pack(">I", source) + self.random.randbytes(4 * self.random.choice((0, 1, 5, 6, 30)))
        length = self.random.choice((len(body) // 4, len(body) // 4, 0, 0xffff))
        return bytes([0x80 | self.random.randrange(32), kind]) + struct.pack(">H", length) + body


def publish_wildly(server, recorded, name, seed):
    """Whether the server took it."""
    mutator = Mutator(seed)
    chance = mutator.random
    names = [chance.choice(list(VIDEO)), *chance.sample(list(AUDIO), chance.choice((0, 1, 1, 2)))]
    streams = [recorded[codec] for codec in names]
    numbers, shifts = [chance.randrange(65536) for _ in streams], [chance.randrange(2**32) for _ in streams]
    try:
        publisher = Publisher(server, name)
    except OSError:
        return False  # the server has gone: its caller sees it
    with publisher:
        if not publisher.begin([mutator.lines(stream.lines, stream.payload) for stream in streams], udp=chance.random() < 0.3):
            return False
        try:
            for turn in range(chance.choice((40, 120))):
                for track, stream in enumerate(streams):
                    packet = stream.packets[turn % len(stream.packets)]
                    if chance.random() < mutator.gaps:
                        numbers[track] += chance.choice((1, 1, 2, 100, 3000, 40000, -1, -5))
                    if chance.random() < mutator.jumps:
                        shifts[track] += chance.choice((2**31, 2**31 - 1, 90000 * 3600, -90000 * 5, 1))
                    packet = rtp(packet, number=numbers[track], stamp=stamp_of(packet) + shifts[track])
                    numbers[track] += 1
                    publisher.send(mutator.packet(packet) if turn > chance.choice((0, 25)) else packet, 2 * track)
                if chance.random() < 0.1:
                    publisher.send(mutator.report(), 2 * chance.randrange(len(streams)) + 1)
                time.sleep(chance.choice((0, 0.001, 0.005)))
            if chance.random() < 0.5:
                publisher.ask(chance.choice(("TEARDOWN", "RECORD", "PAUSE")), publisher.url)
        except OSError:
            pass  # cut off
    return True


def wild_publishers(server, recorded, seeds, until=None, read="read"):
    """Four at a time; someone reads what comes of each third, of names that begin with `read`, so that it is decoded: there
    are seeds at which FFmpeg's decoder of H.264 fails an assertion."""
    seeds, lock, taken, readers = iter(seeds), threading.Lock(), [], []

    def is_publishing(name):
        try:
            return server.live(name)["publishing"]
        except OSError:
            return False  # the server has gone

    def waits(name):
        try:
            return server.live(name)["readers"] > 0
        except OSError:
            return True  # the server has gone

    def work(worker):
        while server.process.poll() is None and (until is None or time.monotonic() < until):
            with lock:
                seed = next(seeds, None)
            if seed is None:
                return
            read_by_someone = seed % 3 == 0
            name = f"{read}{worker}" if read_by_someone else f"wild{worker}"
            if read_by_someone:
                readers.append(threading.Thread(target=read_some, args=(name,), daemon=True))
                readers[-1].start()
                wait_until(lambda: waits(name), 10, "a reader that waits")  # one that comes behind the packets decodes none of them
            taken.append(publish_wildly(server, recorded, name, seed))
            if server.process.poll() is not None:
                print(f"{name}: the server has gone with {server.process.poll()} at or before seed {seed}", flush=True)
            end = time.monotonic() + 15
            while time.monotonic() < end and is_publishing(name):
                time.sleep(0.05)

    def read_some(name):
        try:
            server.get(f"/v1/transcode/live/{name}?width=64&bitrate=50k&preset=ultrafast&container=ts&duration=2")
        except (OSError, http.client.HTTPException):
            pass  # what comes of them is no matter here

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in (*threads, *readers):
        thread.join(None if thread in threads else 20)
    resident = server.resident_kib() // 1024 if lives(server, "wild publishers") else 0
    print(f"{sum(taken)} of {len(taken)} wild publishers were taken; {resident} MiB are resident", flush=True)
    check(sum(taken) * 2 > len(taken), "most are refused: nothing is tried")


# Found by the run that the docstring tells of.
SEEDS = range(60)


def wild_seeds(server, recorded):
    wild_publishers(server, recorded, SEEDS)
    if server.process.poll() is not None:
        return
    result, movie = {}, make_stream(server.folder, "after.mkv", 2)
    reader = read_in_thread(server, "after", "width=64&bitrate=50k&preset=ultrafast&container=ts", result)
    wait_until(lambda: server.live("after")["readers"] == 1, 10, "a reader that waits")
    subprocess.run(["ffmpeg", "-v", "error", "-re", "-i", movie, "-c", "copy", "-f", "rtsp", "-rtsp_transport", "tcp", server.url("live/after")],
                   check=True, timeout=60)
    reader.join()
    check(int(decode(result["body"])["video"]["nb_read_frames"]) == 60, "a publisher after wild ones is not whole")


def an_assertion_of_a_decoder(server, recorded):
    """Damaged H.264 at which the decoder of FFmpeg 5.1 aborts; others may take it."""
    caught = 0
    for turn in range(5):  # on a busy machine live pictures are left out, and the decoder may not get to see the damaged ones
        # A name without a past: a reader would be given that.
        wild_publishers(server, recorded, [281271327], read=f"anew{turn}-")
        if not lives(server, "an assertion"):
            return
        caught = int(re.search(r"^gopmill_decoders_left_behind_total (\d+)", server.get("/metrics")[1].decode(), re.M)[1])
        if caught:
            break
    version = subprocess.run(["ffmpeg", "-version"], capture_output=True, text=True, check=True).stdout
    check(caught >= 1 or " 5.1" not in version.splitlines()[0], "no assertion was reached")


def main():
    def run(server, recorded, _folder):
        if len(sys.argv) > 1:
            first, until = random.randrange(10**9), time.monotonic() + float(sys.argv[1])
            print(f"seeds from {first}", flush=True)
            return run_on_rtsp([lambda *_: wild_publishers(server, recorded, range(first, first + 10**6), until)], server)
        return run_on_rtsp([wild_seeds, an_assertion_of_a_decoder], server, recorded)

    return on_recorded(run)


if __name__ == "__main__":
    sys.exit(main())
