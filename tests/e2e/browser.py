"""A headless Chromium on this machine, driven over its DevTools protocol; reaches nothing else.

    async with Browser() as browser:
        page = await browser.open(url)
        await page.until("document.title === 'Gemini CLI'")
        await page.click("#send")
        page.requests, page.complaints       # addresses asked for; exceptions and violations

It is found as CHROMIUM in the environment, or by one of its names in PATH.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import re
import shutil
import signal
import tempfile
from typing import Any

from aiohttp import ClientSession, WSMsgType

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LISTENS = re.compile(rb"DevTools listening on (ws://\S+)")
# Seconds for the browser to start, for a command, and for a condition to become true.
STARTING, COMMAND, CONDITION = 30.0, 20.0, 20.0
OPTIONS = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
    "--password-store=basic",
    # Whatever a page asks for, it is not asked of anybody else.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
KEYS = {"Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""), "Tab": ("Tab", 9, "")}
SHIFT = 8
# Tells of what the page's policy did not let happen.
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (it) => violations.push(it.blockedURI));
"""


def program() -> str:
    """The browser's path; empty where there is none."""
    wanted = os.environ.get("CHROMIUM", "")
    return wanted or next(filter(None, map(shutil.which, NAMES)), "") or ""


class Browser:
    def __init__(self, *options: str) -> None:
        self._options = options
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._pages: dict[str, Page] = {}

    async def __aenter__(self) -> Browser:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    async def start(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="chromium-")
        # Its sandbox does not let root in.
        more = ("--no-sandbox",) if os.geteuid() == 0 else ()
        self._process = await asyncio.create_subprocess_exec(
            program(),
            *OPTIONS,
            *more,
            *self._options,
            "--user-data-dir=" + self._folder,
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        try:
            address = await asyncio.wait_for(self._address(), STARTING)
        except BaseException:
            await self._kill()
            raise
        self._draining = asyncio.ensure_future(self._process.stderr.read())
        self._client = ClientSession()
        self._socket = await self._client.ws_connect(address, max_msg_size=0)
        self._reading = asyncio.ensure_future(self._read())

    async def stop(self) -> None:
        self._reading.cancel()
        await self._client.close()
        await self._kill()
        await self._draining

    async def open(self, url: str, language: str = "en-US", width: int = 1000) -> Page:
        """A tab of its own, with a storage of its own."""
        context = await self.command("Target.createBrowserContext")
        target = await self.command(
            "Target.createTarget",
            url="about:blank",
            browserContextId=context["browserContextId"],
        )
        attached = await self.command(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        page = Page(self, attached["sessionId"])
        self._pages[page.session] = page
        await page.prepare(language, width)
        await page.go(url)
        return page

    async def command(self, method: str, session: str = "", **params: Any) -> Any:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_str(json.dumps(message))
        return await asyncio.wait_for(answer, COMMAND)

    async def _address(self) -> str:
        async for line in self._process.stderr:
            found = LISTENS.search(line)
            if found:
                return found.group(1).decode("ascii")
        raise RuntimeError("the browser ended at once")

    async def _read(self) -> None:
        async for raw in self._socket:
            if raw.type is not WSMsgType.TEXT:
                continue
            message = json.loads(raw.data)
            answer = self._waiting.pop(message.get("id", 0), None)
            if answer is None:
                page = self._pages.get(message.get("sessionId", ""))
                if page is not None:
                    page.hear(message["method"], message["params"])
            elif not answer.done():
                if "error" in message:
                    answer.set_exception(RuntimeError(message["error"]["message"]))
                else:
                    answer.set_result(message["result"])

    async def _kill(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        await self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


class Page:
    def __init__(self, browser: Browser, session: str) -> None:
        self.session = session
        # Addresses that were asked for; uncaught exceptions, and errors in the console.
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._browser = browser

    async def prepare(self, language: str, width: int) -> None:
        for domain in ("Page", "Runtime", "Network", "Log"):
            await self.command(domain + ".enable")
        await self.command("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        agent = await self._browser.command("Browser.getVersion")
        await self.command(
            "Emulation.setUserAgentOverride",
            userAgent=agent["userAgent"],
            acceptLanguage=language,
        )
        await self.size(width)

    async def command(self, method: str, **params: Any) -> Any:
        return await self._browser.command(method, self.session, **params)

    def hear(self, method: str, params: Any) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            thrown = details.get("exception", {}).get("description", "")
            self.complaints.append(f"{details['text']} {thrown}")
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            entry = params["entry"]
            self.complaints.append(f"{entry['text']} {entry.get('url', '')}")

    async def go(self, url: str) -> None:
        await self.command("Page.navigate", url=url)
        # A navigation within the page loads nothing.
        await self.until(f"location.href.startsWith({json.dumps(url.split('#')[0])})")
        await self.until("document.readyState === 'complete'")

    async def reload(self) -> None:
        await self.run("window.isOld = true")
        await self.command("Page.reload")
        await self.until("!window.isOld && document.readyState === 'complete'")

    async def size(self, width: int, height: int = 800) -> None:
        await self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    async def scheme(self, name: str) -> None:
        """ "dark" or "light"."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        await self.command("Emulation.setEmulatedMedia", features=features)

    async def run(self, expression: str) -> Any:
        """The expression's value, as JSON. Raises AssertionError where it throws."""
        answer = await self.command(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    async def until(self, expression: str, seconds: float = CONDITION) -> None:
        """Waits for the expression to be truthy; one that throws is not yet."""
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            if await self.run(f"(() => {{ try {{ return !!({expression}) }} catch {{}} }})()"):
                return
            await asyncio.sleep(0.02)
        seen = await self.run("document.body.innerText")
        raise AssertionError(f"never true: {expression}; the page: {seen!r} {self.complaints}")

    async def text(self, selector: str) -> str:
        return str(await self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    async def count(self, selector: str) -> int:
        """Of those that can be seen."""
        return int(
            await self.run(
                f"[...document.querySelectorAll({json.dumps(selector)})]"
                ".filter((it) => it.checkVisibility()).length"
            )
        )

    async def click(self, selector: str) -> None:
        """With the mouse, in the middle of the element, once it can be seen."""
        found = json.dumps(selector)
        await self.until(f"document.querySelector({found}).checkVisibility()")
        await self.until(f"!document.querySelector({found}).disabled")
        place = await self.run(
            f"(() => {{ const it = document.querySelector({found});"
            "it.scrollIntoView({block: 'center'}); const box = it.getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        for type in ("mousePressed", "mouseReleased"):
            await self.command(
                "Input.dispatchMouseEvent",
                type=type, x=place[0], y=place[1], button="left", clickCount=1,
            )  # fmt: skip

    async def type(self, text: str) -> None:
        """Into what has the focus."""
        await self.command("Input.insertText", text=text)

    async def press(self, key: str, modifiers: int = 0) -> None:
        name, code, text = KEYS[key]
        common = {"key": name, "code": name, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        more = {"text": text} if text else {}
        await self.command("Input.dispatchKeyEvent", type="keyDown", **common, **more)
        await self.command("Input.dispatchKeyEvent", type="keyUp", **common)

    async def picture(self, path: str) -> None:
        shot = await self.command("Page.captureScreenshot", format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
