"""Faults made by hand, to see whether the tests would notice them: `python -m tests.faults`."""
