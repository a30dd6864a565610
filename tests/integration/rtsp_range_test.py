#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a PLAY may ask for: ranges, scales, places where a track is over; and one player more than there is room for."""

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from rtsp_player import Player  # noqa: E402
from served import Server, check, run_on_rtsp, wait_until  # noqa: E402

QUERY = "?width=160&height=90&bitrate=100k&preset=ultrafast&fps=30"
SECONDS = 20  # of each movie, the longer track counts


def make_movie(folder, name, pictures, sound):
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i", f"testsrc2=s=160x90:r=30:d={pictures}",
                    "-f", "lavfi", "-i", f"sine=d={sound}", "-c:v", "libx264", "-preset", "ultrafast", "-g", "30", "-c:a",
                    "aac", str(folder / name)], check=True)


def played(player, track):
    """Seconds from the first packet of a track to the last."""
    packets = player.packets[track]
    return (packets[-1].time - packets[0].time) % (1 << 32) / player.rates[track]


def read_to_the_end(player):
    """Until nothing comes for as long as a player would not wait."""
    player.socket.settimeout(1.5)
    try:
        player.read_until(lambda: False)
    except TimeoutError:
        pass


def impossible_ranges_are_refused(server, _):
    """In words, and the session is as good as before; each of them by itself once ended the whole server."""
    with Player(server, "whole.mp4" + QUERY) as player:
        player.set_up()
        for text, reason in [("npt=500-", "behind the end"), (f"npt={SECONDS}-", "behind the end"),
                             ("npt=1e300-", "not understood"), ("npt=99999999999-", "behind the end"), ("npt=4-2", "ends before it begins"),
                             ("npt=2-2", "ends before it begins"), ("npt=-5", "with a begin"),
                             ("npt=nan-", "not understood"), ("npt=0-nan", "not understood"),
                             ("npt=inf-", "not understood"), ("npt=x", "not understood"),
                             ("npt=abc-", "not understood"), ("npt=5x-", "not understood"), ("npt=0:5-", "not understood"),
                             ("npt=7-,npt=8-", "One range"), ("npt=6-;time=19970123T143720Z", "One range"),
                             ("clock=19961108T142300Z-", "normal play time"), ("smpte=0:10:00-", "normal play time")]:
            answer = player.ask("PLAY", Range=text)
            problem = answer.fields.get("x-gopmill-problem", "")
            check(answer.status == 457 and reason in problem and "accepted: npt=FROM-TO" in problem, f"{text}: {answer}")
        check(player.ask("PLAY", Range="npt=3-").status == 200, "PLAY after those")
        player.read_until(lambda: all(len(packets) > 20 for packets in player.packets.values()))
        player.ask("TEARDOWN")


def a_range_ends_where_it_says(server, _):
    with Player(server, "whole.mp4" + QUERY) as player:
        player.set_up()
        check("npt=2-4" in player.ask("PLAY", Range="npt=2-4").fields.get("range", ""), "the range is told")
        read_to_the_end(player)
        for track in (0, 1):
            check(1.9 <= played(player, track) <= 2.0, f"track {track}: {played(player, track):.3f} s of two")


def pictures_of(player):
    return sum(packet.marker for packet in player.packets[0])


def an_end_is_told_when_a_busy_player_has_read_all(server, _):
    """Its packets and the BYE come through two sockets by UDP. Who goes on or leaves at once waits for no end."""
    with Player(server, "whole.mp4" + QUERY) as player:
        player.set_up()
        begin = time.monotonic()
        player.ask("PLAY", Range="npt=2-3")
        player.read_until(lambda: len(player.byes) == 2)
        passed = time.monotonic() - begin  # half a second behind the last picture, which is due a frame before the second is over
        check(passed > 1.4 and pictures_of(player) == 30, f"{pictures_of(player)} pictures of 30, and the end, in {passed:.2f} s")
    with Player(server, "whole.mp4" + QUERY) as player:
        player.set_up()
        waits = []
        for method, place in [("PLAY", 4), ("PLAY", 6), ("PLAY", 8), ("PAUSE", None), ("PLAY", 10), ("TEARDOWN", None)]:
            begin = time.monotonic()
            answer = player.ask(method, **({} if place is None else {"Range": f"npt={place}-{place + 0.5}"}))
            check(answer.status == 200, f"{method}: {answer}")
            waits.append(time.monotonic() - begin)
            seen = pictures_of(player)
            if place is not None:
                player.read_until(lambda seen=seen: pictures_of(player) >= seen + 15)
        plays = (waits[1], waits[2], waits[4])  # while the end of what came before is held
        check(min(plays) < 0.35, f"seconds to the answers: {plays}")


