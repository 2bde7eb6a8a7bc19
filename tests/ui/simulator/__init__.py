"""A deterministic simulator of the package in its editor.

The adapter, the companion and the editor without a screen run as they are, on one thread and one
virtual loop; CLIs, the service of the chats and the user are scripted. One seed decides what the
user does, and the order in which disks, computing threads, the companion and the editor's queues
hand over their ends. What must be true whatever happens stands in `checks`. A failure is a seed:

    PYTHONHASHSEED=0 python -O -m headless --exec tests/ui/simulator/run.py -- --seed 42 --trace
"""
