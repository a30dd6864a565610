#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docker/ agrees with itself and with the sources. Whether the image builds and serves is container_test's."""

import json
import re
import sys
import unittest
from pathlib import Path

try:
    import yaml
except ImportError:
    print("skipped: needs python3-yaml")
    sys.exit(77)

TOP = Path(__file__).resolve().parents[2]
COMPOSE = TOP / "docker/compose.yaml"
DOCKERFILE = TOP / "docker/Dockerfile"


def instructions() -> list[tuple[str, str]]:
    """Name and arguments of each, lines joined."""
    text = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", DOCKERFILE.read_text()))
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def arguments(name: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == name]


def variables() -> dict[str, str]:
    return dict(pair.split("=", 1) for rest in arguments("ENV") for pair in rest.split())


def exposed() -> list[str]:
    """Ports, as they are numbered inside."""
    return " ".join(arguments("EXPOSE")).split()


def stages() -> list[str]:
    return [rest.split()[-1] for rest in arguments("FROM")]


class Dockerfile(unittest.TestCase):
    def test_copies_what_there_is(self):
        for rest in arguments("COPY"):
            words = rest.split()
            with self.subTest(copy=rest):
                if words[0].startswith("--from="):
                    self.assertIn(words[0].removeprefix("--from="), stages())
                else:
                    for source in words[:-1]:
                        self.assertTrue((TOP / source).exists(), source)

    def test_builds_on_the_base_or_a_stage_before(self):
        for number, rest in enumerate(arguments("FROM")):
            with self.subTest(stage=rest):
                self.assertIn(rest.split()[0], ["${BASE}", *stages()[:number]])

    def test_installs_sections_that_the_list_has(self):
        listed = re.findall(r"(?m)^\[(\w+)\]", (TOP / "tools/packages.txt").read_text())
        wanted = re.findall(r"install_packages (\w+)", " ".join(arguments("RUN")))
        self.assertEqual(len(wanted), 3)
        self.assertLessEqual(set(wanted), set(listed))

    def test_does_not_serve_as_root(self):
        self.assertTrue(all(user not in ("0", "root") for user in arguments("USER")))
        self.assertEqual(len(arguments("USER")), 1)

    def test_listens_where_it_is_asked_for_its_health(self):
        self.assertIn(variables()["GOPMILL_HTTP_PORT"], exposed())
        self.assertIn("http://127.0.0.1:$GOPMILL_HTTP_PORT/healthz", arguments("HEALTHCHECK")[0])

    def test_can_be_reached_from_outside_by_http_and_rtsp(self):
        header = (TOP / "config/server_config.h").read_text()
        rtsp = re.search(r"struct Rtsp \{.*?port = (\d+);", header, re.DOTALL)
        self.assertEqual(exposed(), [variables()["GOPMILL_HTTP_PORT"], rtsp[1]])
        for name in ("GOPMILL_HTTP_ADDRESS", "GOPMILL_RTSP_ADDRESS"):
            self.assertEqual(variables()[name], "0.0.0.0")

    def test_has_no_flag_that_would_beat_a_variable(self):
        self.assertEqual(json.loads(arguments("CMD")[-1]), ["serve"])
        self.assertEqual(variables()["GOPMILL_LIBRARY"], "/library")


class Compose(unittest.TestCase):
    def setUp(self):
        self.service = yaml.safe_load(COMPOSE.read_text())["services"]["gopmill"]

    def test_builds_a_stage_that_there_is(self):
        build = self.service["build"]
        context = (COMPOSE.parent / build["context"]).resolve()
        self.assertEqual(context, TOP)
        self.assertEqual(context / build["dockerfile"], DOCKERFILE)
        self.assertIn(build["target"], stages())

    def test_publishes_the_servers_ports_to_loopback_alone(self):
        mappings = [mapping.rsplit(":", 2) for mapping in self.service["ports"]]
        self.assertEqual([inside for _, _, inside in mappings], exposed())
        self.assertEqual({address for address, _, _ in mappings}, {"127.0.0.1"})

    def test_is_run_by_hand_with_the_same_ports(self):
        text = (TOP / "docs/OPERATIONS.md").read_text()
        command = next(line for line in text.splitlines() if line.startswith("docker run"))
        self.assertEqual(re.findall(r"-p (\S+)", command), self.service["ports"])
        self.assertIn(f"--stop-timeout {self.service['stop_grace_period'].removesuffix('s')} ", command)

    def test_gives_the_drain_its_time(self):
        drain = re.search(r"drain_timeout\D*(\d+)", (TOP / "config/server_config.h").read_text())
        grace = re.fullmatch(r"(\d+)s", self.service["stop_grace_period"])
        self.assertGreater(int(grace[1]), int(drain[1]))

    def test_keeps_segments_where_the_server_writes_them(self):
        volumes = yaml.safe_load(COMPOSE.read_text())["volumes"]
        mounts = [mount.split(":") for mount in self.service["volumes"]]
        self.assertEqual(mounts, [[next(iter(volumes)), variables()["CACHE_DIRECTORY"]]])
        self.assertIn(f"chown gopmill: {variables()['CACHE_DIRECTORY']}", " ".join(arguments("RUN")))

    def test_keeps_the_list_of_plugins_where_it_can_be_written(self):
        self.assertEqual(Path(variables()["GST_REGISTRY"]).parent, Path(variables()["CACHE_DIRECTORY"]))

    def test_takes_all_rights_away(self):
        self.assertEqual((self.service["cap_drop"], self.service["read_only"]), (["ALL"], True))
        self.assertIn("no-new-privileges:true", self.service["security_opt"])


if __name__ == "__main__":
    unittest.main()
