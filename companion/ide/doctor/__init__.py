"""Why a CLI does not connect: its own search for the editor, repeated step by step."""
