"""The commands that Sublime calls, one module for each subject; it finds them in plugin.py, which
imports them.

Each imports what it needs where it runs: imported at the top, that would hold up Sublime's UI
thread while it loads the package (`host`).
"""
