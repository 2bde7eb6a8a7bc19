"""Where an address of the web leads: by the URL standard, and by the parser of browsers."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import unittest

from GeminiCompanion.companion.base.web_address import web_address

NOTHING = ""
# What each is, with the host that is shown of it.
ADDRESSES = {
    "a plain one": ("https://good.example/login", "good.example"),
    "one in capitals": ("HTTPS://Good.EXAMPLE/Login", "good.example"),
    "its usual port": ("https://good.example:443/", "good.example"),
    "an empty port": ("http://good.example:/", "good.example"),
    "another port": ("http://good.example:0443/", "good.example:443"),
    "a port that there is not": ("http://good.example:65536/", NOTHING),
    "a port with a sign": ("http://good.example:+80/", NOTHING),
    "a user before it": ("http://good.example@evil.example/", "evil.example"),
    "a user and a password before it": ("http://good.example:80@evil.example/", "evil.example"),
    "two users before it": ("http://a@good.example@evil.example/", "evil.example"),
    "a backslash before what looks like a host": (
        "http://evil.example\\@good.example/login",
        "evil.example",
    ),
    "backslashes in the place of slashes": (r"http:\\evil.example\good.example", "evil.example"),
    "a query that looks like a host": ("http://evil.example?@good.example", "evil.example"),
    "a fragment that looks like a host": ("http://evil.example#@good.example", "evil.example"),
    "tabs and line ends within it": ("ht\ttp://ev\nil.exa\rmple/", "evil.example"),
    "blanks at its ends": (" \x00http://evil.example/\x1f\n", "evil.example"),
    "a blank within the host": ("http://good.example .evil.example/", NOTHING),
    "a blank within the path": ("http://good.example/a b", NOTHING),
    "a control character in the path": ("http://good.example/\x1b[2J", NOTHING),
    "a control character in the host": ("http://good.example\x07/", NOTHING),
    "no slashes": ("http:evil.example/", NOTHING),
    "one slash": ("http:/evil.example/", NOTHING),
    "three slashes": ("http:///evil.example/", NOTHING),
    "no scheme": ("//evil.example/", NOTHING),
    "another scheme": ("javascript://good.example/%0aalert(1)", NOTHING),
    "a file": ("file:///etc/passwd", NOTHING),
    "no host": ("http://", NOTHING),
    "a user without a host": ("http://user@/", NOTHING),
    "a name with an empty part": ("http://good..example/", NOTHING),
    "a name in percent signs": ("http://%65vil.example/", NOTHING),
    "a name with a sign": ("http://good.example<.evil.example/", NOTHING),
    "letters of another script": ("http://b\u00fccher.example/", "xn--bcher-kva.example"),
    "letters that look like others": ("http://p\u0430ypal.example/", "xn--pypal-4ve.example"),
    "a code for such letters": ("http://XN--bcher-kva.example/", "xn--bcher-kva.example"),
    "a code for nothing": ("http://xn--a.example/", NOTHING),
    "wide letters": ("http://\uff45vil.example/", NOTHING),
    "a wide full stop": ("http://good\u3002evil.example/", NOTHING),
    "a letter with two readings": ("http://fa\u00df.example/", NOTHING),
    "a letter that nobody sees": ("http://go\u200bod.example/", NOTHING),
    "letters from right to left": ("http://good\u202e.example/", NOTHING),
    "a slash that is none": ("http://good.example\u2215.evil.example/", NOTHING),
    "an address of a machine": ("http://127.0.0.1:8080/x", "127.0.0.1:8080"),
    "one with fewer parts": ("http://127.1/", NOTHING),
    "one with another base": ("http://0x7f.0.0.1/", NOTHING),
    "one with a number of eight": ("http://0177.0.0.1/", NOTHING),
    "one as a number": ("http://2130706433/", NOTHING),
    "a newer one": ("http://[2001:DB8:0:0::1]/", "[2001:db8::1]"),
    "a newer one with a zone": ("http://[fe80::1%25eth0]/", NOTHING),
    "one within a newer one": ("http://[::ffff:127.0.0.1]/", NOTHING),
}  # fmt: skip
# What generated addresses are made of.
STARTS = ("http://", "https://", "HTTP://", "http:\\\\", "http:/", "\thttp://", " https://")
PIECES = (
    "good", "evil", "example", ".", ".", ".", "@", ":", "/", "\\", "?", "#", "%2e", "%40", "\t",
    "\n", "-", "_", "xn--", "xn--bcher-kva", "1", "127", "0x7f", "080", "443", "[", "]", "::1", " ",
    "\x00", "\u00fc", "\u0430", "\u00df", "\u03c2", "\uff0e", "\u3002", "\u200d", "\u202e",
    "\u4f60\u597d", "A", "\u05d0", "\u0660", "\u0e01", "\U0001f600", "\u0130", "\u0301", "\u1e9e",
    "\u10a0",
)  # fmt: skip
ASK_NODE = """
const told = JSON.parse(require("fs").readFileSync(0, "utf8")).map((text) => {
  try { return new URL(text).host; } catch { return null; }
});
process.stdout.write(JSON.stringify(told));
"""


def hosts(texts: list[str]) -> list[str | None]:
    """As the parser of browsers has them."""
    command = ["node", "-e", ASK_NODE]
    said = subprocess.run(command, input=json.dumps(texts).encode(), stdout=-1, check=True).stdout
    found: list[str | None] = json.loads(said)
    return found


def generated(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    return [
        rng.choice(STARTS) + "".join(rng.choices(PIECES, k=rng.randint(1, 7))) for _ in range(count)
    ]


class Addresses(unittest.TestCase):
    def test_the_host_is_that_of_the_url_standard_or_none_is_shown(self) -> None:
        for what, (text, host) in ADDRESSES.items():
            with self.subTest(what):
                found = web_address(text)
                self.assertEqual("" if found is None else found.host, host)

    def test_what_is_opened_is_made_of_the_host_that_is_shown(self) -> None:
        for text, url in (
            ("https://good.example", "https://good.example/"),
            ("http://evil.example\\@good.example/a\\b?c\\d", "http://evil.example/@good.example/a/b?c\\d"),
            ("http://a@b@EVIL.example:80/?x#y", "http://a%40b@evil.example/?x#y"),
            ("https://b\u00fccher.example/\u00fc", "https://xn--bcher-kva.example/\u00fc"),
        ):  # fmt: skip
            with self.subTest(text):
                found = web_address(text)
                self.assertEqual(found and found.url, url)

    @unittest.skipUnless(shutil.which("node"), "needs Node.js")
    def test_no_host_differs_from_that_of_a_browsers_parser(self) -> None:
        texts = [text for text, _host in ADDRESSES.values()] + generated(1, 3000)
        found = [web_address(text) for text in texts]
        for text, ours, theirs in zip(texts, found, hosts(texts)):
            if ours is not None:
                self.assertEqual(ours.host, theirs, ascii(text))
        urls = [address.url for address in found if address is not None]
        self.assertGreater(len(urls), 200)
        self.assertEqual(hosts(urls), [address.host for address in found if address is not None])


if __name__ == "__main__":
    unittest.main()
