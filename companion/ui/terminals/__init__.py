"""Terminals in which CLIs run, and the variables that lead those to the editor."""
