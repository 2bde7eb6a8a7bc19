"""Sublime Text: views, commands and settings. Beside plugin.py only this room imports `sublime`."""
