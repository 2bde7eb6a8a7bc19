"""Terminals in which CLIs run, and what leads those to the editor."""
