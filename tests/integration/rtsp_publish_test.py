#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Publishing by RTSP (ANNOUNCE, RECORD): ffmpeg as the publisher over TCP and UDP, readers over HTTP; nothing is lost,
publishers that come back, are killed, compete, say nonsense or nothing."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from served import Server, check, decode, decode_tracks, make_stream, pitch, read_in_thread, run_all, wait_until  # noqa: E402

QUERY = "width=160&bitrate=100k&preset=ultrafast&container=ts"
B_FRAMES = ("-c:v", "libx264", "-preset", "veryfast", "-bf", "2", "-g", "15")
OPUS = ("-c:a", "libopus")
SDP = ("v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
       "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\na=control:streamid=0\r\n")


def packets(path):
    out = subprocess.run(["ffprobe", "-v", "error", "-count_packets", "-show_entries", "stream=nb_read_packets", "-of",
                          "csv=p=0", path], check=True, capture_output=True, text=True).stdout
    return [int(line.strip(",")) for line in out.split()]


def publish(server, name, path, transport="tcp", pace=("-re",), maps=(), extra=()):
    return subprocess.Popen(["ffmpeg", "-v", "error", *pace, "-i", path, *maps, "-c", "copy", *extra, "-max_delay", "0", "-f",
                             "rtsp", "-rtsp_transport", transport, server.url(f"live/{name}")], stderr=subprocess.PIPE, text=True)


def finish(publisher):
    _, errors = publisher.communicate(timeout=60)
    check(publisher.returncode == 0 and not errors, f"a publisher ended with {publisher.returncode}: {errors[:300]}")


def ended(server, name):
    wait_until(lambda: not server.live(name)["publishing"], 10, f"{name}: the publisher has gone and is still there")
    return server.live(name)["counts"]


def nothing_is_lost(server):
    """From the first packet to the last, pictures in another order than shown, with sound."""
    movie = make_stream(server.folder, "b.mkv", 3, B_FRAMES, OPUS)
    sent = packets(movie)
    for transport in ("tcp", "udp"):
        result = {}
        reader = read_in_thread(server, transport, QUERY, result)
        wait_until(lambda name=transport: server.live(name)["readers"] == 1, 10, "a reader that waits")
        finish(publish(server, transport, movie, transport))  # which does not wait for the answer to its TEARDOWN
        counts = ended(server, transport)
        check(counts["packets"] == sum(sent) and counts["timestamps_repaired"] == 0,
              f"{transport}: {counts} of {sent} packets")
        reader.join()
        streams = decode(result["body"])
        check(int(streams["video"]["nb_read_frames"]) == sent[0], f"{transport}: {streams['video']} of {sent}")
        lengths = [float(streams[kind]["duration"]) for kind in ("video", "audio")]
        check(abs(lengths[0] - 3) < 0.05 and abs(lengths[1] - 3) < 0.06, f"{transport}: {lengths} of 3 s")
        starts = [float(streams[kind]["start_time"]) for kind in ("video", "audio")]
        check(abs(starts[0] - starts[1]) < 0.05, f"{transport}: begin at {starts}")


def several_sounds(server):
    """Each track of them, whole, beside the pictures, in the order in which the publisher announces them."""
    movie, hertz = str(Path(server.folder, "tones.mkv")), (300, 700, 1100)
    inputs = [part for f in hertz for part in ("-f", "lavfi", "-i", f"sine=f={f}:r=48000:d=3")]
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x90:r=30:d=3", *inputs, "-map", "0", "-map", "1", "-map",
                    "2", "-map", "3", *B_FRAMES, *OPUS, movie], check=True)
    sent = packets(movie)
    for transport in ("tcp", "udp"):
        name, results = f"tones{transport}", {"all": {}, "3": {}}
        readers = [read_in_thread(server, name, f"{QUERY}&audio={audio}", result) for audio, result in results.items()]
        wait_until(lambda name=name: server.live(name)["readers"] == 2, 10, "readers that wait")
        finish(publish(server, name, movie, transport, maps=("-map", "0")))
        counts = ended(server, name)
        check(counts["packets"] == sum(sent), f"{name}: {counts} of {sent} packets")
        for reader in readers:
            reader.join()
        for track, wanted in enumerate(hertz):
            heard = pitch(results["all"]["body"], f"{name}, track {track}", track)
            check(abs(heard - wanted) < 10, f"{name}: track {track} is {heard:.0f} Hz")
        heard = pitch(results["3"]["body"], f"{name}, the one")
        check(abs(heard - hertz[2]) < 10, f"{name}: the track that was asked for is {heard:.0f} Hz")
        tracks = decode_tracks(results["all"]["body"])
        for key, wanted in ("start_time", float(tracks[0]["start_time"])), ("duration", 3):
            check(all(abs(float(track[key]) - wanted) < 0.06 for track in tracks), f"{name}: {key} of {tracks}")


