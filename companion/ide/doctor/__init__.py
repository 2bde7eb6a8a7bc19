"""Why a CLI does not connect: its own look-up, played against this editor."""
