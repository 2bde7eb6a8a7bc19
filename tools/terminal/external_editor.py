"""A text in the user's own editor, a program that has the terminal meanwhile."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from typing import Optional, Sequence, Tuple

# Programs that open a file at the line N for the argument `+N`.
AT_LINE = ("vi", "vim", "nvim", "nano", "pico", "emacs", "emacsclient", "micro", "kak", "joe", "mg")


def edit_text(text: str, name: str, row: int) -> Tuple[Optional[str], str]:
    """The text as the user's editor leaves it, which opens it at the row, counted from 0, where it
    is known to be able to; None and a sentence where the editor failed."""
    command: Sequence[str] = shlex.split(
        os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    )
    folder = tempfile.mkdtemp(prefix="proposal-")
    path = os.path.join(folder, name)
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        knows_lines = os.path.basename(command[0]) in AT_LINE
        if subprocess.call([*command, *(["+%d" % (row + 1)] if knows_lines else []), path]) != 0:
            return None, "%s failed; the proposal stays as it is." % command[0]
        with open(path, encoding="utf-8", newline="") as file:
            return file.read(), ""
    except OSError as error:
        sentence = "%s could not be started (%s); set EDITOR."
        return None, sentence % (command[0], error.strerror)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