def an_open_range_ends_with_the_movie(server, _):
    """Also behind one that had an end, played through or paused."""
    for pause in (False, True):
        with Player(server, "whole.mp4" + QUERY) as player:
            player.set_up()
            player.ask("PLAY", Range="npt=2-4")
            if pause:
                player.read_until(lambda player=player: len(player.packets[0]) >= 10)
                check(player.ask("PAUSE").status == 200, "PAUSE")
            read_to_the_end(player)
            for packets in player.packets.values():
                packets.clear()
            answer = player.ask("PLAY", Range="npt=0:00:17.5-")
            check(f"npt=17.5-{SECONDS}" in answer.fields.get("range", ""), f"an open range: {answer}")
            read_to_the_end(player)
            for track in (0, 1):
                check(2.4 <= played(player, track) <= 2.55, f"track {track}: {played(player, track):.3f} s of 2.5")
            if not pause:
                continue
            player.ask("PLAY", Range="npt=17-17.5")
            read_to_the_end(player)
            answer = player.ask("PLAY", Range="npt=now-")
            check(answer.status == 200, f"on from the end of a range: {answer}")
            for packets in player.packets.values():
                packets.clear()
            read_to_the_end(player)
            check(all(2.3 <= played(player, track) <= 2.55 for track in (0, 1)), "from the end of a range to that of the movie")


def a_range_lies_in_the_part_that_the_url_names(server, _):
    """A seek takes place in it and does not make it longer."""
    with Player(server, "whole.mp4" + QUERY + "&start=5&duration=8") as player:
        player.set_up()
        answer = player.ask("PLAY", Range="npt=6-")
        check("npt=6-8" in answer.fields.get("range", ""), f"a range in a part of the movie: {answer}")
        read_to_the_end(player)
        for track in (0, 1):
            check(1.9 <= played(player, track) <= 2.05, f"track {track}: {played(player, track):.3f} s of two")
    newest = max(json.loads(server.get("/v1/streams")[1])["streams"], key=lambda stream: stream["id"])
    target = newest["target"]
    check((target.get("start_s"), target.get("duration_s")) == (11, 2), f"the stream behind the seek: {target}")


def every_scale_is_one(server, _):
    """RFC 2326 section 12.34: the answer has the scale that is played."""
    for scale in ("2", "-1", "0.5", "x"):
        with Player(server, "whole.mp4" + QUERY) as player:
            player.set_up()
            answer = player.ask("PLAY", Range="npt=0-", Scale=scale)
            check(answer.status == 200 and float(answer.fields.get("scale", 0)) == 1, f"scale {scale}: {answer}")
            player.read_until(lambda player=player: len({packet.time for packet in player.packets[0]}) > 15)
            times = sorted({packet.time for packet in player.packets[0]})
            step = (times[-1] - times[0]) / (len(times) - 1) / player.rates[0]
            check(abs(step - 1 / 30) < 0.001, f"scale {scale}: a picture each {step:.4f} s")
            player.ask("TEARDOWN")


def every_speed_is_one(server, _):
    """RFC 2326 section 12.35: what a player asks for must not make the server transcode faster than it is watched."""
    with Player(server, "whole.mp4" + QUERY) as player:
        player.set_up()
        answer = player.ask("PLAY", Range="npt=0-", Speed="50")
        check(answer.status == 200 and float(answer.fields.get("speed", 1)) == 1, f"speed 50: {answer}")
        begin = time.monotonic()
        player.read_until(lambda: len({packet.time for packet in player.packets[0]}) >= 90)
        seconds = time.monotonic() - begin
        check(seconds > 2, f"90 pictures are sent in {seconds:.2f} s")
        player.ask("TEARDOWN")


def a_track_that_is_over_keeps_no_other(server, _):
    with Player(server, "short-sound.mp4" + QUERY) as player:
        player.set_up()
        check(player.ask("PLAY", Range="npt=10-").status == 200, "PLAY behind the end of the sound")
        player.read_until(lambda: played_enough(player))
        check(not player.packets[1], f"{len(player.packets[1])} packets of sound that is over")
        check(player.ask("PAUSE").status == 200, "PAUSE")
        check(player.ask("PLAY", Range="npt=1-").status == 200, "back to where there is sound")
        player.read_until(lambda: len(player.packets[1]) > 20)
        player.ask("TEARDOWN")


def seeks_without_a_pause(server, _):
    """PLAY behind PLAY, by four at once, so that one is still on its way when the next comes: half of the
    servers ended within twenty seconds of it."""
    def seek(seed):
        places = random.Random(seed)
        for _ in range(4):
            with Player(server, "whole.mp4" + QUERY) as player:
                player.set_up()
                for _ in range(10):
                    answer = player.ask("PLAY", Range=f"npt={places.choice([0, 0, 5, 10, 15, 19.9])}-")
                    check(answer.status == 200, f"PLAY behind PLAY: {answer}")
                player.read_until(lambda player=player: any(player.packets.values()))

    seekers = [threading.Thread(target=seek, args=(seed,)) for seed in range(4)]
    for seeker in seekers:
        seeker.start()
    for seeker in seekers:
        seeker.join()
    check(server.process.poll() is None, "the server has ended")