def readers_survive_a_publisher_that_is_killed(server):
    movie = make_stream(server.folder, "a.mkv", 4)
    result = {}
    reader = read_in_thread(server, "cam", f"{QUERY}&duration=4", result)
    first = publish(server, "cam", movie)
    wait_until(lambda: server.live("cam")["counts"].get("packets", 0) > 100, 20, "packets of the first publisher")
    second = publish(server, "cam", movie)
    _, errors = second.communicate(timeout=20)
    check("403" in errors, f"a second publisher is told {errors[:200]!r}")
    first.kill()
    first.communicate()
    ended(server, "cam")
    third = publish(server, "cam", movie)
    reader.join()
    check(int(decode(result["body"])["video"]["nb_read_frames"]) == 120, "four seconds of two publishers")
    finish(third)


def announce(server, path, sdp, content_type="application/sdp"):
    return server.ask(f"ANNOUNCE {server.url(path)} RTSP/1.0\r\nCSeq: 1\r\nContent-Type: {content_type}\r\n"
                      f"Content-Length: {len(sdp)}\r\n\r\n{sdp}")


def nobody_was_waited_for(log):
    """The server says whose end it has waited for, after ten seconds."""
    check("cut off" not in log and "do not end yet" not in log, f"the log: {log[-1000:]}")


def an_announcement_takes_no_name(server):
    """It does that with RECORD, where the name may be taken by then."""
    make_stream(server.folder, "free.mkv", 1)
    early = RawPublisher(server, "free")
    check(not server.live("free")["publishing"], "who has announced publishes")
    late = RawPublisher(server, "free")
    late.record()
    wait_until(lambda: server.live("free")["publishing"], 5, "who records has the name")
    answer = early.tell("RECORD", early.url, "Range: npt=0-\r\n")
    check(answer.startswith("RTSP/1.0 403 ") and "X-Gopmill-Problem: Somebody publishes" in answer, f"RECORD of a name that is taken: {answer[:200]!r}")
    check(announce(server, "live/free", SDP).startswith("RTSP/1.0 403 "), "ANNOUNCE of a name that is taken")
    plays_after_all(early, "free.mkv")
    late.ask("TEARDOWN", late.url)
    ended(server, "free")
    again = RawPublisher(server, "free")
    again.record()
    wait_until(lambda: server.live("free")["publishing"], 5, "it is taken once it is free")
    again.ask("TEARDOWN", again.url)
    ended(server, "free")


