#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every test that docs/TRANSCODING.md names in its table of the bugs of others is there."""

import re
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/corpus"))
from cases import CASES  # noqa: E402

BROWSER = list((TOP / "tests/browser").glob("*.mjs"))


def named() -> list[str]:
    """What stands in the last column."""
    text = (TOP / "docs/TRANSCODING.md").read_text()
    table = text.split("### Bugs of others", 1)[1].split("\n#", 1)[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.rstrip(" |").rsplit("|", 1)[1])]


class NamedTests(unittest.TestCase):
    def test_are_there(self):
        sources = "\n".join(file.read_text(errors="replace") for file in (TOP / "tests").rglob("*.cc"))
        scripts = [*(TOP / "tests").rglob("*_test.py"), *BROWSER]
        functions = "\n".join(file.read_text() for file in scripts)
        cases = {case.name for case in CASES}
        names = named()
        self.assertGreater(len(names), 40)
        for name in names:
            with self.subTest(name):
                if re.search(r"\.(py|mjs)$", name):
                    self.assertIn(name, {file.name for file in scripts})
                elif "." in name:
                    suite, test = name.split(".")
                    self.assertRegex(sources, rf"TEST(_F|_P)?\(\s*{suite},\s*{test}\)")
                elif name not in cases:
                    self.assertRegex(functions, rf"(def|function) {re.escape(name)}\(")


if __name__ == "__main__":
    unittest.main()
