"""The commands of Sublime Text, one module for each subject. Sublime finds them in plugin.py, which
imports them.

Each command imports what it needs when it runs: imports at the top would block Sublime's UI thread
while it loads the package (`host`).
"""
