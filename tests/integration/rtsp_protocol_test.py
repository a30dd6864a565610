#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""RTSP header by header and packet by packet: pause, RTP-Info, sender reports, stalled and silent clients, garbage in
each header of each method."""

import errno
import os
import random
import re
import resource
import socket
import sys
import time
from pathlib import Path
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from rtsp_player import Player, TunnelledPlayer, rtp_info  # noqa: E402
from served import Server, check, run_on_rtsp, wait_until  # noqa: E402

MOVIE = "sync-720p.mp4?width=160&height=90&bitrate=100k&preset=ultrafast&fps=30"
BUSY = MOVIE.replace("100k", "4M").replace("160", "640").replace("90&", "360&")
# More than the kernel keeps for a connection.
FULL = "modern-720p.mp4?width=640&height=360&bitrate=30M&preset=ultrafast&fps=30"
SILENT = 1000


def behind(later, earlier, bits=32):
    """How far a number that wraps around is ahead of another one, negative if it is behind."""
    half = 1 << (bits - 1)
    return (later - earlier + half) % (1 << bits) - half


def nothing_is_missing(packets, name):
    steps = {behind(b.number, a.number, 16) for a, b in zip(packets, packets[1:])}
    check(steps <= {1}, f"{name}: sequence numbers go on by {steps}")


def take_the_rest(player):
    """Until nothing has come for a while."""
    usual = player.socket.gettimeout()
    player.socket.settimeout(1.5)
    try:
        while True:
            player.next_item()
    except TimeoutError:
        player.socket.settimeout(usual)


def pausing_loses_nothing(server, kind=Player):
    """PAUSE stops the packets and the transcode; PLAY goes on with the picture behind the last one."""
    with kind(server, MOVIE) as player:
        player.set_up()
        check(player.ask("PLAY", Range="npt=0-").status == 200, "PLAY")
        player.read_until(lambda: len(player.packets[0]) >= 45)
        check(player.ask("PAUSE").status == 200, "PAUSE")
        paused = {track: len(packets) for track, packets in player.packets.items()}
        take_the_rest(player)
        came = sum(len(player.packets[track]) - paused[track] for track in paused)
        check(came <= 4, f"{came} packets of a paused player")
        frames = server.running()[0]["counts"]["frames_out"]
        time.sleep(0.5)
        check(server.running()[0]["counts"]["frames_out"] == frames, "the transcode goes on beside a paused player")
        before = {track: packets[-1] for track, packets in player.packets.items()}
        again = player.ask("PLAY")
        check(again.status == 200, f"PLAY after PAUSE: {again}")
        player.read_until(lambda: all(len(player.packets[track]) >= paused[track] + 40 for track in paused))
        for track, packets in player.packets.items():
            nothing_is_missing(packets, f"track {track}")
            after = next(p for p in packets if behind(p.number, before[track].number, 16) > 0)
            step = behind(after.time, before[track].time) / player.rates[track]
            check(0 <= step < 0.1, f"track {track} goes on {step:.3f} s behind where it was paused")
        player.ask("TEARDOWN")
    wait_until(lambda: not server.running(), 5, "a player that was paused has left and its stream goes on")


def stands_still(server):
    before = server.running()[0]["counts"]["frames_out"]
    time.sleep(0.3)
    return server.running()[0]["counts"]["frames_out"] == before


def pausing_far_behind_loses_nothing(_):
    """On a server for which the player has not stalled before all is full, however long that takes."""
    patient = {"GOPMILL_RTSP_STALL_TIMEOUT_SECONDS": "120", "GOPMILL_RTSP_SESSION_TIMEOUT_SECONDS": "120"}
    with mock.patch.dict(os.environ, patient), Server(rtsp=True) as server:
        pause_far_behind(server)


def pause_far_behind(server):
    """What waits for a player that has not read for a while, in the server too, still comes behind PAUSE."""
    with Player(server, FULL) as player:
        player.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)
        player.set_up()
        player.ask("PLAY", Range="npt=0-")
        player.read_until(lambda: len(player.packets[0]) >= 45)
        wait_until(lambda: stands_still(server), 60, "all that lies between the encoder and the player is full")
        check(player.ask("PAUSE").status == 200, "PAUSE of a player that is behind")
        paused = {track: len(packets) for track, packets in player.packets.items()}
        take_the_rest(player)
        again = player.ask("SETUP", player.controls[1], Transport="RTP/AVP/TCP;unicast;interleaved=2-3")
        check(again.status == 200, f"SETUP of a track that has paused: {again}")
        channel = int(re.search(r"interleaved=(\d+)", again.fields["transport"])[1])
        player.packets[channel // 2], player.reports[channel // 2] = player.packets[1], player.reports[1]
        check(player.ask("PLAY").status == 200, "PLAY after SETUP of a track that has paused")
        player.read_until(lambda: all(len(player.packets[track]) >= paused[track] + 60 for track in paused))
        for track, packets in player.packets.items():
            nothing_is_missing(packets, f"track {track} of a player that was behind")
        check(player.ask("PAUSE").status == 200, "a second PAUSE")
        again = player.ask("PAUSE")
        check(again.status == 455 and "accepted: " in again.fields["x-gopmill-problem"], f"PAUSE of a player that has paused: {again}")
        lost = player.ask("PLAY", server.url(MOVIE))
        check(lost.status == 404 and "Content-Base" in lost.fields["x-gopmill-problem"], f"PLAY of what was not set up: {lost}")
        player.ask("TEARDOWN")
    wait_until(lambda: not server.running(), 5, "a player that was behind and has paused has left and its stream goes on")


def rtp_info_names_the_first_packets(server):
    """RFC 2326 section 12.33, also of a PLAY at another place, where the times are those asked for."""
    with Player(server, MOVIE) as player:
        player.set_up()
        for place in ("0", "5.5"):
            if place != "0":
                check(player.ask("PAUSE").status == 200, "PAUSE")
            seen = {track: len(packets) for track, packets in player.packets.items()}
            answer = player.ask("PLAY", Range=f"npt={place}-")
            told = rtp_info(answer)
            check(answer.status == 200 and len(told) == 2, f"PLAY at {place}: {answer}")
            player.read_until(lambda seen=seen: all(len(player.packets[t]) > seen[t] + 10 for t in seen))
            for track, (number, rtp_time) in enumerate(told):
                first = next((p for p in player.packets[track][seen[track]:] if p.number == number), None)
                check(first is not None, f"at {place}, track {track}: no packet has the number {number}")
                if first is None:
                    continue
                late = behind(first.time, rtp_time) / player.rates[track]
                check(0 <= late < 0.05, f"at {place}, track {track}: the first packet is {late:.3f} s behind rtptime")
        player.ask("TEARDOWN")


def reports_agree(player, told):
    """RFC 3550 section 6.4.1: by its reports each track runs on one clock with the others, where `told` (RTP-Info) is one moment."""
    starts = []  # when that moment was, by each report
    for track, reports in player.reports.items():
        for report in reports:
            starts.append(report.wall - behind(report.time, told[track][1]) / player.rates[track])
    check(max(starts) - min(starts) < 0.01, f"by the reports it began at {[f'{s - starts[0]:.4f}' for s in starts]}")


def reports_keep_sound_and_pictures_together(server, kind=Player):
    with kind(server, MOVIE) as player:
        player.set_up()
        told = rtp_info(player.ask("PLAY", Range="npt=0-"))
        player.read_until(lambda: all(len(reports) >= 2 for reports in player.reports.values()))
        reports_agree(player, told)
        for track, reports in player.reports.items():
            for report in reports:
                check(0 < report.packets <= len(player.packets[track]) + 5,
                      f"track {track}: {report.packets} packets by the report, {len(player.packets[track])} came")
        nothing_is_missing(player.packets[0], "pictures")
        player.ask("TEARDOWN")


def rtp_time_goes_on_over_seeks(server, kind=Player):
    """RFC 2326 appendix B. A packet that a player gets late lies in front of what RTP-Info names, also where the seek goes back."""
    with kind(server, MOVIE) as player:
        player.set_up()
        player.ask("PLAY", Range="npt=0-")
        for place, pause in (("5.5", True), ("2", True), ("4", False), ("4", True)):
            player.read_until(lambda: all(len(packets) > 30 for packets in player.packets.values()))
            if pause:
                check(player.ask("PAUSE").status == 200, "PAUSE")
            told = rtp_info(player.ask("PLAY", Range=f"npt={place}-"))
            for track, (number, rtp_time) in enumerate(told):
                steps = [behind(rtp_time, p.time) / player.rates[track] for p in player.packets[track] if (p.number - number) % 65536 > 32768]
                check(len(steps) > 30, f"at {place}, track {track}: {len(steps)} packets came before")
                check(0 < min(steps) < 1, f"at {place}, track {track}: RTP time is {min(steps):.3f} s behind that of the packets before")
                player.packets[track].clear()
                player.reports[track].clear()
        player.read_until(lambda: all(player.reports.values()))
        reports_agree(player, told)
        player.ask("TEARDOWN")


def players_that_never_play_leave(server):
    """SETUP and nothing behind it: the session ends with its time-out, and some time later the connection. Of who says nothing
    at all, or begins a tunnel without a POST, the connection ends as well."""
    silent, half = (socket.create_connection(("127.0.0.1", server.rtsp_port), timeout=90) for _ in range(2))
    half.sendall(b"GET /sync-720p.mp4 HTTP/1.0\r\nx-sessioncookie: alone\r\nAccept: application/x-rtsp-tunnelled\r\n\r\n")
    check(half.recv(4096).startswith(b"HTTP/1.0 200"), "the answer to the GET of a tunnel")
    players = [Player(server, MOVIE), Player(server, MOVIE), TunnelledPlayer(server, MOVIE)]
    for player in players:
        _, answers = player.set_up()
        check(all(answer.status == 200 for answer in answers), "SETUP")
        check("timeout=5" in answers[0].fields["session"], f"the time-out is told: {answers[0].fields['session']}")
    wait_until(lambda: not server.running(), 20, "players that never played have streams")
    for player in players:
        player.socket.settimeout(60)
        try:
            check(not player.read_until(lambda: False), "it goes on")
        except TimeoutError:
            check(False, "a player that never plays is still connected")
        player.__exit__()
    for client in (silent, half):
        check(client.recv(1) == b"", "a client that says nothing is told something")
        client.close()


def the_same_through_http(server):
    for test in (pausing_loses_nothing, rtp_time_goes_on_over_seeks, reports_keep_sound_and_pictures_together):
        test(server, TunnelledPlayer)


def stalled_players_are_cut(server):
    """One that stops reading is cut off; one beside it gets every packet."""
    with Player(server, BUSY) as stalled, Player(server, MOVIE) as reader:
        stalled.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stalled.set_up()
        reader.set_up()
        stalled.ask("PLAY", Range="npt=0-")
        reader.ask("PLAY", Range="npt=0-")
        reader.read_until(lambda: len(reader.packets[0]) >= 300)
        nothing_is_missing(reader.packets[0], "pictures beside a stalled player")
        nothing_is_missing(reader.packets[1], "sound beside a stalled player")
        wait_until(lambda: len(server.running()) <= 1, 20, "a stalled player is not cut off")
        reader.ask("TEARDOWN")


def a_thousand_silent_clients(server):
    """They cost a bounded amount of memory, and who speaks is served; who plays already misses nothing."""
    before = server.resident_kib()
    silent = []
    try:
        with Player(server, MOVIE) as early:
            early.set_up()
            early.ask("PLAY", Range="npt=0-")
            for _ in range(SILENT):
                silent.append(socket.create_connection(("127.0.0.1", server.rtsp_port), timeout=20))
            with Player(server, MOVIE) as player:
                player.set_up()
                check(player.ask("PLAY", Range="npt=0-").status == 200, "PLAY beside a thousand silent clients")
                player.read_until(lambda: len(player.packets[0]) >= 30)
                check(server.get("/healthz")[0].status == 200, "HTTP beside a thousand silent clients")
                player.ask("TEARDOWN")
            early.read_until(lambda: len(early.packets[0]) >= 150)
            for packets in early.packets.values():
                nothing_is_missing(packets, "beside a thousand silent clients")
            early.ask("TEARDOWN")
        grown = server.resident_kib() - before
        check(grown < 150 * 1024, f"{SILENT} silent clients cost {grown} KiB")
    finally:
        for client in silent:
            client.close()


def requests(server):
    """A good request of each method, header by header."""
    url, live = server.url(MOVIE), server.url("live/fuzz")
    transport = "RTP/AVP/TCP;unicast;interleaved=0-1"
    session = {"Session": "0123456789abcdef"}
    return [
        ("OPTIONS", url, {"Require": "play.basic", "User-Agent": "x"}),
        ("DESCRIBE", url, {"Accept": "application/sdp", "Bandwidth": "1000", "Authorization": "Basic eDp5"}),
        ("SETUP", url + "/stream=0", {"Transport": transport, "Blocksize": "1400"}),
        ("PLAY", url, {**session, "Range": "npt=0-5", "Scale": "1", "Speed": "1"}),
        ("PAUSE", url, {**session, "Range": "npt=2"}),
        ("TEARDOWN", url, session),
        ("GET_PARAMETER", url, {**session, "Content-Type": "text/parameters", "Content-Length": "0"}),
        ("SET_PARAMETER", url, {**session, "Content-Type": "text/parameters", "Content-Length": "0"}),
        ("ANNOUNCE", live, {"Content-Type": "application/sdp", "Content-Length": "0"}),
        ("RECORD", live, {**session, "Range": "npt=0-"}),
        ("SETUP", url + "/stream=0", {"Transport": "RTP/AVP;unicast;client_port=45000-45001"}),
        ("SETUP", url + "/stream=0", {"Transport": "RTP/AVP/UDP;multicast;ttl=1;port=45000-45001;destination=127.0.0.1"}),
        ("OPTIONS", url, dict.fromkeys(OTHER_FIELDS, "1")),
    ]


# Of RFC 2326 and 7826, and what is in use: a server may know any of them.
OTHER_FIELDS = ("Proxy-Require", "If-Modified-Since", "Connection", "Cache-Control", "Content-Encoding", "Content-Language", "Content-Base",
                "Content-Location", "RTP-Info", "Timestamp", "Via", "From", "Accept-Language", "Accept-Encoding", "Accept-Ranges", "Conference",
                "Expires", "Date", "Supported", "Pipelined-Requests", "Seek-Style", "Media-Range", "Unsupported", "KeyMgmt", "x-server-ip-address",
                "X-Accept-Retransmit", "x-sessioncookie", "Proxy-Authorization", "Upgrade")


def odd_heads(server):
    """What RFC 2326 allows, or what looks like it: lines in another form, or far more of them."""
    url = server.url(MOVIE).encode()
    first = b"DESCRIBE " + url + b" RTSP/1.0\r\n"
    return {
        "no CSeq": first + b"Accept: application/sdp\r\n\r\n",
        "each twice": first + 2 * b"CSeq: 1\r\nAccept: application/sdp\r\n" + b"\r\n",
        "two that differ": first + b"CSeq: 1\r\nCSeq: 2\r\nContent-Length: 0\r\nContent-Length: 9\r\n\r\n",
        "a folded line": first + b"CSeq: 1\r\nAccept: application/sdp,\r\n text/plain\r\n\r\n",
        "a line that is folded a thousand times": first + b"CSeq: 1\r\nAccept: x" + 1000 * b"\r\n x" + b"\r\n\r\n",
        "no colon": first + b"CSeq: 1\r\nAccept\r\n\r\n",
        "no name": first + b"CSeq: 1\r\n: x\r\n\r\n",
        "a space in front of the colon": first + b"CSeq : 1\r\n\r\n",
        "zero bytes": first + b"CSeq: 1\r\nAcc\0ept: a\0b\r\n\r\n",
        "bare line feeds": first.replace(b"\r", b"") + b"CSeq: 1\n\n",
        "a long name": first + b"CSeq: 1\r\n" + b"x" * 100_000 + b": 1\r\n\r\n",
        "ten thousand lines": first + b"CSeq: 1\r\n" + b"".join(b"X-%d: 1\r\n" % n for n in range(10_000)) + b"\r\n",
        "an address of a megabyte": b"DESCRIBE " + url + b"&" + b"x" * (1 << 20) + b" RTSP/1.0\r\nCSeq: 1\r\n\r\n",
        "another version": first.replace(b"1.0", b"9.9") + b"CSeq: 1\r\n\r\n",
        "another protocol": first.replace(b"RTSP", b"SIP") + b"CSeq: 1\r\n\r\n",
        "no such method": first.replace(b"DESCRIBE", b"DESTROY") + b"CSeq: 1\r\n\r\n",
        "a method of letters that are none": first.replace(b"DESCRIBE", b"\xff\xfe\0") + b"CSeq: 1\r\n\r\n",
        "no address": b"DESCRIBE RTSP/1.0\r\nCSeq: 1\r\n\r\n",
        "nothing but lines": 10_000 * b"\r\n",
        "no end": first + b"CSeq: 1\r\nAccept: ",
    }


def heads_of_odd_form(server):
    heads = list(odd_heads(server).items())
    for number, (name, head) in enumerate(2 * heads):
        if number == len(heads):
            before = server.resident_kib()  # with what the movie costs that some of them ask for
        begin = time.monotonic()
        answer = send_alone(server, head)
        check(time.monotonic() - begin < 10, f"{name}: it took {time.monotonic() - begin:.1f} s")
        check(answer == b"" or answer.startswith(b"RTSP/1.0 "), f"{name}: {answer[:60]!r}")
        check(server.process.poll() is None, f"{name}: the server has gone")
    check(server.resident_kib() - before < 16 * 1024, f"odd heads cost {server.resident_kib() - before} KiB")
    wait_until(lambda: not server.running(), 20, "odd heads have left streams")


def bad_values(good, seed):
    mangled = bytearray(good.encode())
    for _ in range(3):
        mangled[seed.randrange(len(mangled))] = seed.randrange(256)
    return [b"", b" ", b"\xff\xfe\0", b"-1", b"99999999999999999999", b"%n%s%x", b"x" * 20000, good.encode() * 40,
            b"npt=zzz-", b"npt=5-1", b"clock=99999999T999999Z-", b"a;b;c;=;;interleaved=999-1000;client_port=0-0",
            bytes(mangled).replace(b"\n", b"")]


def garbage_in_each_header(server):
    """Each is answered with a status or by closing the connection, at once; the server goes on."""
    seed = random.Random(7)
    asked = 0
    for method, url, fields in requests(server):
        for name in ["CSeq", *fields]:
            for value in bad_values(fields.get(name, "1"), seed):
                lines = {"CSeq": "1", **fields}
                raw = b"".join(b"%s: %s\r\n" % (field.encode(), value if field == name else text.encode())
                               for field, text in lines.items())
                begin = time.monotonic()
                answer = send_alone(server, f"{method} {url} RTSP/1.0\r\n".encode() + raw + b"\r\n")
                asked += 1
                where = f"{method}, {name}: {value[:30]!r}"
                check(time.monotonic() - begin < 10, f"{where}: it took {time.monotonic() - begin:.1f} s")
                check(answer == b"" or answer.startswith(b"RTSP/1.0 "), f"{where}: {answer[:60]!r}")
                if server.process.poll() is not None:
                    return check(False, f"{where}: the server has gone")
    print(asked, "requests", flush=True)
    wait_until(lambda: not server.running(), 20, "garbage in headers has left streams")
    check(not server.live("fuzz")["publishing"], "garbage in headers holds a name")
    written = [line for line in server.log if "GStreamer" in line]
    check(not written, f"garbage in headers fills the log: {written[:3]}")
    return None


def answer_to(player, request):
    """Its status; 0 where the server has closed the connection instead."""
    try:
        player.socket.sendall(request)
        answer = None
        while answer is None:
            answer = player.next_item()
        return answer.status
    except ConnectionError:
        return 0


def garbage_in_a_session(server):
    """The same where there is a session, which the server looks into; somebody who plays beside it misses nothing."""
    seed = random.Random(11)
    player, statuses = None, []
    with Player(server, MOVIE.replace("sync-720p.mp4", "ref-street.mpg")) as neighbour:
        neighbour.set_up()
        neighbour.ask("PLAY", Range="npt=0-")
        for method, _, fields in requests(server)[2:8]:
            for name in ["CSeq", *fields]:
                neighbour.ask("OPTIONS")  # reads what has come, and is a sign of life
                for value in bad_values(fields.get(name, "1"), seed):
                    if player is None:
                        player = Player(server, MOVIE, timeout=4)
                        player.set_up()
                    url = player.controls[0] if method == "SETUP" else player.url
                    lines = {"CSeq": "1", **fields, "Session": player.session}
                    raw = b"".join(b"%s: %s\r\n" % (field.encode(), value if field == name else text.encode())
                                   for field, text in lines.items())
                    where = f"{method} in a session, {name}: {value[:30]!r}"
                    try:
                        statuses.append(answer_to(player, f"{method} {url} RTSP/1.0\r\n".encode() + raw + b"\r\n"))
                    except TimeoutError:
                        # A length that is a number is waited for.
                        check(name == "Content-Length", f"{where}: no answer")
                        statuses.append(0)
                    if server.process.poll() is not None:
                        return check(False, f"{where}: the server has gone")
                    if statuses[-1] == 0 or method == "TEARDOWN":
                        player.socket.close()
                        player = None
        wanted = min(len(neighbour.packets[0]) + 60, 1700)  # of the minute that the movie has, on a slow machine
        neighbour.read_until(lambda: len(neighbour.packets[0]) >= wanted)
        for track, packets in neighbour.packets.items():
            nothing_is_missing(packets, f"track {track} beside garbage")
        neighbour.ask("TEARDOWN")
    if player is not None:
        player.socket.close()
    print({status: statuses.count(status) for status in sorted(set(statuses))}, flush=True)
    check(sum(400 <= status < 500 for status in statuses) > len(statuses) / 4, "hardly any was refused")
    wait_until(lambda: not server.running(), 20, "garbage in sessions has left streams")
    return None


def garbage_from_a_player(server):
    """Packets that nobody asked for, on channels that do not exist, and one that breaks off; then a request again."""
    seed = random.Random(12)
    with Player(server, MOVIE) as player:
        player.set_up()
        check(player.ask("PLAY", Range="npt=0-").status == 200, "PLAY")
        for _ in range(500):
            garbage = seed.randbytes(seed.choice((0, 1, 8, 28, 1400)))
            player.socket.sendall(b"$" + bytes([seed.choice((0, 1, 1, 2, 3, 3, 77, 255))]) + len(garbage).to_bytes(2, "big") + garbage)
        check(player.ask("GET_PARAMETER").status == 200, "an answer behind garbage")
        player.read_until(lambda: len(player.packets[0]) >= 60)
        nothing_is_missing(player.packets[0], "pictures of who sends garbage")
        player.socket.sendall(b"$\1\xff\xff" + seed.randbytes(100))
    wait_until(lambda: not server.running(), 10, "a player that broke off in a packet has a stream")
    check(server.process.poll() is None, "the server has gone")


def bodies_that_are_too_long(server):
    """Refused by their length, or cut; none of it is kept."""
    before = server.resident_kib()
    for method, length, sent in ("ANNOUNCE", 1 << 30, 16 << 20), ("SET_PARAMETER", 1 << 24, 1 << 24), ("ANNOUNCE", (1 << 32) + 5, 1 << 20):
        request = (f"{method} {server.url('live/long')} RTSP/1.0\r\nCSeq: 1\r\nContent-Type: application/sdp\r\n"
                   f"Content-Length: {length}\r\n\r\n").encode()
        begin = time.monotonic()
        answer = send_alone(server, request + bytes(sent))
        check(not answer.startswith(b"RTSP/1.0 200"), f"{method} of {length} bytes: {answer[:60]!r}")
        check(time.monotonic() - begin < 10, f"{method} of {length} bytes is waited for")
    check(server.resident_kib() - before < 8 * 1024, f"long bodies cost {server.resident_kib() - before} KiB")
    check(not server.live("long")["publishing"], "a long body holds a name")


def what_is_stopped_is_no_end(server):
    """The connection of its player ends; at an end there is an RTCP BYE on each track."""
    with Player(server, MOVIE) as stopped, Player(server, MOVIE + "&duration=2") as whole:
        stopped.set_up()
        check(stopped.ask("PLAY", Range="npt=0-").status == 200, "PLAY")
        stopped.read_until(lambda: all(len(packets) > 20 for packets in stopped.packets.values()))
        for stream in server.running():
            check(server.get(f"/v1/streams/{stream['id']}", "DELETE")[0].status == 204, "DELETE")
        check(not stopped.read_until(lambda: stopped.byes), f"a stream that is stopped is told as its end: {stopped.byes}")
        whole.set_up()
        check(whole.ask("PLAY", Range="npt=0-").status == 200, "PLAY")
        check(whole.read_until(lambda: len(whole.byes) == 2), "the connection ends and not the tracks")
        whole.ask("TEARDOWN")
    wait_until(lambda: not server.running(), 10, "who was stopped has a stream")


def send_alone(server, request):
    """The answer to a request on a connection of its own, which says that no more will come."""
    with socket.create_connection(("127.0.0.1", server.rtsp_port), timeout=15) as client:
        try:
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            return client.recv(65536)
        except ConnectionError:
            return b""
        except OSError as error:
            if error.errno != errno.ENOTCONN:  # closed by the server before shutdown() came to it
                raise
            return b""


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    os.environ["GOPMILL_RTSP_SESSION_TIMEOUT_SECONDS"] = "5"
    os.environ["GOPMILL_RTSP_STALL_TIMEOUT_SECONDS"] = "3"
    return run_on_rtsp([pausing_loses_nothing, pausing_far_behind_loses_nothing, rtp_info_names_the_first_packets, rtp_time_goes_on_over_seeks,
                        reports_keep_sound_and_pictures_together, players_that_never_play_leave, stalled_players_are_cut,
                        a_thousand_silent_clients, the_same_through_http, heads_of_odd_form, garbage_in_each_header, garbage_in_a_session,
                        garbage_from_a_player, bodies_that_are_too_long, what_is_stopped_is_no_end],
                       Server(rtsp=True))


if __name__ == "__main__":
    sys.exit(main())
