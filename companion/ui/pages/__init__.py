"""Sheets of the editor that show the present state, and the links on them."""
