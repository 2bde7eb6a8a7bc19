"""Tests of the headless editor; pytest runs them."""

from __future__ import annotations

import unittest


def load_tests(
    loader: unittest.TestLoader, tests: unittest.TestSuite, pattern: str
) -> unittest.TestSuite:
    """Nothing for unittest's discovery, which UnitTesting uses inside a real editor: there is no
    stand-in to test there."""
    return unittest.TestSuite()
