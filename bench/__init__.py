"""Measurements beside other servers and beside our aims; `python -m bench` prints the table."""
