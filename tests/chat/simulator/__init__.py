"""A deterministic simulator of the chats of an editor and the engine below them.

Both run as they are, on one virtual loop; agents, the user and the editor are scripted. One seed
decides what they do, and the order in which disks, threads and processes hand over their ends. What
must be true whatever happens stands in `checks`. A failure is a seed:

    python -m tests.chat.simulator --seed 42 --trace
"""