def played_enough(player):
    return len(player.packets[0]) > 40 and played(player, 0) > 1


def a_place_that_cannot_be_opened_ends_the_player_alone(server, folder):
    """The movie is no movie any more when the player seeks; and one whose pictures are over, which ends its sound too."""
    make_movie(folder, "lost.mp4", SECONDS, SECONDS)
    with Player(server, "whole.mp4" + QUERY) as other, Player(server, "lost.mp4" + QUERY) as player, \
            Player(server, "short-picture.mp4" + QUERY) as late:
        other.set_up()
        check(other.ask("PLAY", Range="npt=0-").status == 200, "another player")
        player.set_up()
        late.set_up()
        (folder / "lost.mp4").write_text("no movie " * 1000)
        for each, place in ((player, 5), (late, 10)):
            answer = each.ask("PLAY", Range=f"npt={place}-")
            check(answer.status == 200, f"a place that cannot be opened: {answer}")
            read_to_the_end(each)
            check(not any(each.packets.values()), f"it plays {each.packets}")
        seen = len(other.packets[0])
        other.read_until(lambda: len(other.packets[0]) > seen + 30)
        numbers = [packet.number for packet in other.packets[0]]
        check(all((b - a) % 65536 == 1 for a, b in zip(numbers, numbers[1:])), "the other player misses packets")


def one_player_too_many_is_told_so(_, folder):
    os.environ["GOPMILL_RTSP_MAX_SESSIONS"] = "2"
    server = Server(folder, rtsp=True)
    del os.environ["GOPMILL_RTSP_MAX_SESSIONS"]
    try:
        with Player(server, "whole.mp4" + QUERY) as first, Player(server, "whole.mp4" + QUERY) as second:
            for player in (first, second):
                player.set_up()
                check(player.ask("PLAY", Range="npt=0-").status == 200, "PLAY")
            with Player(server, "whole.mp4" + QUERY) as third:
                _, answers = third.set_up()
                told = answers[0].fields.get("x-gopmill-problem", "")
                check(answers[0].status == 503 and "rtsp.max_sessions" in told, f"the third of two: {answers[0]}")
            first.read_until(lambda: len(first.packets[0]) > 40)
            numbers = [packet.number for packet in first.packets[0]]
            check(all((b - a) % 65536 == 1 for a, b in zip(numbers, numbers[1:])), "the first player misses packets")
            check(second.ask("TEARDOWN").status == 200, "TEARDOWN")
            with Player(server, "whole.mp4" + QUERY) as fourth:
                check(all(answer.status == 200 for answer in fourth.set_up()[1]), "there is room again")
        wait_until(lambda: not server.running(), 10, "streams of players that have left")
    finally:
        server.process.kill()


def a_seek_needs_no_second_place(_, folder):
    """On a server that is full: the stream from there takes the place of the one before, which ends a little later."""
    server = Server(folder, "--max-streams", "1", rtsp=True)
    try:
        with Player(server, "whole.mp4" + QUERY) as player:
            player.set_up()
            for place in (0, 10, 5, 15, 2):
                answer = player.ask("PLAY", Range=f"npt={place}-")
                check(answer.status == 200, f"PLAY from {place}: {answer}")
                for packets in player.packets.values():
                    packets.clear()
                late = time.monotonic() + 20
                player.read_until(lambda late=late: all(map(len, player.packets.values())) or time.monotonic() > late)
                check(all(map(len, player.packets.values())), f"nothing from {place} s on")
            with Player(server, "whole.mp4" + QUERY) as second:
                answer = second.ask("DESCRIBE", Accept="application/sdp")
                check(answer.status == 503, f"a second stream of one: {answer}")
            check(player.ask("TEARDOWN").status == 200, "TEARDOWN")
        wait_until(lambda: not server.running(), 10, "streams of players that have left")
    finally:
        server.process.kill()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_movie(folder, "whole.mp4", SECONDS, SECONDS)
        make_movie(folder, "short-sound.mp4", SECONDS, 5)
        make_movie(folder, "short-picture.mp4", 5, SECONDS)
        return run_on_rtsp([impossible_ranges_are_refused, a_range_ends_where_it_says,
                            an_end_is_told_when_a_busy_player_has_read_all, an_open_range_ends_with_the_movie,
                            a_range_lies_in_the_part_that_the_url_names,
                            every_scale_is_one, every_speed_is_one, a_track_that_is_over_keeps_no_other, seeks_without_a_pause,
                            a_place_that_cannot_be_opened_ends_the_player_alone,
                            one_player_too_many_is_told_so, a_seek_needs_no_second_place], Server(folder, rtsp=True), folder)


if __name__ == "__main__":
    sys.exit(main())
