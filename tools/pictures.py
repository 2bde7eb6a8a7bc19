"""Makes the pictures of README and docs: `python tools/pictures.py`, with Chromium on the machine.

The same file is the script that plays the user inside the editor (`--exec`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IMAGES = os.path.join(ROOT, "docs", "images")
SHOP = '''"""A shop."""


def total(items):
    """What the items cost together."""
    sum = 0
    for item in items:
        sum = sum + item.price
    return sum


def count(items):
    return len(items)
'''
PROPOSED = SHOP.replace(
    "    sum = 0\n    for item in items:\n        sum = sum + item.price\n    return sum\n",
    "    return sum(item.price for item in items)\n",
).replace(
    "    return len(items)\n",
    "    return len(items)\n\n\ndef is_empty(items):\n    return not items\n",
)
# The pictures, and their heights in pixels.
HEIGHTS = {"diff": 660, "status": 790, "gone": 660}
BROWSER = [
    "chromium",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-background-networking",
]


def take(name: str, folder: str) -> None:
    """Render the editor in the state `name`, and have the browser make a picture of it."""
    page = os.path.join(folder, name + ".html")
    editor = [sys.executable, "-m", "headless", os.path.join(folder, "shop"), "--render", page]
    subprocess.check_call(editor + ["--exec", os.path.abspath(__file__), "--", name], cwd=ROOT)
    # Not the folder of whoever makes the pictures.
    with open(page, encoding="utf-8") as file:
        text = file.read().replace(folder, "/home/ann")
    with open(page, "w", encoding="utf-8") as file:
        file.write(text)
    picture = "--screenshot=" + os.path.join(IMAGES, name + ".png")
    size = f"--window-size=1150,{HEIGHTS[name]}"
    subprocess.check_call(BROWSER + [size, picture, "file://" + page], stderr=subprocess.DEVNULL)


def play(name: str) -> None:
    """Inside the editor: open the file, connect a CLI, and do what the picture shows."""
    import sublime

    sys.path.insert(0, ROOT)
    from GeminiCompanion import plugin
    from GeminiCompanion.tests.fake_cli import FakeCli

    window = sublime.active_window()
    path = os.path.join(window.folders()[0], "shop.py")
    view = window.open_file(path)
    wait(lambda: not view.is_loading())
    view.sel().clear()
    view.sel().add(sublime.Region(view.text_point(6, 4), view.text_point(7, 30)))
    wait(lambda: plugin._host.environment(window))
    cli = FakeCli(plugin._host.environment(window))
    wait(cli.connected)
    if name in ("diff", "gone"):
        cli.call("openDiff", filePath=path, newContent=PROPOSED).result(10)
    if name == "gone":
        cli.close()
        wait(lambda: any(view.name().endswith("CLI gone)") for view in window.views()))
    elif name == "status":
        window.run_command("gemini_companion_status")
        wait(lambda: window.active_panel())


def wait(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("the editor did not get there")
        time.sleep(0.02)


if __name__ == "__main__":
    if "sublime" in sys.modules:
        play(sys.argv[1])
    else:
        folder = tempfile.mkdtemp()
        os.mkdir(os.path.join(folder, "shop"))
        with open(os.path.join(folder, "shop", "shop.py"), "w", encoding="utf-8") as file:
            file.write(SHOP)
        for name in HEIGHTS:
            take(name, folder)
        shutil.rmtree(folder)