def plays_after_all(publisher, path):
    """On the connection whose RECORD was refused; in a new session, since the old one belongs to what it has announced."""
    url, publisher.session = publisher.url.replace("live/free", path), ""
    publisher.ask("DESCRIBE", f"{url}?width=160")
    publisher.ask("SETUP", f"{url}/stream=0", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n")
    publisher.ask("PLAY", url)
    check(publisher.socket.recv(1) == b"$", "a packet")
    publisher.socket.close()


def a_folder_may_be_called_publish(server):
    """A movie in it plays while somebody publishes what is called like it, who may come again behind that."""
    os.makedirs(Path(server.folder, "publish", "live"))
    make_stream(server.folder, "publish/live/x.mkv", 1)
    publisher = RawPublisher(server, "x.mkv")
    publisher.record()
    answer = server.ask(f"DESCRIBE {server.url('publish/live/x.mkv')}?width=160 RTSP/1.0\r\nCSeq: 1\r\n\r\n")
    check(answer.startswith("RTSP/1.0 200 "), f"a movie below publish/live: {answer[:200]!r}")
    publisher.ask("TEARDOWN", publisher.url)
    ended(server, "x.mkv")
    check(announce(server, "live/x.mkv", SDP).startswith("RTSP/1.0 200 "), "a publisher called like a movie that was played")


def the_end_does_not_wait(folder):
    """Publishers that are still there when the server is told to end, over both transports."""
    with Server(folder, rtsp=True) as server:
        movie = make_stream(folder, "e.mkv", 30)
        publishers = [publish(server, name, movie, name) for name in ("tcp", "udp")]
        for name in ("tcp", "udp"):
            wait_until(lambda name=name: server.live(name)["counts"]["packets"] > 20, 20, f"packets over {name}")
        nobody_was_waited_for(server.end(30))
        for publisher in publishers:
            publisher.kill()
            publisher.communicate()


def says_what_is_wrong(server):
    gif = SDP.replace("H264", "GIF")
    sound = SDP[:SDP.index("m=")] + "m=audio 0 RTP/AVP 0\r\n"
    for path, sdp, status, word in [
        ("live/bad", "nonsense", 400, ""), ("live/bad", "", 400, ""), ("live/bad", "v=0\r\n", 400, "no stream"),
        ("live/bad", gif, 415, "video"), ("live/bad", sound, 415, "video"),
        ("live/bad", SDP.replace("RTP/AVP", "UDP"), 400, "RTP/AVP"), ("live/bad", SDP + "m=audio\r\n", 400, ""),
        ("live/bad", SDP + "m=video 0 RTP/AVP 97\r\n" * 20, 400, "16"), ("live/a%20b", SDP, 400, "name"),
        ("live/bad?width=100", SDP, 400, "parameters"), ("movie.mp4", SDP, 400, "path"), ("", SDP, 400, "path"),
    ]:
        answer = announce(server, path, sdp)
        problem = re.search(r"X-Gopmill-Problem: (.*)", answer)
        check(answer.startswith(f"RTSP/1.0 {status} "), f"{path} {sdp[-40:]!r}: {answer[:60]!r}")
        check(problem is not None and word in problem[1], f"{path} {sdp[-40:]!r}: {answer[:300]!r}")
    check(announce(server, "live/bad", SDP, "text/plain").startswith("RTSP/1.0 400 "), "another type")
    check(not server.live("bad")["publishing"], "a refused publisher holds a name")
    # The same place plays: a publisher's path is its own.
    answer = server.ask(f"DESCRIBE {server.url('publish/live/bad')} RTSP/1.0\r\nCSeq: 1\r\n\r\n")
    check(answer.startswith("RTSP/1.0 404 "), f"the inner path: {answer[:60]!r}")


class RawPublisher:
    """Speaks just enough RTSP to get to RECORD."""
    sdp = SDP

    def __init__(self, server, name):
        self.url = server.url(f"live/{name}")
        self.socket = socket.create_connection(("127.0.0.1", server.rtsp_port), timeout=20)
        self.session, self.number = "", 0
        self.ask("ANNOUNCE", self.url, "Content-Type: application/sdp\r\n", self.sdp)
        self.ask("SETUP", self.url + "/streamid=0", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1;mode=record\r\n")

    def ask(self, method, url, fields="", body=""):
        text = self.tell(method, url, fields, body)
        check(text.startswith("RTSP/1.0 200 "), f"{method}: {text[:200]!r}")
        return text

    def tell(self, method, url, fields="", body=""):
        self.number += 1
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        self.socket.sendall(f"{method} {url} RTSP/1.0\r\nCSeq: {self.number}\r\n{self.session}{fields}{length}\r\n"
                            f"{body}".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            got = self.socket.recv(65536)
            if not got:
                break
            answer += got
        text = answer.decode(errors="replace")
        found = re.search(r"Session: ([^;\r]+)", text)
        if found:
            self.session = f"Session: {found[1]}\r\n"
        return text

    def record(self):
        self.ask("RECORD", self.url, "Range: npt=0-\r\n")

    def send(self, packet, channel=0):
        self.socket.sendall(b"$" + bytes([channel]) + len(packet).to_bytes(2, "big") + packet)

    def closed(self):
        """Whether the server has closed the connection."""
        self.socket.settimeout(15)
        try:
            while self.socket.recv(65536):
                pass
            return True
        except ConnectionError:
            return True
        except TimeoutError:
            return False


def silence_after_packets(server):
    """One that falls silent is cut off; nothing of it is left that could send it a report later."""
    publisher = RawPublisher(server, "mute")
    publisher.record()
    for i in range(20):
        publisher.send(b"\x80\x60" + i.to_bytes(2, "big") + (3000 * i).to_bytes(4, "big") + b"\0\0\x12\x34\x65" + bytes(50))
    check(publisher.closed(), "it is still connected")
    time.sleep(8)  # RTCP goes out every few seconds
    check(server.process.poll() is None, "the server has gone")
    wait_until(lambda: not server.live("mute")["publishing"], 5, "it still has its name")


def nothing_is_left_of_one_that_is_killed(folder):
    """Over UDP, where the library keeps a client whose connection goes: the server ends at once, with no complaint of GStreamer."""
    movie = make_stream(folder, "k.mkv", 30)
    with Server(folder, rtsp=True) as server:
        publisher = publish(server, "killed", movie, "udp")
        wait_until(lambda: server.live("killed")["counts"]["packets"] > 20, 20, "packets")
        publisher.kill()
        publisher.communicate()
        ended(server, "killed")
        time.sleep(2.5)  # the clients are looked at each second
        log = server.end(30)
    nobody_was_waited_for(log)
    check("assertion" not in log, f"the log: {log[-1000:]}")


def silent_publishers_leave(server):
    """One that announced, one that is set up, one that records; nothing comes of any."""
    silent = [RawPublisher(server, f"quiet{i}") for i in range(2)]
    silent[1].record()
    for i, publisher in enumerate(silent):
        check(publisher.closed(), f"silent publisher {i} is still connected")
        wait_until(lambda name=f"quiet{i}": not server.live(name)["publishing"], 5, f"silent publisher {i} has a name")


def garbage_in_rtp(server):
    """Wild numbers and times, cut packets, unknown payload types and channels; then cut in mid-packet."""
    seed = random.Random(4)
    before = server.resident_kib()
    publisher = RawPublisher(server, "wild")
    publisher.record()
    try:
        for i in range(3000):
            head = bytearray(b"\x80\x60") + seed.randbytes(10)
            if i % 3:
                head[2:4] = i.to_bytes(2, "big")
            if i % 7 == 0:
                head[1] = seed.randrange(256)
            payload = bytes([seed.choice((0x65, 0x7c, 0x78, 0x67, 0x68, 0x41, seed.randrange(256)))])
            packet = bytes(head) + payload + seed.randbytes(seed.randrange(0, 1200))
            publisher.send(packet[:seed.choice((len(packet), len(packet), 3))], seed.choice((0, 0, 0, 1, 7)))
        publisher.socket.sendall(b"$\0\xff\xff" + b"x" * 100)
    except ConnectionError:
        pass  # refused to go on: well
    publisher.socket.close()
    ended(server, "wild")
    check(server.resident_kib() - before < 100 * 1024, "garbage costs memory")
    # A picture that never ends.
    before = server.resident_kib()
    publisher = RawPublisher(server, "endless")
    publisher.record()
    try:
        for i in range(100_000):
            start = b"\x7c\x85" if i == 0 else b"\x7c\x05"
            publisher.send(b"\x80\x60" + (i & 0xffff).to_bytes(2, "big") + bytes(8) + start + bytes(1400))
    except ConnectionError:
        pass  # cut, as it should be
    grown = server.resident_kib() - before
    check(grown < 300 * 1024, f"an endless picture makes the server grow by {grown} KiB")
    publisher.socket.close()
    ended(server, "endless")
    check(server.process.poll() is None, "the server has gone")


class LossyPublisher(RawPublisher):
    """ffmpeg's packets over UDP, but for each of some; and each of some others comes behind its successor."""
    LOST, SWAPPED = 29, 10

    def __init__(self, server, name, path):
        # A port of its own for ffmpeg to send to, and its RTCP one.
        self.inner = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.inner.bind(("127.0.0.1", 0))
        self.inner.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.inner.settimeout(20)
        sdp = Path(path).with_suffix(".sdp")
        self.ffmpeg = subprocess.Popen(["ffmpeg", "-nostdin", "-v", "error", "-re", "-i", path, "-map", "0:v", "-c", "copy", "-f", "rtp",
                                        "-sdp_file", str(sdp), f"rtp://127.0.0.1:{self.inner.getsockname()[1]}?pkt_size=600"])
        self.first = self.inner.recv(2000)
        wait_until(lambda: sdp.exists() and "a=rtpmap" in sdp.read_text(), 20, "ffmpeg's description")  # may come behind packets
        self.url = server.url(f"live/{name}")
        self.socket = socket.create_connection(("127.0.0.1", server.rtsp_port), timeout=20)
        self.session, self.number, self.sent, self.lost = "", 0, 0, 0
        self.ask("ANNOUNCE", self.url, "Content-Type: application/sdp\r\n", sdp.read_text().strip() + "\r\na=control:streamid=0\r\n")
        client = self.inner.getsockname()[1]
        answer = self.ask("SETUP", self.url + "/streamid=0", f"Transport: RTP/AVP;unicast;client_port={client}-{client + 1};mode=record\r\n")
        self.target = ("127.0.0.1", int(re.search(r"server_port=(\d+)", answer)[1]))
        self.record()

    def relay(self):
        """All that ffmpeg sends."""
        packet, outer, held = self.first, socket.socket(socket.AF_INET, socket.SOCK_DGRAM), None
        self.inner.settimeout(0.2)
        while packet:
            self.sent += 1
            if self.sent % self.LOST == 0:
                self.lost += 1
            elif self.sent % self.SWAPPED == 0:
                held = packet
            else:
                outer.sendto(packet, self.target)
                if held:
                    outer.sendto(held, self.target)
                held = None
            packet = self.next_packet()
        outer.close()

    def next_packet(self):
        """None once ffmpeg has ended and all it sent has come."""
        while True:
            over = self.ffmpeg.poll() is not None
            try:
                return self.inner.recv(2000)
            except TimeoutError:
                if over:
                    return None


def loss_on_udp_is_counted(server):
    """The output goes on, in order and without a fault for a decoder; what never came is counted, what came late is not."""
    movie = make_stream(server.folder, "lossy.ts", 8)
    result = {}
    publisher = LossyPublisher(server, "lossy", movie)
    reader = read_in_thread(server, "lossy", "width=160&bitrate=100k&preset=ultrafast&container=ts", result)
    wait_until(lambda: server.live("lossy")["readers"] == 1, 10, "a reader that waits")
    publisher.relay()
    counts = server.live("lossy")["counts"]
    publisher.ask("TEARDOWN", publisher.url)
    publisher.socket.close()
    reader.join()
    check(publisher.lost > 10, f"{publisher.lost} of {publisher.sent} packets lost: the test loses too few")
    check(publisher.lost - 1 <= counts["packets_lost"] <= publisher.lost, f"{counts['packets_lost']} counted, {publisher.lost} lost")
    metric = re.search(r"gopmill_live_lost_packets_total (\d+)", server.get("/metrics")[1].decode())
    check(int(metric[1]) >= counts["packets_lost"], f"metric: {metric}")
    streams = decode(result["body"])
    check(result["status"] == 200 and int(streams["video"]["nb_read_frames"]) >= 180, f"{streams['video']['nb_read_frames']} pictures came out")


def main():
    os.environ["GOPMILL_LIVE_READER_PATIENCE_SECONDS"] = "5"
    os.environ["GOPMILL_RTSP_PUBLISHER_TIMEOUT_SECONDS"] = "4"
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, rtsp=True)
        server.folder = folder
        if server.port is None:
            print("".join(server.log))
            return 77 if "not built" in "".join(server.log) else 1
        try:
            code = run_all([nothing_is_lost, several_sounds, readers_survive_a_publisher_that_is_killed,
                            says_what_is_wrong, an_announcement_takes_no_name, a_folder_may_be_called_publish, loss_on_udp_is_counted, silent_publishers_leave, silence_after_packets, garbage_in_rtp], server)
            server.process.send_signal(signal.SIGTERM)
            check(server.process.wait(timeout=20) == 0, "the server ends")
        finally:
            server.process.kill()
        code = run_all([the_end_does_not_wait, nothing_is_left_of_one_that_is_killed], folder) or code
    if code:
        print("".join(server.log)[-5000:])
    return code


if __name__ == "__main__":
    sys.exit(main())
