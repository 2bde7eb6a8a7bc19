"""A deterministic simulator of the companion's core.

The core above the socket runs as it is, on one loop whose clock is virtual; the editor, the CLIs,
the network and the disk are scripted, and one seed decides everything that happens. What must be
true whatever happens stands in `checks`. A failure is a seed:

    python -m tests.ide.simulator --seed 42 --trace
"""
