#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The BD rate of tools/bench/quality on curves whose answer is known, and what judges it."""

import importlib.machinery
import importlib.util
import math
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
BENCH = Path(__file__).resolve().parents[3] / "tools" / "bench"
sys.path.insert(0, str(BENCH))
from picture_quality import bd_rate  # noqa: E402

RATES = [400e3, 800e3, 1600e3, 3200e3]
CURVED = [30.0, 34.5, 37.5, 39.0]  # dB: less and less for a doubling, as encoders have it


def program(name):
    """A program without an ending, as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(BENCH / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


class BdRate(unittest.TestCase):
    def test_of_equal_curves_is_nothing(self):
        self.assertAlmostEqual(bd_rate(RATES, CURVED, RATES, CURVED), 0, places=12)

    def test_of_more_bits_for_each_quality_is_just_that(self):
        for factor in (1.1, 0.5, 1.005):
            scaled = [rate * factor for rate in RATES]
            self.assertAlmostEqual(bd_rate(scaled, CURVED, RATES, CURVED), factor - 1, places=9)

    def test_of_curves_that_are_straight_over_the_logarithm(self):
        """Three decibels for a doubling; one less at each rate takes a third of a doubling more."""
        straight = [30 + 3 * math.log2(rate / RATES[0]) for rate in RATES]
        lower = [value - 1 for value in straight]
        self.assertAlmostEqual(bd_rate(RATES, lower, RATES, straight), 2 ** (1 / 3) - 1, places=9)
        self.assertAlmostEqual(bd_rate(RATES, straight, RATES, lower), 2 ** (-1 / 3) - 1, places=9)

    def test_of_curves_at_other_rates_counts_where_both_are(self):
        """The same straight line, seen at other places."""
        others = [rate * 1.37 for rate in RATES]
        line = [[30 + 3 * math.log2(rate / RATES[0]) for rate in rates] for rates in (RATES, others)]
        self.assertAlmostEqual(bd_rate(RATES, line[0], others, line[1]), 0, places=9)

    def test_turned_round_is_the_inverse(self):
        other = [29.0, 34.0, 37.6, 39.5]
        there, back = bd_rate(RATES, CURVED, RATES, other), bd_rate(RATES, other, RATES, CURVED)
        self.assertAlmostEqual((1 + there) * (1 + back), 1, places=9)

    def test_refuses_what_has_no_answer(self):
        with self.assertRaisesRegex(ValueError, "rise"):
            bd_rate(RATES, [30, 34, 34, 39], RATES, CURVED)
        with self.assertRaisesRegex(ValueError, "overlap"):
            bd_rate(RATES, [50, 51, 52, 53], RATES, CURVED)


class Judgement(unittest.TestCase):
    def test_names_what_is_above_the_limit(self):
        quality = program("quality")
        results = [{"movie": "a", "bd_rate": {"psnr": 0.0049, "ssim": -0.2}},
                   {"movie": "b", "bd_rate": {"psnr": 0.0051, "ssim": None}}]
        found = quality.too_high(results, 0.5)
        self.assertEqual([line.split(":")[0] for line in found], ["b", "b"])
        self.assertIn("PSNR +0.51 %, at most +0.5 %", found[0])
        self.assertEqual(quality.too_high(results[:1], 0.5), [])


if __name__ == "__main__":
    unittest.main()
