#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tools/systemd agrees with the sources and the manual, and systemd takes it, where that is installed."""

import configparser
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
UNIT = TOP / "tools/systemd/gopmill.service"


class Unit(unittest.TestCase):
    def setUp(self):
        parser = configparser.ConfigParser(interpolation=None)  # strict: no key twice
        parser.optionxform = str
        parser.read_string(UNIT.read_text(encoding="utf-8"))
        self.unit, self.service = dict(parser["Unit"]), dict(parser["Service"])
        self.manual = (TOP / "docs/OPERATIONS.md").read_text(encoding="utf-8")

    def test_is_started_when_the_server_says_so(self):
        """By itself, not a child; AF_UNIX is what it says it by. 252 of Debian 12 has no notify-reload."""
        self.assertEqual(self.service["Type"], "notify")
        self.assertNotIn("NotifyAccess", self.service)
        self.assertIn("AF_UNIX", self.service["RestrictAddressFamilies"].split())
        self.assertIn("READY=1", (TOP / "server/cli/systemd_notifier.cc").read_text(encoding="utf-8"))

    def test_starts_with_flags_that_there_are(self):
        program, command, *flags = self.service["ExecStart"].split()
        self.assertEqual((Path(program).name, command), ("gopmill", "serve"))
        known = (TOP / "server/cli/command_line.cc").read_text(encoding="utf-8")
        known += (TOP / "config/setting_table.cc").read_text(encoding="utf-8")
        for flag in (word for word in flags if word.startswith("-")):
            self.assertIn(f'"{flag}"', known)

    def test_gives_the_drain_its_time(self):
        header = (TOP / "config/server_config.h").read_text(encoding="utf-8")
        drain = int(re.search(r"drain_timeout_seconds = (\d+)", header)[1])
        self.assertGreaterEqual(int(self.service["TimeoutStopSec"].removesuffix("s")), drain + 25)

    def test_does_not_start_again_with_wrong_settings(self):
        codes = (TOP / "server/cli/exit_codes.h").read_text(encoding="utf-8")
        usage = re.search(r"kUsage = (\d+)", codes)[1]
        self.assertEqual((self.service["Restart"], self.service["RestartPreventExitStatus"]), ("on-failure", usage))

    def test_outlives_a_reload_that_comes_early(self):
        self.assertEqual(self.service["RestartForceExitStatus"], "SIGHUP")

    def test_waits_for_movies_on_the_network(self):
        self.assertIn("remote-fs.target", self.unit["After"].split())

    def test_lets_as_many_files_be_open_as_the_manual_asks_for(self):
        needed = int(re.search(r"([\d,]+) with the defaults; where it is less", self.manual)[1].replace(",", ""))
        self.assertGreaterEqual(int(self.service["LimitNOFILE"]), needed)

    def test_can_be_reloaded_and_keeps_segments(self):
        self.assertIn("-HUP $MAINPID", self.service["ExecReload"])
        self.assertEqual(self.service["CacheDirectory"], "gopmill")
        self.assertEqual(self.service["ProtectSystem"], "strict")

    def test_keeps_the_list_of_plugins_in_the_cache(self):
        self.assertRegex(self.service["Environment"], rf"^GST_REGISTRY=%C/{self.service['CacheDirectory']}/[\w.-]+$")

    def test_is_installed_as_the_manual_says(self):
        text = self.manual.partition("## Under systemd")[2].partition("\n## ")[0]
        self.assertIn(str(UNIT.relative_to(TOP)), text)
        program, _, _, config = self.service["ExecStart"].split()
        for word in (str(Path(program).parent), config, "useradd --system", self.service["User"]):
            self.assertIn(word, text)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "needs systemd-analyze")
    def test_is_taken_by_systemd(self):
        """It looks for the program and the user, too: those of this machine stand in."""
        text = UNIT.read_text(encoding="utf-8").replace("/usr/local/bin/gopmill ", "/bin/true ")
        text = re.sub(r"(?m)^(User|Group)=.*", r"\1=root", text)
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, UNIT.name)
            copy.write_text(text, encoding="utf-8")
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(copy)], capture_output=True, text=True, timeout=60,
                                  check=False)
            said = [line for line in (done.stdout + done.stderr).splitlines() if UNIT.name in line]
            self.assertEqual(said, [])


if __name__ == "__main__":
    unittest.main()
