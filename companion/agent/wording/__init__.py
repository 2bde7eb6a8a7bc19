"""Sentences for people, in their language, and the possible failures."""
