"""Sheets of the editor that show how things stand, and the links on them."""
