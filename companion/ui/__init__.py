"""Sublime Text: views, commands and settings; beside plugin.py alone in importing `sublime`."""
